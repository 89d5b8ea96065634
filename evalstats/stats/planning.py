"""How many cases, trials or runs does it take? Variance of a design, and what it can see.

The variance of a mean is the sum of what cases, trials and judge repeats contribute, each divided by how
often it was drawn. A design is good when its smallest detectable effect is the one that matters. Below 30
cases the normal approximation flatters: use `simulated_power`. What is cheapest is a matter of
`evalstats.stats.allocation`.

Written by hand: the formulas are one line each, and the well-known calculators clip a saturated baseline to
a handful of cases instead of refusing.

References
----------
.. [Miller] Miller (2024). Adding error bars to evals. Section 5. doi:10.48550/arXiv.2411.00640
.. [FLP] Fleiss, Levin, Paik (2003). Statistical Methods for Rates and Proportions, 3rd ed., chapter 4. Wiley.
   doi:10.1002/0471445428
.. [HLH] Hanley, Lippman-Hand (1983). If nothing goes wrong, is everything all right? JAMA 249:1743.
   doi:10.1001/jama.1983.03330370053031
"""

from dataclasses import dataclass
from math import ceil, inf, log, log1p, sqrt
from typing import get_args

from scipy.special import ndtri

from evalstats.stats.results import Population, check_at_least, check_choice, check_level, check_positive

ROUNDING = 1e-9  # a whole number reached within rounding is not rounded up again


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What makes scores vary? Variances from a pilot, in squared units of the score.

    Parameters
    ----------
    case : float
        Between case means in one arm; for a paired difference, of the true case differences.
    trial : float
        Between trials of one case in one arm.
    judge : float
        Between repeated judgements of one trial.

    Raises
    ------
    ValueError
        When one is negative or unknown, or all are 0: a saturated pilot (all pass, all fail) plans nothing.

    Examples
    --------
    >>> Spread(case=1 / 9, trial=1 / 6).judge
    0.0
    """

    case: float
    trial: float
    judge: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what would plan a study on nothing."""
        parts = (self.case, self.trial, self.judge)
        if not all(0 <= part < inf for part in parts):
            raise ValueError(f"variances must be known and not negative, got {parts}")
        if not any(parts):
            raise ValueError("the pilot is saturated: without any variance there is nothing to plan with")


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is to be seen, and how surely? The same promise for every design compared.

    Parameters
    ----------
    paired : bool
        Whether two arms are compared on the same cases; False for the mean of one arm.
    population : {"SUPER", "FIXED"}
        SUPER: new cases like these. FIXED: these very cases run again, so cases add no variance.
    alpha : float
        Chance of a finding where there is none.
    power : float
        Chance of a finding where there is one.
    sides : int
        2 when either direction counts, 1 when only one does.

    Examples
    --------
    >>> round(Study(paired=True).multiplier, 4)
    2.8016
    """

    paired: bool
    population: Population = "SUPER"
    alpha: float = 0.05
    power: float = 0.80
    sides: int = 2

    def __post_init__(self) -> None:
        """Refuse a promise that is none."""
        check_level(self.alpha, "alpha")
        check_level(self.power, "power")
        check_choice("population", self.population, get_args(Population))
        if self.sides not in (1, 2) or self.multiplier <= 0:
            raise ValueError(f"a study needs 1 or 2 sides and more power than alpha, got {self}")

    @property
    def multiplier(self) -> float:
        """Return z_alpha + z_power: how many standard errors the effect must be."""
        return float(ndtri(1 - self.alpha / self.sides) + ndtri(self.power))

    def variance_of_case(self, spread: Spread, trials: float, repeats: float) -> float:
        """Return the variance that one case contributes to the mean, in squared units of the score."""
        check_at_least("trials", trials)
        check_at_least("judge_repeats", repeats)
        arms = 2 if self.paired else 1
        case = spread.case if self.population == "SUPER" else 0.0
        return case + arms * (spread.trial / trials + spread.judge / (trials * repeats))


def detectable_effect(
    spread: Spread, study: Study, *, cases: int, trials: int = 1, judge_repeats: int = 1
) -> float:
    """How small an effect does the design see? The MDE, in the unit of the score.

    Parameters
    ----------
    spread : Spread
        Variances, from a pilot.
    study : Study
        What is compared, and how surely.
    cases, trials, judge_repeats : int
        Cases; trials of each in each arm; judgements of each trial.

    Returns
    -------
    float
        The effect that is found with the promised power.

    Notes
    -----
    Assumes the normal approximation: below 30 cases the truth is larger, use `simulated_power`.

    References
    ----------
    [Miller]_.

    Examples
    --------
    >>> round(detectable_effect(Spread(case=1 / 9, trial=0.0), Study(paired=True), cases=969), 4)
    0.03
    """
    check_at_least("cases", cases)
    return study.multiplier * sqrt(study.variance_of_case(spread, trials, judge_repeats) / cases)


def cases_needed(
    effect: float, spread: Spread, study: Study, *, trials: int = 1, judge_repeats: int = 1
) -> int:
    """How many cases does it take to see the effect?

    Parameters
    ----------
    effect : float
        Smallest effect that matters, above 0, in the unit of the score.
    spread : Spread
        Variances, from a pilot.
    study : Study
        What is compared, and how surely.
    trials, judge_repeats : int
        Trials of each case in each arm; judgements of each trial.

    Returns
    -------
    int
        Cases, rounded up.

    Notes
    -----
    Assumes the normal approximation: below 30 cases it flatters, confirm with `simulated_power`.

    References
    ----------
    [Miller]_.

    Examples
    --------
    >>> cases_needed(0.03, Spread(case=1 / 9, trial=0.0), Study(paired=True))
    969
    """
    variance = study.variance_of_case(spread, trials, judge_repeats)
    return _rounded_up(variance * (study.multiplier / check_positive("effect", effect)) ** 2)


def n_required(baseline: float, effect: float, *, alpha: float = 0.05, power: float = 0.80) -> int:
    """How many independent trials per arm show a change of a pass rate? Two separate arms, no pairing.

    Parameters
    ----------
    baseline : float
        Pass rate of today, inside (0, 1).
    effect : float
        Smallest change that matters, above 0, as a proportion.
    alpha, power : float
        Two-sided size, and chance to see the change.

    Returns
    -------
    int
        Trials per arm, rounded up, with the variance of the baseline in both arms.

    Raises
    ------
    ValueError
        At a baseline of 0 or 1, which has no variance: a change from there is no matter of this formula.

    Notes
    -----
    Assumes independent trials (one per case) and different cases in the arms. On the same cases fewer are
    enough: use `cases_needed` with a paired study.

    References
    ----------
    [FLP]_.

    Examples
    --------
    >>> n_required(0.5, 0.15)
    175
    """
    if not 0 < baseline < 1:
        raise ValueError(
            f"baseline must be inside (0, 1), got {baseline!r}: "
            "a saturated suite has no variance to plan with; add harder cases"
        )
    multiplier = Study(paired=False, alpha=alpha, power=power).multiplier
    return _rounded_up(2 * baseline * (1 - baseline) * (multiplier / check_positive("effect", effect)) ** 2)


def zero_failure_runs(flake_rate: float, *, level: float = 0.95) -> int:
    """How many clean runs in a row show that failures are rarer than this? The exact zero-failure bound.

    Parameters
    ----------
    flake_rate : float
        Bound to be shown, inside (0, 1), as a proportion of runs.
    level : float
        Confidence.

    Returns
    -------
    int
        Runs, all of them without a failure. A bound, not an estimate.

    Notes
    -----
    Assumes independent runs of one failure rate. One failure ends it: use `clopper_pearson` then.

    References
    ----------
    [HLH]_ (3 / n is its approximation).

    Examples
    --------
    >>> zero_failure_runs(0.05)
    59
    """
    return _rounded_up(log(1 - check_level(level)) / log1p(-check_level(flake_rate, "flake_rate")))


def _rounded_up(amount: float) -> int:
    return max(1, ceil(amount * (1 - ROUNDING)))
