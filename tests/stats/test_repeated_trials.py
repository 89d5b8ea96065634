"""Pass rates from several trials a case: published numbers, the rule of choice, and edges."""

from math import inf, isnan

import pytest

from evalstats.stats.repeated_trials import (
    beta_binomial_grid,
    pass_rate,
    wilson_effective,
)

EVERY = {
    "pass_rate": pass_rate,
    "wilson_effective": wilson_effective,
    "beta_binomial_grid": beta_binomial_grid,
}
every_method = pytest.mark.parametrize("method", EVERY.values(), ids=EVERY)


def one_trial_each(row):
    passed, trials = int(row["passed"]), int(row["trials"])
    return [1] * passed + [0] * (trials - passed), [1] * trials


def test_published(published, agrees):
    if published["function"] == "wilson_effective":
        counts = [int(published["passed"])], [int(published["trials"])]
        agrees(wilson_effective(*counts, deff=float(published["deff"]), df=inf), published)
    else:
        agrees(EVERY[published["function"]](*one_trial_each(published)), published)


@pytest.mark.parametrize(
    ("passed", "trials", "clusters", "method"),
    [
        ([1, 0, 1], [1, 1, 1], None, "Wilson"),
        ([3, 1] * 500, [3] * 1000, None, "t on cases"),
        ([3, 1, 2] * 333, [3] * 999, None, "beta-binomial grid"),
        ([3, 0] * 20, [3] * 40, None, "beta-binomial grid"),
        ([3] * 40, [3] * 40, None, "beta-binomial grid"),
        ([2] * 40, [3] * 40, None, "beta-binomial grid"),
        ([3, 1, 2] * 20, [3] * 60, list(range(30)) * 2, "t on clusters, CR1"),
        ([3, 1, 2] * 10, [3] * 30, list(range(10)) * 3, "Wilson, effective n"),
        ([1, 0] * 10, [1] * 20, list(range(10)) * 2, "Wilson, effective n"),
    ],
)
def test_pass_rate_says_what_it_chose(passed, trials, clusters, method):
    record = pass_rate(passed, trials, clusters=clusters)
    assert record.method == method
    assert record.estimand == "pass rate"
    assert record.n_trials == sum(trials) and record.n_cases == len(trials)


@every_method
@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_cases_have_no_interval(method, n):
    record = method([1] * n, [2] * n)
    assert isnan(record.conf_low) and isnan(record.std_error)
    assert isnan(record.estimate) if n == 0 else record.estimate == 0.5
    assert record.caveats


@every_method
@pytest.mark.parametrize("passed", [0, 3])
def test_all_alike_still_has_width(method, passed):
    record = method([passed] * 5, [3] * 5)
    assert 0 <= record.conf_low < record.conf_high <= 1
    assert record.conf_high - record.conf_low > 0.3


def test_one_cluster_is_refused():
    assert isnan(wilson_effective([1, 2, 3], [3, 3, 3], clusters=[0, 0, 0]).conf_low)


@every_method
def test_cases_are_the_unit_not_trials(method):
    """Twenty times the trials of the same cases cannot make a new case certain."""
    few, many = method([1, 2, 0, 2, 1], [2] * 5), method([20, 40, 0, 40, 20], [40] * 5)
    assert many.conf_high - many.conf_low > 0.6 * (few.conf_high - few.conf_low)


@every_method
@pytest.mark.parametrize(
    ("passed", "trials"), [([4], [3]), ([0.5], [3]), ([0], [0]), ([float("nan")], [3]), ([[1]], [[3]])]
)
def test_impossible_counts_are_named(method, passed, trials):
    with pytest.raises(ValueError, match=r"passed|counts"):
        method(passed, trials)


@every_method
def test_level_is_checked(method):
    with pytest.raises(ValueError, match="level must be inside"):
        method([1, 2, 3], [3, 3, 3], level=80)


def test_ragged_trials_average_cases_not_trials():
    assert beta_binomial_grid([1, 0, 0], [1, 9, 9]).estimate == pytest.approx(1 / 3)
