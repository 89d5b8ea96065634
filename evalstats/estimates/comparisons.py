"""Is one arm better, as good, or is it too early to tell? Difference, tests, power and attrition together.

No verdict is given: that is a matter of policy. But "no difference" is never left standing alone: beside it
stands the smallest difference that this comparison would have seen.
"""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan
from typing import NamedTuple, Unpack

import numpy as np
import pandas as pd

from evalstats import stats
from evalstats.estimates.cases import SKILL_ARMS, Grouping, Keys, case_table, groups, is_graded, noted, tidy
from evalstats.estimates.differences import Matched
from evalstats.estimates.rates import mean_score
from evalstats.estimates.unpaired import Welch, separate_difference
from evalstats.stats.equivalence import non_inferiority, tost
from evalstats.stats.pairs import Pairs, refusal
from evalstats.stats.planning import Study
from evalstats.stats.results import Estimate, Test, undefined

FEW_CASES = 30  # below this the normal approximation of a detectable difference flatters
NOT_MATCHED = ["case_id", "archetype", "arm", "reason"]


class Comparison(NamedTuple):
    """What came of comparing two arms? Three frames; the grouping keys come first in each.

    ``estimates``: ``quantity`` (difference, detectable) and the fields of `Estimate`. ``tests``: ``test``
    (difference, equivalence, non-inferiority) and the fields of `Test`. ``attrition``: the cases that only one
    arm has, which enter nothing: ``case_id, archetype, arm`` (the one that has it) and ``reason``.
    """

    estimates: pd.DataFrame
    tests: pd.DataFrame
    attrition: pd.DataFrame


def compare(
    case_runs: pd.DataFrame,
    *,
    rng: np.random.Generator,
    arms: tuple[str, str] = SKILL_ARMS,
    level: float = 0.80,
    margin: float | None = None,
    **grouping: Unpack[Grouping],
) -> Comparison:
    """How do two arms compare, case by case, and what would have been missed?

    Parameters
    ----------
    case_runs : pandas.DataFrame
        The case table. To compare models or runs, put their names into its column ``arm``.
    rng : numpy.random.Generator
        Used where the interval is resampled.
    arms : tuple of two str
        The candidate and what it is compared with.
    level : float
        Confidence level of the interval. The tests and the detectable difference do not depend on it.
    margin : float, optional
        Smallest difference that matters, in the unit of the score, chosen before looking: adds the tests of
        equivalence and non-inferiority, both "underpowered" where the detectable difference exceeds it.
    **grouping
        ``by``: columns, each combination of which is compared by itself; ``clusters``: a column whose groups
        are taken as independent.

    Returns
    -------
    Comparison
        Of the mean difference (SUPER). Where no case ran in both arms, the arms are compared as separate
        samples, and a caveat says so. The detectable difference is seen with power .8 at a two-sided .05.
    """
    by, clusters = list(grouping.get("by", ())), grouping.get("clusters")
    estimates: list[tuple[Keys, Estimate]] = []
    tests: list[tuple[Keys, Test]] = []
    attrition: list[Keys] = []
    for keys, group in groups(case_table(case_runs, by=("arm", *by), clusters=clusters), by):
        matched = Matched.of(group, arms, clusters)
        if _different_cases(matched.table, arms):
            estimate, found = _apart(matched.table, arms, clusters, level, margin)
        else:
            estimate = matched.counted(stats.paired_difference(matched.pairs, rng=rng, level=level))
            found = _paired_tests(matched.pairs, margin)
            attrition += [{**lone, **keys} for lone in _attrition(matched.table, arms)]
        detectable = _detectable(estimate)
        estimates += [({**keys, "quantity": "difference"}, estimate)]
        estimates += [({**keys, "quantity": "detectable"}, detectable)]
        doubt = _underpowered(detectable.estimate, margin)
        tests += [
            ({**keys, "test": name}, noted(test, "" if name == "difference" else doubt))
            for name, test in found.items()
        ]
    return Comparison(
        tidy(estimates, [*by, "quantity"]),
        tidy(tests, [*by, "test"], Test),
        pd.DataFrame(attrition, columns=list(dict.fromkeys([*by, *NOT_MATCHED]))),
    )


def _different_cases(table: pd.DataFrame, arms: tuple[str, str]) -> bool:
    """Say whether both arms ran, but no case in both; a case lost to errors was run nevertheless."""
    ran = [set(table.loc[table["arm"] == arm, "case_id"]) for arm in arms]
    return all(ran) and not ran[0] & ran[1]


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


def _apart(
    table: pd.DataFrame, arms: tuple[str, str], clusters: str | None, level: float, margin: float | None
) -> tuple[Estimate, dict[str, Test]]:
    """Compare arms that share no case: two means, each with the interval that `rate` would give."""
    usable = table[table["n_usable"] > 0]
    sides = [usable[usable["arm"] == arm] for arm in arms]
    graded = is_graded(table)
    rates = [mean_score(side, graded=graded, clusters=clusters, level=level) for side in sides]
    means = [
        stats.case_mean(side["score"], clusters=None if clusters is None else side[clusters])
        for side in sides
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


def _attrition(table: pd.DataFrame, arms: tuple[str, str]) -> list[Keys]:
    """Return the cases that enter no pair, with the arm that has them, and why the other has not."""
    wide = table.pivot(index="case_id", columns="arm", values="n_usable").reindex(columns=list(arms))
    archetypes = table.drop_duplicates("case_id").set_index("case_id")["archetype"]
    return [
        {"case_id": case_id, "archetype": archetypes[case_id], **_alone(arms, new, old)}
        for case_id, new, old in wide.itertuples()
        if not (new > 0 and old > 0)  # NaN where an arm did not run the case
    ]


def _alone(arms: tuple[str, str], new: float, old: float) -> Keys:
    """Return the arm that has the case, and why it is alone; counts of usable trials, NaN if not run."""
    if not (new > 0 or old > 0):
        return {"arm": None, "reason": "no usable trial in either arm"}
    has, lacks, count = (*arms, old) if new > 0 else (*arms[::-1], new)
    return {"arm": has, "reason": f"{'not run' if isnan(count) else 'no usable trial'} in {lacks}"}
