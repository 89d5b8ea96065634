"""What does a case cost, and how many times more is that than before? Money, tokens, seconds.

Costs are skewed and now and then enormous, so the middle one is told, not the mean (which `case_mean` gives
when a bill has to be paid). Changes of cost are ratios: twice as much and half as much are equally far from
equal. Errors, timeouts and cached calls are other things: keep them apart before coming here.

Written by hand: the exact interval is two order statistics.

References
----------
.. [Thompson] Thompson (1936). On confidence ranges for the median and other expectation distributions for
   populations of unknown distribution form. Ann. Math. Stat. 7:122. doi:10.1214/aoms/1177732502
.. [SC] Snedecor, Cochran (1989). Statistical Methods, 8th ed., section 8.4. Iowa State University Press.
.. [BA] Bland, Altman (1996). The use of transformation when comparing two means. BMJ 312:1153.
   doi:10.1136/bmj.312.7039.1153
"""

from dataclasses import replace
from math import exp, nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrik

from evalstats.stats.pairs import paired_t
from evalstats.stats.results import Estimate, FloatArray, check_level, counted, normal_quantile, undefined


def exact_median(values: ArrayLike, *, level: float = 0.95) -> Estimate:
    """How much does the middle case cost? Median with the exact order-statistic interval.

    Parameters
    ----------
    values : array of float, shape (n_cases,)
        One value per case, in any unit. NaN is a missing cost: then nothing is told.
    level : float
        Confidence level; coverage is never below it.

    Returns
    -------
    Estimate
        Of the median over cases (population SUPER). The bounds are two of the values. `std_error` is their
        distance over twice the normal quantile of the coverage they really have.

    Notes
    -----
    Assumes cases drawn independently, nothing else. Below 6 cases there is no 95% interval, below 4 none of
    80%. Not for sums: a budget needs the mean.

    References
    ----------
    [Thompson]_, [SC]_.

    Examples
    --------
    >>> print(exact_median([0.02, 0.03, 0.05, 0.04, 0.90, 0.03]))
    median 0.035 [0.02, 0.9] at level 0.95 (order statistics, SUPER, 6 cases, 6 trials)
    """
    costs = _flat(values)
    n = costs.size
    known: dict[str, Any] = {
        "estimand": "median",
        "population": "SUPER",
        "level": check_level(level),
        "n_cases": n,
        "n_trials": n,
        "method": "order statistics",
    }
    if np.isnan(costs).any():
        return undefined(f"{int(np.isnan(costs).sum())} of {counted(n, 'value')} missing", **known)
    if not n:
        return undefined("no cases", **known)
    rank = median_rank(n, level)
    if not rank:
        few = f"{counted(n, 'case')}: too few for a level of {level:g}"
        return undefined(few, estimate=np.median(costs), **known)
    low, high = np.sort(costs)[[rank - 1, n - rank]]
    coverage = 1 - 2 * float(bdtr(rank - 1, n, 0.5))
    return Estimate(
        estimate=np.median(costs),
        std_error=(high - low) / (2 * normal_quantile(coverage)) if high > low else nan,
        conf_low=low,
        conf_high=high,
        caveats=() if high > low else ("both bounds are the same value: no standard error",),
        **known,
    )


def median_rank(n: int, level: float) -> int:
    """Return which value from either end bounds the median, counted from 1; 0 when no value does.

    Examples
    --------
    >>> median_rank(20, 0.95)
    6
    """
    tail = (1 - check_level(level)) / 2
    rank = max(0, int(bdtrik(tail, n, 0.5)) + 1) if n and 0.5**n <= tail else 0
    while rank and bdtr(rank - 1, n, 0.5) > tail:  # rounding at an exact tail
        rank -= 1
    return rank


def cost_ratio(
    candidate: ArrayLike, baseline: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How many times more does the candidate cost on the same cases? Ratio of geometric means.

    Parameters
    ----------
    candidate, baseline : array of float, shape (n_cases,)
        Cost of each case in each arm, above 0, in one unit; the same case at the same place.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to: CR1, or CR3 below 20 clusters, and t(clusters - 1).
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of the ratio candidate / baseline (population SUPER): paired t on the logs, carried back. 1 means no
        change. `std_error` is that of the log times the ratio. Nothing is told when a cost is 0 or missing:
        a free call has no ratio, and leaving it out would be a selection.

    Notes
    -----
    Assumes log ratios drawn independently and their mean near normal. Not the ratio of the bills: for that
    use `bootstrap` on the two columns.

    References
    ----------
    [BA]_.

    Examples
    --------
    >>> print(cost_ratio([0.02, 0.05, 0.03, 0.04], [0.01, 0.02, 0.02, 0.02]))
    cost ratio 1.968 [1.41, 2.746] at level 0.95 (paired t on log costs, on cases, SUPER, 4 cases, 8 trials)
    """
    new, old = _flat(candidate), _flat(baseline)
    if new.size != old.size:
        raise ValueError(f"both arms must have the same cases, got {new.size} and {old.size}")
    missing, free = int((np.isnan(new) | np.isnan(old)).sum()), int(((new <= 0) | (old <= 0)).sum())
    cases = counted(new.size, "case")
    refusals = [f"{missing} of {cases} with a missing cost"] if missing else []
    refusals += [f"{free} of {cases} with a cost of 0 or less: no ratio"] if free else []
    if refusals:
        return undefined(
            "; ".join(refusals),
            estimand="cost ratio",
            population="SUPER",
            level=check_level(level),
            n_cases=new.size,
            n_trials=2 * new.size,
            method="paired t on log costs",
        )
    logs = np.log(new / old)
    found = paired_t(logs, np.zeros(logs.size), clusters=clusters, level=level)
    return replace(
        found,
        estimand="cost ratio",
        estimate=exp(found.estimate),
        std_error=found.std_error * exp(found.estimate),
        conf_low=exp(found.conf_low),
        conf_high=exp(found.conf_high),
        method=found.method.replace("paired t on", "paired t on log costs, on"),
    )


def _flat(values: ArrayLike) -> FloatArray:
    costs = np.asarray(values, dtype=np.float64)
    if costs.ndim != 1 or np.isinf(costs).any():
        raise ValueError(f"costs must be a flat vector of finite numbers, got shape {costs.shape}")
    return costs
