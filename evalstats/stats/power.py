"""How often would a small study find the effect? Power by trying it.

With few cases and yes/no trials differences are lumpy and the normal approximation promises too much. Here
the study is drawn many times in a declared world and analysed as it would be.

Written by hand: calculators know normal scores, not yes/no trials of cases that differ.

References
----------
.. [Miller] Miller (2024). Adding error bars to evals. Section 5. doi:10.48550/arXiv.2411.00640
.. [DD] Blair, Cooper, Coppock, Humphreys (2019). Declaring and diagnosing research designs. Am. Polit. Sci.
   Rev. 113:838. doi:10.1017/S0003055419000194
"""

from dataclasses import replace
from math import sqrt

import numpy as np
from scipy.special import stdtrit

from evalstats.stats.proportions import wilson
from evalstats.stats.results import BoolArray, Estimate, check_at_least, check_level, counted
from evalstats.stats.worlds import World, draw


def simulated_power(
    world: World, *, rng: np.random.Generator, reps: int = 2_000, alpha: float = 0.05
) -> Estimate:
    """How often does a paired t test on so few cases find the effect? Power by trying it.

    Parameters
    ----------
    world : World
        Cases, trials, pass rate, effect, correlation of trials, pairing of arms.
    rng : numpy.random.Generator
        Source of the draws; the same state gives the same power.
    reps : int
        Number of studies drawn.
    alpha : float
        Two-sided size of the test.

    Returns
    -------
    Estimate
        Of the share of studies with a finding in the direction of the effect; `n_cases` counts studies, and
        the interval is Wilson's for the Monte-Carlo error.

    Notes
    -----
    Assumes the declared world. Studies in which no case differs find nothing.

    References
    ----------
    [DD]_; [Miller]_ for the analytic answer that it nears with many cases.

    Examples
    --------
    >>> world = World(cases=20, trials=3, mean=0.5, effect=0.3)
    >>> simulated_power(world, rng=np.random.default_rng(1), reps=200).estimate > 0.5
    True
    """
    check_at_least("reps", reps)
    draws = (draw(world, rng) for _ in range(reps))
    differences = np.array([sample.candidate - sample.baseline for sample in draws])
    n = world.cases
    errors = differences.std(axis=1, ddof=1) / sqrt(n) if n > 1 else np.zeros(reps)
    direction = 1.0 if world.effect >= 0 else -1.0
    threshold = stdtrit(max(n - 1, 1), 1 - check_level(alpha, "alpha") / 2) * errors
    found = (errors > 0) & (direction * differences.mean(axis=1) > threshold)
    return simulated_share(
        found, estimand=f"power of a paired t test on {counted(n, 'case')}", unit="studies"
    )


def simulated_share(hits: BoolArray, *, estimand: str, unit: str) -> Estimate:
    """Return how often it happened in simulated worlds, shape (reps,), with its Monte-Carlo error by Wilson."""
    return replace(
        wilson(int(hits.sum()), hits.size),
        estimand=estimand,
        method="simulation",
        caveats=(f"{unit} are counted as cases",),
    )
