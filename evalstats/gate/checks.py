"""What a rule sees, and what it says: one look at a candidate, and one check with its error rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evalstats.contract import GateVerdict
from evalstats.gate.policies import Policy
from evalstats.gate.series import Point, unit_values

# Of several checks the first of these that any of them says is the verdict of the gate.
WORST_FIRST = (GateVerdict.REGRESSION, GateVerdict.CANNOT_GATE, GateVerdict.INCONCLUSIVE, GateVerdict.PASS)
NAMED = 5  # cases named in one sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What one rule says; chances are of this very look, drops in the unit of the statistic, None is unknown."""

    name: str
    verdict: GateVerdict
    reasons: tuple[str, ...]
    drop: float | None = None
    false_block: float | None = None
    power: float | None = None
    mde: float | None = None
    runs_needed: int | None = None

    def as_record(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return {name: getattr(self, name) for name in Check.__slots__} | {
            "verdict": str(self.verdict),
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at a candidate: its runs, the accepted runs before them, and what the report says of the cases.

    ``earlier`` are all runs before the candidate, accepted or not. ``cases`` maps the cases that count to what
    they belong to.
    """

    policy: Policy
    candidate: Sequence[Point]
    past: Sequence[Point]
    earlier: Sequence[Point] = ()
    cases: dict[str, dict[str, Any]]

    @property
    def before(self) -> list[float]:
        """Return the values of the history, one a unit."""
        return unit_values(self.past, self.policy)

    @property
    def new(self) -> list[float]:
        """Return the values of the candidate, one a run."""
        return [point.value for point in self.candidate if point.value is not None]

    @property
    def nights(self) -> int:
        """Return how many looks of the candidate are independent: reruns of one night share it."""
        return len({point.night for point in self.candidate})

    @property
    def step(self) -> float:
        """Return what one trial moves the value of a run of the candidate by."""
        return max(point.step for point in self.candidate)

    @property
    def left(self) -> int:
        """Return how many more runs of the candidate the policy allows."""
        return max(self.policy.reruns - len(self.candidate), 0)


def cannot(name: str, *reasons: str, runs_needed: int | None = None) -> Check:
    """Return a check that could not be made."""
    return Check(name=name, verdict=GateVerdict.CANNOT_GATE, reasons=reasons, runs_needed=runs_needed)


def worst(checks: Iterable[Check]) -> GateVerdict:
    """Return the verdict of several checks together."""
    said = {check.verdict for check in checks}
    return next(verdict for verdict in WORST_FIRST if verdict in said)


def listed(names: Sequence[str], between: str = ", ") -> str:
    """Return names for a sentence, the first few of them."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return between.join(names[:NAMED]) + more
