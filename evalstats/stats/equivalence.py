"""Is the candidate as good as the baseline? Tests against a margin, on the same cases.

"No significant difference" is what a small study always finds. To say that nothing changed, a margin must be
named and a change as large as it must be ruled out: on both sides (equivalence, TOST) or on the harmful side
only (non-inferiority).

Written by hand on the cluster sums of `means`; `statsmodels.stats.weightstats.ttost_paired` agrees where
there are no clusters.

References
----------
.. [Schuirmann] Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach
   for assessing the equivalence of average bioavailability. J. Pharmacokinet. Biopharm. 15:657.
   doi:10.1007/BF01068419
.. [BHsu] Berger, Hsu (1996). Bioequivalence trials, intersection-union tests and equivalence confidence sets.
   Stat. Sci. 11:283. doi:10.1214/ss/1032280304
.. [Lakens] Lakens (2017). Equivalence tests: a practical primer. Soc. Psychol. Personal. Sci. 8:355.
   doi:10.1177/1948550617697177
"""

from math import nan

from numpy.typing import ArrayLike
from scipy.special import stdtr

from evalstats.stats.means import MeanError, mean_error
from evalstats.stats.results import Test, check_pairs, check_positive


def tost(
    candidate: ArrayLike, baseline: ArrayLike, *, margin: float, clusters: ArrayLike | None = None
) -> Test:
    """Is the difference surely smaller than the margin, in both directions? Two one-sided t tests.

    Parameters
    ----------
    candidate, baseline : array of float, shape (n_cases,)
        Mean score of each case in each arm, in the unit of the score; the same case at the same place.
    margin : float
        Smallest difference that matters, above 0, in the unit of the score.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to: CR1, or CR3 below 20 clusters, and t(clusters - 1).

    Returns
    -------
    Test
        A small `p_value` speaks *for* equivalence. It and `statistic` are those of the side that comes nearer
        to failing. Up to alpha exactly when the interval of `paired_t` at level 1 - 2 alpha lies within the
        margin.

    Notes
    -----
    Assumes differences drawn independently and their mean near normal. The margin must be chosen before the
    data are seen. A large p-value does not show a difference: the study may be too small to show either.

    References
    ----------
    [Schuirmann]_, [BHsu]_, [Lakens]_.

    Examples
    --------
    >>> print(tost([0.6, 0.8, 0.4, 0.7], [0.6, 0.7, 0.5, 0.7], margin=0.2))
    the means differ by 0.2 or more: p = 0.008138, two-sided (TOST, t on cases, statistic 4.899)
    """
    check_positive("margin", margin)
    error = _error(candidate, baseline, clusters)
    t = min(_t(error, -margin), -_t(error, margin))
    return Test(
        null=f"the means differ by {margin:g} or more",
        alternative="two-sided",
        statistic=t,
        p_value=stdtr(max(error.df, 1), -t),
        method=f"TOST, {error.method}",
        caveats=error.caveats,
    )


def non_inferiority(
    candidate: ArrayLike, baseline: ArrayLike, *, margin: float, clusters: ArrayLike | None = None
) -> Test:
    """Is the candidate surely not worse by the margin? One-sided t test on paired differences.

    Parameters
    ----------
    candidate, baseline : array of float, shape (n_cases,)
        Mean score of each case in each arm, in the unit of the score; the same case at the same place.
    margin : float
        Largest loss that would not matter, at least 0, in the unit of the score; 0 tests superiority.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to: CR1, or CR3 below 20 clusters, and t(clusters - 1).

    Returns
    -------
    Test
        A small `p_value` speaks *for* non-inferiority.

    Notes
    -----
    Assumes what `tost` does. Higher scores must be better: change the sign of a cost first.

    References
    ----------
    [BHsu]_, [Lakens]_.

    Examples
    --------
    >>> print(non_inferiority([0.6, 0.8, 0.4, 0.7], [0.6, 0.7, 0.5, 0.7], margin=0.2))
    the candidate scores 0.2 below the baseline, or less: p = 0.008138, greater (t on cases, statistic 4.899)
    """
    if margin != 0:
        check_positive("margin", margin)
    error = _error(candidate, baseline, clusters)
    t = _t(error, -margin)
    return Test(
        null=f"the candidate scores {margin:g} below the baseline, or less",
        alternative="greater",
        statistic=t,
        p_value=stdtr(max(error.df, 1), -t),
        method=error.method,
        caveats=error.caveats,
    )


def _error(candidate: ArrayLike, baseline: ArrayLike, clusters: ArrayLike | None) -> MeanError:
    new, old = check_pairs(candidate, baseline)
    return mean_error(new - old, clusters)


def _t(error: MeanError, bound: float) -> float:
    """Return how many standard errors the mean lies above `bound`; NaN without a standard error."""
    return (error.mean - bound) / error.std_error if error.std_error > 0 else nan
