"""The prescribed gate: what it does, and how often it is wrong in the worlds its design names."""

from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy.special import betaincinv, ndtr

from evalstats.stats.legacy import (
    legacy_errors,
    legacy_gate,
    legacy_operating_characteristic,
    median_lift,
)
from evalstats.stats.worlds import World

SMALL = World(cases=10, trials=3, mean=0.6, effect=0.2)


def test_published(published):
    if published["function"] == "legacy_gate":
        history = [float(lift) for lift in published["history"].split()]
        assert legacy_gate(history, float(published["lift"])).blocks == bool(int(published["blocks"]))
        return
    world = World(
        cases=int(published["cases"]),
        trials=3,
        mean=float(published.get("mean", 0.6)),
        effect=float(published.get("effect", 0.2)),
        correlation=float(published.get("correlation", 0.5)),
        pairing=0.7,
        expectations=int(published["expectations"]),
    )
    precision = float(published["trial_precision"]) if "trial_precision" in published else None
    reps = 2_000 if precision is None else 600
    found = legacy_operating_characteristic(
        world,
        rng=np.random.default_rng(1),
        drop=float(published["drop"]),
        trial_precision=precision,
        reps=reps,
    ).estimate
    slack = 3 * sqrt(found * (1 - found) / reps)
    assert float(published["low"]) - slack < found < float(published["high"]) + slack


def test_compares_with_the_median_of_four_weeks():
    history = [0.9] * 10 + [0.4] * 20 + [0.5] * 8
    found = legacy_gate(history, 0.36)
    assert (found.centre, found.n_history, found.blocks) == (0.4, 28, False)
    assert legacy_gate(history, 0.36, window=8).centre == 0.5
    assert legacy_gate(history, 0.36, margin=0.03).blocks


def test_exactly_the_margin_passes():
    assert not legacy_gate([0.5], 0.375, margin=0.125).blocks


def test_no_history_is_refused():
    with pytest.raises(ValueError, match="needs at least 1 night of history"):
        legacy_gate([], 0.5)


@pytest.mark.parametrize(("history", "lift"), [([0.5, nan], 0.5), ([0.5], nan)])
def test_an_undefined_lift_is_refused(history, lift):
    with pytest.raises(ValueError, match="scores must be finite"):
        legacy_gate(history, lift)


def test_median_lift_is_a_majority_vote():
    candidate, baseline = (
        [[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0]],
        [[1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1]],
    )
    assert median_lift(candidate, baseline) == pytest.approx((0.75 - 0.25) / 0.75)


def test_median_lift_with_one_trial_and_without_headroom():
    assert median_lift([[1], [0]], [[0], [0]]) == 0.5
    assert isnan(median_lift([[1, 1, 1]], [[1, 1, 1]]))


def test_same_rng_same_rate():
    one, same, other = (
        legacy_operating_characteristic(SMALL, rng=np.random.default_rng(seed), reps=200)
        for seed in (1, 1, 2)
    )
    assert one == same and one != other


def test_both_ways_to_draw_yes_or_no_trials_agree():
    """A trial whose own rate hardly scatters is a trial at the case's rate."""
    fast = legacy_operating_characteristic(SMALL, rng=np.random.default_rng(3), reps=1_000)
    slow = legacy_operating_characteristic(
        SMALL, rng=np.random.default_rng(4), trial_precision=1e6, reps=1_000
    )
    assert abs(fast.estimate - slow.estimate) < 3 * sqrt(2 * 0.4 * 0.6 / 1_000)


def test_a_larger_drop_is_blocked_more():
    rates = [
        legacy_operating_characteristic(SMALL, rng=np.random.default_rng(5), drop=drop, reps=400).estimate
        for drop in (0.0, 0.1, 0.3)
    ]
    assert rates[0] < rates[1] < rates[2]


def test_perfect_suites_never_block():
    world = World(cases=10, trials=3, mean=1 - 1e-12, effect=0.0, correlation=0.5)
    found = legacy_operating_characteristic(world, rng=np.random.default_rng(6), reps=50)
    assert found.estimate == 0
    assert found.caveats[1] == "50 of them without headroom on the last night: not blocked"


def test_calibration_size_of_a_steady_world():
    """200 cases of ten expectations: noise well below the margin, and the rule seldom blocks the innocent."""
    world = World(cases=200, trials=3, mean=0.6, effect=0.2, expectations=10)
    found = legacy_operating_characteristic(world, rng=np.random.default_rng(7), reps=400)
    assert found.estimate < 0.01 + 3 * sqrt(0.01 * 0.99 / 400)


# --- the error rates of one suite, from its own nights ------------------------------------------------


def test_its_errors_on_normal_nights_by_hand():
    # 28 nights that scatter by .10: a median's variance is pi/2 / 28 of a night's
    found = legacy_errors(0.10, 28)
    noise = 0.10 * sqrt(1 + 1.5707963 / 28)
    assert 0.05 / noise == pytest.approx(0.48654, abs=1e-5)
    assert found.false_block == pytest.approx(0.3152, abs=1e-3)  # Student's t with 27 degrees of freedom
    assert found.power == 0.5
    assert found.detectable == pytest.approx(0.05 + 0.8551 * noise, abs=1e-4)  # t(.80, 27) = .8551


def test_its_errors_are_what_happens_to_normal_nights():
    rng = np.random.default_rng(11)
    nights = rng.normal(0, 0.08, (40_000, 29))
    blocked = (np.median(nights[:, :28], axis=1) - nights[:, 28] > 0.05).mean()
    told = np.mean([legacy_errors(float(s), 28).false_block for s in nights[:2_000, :28].std(axis=1, ddof=1)])
    assert abs(told - blocked) < 0.01


def test_a_suite_of_50_prompts_is_told_the_31_percent_from_its_own_nights():
    """The world of the design, drawn here by itself: what each suite is told, over suites, is what happens to them."""
    rng = np.random.default_rng(12)
    suites, nights = 150, 29
    base, other = rng.standard_normal((2, suites, 50))
    with_skill = 0.7 * base + sqrt(1 - 0.49) * other
    lifts = []
    rates = [
        betaincinv(m, 1 - m, ndtr(z)) for m, z in ((0.6, base), (0.8, with_skill))
    ]  # correlation .5: a + b = 1
    for _ in range(nights):
        off, on = ((rng.binomial(3, rate) >= 2).mean(axis=1) for rate in rates)
        lifts.append((on - off) / (1 - off))
    spreads = np.array(lifts)[:28].std(axis=0, ddof=1)
    told = [legacy_errors(float(spread), 28).false_block for spread in spreads]
    assert np.mean(told) == pytest.approx(0.31, abs=0.03)


def test_nights_that_never_vary_are_never_blocked():
    found = legacy_errors(0.0, 10)
    assert (found.false_block, found.power, found.detectable) == (0.0, 0.0, 0.05)


def test_one_night_has_no_errors_to_tell():
    with pytest.raises(ValueError, match="needs 2 nights of history, got 1"):
        legacy_errors(0.1, 1)
