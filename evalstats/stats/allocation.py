"""Where does the next unit of effort help most: a case, a trial or a judgement? Designs at the lowest cost.

More trials of the same cases soon stop helping: what is left is that these cases are not those. The best
number of trials balances the two variances against the two prices.

Written by hand: the classical formula of two-stage sampling, and a search over whole numbers.

References
----------
.. [Cochran] Cochran (1977). Sampling Techniques, 3rd ed., section 10.6. Wiley.
.. [Raudenbush] Raudenbush (1997). Statistical analysis and optimal design for cluster randomized trials.
   Psychol. Methods 2:173. doi:10.1037/1082-989X.2.2.173
"""

from dataclasses import dataclass
from math import nan, sqrt
from typing import NamedTuple

from evalstats.stats.planning import Spread, Study, cases_needed, detectable_effect
from evalstats.stats.results import check_at_least, check_positive

LARGEST_TRIALS, LARGEST_REPEATS = 50, 10  # the search for the cheapest design ends here


class Allocation(NamedTuple):
    """How should the effort within a case be split? Real numbers; NaN where undefined.

    Parameters
    ----------
    trials, judge_repeats : float
        Trials of a case in each arm, and judgements of a trial.
    caveats : tuple of str
        Why something is NaN.

    Examples
    --------
    >>> Allocation(trials=2.5, judge_repeats=1.2).caveats
    ()
    """

    trials: float
    judge_repeats: float
    caveats: tuple[str, ...] = ()


class Plan(NamedTuple):
    """Which design is it, in whole numbers, and what does it cost and see?

    Parameters
    ----------
    cases, trials, judge_repeats : int
        Cases, trials of each in each arm, judgements of each trial.
    cost : float
        Of the whole study, in the unit of the costs.
    detectable : float
        Smallest effect seen with the promised power, in the unit of the score.

    Examples
    --------
    >>> Plan(cases=50, trials=3, judge_repeats=1, cost=750.0, detectable=0.1).cases
    50
    """

    cases: int
    trials: int
    judge_repeats: int
    cost: float
    detectable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What does one more cost? In any one unit: money, seconds, tokens.

    Parameters
    ----------
    case : float
        Of writing or admitting one case, once, at least 0.
    trial : float
        Of one trial in one arm, above 0.
    judge : float
        Of one judgement of one trial, at least 0.

    Examples
    --------
    >>> Costs(case=5.0, trial=0.2).judge
    0.0
    """

    case: float
    trial: float
    judge: float = 0.0

    def __post_init__(self) -> None:
        """Refuse prices that are none."""
        check_at_least("cost of a case", self.case, 0)
        check_positive("cost of a trial", self.trial)
        check_at_least("cost of a judgement", self.judge, 0)

    def of_case(self, arms: int, trials: int, repeats: int) -> float:
        """Return what one case with all its trials costs."""
        return self.case + arms * trials * (self.trial + repeats * self.judge)


def best_allocation(spread: Spread, costs: Costs, study: Study) -> Allocation:
    """How many trials per case, and judgements per trial, buy the most precision? T* and J*, as real numbers.

    Parameters
    ----------
    spread : Spread
        Variances, from a pilot.
    costs : Costs
        What one more case, trial and judgement cost.
    study : Study
        What is compared; alpha and power do not matter here.

    Returns
    -------
    Allocation
        Often below 1: then one is right, and more cases are better than more trials.

    Notes
    -----
    T* is the square root of cost ratio times variance ratio, and does not depend on the judge. In FIXED it is
    undefined: cases add no variance, so trials and cases can be exchanged.

    References
    ----------
    [Cochran]_, [Raudenbush]_.

    Examples
    --------
    >>> best_allocation(Spread(case=0.04, trial=0.16), Costs(case=9.0, trial=1.0), Study(paired=False)).trials
    6.0
    """
    caveats, trials, repeats = [], nan, nan
    if study.population == "SUPER" and spread.case > 0:
        trials = sqrt(costs.case * spread.trial / (costs.trial * spread.case))
    else:
        caveats.append("no variance between cases: trials and cases can be exchanged, T* is undefined")
    if spread.trial > 0 and costs.judge > 0:
        repeats = sqrt(costs.trial * spread.judge / (costs.judge * spread.trial))
    else:
        caveats.append("judgements are free or trials do not vary: J* is undefined")
    return Allocation(trials, repeats, tuple(caveats))


def cheapest_plan(effect: float, spread: Spread, costs: Costs, study: Study) -> Plan:
    """Which whole numbers of cases, trials and judgements see the effect at the lowest cost?

    Parameters
    ----------
    effect : float
        Smallest effect that matters, above 0, in the unit of the score.
    spread : Spread
        Variances, from a pilot.
    costs : Costs
        What one more case, trial and judgement cost.
    study : Study
        What is compared, and how surely.

    Returns
    -------
    Plan
        The cheapest; of equals, the one with the most cases.

    Notes
    -----
    Tries up to 50 trials and 10 judgements. Assumes what `cases_needed` does.

    References
    ----------
    [Cochran]_, [Raudenbush]_.

    Examples
    --------
    >>> costs = Costs(case=9.0, trial=1.0)
    >>> cheapest_plan(0.1, Spread(case=0.04, trial=0.16), costs, Study(paired=False))[:3]
    (53, 6, 1)
    """
    arms = 2 if study.paired else 1

    def plan(trials: int, repeats: int) -> Plan:
        cases = cases_needed(effect, spread, study, trials=trials, judge_repeats=repeats)
        seen = detectable_effect(spread, study, cases=cases, trials=trials, judge_repeats=repeats)
        return Plan(cases, trials, repeats, cases * costs.of_case(arms, trials, repeats), seen)

    repeats = range(1, LARGEST_REPEATS + 1) if spread.judge else [1]
    plans = (plan(t, j) for t in range(1, LARGEST_TRIALS + 1) for j in repeats)
    return min(plans, key=lambda plan: (plan.cost, -plan.cases))
