"""The ledger: decisions are appended, never rewritten."""

from __future__ import annotations

import os
from pathlib import Path

from evalstats.gate.verdict import GateResult
from evalstats.journal import encode, sync_folder
from evalstats.trials import timestamp


def append(result: GateResult, folder: Path) -> Path:
    """Append the decision to ``<folder>/<suite>.jsonl`` and bring it to disk; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.suite}.jsonl"
    line = encode({"decided_at": timestamp(), **result.as_record()})
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, line)
        os.fsync(fd)
    finally:
        os.close(fd)
    sync_folder(folder)
    return path
