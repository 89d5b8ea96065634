"""What people already have, read correctly: logs of other tools -> trials.

:func:`read` finds the files, recognises each by its content, and yields trials held to one set of rules;
:func:`pour` writes them into run folders, from where the store takes them. `Row` and `LoggedRun` are what an
importer yields, `Log` how it may look at a file. One file a format; others register under the entry point
``evalstats.importers``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

from evalstats.errors import UsageError
from evalstats.importers.archives import Archive
from evalstats.importers.folders import pour
from evalstats.importers.logs import Log, number, whole
from evalstats.importers.reading import FileReport, Found, ImportedRun, Reading
from evalstats.importers.rows import Declared, Importer, Item, LoggedRun, Options, Row, arm_of

ENTRY_POINTS = "evalstats.importers"
# The module of each built-in format, the most particular first: the first that recognises a file reads it.
BUILT_IN: tuple[str, ...] = (
    "inspect_ai",
    "lm_eval",
    "promptfoo",
    "openai_evals",
    "swe_bench",
    "junit",
    "skill_creator",
    "helm",
    "terminal_bench",
    "harbor",
    "tau_bench",
    "agentops",
    "vegastack",
    "own_journal",
    "table",
)

__all__ = [
    "BUILT_IN",
    "Archive",
    "Declared",
    "FileReport",
    "Found",
    "ImportedRun",
    "Importer",
    "Item",
    "Log",
    "LoggedRun",
    "Options",
    "Reading",
    "Row",
    "arm_of",
    "formats",
    "number",
    "pour",
    "read",
    "whole",
]


def read(paths: Sequence[Path], options: Options | None = None, *, format: str | None = None) -> Reading:
    """Return an iterator over the trials in files and folders; see `Reading` for what it knows afterwards.

    ``format`` names the format instead of recognising it. Raises UsageError for an unknown format or a path that
    is not there, and LogError, naming file and place, for a file that does not hold what its format promises.
    """
    return Reading(paths, options or Options(), formats(), format=format)


@functools.cache
def formats() -> tuple[Importer, ...]:
    """Return the importers in the order in which they are asked: those of others first, then our own."""
    others = sorted(importlib.metadata.entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    found: list[Importer] = []
    for point in others:
        try:
            found.append(point.load())
        except Exception as error:  # somebody else's code: name it and go no further
            raise UsageError(
                f"the importer {point.name!r} ({point.value}) cannot be loaded: {error}", field=ENTRY_POINTS
            ) from None
    return (*found, *(importlib.import_module(f"{__name__}.{name}") for name in BUILT_IN))
