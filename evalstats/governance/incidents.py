"""What happened to a suite beside its quality: nights lost to infrastructure, and who changed what, when.

A night that lost its trials says nothing about the subject. It is an incident, is shown on the same axis as the
scores, and enters no chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from evalstats.contract import IDENTITY

if TYPE_CHECKING:
    import pandas as pd

SAME_NIGHT = timedelta(hours=12)  # whatever the clocks do in spring and autumn, nights begin further apart
# What a person calls each part of the identity of a run.
NAMES = {
    "suite_scoring": "suite",
    "model": "model",
    "judge_model": "judge",
    "judge_rubric_sha256": "rubric",
    "registry_version": "registry",
    "cli_version": "CLI",
}
_DIGEST = 64  # a SHA-256 in hexadecimal; its first digits are enough for a person


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityChange:
    """Part of what identifies a run is not what it was: which, from what to what. None is unknown."""

    started_at: str
    group_id: str
    what: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        """Return the change in words."""
        return f"{NAMES[self.what]} {_short(self.before)} -> {_short(self.after)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A run that cannot speak of quality: how many of its trials were lost, and why it does not count."""

    started_at: str
    group_id: str
    lost: int
    n_trials: int
    why: str

    def __str__(self) -> str:
        """Return the incident in words."""
        return f"incident: {self.why}"


def identity_changes(rows: pd.DataFrame) -> tuple[list[int], list[IdentityChange]]:
    """Return for each row the era it belongs to, from 0, and every change of identity in the order of time.

    ``rows`` are runs in the order of time. Arms may differ from one another; each is held against its own last.
    """
    last: dict[str, dict[str, str | None]] = {}
    eras: dict[str, int] = {}
    found: list[IdentityChange] = []
    for group_id, group in rows.groupby("group_id", sort=False):
        changes: dict[str, IdentityChange] = {}
        for row in group.to_dict("records"):
            now = {name: _known(row[name]) for name in IDENTITY}
            before = last.get(row["arm"], now)
            for what in [name for name in IDENTITY if now[name] != before[name]]:
                changes[what] = IdentityChange(
                    started_at=row["started_at"].isoformat(),
                    group_id=str(group_id),
                    what=what,
                    before=before[what],
                    after=now[what],
                )
            last[row["arm"]] = now
        eras[str(group_id)] = max(eras.values(), default=0) + bool(changes)
        found += changes.values()
    return [eras[group_id] for group_id in rows["group_id"]], found


def incident_of(runs: Sequence[Mapping[str, Any]], max_lost: float) -> Incident | None:
    """Return why a group of runs cannot speak of quality; None when it can."""
    lost, trials = sum(run["infrastructure"] for run in runs), sum(run["n_trials"] for run in runs)
    silent = [str(run["arm"]) for run in runs if run["n_cases"] < run["tried"]]
    if lost > max_lost * trials:
        why = f"{lost} of {trials} trials failed for infrastructure"
    elif silent:
        of = min((run["n_cases"], run["tried"]) for run in runs)
        why = f"only {of[0]} of {of[1]} cases have a score ({', '.join(silent)})"
    else:
        return None
    at = min(run["started_at"] for run in runs).isoformat()
    return Incident(started_at=at, group_id=runs[0]["group_id"], lost=lost, n_trials=trials, why=why)


def nights(times: Sequence[pd.Timestamp]) -> list[int]:
    """Return for each time, in order, the number of its night: one begins 12 hours after the last, or later."""
    found: list[int] = []
    begun: pd.Timestamp | None = None
    for time in times:
        new = begun is None or time - begun >= SAME_NIGHT
        begun = time if new or begun is None else begun
        found.append((found[-1] + new) if found else 0)
    return found


def _known(value: Any) -> str | None:
    return str(value) if isinstance(value, str) and value else None


def _short(value: str | None) -> str:
    return "unknown" if value is None else value[:8] if len(value) == _DIGEST else value
