"""Which pass rates and correlations are plausible together, when cases differ? A posterior on a grid.

Cases spread their pass rates as a Beta; trials of one case are alike by as much as cases differ. Two unknowns
need a grid, not a sampler, and a grid gives the same answer every time.

References
----------
.. [Griffiths] Griffiths (1973). Maximum likelihood estimation for the beta-binomial distribution.
   Biometrics 29:637. doi:10.2307/2529131
"""

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.results import FloatArray, IntArray, check_at_least, check_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaBinomialPosterior:
    """Which pass rates and correlations are plausible together? A posterior on a grid.

    Parameters
    ----------
    means, correlations : array of float, shape (n_means,) and (n_correlations,)
        Midpoints of the grid cells: mean pass rate, and correlation of two trials of one case, in (0, 1).
    weights : array of float, shape (n_means, n_correlations)
        Posterior probability of each cell; sums to one.

    Examples
    --------
    >>> posterior = beta_binomial_posterior([3, 0, 2], [3, 3, 3])
    >>> posterior.weights.shape
    (500, 25)
    """

    means: FloatArray
    correlations: FloatArray
    weights: FloatArray

    def mean_quantile(self, probability: float) -> float:
        """Return a quantile of the mean pass rate, interpolated inside its cell."""
        edges = np.linspace(0, 1, self.means.size + 1)
        return float(np.interp(probability, np.r_[0, np.cumsum(self.weights.sum(axis=1))], edges))

    def mean_sd(self) -> float:
        """Return the posterior standard deviation of the mean pass rate."""
        weights = self.weights.sum(axis=1)
        centre = float(weights @ self.means)
        return sqrt(float(weights @ (self.means - centre) ** 2))


def beta_binomial_posterior(
    passed: ArrayLike, trials: ArrayLike, *, n_means: int = 500, n_correlations: int = 25
) -> BetaBinomialPosterior:
    """Which pass rates and within-case correlations are plausible together? The whole posterior.

    Parameters
    ----------
    passed, trials : array of int, shape (n_cases,)
        Passed trials of each case, and all usable trials of it (at least 1).
    n_means, n_correlations : int
        Cells of the grid on each axis.

    Returns
    -------
    BetaBinomialPosterior
        Under uniform priors on both.

    Notes
    -----
    Cost grows with trials per case, not with cases. With one trial a case the correlation is unknowable.

    References
    ----------
    [Griffiths]_.

    Examples
    --------
    >>> posterior = beta_binomial_posterior([1, 0], [1, 1], n_correlations=2)
    >>> posterior.weights.sum(axis=0).round(12)  # nothing is learnt about the correlation
    array([0.5, 0.5])
    """
    check_at_least("n_means", n_means)
    check_at_least("n_correlations", n_correlations)
    c, n = case_counts(passed, trials)
    means, correlations = _midpoints(n_means), _midpoints(n_correlations)
    log_weights = np.zeros((n_means, n_correlations))
    # The likelihood needs only how many cases passed, failed and had more than j trials [Griffiths]_.
    for j in range(int(n.max(initial=0))):
        passes, fails, either = _log_terms(j, n_means, n_correlations)
        log_weights += (c > j).sum() * passes + (n - c > j).sum() * fails - (n > j).sum() * either
    weights = np.exp(log_weights - log_weights.max())
    return BetaBinomialPosterior(means=means, correlations=correlations, weights=weights / weights.sum())


def _midpoints(cells: int) -> FloatArray:
    return (np.arange(cells) + 0.5) / cells


@lru_cache(maxsize=64)
def _log_terms(j: int, n_means: int, n_correlations: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what trial j + 1 of a case adds to the log-likelihood on the grid: the same for all data."""
    means, size = _midpoints(n_means)[:, None], 1 / _midpoints(n_correlations) - 1
    return np.log(means * size + j), np.log((1 - means) * size + j), np.log(size + j)


def case_counts(passed: ArrayLike, trials: ArrayLike) -> tuple[IntArray, IntArray]:
    """Return whole-number counts of each case, flat, with at least one trial each, or name what is wrong."""
    c, n = check_counts(passed, trials)
    if c.ndim != 1 or (n < 1).any():
        raise ValueError(f"passed and trials must be flat, 1 trial a case or more, got trials {n.tolist()}")
    return c, n
