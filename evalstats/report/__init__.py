"""From a thin notebook to a frozen, versioned report.

In a notebook::

    from evalstats import report

====================  ============================================================================
:func:`case_runs`     the case table of one suite, from a store or a snapshot; :func:`facts` counts it
:class:`Draft`        what a notebook says; ``save()`` writes it into the bundle being built
:class:`Table`        a frame as shown, and the same unrounded as CSV; :class:`Column` names a format
:mod:`charts`         forest, archetype_bars, run_chart, case_strip: a drawing and its reading
:mod:`wording`        numbers into sentences
====================  ============================================================================

Outside::

    built = report.build("variance_bands", store=..., reports=..., parameters={"suite": "demo"})

========================  ========================================================================
:func:`build`             notebook -> checked, run, rendered, sealed, published version
:func:`verify`            every difference between a version and what was published
:func:`list_reports`      every version there is
:func:`latest`            the newest good version of a report
:func:`resolve`           the version that a reference names
:func:`parse_parameters`  ``NAME=VALUE`` texts of a command line
========================  ========================================================================

Inside: ``parameters`` checks, ``kernel`` runs, ``executed`` cleans up, ``provenance`` says what a report stands on,
``page`` renders, ``bundle`` publishes, ``integrity`` verifies, ``canvas`` and ``theme`` draw. Nothing heavy is
imported before it is used, so importing this room is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstats.report import charts, wording
    from evalstats.report.builder import BuiltReport, build
    from evalstats.report.bundle import Version, latest, list_reports, resolve
    from evalstats.report.draft import Draft
    from evalstats.report.inputs import case_runs, facts
    from evalstats.report.integrity import Finding, verify
    from evalstats.report.kernel import Limits
    from evalstats.report.parameters import parse_parameters
    from evalstats.report.tables import Column, Table

__all__ = [
    "BuiltReport",
    "Column",
    "Draft",
    "Finding",
    "Limits",
    "Table",
    "Version",
    "build",
    "case_runs",
    "charts",
    "facts",
    "latest",
    "list_reports",
    "parse_parameters",
    "resolve",
    "verify",
    "wording",
]

_ROOMS = ("charts", "wording")
_HOMES = {
    "BuiltReport": "builder",
    "Column": "tables",
    "Draft": "draft",
    "Finding": "integrity",
    "Limits": "kernel",
    "Table": "tables",
    "Version": "bundle",
    "build": "builder",
    "case_runs": "inputs",
    "facts": "inputs",
    "latest": "bundle",
    "list_reports": "bundle",
    "parse_parameters": "parameters",
    "resolve": "bundle",
    "verify": "integrity",
}


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module when it is first asked for."""
    if name in _ROOMS:
        return importlib.import_module(f"evalstats.report.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evalstats.report.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
