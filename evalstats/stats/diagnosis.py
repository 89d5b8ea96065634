"""How well does a method keep its promise? Draw a declared world many times and see how it fares.

An interval that covers 60% instead of 80% looks like any other interval. The only way to know is to try the
method where the truth is known, in worlds like ours: few cases, few trials, cases near the ceiling, clusters.
Every number of a diagnosis has a Monte-Carlo error of its own, so that 0.948 is not read as "not 0.95".

The idea of declaring a design and diagnosing its estimator is that of [DD]_; the worlds are ours.

References
----------
.. [DD] Blair, Cooper, Coppock, Humphreys (2019). Declaring and diagnosing research designs. Am. Polit. Sci.
   Rev. 113:838. doi:10.1017/S0003055419000194
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isnan, nan, sqrt
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from evalstats.stats.results import Estimate, FloatArray, Test, check_at_least, check_choice, check_level
from evalstats.stats.worlds import Sample, World, draw

Target: TypeAlias = Literal["mean", "difference", "lift", "next run", "long-run mean"]
Result: TypeAlias = Estimate | Test


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """How did the method fare? What it promised and what it kept, each with its Monte-Carlo error.

    Parameters
    ----------
    world, target : World, str
        Where the method was tried, and on which truth.
    method : str
        Method of the first result; a choosing front may have used others too.
    level : float
        Nominal level of the intervals (of the test: 1 - size).
    reps, refusals : int
        Draws, and those in which the method gave no interval (or no p-value).
    bias, coverage, width, rejection : float
        Mean error of the estimate; share of intervals that hold the truth; mean width; share of intervals
        that leave out 0, or of p-values up to 1 - level (size where nothing is going on, else power). Over
        the draws that were not refused.
    bias_error, coverage_error, width_error, rejection_error : float
        Monte-Carlo standard errors; those of shares never 0.
    caveats : tuple of str
        Why something is NaN.

    Examples
    --------
    >>> from evalstats.stats.means import case_mean
    >>> world = World(cases=30, trials=3)
    >>> found = diagnose(lambda s, rng: case_mean(s.candidate), world, reps=200, rng=np.random.default_rng(1))
    >>> abs(found.coverage - 0.95) < 4 * found.coverage_error
    True
    """

    world: World
    target: str
    method: str
    level: float
    reps: int
    refusals: int
    bias: float
    bias_error: float
    coverage: float
    coverage_error: float
    width: float
    width_error: float
    rejection: float
    rejection_error: float
    caveats: tuple[str, ...] = ()

    def as_row(self) -> dict[str, Any]:
        """Return the world's fields and then the findings, as one flat dict."""
        row = asdict(self)
        world: dict[str, Any] = row.pop("world")
        return world | row


def diagnose(
    estimator: Callable[[Sample, np.random.Generator], Result],
    world: World,
    *,
    rng: np.random.Generator,
    reps: int = 400,
    target: Target = "mean",
    level: float = 0.95,
) -> Diagnosis:
    """How well does this method keep its promise in this world? Bias, coverage, width, size, power.

    Parameters
    ----------
    estimator : callable
        Takes a `Sample` and a generator, returns an `Estimate` or a `Test`.
    world : World
        Where to try it.
    rng : numpy.random.Generator
        Source of the draws; the same state gives the same diagnosis.
    reps : int
        Number of draws.
    target : {"mean", "difference", "lift", "next run", "long-run mean"}
        Which truth the interval is held against: the candidate's mean over all cases, the difference or lift
        of the arms over all cases, the next run of these cases, the mean of all runs of these cases.
    level : float
        For a test only: a p-value up to 1 - level counts as rejection. An interval brings its own.

    Returns
    -------
    Diagnosis
        With Monte-Carlo errors; at 400 draws that of a coverage of 0.95 is 0.011.

    Notes
    -----
    Assumes nothing of the method. What it finds holds for worlds like this one: real logs may differ, so say
    which world with every number.

    References
    ----------
    [DD]_.

    Examples
    --------
    >>> from evalstats.stats.means import case_mean
    >>> world = World(cases=2)
    >>> diagnose(lambda s, rng: case_mean(s.candidate), world, reps=50, rng=np.random.default_rng(1)).refusals
    50
    """
    check_choice("target", target, get_args(Target))
    check_at_least("reps", reps)
    check_level(level)
    results, truths = [], []
    for _ in range(reps):
        sample = draw(world, rng)
        results.append(estimator(sample, rng))
        truths.append(sample.truths[target])
    findings = _of_tests(results, level) if isinstance(results[0], Test) else _of_estimates(results, truths)
    return Diagnosis(
        world=world,
        target=target,
        method=results[0].method,
        level=level if isinstance(results[0], Test) else results[0].level,
        reps=reps,
        **findings,
    )


def _of_estimates(results: list[Any], truths: list[float]) -> dict[str, Any]:
    kept = [(r, t) for r, t in zip(results, truths, strict=True) if not isnan(r.conf_low + r.conf_high)]
    low, high, middle, truth = (
        np.array([[r.conf_low, r.conf_high, r.estimate, t] for r, t in kept]).reshape(-1, 4).T
    )
    return {
        "refusals": len(results) - len(kept),
        "caveats": () if kept else ("no draw gave an interval",),
        **_mean("bias", middle - truth),
        **_share("coverage", (low <= truth) & (truth <= high)),
        **_mean("width", high - low),
        **_share("rejection", (low > 0) | (high < 0)),
    }


def _of_tests(results: list[Any], level: float) -> dict[str, Any]:
    p_values = np.array([r.p_value for r in results if not isnan(r.p_value)])
    unknown = ("bias", "bias_error", "coverage", "coverage_error", "width", "width_error")
    reasons = ("a test has no interval", "no draw gave a p-value")
    return {
        "refusals": len(results) - p_values.size,
        "caveats": reasons[: 1 if p_values.size else 2],
        **dict.fromkeys(unknown, nan),
        **_share("rejection", p_values <= 1 - level),
    }


def _mean(name: str, values: FloatArray) -> dict[str, float]:
    enough = values.size > 1
    error = float(values.std(ddof=1)) / sqrt(values.size) if enough else nan
    return {name: float(values.mean()) if values.size else nan, f"{name}_error": error}


def _share(name: str, hits: Any) -> dict[str, float]:
    if not hits.size:
        return {name: nan, f"{name}_error": nan}
    near = (hits.sum() + 1) / (hits.size + 2)  # never on the edge, where the error would be a false 0
    return {name: float(hits.mean()), f"{name}_error": sqrt(near * (1 - near) / hits.size)}
