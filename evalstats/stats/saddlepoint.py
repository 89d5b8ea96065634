"""What would a million resamples say? The bootstrap percentile without resampling, and so without a seed.

The bootstrap distribution of a mean or of a ratio of means has a generating function that can be written
down, and Lugannani and Rice turn it into tail probabilities; their quantiles are found by root finding. The
same data give the same interval to the last bit, which a gate needs, many times faster than resampling.

Nothing but the resampling is avoided: it is the percentile interval, with its virtues and its faults. Where
few cases differ, or few fail, use `lift` or `paired_difference`, which choose.

Written by hand: no library in reach has it, and it is thirty lines.

References
----------
.. [LR] Lugannani, Rice (1980). Saddle point approximation for the distribution of the sum of independent
   random variables. Adv. Appl. Probab. 12:475. doi:10.2307/1426607
.. [DH] Davison, Hinkley (1988). Saddlepoint approximations in resampling methods. Biometrika 75:417.
   doi:10.1093/biomet/75.3.417
.. [DHW] Davison, Hinkley, Worton (1992). Bootstrap likelihoods. Biometrika 79:113.
   doi:10.1093/biomet/79.1.113
"""

from collections.abc import Callable
from math import copysign, exp, inf, isfinite, log, nan, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from evalstats.stats.means import MIN_CASES
from evalstats.stats.results import (
    Estimate,
    FloatArray,
    check_clusters,
    check_level,
    check_pairs,
    check_scores,
)

STEPS = 60  # Newton and secant steps; a dozen are usual
STRIDE = 4.0  # how many times farther from 0 one Newton step may go: beyond, exponentials overflow
CLOSE = 1e-11  # in standard errors: where the saddlepoint counts as found
BOUND_CLOSE = 1e-8  # and where a bound does
NEVER = 1e-3  # chance of an undefined resample that is let pass
NEAR_CENTRE = 3e-3  # standard errors from the centre within which the two large terms cancel too much


def saddlepoint_mean(
    scores: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How far may the mean score be off, on new cases like these? Percentile bootstrap without resampling.

    Parameters
    ----------
    scores : array of float, shape (n_cases,)
        Mean score of each case over its trials, or its difference between two arms, in the unit of the score.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to: whole clusters are what would have been resampled.
    level : float
        Confidence level of the percentile interval.

    Returns
    -------
    Estimate
        Of the mean of case means (population SUPER). `std_error` is that of the bootstrap distribution.

    Notes
    -----
    Assumes cases (or clusters) drawn independently, and many of them, 200 or more: with fewer it is as narrow
    as every percentile interval. There use `mean_score`.

    References
    ----------
    [LR]_, [DH]_.

    Examples
    --------
    >>> found = saddlepoint_mean([1, 0, 0.5, 0.5, 0.25, 0.75])
    >>> round(found.conf_low, 3), round(found.conf_high, 3)
    (0.243, 0.757)
    """
    values = check_scores(scores)
    sums = _unit_sums(np.stack([values, np.ones_like(values)], axis=1), clusters)
    return _record(sums, values.size, clusters is not None, check_level(level), estimand="mean score")


def saddlepoint_ratio(
    numerator: ArrayLike, denominator: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How far may a ratio of two means be off, on new cases? Percentile bootstrap without resampling.

    Parameters
    ----------
    numerator, denominator : array of float, shape (n_cases,)
        One value of each per case, at the same place; the denominators must not be negative.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to: whole clusters are what would have been resampled.
    level : float
        Confidence level of the percentile interval.

    Returns
    -------
    Estimate
        Of mean(numerator) / mean(denominator) (population SUPER). `std_error` is the delta method's.

    Notes
    -----
    Assumes what `saddlepoint_mean` does, and a mean denominator well away from 0.

    References
    ----------
    [LR]_, [DHW]_: the ratio is at most r where the mean of numerator - r denominator is at most 0.

    Examples
    --------
    >>> found = saddlepoint_ratio([1, 2, 3, 2], [2, 2, 4, 4])
    >>> found.estimate, round(found.conf_low, 3), round(found.conf_high, 3)
    (0.6666666666666666, 0.5, 0.868)
    """
    top, bottom = check_pairs(numerator, denominator)
    if (bottom < 0).any():
        raise ValueError(f"denominators must not be negative, got {float(bottom[bottom < 0][0])!r}")
    sums = _unit_sums(np.stack([top, bottom], axis=1), clusters)
    return _record(sums, top.size, clusters is not None, check_level(level), estimand="ratio of means")


class Cumulants(NamedTuple):
    """The cumulant generating function of a sum at one point: its value and two derivatives."""

    value: float
    slope: float
    curvature: float


Generator = Callable[[float], Cumulants]
Tail = Callable[[float], float]


def resampled_sum(values: FloatArray) -> Generator:
    """Return the generating function of the sum of n values drawn with replacement from `values`, shape (n,)."""
    n = values.size

    def at(s: float) -> Cumulants:
        top = float((s * values).max())
        weights = np.exp(s * values - top)
        total = float(weights.sum())
        mean = float(weights @ values) / total
        spread = float(weights @ (values - mean) ** 2) / total
        return Cumulants(n * (top + log(total / n)), n * mean, n * spread)

    return at


def below_zero(at: Generator) -> float:
    """Return the probability that the sum is at most 0, by Lugannani and Rice, as a normal quantile.

    The sum must be able to have either sign.
    """
    s, found = _saddlepoint(at)
    u = s * sqrt(found.curvature)
    if abs(u) < NEAR_CENTRE:
        return _at_centre(at)
    r = copysign(sqrt(max(-2 * found.value, 0.0)), u)
    tail = ndtr(r) + exp(-r * r / 2) / sqrt(2 * pi) * (1 / r - 1 / u)
    return float(ndtri(min(max(tail, 1e-300), 1 - 1e-16)))


def quantile(tail_at: Tail, probability: float, around: tuple[float, float]) -> float:
    """Return where a distribution function reaches `probability`: secant steps inside a bracket.

    `tail_at` gives the function as a rising normal quantile, infinite outside the support; `around` is a
    guess of centre and spread.
    """
    target, spread = float(ndtri(probability)), around[1]
    (left, low), (right, high) = _bracket(lambda place: tail_at(place) - target, target, around)
    moved = 0
    for _ in range(STEPS):
        share = low / (low - high) if isfinite(low - high) else 0.5
        middle = left + share * (right - left)
        found = tail_at(middle) - target
        if abs(found) <= BOUND_CLOSE or right - left <= BOUND_CLOSE * spread:
            break
        # An end that stays twice counts half, so that both ends come nearer (the Illinois rule).
        if found < 0:
            left, low, high = middle, found, high / 2 if moved < 0 else high
        else:
            right, high, low = middle, found, low / 2 if moved > 0 else low
        moved = -1 if found < 0 else 1
    return middle


def _bracket(excess: Tail, target: float, around: tuple[float, float]) -> list[tuple[float, float]]:
    """Return two places between which the quantile lies, about half a spread apart, each with its excess."""
    centre, spread = around
    ends = []
    for side in (-1, 1):
        place = centre + (target + 0.25 * side) * spread
        found = excess(place)
        for k in range(STEPS):
            if side * found > 0:
                break
            place += side * spread * 2**k / 4
            found = excess(place)
        ends.append((place, found))
    return ends


def _saddlepoint(at: Generator) -> tuple[float, Cumulants]:
    """Return where the slope is 0, and the cumulants there: Newton's steps inside a bracket."""
    low, high, s, found = -inf, inf, 0.0, at(0.0)
    unit = 1 / sqrt(found.curvature)
    for _ in range(STEPS):
        if abs(found.slope) <= CLOSE * sqrt(found.curvature):
            break
        low, high = (low, s) if found.slope > 0 else (s, high)
        longest = STRIDE * max(abs(s), unit)
        step = max(-longest, min(longest, -found.slope / found.curvature))
        s = s + step if low < s + step < high else (low + high) / 2
        found = at(s)
    return s, found


def _at_centre(at: Generator) -> float:
    """Return the limit of the formula at the mean, from the skewness by a central difference, plus a shift."""
    here = at(0.0)
    h = 1e-3 / sqrt(here.curvature)
    third = (at(h).curvature - at(-h).curvature) / (2 * h)
    skewness = float(third / here.curvature**1.5)
    return -here.slope / sqrt(here.curvature) + skewness / 6


def _unit_sums(table: FloatArray, clusters: ArrayLike | None) -> FloatArray:
    codes = check_clusters(clusters, table.shape[0])
    return np.stack([np.bincount(codes, weights=column) for column in table.T], axis=1)


def ratio_bounds(sums: FloatArray, level: float) -> tuple[float, float, float]:
    """Return standard error and percentile bounds of the ratio of column sums, shape (n_units, 2)."""
    top, bottom = sums.T
    ratio = float(top.sum() / bottom.sum())
    spread = sqrt(float(((top - ratio * bottom) ** 2).sum())) / float(bottom.sum())

    def tail_at(r: float) -> float:
        values = top - r * bottom
        if values.min() >= 0 or values.max() <= 0:
            return -inf if values.max() > 0 else inf
        return below_zero(resampled_sum(values))

    tails = (1 - level) / 2, (1 + level) / 2
    low, high = (quantile(tail_at, tail, (ratio, spread)) for tail in tails)
    if bottom.all():  # a root may lie a rounding error outside what resamples can reach
        low, high = max(low, float((top / bottom).min())), min(high, float((top / bottom).max()))
    return spread, low, high


def _record(sums: FloatArray, n_cases: int, clustered: bool, level: float, **known: Any) -> Estimate:
    problem = _why_not(sums)
    total = float(sums[:, 1].sum())
    spread, low, high = (nan, nan, nan) if problem else ratio_bounds(sums, level)
    return Estimate(
        population="SUPER",
        estimate=float(sums[:, 0].sum()) / total if total else nan,
        std_error=spread,
        conf_low=low,
        conf_high=high,
        level=level,
        n_cases=n_cases,
        n_clusters=sums.shape[0] if clustered else None,
        n_trials=n_cases,
        method="saddlepoint percentile",
        caveats=(problem,) if problem else (),
        **known,
    )


def _why_not(sums: FloatArray) -> str:
    if sums.shape[0] < MIN_CASES:
        return f"{sums.shape[0]} of the {MIN_CASES} units needed for an interval"
    top, bottom = sums.T
    if not bottom.sum():
        return "the denominator is 0 in every case"
    if (1 - np.count_nonzero(bottom) / bottom.size) ** bottom.size > NEVER:
        return "too few cases with a denominator: a resample may have none"
    left = top - bottom * (top.sum() / bottom.sum())
    if np.abs(left).max() <= 1e-12 * np.abs(top).max():
        return "all cases agree: the variance is not estimable"
    return ""
