"""What may be concluded from a candidate held against its baseline? The rules alone, on plain facts.

Two vocabularies. A *finding* says of one number what was seen, with noise in mind; the *verdict* says what
follows for the run as a whole. A wider interval never makes a claim of what was undecided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from evalstats.contract import Status, Verdict

LEVEL = 0.90  # of the intervals: one-sided 5% on either side, as the equivalence test asks
ALPHA = 0.05
DUST = 1e-9  # scores are of the order of 1: a smaller difference is floating point
HALF = 0.5

EXIT_CODES = {
    Verdict.PASS: 0,
    Verdict.IMPROVEMENT: 0,
    Verdict.FAIL: 1,
    Verdict.REGRESSION: 1,
    Verdict.ADVISORY: 3,
    Verdict.INCONCLUSIVE: 4,
}


class Finding(StrEnum):
    """What was seen of one number. ``no_change`` only where a change that matters was ruled out."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    NO_CHANGE = "no_change"
    UNDERPOWERED = "underpowered"
    HIGH_VARIANCE = "high_variance"
    DEGENERATE = "degenerate"


class Holding(StrEnum):
    """Does one number hold against the baseline, given what may be lost?"""

    HOLDS = "holds"
    REGRESSED = "regressed"
    UNDECIDED = "undecided"
    MISSING = "missing"


class Change(StrEnum):
    """What became of one critical case."""

    KEPT = "kept"
    GAINED = "gained"
    WEAKER = "weaker"
    LOST = "lost"
    FAILING = "failing"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalCase:
    """One critical case on both sides; a rate is None where it was not scored."""

    case_id: str
    baseline_status: Status | None
    candidate_status: Status | None
    baseline_rate: float | None
    candidate_rate: float | None

    @property
    def change(self) -> Change:
        """Return what became of it. It passes where more than half of its trials do."""
        if self.candidate_status not in (Status.PASS, Status.FAIL):
            return Change.MISSING
        passes, passed = self.candidate_status is Status.PASS, self.baseline_status is Status.PASS
        if passes and passed:
            return Change.WEAKER if _below(self.candidate_rate, self.baseline_rate) else Change.KEPT
        return Change.GAINED if passes else Change.LOST if passed else Change.FAILING


def _below(new: float | None, old: float | None) -> bool:
    return new is not None and old is not None and new < old - DUST


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """The aggregate or one dimension on both sides, over the cases that both have. None is unknown, never 0.

    ``conf_low`` and ``conf_high`` bound the difference at ``LEVEL``; both equal it where nothing can vary.
    ``difference_p`` tests that there is no difference, adjusted (Holm) over the dimensions that are not protected;
    ``equivalence_p`` that it is as large as the tolerance. ``tolerance`` is the drop that the policy allows; of a
    ``protected`` quantity no real drop is allowed. ``trial_share`` is the share of the squared standard error
    that is noise among trials of the same case.
    """

    name: str
    baseline: float | None
    candidate: float | None
    delta: float | None = None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    difference_p: float | None = None
    equivalence_p: float | None = None
    trial_share: float | None = None
    n_cases: int = 0
    n_trials: int = 0
    method: str = "none"
    tolerance: float = 0.0
    protected: bool = False
    caveats: tuple[str, ...] = ()

    @property
    def dropped(self) -> bool:
        """Return whether the candidate scored lower at all, noise or not."""
        return self.delta is not None and self.delta < -DUST

    @property
    def holding(self) -> Holding:
        """Return whether the quantity holds: a drop counts when it is both too large and more than noise."""
        if self.delta is None or self.conf_low is None or self.conf_high is None:
            return Holding.MISSING if self.delta is None else Holding.UNDECIDED
        too_large = self.delta < -self.tolerance - DUST or self.protected
        if self.dropped and too_large and self._is_more_than_noise:
            return Holding.REGRESSED
        return Holding.HOLDS if self.conf_low >= -self.tolerance - DUST else Holding.UNDECIDED

    @property
    def finding(self) -> Finding | None:
        """Return what was seen, or None where nothing could be compared."""
        if self.delta is None or self.conf_low is None or self.conf_high is None:
            return None
        if self._is_equivalent:
            return Finding.NO_CHANGE
        if self._is_more_than_noise:
            return Finding.REGRESSED if self.dropped else Finding.IMPROVED
        if not self.std_error:
            return Finding.DEGENERATE
        noisy = self.trial_share is not None and self.trial_share > HALF
        return Finding.HIGH_VARIANCE if noisy else Finding.UNDERPOWERED

    @property
    def _is_more_than_noise(self) -> bool:
        """Return whether the interval leaves 0 out, and the test, adjusted where there are several, agrees."""
        if self.conf_low is None or self.conf_high is None:
            return False
        apart = self.conf_low > DUST or self.conf_high < -DUST
        return apart and (self.difference_p is None or self.difference_p <= 2 * ALPHA)

    @property
    def _is_equivalent(self) -> bool:
        """Two one-sided tests: the p-value, where there is one, and the interval within the tolerance."""
        if not self.std_error or self.conf_low is None or self.conf_high is None:
            return False
        inside = -self.tolerance <= self.conf_low and self.conf_high <= self.tolerance
        return inside and (self.equivalence_p is None or self.equivalence_p <= ALPHA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that a verdict stands on. ``doubts`` say why nothing may be concluded at all."""

    status: Status
    aggregate: Quantity
    dimensions: tuple[Quantity, ...]
    critical: tuple[CriticalCase, ...] = ()
    unscored: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Return the aggregate and the dimensions."""
        return (self.aggregate, *self.dimensions)


def conclude(facts: Facts) -> tuple[Verdict, list[str]]:
    """Return the verdict and its reasons.

    ``advisory``: the runs cannot carry a verdict. ``regression``: a critical case was lost, or a number dropped by
    more than tolerance and noise. ``fail``: the candidate misses its own thresholds. ``inconclusive``: something
    is missing or undecided. ``improvement``: the aggregate rose by more than noise, every critical case is
    preserved, every dimension holds, and no protected one is lower at all. ``pass``: all holds.

    Notes
    -----
    Each claim is made at one-sided 5%: over all dimensions together (Holm), and for the aggregate and every
    protected dimension by itself, since there a missed drop costs more than a false alarm.
    """
    if facts.doubts:
        return Verdict.ADVISORY, list(facts.doubts)
    if worse := [*_lost(facts.critical), *_said(facts.quantities, Holding.REGRESSED)]:
        return Verdict.REGRESSION, worse
    if facts.status is Status.FAIL:
        return Verdict.FAIL, ["the candidate misses the thresholds of its own suite"]
    if open_questions := [*_open(facts)]:
        return Verdict.INCONCLUSIVE, open_questions
    against = [*_against_improvement(facts)]
    if facts.aggregate.finding is Finding.IMPROVED and not against:
        return Verdict.IMPROVEMENT, ["the aggregate rose, and everything else holds"]
    return Verdict.PASS, ["critical cases and dimensions hold", *against]


def _lost(critical: Iterable[CriticalCase]) -> list[str]:
    return [f"critical case {c.case_id} no longer passes" for c in critical if c.change is Change.LOST]


def _said(quantities: Iterable[Quantity], holding: Holding) -> list[str]:
    words = {
        Holding.REGRESSED: "dropped by more than tolerance and noise",
        Holding.UNDECIDED: "may have dropped by more than the tolerance: the noise leaves it open",
        Holding.MISSING: "cannot be compared",
    }
    return [f"{q.name} {words[holding]}{_because(q, holding)}" for q in quantities if q.holding is holding]


def _because(quantity: Quantity, holding: Holding) -> str:
    if holding is Holding.REGRESSED:
        return " (no drop is allowed)" if quantity.protected else ""
    if holding is Holding.UNDECIDED and not quantity.tolerance:
        return " (the policy sets no tolerance, and noise can never show that nothing at all was lost)"
    return f" ({quantity.caveats[0]})" if quantity.caveats else ""


def _open(facts: Facts) -> Iterable[str]:
    yield from (
        f"critical case {c.case_id} was not scored" for c in facts.critical if c.change is Change.MISSING
    )
    if facts.unscored:
        yield f"{len(facts.unscored)} case(s) of the baseline have no score in the candidate"
    for holding in (Holding.MISSING, Holding.UNDECIDED):
        yield from _said(facts.quantities, holding)
    if facts.status is not Status.PASS:
        yield f"the candidate ended as {facts.status}"


def _against_improvement(facts: Facts) -> Iterable[str]:
    yield from (
        f"critical case {c.case_id} passes less often" for c in facts.critical if c.change is Change.WEAKER
    )
    yield from (
        f"{q.name} is lower, within its tolerance" for q in facts.quantities if q.protected and q.dropped
    )
