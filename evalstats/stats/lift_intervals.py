"""How much of the headroom does the candidate take, in closed form? Intervals for 1 - F_w / F_b by name.

Lift is one minus the ratio of two mean failure rates, over the same cases; never a mean of the lifts of single
cases, most of which are undefined. `lift` chooses among the methods; here each can be asked for by name.
`lift_smoothed` draws random weights; these do not.

References
----------
.. [Katz] Katz, Baptista, Azen, Pike (1978). Obtaining confidence intervals for the risk ratio in cohort
   studies. Biometrics 34:469. doi:10.2307/2530610
.. [FLL] Fagerland, Lydersen, Laake (2014). Recommended tests and confidence intervals for paired binomial
   proportions. Stat. Med. 33:2850. doi:10.1002/sim.6148
.. [BP] Bonett, Price (2020). Confidence intervals for ratios of means and medians. J. Educ. Behav. Stat.
   45:750. doi:10.3102/1076998620934125
.. [Fieller] Fieller (1954). Some problems in interval estimation. JRSS B 16:175.
   https://www.jstor.org/stable/2984043
.. [DHW] Davison, Hinkley, Worton (1992). Bootstrap likelihoods. Biometrika 79:113.
   doi:10.1093/biomet/79.1.113
"""

from math import exp, isinf, isnan, nan, sqrt
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.means import mean_error
from evalstats.stats.pairs import Pairs
from evalstats.stats.results import (
    Estimate,
    FloatArray,
    check_clusters,
    check_level,
    check_pairs,
    check_scores,
    normal_quantile,
    t_quantile,
)
from evalstats.stats.saddlepoint import saddlepoint_ratio

NO_HEADROOM = "no headroom: the baseline never fails, so lift is undefined; see the difference"


class Failures(NamedTuple):
    """What the lift is made of: weighted failure scores of each case, shape (n_cases,) each; weights mean 1."""

    candidate: FloatArray
    baseline: FloatArray
    weights: FloatArray
    clusters: ArrayLike | None
    trials: int

    @classmethod
    def of(cls, pairs: Pairs, weights: ArrayLike | None = None) -> Self:
        """Turn case means into failures; weights are positive numbers, shape (n_cases,), in any unit."""
        new, old = check_pairs(pairs.candidate, pairs.baseline)
        w = np.ones_like(new) if weights is None else check_scores(weights)
        if w.size != new.size or not (w > 0).all():
            raise ValueError(f"weights must be {new.size} positive numbers, got {w.tolist()}")
        w = w / w.mean() if w.size else w
        return cls((1 - new) * w, (1 - old) * w, w, pairs.clusters, pairs.trials)

    def ratio(self) -> float:
        """Return F_w / F_b; NaN where the baseline never fails."""
        return float(self.candidate.sum() / self.baseline.sum()) if self.baseline.any() else nan

    def spread(self) -> tuple[float, tuple[str, ...]]:
        """Return the standard error of the ratio by the delta method, and why it is NaN."""
        found = mean_error(self.candidate - self.ratio() * self.baseline, self.clusters)
        return found.std_error / float(self.baseline.mean()), found.caveats

    def record(
        self, bounds: tuple[float, float], *, level: float, method: str, caveats: tuple[str, ...] = ()
    ) -> Estimate:
        """Return the lift from the bounds of the ratio; NaN throughout where there is no headroom."""
        headroom = self.baseline.any()
        missing = (NO_HEADROOM if self.weights.size else "no pairs",)
        std_error, problem = self.spread() if headroom else (nan, missing)
        n_clusters = int(check_clusters(self.clusters, self.weights.size).max(initial=-1)) + 1
        return Estimate(
            estimand="lift",
            population="SUPER",
            estimate=1 - self.ratio(),
            std_error=std_error,
            conf_low=1 - bounds[1] if headroom else nan,
            conf_high=1 - bounds[0] if headroom else nan,
            level=check_level(level),
            n_cases=self.weights.size,
            n_clusters=None if self.clusters is None else n_clusters,
            n_trials=2 * self.trials * self.weights.size,
            method=method,
            caveats=tuple(dict.fromkeys((*problem, *caveats))),
        )


def lift_delta_log(
    pairs: Pairs, *, weights: ArrayLike | None = None, df: float | None = None, level: float = 0.95
) -> Estimate:
    """How much of the headroom is taken, by the delta method on the log of the ratio? Katz's, for pairs.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms.
    weights : array of float, shape (n_cases,), optional
        Weight of each case, such as its number of expectations; absent: equal.
    df : float, optional
        Degrees of freedom of the t quantile; absent: cases (or clusters) - 1, as in [BP]_; ``math.inf`` for
        the large-sample form of [Katz]_ and [FLL]_, normal quantile and divisor n.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of 1 - F_w / F_b (population SUPER). NaN bounds where an arm never fails.

    Notes
    -----
    Assumes cases (or clusters) drawn independently and enough failures in both arms. Not near the ceiling:
    on graded scores at 10 cases a nominal 80% covers as little as .51 there.

    References
    ----------
    [Katz]_, [FLL]_, [BP]_.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 0.5, 0.5, 1, 0], baseline=[0.5, 0, 0.5, 0.5, 0], trials=2)
    >>> print(lift_delta_log(pairs, level=0.8))
    lift 0.4286 [0.01875, 0.6672] at level 0.8 (delta-log, SUPER, 5 cases, 20 trials)
    """
    failures = Failures.of(pairs, weights)
    if not (failures.candidate.any() and failures.baseline.any()):
        never = ("an arm never fails: the log of the ratio is undefined",)
        return failures.record((nan, nan), level=level, method="delta-log", caveats=never)
    found = mean_error(
        failures.candidate / failures.candidate.mean() - failures.baseline / failures.baseline.mean(),
        failures.clusters,
    )
    std_error, quantile = found.std_error, nan
    if not isnan(std_error):
        quantile = normal_quantile(level) if df and isinf(df) else t_quantile(level, df or found.df)
    if df and isinf(df):
        std_error *= sqrt(found.df / (found.df + 1))
    ratio, half = failures.ratio(), quantile * std_error
    bounds = ratio * exp(-half), ratio * exp(half)
    return failures.record(bounds, level=level, method="delta-log", caveats=found.caveats)


def lift_fieller(pairs: Pairs, *, weights: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """How much of the headroom is taken, by Fieller's theorem? Exact where the two means are normal.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms.
    weights : array of float, shape (n_cases,), optional
        Weight of each case, such as its number of expectations; absent: equal.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of 1 - F_w / F_b (population SUPER). NaN bounds where the baseline's failures are not clear of 0 at
        this level: the set is then unbounded. A bound may pass 1, where no lift can be.

    Notes
    -----
    Assumes cases (or clusters) drawn independently and both means near normal: not with few failing cases,
    where it is often unbounded and else too narrow.

    References
    ----------
    [Fieller]_.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 0.5, 0.5, 1, 0], baseline=[0.5, 0, 0.5, 0.5, 0], trials=2)
    >>> print(lift_fieller(pairs, level=0.8))
    lift 0.4286 [0.1507, 0.7987] at level 0.8 (Fieller, SUPER, 5 cases, 20 trials)
    """
    failures = Failures.of(pairs, weights)
    arms = failures.candidate, failures.baseline
    variances = [_variance(arm, failures.clusters) for arm in (*arms, arms[0] - arms[1])]
    covariance = (variances[0] + variances[1] - variances[2]) / 2
    found = mean_error(arms[0] - arms[1], failures.clusters)
    bounds, caveats = (nan, nan), found.caveats
    if failures.baseline.any() and found.std_error > 0:
        means = float(arms[0].mean()), float(arms[1].mean())
        squared = variances[0], variances[1], covariance
        bounds = fieller_bounds(means, squared, t_quantile(level, found.df))
        if isnan(bounds[0]):
            caveats = ("the baseline's failures are not clear of 0: Fieller's set is unbounded",)
    return failures.record(bounds, level=level, method="Fieller", caveats=caveats)


def lift_saddlepoint(pairs: Pairs, *, weights: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """How much of the headroom is taken, by percentile bootstrap without resampling? The saddlepoint.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms.
    weights : array of float, shape (n_cases,), optional
        Weight of each case, such as its number of expectations; absent: equal.
    level : float
        Confidence level of the percentile interval.

    Returns
    -------
    Estimate
        Of 1 - F_w / F_b (population SUPER); the same data give the same interval, to the last bit.

    Notes
    -----
    Assumes many cases (or clusters), 200 or more, and at least 10 failures in each arm: below, it is as
    narrow as every percentile interval.

    References
    ----------
    [DHW]_.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 0.5, 0.5, 1, 0], baseline=[0.5, 0, 0.5, 0.5, 0], trials=2)
    >>> round(lift_saddlepoint(pairs, level=0.8).conf_low, 3)
    0.209
    """
    failures = Failures.of(pairs, weights)
    bounds: tuple[float, float] = (nan, nan)
    caveats: tuple[str, ...] = ()
    if failures.baseline.any():
        found = saddlepoint_ratio(
            failures.candidate, failures.baseline, clusters=failures.clusters, level=level
        )
        bounds, caveats = (found.conf_low, found.conf_high), found.caveats
    return failures.record(bounds, level=level, method="saddlepoint percentile", caveats=caveats)


def fieller_bounds(
    means: tuple[float, float], squared: tuple[float, float, float], quantile: float
) -> tuple[float, float]:
    """Return Fieller's bounds of the ratio of two means, NaN where its set is unbounded.

    `means` are numerator and denominator; `squared` their squared standard errors and their covariance.
    """
    top, bottom = means
    q2 = quantile**2
    a = bottom**2 - q2 * squared[1]
    b = top * bottom - q2 * squared[2]
    inside = b**2 - a * (top**2 - q2 * squared[0])
    if a <= 0 or inside < 0:
        return nan, nan
    return (b - sqrt(inside)) / a, (b + sqrt(inside)) / a


def _variance(values: FloatArray, clusters: ArrayLike | None) -> float:
    """Return the squared standard error of the mean; 0 where all cases agree."""
    return 0.0 if not values.size or np.ptp(values) == 0 else mean_error(values, clusters).std_error ** 2
