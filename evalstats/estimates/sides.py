"""What is compared with what? The cases of two arms, matched, and everything a comparison says of them.

Arrays only: who compares two files waits for no table library. `compare` and `difference` ask the same of frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evalstats import stats
from evalstats.estimates.records import noted
from evalstats.estimates.unpaired import Welch, separate_difference
from evalstats.stats.equivalence import non_inferiority, tost
from evalstats.stats.pairs import Pairs, refusal
from evalstats.stats.planning import Study
from evalstats.stats.results import Estimate, Test, undefined

FEW_CASES = 30  # below this the normal approximation of a detectable difference flatters

Counts = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """How did each case fare in one arm? One entry a case, in any order.

    ``n_trials``, ``n_usable`` and ``n_passed`` count trials, ``score_sum`` sums the scores of the usable ones.
    ``clusters`` are the groups that are taken as independent; None: the cases are.
    """

    name: str
    cases: Sequence[str]
    n_trials: Counts
    n_usable: Counts
    n_passed: Counts
    score_sum: Scores
    archetypes: Sequence[str | None] | None = None
    clusters: npt.NDArray[np.generic] | None = None

    @property
    def usable(self) -> Places:
        """Return where the cases stand that have a usable trial."""
        return np.flatnonzero(self.n_usable)

    def scores(self, at: Places) -> Scores:
        """Return the mean scores of the cases at these places."""
        return np.asarray(self.score_sum[at] / self.n_usable[at], dtype=np.float64)

    def labels(self, at: Places) -> npt.NDArray[np.generic] | None:
        """Return the clusters of the cases at these places."""
        return None if self.clusters is None else self.clusters[at]


class Alone(NamedTuple):
    """A case that enters no pair: the arm that has it, None if neither has, and why."""

    case_id: str
    archetype: str | None
    arm: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What came of comparing two sides: estimates (difference, detectable), tests, and the cases left alone."""

    estimates: dict[str, Estimate]
    tests: dict[str, Test]
    alone: tuple[Alone, ...]


def is_graded(*sides: Side) -> bool:
    """Can a trial score between fail and pass? Seen from the sums: whole passes leave no remainder."""
    return any(not np.allclose(side.score_sum, side.n_passed) for side in sides)


def mean_of(side: Side, *, graded: bool, level: float) -> Estimate:
    """Return the mean over the cases of a side that have a usable trial, with the interval that `rate` gives."""
    at = side.usable
    labels, trials = side.labels(at), side.n_usable[at]
    if graded:
        return stats.mean_score(side.scores(at), clusters=labels, trials=trials, level=level)
    return stats.pass_rate(side.n_passed[at], trials, clusters=labels, level=level)


def matched(new: Side, old: Side) -> tuple[Pairs, Places, Places]:
    """Return the pairs of the cases with a usable trial on both sides, by id, and where each stands on each side."""
    places = [{side.cases[i]: i for i in side.usable} for side in (new, old)]
    shared = sorted(places[0].keys() & places[1].keys())
    at_new, at_old = (np.array([place[case] for case in shared], dtype=np.intp) for place in places)
    trials = np.r_[new.n_usable[at_new], old.n_usable[at_old]]
    pairs = Pairs(
        candidate=new.scores(at_new),
        baseline=old.scores(at_old),
        trials=_trials(trials),
        graded=is_graded(new, old),
        clusters=new.labels(at_new),
        unmatched=len({*new.cases, *old.cases}) - len(shared),
    )
    return pairs, at_new, at_old


def _trials(trials: Counts) -> int:
    """Return the smallest number; 1 only if every case was tried once, since then scores are 0 or 1."""
    if not trials.size:
        return 0
    return int(trials.min()) if trials.min() > 1 else int(min(trials.max(), 2))


def compare_sides(
    new: Side, old: Side, *, rng: np.random.Generator, level: float = 0.80, margin: float | None = None
) -> Between:
    """How does one side compare with another, case by case, and what would have been missed?

    See `compare`, which asks the same of a frame. Where both sides ran, but no case on both, they are compared as
    separate samples, and a caveat says so.
    """
    alone: tuple[Alone, ...] = ()
    if new.cases and old.cases and not set(new.cases) & set(old.cases):
        difference, tests = _apart(new, old, level, margin)
    else:
        pairs, at_new, at_old = matched(new, old)
        found = stats.paired_difference(pairs, rng=rng, level=level)
        counted = int(new.n_usable[at_new].sum() + old.n_usable[at_old].sum())
        difference, tests = replace(found, n_trials=counted), _paired_tests(pairs, margin)
        alone = tuple(_alone(new, old))
    detectable = _detectable(difference)
    doubt = _underpowered(detectable.estimate, margin)
    tests = {name: noted(test, "" if name == "difference" else doubt) for name, test in tests.items()}
    return Between(estimates={"difference": difference, "detectable": detectable}, tests=tests, alone=alone)


def _paired_tests(pairs: Pairs, margin: float | None) -> dict[str, Test]:
    new, old, clusters = pairs.candidate, pairs.baseline, pairs.clusters
    if pairs.trials == 1 and not pairs.graded and clusters is None:
        found = {"difference": stats.mcnemar_exact(stats.PairedTable.of(new, old))}
    else:
        found = {"difference": stats.paired_t_test(new, old, clusters=clusters)}
    if margin is not None:
        found["equivalence"] = tost(new, old, margin=margin, clusters=clusters)
        found["non-inferiority"] = non_inferiority(new, old, margin=margin, clusters=clusters)
    reason = refusal(np.size(new), pairs.unmatched)
    if reason:
        return {
            name: replace(test, statistic=nan, p_value=nan, caveats=(reason,)) for name, test in found.items()
        }
    return found


def _apart(new: Side, old: Side, level: float, margin: float | None) -> tuple[Estimate, dict[str, Test]]:
    """Compare sides that share no case: two means, each with the interval that `rate` would give."""
    graded = is_graded(new, old)
    rates = [mean_of(side, graded=graded, level=level) for side in (new, old)]
    means = [
        stats.case_mean(side.scores(side.usable), clusters=side.labels(side.usable)) for side in (new, old)
    ]
    return separate_difference(*rates), Welch.of(*means).tests(margin)


def _detectable(difference: Estimate) -> Estimate:
    """Return the smallest difference that an error of this size lets one see, as a multiple of it."""
    study = Study(paired=True)
    known = {"population": difference.population, "level": difference.level, "n_cases": difference.n_cases}
    found = undefined(
        "a property of this comparison: no interval of its own"
        if difference.std_error > 0
        else "no standard error: what would have been seen is unknown",
        estimate=study.multiplier * difference.std_error,
        estimand="smallest detectable difference",
        n_clusters=difference.n_clusters,
        n_trials=difference.n_trials,
        method=f"power {study.power:g} at two-sided {study.alpha:g}",
        **known,
    )
    few = difference.n_cases < FEW_CASES and not isnan(found.estimate)
    return noted(found, f"fewer than {FEW_CASES} cases: the truth is larger" if few else "")


def _underpowered(detectable: float, margin: float | None) -> str:
    if margin is None or detectable <= margin:
        return ""
    if isnan(detectable):
        return "underpowered: what would have been seen is unknown"
    return f"underpowered: the smallest detectable difference, {detectable:.2g}, exceeds the margin"


def _alone(new: Side, old: Side) -> list[Alone]:
    """Return the cases that enter no pair, by id, with the side that has them, and why the other has not."""
    usable = [dict(zip(side.cases, side.n_usable, strict=True)) for side in (new, old)]
    archetypes: dict[str, str | None] = {}
    for side in (new, old):
        for case, archetype in zip(side.cases, side.archetypes or [None] * len(side.cases), strict=True):
            archetypes.setdefault(case, archetype)
    return [
        Alone(
            case,
            archetypes[case],
            *_why_alone((new.name, old.name), usable[0].get(case), usable[1].get(case)),
        )
        for case in sorted(archetypes)
        if not (usable[0].get(case) and usable[1].get(case))
    ]


def _why_alone(names: tuple[str, str], new: int | None, old: int | None) -> tuple[str | None, str]:
    """Return the side that has a case, and why it is alone; counts of usable trials, None if it was not run."""
    if not new and not old:
        return None, "no usable trial in either arm"
    has, lacks, count = (*names, old) if new else (*names[::-1], new)
    return has, f"{'not run' if count is None else 'no usable trial'} in {lacks}"
