"""How high is the mean of graded scores between 0 and 1? Intervals that know where the scale ends.

Student's t forgets it: near the ceiling, where most cases score 1 and a rare one fails, a sample without the
rare one looks far too certain (nominal 80% covers .64 at 10 cases). Here two pseudo-cases at the ends of the
scale, with as much mass as the scores' own spread suggests, keep the rare case in mind. The scores are then
reweighted as the Bayesian bootstrap does; the mean's distribution is a Beta exactly when all scores are 0 or
1, and the Beta of the same mean and variance otherwise, so nothing is drawn.

This is our own proposal, so its calibration is published beside it.

References
----------
.. [Rubin] Rubin (1981). The Bayesian bootstrap. Ann. Stat. 9:130. doi:10.1214/aos/1176345338
.. [Ferguson] Ferguson (1973). A Bayesian analysis of some nonparametric problems. Ann. Stat. 1:209.
   doi:10.1214/aos/1176342360
.. [Franco] Franco, Little, Louis, Slud (2019). Comparative study of confidence intervals for proportions in
   complex sample surveys. J. Surv. Stat. Methodol. 7:334. doi:10.1093/jssam/smy019
"""

from dataclasses import replace
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from evalstats.stats.means import MIN_CASES, case_mean
from evalstats.stats.proportions import wilson_bounds
from evalstats.stats.results import Estimate, FloatArray, check_scores, t_quantile

END_MASS = 1.0  # of one end of the scale, when cases are as unlike as all-or-nothing ones
PULL = 10.0  # cases' worth of belief that they are


def mean_score(
    scores: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    trials: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """How high is the mean of graded scores, and would it hold on new cases? Chooses what holds its level.

    Parameters
    ----------
    scores : array of float, shape (n_cases,)
        Mean score of each case over its trials; in [0, 1], or else Student's t is used.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to; without it every case is independent.
    trials : array of int, shape (n_cases,), optional
        Trials behind each case mean, only to be counted; 1 each when absent.
    level : float
        Confidence level (posterior probability where the method is Bayesian).

    Returns
    -------
    Estimate
        Of the mean of case means (population SUPER), inside [0, 1] where the scores are. `method` names what
        was chosen: the smoothed Beta, with clusters Wilson's interval on their effective number.

    Notes
    -----
    Assumes cases (or clusters) drawn independently. For yes/no trials use `pass_rate`. With few cases the
    pseudo-cases count: all cases alike still give an interval.

    References
    ----------
    [Rubin]_, [Ferguson]_; [Franco]_ with clusters.

    Examples
    --------
    >>> print(mean_score([1, 0.9, 1, 0.8, 1, 1]))  # doctest: +ELLIPSIS
    mean score 0.95 [0.6..., 0.9...] at level 0.95 (smoothed Beta, SUPER, 6 cases, 6 trials)
    """
    values = check_scores(scores)
    by_t = case_mean(values, clusters=clusters, trials=trials, level=level)
    units = values.size if by_t.n_clusters is None else by_t.n_clusters
    if values.size < MIN_CASES or units < 2 or values.min() < 0 or values.max() > 1:
        return by_t
    if clusters is not None:
        return _on_clusters(by_t, units)
    return _smoothed(by_t, values)


def spread_share(scores: FloatArray) -> float:
    """Return how unlike cases are, in (0, 1]: 1 for all-or-nothing scores, near 0 for equal ones.

    The share of all-or-nothing variance in the scores, shape (n_cases,), pulled towards 1 by a few cases.
    """
    n = scores.size
    rate = (float(scores.sum()) + 1) / (n + 2)
    most = rate * (1 - rate)
    seen = float(((scores - scores.mean()) ** 2).sum())
    return min(1.0, (seen + PULL * most) / ((n - 1 + PULL) * most))


def _smoothed(by_t: Estimate, values: FloatArray) -> Estimate:
    """Return the Beta quantiles with the mean and variance of the scores under Dirichlet weights."""
    ends = END_MASS * spread_share(values)
    points = np.r_[values, 0.0, 1.0]
    masses = np.r_[np.ones(values.size), ends, ends]
    total = float(masses.sum())
    centre = float(masses @ points) / total
    variance = float(masses @ (points - centre) ** 2) / (total * (total + 1))
    size = centre * (1 - centre) / variance - 1
    tail = (1 - by_t.level) / 2
    low, high = betaincinv(size * centre, size * (1 - centre), [tail, 1 - tail])
    return replace(
        by_t, std_error=sqrt(variance), conf_low=low, conf_high=high, method="smoothed Beta", caveats=()
    )


def _on_clusters(by_t: Estimate, units: int) -> Estimate:
    """Return Wilson's interval on the number of all-or-nothing cases that would be as uncertain."""
    mean, effective = by_t.estimate, float(units)
    if 0 < mean < 1 and by_t.std_error > 0:
        effective = max(mean * (1 - mean) / by_t.std_error**2, effective)
    low, high = wilson_bounds(mean * effective, effective, t_quantile(by_t.level, units - 1))
    return replace(by_t, conf_low=low, conf_high=high, method="Wilson, effective clusters")
