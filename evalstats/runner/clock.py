"""Which day is it? The real one or, in a data folder that holds no other runs, one that is set by hand.

Rehearsals and demonstrations need more nights than there are days. A run that was dated by hand says so: its
manifest has ``simulated_clock`` and, beside the date that was set, when it really ran. Its data folder carries a
mark, and holds runs of one kind only, so that no real history takes in a date that never was.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from evalstats.errors import JournalError, UsageError
from evalstats.journal import write_synced
from evalstats.trials import timestamp

MARK = ".simulated-clock"
_MARK_TEXT = b"The runs in this folder were dated by hand. Runs of the real clock go elsewhere.\n"


def is_simulated(data: Path) -> bool:
    """Return whether the runs in a data folder are dated by hand."""
    return (data / MARK).is_file()


def keep_apart(data: Path, as_of: str | None) -> None:
    """Let runs of one kind only into a data folder; an empty one becomes simulated by the first date that is set.

    Raises UsageError where the other kind is there already, JournalError when the disk refuses.
    """
    if as_of is None:
        if is_simulated(data):
            raise UsageError(
                "its runs are dated by hand; a run of the real clock goes into another folder", path=data
            )
    elif not is_simulated(data):
        if any((data / "runs").glob("*")):
            mixed = "holds runs of the real clock; a date is set by hand only in a folder without them"
            raise UsageError(mixed, path=data, field="--as-of")
        _mark(data)


def checked(as_of: str | None) -> str | None:
    """Return a time that is set by hand as the journals write it. Raises UsageError."""
    if as_of is None:
        return None
    try:
        when = datetime.fromisoformat(as_of)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None:
        raise UsageError("is no time with a zone; write 2026-01-31T02:00:00Z", field="--as-of")
    return timestamp(when)


def stamps(as_of: str | None) -> dict[str, Any]:
    """Return what a manifest says of its time."""
    now = timestamp()
    if as_of is None:
        return {"created_at": now}
    return {"created_at": as_of, "simulated_clock": True, "recorded_at": now}


def set_by_hand(manifest: Mapping[str, Any]) -> str | None:
    """Return the date that was set for a run; None for a run of the real clock."""
    return str(manifest["created_at"]) if manifest.get("simulated_clock") else None


def _mark(data: Path) -> None:
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot be made: {error.strerror}", path=data) from None
    write_synced(data / MARK, _MARK_TEXT)
