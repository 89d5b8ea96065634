"""How high is the pass rate, when each of several cases was tried several times? Cases stay the unit.

Trials of one case resemble each other; pooled as if independent they give intervals far too narrow. These
methods take counts per case and let the cases disagree.

Written by hand: statsmodels has no Wilson interval on an effective number of trials, and two parameters need
a grid, not a sampler.

References
----------
.. [Franco] Franco, Little, Louis, Slud (2019). Comparative study of confidence intervals for proportions in
   complex sample surveys. J. Surv. Stat. Methodol. 7:334. doi:10.1093/jssam/smy019
.. [Saha] Saha, Miller, Wang (2016). A comparison of some approximate confidence intervals for a single
   proportion for clustered binary outcome data. Int. J. Biostat. 12. doi:10.1515/ijb-2015-0024
.. [Griffiths] Griffiths (1973). Maximum likelihood estimation for the beta-binomial distribution.
   Biometrics 29:637. doi:10.2307/2529131
"""

from dataclasses import replace
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.beta_binomial import beta_binomial_posterior, case_counts
from evalstats.stats.means import MIN_CASES, case_mean, mean_error
from evalstats.stats.proportions import wilson, wilson_bounds
from evalstats.stats.results import (
    Estimate,
    IntArray,
    check_at_least,
    check_clusters,
    check_level,
    t_quantile,
)

MANY_CLUSTERS = 30  # from here on t on clusters holds its level, by simulation
MANY_CASES = 1000  # from here on t on cases does, near the ceiling too, and the grid becomes coarse


def pass_rate(
    passed: ArrayLike, trials: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How high is the pass rate, and would it hold on new cases? Chooses the method that holds its level.

    Parameters
    ----------
    passed, trials : array of int, shape (n_cases,)
        Passed trials of each case, and all usable trials of it (at least 1).
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to; without it every case is independent.
    level : float
        Confidence level (posterior probability where the method is Bayesian).

    Returns
    -------
    Estimate
        Of the mean of the case pass rates (population SUPER). `method` names what was chosen: Wilson for one
        trial a case; t from 1000 cases (or 30 clusters) on; below, or when every case is all pass or all
        fail, the beta-binomial posterior, and with clusters Wilson on the effective number of trials.

    Notes
    -----
    Assumes cases (or clusters) drawn independently; fewer than 3 give no interval. Near the ceiling t is too
    narrow even at 50 cases. For graded scores use `mean_score`.

    References
    ----------
    [Franco]_, [Griffiths]_.

    Examples
    --------
    >>> print(pass_rate([3, 2, 0, 3], [3, 3, 3, 3]))
    pass rate 0.6667 [0.2653, 0.8953] at level 0.95 (beta-binomial grid, SUPER, 4 cases, 12 trials)
    """
    c, n = case_counts(passed, trials)
    if clusters is None and MIN_CASES <= n.size == n.sum():
        return wilson(int(c.sum()), int(n.sum()), level=level)
    units = np.unique(check_clusters(clusters, n.size)).size
    if (
        units >= (MANY_CASES if clusters is None else MANY_CLUSTERS)
        and np.ptp(c / n) > 0
        and ((c > 0) & (c < n)).any()
    ):
        return replace(case_mean(c / n, clusters=clusters, trials=n, level=level), estimand="pass rate")
    if clusters is None:
        return beta_binomial_grid(c, n, level=level)
    return wilson_effective(c, n, clusters=clusters, level=level)


def wilson_effective(
    passed: ArrayLike,
    trials: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    deff: float | None = None,
    df: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """Which pass rates agree with the counts, when trials of a case are alike? Wilson on n / deff trials.

    Parameters
    ----------
    passed, trials : array of int, shape (n_cases,)
        Passed trials of each case, and all usable trials of it (at least 1).
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to; without it every case is independent.
    deff : float, optional
        Design effect, at least 1. Absent: the variance between cases (or clusters) over the binomial one,
        kept between 1 and trials per case (cluster); at the upper end when all agree.
    df : float, optional
        Degrees of freedom of the t quantile; absent: cases (or clusters) - 1; ``math.inf`` for the normal.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of the mean of the case pass rates (population SUPER), always inside [0, 1].

    Notes
    -----
    Assumes cases (or clusters) drawn independently. Below 10 and unclustered, use `beta_binomial_grid`.

    References
    ----------
    [Franco]_, [Saha]_.

    Examples
    --------
    >>> print(wilson_effective([3, 2, 0, 3], [3, 3, 3, 3]))
    pass rate 0.6667 [0.1306, 0.9638] at level 0.95 (Wilson, effective n, SUPER, 4 cases, 12 trials)
    """
    check_at_least("deff", 1 if deff is None else deff)
    check_at_least("df", 1 if df is None else df)
    c, n = case_counts(passed, trials)
    rates = c / n
    found = mean_error(rates, clusters)
    units = found.df + 1
    unknown = not n.size or (deff is None and (n.size < MIN_CASES or units < 2))
    bounds = nan, nan
    if not unknown:
        effective = _effective_trials(*found[:2], n, units) if deff is None else n.sum() / deff
        quantile = t_quantile(level, found.df if df is None else df)
        bounds = wilson_bounds(found.mean * effective, effective, quantile)
    return Estimate(
        estimand="pass rate",
        population="SUPER",
        estimate=found.mean,
        std_error=found.std_error,
        conf_low=bounds[0],
        conf_high=bounds[1],
        level=check_level(level),
        n_cases=n.size,
        n_clusters=None if clusters is None else units,
        n_trials=int(n.sum()),
        method="Wilson, effective n",
        caveats=found.caveats,
    )


def beta_binomial_grid(passed: ArrayLike, trials: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Which pass rates are plausible, when cases differ by an unknown amount? Beta-binomial posterior.

    Parameters
    ----------
    passed, trials : array of int, shape (n_cases,)
        Passed trials of each case, and all usable trials of it (at least 1).
    level : float
        Posterior probability of the equal-tailed interval.

    Returns
    -------
    Estimate
        Of the mean of the case pass rates (population SUPER). `estimate` is the observed mean, which lies
        outside the interval when all trials agree; `std_error` is the posterior standard deviation.

    Notes
    -----
    Assumes cases drawn independently, pass rates spread as a Beta, uniform priors on its mean and on the
    correlation. With few cases the priors count: not for ranking arms that differ by little.

    References
    ----------
    [Griffiths]_ for the likelihood.

    Examples
    --------
    >>> print(beta_binomial_grid([3, 3, 3], [3, 3, 3]))
    pass rate 1 [0.4907, 0.9958] at level 0.95 (beta-binomial grid, SUPER, 3 cases, 9 trials)
    """
    c, n = case_counts(passed, trials)
    few, tail = n.size < MIN_CASES, (1 - check_level(level)) / 2
    posterior = None if few else beta_binomial_posterior(c, n)
    return Estimate(
        estimand="pass rate",
        population="SUPER",
        estimate=float((c / n).mean()) if n.size else nan,
        std_error=posterior.mean_sd() if posterior else nan,
        conf_low=posterior.mean_quantile(tail) if posterior else nan,
        conf_high=posterior.mean_quantile(1 - tail) if posterior else nan,
        level=level,
        n_cases=n.size,
        n_trials=int(n.sum()),
        method="beta-binomial grid",
        caveats=(f"{n.size} of the {MIN_CASES} cases needed for a standard error",) if few else (),
    )


def _effective_trials(mean: float, std_error: float, trials: IntArray, units: int) -> float:
    """Return the independent trials that would vary so, between one a unit and all."""
    if not 0 < mean < 1 or not std_error > 0:
        return float(units)
    return float(np.clip(mean * (1 - mean) / std_error**2, units, trials.sum()))
