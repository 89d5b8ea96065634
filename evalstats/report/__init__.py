"""From a thin notebook to a frozen, versioned report.

In a notebook::

    from evalstats import report

====================  ============================================================================
:func:`case_runs`     the case table of one suite, from a store or a snapshot; :func:`facts` counts it
:func:`locked`        those of its cases that a lock holds: the ones that enter a headline
:class:`Draft`        what a notebook says; ``save()`` writes it into the bundle being built
:class:`Table`        a frame as shown, and the same unrounded as CSV; :class:`Column` names a format
:mod:`charts`         forest, archetype_bars, run_chart, case_strip: a drawing and its reading
:mod:`wording`        numbers into sentences
:mod:`audits`         suites and their baselines: read, shown and put into sentences
====================  ============================================================================

Outside::

    built = report.build("variance_bands", store=..., reports=..., parameters={"suite": "demo"})

========================  ========================================================================
:func:`build`             notebook -> checked, run, rendered, sealed, published version
:func:`verify`            every difference between a version and what was published
:func:`list_reports`      every version there is
:func:`latest`            the newest good version of a report
:func:`resolve`           the version that a reference names
:func:`read_report`       the report.json of a version
:func:`parse_parameters`  ``NAME=VALUE`` texts of a command line
========================  ========================================================================

Inside: ``parameters`` checks, ``kernel`` runs, ``executed`` cleans up, ``provenance`` says what a report stands on,
``page`` renders, ``bundle`` publishes, ``integrity`` verifies, ``canvas`` and ``theme`` draw. Nothing heavy is
imported before it is used, so importing this room is cheap.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "BuiltReport": "builder",
    "Column": "tables",
    "Draft": "draft",
    "Finding": "integrity",
    "Limits": "kernel",
    "Table": "tables",
    "Version": "bundle",
    "audits": "",
    "build": "builder",
    "case_runs": "inputs",
    "charts": "",  # a module itself
    "facts": "inputs",
    "latest": "bundle",
    "list_reports": "bundle",
    "locked": "inputs",
    "parse_parameters": "parameters",
    "read_report": "bundle",
    "resolve": "bundle",
    "verify": "integrity",
    "wording": "",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"evalstats.report.{_HOMES[name] or name}")
    globals()[name] = getattr(module, name) if _HOMES[name] else module
    return globals()[name]
