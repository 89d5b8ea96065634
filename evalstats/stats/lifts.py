"""How much of the headroom does the candidate take? The lift 1 - F_w / F_b, and its cousins.

F_w and F_b are mean failure rates of candidate and baseline over the same cases. Over other units the same
name means another thing, so each is an estimand of its own: over cases (the primary one), over expectations
(micro: pass `weights`), the mean or median of archetype lifts (`macro_lift`), and the lift of medians of three
trials (`lift_of_medians`), which the older rule used and which reads a true .500 as .531.

Near the ceiling a ratio is mostly noise: with fewer than 5 failing baseline cases' worth, or a failure rate
that may be below .02, the lift is greyed, which a caveat says, and the difference is the headline.

The smoothed bootstrap is our own proposal, so its calibration is published beside it.

References
----------
.. [Rubin] Rubin (1981). The Bayesian bootstrap. Ann. Stat. 9:130. doi:10.1214/aos/1176345338
.. [Ferguson] Ferguson (1973). A Bayesian analysis of some nonparametric problems. Ann. Stat. 1:209.
   doi:10.1214/aos/1176342360
.. [Hesterberg] Hesterberg (2015). What teachers should know about the bootstrap. Am. Stat. 69:371.
   doi:10.1080/00031305.2015.1089789
"""

from dataclasses import replace
from math import isnan, nan

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.lift_intervals import NO_HEADROOM, Failures, lift_saddlepoint
from evalstats.stats.means import too_few
from evalstats.stats.pairs import Pairs, refusal
from evalstats.stats.proportions import wilson_bounds
from evalstats.stats.results import Estimate, check_clusters, check_level, counted, normal_quantile, undefined
from evalstats.stats.smoothed_bootstrap import (
    CORNER_MASS,
    corner_scale,
    expanded_tail,
    reweighted_means,
    truncated_design_effect,
    unit_sums,
)

FEW_FAILURES = 5  # baseline cases' worth of failures below which the lift is greyed
LOW_HEADROOM = 0.02  # and a failure rate that may be below this
MANY_UNITS, MANY_FAILURES = 200, 10  # from here on the percentile interval holds its level
JEFFREYS_MASS = 0.5  # of a corner where cases are all or nothing: Jeffreys' prior for a table of four cells


def lift(
    pairs: Pairs,
    *,
    rng: np.random.Generator,
    weights: ArrayLike | None = None,
    reps: int = 10_000,
    level: float = 0.95,
) -> Estimate:
    """How much of the headroom does the candidate take? Chooses the method that holds its level.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms.
    rng : numpy.random.Generator
        Used unless the saddlepoint is chosen.
    weights : array of float, shape (n_cases,), optional
        Weight of each case: its number of expectations gives the micro lift; absent: cases count alike.
    reps : int
        Reweightings, unless the saddlepoint is chosen.
    level : float
        Confidence level (posterior probability where the method is Bayesian).

    Returns
    -------
    Estimate
        Of 1 - F_w / F_b (population SUPER), up to 1 and without a lower limit. `method` names what was chosen:
        the saddlepoint percentile from 200 cases (or clusters) with 10 failures in each arm, otherwise the
        smoothed Bayesian bootstrap. A caveat that begins with "greyed" says that the difference is the
        headline. NaN where the baseline never fails.

    Notes
    -----
    Assumes cases (or clusters) drawn independently. Refuses when more than a fifth of the cases is unmatched;
    of fewer than 3 pairs only the lift itself is told. Not for an archetype of a few prompts: see `archetype_lifts`.

    References
    ----------
    [Rubin]_, [Ferguson]_; see `lift_smoothed` and `lift_saddlepoint`.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 0.5, 0.5, 1, 0, 0], baseline=[0, 0, 0, 0.5, 0, 0], trials=2)
    >>> found = lift(pairs, rng=np.random.default_rng(1), level=0.8)
    >>> found.method, round(found.estimate, 3), found.caveats
    ('smoothed Bayesian bootstrap', 0.455, ())
    """
    failures = Failures.of(pairs, weights)
    units = int(check_clusters(pairs.clusters, failures.weights.size).max(initial=-1)) + 1
    problem = _why_not(failures, units, pairs.unmatched)
    if problem:
        return undefined(
            problem,
            estimate=nan if refusal(failures.weights.size, pairs.unmatched) else 1 - failures.ratio(),
            estimand="lift",
            population="SUPER",
            level=check_level(level),
            n_cases=failures.weights.size,
            n_trials=2 * pairs.trials * failures.weights.size,
            method="none",
        )
    fewest = min(failures.candidate.sum(), failures.baseline.sum())
    many = units >= MANY_UNITS and fewest >= MANY_FAILURES
    found = lift_saddlepoint(pairs, weights=weights, level=level) if many else None
    if found is None or isnan(found.conf_low):  # as with arms that do not differ on any case
        found = lift_smoothed(pairs, rng=rng, weights=weights, reps=reps, level=level)
    left_out = f"{counted(pairs.unmatched, 'unmatched case')} left out"
    return replace(
        found,
        estimand="lift" if weights is None else "weighted lift",
        caveats=(*found.caveats, *_greyed(failures, level), *((left_out,) if pairs.unmatched else ())),
    )


def lift_smoothed(
    pairs: Pairs,
    *,
    rng: np.random.Generator,
    weights: ArrayLike | None = None,
    scaled: bool = True,
    reps: int = 10_000,
    level: float = 0.95,
) -> Estimate:
    """How much of the headroom is taken, by reweighting cases? The smoothed Bayesian bootstrap.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms, scores in [0, 1].
    rng : numpy.random.Generator
        Source of the weights; the same state gives the same interval.
    weights : array of float, shape (n_cases,), optional
        Weight of each case, such as its number of expectations; absent: equal.
    scaled : bool
        Whether the mass of the corners follows the spread of the case means; False: plain DP.25.
    reps : int
        Number of reweightings.
    level : float
        Posterior probability of the percentile interval.

    Returns
    -------
    Estimate
        Of 1 - F_w / F_b (population SUPER). `std_error` is the delta method's: the draws have none.

    Notes
    -----
    Resamples cases (or clusters), never trials. Corners weigh 1/2 each, times the share of all-or-nothing
    variance in the case means, once the baseline has 5 failing cases' worth; below that the share is not
    known, and is taken to be that of trials with correlation 1/2: (1 + 1 / trials) / 2, and 1/2 for graded
    scores. With clusters they weigh 1/4 times the share times the design effect, and the percentiles are
    taken further out. Not with a baseline that never fails.

    References
    ----------
    [Rubin]_, [Ferguson]_; [Hesterberg]_ for the expanded percentiles.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 0.5, 0.5, 1, 0], baseline=[0.5, 0, 0.5, 0.5, 0], trials=2)
    >>> found = lift_smoothed(pairs, rng=np.random.default_rng(1), level=0.8)
    >>> found.conf_low < found.estimate < found.conf_high
    True
    """
    failures = Failures.of(pairs, weights)
    codes = check_clusters(failures.clusters, failures.weights.size)
    columns = failures.weights, failures.candidate, failures.baseline
    if any((column < 0).any() or (column > failures.weights).any() for column in columns):
        raise ValueError("scores must be inside [0, 1] for the corners to make sense")
    if not failures.baseline.any():
        return failures.record((nan, nan), level=level, method="smoothed Bayesian bootstrap")
    units, mass = unit_sums(codes, *columns), _corner_mass(pairs, failures, scaled)
    if failures.clusters is not None and len(units) < 2:
        return failures.record((nan, nan), level=level, method="smoothed Bayesian bootstrap")
    stretch, tail = 1.0, (1 - check_level(level)) / 2
    if failures.clusters is not None:
        stretch = truncated_design_effect(failures.candidate - failures.baseline, failures.clusters)
        tail = expanded_tail(level, len(units))
    draws = np.divide(*reweighted_means(units, rng=rng, reps=reps, mass=mass, stretch=stretch))
    low, high = np.quantile(draws, [tail, 1 - tail])
    return failures.record((low, high), level=level, method="smoothed Bayesian bootstrap")


def lift_of_medians(
    candidate: ArrayLike,
    baseline: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    reps: int = 10_000,
    level: float = 0.95,
) -> Estimate:
    """What would the older rule read, which keeps the median of three trials? An estimand of its own.

    Parameters
    ----------
    candidate, baseline : array of float, shape (n_cases, 3)
        Three trials of each case in each arm, in [0, 1]; the same case at the same place.
    rng : numpy.random.Generator
        As in `lift`.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to; without it every case is independent.
    reps : int
        As in `lift`.
    level : float
        As in `lift`.

    Returns
    -------
    Estimate
        Of 1 - F_w / F_b over medians (population SUPER), with a caveat that says so.

    Notes
    -----
    Assumes what `lift` does. A median of three yes/no trials passes with probability p^2 (3 - 2p), which is
    further from 1/2 than p: it is no estimate of the lift, and its interval is 29% wider. For comparison with
    older reports only.

    References
    ----------
    See `lift`.

    Examples
    --------
    >>> on, off = [[1, 1, 0], [1, 1, 1], [0, 1, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> round(lift_of_medians(on, off, rng=np.random.default_rng(1)).estimate, 3)
    0.667
    """
    arms = [np.asarray(arm, dtype=np.float64) for arm in (candidate, baseline)]
    for arm in arms:
        if arm.ndim != 2 or arm.shape[1] != 3:
            raise ValueError(f"medians of three need shape (n_cases, 3), got {arm.shape}")
    graded = any(not np.isin(arm, (0.0, 1.0)).all() for arm in arms)
    new, old = (np.median(arm, axis=1) for arm in arms)
    pairs = Pairs(candidate=new, baseline=old, trials=1, graded=graded, clusters=clusters)
    found = lift(pairs, rng=rng, reps=reps, level=level)
    other = "medians of three trials: another estimand than the lift of means"
    return replace(found, estimand="lift of medians", n_trials=6 * new.size, caveats=(*found.caveats, other))


def _why_not(failures: Failures, units: int, unmatched: int) -> str:
    problem = refusal(failures.weights.size, unmatched)
    if not problem and not failures.baseline.any():
        return NO_HEADROOM
    return problem or too_few(failures.weights.size, units)


def _greyed(failures: Failures, level: float) -> tuple[str, ...]:
    """Return the caveat that makes the difference the headline, if the baseline hardly fails."""
    n, failing = failures.weights.size, float(failures.baseline.sum())
    lowest = 1 - wilson_bounds(n - failing, n, normal_quantile(level))[1]
    if failing < FEW_FAILURES:
        return (f"greyed: {failing:.3g} of {FEW_FAILURES} failing baseline cases; see the difference",)
    if lowest < LOW_HEADROOM:
        return (f"greyed: the baseline may fail in fewer than {LOW_HEADROOM:g}; see the difference",)
    return ()


def _corner_mass(pairs: Pairs, failures: Failures, scaled: bool) -> float:
    arms = failures.candidate / failures.weights, failures.baseline / failures.weights
    if not scaled:
        return CORNER_MASS
    if failures.clusters is not None:
        return CORNER_MASS * corner_scale(*arms)
    if failures.baseline.sum() >= FEW_FAILURES:
        return JEFFREYS_MASS * corner_scale(*arms)
    return CORNER_MASS if pairs.graded else CORNER_MASS * (1 + 1 / pairs.trials)
