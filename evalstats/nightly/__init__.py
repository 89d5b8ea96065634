"""A night: run the suites, load the journals, publish the reports, judge them; one summary, one exit code.

======================  ==========================================================================
:func:`run`             make (or go on with) the night of a date; doing it twice does nothing twice
:class:`Asked`          which suites, by which policies, what to skip; :class:`Places` where things lie
:class:`Night`          what came of it (schema ``night.v1``); its ``exit_code`` is the worst that counts
:func:`carried`         how many of the last runs tonight's verdict looks at
:func:`summary`         the night as Markdown for the page of a CI job; :func:`junit` as a test report
======================  ==========================================================================

A night is known by its date (UTC). Its record, ``nights/<date>.json``, is written after every step of every suite,
so that a night which was killed goes on where it stopped. The order of the steps is that of :class:`Step`; a
further one, such as building a site, is a word there and a function in ``steps``.
 Nothing is imported before
it is used, so that a command line can name the steps cheaply.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Asked": "order",
    "Night": "record",
    "NightError": "record",
    "Outcome": "order",
    "Part": "record",
    "Places": "record",
    "Step": "record",
    "Stopped": "steps",
    "carried": "looks",
    "junit": "pages",
    "run": "order",
    "sentences": "pages",
    "summary": "pages",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"evalstats.nightly.{_HOMES[name]}")
    globals()[name] = getattr(module, name)
    return globals()[name]
