"""Allocation: the classical formula, and that nothing nearby is cheaper."""

from math import isnan, sqrt

import pytest

from evalstats.stats.allocation import Costs, best_allocation, cheapest_plan
from evalstats.stats.planning import Spread, Study, cases_needed

ONE_ARM, PAIRED = Study(paired=False), Study(paired=True)
FIXED = Study(paired=True, population="FIXED")
SPREAD = Spread(case=0.04, trial=0.16, judge=0.02)


def test_published(published):
    icc, ratio = float(published["icc"]), float(published["cost_ratio"])
    spread, costs = Spread(case=icc, trial=1 - icc), Costs(case=ratio, trial=1.0)
    if published["function"] == "cheapest_plan":  # an effect so small that whole cases do not matter
        assert cheapest_plan(0.001, spread, costs, ONE_ARM).trials == int(published["trials"])
    else:
        found = best_allocation(spread, costs, ONE_ARM)
        assert found.trials == pytest.approx(float(published["trials"]), abs=0.005)


@pytest.mark.parametrize("study", [ONE_ARM, PAIRED])
def test_best_allocation_is_the_optimum(study):
    """No real-valued neighbour has a lower variance x cost."""
    costs = Costs(case=9.0, trial=1.0, judge=0.1)
    arms = 2 if study.paired else 1
    best = best_allocation(SPREAD, costs, study)
    assert best.trials == 6.0 and best.judge_repeats == pytest.approx(sqrt(1.25), abs=1e-12)

    def product(t, j):
        return study.variance_of_case(SPREAD, t, j) * costs.of_case(arms, t, j)

    near = [product(best.trials + a, best.judge_repeats + b) for a in (-0.1, 0, 0.1) for b in (-0.1, 0, 0.1)]
    assert min(near) == near[4]


def test_trials_and_cases_are_exchangeable_when_the_cases_are_fixed():
    found = best_allocation(SPREAD, Costs(case=9.0, trial=1.0), FIXED)
    assert isnan(found.trials) and isnan(found.judge_repeats)
    assert "T* is undefined" in found.caveats[0] and "J* is undefined" in found.caveats[1]


def test_cheapest_plan_beats_its_neighbours():
    costs = Costs(case=9.0, trial=1.0, judge=0.1)
    plan = cheapest_plan(0.08, SPREAD, costs, PAIRED)
    assert plan.detectable <= 0.08
    for trials in range(1, 12):
        for repeats in range(1, 5):
            n = cases_needed(0.08, SPREAD, PAIRED, trials=trials, judge_repeats=repeats)
            assert plan.cost <= n * costs.of_case(2, trials, repeats)


def test_free_trials_are_refused():
    with pytest.raises(ValueError, match="cost of a trial must be above 0"):
        best_allocation(SPREAD, Costs(case=9.0, trial=0.0), PAIRED)


def test_free_cases_mean_one_trial():
    assert cheapest_plan(0.1, SPREAD, Costs(case=0.0, trial=1.0, judge=0.1), PAIRED).trials == 1


def test_without_trial_noise_one_trial_is_enough():
    plan = cheapest_plan(0.1, Spread(case=0.04, trial=0.0), Costs(case=9.0, trial=1.0), PAIRED)
    assert (plan.trials, plan.judge_repeats) == (1, 1)
