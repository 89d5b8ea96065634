"""Where does the candidate gain and where does it lose? Differences and lifts by archetype.

An archetype is a handful of prompts of one kind. Three to six of them say little by themselves: their own
variance is hardly known, and their lift is mostly undefined or wild. So differences are shown with one
variance pooled over the archetypes, or shrunken towards each other for ranking, and a lift is refused below
7 prompts.

References
----------
.. [Morris] Morris (1983). Parametric empirical Bayes inference: theory and applications. JASA 78:47.
   doi:10.1080/01621459.1983.10477920
"""

from dataclasses import replace
from math import nan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.families import group_means, shrunken_groups
from evalstats.stats.lift_intervals import Failures
from evalstats.stats.lifts import lift
from evalstats.stats.pairs import Pairs
from evalstats.stats.results import Estimate, check_choice, check_pairs, counted, undefined

MIN_PROMPTS = 7  # of one archetype, for a lift of its own


def archetype_differences(
    pairs: Pairs, *, archetypes: ArrayLike, shrunken: bool = False, level: float = 0.95
) -> dict[str, Estimate]:
    """How much better is the candidate on each kind of prompt? Differences with one pooled variance.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms; its clusters are not used.
    archetypes : array of labels, shape (n_cases,)
        The archetype of each case.
    shrunken : bool
        Whether each difference is pulled towards the common one (Morris's empirical Bayes), for ranking.
    level : float
        Confidence level of each interval by itself.

    Returns
    -------
    dict of str to Estimate
        Of the mean difference candidate - baseline of each archetype (population SUPER), in order of labels.

    Notes
    -----
    Assumes that differences vary alike within all archetypes. The intervals are no family: flag regressions
    with `holm`. Shrunken differences are for ranking, never for a gate.

    References
    ----------
    [Morris]_; see `group_means` and `shrunken_groups`.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 1, 0.5, 1, 0, 0.5], baseline=[0, 0.5, 0.5, 1, 0, 0], trials=2)
    >>> print(archetype_differences(pairs, archetypes=["A1"] * 3 + ["A10"] * 3, level=0.8)["A1"])
    difference of A1 0.5 [0.1386, 0.8614] at level 0.8 (pooled t, SUPER, 3 cases, 12 trials)
    """
    new, old = check_pairs(pairs.candidate, pairs.baseline)
    found = group_means(new - old, groups=archetypes, level=level)
    groups = [
        replace(group, estimand=f"difference of {name}", n_trials=2 * pairs.trials * group.n_cases)
        for name, group in found.items()
    ]
    if shrunken:
        groups = shrunken_groups(groups, df=new.size - len(groups))
    return dict(zip(found, groups, strict=True))


def archetype_lifts(
    pairs: Pairs,
    *,
    archetypes: ArrayLike,
    rng: np.random.Generator,
    reps: int = 10_000,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """How much of the headroom is taken on each kind of prompt? Refused where there are too few prompts.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms; its clusters are not used.
    archetypes : array of labels, shape (n_cases,)
        The archetype of each case.
    rng : numpy.random.Generator
        As in `lift`.
    reps : int
        As in `lift`.
    level : float
        Confidence level of each interval by itself.

    Returns
    -------
    dict of str to Estimate
        Of the lift of each archetype (population SUPER); NaN below 7 prompts, and a caveat that points to the
        difference.

    Notes
    -----
    Assumes what `lift` does, within each archetype. For all archetypes together use `lift`.

    References
    ----------
    See `lift`.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 0, 1], baseline=[0, 0, 1], trials=1)
    >>> found = archetype_lifts(pairs, archetypes=["A1"] * 3, rng=np.random.default_rng(1))
    >>> found["A1"].caveats
    ('3 of the 7 prompts needed for a lift of their own: see the difference',)
    """
    parts = _split(pairs, archetypes)
    return {
        name: lift(part, rng=rng, reps=reps, level=level)
        if np.size(part.candidate) >= MIN_PROMPTS
        else _too_few(part, level)
        for name, part in parts.items()
    }


def macro_lift(
    pairs: Pairs,
    *,
    archetypes: ArrayLike,
    average: Literal["mean", "median"] = "mean",
    level: float = 0.95,
) -> Estimate:
    """What is the lift of a typical archetype? The mean or median of archetype lifts, without an interval.

    Parameters
    ----------
    pairs : Pairs
        The case table of both arms.
    archetypes : array of labels, shape (n_cases,)
        The archetype of each case; each counts alike, however many prompts it has.
    average : {"mean", "median"}
        Of the archetypes' lifts.
    level : float
        Confidence level, recorded only.

    Returns
    -------
    Estimate
        Of the average of 1 - F_w / F_b over archetypes (population SUPER); an archetype whose baseline never
        fails has no lift, is left out, and is counted in a caveat.

    Notes
    -----
    A ratio of a handful of prompts has no interval that holds its level, nor has an average of such ratios:
    this is a description. The headline is `lift`.

    References
    ----------
    The definition is the lift methodology's; there is no other.

    Examples
    --------
    >>> pairs = Pairs(candidate=[1, 1, 0, 1], baseline=[0, 0, 0, 1], trials=1)
    >>> macro_lift(pairs, archetypes=["A1", "A1", "A2", "A2"]).estimate
    0.5
    """
    check_choice("average", average, ("mean", "median"))
    new, _ = check_pairs(pairs.candidate, pairs.baseline)
    lifts = [1 - Failures.of(part).ratio() for part in _split(pairs, archetypes).values()]
    known = [value for value in lifts if not np.isnan(value)]
    dropped = len(lifts) - len(known)
    found = undefined(
        "no interval: ratios of a handful of prompts have none that holds its level" if lifts else "no pairs",
        estimate=float(np.mean(known) if average == "mean" else np.median(known)) if known else nan,
        estimand=f"{average} of archetype lifts",
        population="SUPER",
        level=level,
        n_cases=new.size,
        n_clusters=len(lifts),
        n_trials=2 * pairs.trials * new.size,
        method=f"macro {average}",
    )
    left_out = (f"{counted(dropped, 'archetype')} without headroom left out",) if dropped else ()
    return replace(found, caveats=(*found.caveats, *left_out))


def _split(pairs: Pairs, archetypes: ArrayLike) -> dict[str, Pairs]:
    new, old = check_pairs(pairs.candidate, pairs.baseline)
    labels = np.asarray(archetypes)
    if labels.shape != new.shape:
        raise ValueError(f"archetypes must have shape ({new.size},), one per case, got {labels.shape}")
    return {
        str(name): replace(
            pairs, candidate=new[labels == name], baseline=old[labels == name], clusters=None, unmatched=0
        )
        for name in np.unique(labels)
    }


def _too_few(part: Pairs, level: float) -> Estimate:
    n = np.size(part.candidate)
    return undefined(
        f"{n} of the {MIN_PROMPTS} prompts needed for a lift of their own: see the difference",
        estimand="lift",
        population="SUPER",
        level=level,
        n_cases=n,
        n_trials=2 * part.trials * n,
        method="none",
    )
