"""Planning: published sample sizes, the algebra between functions, and refusals."""

from math import nan

import numpy as np
import pytest

from evalstats.stats.planning import (
    Spread,
    Study,
    cases_needed,
    detectable_effect,
    n_required,
    zero_failure_runs,
)

ONE_ARM, PAIRED = Study(paired=False), Study(paired=True)
FIXED = Study(paired=True, population="FIXED")
SPREAD = Spread(case=0.04, trial=0.16, judge=0.02)


def test_published(published):
    inputs = [float(number) for number in published["inputs"].split()]
    if published["function"] == "n_required":
        found = n_required(*inputs)
    elif published["function"] == "zero_failure_runs":
        found = zero_failure_runs(*inputs)
    elif published["function"] == "detectable_effect":
        n, case, trial = inputs
        found = detectable_effect(Spread(case=case, trial=trial), PAIRED, cases=int(n))
    else:
        effect, case, trial, trials, repeats = inputs
        spread = Spread(case=case, trial=trial)
        found = cases_needed(effect, spread, PAIRED, trials=int(trials), judge_repeats=int(repeats))
    decimals = len(published["expected"].partition(".")[2])
    assert round(found, decimals) == float(published["expected"])


@pytest.mark.parametrize("study", [ONE_ARM, PAIRED, FIXED])
def test_cases_needed_and_detectable_effect_agree(study):
    n = cases_needed(0.05, SPREAD, study, trials=3, judge_repeats=2)
    assert detectable_effect(SPREAD, study, cases=n, trials=3, judge_repeats=2) <= 0.05
    assert detectable_effect(SPREAD, study, cases=n - 1, trials=3, judge_repeats=2) > 0.05


def test_variance_of_a_case_is_the_declared_sum():
    assert ONE_ARM.variance_of_case(SPREAD, 4, 2) == pytest.approx(0.04 + 0.16 / 4 + 0.02 / 8, abs=1e-15)
    assert PAIRED.variance_of_case(SPREAD, 4, 2) == pytest.approx(0.04 + 0.08 + 0.005, abs=1e-15)
    assert FIXED.variance_of_case(SPREAD, 4, 2) == pytest.approx(0.08 + 0.005, abs=1e-15)


def test_one_side_needs_fewer():
    assert Study(paired=True, sides=1).multiplier == pytest.approx(1.6448536 + 0.8416212, abs=1e-6)
    assert cases_needed(0.1, SPREAD, Study(paired=True, sides=1)) < cases_needed(0.1, SPREAD, PAIRED)


@pytest.mark.parametrize("baseline", [0.0, 1.0, -0.1, 1.1, nan])
def test_saturated_baseline_is_refused(baseline):
    with pytest.raises(ValueError, match="baseline must be inside"):
        n_required(baseline, 0.1)


def test_saturated_pilot_is_refused():
    with pytest.raises(ValueError, match="the pilot is saturated"):
        Spread(case=0.0, trial=0.0)


@pytest.mark.parametrize("wrong", [{"case": -0.1, "trial": 0.1}, {"case": 0.1, "trial": nan}])
def test_unknown_variance_is_refused(wrong):
    with pytest.raises(ValueError, match="variances must be known"):
        Spread(**wrong)


@pytest.mark.parametrize("effect", [0.0, -0.1, nan])
def test_effect_must_be_something(effect):
    with pytest.raises(ValueError, match="effect must be above 0"):
        cases_needed(effect, SPREAD, PAIRED)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_flake_rate_is_checked(rate):
    with pytest.raises(ValueError, match="flake_rate must be inside"):
        zero_failure_runs(rate)


def test_calibration_power_is_as_planned():
    """Draw the planned study with normal scores and known variance: 80% findings."""
    n = cases_needed(0.05, SPREAD, PAIRED, trials=3, judge_repeats=2)
    error = np.sqrt(PAIRED.variance_of_case(SPREAD, 3, 2) / n)
    found = np.random.default_rng(2).normal(0.05, error, 400) > 1.959964 * error
    assert abs(found.mean() - 0.8) < 3 * np.sqrt(0.8 * 0.2 / 400)


@pytest.mark.parametrize("wrong", [{"alpha": 5}, {"power": 80}])
def test_error_rates_are_probabilities(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be inside"):
        cases_needed(0.1, SPREAD, Study(paired=True, **wrong))
