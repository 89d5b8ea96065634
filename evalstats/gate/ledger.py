"""The ledger: decisions are appended, never rewritten, and say which runs were blocked."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

from evalstats.contract import GateVerdict
from evalstats.errors import JournalError
from evalstats.gate.verdict import GateResult
from evalstats.journal import encode, sync_folder
from evalstats.trials import timestamp


def append(result: GateResult, folder: Path) -> Path:
    """Append the decision to ``<folder>/<suite>.jsonl`` and bring it to disk; return the file."""
    path = folder / f"{result.suite}.jsonl"
    line = encode({"decided_at": timestamp(), **result.as_record()})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _append_synced(path, line)
        sync_folder(folder)
    except OSError as error:
        raise JournalError(f"the decision cannot be recorded: {error.strerror}", path=path) from None
    return path


def blocked(folder: Path, suite: str) -> frozenset[str]:
    """Return the run groups whose last decision in the ledger of ``suite`` was a regression.

    A gate that could not judge decided nothing. Raises JournalError naming the line that is no decision.
    """
    path = folder / f"{suite}.jsonl"
    last: dict[str, GateVerdict] = {}
    for number, line in enumerate(path.read_bytes().splitlines() if path.is_file() else (), 1):
        try:
            verdict, groups = _decision(line)
        except (ValueError, TypeError, KeyError, RecursionError):
            problem = "is no decision of a gate; take the line out, or move the file away to begin anew"
            raise JournalError(problem, path=path, line=number) from None
        if verdict is not GateVerdict.CANNOT_GATE:
            last |= dict.fromkeys(groups, verdict)
    return frozenset(group for group, verdict in last.items() if verdict == GateVerdict.REGRESSION)


def _decision(line: bytes) -> tuple[GateVerdict, list[str]]:
    """Return verdict and candidate of a line; raises ValueError, TypeError or KeyError where it is none."""
    record = json.loads(line)
    groups = record["candidate"]
    if not (isinstance(groups, list) and all(isinstance(group, str) for group in groups)):
        raise TypeError("candidate is no list of names")
    return GateVerdict(record["verdict"]), groups


def _append_synced(path: Path, line: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        if os.write(fd, line) != len(line):
            raise OSError(errno.ENOSPC, "only part of a line fitted (is the disk full?)")
        os.fsync(fd)
    finally:
        os.close(fd)
