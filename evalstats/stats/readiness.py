"""May this suite block? Readiness of a gate, judged from its own history.

A gate on a noisy series blocks the innocent. It may block once its runs are so steady that a drop of the
margin would be seen and an unchanged run would pass, each with its promised chance. The spread enters by its
upper confidence bound: a short lucky history is not a steady suite. The error rates hold given that bound,
not given READY: a noisy suite is seldom READY, and then blocks falsely more often.

Written by hand: no library has this rule.

References
----------
.. [HM] Hahn, Meeker (1991). Statistical Intervals, section 4.3: upper bound of a standard deviation. Wiley.
   doi:10.1002/9780470316771
.. [Wald] Wald (1947). Sequential Analysis, chapter 1: two error rates and the distance between. Wiley.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, ndtr

from evalstats.stats.decisions import Rule
from evalstats.stats.results import (
    FloatArray,
    agree,
    check_at_least,
    check_level,
    check_positive,
    check_scores,
)

MIN_RUNS, MIN_DAYS = 8, 5
HYSTERESIS = 1.1  # once READY, a suite is revoked only this much beyond the margin
MOST_RUNS = 1_000  # a history that never gets there is told so

State: TypeAlias = Literal["NOT_READY", "READY", "REVOKED"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about the suite? Its accepted runs, and what stands against them.

    Parameters
    ----------
    history : array of float, shape (K,)
        One value a run (a pass rate, a difference or a lift), in the unit of the margin, oldest first.
    days : sequence of K labels
        The day of each run.
    reruns : int
        Independent runs of a candidate that the gate will look at.
    confirmed_alarm : bool
        Whether monitoring has a confirmed alarm that is not settled.
    objections : tuple of str
        What else stands against blocking, in words: timeouts or cost out of policy.
    was_ready : bool
        Whether the suite is READY now.

    Examples
    --------
    >>> Evidence(history=[0.8, 0.8], days=["Mon", "Tue"]).reruns
    1
    """

    history: ArrayLike
    days: Sequence[Hashable]
    reruns: int = 1
    confirmed_alarm: bool = False
    objections: tuple[str, ...] = ()
    was_ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """May the suite block, and why not? All numbers in the unit of the margin.

    Parameters
    ----------
    state : {"NOT_READY", "READY", "REVOKED"}
        What the rule says.
    reasons : tuple of str
        What stands against READY; empty when READY.
    spread, spread_bound : float
        Standard deviation of a run, and its upper confidence bound; NaN where it cannot be known.
    detectable : float
        Drop seen with the promised power, if the spread is at its bound.
    block_above : float
        The drop above which the gate would block.
    largest_spread : float
        The largest `spread` that would be ready with so many runs.
    more_runs : int or None
        Further runs until READY if the spread stays; 0 when enough, None when no number of runs is.

    Examples
    --------
    >>> found = gate_readiness(Evidence(history=[0.8, 0.7], days=[1, 2]), Rule(margin=0.05))
    >>> found.reasons[:2]
    ('2 of the 8 runs needed', '2 of the 5 days needed')
    """

    state: State
    reasons: tuple[str, ...]
    spread: float
    spread_bound: float
    detectable: float
    block_above: float
    largest_spread: float
    more_runs: int | None


def gate_readiness(evidence: Evidence, rule: Rule, *, level: float = 0.90) -> Readiness:
    """May this suite block? READY when even the upper bound of its spread lets the gate see the margin.

    Parameters
    ----------
    evidence : Evidence
        Accepted runs of one identity.
    rule : Rule
        Margin, size and power of the gate; its looks play no part here.
    level : float
        Confidence of the upper bound on the spread.

    Returns
    -------
    Readiness
        READY needs at least 8 runs over 5 days, a detectable drop up to the margin, no confirmed alarm and
        no objection. REVOKED: it was READY, and an alarm is confirmed or the detectable drop exceeds the
        margin by a tenth; between the margin and there it stays READY.

    Notes
    -----
    Assumes independent, roughly normal runs around one centre. The size holds given the bound on the spread,
    not given READY. For canaries that never fail use `zero_failure_runs`.

    References
    ----------
    [HM]_, [Wald]_.

    Examples
    --------
    >>> runs = [0.80, 0.81, 0.79, 0.80, 0.81, 0.80, 0.79, 0.80, 0.81, 0.80]
    >>> found = gate_readiness(Evidence(history=runs, days=range(10)), Rule(margin=0.05))
    >>> found.state, round(found.detectable, 4)
    ('READY', 0.0283)
    """
    values = check_scores(evidence.history)
    if len(evidence.days) != values.size:
        raise ValueError(f"days must have one label per run, got {len(evidence.days)} for {values.size}")
    n = values.size
    spread = float(values.std(ddof=1)) if not agree(values) else nan
    largest = largest_ready_spread(n, rule, reruns=evidence.reruns, level=level)
    detectable = rule.margin * spread / largest
    tolerated = HYSTERESIS if evidence.was_ready else 1.0
    reasons = _reasons(evidence, spread, n)
    if detectable > tolerated * rule.margin:
        reasons.append(f"a drop below {detectable:.4g} would not be seen, the margin is {rule.margin:g}")
    return Readiness(
        state=_state(evidence, reasons, detectable > tolerated * rule.margin),
        reasons=tuple(reasons),
        spread=spread,
        spread_bound=spread_upper_bound(spread, n, level=level),
        detectable=detectable,
        block_above=rule.fraction * rule.margin,
        largest_spread=largest,
        more_runs=_more_runs(spread, n, rule, evidence.reruns, level),
    )


def spread_upper_bound(spread: float, n_runs: int, *, level: float = 0.90) -> float:
    """Return the upper confidence bound of a standard deviation from n normal runs, in its unit; NaN below 2.

    References
    ----------
    [HM]_.

    Examples
    --------
    >>> round(spread_upper_bound(1.0, 10), 3)
    1.469
    """
    if n_runs < 2:
        return nan
    return spread * sqrt((n_runs - 1) / float(chdtri(n_runs - 1, check_level(level))))


def largest_ready_spread(n_runs: int, rule: Rule, *, reruns: int = 1, level: float = 0.90) -> float:
    """How steady must the runs be? The largest standard deviation at which a suite is READY.

    Parameters
    ----------
    n_runs : int
        Runs in the history.
    rule : Rule
        Margin, size and power of the gate.
    reruns : int
        Independent runs of a candidate.
    level : float
        Confidence of the upper bound on the spread.

    Returns
    -------
    float
        In the unit of the margin; NaN below 2 runs.

    Notes
    -----
    Assumes what `gate_readiness` does.

    References
    ----------
    [HM]_, [Wald]_.

    Examples
    --------
    >>> round(largest_ready_spread(10, Rule(margin=5.0)), 3)
    1.305
    """
    check_at_least("reruns", reruns)
    if n_runs < 2:
        return nan
    bound = spread_upper_bound(1.0, n_runs, level=level)
    return rule.margin / (rule.multiplier * bound * sqrt(1 / reruns + 1 / n_runs))


def blocking_curve(
    drops: ArrayLike, spread: float, n_runs: int, rule: Rule, *, reruns: int = 1
) -> FloatArray:
    """How likely does the gate block, for each true drop? Its operating characteristic.

    Parameters
    ----------
    drops : array of float, shape (n,)
        True drops, in the unit of the margin; 0 gives the chance of a false block.
    spread : float
        True standard deviation of a run, in the same unit.
    n_runs : int
        Runs in the history.
    rule : Rule
        Margin, size and power of the gate.
    reruns : int
        Independent runs of a candidate.

    Returns
    -------
    array of float, shape (n,)
        Chances, rising with the drop.

    Notes
    -----
    Assumes independent normal runs. Not averaged over what READY selects.

    References
    ----------
    [Wald]_.

    Examples
    --------
    >>> blocking_curve([0.0, 5.0], 1.5, 20, Rule(margin=5.0)).round(3)
    array([0.016, 0.865])
    """
    check_at_least("n_runs", n_runs)
    check_at_least("reruns", reruns)
    error = check_positive("spread", spread) * sqrt(1 / reruns + 1 / n_runs)
    return np.asarray(ndtr((check_scores(drops) - rule.fraction * rule.margin) / error))


def _state(evidence: Evidence, reasons: list[str], noisy: bool) -> State:
    if evidence.was_ready and (evidence.confirmed_alarm or noisy):
        return "REVOKED"
    return "NOT_READY" if reasons else "READY"


def _reasons(evidence: Evidence, spread: float, n: int) -> list[str]:
    days = len(set(evidence.days))
    checks = {
        f"{n} of the {MIN_RUNS} runs needed": n < MIN_RUNS,
        f"{days} of the {MIN_DAYS} days needed": days < MIN_DAYS,
        "all runs agree: a repeated answer is not a measured noise": n > 1 and isnan(spread),
        "monitoring has a confirmed alarm": evidence.confirmed_alarm,
    }
    return [reason for reason, holds in checks.items() if holds] + list(evidence.objections)


def _more_runs(spread: float, n: int, rule: Rule, reruns: int, level: float) -> int | None:
    """Return how many further runs are needed, if the spread stays as it is."""
    if isnan(spread):
        return max(MIN_RUNS - n, 0) or None
    for total in range(max(n, MIN_RUNS), MOST_RUNS):
        if spread <= largest_ready_spread(total, rule, reruns=reruns, level=level):
            return total - n
    return None
