"""Who has looked at a run, at what, and does it stand? Reviews, kept beside the capture of the run.

A review holds for the very record that was looked at: if the record changes, it is void.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from evalstats.errors import JournalError, UsageError
from evalstats.governance import chain
from evalstats.governance.baselines import Baseline
from evalstats.trials import timestamp

SCHEMA = "baseline-review.v1"


class LookedAt(StrEnum):
    """What a reviewer has looked at."""

    CASES = "cases"
    TRANSCRIPTS = "transcripts"
    ARTIFACTS = "artifacts"
    COMPARISON = "comparison"
    HOLDOUTS = "holdouts"


class Outcome(StrEnum):
    """What the reviewer concluded."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one reviewer says of a run. ``notes`` are for the reviewer's own team: they are never published."""

    reviewer: str
    outcome: Outcome
    looked_at: Sequence[LookedAt]
    notes: str = ""


def place(data: Path, run: Baseline) -> Path:
    """Return the file of the reviews of one run."""
    return run.home(data) / "baselines" / run.suite_id / f"{run.run_id}.reviews.jsonl"


def review(run: Baseline, opinion: Opinion, data: Path) -> dict[str, Any]:
    """Record that somebody has looked at a run, and return the record. Raises UsageError."""
    if not opinion.reviewer.strip():
        raise UsageError("a review names its reviewer", field="--by")
    if not opinion.looked_at:
        raise UsageError("a review says what was looked at", field="--looked-at")
    path = place(data, run)
    entry = {
        "schema_version": 1,
        "suite_id": run.suite_id,
        "run_id": run.run_id,
        "record_sha256": run.sha256,
        "reviewer": opinion.reviewer.strip(),
        "reviewed_at": timestamp(),
        "outcome": opinion.outcome,
        "looked_at": sorted({str(word) for word in opinion.looked_at}),
        "notes": opinion.notes,
    }
    with chain.alone(path, private=run.is_private):
        return chain.append(path, entry, SCHEMA, private=run.is_private)


def valid(run: Baseline, data: Path) -> list[dict[str, Any]]:
    """Return the reviews of this very record, oldest first. Raises JournalError when they were tampered with."""
    found = chain.read(place(data, run), SCHEMA)
    if found.problems:
        raise JournalError(found.problems[0], path=found.path)
    return [entry for entry in found.entries if entry["record_sha256"] == run.sha256]
