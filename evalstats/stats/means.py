"""How high is the mean score over cases, and how alike are the members of a cluster? Moments only.

The unit is the case: a case mean already carries the noise of its trials, so trials are averaged first and
never resampled again. Clusters (archetypes, repositories, documents) are groups of cases that rise and fall
together; then the cluster, not the case, is what was sampled.

Written by hand: for a mean, the cluster-robust variances have closed forms in the cluster sums, and
`statsmodels` would cost a second of import and a design matrix to reach the same numbers.

References
----------
.. [Miller] Miller (2024). Adding error bars to evals. doi:10.48550/arXiv.2411.00640
.. [CM] Cameron, Miller (2015). A practitioner's guide to cluster-robust inference. J. Hum. Resour. 50:317.
   doi:10.3368/jhr.50.2.317
.. [MNW] MacKinnon, Nielsen, Webb (2023). Cluster-robust inference: a guide to empirical practice.
   J. Econometrics 232:272. doi:10.1016/j.jeconom.2022.04.001
.. [SF] Shrout, Fleiss (1979). Intraclass correlations: uses in assessing rater reliability.
   Psychol. Bull. 86:420. doi:10.1037/0033-2909.86.2.420
.. [Swiger] Swiger, Harvey, Everson, Gregory (1964). The variance of intraclass correlation involving groups
   with one observation. Biometrics 20:818. doi:10.2307/2528131
.. [Kish] Kish (1965). Survey Sampling, section 8.2. Wiley.
"""

from dataclasses import replace
from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtri

from evalstats.stats.results import (
    Estimate,
    FloatArray,
    IntArray,
    agree,
    check_clusters,
    check_level,
    check_scores,
    t_quantile,
)

FEW_CLUSTERS = 20  # below this CR1 is too small when clusters differ in size [MNW]_
MIN_CASES = 3


class MeanError(NamedTuple):
    """A mean, its standard error, and where both come from."""

    mean: float
    std_error: float
    df: int
    method: str
    caveats: tuple[str, ...]


def case_mean(
    scores: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    trials: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """How high is the mean score over cases, and would it hold on new ones? Student's t on case means.

    Parameters
    ----------
    scores : array of float, shape (n_cases,)
        Mean score of each case over its trials, in the unit of the score.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to; without it every case is independent.
    trials : array of int, shape (n_cases,), optional
        Trials behind each case mean, only to be counted; 1 each when absent.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of the mean of case means (population SUPER). With clusters: CR1, or the cluster jackknife CR3 below
        20 clusters, and t with one degree of freedom less than there are clusters.

    Notes
    -----
    Assumes cases (or clusters) drawn independently, and enough of them for the mean to be near normal. Do not
    use it below 30 cases of yes/no scores, nor when nearly all agree: use `pass_rate`, which chooses.

    References
    ----------
    [Miller]_, [CM]_, [MNW]_.

    Examples
    --------
    >>> print(case_mean([1, 0, 0.5, 0.5]))
    mean score 0.5 [-0.1496, 1.15] at level 0.95 (t on cases, SUPER, 4 cases, 4 trials)
    """
    values = check_scores(scores)
    found = mean_error(values, clusters)
    half = t_quantile(level, found.df) * found.std_error if found.df else nan
    return Estimate(
        estimand="mean score",
        population="SUPER",
        estimate=found.mean,
        std_error=found.std_error,
        conf_low=found.mean - half,
        conf_high=found.mean + half,
        level=level,
        n_cases=values.size,
        n_clusters=None if clusters is None else found.df + 1,
        n_trials=int(values.size if trials is None else np.sum(trials)),
        method=found.method,
        caveats=found.caveats,
    )


def icc(scores: ArrayLike, *, clusters: ArrayLike, level: float = 0.95) -> Estimate:
    """How alike are two scores of one cluster? The one-way ANOVA intraclass correlation, ICC(1).

    Parameters
    ----------
    scores : array of float, shape (n,)
        One score per element, in the unit of the score: trials when cases are the clusters, case means when
        archetypes are.
    clusters : array of labels, shape (n,)
        The cluster of each element.
    level : float
        Confidence level of the F interval, exact for normal scores and equal cluster sizes.

    Returns
    -------
    Estimate
        Of the correlation, not truncated: a negative value says the members differ more than strangers do.

    Notes
    -----
    Assumes one variance within all clusters. With yes/no scores the estimate stands but the interval is only
    rough. `n_cases` counts elements.

    References
    ----------
    [SF]_ (case 1), [Swiger]_ for the standard error.

    Examples
    --------
    >>> found = icc([1, 2, 5, 6], clusters=[0, 0, 1, 1])
    >>> found.estimate  # doctest: +ELLIPSIS
    0.9393...
    """
    values = check_scores(scores)
    tail = (1 - check_level(level)) / 2
    table = _one_way(values, clusters)
    dfs = table.n_clusters - 1, values.size - table.n_clusters
    unknown = bool(table.problem)
    return Estimate(
        estimand="intraclass correlation",
        population="SUPER",
        estimate=table.correlation(),
        std_error=nan if unknown else table.std_error(values.size),
        conf_low=nan if unknown else table.correlation(fdtri(*dfs, 1 - tail)),
        conf_high=nan if unknown else table.correlation(fdtri(*dfs, tail)),
        level=level,
        n_cases=values.size,
        n_clusters=table.n_clusters,
        n_trials=values.size,
        method="one-way ANOVA",
        caveats=(table.problem,) if unknown else (),
    )


def design_effect(scores: ArrayLike, *, clusters: ArrayLike, level: float = 0.95) -> Estimate:
    """How many times larger is the variance of the mean because of clusters? Kish's design effect.

    Parameters
    ----------
    scores : array of float, shape (n,)
        One score per element, in the unit of the score.
    clusters : array of labels, shape (n,)
        The cluster of each element.
    level : float
        Confidence level; the interval is that of `icc`, carried over.

    Returns
    -------
    Estimate
        Of the variance ratio 1 + (m - 1) icc with m the mean cluster size seen by an element. The effective
        number of elements is n divided by it.

    Notes
    -----
    Assumes what `icc` does. Not a standard error: for the interval of a mean use `case_mean` with clusters.

    References
    ----------
    [Kish]_.

    Examples
    --------
    >>> print(design_effect([1, 2, 5, 6], clusters=[0, 0, 1, 1]).estimate)  # doctest: +ELLIPSIS
    1.9393...
    """
    found = icc(scores, clusters=clusters, level=level)
    sizes = np.bincount(check_clusters(clusters, found.n_cases))
    slope = float((sizes**2).sum() / max(found.n_cases, 1)) - 1
    return replace(
        found,
        estimand="design effect",
        estimate=1 + slope * found.estimate,
        std_error=slope * found.std_error,
        conf_low=1 + slope * found.conf_low,
        conf_high=1 + slope * found.conf_high,
        method="Kish on one-way ANOVA",
    )


def mean_error(values: FloatArray, clusters: ArrayLike | None) -> MeanError:
    """Return the mean and its standard error over independent clusters (or cases, each its own cluster).

    With one case per cluster CR1 and CR3 are both the familiar s / sqrt(n), so nothing is decided twice.
    """
    codes = check_clusters(clusters, values.size)
    n, n_clusters = values.size, int(codes.max(initial=-1)) + 1
    mean = float(values.mean()) if n else nan
    few = n_clusters < FEW_CLUSTERS
    method = "t on cases" if clusters is None else f"t on clusters, {'CR3' if few else 'CR1'}"
    sizes, sums = np.bincount(codes), np.bincount(codes, weights=values - mean).astype(np.float64)
    problem = _why_no_error(values, sums)
    if problem:
        return MeanError(mean, nan, max(n_clusters - 1, 0), method, (problem,))
    weights = sizes if few else np.zeros(n_clusters)  # CR3 leaves each cluster out in turn
    correction = (n_clusters - 1) / n_clusters if few else n_clusters / (n_clusters - 1)
    variance = correction * float(((sums / (n - weights)) ** 2).sum())
    return MeanError(mean, sqrt(variance), n_clusters - 1, method, ())


def centred(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return each value less the mean of its cluster, shape (n,); exactly 0 where a cluster agrees.

    Measured from each cluster's first value, so that neither equal values nor a large offset leave dust.
    """
    shifted = values - values[np.unique(codes, return_index=True)[1]][codes]
    return shifted - (np.bincount(codes, weights=shifted) / np.bincount(codes))[codes]


def too_few(n_cases: int, n_units: int) -> str:
    """Return why so few cases, in so many clusters, bear no standard error, or an empty string."""
    if n_cases < MIN_CASES:
        return f"{n_cases} of the {MIN_CASES} cases needed for a standard error" if n_cases else "no cases"
    return "one cluster: no variance between clusters" if n_units < 2 else ""


def _why_no_error(values: FloatArray, sums: FloatArray) -> str:
    few = too_few(values.size, sums.size)
    if not few and (agree(values) or agree(sums)):
        return f"all {'cases' if agree(values) else 'clusters'} agree: the variance is not estimable"
    return few


class _OneWay(NamedTuple):
    """A one-way analysis of variance: what the correlation needs."""

    between: float
    within: float
    typical_size: float
    n_clusters: int
    problem: str

    def correlation(self, f: float = 1.0) -> float:
        """Return the ICC, at its F-quantile `f` for a bound."""
        above = self.between - f * self.within
        below = self.between + (self.typical_size - 1) * f * self.within
        return float(above / below) if below > 0 else nan

    def std_error(self, n: int) -> float:
        """Return the large-sample standard error of the ICC over `n` elements."""
        rho, m = self.correlation(), self.typical_size
        spread = (1 - rho) * (1 + (m - 1) * rho) / m
        return abs(spread) * sqrt(2 * (n - 1) / ((n - self.n_clusters) * (self.n_clusters - 1)))


def _one_way(values: FloatArray, clusters: ArrayLike) -> _OneWay:
    codes = check_clusters(clusters, values.size)
    sizes = np.bincount(codes)
    n, n_clusters = values.size, sizes.size
    if n_clusters < 2 or n == n_clusters:
        reason = "one cluster" if n_clusters == 1 else "one element in each cluster" if n else "no scores"
        return _OneWay(nan, nan, nan, n_clusters, f"{reason}: nothing to compare")
    inside = centred(values, codes)
    across = centred(values, np.zeros_like(codes)) - inside  # each element's cluster mean less the grand mean
    between = float((across**2).sum()) / (n_clusters - 1)
    within = float((inside**2).sum()) / (n - n_clusters)
    typical = (n - float((sizes**2).sum()) / n) / (n_clusters - 1)
    problem = "" if within > 0 else "no variance within clusters: no interval"
    return _OneWay(between, within, typical, n_clusters, problem)
