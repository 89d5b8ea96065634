"""The rule asked of many suites at once says what it says of each, and keeps what it declares in every world."""

from math import sqrt

import numpy as np
import pytest

from evalstats.stats.decisions import Noise, Rule, detectable_drop, three_verdict
from evalstats.stats.looks import answers

RULE = Rule(margin=0.05)


def one_by_one(past, new, rule, step):
    for look in range(1, rule.looks + 1):
        said = three_verdict(past, new[:look], rule, independent=look, step=step).answer
        if said != "inconclusive":
            break
    return said, look


@pytest.mark.parametrize("step", [0.0, 0.02])
def test_many_suites_are_told_what_each_is_told(step):
    rng = np.random.default_rng(3)
    past, new = rng.normal(0, 0.03, (200, 12)), rng.normal(-0.04, 0.03, (200, 3))
    found = answers(past, new, RULE, step=step)
    for i in range(200):
        said, looks = one_by_one(past[i], new[i], RULE, step)
        assert (bool(found.block[i]), bool(found.passed[i])) == (said == "block", said == "pass")
        assert found.looks[i] == looks
    assert sum(found.shares()) == pytest.approx(1)


def test_a_history_that_does_not_vary_gets_no_answer():
    found = answers(np.full((1, 8), 0.5), np.zeros((1, 3)), RULE)
    assert found.shares() == (0.0, 0.0, 1.0)


# --- the error rates that the rule declares, over 2,000 suites of each world ------------------------------


def difficulty(rng, suites, cases, mean, correlation):
    """Return pass rates, shape (suites, cases, 1): Beta with this mean and correlation of two trials of a case."""
    size = 1 / correlation - 1
    return rng.beta(mean * size, (1 - mean) * size, (suites, cases))[..., None]


def nights(rng, rates, runs, trials, *, day_sd=0.0, expectations=1):
    """Return the mean score of each run, shape (suites, runs); what a night does, it does to all its cases."""
    day = rng.normal(0, day_sd, (len(rates), 1, runs)) if day_sd else 0.0
    chance = np.clip(rates + day, 0, 1)
    if expectations == 1:
        return (rng.binomial(trials, np.broadcast_to(chance, (*rates.shape[:2], runs))) / trials).mean(axis=1)
    each = np.clip(np.broadcast_to(chance[..., None], (*rates.shape[:2], runs, trials)), 1e-3, 1 - 1e-3)
    each = rng.beta(each * 5, (1 - each) * 5)  # a trial has a good or a bad day of its own
    return (rng.binomial(expectations, each) / expectations).mean(axis=(1, 3))


BINARY = [
    {"cases": cases, "trials": trials, "mean": mean, "correlation": correlation, "day_sd": day}
    for cases, trials, mean, correlation, day in [
        (50, 3, 0.8, 0.5, 0.0), (50, 3, 0.8, 0.5, 0.02), (50, 3, 0.6, 0.1, 0.05), (50, 1, 0.6, 0.5, 0.0),
        (50, 1, 0.99, 0.3, 0.0), (10, 3, 0.8, 0.5, 0.03), (10, 1, 0.98, 0.2, 0.0), (10, 1, 0.9, 0.5, 0.0),
        (5, 1, 0.95, 0.1, 0.0), (5, 1, 0.98, 0.1, 0.0), (200, 5, 0.7, 0.3, 0.0), (20, 20, 0.5, 0.2, 0.01),
    ]
]  # fmt: skip
GRADED = [
    {"cases": 20, "trials": 3, "mean": 0.7, "correlation": 0.3, "day_sd": day, "expectations": 5}
    for day in (0.0, 0.03)
]
SUITES = 2_000


def false_blocks(rng, world, *, margin, history=28, suites=SUITES):
    world = dict(world)
    rates = difficulty(rng, suites, world.pop("cases"), world.pop("mean"), world.pop("correlation"))
    runs = nights(rng, rates, history + 3, **world)
    step = 1 / (rates.shape[1] * world["trials"])
    found = answers(runs[:, :history], runs[:, history:], Rule(margin=margin), step=step)
    return found.block[runs[:, :history].std(axis=1) > 0].mean()


def worlds():
    return [pytest.param(w, id="-".join(f"{k}{v}" for k, v in w.items())) for w in BINARY + GRADED]


def within(share, declared, suites):
    return share <= declared + 3 * sqrt(declared * (1 - declared) / suites)


@pytest.mark.parametrize("world", worlds())
def test_the_default_rule_blocks_no_more_unchanged_suites_than_it_declares(world):
    rng = np.random.default_rng(20260311)
    # a vanishing margin lets the noise alone decide: the worst that any margin can bring
    assert within(false_blocks(rng, world, margin=1e-6), 0.05, SUITES)


def test_without_the_half_step_suites_of_few_trials_would_break_the_declared_rate():
    """Why the step is there: the same suites, judged as if their values moved smoothly."""
    rng = np.random.default_rng(20260311)
    runs = nights(rng, difficulty(rng, SUITES, 10, 0.98, 0.2), 31, 1)
    varied = runs[:, :28].std(axis=1) > 0
    share = answers(runs[:, :28], runs[:, 28:], Rule(margin=1e-6)).block[varied].mean()
    assert not within(share, 0.05, SUITES)


@pytest.mark.parametrize("sigma", [0.002, 0.01, 0.015, 0.03, 0.06, 0.2])
@pytest.mark.parametrize("history", [8, 14, 28])
def test_no_noise_level_breaks_the_declared_rate(sigma, history):
    rng = np.random.default_rng(20260312)
    past, new = rng.normal(0, sigma, (SUITES, history)), rng.normal(0, sigma, (SUITES, 3))
    assert within(answers(past, new, RULE).block.mean(), RULE.alpha, SUITES)


@pytest.mark.slow
@pytest.mark.parametrize("history", [8, 14, 28])
@pytest.mark.parametrize("margin", [1e-6, 0.05, 0.10])
@pytest.mark.parametrize("world", worlds())
def test_the_declared_rate_holds_over_many_more_suites(world, margin, history):
    rng = np.random.default_rng(20260313)
    assert within(false_blocks(rng, world, margin=margin, history=history, suites=10_000), 0.05, 10_000)


@pytest.mark.parametrize(("sigma", "history"), [(0.005, 8), (0.012, 8), (0.012, 14), (0.015, 28)])
def test_where_the_noise_allows_it_a_drop_of_the_margin_is_blocked_as_promised(sigma, history):
    """The noise allows it where one look sees a drop within the margin."""
    noise = Noise(std_error=sigma * sqrt(1 + 1 / history), df=history - 1)
    assert detectable_drop(noise, RULE) <= RULE.margin
    rng = np.random.default_rng(20260314)
    past, new = rng.normal(0, sigma, (SUITES, history)), rng.normal(-RULE.margin, sigma, (SUITES, 3))
    assert answers(past, new, RULE).block.mean() >= RULE.power - 3 * sqrt(0.8 * 0.2 / SUITES)


@pytest.mark.parametrize(("sigma", "history"), [(0.015, 28), (0.03, 28), (0.06, 28), (0.03, 10)])
def test_the_power_that_a_look_prints_is_the_power_it_has(sigma, history):
    """Printed from each suite's own history; over many suites, as often as it then happens."""
    rng = np.random.default_rng(20260315)
    suites = 600
    past, new = rng.normal(0, sigma, (suites, history)), rng.normal(-RULE.margin, sigma, (suites, 1))
    looks = [three_verdict(p, n, RULE) for p, n in zip(past, new, strict=True)]
    happened = np.mean([look.answer == "block" for look in looks])
    printed = np.mean([look.power for look in looks])
    assert abs(printed - happened) <= 3 * sqrt(0.25 / suites) + 0.02
