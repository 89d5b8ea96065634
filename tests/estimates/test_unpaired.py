"""Two arms of different cases: Newcombe's published interval, Welch by scipy."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from evalstats import estimates
from evalstats.estimates.unpaired import DIFFERENT_CASES, Welch, separate_difference
from evalstats.stats import case_mean, newcombe, pass_rate, wilson


def test_square_and_add_of_wilson_is_newcombe() -> None:
    found = separate_difference(wilson(56, 70), wilson(48, 80))
    assert (round(found.conf_low, 4), round(found.conf_high, 4)) == (0.0524, 0.3339)  # published
    same = newcombe((56, 70), (48, 80))
    assert (found.conf_low, found.conf_high) == (same.conf_low, same.conf_high)
    assert found.caveats == (DIFFERENT_CASES,)


def test_yes_no_trials_of_different_cases_reach_it_through_compare(case_runs, rng) -> None:
    scores = {("r", "skill-on", f"a{i}"): [float(i < 56)] for i in range(70)}
    scores |= {("r", "skill-off", f"b{i}"): [float(i < 48)] for i in range(80)}
    found = estimates.compare(case_runs(scores), rng=rng, level=0.95).estimates.iloc[0]
    assert (round(found["conf_low"], 4), round(found["conf_high"], 4)) == (0.0524, 0.3339)
    assert (found["n_cases"], found["method"]) == (150, "separate arms, Wilson")


def test_bounds_beyond_the_estimate_add_nothing() -> None:
    full, half = pass_rate([3, 3, 3], [3, 3, 3]), pass_rate([3, 0, 2], [3, 3, 3])
    assert full.conf_high < full.estimate
    found = separate_difference(full, half)
    assert found.conf_high == pytest.approx(found.estimate + (half.estimate - half.conf_low), abs=1e-12)


def test_welch_is_that_of_scipy_and_statsmodels() -> None:
    rng = np.random.default_rng(3)
    new, old = rng.normal(0.6, 0.2, 9), rng.normal(0.5, 0.1, 14)
    tests = Welch.of(case_mean(new), case_mean(old)).tests(0.1)
    assert tests["difference"].p_value == pytest.approx(
        scipy_stats.ttest_ind(new, old, equal_var=False).pvalue, rel=1e-9
    )
    both = CompareMeans(DescrStatsW(new), DescrStatsW(old))
    assert tests["equivalence"].p_value == pytest.approx(
        both.ttost_ind(-0.1, 0.1, usevar="unequal")[0], rel=1e-9
    )
    assert tests["non-inferiority"].p_value == pytest.approx(
        scipy_stats.ttest_ind(new + 0.1, old, equal_var=False, alternative="greater").pvalue, rel=1e-9
    )


def test_an_arm_without_spread_has_no_test() -> None:
    test = Welch.of(case_mean([1, 1, 1, 1]), case_mean([1, 0, 1, 0])).tests(None)["difference"]
    assert isnan(test.p_value)
    assert test.caveats == (DIFFERENT_CASES, "all cases agree: the variance is not estimable")
