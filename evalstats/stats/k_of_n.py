"""Will every case pass k of its n trials? The chance of it, from what the cases did before.

References
----------
.. [BDA] Gelman et al. (2013). Bayesian Data Analysis, 3rd ed., section 2.4: predictive distribution of a
   binomial count (beta-binomial), with the prior of Jeffreys. CRC Press.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc, betaln, gammaln

from evalstats.stats.results import FloatArray


def chance_of_k(rates: ArrayLike, k: ArrayLike, n: ArrayLike) -> FloatArray:
    """Return the chance of at least k of n passes at each known pass rate; all have shape (n_cases,)."""
    # bdtrc gives the chance of more than its first argument, and is undefined below 0.
    least, trials, rate = np.broadcast_arrays(np.asarray(k), np.asarray(n), np.asarray(rates, dtype=float))
    return np.where(least <= 0, 1.0, bdtrc(np.maximum(least - 1, 0), trials, rate))


def predicted_chance_of_k(passed: ArrayLike, trials: ArrayLike, k: ArrayLike, n: ArrayLike) -> FloatArray:
    """Return the chance that each case passes at least k of its next n trials, after passing so many before.

    All have shape (n_cases,). The pass rate is unknown: the chance is averaged over what the trials so far
    (none are needed) and the prior of Jeffreys leave possible [BDA]_.
    """
    a, b = np.asarray(passed) + 0.5, np.asarray(trials) - np.asarray(passed) + 0.5
    least, further = np.broadcast_arrays(np.asarray(k), np.asarray(n))
    chance = np.zeros(np.broadcast_shapes(a.shape, least.shape))
    for count in range(int(further.max(initial=0)) + 1):
        inside = (count >= least) & (count <= further)
        rest = np.maximum(further - count, 0)
        ways = gammaln(further + 1) - gammaln(count + 1) - gammaln(rest + 1)
        chance += np.where(inside, np.exp(ways + betaln(a + count, b + rest) - betaln(a, b)), 0.0)
    return np.minimum(chance, 1.0)
