"""When did it change? Dating a shift in a finished series, afterwards.

A control chart says *that* something changed, some nights late. Here the whole series is at hand: it is split
where the two parts differ most, and each part is searched again. Only for looking back: a change point found
in tonight's data is no alarm.

Written by hand: the packages that offer E-divisive bring a compiled extension or a plotting library.

References
----------
.. [MJ] Matteson, James (2014). A nonparametric approach for multiple change point analysis of multivariate
   data. JASA 109:334. doi:10.1080/01621459.2013.849605
.. [Hunter] Fleming, Kolaczkowski, Kumar, et al. (2023). Hunter: using change point detection to hunt for
   performance regressions. ICPE 2023. doi:10.1145/3578244.3583719
.. [Student] Student (1908). The probable error of a mean. Biometrika 6:1. doi:10.1093/biomet/6.1.1
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from evalstats.stats.results import FloatArray, agree, check_level, check_scores

SMALLEST_PART = 2  # values on each side of a split


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """Where did the level change, and from what to what?

    Parameters
    ----------
    index : int
        Index from 0 of the first value after the change.
    before, after : float
        Mean of the part before and after, up to the neighbouring change points, in the unit of the values.
    p_value : float
        Of Student's two-sample t test between these parts, times the number of possible splits, at most 1.

    Examples
    --------
    >>> e_divisive([1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9])[0].after
    2.0
    """

    index: int
    before: float
    after: float
    p_value: float


def e_divisive(values: ArrayLike, *, alpha: float = 0.05) -> list[ChangePoint]:
    """When did the level change? E-divisive splits, each confirmed by a t test.

    Parameters
    ----------
    values : array of float, shape (n_nights,)
        The whole series, oldest first, in any unit.
    alpha : float
        Chance of dating a change that never was, at each split looked at.

    Returns
    -------
    list of ChangePoint
        In order of time; empty when nothing is confirmed. A series below 4 values is never split.

    Notes
    -----
    Assumes independent nights, normal around a level that jumps; a slow drift comes out as stairs. The split
    was chosen to look large, hence the p-value is multiplied by the number of splits (Bonferroni). Do not use
    it as an alarm: use `cusum`.

    References
    ----------
    [MJ]_ for the splits, [Hunter]_ for a t test in place of permutations, [Student]_.

    Examples
    --------
    >>> [found.index for found in e_divisive([5.0, 5.1, 4.9, 5.0, 3.0, 3.1, 2.9, 3.0])]
    [4]
    """
    series = check_scores(values)
    splits = sorted(_splits(series, 0, series.size, check_level(alpha, "alpha")))
    edges = [0, *splits, series.size]
    return [_change(series, *parts) for parts in zip(edges[:-2], edges[1:-1], edges[2:], strict=True)]


def energy_statistics(series: FloatArray) -> FloatArray:
    """Return the scaled energy distance of the two parts at each split, shape (n - 1,).

    Entry i splits before index i + 1. Parts of one value have no inner distances; they count as 0.
    """
    n = series.size
    # One value's distances at a time: all at once would take the square of the memory.
    to_earlier = np.array([np.abs(series[:i] - x).sum() for i, x in enumerate(series)])
    to_later = np.array([np.abs(series[i:] - x).sum() for i, x in enumerate(series)])
    left, right = np.cumsum(to_earlier)[:-1], np.cumsum(to_later[::-1])[::-1][1:]
    across = to_earlier.sum() - left - right
    m = np.arange(1, n)
    pairs_left, pairs_right = m * (m - 1) / 2, (n - m) * (n - m - 1) / 2
    inner = left / np.maximum(pairs_left, 1) + right / np.maximum(pairs_right, 1)
    return np.asarray(m * (n - m) / n * (2 * across / (m * (n - m)) - inner))


def _splits(series: FloatArray, start: int, stop: int, alpha: float) -> list[int]:
    """Return the confirmed splits of series[start:stop], found one inside the other."""
    possible = slice(SMALLEST_PART - 1, stop - start - SMALLEST_PART)
    statistics = energy_statistics(series[start:stop])[possible]
    if not statistics.size or agree(series[start:stop]):
        return []
    at = start + SMALLEST_PART + int(statistics.argmax())
    if _change(series, start, at, stop).p_value > alpha:
        return []
    return [at, *_splits(series, start, at, alpha), *_splits(series, at, stop, alpha)]


def _change(series: FloatArray, start: int, at: int, stop: int) -> ChangePoint:
    before, after = series[start:at], series[at:stop]
    df = before.size + after.size - 2
    inner = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = sqrt(inner / df * (1 / before.size + 1 / after.size))
    difference = abs(float(after.mean() - before.mean()))
    t = difference / error if error > 0 else inf
    possible = stop - start - 2 * SMALLEST_PART + 1
    p_value = min(1.0, 2 * float(stdtr(df, -t)) * possible)
    return ChangePoint(index=at, before=float(before.mean()), after=float(after.mean()), p_value=p_value)
