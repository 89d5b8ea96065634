"""Where the truth is known: artificial worlds of cases, arms, clusters and runs to try methods in.

Cases have pass rates, mostly Beta, whose spread is the correlation of two trials of one case; arms and clusters share
difficulty on the normal scale. Nothing here estimates: see `evalstats.stats.diagnosis`.

References
----------
.. [DD] Blair, Cooper, Coppock, Humphreys (2019). Declaring and diagnosing research designs. Am. Polit. Sci.
   Rev. 113:838. doi:10.1017/S0003055419000194
"""

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from scipy.special import betaincinv, ndtr

from evalstats.stats.results import FloatArray, IntArray, check_at_least, check_choice, check_level


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where is the method tried? A population of cases, and how trials and runs vary around them.

    Parameters
    ----------
    cases, trials : int
        Cases, and trials of each case in each arm (and run).
    mean : float
        Mean pass rate of the baseline over all cases there could be, in (0, 1).
    effect : float
        Mean pass rate of the candidate less that of the baseline.
    correlation : float
        Correlation of two trials of one case, in [0, 1): 0 when all cases are equally hard.
    pairing : float
        Correlation of a case's difficulty between the arms, on the normal scale.
    clusters : int or None
        Number of clusters of equal size; None without.
    cluster_correlation : float
        Correlation of the difficulty of two cases of one cluster, on the normal scale.
    expectations : int
        Yes/no questions in a trial, its score being their mean: 1 for yes/no trials, more for graded ones.
    runs : int
        Past runs of the same cases.
    spread : {"beta", "two-point"}
        How pass rates vary between cases: as a Beta, or some cases always pass and the rest are equally hard.
    day_sd : float
        Standard deviation of what moves all cases of a run together, on the pass-rate scale. Rates are kept
        in [0, 1], so near the ceiling the mean shifts.

    Examples
    --------
    >>> World(cases=10, trials=3).correlation
    0.5
    """

    cases: int
    trials: int = 1
    mean: float = 0.6
    effect: float = 0.0
    correlation: float = 0.5
    pairing: float = 0.7
    clusters: int | None = None
    cluster_correlation: float = 0.0
    expectations: int = 1
    spread: Literal["beta", "two-point"] = "beta"
    runs: int = 1
    day_sd: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        for name in ("cases", "trials", "expectations", "runs"):
            check_at_least(name, getattr(self, name))
        check_level(self.mean, "mean")
        check_level(self.mean + self.effect, "mean + effect")
        check_choice("spread", self.spread, ("beta", "two-point"))
        if not (0 <= self.correlation < 1 and 0 <= self.cluster_correlation <= 1 and abs(self.pairing) <= 1):
            raise ValueError(
                f"a world needs correlations inside [0, 1) and pairing inside [-1, 1], got {self}"
            )
        check_at_least("day_sd", self.day_sd, 0)
        check_at_least("clusters", 1 if self.clusters is None else self.clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What does a method get to see of a world? One draw, and the truths it does not see.

    Parameters
    ----------
    scores : array of float, shape (n_cases, n_trials)
        Candidate's trials of the last past run, in [0, 1].
    candidate, baseline : array of float, shape (n_cases,)
        Mean score of each case in each arm, in that run.
    clusters : array of int, shape (n_cases,), or None
        Cluster of each case.
    run_means : array of float, shape (n_runs,)
        Candidate's mean of case means in each past run.
    truths : dict
        The true value of each target.

    Examples
    --------
    >>> draw(World(cases=4, trials=3), np.random.default_rng(1)).scores.shape
    (4, 3)
    """

    scores: FloatArray
    candidate: FloatArray
    baseline: FloatArray
    clusters: IntArray | None
    run_means: FloatArray
    truths: dict[str, float]


def draw(world: World, rng: np.random.Generator) -> Sample:
    """Draw cases, arms and runs of a world, and keep the truths beside them."""
    labels = None if world.clusters is None else np.arange(world.cases, dtype=np.int64) % world.clusters
    hard = _difficulties(world, labels, rng)
    baseline_rates = _rates(hard[0], world.mean, world)
    rates = _rates(hard[1], world.mean + world.effect, world)
    days = rng.normal(0.0, world.day_sd, world.runs + 1) if world.day_sd else np.zeros(world.runs + 1)
    runs = [_trials(np.clip(rates + day, 0, 1), world, rng) for day in days]
    run_means = np.array([run.mean() for run in runs])
    return Sample(
        scores=runs[-2],
        candidate=runs[-2].mean(axis=1),
        baseline=_trials(baseline_rates, world, rng).mean(axis=1),
        clusters=labels,
        run_means=run_means[:-1],
        truths={
            "mean": world.mean + world.effect,
            "difference": world.effect,
            "lift": world.effect / (1 - world.mean),
            "next run": float(run_means[-1]),
            "long-run mean": float(rates.mean()),
        },
    )


def _difficulties(world: World, labels: IntArray | None, rng: np.random.Generator) -> FloatArray:
    """Return normal scores of baseline and candidate, shape (2, n_cases), alike within case and cluster."""

    def two_arms(n: int) -> FloatArray:
        base, other = rng.standard_normal((2, n))
        return np.stack([base, world.pairing * base + sqrt(1 - world.pairing**2) * other])

    own = two_arms(world.cases)
    if labels is None or world.clusters is None:
        return own
    shared = two_arms(world.clusters)[:, labels]
    return sqrt(world.cluster_correlation) * shared + sqrt(1 - world.cluster_correlation) * own


def _rates(hard: FloatArray, mean: float, world: World) -> FloatArray:
    """Return pass rates with this mean and the world's within-case correlation, by their normal scores."""
    if world.correlation == 0:
        return np.full(hard.size, mean)
    if world.spread == "two-point":
        odds = world.correlation * mean / (1 - mean)
        always = odds / (1 + odds)  # the share of cases that gives this correlation
        return np.where(ndtr(hard) < 1 - always, 1 - (1 - mean) / (1 - always), 1.0)
    size = 1 / world.correlation - 1
    return np.asarray(betaincinv(mean * size, (1 - mean) * size, ndtr(hard)))


def _trials(rates: FloatArray, world: World, rng: np.random.Generator) -> FloatArray:
    passed = rng.binomial(world.expectations, rates[:, None], (rates.size, world.trials))
    return np.asarray(passed / world.expectations)
