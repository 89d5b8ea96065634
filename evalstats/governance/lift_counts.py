"""How many expectations did each prompt of a lift report meet in each arm, by one rule or the other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalstats.contract import Arm, ExpectationType
from evalstats.importers.lift_reports import LiftPrompt, LiftReport
from evalstats.runner.answers import Rule, counted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Expectations met, of all that could be decided."""

    met: int = 0
    total: int = 0

    @property
    def rate(self) -> float | None:
        """Return the share that was met; None of nothing."""
        return self.met / self.total if self.total else None

    def __add__(self, other: Count) -> Count:
        return Count(met=self.met + other.met, total=self.total + other.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchetypeLift:
    """One archetype in both arms. Its lift is a description: a handful of prompts has no interval."""

    archetype: str
    prompts: int
    baseline: Count
    with_skill: Count
    lift: float | None


def lift_of(baseline: float | None, with_skill: float | None) -> float | None:
    """Return the share of the headroom that is taken; None where a rate is unknown or there is no headroom."""
    if baseline is None or with_skill is None or baseline >= 1:
        return None
    return (with_skill - baseline) / (1 - baseline)


Pair = tuple[LiftPrompt, Count, Count]  # a prompt that both arms list, and what it met in each


def pairs_of(report: LiftReport, scoring: Rule) -> list[Pair]:
    """Return the prompts that both arms list, with what each met there."""
    other = {prompt.id: prompt for prompt in report.with_skill}
    return [
        (prompt, *_counts(prompt, other[prompt.id], scoring))
        for prompt in report.baseline
        if prompt.id in other
    ]


def _counts(one: LiftPrompt, other: LiftPrompt, scoring: Rule) -> tuple[Count, Count]:
    """Count one prompt in both arms, over the expectations decided in both; by rate where only that is told."""
    sides = [
        {e.id: p for e in prompt.expectations if (p := counted(e.kind, e.passed, scoring)) is not None}
        for prompt in (one, other)
    ]
    if not (one.expectations and other.expectations):
        return Count(met=one.met, total=one.total), Count(met=other.met, total=other.total)
    shared = sides[0].keys() & sides[1].keys()
    first, second = (Count(met=sum(side[i] for i in shared), total=len(shared)) for side in sides)
    return first, second


def total(pairs: Sequence[Pair]) -> tuple[Count, Count]:
    """Return what all prompts met together, without and with the skill."""
    return sum((a for _, a, _ in pairs), Count()), sum((b for _, _, b in pairs), Count())


def by_archetype(pairs: Sequence[Pair]) -> tuple[ArchetypeLift, ...]:
    """Return what each archetype met in each arm, in the order of the report."""
    found = []
    for name in dict.fromkeys(prompt.archetype for prompt, _, _ in pairs):
        own = [pair for pair in pairs if pair[0].archetype == name]
        a, b = total(own)
        found.append(
            ArchetypeLift(
                archetype=name, prompts=len(own), baseline=a, with_skill=b, lift=lift_of(a.rate, b.rate)
            )
        )
    return tuple(found)


def cited(report: LiftReport) -> dict[ExpectationType, tuple[Count, Count]]:
    """Return how often the expected cards and recipes were named in each arm, where the report tells."""
    found = {}
    for kind in (ExpectationType.CITES_CARD, ExpectationType.CITES_RECIPE):
        arms = [
            [e.passed is True for prompt in prompts for e in prompt.expectations if e.kind is kind]
            for prompts in (report.baseline, report.with_skill)
        ]
        if all(arms):
            found[kind] = (
                Count(met=sum(arms[0]), total=len(arms[0])),
                Count(met=sum(arms[1]), total=len(arms[1])),
            )
    return found


def case_tables(pairs: Sequence[Pair]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the prompts as the case table that estimates take, and the expectations of each."""
    import pandas as pd

    rows = [
        {
            "run_id": str(arm),
            "arm": str(arm),
            "case_id": prompt.id,
            "archetype": prompt.archetype,
            "n_trials": 1,
            "n_usable": int(count.total > 0),
            "n_passed": int(count.met == count.total > 0),
            "score_sum": count.rate or 0.0,
            "score_sumsq": (count.rate or 0.0) ** 2,
        }
        for prompt, *counts in pairs
        for arm, count in zip((Arm.SKILL_OFF, Arm.SKILL_ON), counts, strict=True)
    ]
    weights = [
        {"case_id": prompt.id, "idx": index, "required": True}
        for prompt, count, _ in pairs
        for index in range(count.total)
    ]
    return pd.DataFrame(rows), pd.DataFrame(weights, columns=["case_id", "idx", "required"])
