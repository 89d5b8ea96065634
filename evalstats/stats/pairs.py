"""Is the candidate better than the baseline on the same cases? Differences case by case.

Pairing takes the difficulty of the cases out of the comparison: what remains is how unevenly the change acts.
`paired_difference` chooses among the methods and says which; each can also be asked for by name.

Written by hand on the cluster sums of `means`; `scipy.stats.ttest_rel` agrees where there are no clusters.

References
----------
.. [Student] Student (1908). The probable error of a mean. Biometrika 6:1. doi:10.1093/biomet/6.1.1
.. [Miller] Miller (2024). Adding error bars to evals. doi:10.48550/arXiv.2411.00640
.. [MNW] MacKinnon, Nielsen, Webb (2023). Cluster-robust inference: a guide to empirical practice.
   J. Econometrics 232:272. doi:10.1016/j.jeconom.2022.04.001
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from evalstats.stats.means import case_mean, mean_error, too_few
from evalstats.stats.paired_counts import PairedTable, newcombe_paired
from evalstats.stats.results import (
    Alternative,
    Estimate,
    FloatArray,
    Test,
    check_at_least,
    check_choice,
    check_pairs,
    counted,
    undefined,
)
from evalstats.stats.smoothed_bootstrap import dp25

MAX_UNMATCHED = 0.2
T_CASES, T_DIFFERENT = 20, 5  # t holds its level from here on for yes/no trials, by simulation
T_GRADED_CASES, T_GRADED_DISTINCT = 5, 4  # and from here on for graded scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """What is compared? The case table of two arms, one row per case that both arms have.

    Parameters
    ----------
    candidate, baseline : array of float, shape (n_cases,)
        Mean score of each case in each arm; the same case at the same place.
    trials : int
        Trials per case and arm (the smaller number, where arms or cases differ).
    graded : bool
        Whether a trial can score between fail and pass; False for yes/no trials.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to; without it every case is independent.
    unmatched : int
        Cases that only one arm has, left out above.

    Examples
    --------
    >>> Pairs(candidate=[1, 0.5], baseline=[0, 0.5], trials=2).unmatched
    0
    """

    candidate: ArrayLike
    baseline: ArrayLike
    trials: int
    graded: bool = False
    clusters: ArrayLike | None = None
    unmatched: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that count nothing."""
        check_at_least("trials", self.trials, min(np.size(self.candidate), 1))
        check_at_least("unmatched", self.unmatched, 0)


def paired_difference(
    pairs: Pairs, *, rng: np.random.Generator, reps: int = 10_000, level: float = 0.95
) -> Estimate:
    """How much better is the candidate on the same cases? Chooses the method that holds its level.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms.
    rng : numpy.random.Generator
        Used only if DP.25 is chosen.
    reps : int
        Reweightings, if DP.25 is chosen.
    level : float
        Confidence level (posterior probability where the method is Bayesian).

    Returns
    -------
    Estimate
        Of the mean of the case differences (population SUPER). `method` names what was chosen: paired t from
        20 cases with 5 that differ (graded scores: from 5 cases with 4 different differences); otherwise
        Newcombe's interval where every case passed all its yes/no trials or none, without clusters, and
        DP.25 for the rest.

    Notes
    -----
    Assumes cases (or clusters) drawn independently. Refuses when more than a fifth of the cases is unmatched:
    the rest is a selection; of fewer than 3 pairs only the difference itself is told. The choice looks at the
    data; its calibration was simulated as a whole.

    References
    ----------
    [Miller]_; see `paired_t`, `newcombe_paired` and `dp25`.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 1, 0, 1], baseline=[0, 1, 0, 0], trials=1)
    >>> paired_difference(pairs, rng=np.random.default_rng(1)).method
    'Newcombe, paired'
    """
    new, old = check_pairs(pairs.candidate, pairs.baseline)
    reason, few = refusal(new.size, pairs.unmatched), too_few(new.size, new.size)
    if reason or few:
        return undefined(
            reason or few,
            estimate=nan if reason else (new - old).mean(),
            estimand="difference of mean scores",
            population="SUPER",
            level=level,
            n_cases=new.size,
            n_trials=2 * pairs.trials * new.size,
            method="none",
        )
    found = _chosen(pairs, new - old)(pairs, rng, reps, level)
    left_out = f"{counted(pairs.unmatched, 'unmatched case')} left out"
    return replace(
        found,
        estimand="difference of mean scores",
        n_trials=2 * pairs.trials * new.size,
        caveats=found.caveats + ((left_out,) if pairs.unmatched else ()),
    )


def paired_t(
    candidate: ArrayLike, baseline: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How much higher is the candidate's mean score on the same cases? Student's t on the differences.

    Parameters
    ----------
    candidate, baseline : array of float, shape (n_cases,)
        Mean score of each case in each arm, in the unit of the score; the same case at the same place.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to: CR1, or CR3 below 20 clusters, and t(clusters - 1).
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of the mean difference candidate - baseline (population SUPER); one trial is counted per case and arm.

    Notes
    -----
    Assumes differences drawn independently and their mean near normal. With fewer than 20 cases, or fewer
    than 5 that differ, use `dp25` or `newcombe_paired` for yes/no trials.

    References
    ----------
    [Student]_, [Miller]_, [MNW]_.

    Examples
    --------
    >>> print(paired_t([1, 1, 0.5, 1], [0.5, 1, 0, 0]))
    difference of mean scores 0.5 [-0.1496, 1.15] at level 0.95 (paired t on cases, SUPER, 4 cases, 8 trials)
    """
    new, old = check_pairs(candidate, baseline)
    found = case_mean(new - old, clusters=clusters, level=level)
    return replace(
        found,
        estimand="difference of mean scores",
        n_trials=2 * new.size,
        method=f"paired {found.method}",
    )


def paired_t_test(
    candidate: ArrayLike,
    baseline: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
) -> Test:
    """Do both arms score alike on the same cases? Student's paired t test.

    Parameters
    ----------
    candidate, baseline : array of float, shape (n_cases,)
        Mean score of each case in each arm, in the unit of the score; the same case at the same place.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to: CR1, or CR3 below 20 clusters, and t(clusters - 1).
    alternative : {"two-sided", "greater", "less"}
        "greater": the candidate scores higher.

    Returns
    -------
    Test
        `statistic` is Student's t. It rejects exactly when the interval of `paired_t` leaves out 0.

    Notes
    -----
    Assumes what `paired_t` does. For one yes/no trial per case use `mcnemar_exact`.

    References
    ----------
    [Student]_, [MNW]_.

    Examples
    --------
    >>> print(paired_t_test([1, 1, 0.5, 1], [0.5, 1, 0, 0]))
    the mean difference is 0: p = 0.09172, two-sided (paired t on cases, statistic 2.449)
    """
    check_choice("alternative", alternative, ("two-sided", "greater", "less"))
    new, old = check_pairs(candidate, baseline)
    found = mean_error(new - old, clusters)
    t = found.mean / found.std_error if found.std_error > 0 else nan
    df = max(found.df, 1)
    tails = {"less": stdtr(df, t), "greater": stdtr(df, -t), "two-sided": 2 * stdtr(df, -abs(t))}
    return Test(
        null="the mean difference is 0",
        alternative=alternative,
        statistic=t,
        p_value=tails[alternative],
        method=f"paired {found.method}",
        caveats=found.caveats,
    )


Method = Callable[[Pairs, np.random.Generator, int, float], Estimate]


def _chosen(pairs: Pairs, differences: FloatArray) -> Method:
    """Return the method for these pairs; the numbers are those of the table in the documentation."""
    different = differences[differences != 0]
    if pairs.graded:
        near_normal = differences.size >= T_GRADED_CASES and np.unique(different).size >= T_GRADED_DISTINCT
    else:
        near_normal = differences.size >= T_CASES and different.size >= T_DIFFERENT
    if near_normal:
        return _by_t
    arms = np.concatenate([np.asarray(pairs.candidate), np.asarray(pairs.baseline)])
    # Trials of a case that always agree are worth one.
    if not pairs.graded and pairs.clusters is None and np.isin(arms, (0.0, 1.0)).all():
        return _by_newcombe
    return _by_dp25


def _by_t(pairs: Pairs, rng: np.random.Generator, reps: int, level: float) -> Estimate:
    return paired_t(pairs.candidate, pairs.baseline, clusters=pairs.clusters, level=level)


def _by_newcombe(pairs: Pairs, rng: np.random.Generator, reps: int, level: float) -> Estimate:
    return newcombe_paired(PairedTable.of(pairs.candidate, pairs.baseline), level=level)


def _by_dp25(pairs: Pairs, rng: np.random.Generator, reps: int, level: float) -> Estimate:
    found = dp25(pairs.candidate, pairs.baseline, rng=rng, clusters=pairs.clusters, reps=reps, level=level)
    wide = ("few graded differences: DP.25 is wider than needed",) if pairs.graded else ()
    return replace(found, caveats=found.caveats + wide)


def refusal(n_pairs: int, unmatched: int) -> str:
    """Return why these pairs are not compared, or an empty string."""
    if not n_pairs:
        return "no pairs"
    if unmatched > MAX_UNMATCHED * (n_pairs + unmatched):
        return f"{unmatched} of {counted(n_pairs + unmatched, 'case')} unmatched: the rest is a selection"
    return ""
