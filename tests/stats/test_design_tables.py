"""Why the design is as it is: its own simulations, asked again of the functions that were built.

The tables of the gate and of readiness are in `test_decisions.py` and `test_readiness.py`, those of the prescribed
rule in `tests/reference/legacy.csv`. Here is what happens to those who do not keep to them. Each number was
simulated for the design, separately and before.
"""

from math import sqrt

import numpy as np
import pytest

from evalstats.stats.decisions import Rule, three_verdict
from evalstats.stats.diagnosis import diagnose
from evalstats.stats.proportions import wilson
from evalstats.stats.readiness import blocking_curve, largest_ready_spread
from evalstats.stats.resampling import two_level_means
from evalstats.stats.results import Estimate
from evalstats.stats.worlds import World

LEVEL, NIGHTS = 0.80, 28


def within(share, low, high, draws):
    """Return whether a simulated share is in a printed range, but for three Monte-Carlo errors and rounding."""
    slack = 3 * sqrt(share * (1 - share) / draws) + 0.005
    return low - slack < share < high + slack


@pytest.mark.parametrize(("trials", "low", "high"), [(3, 0.59, 0.67), (10, 0.40, 0.42)])
def test_trials_pooled_as_if_independent_cover_far_too_little(trials, low, high):
    """A nominal 80% from the pooled counts, where two trials of one case correlate by 1/2."""

    def pooled(sample, rng):
        return wilson(int(sample.scores.sum()), sample.scores.size, level=LEVEL)

    world = World(cases=50, trials=trials)
    found = diagnose(pooled, world, rng=np.random.default_rng(1), reps=800)
    assert within(found.coverage, low, high, found.reps)


@pytest.mark.parametrize("trials", [1, 3])
def test_trials_resampled_inside_resampled_cases_are_counted_twice(trials):
    """A nominal 80% then covers 82 to 90%: a case mean already carries the noise of its trials."""

    def twice(sample, rng):
        passed = sample.scores.sum(axis=1)
        draws = two_level_means(passed, np.full(passed.size, trials), rng=rng, reps=1_000)
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Estimate(
            estimand="mean score",
            population="SUPER",
            estimate=float(sample.candidate.mean()),
            std_error=float(draws.std()),
            conf_low=low,
            conf_high=high,
            level=LEVEL,
            n_cases=passed.size,
            n_trials=sample.scores.size,
            method="two levels",
        )

    found = diagnose(twice, World(cases=50, trials=trials), rng=np.random.default_rng(trials), reps=500)
    assert within(found.coverage, 0.82, 0.90, found.reps)


# --- reruns of one night ----------------------------------------------------------------------------


def false_blocks(days, reps, *, independent):
    """Return how often an unchanged night is blocked, with up to three reruns that share the night's effect.

    `days` is the share of the variance of a run that its day is to blame for.
    """
    rule, sigma = Rule(margin=0.05), 0.03
    rng, blocked = np.random.default_rng(1), 0
    for _ in range(reps):
        history = rng.normal(0, sigma, NIGHTS)
        night = rng.normal(0, sigma * sqrt(days)) + rng.normal(0, sigma * sqrt(1 - days), rule.looks)
        for look in range(1, rule.looks + 1):
            worth = look if independent else 1
            answer = three_verdict(history, night[:look], rule, independent=worth).answer
            if answer != "inconclusive":
                blocked += answer == "block"
                break
    return blocked / reps


@pytest.mark.parametrize(("days", "low", "high"), [(0.5, 0.06, 0.07), (1.0, 0.09, 0.10)])
def test_reruns_of_one_night_taken_as_independent_block_too_often(days, low, high):
    """Declared is .05; with half to all of the variance between days .06 to .10 of unchanged nights are blocked."""
    assert within(false_blocks(days, 2_000, independent=True), low, high, 2_000)


@pytest.mark.parametrize("days", [0.5, 1.0])
def test_reruns_of_one_night_counted_as_one_keep_the_declared_rate(days):
    assert false_blocks(days, 1_000, independent=False) < 0.05


# --- readiness by luck ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_runs", [8, 10])
def test_a_noisy_suite_is_seldom_ready_and_then_blocks_the_innocent(n_runs):
    """At a true spread of 3 points and a margin of 5: READY is rare, and then blocks 15% of unchanged runs."""
    rule, reps = Rule(margin=5.0), 200_000
    assert blocking_curve([0.0], 3.0, n_runs, rule)[0] == pytest.approx(0.15, abs=0.005)
    rng = np.random.default_rng(1)
    # Of normal runs mean and spread are independent, and so drawn apart.
    spread = 3.0 * np.sqrt(rng.chisquare(n_runs - 1, reps) / (n_runs - 1))
    drop = rng.normal(0, 3.0 * sqrt(1 + 1 / n_runs), reps)
    ready = spread <= largest_ready_spread(n_runs, rule)
    assert 0 < ready.mean() < 0.01
    assert within((drop[ready] > rule.fraction * rule.margin).mean(), 0.15, 0.15, ready.sum())


@pytest.mark.parametrize("n_runs", [10, 20, 30])
def test_the_size_holds_where_the_bound_on_the_spread_does(n_runs):
    """At the largest spread that the 90% bound lets pass as true, a false block has exactly 5%, a drop 80%."""
    rule = Rule(margin=5.0)
    true = rule.margin / (rule.multiplier * sqrt(1 + 1 / n_runs))
    assert blocking_curve([0.0, 5.0], true, n_runs, rule) == pytest.approx([0.05, 0.80], abs=1e-9)
    assert largest_ready_spread(n_runs, rule) < true
