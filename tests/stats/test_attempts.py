"""pass@k and pass^k: published values, missing cases, edges, and coverage."""

from itertools import combinations
from math import isnan

import numpy as np
import pytest

from evalstats.stats.attempts import all_of_k, pass_at_k, pass_hat_k

BOTH = {"pass_at_k": pass_at_k, "pass_hat_k": pass_hat_k}
either = pytest.mark.parametrize("method", BOTH.values(), ids=BOTH)


def test_published(published, agrees):
    counts = [[int(n) for n in published.pop(name).split()] for name in ("passed", "trials")]
    agrees(BOTH[published["function"]](*counts, k=int(published.pop("k"))), published)


def test_is_the_mean_over_all_draws_of_k():
    outcomes = [1, 1, 1, 0, 0, 0, 0]
    draws = [sum(draw) for draw in combinations(outcomes, 3)]
    assert pass_at_k([3], [7], k=3).estimate == pytest.approx(np.mean([d > 0 for d in draws]), abs=1e-12)
    assert pass_hat_k([3], [7], k=3).estimate == pytest.approx(np.mean([d == 3 for d in draws]), abs=1e-12)


@either
def test_one_attempt_is_the_pass_rate(method):
    assert method([1, 2, 4], [4, 4, 5], k=1).estimate == pytest.approx((0.25 + 0.5 + 0.8) / 3, abs=1e-12)


@either
def test_many_trials_do_not_overflow(method):
    assert 0 <= method([5_000, 0, 10_000], [10_000] * 3, k=200).estimate <= 1


@either
def test_cases_with_too_few_trials_are_left_out_aloud(method):
    record = method([2, 1, 3, 0], [4, 2, 4, 4], k=3)
    assert record.caveats == ("1 of 4 cases left out: fewer than 3 trials",)
    assert (record.n_cases, record.n_trials) == (3, 12)
    assert record.estimate == method([2, 3, 0], [4, 4, 4], k=3).estimate


@either
def test_no_case_with_enough_trials_is_unknown(method):
    record = method([1, 0], [1, 1], k=2)
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert record.caveats == ("no cases", "2 of 2 cases left out: fewer than 2 trials")


@either
def test_no_cases_is_unknown(method):
    record = method([], [], k=1)
    assert isnan(record.estimate) and record.caveats == ("no cases",)


@either
def test_two_cases_have_no_interval(method):
    record = method([1, 2], [4, 4], k=2)
    assert isnan(record.conf_low) and record.caveats == ("2 of the 3 cases needed for a standard error",)


@either
@pytest.mark.parametrize("passed", [0, 4])
def test_all_alike_still_has_width(method, passed):
    record = method([passed] * 6, [4] * 6, k=2)
    assert record.method == "Wilson"
    assert record.estimate == passed / 4 and record.conf_high - record.conf_low > 0.2


@either
def test_exactly_k_trials_are_one_yes_or_no_a_case(method):
    assert method([3, 0, 2, 3], [3] * 4, k=3).method == "Wilson"


@either
def test_one_cluster_is_unknown(method):
    record = method([1, 2, 3], [4, 4, 4], k=2, clusters=["a", "a", "a"])
    assert isnan(record.std_error) and record.caveats == ("one cluster: no variance between clusters",)


@either
def test_clusters_follow_the_cases_that_are_kept(method):
    whole = method([1, 2, 3, 4, 0], [4, 4, 4, 4, 1], k=2, clusters=[0, 0, 1, 1, 2])
    assert whole.n_clusters == 2


@either
def test_bounds_stay_proportions(method):
    record = method([4, 4, 4, 1], [5] * 4, k=2)
    assert 0 <= record.conf_low <= record.conf_high <= 1


@either
@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_attempts_are_whole(method, k):
    with pytest.raises(ValueError, match="k must be a whole number"):
        method([1], [2], k=k)


@either
def test_impossible_counts_are_named(method):
    with pytest.raises(ValueError, match="counts must be whole"):
        method([3, np.nan], [2, 2], k=1)


def test_fewer_trials_than_k_is_nan():
    assert np.isnan(all_of_k([1], [2], 3)).all()


@pytest.mark.parametrize("level", [0.80, 0.95])
@either
def test_calibration_covers(method, level):
    """Beta(1, 1) cases at 5 trials: the nominal level of the true mean, 1/3 or 2/3 at k = 2."""
    rng, reps, truth = np.random.default_rng(11), 400, {pass_at_k: 2 / 3, pass_hat_k: 1 / 3}[method]
    hits = 0
    for _ in range(reps):
        passed = rng.binomial(5, rng.random(40))
        record = method(passed, np.full(40, 5), k=2, level=level)
        hits += record.conf_low <= truth <= record.conf_high
    assert abs(hits / reps - level) < 3 * np.sqrt(level * (1 - level) / reps)
