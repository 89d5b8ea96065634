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
from evalstats.importers.folders import imported_before, pour
from evalstats.importers.found import FileReport, Found, ImportedRun
from evalstats.importers.logs import Log, Refused
from evalstats.importers.reading import Reading
from evalstats.importers.rows import Declared, Importer, Item, LoggedRun, Options, Row, arm_of
from evalstats.importers.values import items, mapping, number, text, whole

ENTRY_POINTS = "evalstats.importers"
# Name -> module of each built-in format, the most particular first: the first that recognises a file reads it.
BUILT_IN = {
    "inspect": "inspect_ai",
    "lm-eval": "lm_eval",
    "promptfoo": "promptfoo",
    "openai-evals": "openai_evals",
    "swe-bench": "swe_bench",
    "junit": "junit",
    "skill-creator": "skill_creator",
    "helm": "helm",
    "terminal-bench": "terminal_bench",
    "harbor": "harbor",
    "tau-bench": "tau_bench",
    "agentops": "agentops",
    "vegastack": "vegastack",
    "journal": "own_journal",
    "lake": "own_lake",
    "table": "table",
}

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
    "Refused",
    "Row",
    "arm_of",
    "formats",
    "items",
    "mapping",
    "number",
    "pour",
    "read",
    "text",
    "whole",
]


def read(
    paths: Sequence[Path],
    options: Options | None = None,
    *,
    format: str | None = None,
    data: Path | None = None,
) -> Reading:
    """Return an iterator over the trials in files and folders; see `Reading` for what it knows afterwards.

    ``format`` names the format instead of recognising it. ``data`` is where earlier imports went, by which a log
    that has grown since is known. Raises UsageError for an unknown format or a path that is not there, and
    LogError, naming file and place, for a file that does not hold what its format promises.
    """
    known = imported_before(data) if data is not None else ()
    return Reading(paths, options or Options(), formats(format), format=format, imported=known, data=data)


@functools.cache
def formats(wanted: str | None = None) -> tuple[Importer, ...]:
    """Return the importers in the order in which they are asked: those of others first, then our own.

    Of our own only the one that is ``wanted``, where it is one of them: each costs time to load.
    """
    others = sorted(importlib.metadata.entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    found: list[Importer] = []
    for point in others:
        name = f"the importer {point.name!r} ({point.value})"
        try:
            found.append(point.load())
        except Exception as error:  # somebody else's code: name it and go no further
            raise UsageError(f"{name} cannot be loaded: {error}", field=ENTRY_POINTS) from None
        lacking = [part for part in ("NAME", "sniff", "read") if not hasattr(found[-1], part)]
        if lacking:
            raise UsageError(f"{name} lacks {', '.join(lacking)}", field=ENTRY_POINTS)
    own = [BUILT_IN[wanted]] if wanted in BUILT_IN else BUILT_IN.values()
    return (*found, *(importlib.import_module(f"{__name__}.{module}") for module in own))
