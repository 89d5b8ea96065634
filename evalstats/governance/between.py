"""What may be concluded of a comparison? A verdict only under a policy; what stands against one, always."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isnan
from typing import TYPE_CHECKING

from evalstats.contract import Verdict
from evalstats.scoring import MAX_LOST

if TYPE_CHECKING:
    from evalstats.estimates.sides import Between

EXIT_CODES = {
    None: 0,
    Verdict.PASS: 0,
    Verdict.IMPROVEMENT: 0,
    Verdict.REGRESSION: 1,
    Verdict.ADVISORY: 3,
    Verdict.INCONCLUSIVE: 4,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a comparison stands on: the share of trials lost on each side by name, mocks, and copies."""

    lost: tuple[tuple[str, float], ...] = ()
    mocks: tuple[str, ...] = ()
    identical: bool = False


def against(found: Between, around: Circumstances, *, limit: float = MAX_LOST) -> list[str]:
    """Return why nothing may be concluded at all, or nothing."""
    reasons = [
        f"{name} lost {share:.0%} of its trials to infrastructure (limit {limit:.0%})"
        for name, share in around.lost
        if share > limit
    ]
    reasons += [f"{name} was answered by a mock" for name in around.mocks]
    if isnan(found.estimates["difference"].estimate):
        reasons.append(found.estimates["difference"].caveats[0])
    if around.identical:
        reasons.append("both sides are the same in every case: a copy, or a subject that does not vary")
    return reasons


def verdict(
    found: Between, around: Circumstances, *, alpha: float, limit: float = MAX_LOST
) -> tuple[Verdict, list[str]]:
    """Return what a comparison concludes under a policy: its margin in the tests, its alpha one-sided here."""
    refused = against(found, around, limit=limit)
    if refused:
        return Verdict.ADVISORY, refused
    tests, moved = found.tests, found.estimates["difference"].estimate
    if tests["equivalence"].p_value <= alpha:
        return Verdict.PASS, ["no change: the difference lies within the margin (TOST)"]
    if tests["difference"].p_value / 2 <= alpha:
        return (Verdict.IMPROVEMENT, ["improved"]) if moved > 0 else (Verdict.REGRESSION, ["regressed"])
    if tests["non-inferiority"].p_value <= alpha:
        return Verdict.PASS, ["not worse by the margin"]
    return Verdict.INCONCLUSIVE, [needed(found)]


def needed(found: Between, margins: Sequence[float] = (0.05, 0.10)) -> str:
    """Say that a comparison is underpowered for these margins, and how many cases or clusters would do."""
    difference, detectable = found.estimates["difference"], found.estimates["detectable"].estimate
    units = difference.n_cases if difference.n_clusters is None else difference.n_clusters
    what = "cases" if difference.n_clusters is None else "clusters"
    if isnan(detectable) or units < 1:
        return "underpowered: no error is known, so what would do is not known either"
    told = ", ".join(f"about {ceil(units * (detectable / m) ** 2)} for {m:g}" for m in margins)
    return f"underpowered: {units} {what} show differences from {detectable:.2g}; {what} needed: {told}"


def underpowered(found: Between, margin: float | None) -> list[str]:
    """Return the sentence of `needed` where the margin, or a tenth, would not have been seen; else nothing."""
    detectable = found.estimates["detectable"].estimate
    asked = 0.10 if margin is None else margin
    if detectable <= asked:
        return []
    return [needed(found, (0.05, 0.10) if margin is None else (margin,))]
