"""From a thin notebook to a frozen, versioned report.

In a notebook::

    from evalstats import report

====================  ============================================================================
:func:`case_runs`     the case table of one suite, from a store or a snapshot; :func:`facts` counts it
:func:`locked`        those of its cases that a lock holds: the ones that enter a headline
:class:`Draft`        what a notebook says; ``save()`` writes it into the bundle being built
:class:`Table`        a frame as shown, and the same unrounded as CSV; :class:`Column` names a format;
                      :func:`filled` leaves out what is empty
:mod:`charts`         forest, archetype_bars, run_chart, case_strip: a drawing and its reading
:mod:`wording`        numbers into sentences
:mod:`audits`         suites and their baselines: read, shown and put into sentences
:mod:`lifts`          the same for lifts; so do :mod:`comparisons`, :mod:`pilots`, :mod:`reviews`, :mod:`nights`,
                      :mod:`judges` and :mod:`ratchets`, each with a module ``*_wording`` beside it
:mod:`explorer`       the data of one suite as tidy frames, for free work
====================  ============================================================================

Outside::

    built = report.build("variance_bands", store=..., reports=..., parameters={"suite": "demo"})

========================  ========================================================================
:func:`build`             notebook -> checked, run, rendered, sealed, published version
:func:`build_all`         several of them side by side; :class:`Request` names one, :class:`Execution` says how
:mod:`signing`            who published a version, by a key of OpenSSH
:func:`verify`            every difference between a version and what was published
:func:`list_reports`      every version there is
:func:`latest`            the newest good version of a report
:func:`resolve`           the version that a reference names
:func:`read_report`       the report.json of a version; :func:`read_verified` that of an intact one
:func:`diff`              what changed between two versions: inputs, numbers with intervals, packages
:func:`as_markdown`       a report as Markdown, for a job page; :func:`as_pdf` prints its page
:func:`parse_parameters`  ``NAME=VALUE`` texts of a command line; :func:`requests_for` deals them out
========================  ========================================================================

Inside: ``parameters`` checks, ``kernel`` runs (in forks of ``warm``), ``executed`` cleans up, ``provenance`` says
what a report stands on, ``page`` renders, ``bundle`` publishes, ``integrity`` verifies, ``canvas``, ``theme``
and ``drawing`` draw, ``showing`` teaches a notebook to show results, ``lab`` opens one. Nothing heavy is imported
before it is used, so importing this room is cheap.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_HOMES = {
    "BuiltReport": "builder",
    "Column": "tables",
    "Draft": "draft",
    "Execution": "kernel",
    "Finding": "integrity",
    "Request": "batch",
    "Table": "tables",
    "Version": "bundle",
    "as_markdown": "markdown",
    "as_pdf": "pdf",
    "audits": "",
    "build": "builder",
    "build_all": "batch",
    "case_runs": "inputs",
    "charts": "",  # a module itself
    "comparison_tables": "",
    "comparison_wording": "",
    "comparisons": "",
    "diff": "differences",
    "explorer": "",
    "facts": "inputs",
    "filled": "material",
    "judge_tables": "",
    "judge_wording": "",
    "judges": "",
    "latest": "bundle",
    "lift_wording": "",
    "lifts": "",
    "list_reports": "bundle",
    "locked": "inputs",
    "night_tables": "",
    "night_wording": "",
    "nights": "",
    "parse_parameters": "parameters",
    "pilot_tables": "",
    "pilot_wording": "",
    "pilots": "",
    "ratchet_wording": "",
    "ratchets": "",
    "read_report": "bundle",
    "read_verified": "integrity",
    "requests_for": "batch",
    "resolve": "bundle",
    "review_tables": "",
    "review_wording": "",
    "reviews": "",
    "signing": "",
    "values_of": "batch",
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


def _show_in_notebook() -> None:
    """In a notebook, let estimates and tests be shown; elsewhere there is nothing to teach."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and hasattr(shell, "display_formatter"):
        importlib.import_module("evalstats.report.showing").register(shell)


_show_in_notebook()
