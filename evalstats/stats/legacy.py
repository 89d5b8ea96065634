"""What does the prescribed lift gate do? The rule as it stands, and how often it is wrong.

The rule: run each case three times, take the median, compute the lift; block when it lies more than five
points below the median of the last four weeks. It asks neither how noisy the lift is nor what it misses. With
50 yes/no prompts it blocks about a third of unchanged nights and catches half of real five-point drops. Kept
for comparison, with its error rates beside it; `three_verdict` is the rule to use.

Written by hand: the rule is nobody else's.

References
----------
.. [W47] Wald (1947). Sequential Analysis. Wiley. Two error rates, neither of which this rule controls.
"""

from dataclasses import dataclass, replace
from math import nan, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, expit, logit, ndtr, stdtr, stdtrit

from evalstats.stats.power import simulated_share
from evalstats.stats.results import Estimate, FloatArray, check_at_least, check_positive, check_scores
from evalstats.stats.worlds import World

MARGIN, WINDOW = 0.05, 28
EDGE = 1e-9  # keeps pass rates off 0 and 1, where the logit ends


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyDecision:
    """What does the prescribed rule say of one night?

    Parameters
    ----------
    blocks : bool
        Whether the lift lies more than the margin below the centre.
    drop, centre : float
        Centre minus lift, and the centre: the median of the history, as lifts.
    n_history : int
        Nights behind the centre.

    Examples
    --------
    >>> legacy_gate([0.50, 0.54, 0.52], 0.46).blocks
    True
    """

    blocks: bool
    drop: float
    centre: float
    n_history: int


def legacy_gate(
    history: ArrayLike, lift: float, *, margin: float = MARGIN, window: int = WINDOW
) -> LegacyDecision:
    """Does the prescribed rule block this night? Lift against a rolling median.

    Parameters
    ----------
    history : array of float, shape (n_nights,)
        Lift of each earlier night, oldest first; at least one.
    lift : float
        Lift of this night, from `median_lift`.
    margin : float
        Largest drop that passes, in lift.
    window : int
        Latest nights that make the centre.

    Returns
    -------
    LegacyDecision

    Notes
    -----
    Assumes nothing, and so promises nothing: show `legacy_operating_characteristic` beside it.

    References
    ----------
    See [W47]_ for what a rule should state.

    Examples
    --------
    >>> legacy_gate([0.50, 0.54, 0.52], 0.48).blocks
    False
    """
    nights = check_scores(history)[-window:]
    if not nights.size:
        raise ValueError("legacy_gate needs at least 1 night of history, got none")
    centre = float(np.median(nights))
    drop = centre - float(check_scores([lift])[0])
    return LegacyDecision(blocks=drop > margin, drop=drop, centre=centre, n_history=nights.size)


def median_lift(candidate: ArrayLike, baseline: ArrayLike) -> float:
    """Return the lift of the prescribed rule: the mean over cases of the median over trials, in each arm.

    Both have shape (n_cases, n_trials). NaN when the baseline has no headroom. The median of three yes/no
    trials is a majority vote: a case passing 80% of its trials counts as .896, so this is another estimand
    than the lift of mean scores.
    """
    with_skill = float(np.median(np.asarray(candidate, dtype=np.float64), axis=1).mean())
    without = float(np.median(np.asarray(baseline, dtype=np.float64), axis=1).mean())
    return (with_skill - without) / (1 - without) if without < 1 else nan


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyErrors:
    """How often is the prescribed rule wrong on nights that scatter so? Two chances, and a drop in lift."""

    false_block: float
    power: float
    detectable: float


def legacy_errors(
    spread: float, n_history: int, *, margin: float = MARGIN, power: float = 0.80
) -> LegacyErrors:
    """Return the error rates of the prescribed rule for nights of this standard deviation, in lift.

    A median of n normal nights has pi/2 times the variance of their mean. The spread is estimated from the same
    nights, so the chances are Student's with n - 1 degrees of freedom. ``power`` of the answer is the chance of
    blocking a drop of just the margin: a coin flip, whatever the noise. Its ``detectable`` is the drop that is
    blocked with the chance asked for.
    """
    if n_history < 2:
        raise ValueError(f"legacy_errors needs 2 nights of history, got {n_history}")
    noise, df = spread * sqrt(1 + pi / 2 / n_history), n_history - 1
    false_block = float(stdtr(df, -margin / noise)) if noise > 0 else 0.0
    detectable = margin + float(stdtrit(df, power)) * noise
    return LegacyErrors(false_block=false_block, power=0.5 if noise > 0 else 0.0, detectable=detectable)


def legacy_operating_characteristic(
    world: World,
    *,
    rng: np.random.Generator,
    drop: float = 0.0,
    trial_precision: float | None = None,
    reps: int = 2_000,
) -> Estimate:
    """How often does the prescribed rule block, in a declared world? By simulation.

    Parameters
    ----------
    world : World
        Cases, trials, mean pass rate without the skill, effect of the skill, correlation of trials, pairing
        of arms, expectations per trial. Its clusters, runs and day effect are not used.
    rng : numpy.random.Generator
        Source of suites and nights; the same state gives the same rate.
    drop : float
        True drop of the lift of mean scores on the last night; 0 for the rate of false blocks.
    trial_precision : float, optional
        For graded trials: a trial's own pass rate scatters as a Beta of this size around its case's. Absent:
        all expectations of a case pass at the case's rate.
    reps : int
        Suites drawn, each with 28 nights of history and one night judged.

    Returns
    -------
    Estimate
        Of the chance to block; `n_cases` counts suites, and the interval is Wilson's for the Monte-Carlo
        error. A night whose lift is undefined is not blocked.

    Notes
    -----
    Assumes the declared world. Always show the world with the number: yes/no trials block far more often than
    graded ones.

    References
    ----------
    See [W47]_.

    Examples
    --------
    >>> world = World(cases=50, trials=3, mean=0.6, effect=0.2)
    >>> legacy_operating_characteristic(world, rng=np.random.default_rng(1), reps=300).estimate > 0.2
    True
    """
    check_at_least("reps", reps)
    check_positive("correlation", world.correlation)
    baseline, candidate = _suites(world, reps, rng)
    nights = np.array([_lifts(baseline, candidate, world, trial_precision, rng) for _ in range(WINDOW)])
    last = _lifts(baseline, _degraded(baseline, candidate, drop), world, trial_precision, rng)
    undefined = np.isnan(last) | np.isnan(nights).all(axis=0)
    centre = np.nanmedian(np.where(undefined, 0.0, nights), axis=0)
    blocked = ~undefined & (last < centre - MARGIN)
    what = f"blocking a drop of {drop:g}" if drop else "blocking an unchanged night"
    found = simulated_share(blocked, estimand=what, unit="suites")
    without = f"{int(undefined.sum())} of them without headroom on the last night: not blocked"
    return replace(found, caveats=(*found.caveats, without)) if undefined.any() else found


def _suites(world: World, reps: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the pass rates of both arms, shape (reps, n_cases) each: Beta, paired by difficulty."""
    base, other = rng.standard_normal((2, reps, world.cases))
    hard = world.pairing * base + sqrt(1 - world.pairing**2) * other
    size = 1 / world.correlation - 1
    arms = ((world.mean, base), (world.mean + world.effect, hard))
    first, second = (betaincinv(mean * size, (1 - mean) * size, ndtr(z)) for mean, z in arms)
    return np.asarray(first), np.asarray(second)


def _degraded(baseline: FloatArray, candidate: FloatArray, drop: float) -> FloatArray:
    """Return candidate rates whose lift is lower by `drop`, all moved alike on the logit scale."""
    if not drop:
        return candidate
    scale = logit(np.clip(candidate, EDGE, 1 - EDGE))
    headroom = 1 - baseline.mean(axis=1)
    target = candidate.mean(axis=1) - drop * headroom
    low, high = np.full(len(target), -30.0), np.zeros(len(target))
    for _ in range(40):  # bisection: the mean falls with the shift
        middle = (low + high) / 2
        too_low = expit(scale + middle[:, None]).mean(axis=1) < target
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return np.asarray(expit(scale + low[:, None]))


def _lifts(
    baseline: FloatArray,
    candidate: FloatArray,
    world: World,
    precision: float | None,
    rng: np.random.Generator,
) -> FloatArray:
    """Return one night's lift of each suite, shape (reps,); NaN without headroom."""
    without, with_skill = (_night(rates, world, precision, rng) for rates in (baseline, candidate))
    headroom = np.where(without < 1, 1 - without, nan)
    return np.asarray((with_skill - without) / headroom)


def _night(rates: FloatArray, world: World, precision: float | None, rng: np.random.Generator) -> FloatArray:
    """Return one night's mean over cases of the median over trials, shape (reps,)."""
    if world.expectations == 1 and precision is None:  # the median of yes/no trials is a majority
        passed = rng.binomial(world.trials, rates)
        return np.asarray(np.heaviside(2.0 * passed - world.trials, 0.5).mean(axis=1))
    each = np.repeat(rates[..., None], world.trials, axis=2)
    if precision is not None:
        each = np.clip(each, 1e-3, 1 - 1e-3)  # a Beta of vanishing shape is not drawable
        each = rng.beta(each * precision, (1 - each) * precision)
    scores = rng.binomial(world.expectations, each) / world.expectations
    return np.asarray(np.median(scores, axis=2).mean(axis=1))
