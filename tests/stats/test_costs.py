"""Costs: published medians, duality with the log scale, refusals, coverage."""

from math import exp, isnan, log, nan, sqrt

import numpy as np
import pytest
from scipy.special import bdtr

from evalstats.stats.costs import cost_ratio, exact_median, median_rank
from evalstats.stats.pairs import paired_t

NEW, OLD = [0.02, 0.05, 0.03, 0.04, 0.9], [0.01, 0.02, 0.02, 0.02, 0.3]


def test_published(published, agrees):
    level = float(published.pop("level"))
    if published["function"] == "median_rank":
        assert median_rank(int(published["n"]), level) == int(published["rank"])
    elif published["function"] == "cost_ratio":
        arms = (np.exp([float(x) for x in published[name].split()]) for name in ("values", "baseline"))
        agrees(cost_ratio(*arms, level=level), published)
    else:
        agrees(exact_median([float(x) for x in published["values"].split()], level=level), published)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_rank_is_the_largest_that_covers(level):
    for n in range(1, 200):
        rank = median_rank(n, level)
        assert rank == 0 or 1 - 2 * bdtr(rank - 1, n, 0.5) >= level - 1e-12
        assert 1 - 2 * bdtr(rank, n, 0.5) < level


def test_the_most_expensive_case_does_not_move_the_median():
    base = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert exact_median([*base[:-1], 1e9]).as_row() == exact_median(base).as_row()


def test_no_cases_is_unknown():
    record = exact_median([])
    assert isnan(record.estimate) and record.caveats == ("no cases",)


@pytest.mark.parametrize(
    ("n", "level", "cases"), [(1, 0.95, "1 case"), (5, 0.95, "5 cases"), (3, 0.8, "3 cases")]
)
def test_too_few_cases_have_no_interval(n, level, cases):
    record = exact_median(range(n), level=level)
    assert record.estimate == (n - 1) / 2 and isnan(record.conf_low)
    assert record.caveats == (f"{cases}: too few for a level of {level:g}",)


def test_ties_have_an_interval_but_no_standard_error():
    record = exact_median([0.0] * 10)
    assert (record.conf_low, record.conf_high) == (0, 0) and isnan(record.std_error)
    assert record.caveats == ("both bounds are the same value: no standard error",)


def test_a_missing_cost_is_refused_with_its_reason():
    record = exact_median([1, 2, nan, 4, 5, 6, 7])
    assert isnan(record.estimate) and record.caveats == ("1 of 7 values missing",)


def test_ratio_is_a_paired_t_on_logs():
    found, logs = cost_ratio(NEW, OLD), paired_t(np.log(NEW), np.log(OLD))
    assert log(found.estimate) == pytest.approx(logs.estimate, abs=1e-12)
    assert (log(found.conf_low), log(found.conf_high)) == pytest.approx((logs.conf_low, logs.conf_high))
    assert found.std_error == pytest.approx(logs.std_error * exp(logs.estimate))


def test_ratio_does_not_depend_on_the_unit_and_inverts():
    found, cents = cost_ratio(NEW, OLD), cost_ratio(100 * np.array(NEW), 100 * np.array(OLD))
    assert cents.conf_low == pytest.approx(found.conf_low, rel=1e-12)
    assert cost_ratio(OLD, NEW).conf_high == pytest.approx(1 / found.conf_low, rel=1e-12)


def test_twice_everywhere_has_no_error():
    record = cost_ratio([0.2, 0.4, 0.6, 1.4], [0.1, 0.2, 0.3, 0.7])
    assert record.estimate == pytest.approx(2) and isnan(record.std_error)
    assert record.caveats == ("all cases agree: the variance is not estimable",)


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ([0.0, 1.0, 1.0], "1 of 3 cases with a cost of 0 or less: no ratio"),
        ([-1.0, 0.0, 1.0], "2 of 3 cases with a cost of 0 or less: no ratio"),
        ([nan, 1.0, 1.0], "1 of 3 cases with a missing cost"),
        (
            [nan, 0.0, 1.0],
            "1 of 3 cases with a missing cost; 1 of 3 cases with a cost of 0 or less: no ratio",
        ),
    ],
)
def test_free_and_missing_costs_are_refused_with_their_reason(new, why):
    for record in (cost_ratio(new, [1.0, 1.0, 2.0]), cost_ratio([1.0, 1.0, 2.0], new)):
        assert isnan(record.estimate) and record.caveats == (why,)


def test_no_cases_and_one_case_and_one_cluster():
    assert cost_ratio([], []).caveats == ("no cases",)
    assert cost_ratio([2.0], [1.0]).caveats == ("1 of the 3 cases needed for a standard error",)
    assert "one cluster" in cost_ratio(NEW, OLD, clusters=[1] * 5).caveats[0]


def test_arms_must_match():
    with pytest.raises(ValueError, match="both arms must have the same cases, got 1 and 2"):
        cost_ratio([1.0], [1.0, 2.0])


@pytest.mark.parametrize("wrong", [[[1.0]], [float("inf")]])
def test_endless_costs_are_refused(wrong):
    with pytest.raises(ValueError, match="costs must be a flat vector of finite numbers"):
        exact_median(wrong)


@pytest.mark.parametrize(("level", "exact"), [(0.80, 0.8847), (0.95, 0.9586)])
def test_calibration_median_covers_what_its_ranks_promise(level, exact):
    """20 log-normal costs: ranks 7 and 14 hold the median in 88.5% of draws, ranks 6 and 15 in 95.9%."""
    draws, reps = np.random.default_rng(1).lognormal(0, 1.5, (400, 20)), 400
    records = [exact_median(row, level=level) for row in draws]
    covered = np.mean([r.conf_low <= 1.0 <= r.conf_high for r in records])
    assert abs(covered - exact) < 3 * sqrt(exact * (1 - exact) / reps)


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_ratio_covers(level):
    """40 cases of log-normal costs, true ratio 1.3: the nominal level."""
    rng, reps = np.random.default_rng(2), 400
    hits = 0
    for _ in range(reps):
        old = rng.lognormal(0, 1.5, 40)
        record = cost_ratio(old * rng.lognormal(log(1.3), 0.6, 40), old, level=level)
        hits += record.conf_low <= 1.3 <= record.conf_high
    assert abs(hits / reps - level) < 3 * sqrt(level * (1 - level) / reps)
