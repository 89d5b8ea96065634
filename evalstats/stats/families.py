"""Which of several groups really differ, when many are looked at together? Adjusted p-values and shrinkage.

Of twenty unchanged archetypes one is "significant" at 5%. Holm keeps the chance of *any* false flag below the
level, Benjamini-Hochberg the share of false flags among all. For ranking, neither: estimates of small groups
are shrunk towards the common mean by as much as the data say that groups are alike.

Written by hand: the step-up and step-down rules are three lines each, and `statsmodels` has no
empirical-Bayes interval.

References
----------
.. [Holm] Holm (1979). A simple sequentially rejective multiple test procedure. Scand. J. Stat. 6:65.
   https://www.jstor.org/stable/4615733
.. [BH] Benjamini, Hochberg (1995). Controlling the false discovery rate. JRSS B 57:289.
   doi:10.1111/j.2517-6161.1995.tb02031.x
.. [Morris] Morris (1983). Parametric empirical Bayes inference: theory and applications. JASA 78:47.
   doi:10.1080/01621459.1983.10477920
.. [EM] Efron, Morris (1977). Stein's paradox in statistics. Sci. Am. 236(5):119.
   doi:10.1038/scientificamerican0577-119
.. [PM] Paule, Mandel (1982). Consensus values and weighting factors. J. Res. Natl. Bur. Stand. 87:377.
   doi:10.6028/jres.087.022
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.results import (
    Estimate,
    FloatArray,
    agree,
    around,
    check_clusters,
    check_level,
    check_scores,
    t_quantile,
)

MIN_GROUPS = 4  # Morris's factor k - 3 leaves nothing to shrink by below


def holm(p_values: ArrayLike) -> FloatArray:
    """Which hypotheses fall, if not one may fall falsely? Holm's adjusted p-values, shape (n,).

    Parameters
    ----------
    p_values : array of float, shape (n,)
        In [0, 1]. NaN for a test that could not be done: it stays NaN and does not count.

    Returns
    -------
    array of float, shape (n,)
        In the order given. Rejecting those up to alpha keeps the chance of any false rejection up to alpha.

    Notes
    -----
    Holds for any dependence between the tests. For exploring, where some false flags may pass, use
    `benjamini_hochberg`. Critical cases are no family: check each by itself.

    References
    ----------
    [Holm]_.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p, order = _ordered(p_values)
    factors = np.arange(order.size, 0, -1)
    return _restored(p, order, np.maximum.accumulate(p[order] * factors))


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Which hypotheses fall, if a share of false ones may be among them? BH adjusted p-values, shape (n,).

    Parameters
    ----------
    p_values : array of float, shape (n,)
        In [0, 1]. NaN for a test that could not be done: it stays NaN and does not count.

    Returns
    -------
    array of float, shape (n,)
        In the order given. Rejecting those up to q keeps the expected share of false rejections up to q.

    Notes
    -----
    Assumes independent or positively dependent tests. Not for a gate: use `holm`.

    References
    ----------
    [BH]_.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """
    p, order = _ordered(p_values)
    factors = order.size / np.arange(1, order.size + 1)
    return _restored(p, order, np.minimum.accumulate((p[order] * factors)[::-1])[::-1])


def group_means(scores: ArrayLike, *, groups: ArrayLike, level: float = 0.95) -> dict[str, Estimate]:
    """How high is the mean in each small group? Student's t with one variance pooled over the groups.

    Parameters
    ----------
    scores : array of float, shape (n_cases,)
        One score per case: its mean over trials, or its difference between two arms.
    groups : array of labels, shape (n_cases,)
        The group (archetype) of each case.
    level : float
        Confidence level of each interval by itself.

    Returns
    -------
    dict of str to Estimate
        Of the mean of each group (population SUPER), in order of the labels.

    Notes
    -----
    Assumes that cases vary alike within all groups: with 3 to 6 cases a group, its own variance says too
    little. Do not read the intervals as a family: see `holm`, and `shrunken_groups` for ranking.

    References
    ----------
    [Morris]_ for what may follow; the pooled variance is that of a one-way analysis of variance.

    Examples
    --------
    >>> found = group_means([1, 0, 1, 0, 0, 1], groups=["A1", "A1", "A1", "A2", "A2", "A2"])
    >>> print(found["A2"])
    mean of A2 0.3333 [-0.5921, 1.259] at level 0.95 (pooled t, SUPER, 3 cases, 3 trials)
    """
    values, names = check_scores(scores), np.asarray(groups)
    codes = check_clusters(names, values.size)
    sizes = np.bincount(codes)
    means = np.bincount(codes, weights=values) / sizes
    df = values.size - sizes.size
    deviations = values - means[codes]
    variance = nan if df < 1 or agree(deviations) else float((deviations**2).sum()) / df
    pooled = _Pooled(variance, df, check_level(level))
    labels = (str(name) for name in np.unique(names))
    return {
        name: pooled.group(name, mean, int(size))
        for name, mean, size in zip(labels, means, sizes, strict=True)
    }


def shrunken_groups(groups: Sequence[Estimate], *, df: float = inf) -> list[Estimate]:
    """Where does each group stand, once luck is taken out? Morris's empirical-Bayes estimates.

    Parameters
    ----------
    groups : sequence of Estimate
        One per group, of one estimand in one unit, each with its standard error and one level.
    df : float
        Degrees of freedom of the standard errors, for the t quantile: cases - groups after `group_means`.

    Returns
    -------
    list of Estimate
        In the order given, pulled towards the weighted mean, more where the standard error is larger. The
        standard error counts that the mean and the spread of the groups are estimated too.

    Notes
    -----
    Assumes group means spread normally around a common one, known standard errors, and independent groups.
    The interval holds on average over groups, not for an outlier: a group that is known to be special does
    not belong in. A group without a standard error is left as it is, and said so. Fewer than 4 groups are not
    shrunk. Never use it for a gate: a real drop of one group is shrunk away.

    References
    ----------
    [Morris]_ (equal variances: the James-Stein estimate of [EM]_).

    Examples
    --------
    >>> scores = [1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0]
    >>> found = group_means(scores, groups=["A"] * 3 + ["B"] * 3 + ["C"] * 3 + ["D"] * 3)
    >>> [round(group.estimate, 3) for group in shrunken_groups(list(found.values()), df=8)]
    [0.65, 0.35, 0.95, 0.05]
    """
    known = [i for i, group in enumerate(groups) if group.std_error > 0]
    if len(known) < MIN_GROUPS:
        few = f"not shrunk: {len(known)} of the {MIN_GROUPS} groups needed"
        return [replace(group, caveats=(*group.caveats, few)) for group in groups]
    y = np.array([groups[i].estimate for i in known])
    v = np.array([groups[i].std_error for i in known]) ** 2
    found = dict(zip(known, _morris(y, v), strict=True))
    unshrunk = "not shrunk: no standard error"
    return [
        _moved(group, found[i], df) if i in found else replace(group, caveats=(*group.caveats, unshrunk))
        for i, group in enumerate(groups)
    ]


def between_groups_variance(estimates: ArrayLike, variances: ArrayLike) -> float:
    """Return how much true group means vary: Morris's estimate, at least 0, in squared units.

    `estimates` and their known error `variances` have shape (k,). It is the amount which, added to the error
    variances, makes the weighted squared deviations add up to k - 1, hence also called Paule-Mandel's.

    References
    ----------
    [Morris]_, [PM]_.
    """
    y, v = check_scores(estimates), check_scores(variances)

    def excess(amount: float) -> float:
        weights = 1 / (v + amount)
        centre = (weights * y).sum() / weights.sum()
        return float((weights * (y - centre) ** 2).sum()) - (y.size - 1)

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, float(((y - y.mean()) ** 2).sum()) / (y.size - 1)
    for _ in range(100):  # bisection: the excess falls with the amount
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


class _Pooled(NamedTuple):
    """One variance for all groups, and how well it is known."""

    variance: float
    df: int
    level: float

    def group(self, name: str, mean: float, size: int) -> Estimate:
        """Return the estimate of one group."""
        known = self.variance > 0
        std_error = sqrt(self.variance / size) if known else nan
        return around(
            mean,
            std_error,
            t_quantile(self.level, max(self.df, 1)),
            estimand=f"mean of {name}",
            population="SUPER",
            level=self.level,
            n_cases=size,
            n_trials=size,
            method="pooled t",
            caveats=() if known else ("no variance within groups: the standard error is not estimable",),
        )


class _Shrunk(NamedTuple):
    estimate: float
    std_error: float


def _morris(y: FloatArray, v: FloatArray) -> list[_Shrunk]:
    """Return the shrunken estimates and their errors; letters as in the paper: V, A, B, W, r, v."""
    k = y.size
    a = between_groups_variance(y, v)
    w = 1 / (v + a)
    centre = float((w * y).sum() / w.sum())
    b = (k - 3) / (k - 1) * v / (v + a)
    share = k * w / w.sum()  # Morris's r for each group; all 1 when the variances are equal
    doubt = 2 / (k - 3) * b**2 * ((w * v).sum() / w.sum() + a) / (v + a)
    variance = v * (1 - (k - share) / k * b) + doubt * (y - centre) ** 2
    return [_Shrunk(*pair) for pair in zip(centre + (1 - b) * (y - centre), np.sqrt(variance), strict=True)]


def _moved(group: Estimate, to: _Shrunk, df: float) -> Estimate:
    half = t_quantile(group.level, df) * to.std_error
    return replace(
        group,
        estimate=to.estimate,
        std_error=to.std_error,
        conf_low=to.estimate - half,
        conf_high=to.estimate + half,
        method="empirical Bayes, Morris",
    )


def _ordered(p_values: ArrayLike) -> tuple[FloatArray, np.ndarray]:
    p = np.asarray(p_values, dtype=np.float64)
    wrong = [x for x in p.ravel() if not isnan(x) and not 0 <= x <= 1]
    if p.ndim != 1 or wrong:
        raise ValueError(f"p_values must be a flat vector inside [0, 1], got {wrong or p.shape}")
    order = np.argsort(p, kind="stable")
    return p, order[: np.count_nonzero(~np.isnan(p))]  # NaN sorts last


def _restored(p: FloatArray, order: np.ndarray, adjusted: FloatArray) -> FloatArray:
    out = p.copy()
    out[order] = np.minimum(adjusted, 1.0)
    return out
