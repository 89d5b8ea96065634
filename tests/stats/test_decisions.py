"""The three-verdict rule against printed values, its own definition, and a simulation of what it promises."""

from dataclasses import fields, replace
from math import isclose, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from evalstats.stats import decisions
from evalstats.stats.decisions import (
    Noise,
    Rule,
    block_threshold,
    blocking_probability,
    detectable_drop,
    three_verdict,
)

MARGIN = 0.05
RULE = Rule(margin=MARGIN)
HISTORY = [0.20, 0.22, 0.19, 0.21, 0.20, 0.18, 0.22, 0.20]
SLIGHT = 1e-12  # a margin so slight that the noise alone decides


def test_published(published):
    rule = Rule(
        margin=SLIGHT,
        alpha=float(published["alpha"]),
        looks=int(published["looks"]),
        power=float(published.get("power", 0.8)),
    )
    if published["function"] == "three_verdict":
        n = int(published["n_history"])
        z = np.arange(n) - (n - 1) / 2
        found = three_verdict(z / z.std(ddof=1), [0.0], rule).block_above
        digits = len(published["result"].partition(".")[2])
        assert found == pytest.approx(float(published["result"]), abs=0.51 * 10**-digits)
        return
    noise = Noise(std_error=float(published["std_error"]), df=float(published["df"]))
    question = getattr(decisions, published["function"])
    drop = [float(published["true_drop"])] if "true_drop" in published else []
    digits = len(published["result"].partition(".")[2])
    assert question(*drop, noise, rule) == pytest.approx(
        float(published["result"]), abs=0.51 * 10**-digits * noise.std_error ** (not drop)
    )


def test_the_share_of_the_margin_is_the_ratio_of_normal_quantiles():
    # z(.95) = 1.644854 and z(.80) = 0.841621, any table of the normal distribution
    assert isclose(RULE.fraction, 1.644854 / (1.644854 + 0.841621), abs_tol=1e-6)
    assert isclose(Rule(margin=1, alpha=0.2, power=0.8).fraction, 0.5, abs_tol=1e-12)


# --- one decision ---------------------------------------------------------------------------------


def test_a_decision_by_hand():
    # mean 4, sd 1 and t(.95, 2) = 2.920, t(.90, 2) = 1.886 of Student's table
    rule = Rule(margin=3, alpha=0.05, looks=1)
    decision = three_verdict([3, 4, 5], [1, 2], rule, independent=2)
    std_error = sqrt(1 / 2 + 1 / 3)
    assert isclose(decision.drop, 2.5, abs_tol=1e-12)
    assert isclose(decision.std_error, std_error, abs_tol=1e-12)
    assert isclose(decision.block_above, 2.920 * std_error, abs_tol=5e-4)
    assert isclose(decision.pass_below, 3 - 1.886 * std_error, abs_tol=5e-4)
    assert (decision.answer, decision.n_history, decision.n_candidate) == ("inconclusive", 3, 2)


@pytest.mark.parametrize(
    ("candidate", "answer"),
    [([0.1], "block"), ([0.165], "inconclusive"), ([0.2], "pass"), ([0.9], "pass")],
)
def test_the_three_answers(candidate, answer):
    assert three_verdict(HISTORY, candidate, RULE).answer == answer


def test_runs_of_one_night_count_as_one():
    one = three_verdict(HISTORY, [0.17], RULE)
    same_night = three_verdict(HISTORY, [0.17, 0.17, 0.17], RULE)
    assert replace(same_night, n_candidate=1) == replace(one, drop=same_night.drop)
    apart = three_verdict(HISTORY, [0.17, 0.17, 0.17], RULE, independent=3)
    assert apart.std_error < one.std_error and apart.detectable < one.detectable
    # more independent looks than runs are not to be had
    assert three_verdict(HISTORY, [0.17], RULE, independent=9) == one


FINE = st.floats(-1, 1).map(lambda x: round(x, 3))


@given(
    history=st.lists(FINE, min_size=2, max_size=12),
    candidate=st.lists(FINE, min_size=1, max_size=3),
    margin=st.floats(0.01, 0.5),
    independent=st.integers(1, 3),
)
def test_every_decision_keeps_its_definition(history, candidate, margin, independent):
    rule = Rule(margin=margin)
    d = three_verdict(history, candidate, rule, independent=independent)
    assert d.block_above >= rule.fraction * margin > 0
    assert d.answer == (
        "block" if d.drop > d.block_above else "pass" if d.drop < d.pass_below else "inconclusive"
    )
    assert 0 <= d.false_block <= rule.alpha / rule.looks + 1e-9
    assert d.false_block <= d.power <= 1 + 1e-12
    if d.std_error > 1e-6:
        at_detectable = blocking_probability(
            d.detectable, Noise(std_error=d.std_error, df=len(history) - 1), rule
        )
        assert at_detectable == pytest.approx(rule.power, abs=1e-6)


@given(candidate=FINE, lower=st.floats(0, 1), shift=FINE)
def test_a_worse_candidate_never_fares_better(candidate, lower, shift):
    order = ["pass", "inconclusive", "block"]
    better, worse = (three_verdict(HISTORY, [c], RULE).answer for c in (candidate, candidate - lower))
    assert order.index(worse) >= order.index(better)
    moved = three_verdict([x + shift for x in HISTORY], [candidate + shift], RULE)
    assert moved.drop == pytest.approx(three_verdict(HISTORY, [candidate], RULE).drop, abs=1e-12)


# --- degenerate inputs ----------------------------------------------------------------------------


@pytest.mark.parametrize(("history", "candidate"), [([], [0.1]), ([0.1], [0.1]), ([0.1, 0.2], [])])
def test_too_few_runs_are_named(history, candidate):
    with pytest.raises(ValueError, match=f"got {len(history)}, {len(candidate)}"):
        three_verdict(history, candidate, RULE)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_named(value):
    with pytest.raises(ValueError, match="scores must be finite"):
        three_verdict([*HISTORY, value], [0.2], RULE)
    with pytest.raises(ValueError, match="scores must be finite"):
        three_verdict(HISTORY, [value], RULE)


def test_no_independent_run_is_named():
    with pytest.raises(ValueError, match="independent must be at least 1, got 0"):
        three_verdict(HISTORY, [0.2], RULE, independent=0)


@pytest.mark.parametrize(
    "wrong", [{"margin": 0}, {"margin": -1}, {"margin": float("nan")}, {"alpha": 0}, {"alpha": 0.5},
              {"power": 0.5}, {"power": 1}, {"looks": 0}, {"level": 0.4}, {"level": 1}],
)  # fmt: skip
def test_a_rule_that_promises_the_impossible_is_refused(wrong):
    with pytest.raises(ValueError, match="a rule needs margin > 0"):
        Rule(**{"margin": MARGIN, **wrong})


def test_without_noise_the_margin_alone_decides():
    bound = RULE.fraction * MARGIN
    for past, new, answer in (
        ([0.5] * 8, 0.5 - 1.01 * bound, "block"),
        ([0.5] * 8, 0.5 - 0.99 * bound, "pass"),
    ):
        decision = three_verdict(past, [new], RULE)
        assert (decision.answer, decision.std_error) == (answer, 0.0)
        assert (decision.false_block, decision.power) == (0.0, 1.0)
        assert decision.detectable == pytest.approx(bound, abs=1e-12)


@pytest.mark.parametrize("df", [1, 2, 7, 27])
@pytest.mark.parametrize("power", [0.8, 0.9, 0.999])
def test_the_detectable_drop_is_found_however_heavy_the_tails(df, power):
    rule = Rule(margin=MARGIN, power=power)
    noise = Noise(std_error=0.04, df=df)
    drop = detectable_drop(noise, rule)
    assert blocking_probability(drop, noise, rule) == pytest.approx(power, abs=1e-9)
    assert blocking_probability(0.999 * drop, noise, rule) < power


def test_a_decision_is_plain_numbers():
    decision = three_verdict(np.array(HISTORY), np.array([0.1]), RULE)
    for field in fields(decision)[1:]:
        assert type(getattr(decision, field.name)) is (int if field.name.startswith("n_") else float), (
            field.name
        )


# --- what is promised, simulated ------------------------------------------------------------------

REPS, RUNS, LOOKS = 40_000, 28, 3


def looks_at(rng, sigma, drop, reps=REPS):
    """Return drop and standard error at each look, shape (LOOKS, reps), of an unchanging world."""
    past, new = rng.normal(0, sigma, (reps, RUNS)), rng.normal(-drop, sigma, (reps, LOOKS))
    seen = np.arange(1, LOOKS + 1)[:, None]
    drops = past.mean(axis=1) - new.cumsum(axis=1).T / seen
    return past, new, drops, past.std(axis=1, ddof=1) * np.sqrt(1 / seen + 1 / RUNS)


def shares(drops, errors):
    """Return the shares of block, pass, inconclusive and the mean number of runs used."""
    noise = stdtrit(RUNS - 1, 1 - RULE.alpha / LOOKS) * errors
    block = drops > np.maximum(RULE.fraction * MARGIN, noise)
    ok = ~block & (drops < MARGIN - stdtrit(RUNS - 1, 0.90) * errors)
    decided = block | ok
    first = np.where(decided.any(axis=0), decided.argmax(axis=0), LOOKS - 1)
    at_first = first, np.arange(drops.shape[1])
    return block[at_first].mean(), ok[at_first].mean(), (~decided[at_first]).mean(), (first + 1).mean()


def test_the_simulation_asks_the_rule_that_is_built():
    past, new, drops, errors = looks_at(np.random.default_rng(1), 0.03, 0.04, reps=150)
    for i in range(150):
        for look in range(LOOKS):
            d = three_verdict(past[i], new[i, : look + 1], RULE, independent=look + 1)
            assert isclose(d.drop, drops[look, i], abs_tol=1e-12)
            assert isclose(d.std_error, errors[look, i], abs_tol=1e-12)
            answer = shares(*(np.full((LOOKS, 1), x[look, i]) for x in (drops, errors)))[:3]
            assert answer == tuple(float(d.answer == a) for a in ("block", "pass", "inconclusive"))


# sigma of a run, true drop -> block, pass, inconclusive, mean runs: the table of the gate's documentation,
# simulated separately for a margin of 5 points, 28 runs of history, up to 3 runs of the candidate
PROMISED = [
    (0.015, 0.00, 0.012, 0.988, 0.000, 1.01),
    (0.015, 0.05, 0.894, None, None, None),
    (0.015, 0.10, 1.000, None, None, None),
    (0.015, 0.20, 1.000, None, None, None),
    (0.030, 0.00, 0.031, 0.931, 0.038, 1.47),
    (0.030, 0.05, 0.688, None, None, None),
    (0.030, 0.10, 0.997, None, None, None),
    (0.030, 0.20, 1.000, None, None, None),
    (0.060, 0.00, 0.036, 0.616, 0.349, 2.14),
    (0.060, 0.05, 0.261, None, None, None),
    (0.060, 0.10, 0.726, None, None, None),
    (0.060, 0.20, 0.999, None, None, None),
]


@pytest.mark.parametrize(
    ("sigma", "drop", "block", "ok", "open_", "runs"), PROMISED, ids=[f"{r[0]}-{r[1]}" for r in PROMISED]
)
def test_the_table_of_operating_characteristics(sigma, drop, block, ok, open_, runs):
    found = shares(*looks_at(np.random.default_rng(20260101), sigma, drop)[2:])
    for share, promised in zip(found, (block, ok, open_), strict=False):
        if promised is not None:
            noise = sqrt(2 * max(promised * (1 - promised), 1e-4) / REPS)  # both were simulated
            assert abs(share - promised) <= 3.5 * noise + 0.0005
    assert runs is None or abs(found[3] - runs) <= 0.02
    if drop == 0:
        assert found[0] <= RULE.alpha  # over all looks together


@pytest.mark.parametrize("df", [7, 27])
@pytest.mark.parametrize("sigma", [0.03, 0.06])
@pytest.mark.parametrize("drop", [0.0, 0.05, 0.10])
def test_the_chance_of_one_look_is_what_happens(df, sigma, drop):
    rng, reps = np.random.default_rng(7), 100_000
    true_error = sigma * sqrt(1 + 1 / (df + 1))
    estimated = true_error * np.sqrt(rng.chisquare(df, reps) / df)
    bounds = np.maximum(RULE.fraction * MARGIN, stdtrit(df, 1 - RULE.alpha / RULE.looks) * estimated)
    happened = (rng.normal(drop, true_error, reps) > bounds).mean()
    promised = blocking_probability(drop, Noise(std_error=true_error, df=df), RULE)
    assert abs(happened - promised) <= 3.5 * sqrt(promised * (1 - promised) / reps)


@pytest.mark.parametrize("df", [7, 27])
@pytest.mark.parametrize("sigma", [0.005, 0.010, 0.015])
def test_where_the_margin_decides_the_chance_of_a_false_block_is_not_understated(df, sigma):
    rng, reps = np.random.default_rng(8), 100_000
    true_error = sigma * sqrt(1 + 1 / (df + 1))
    estimated = true_error * np.sqrt(rng.chisquare(df, reps) / df)
    bounds = np.maximum(RULE.fraction * MARGIN, stdtrit(df, 1 - RULE.alpha / RULE.looks) * estimated)
    happened = (rng.normal(0, true_error, reps) > bounds).mean()
    promised = blocking_probability(0.0, Noise(std_error=true_error, df=df), RULE)
    assert happened <= promised + 3.5 * sqrt(promised * (1 - promised) / reps)
    assert promised <= RULE.alpha / RULE.looks + 1e-9


def test_the_threshold_is_the_larger_of_margin_and_noise():
    assert block_threshold(Noise(std_error=1e-9, df=27), RULE) == RULE.fraction * MARGIN
    assert block_threshold(Noise(std_error=1.0, df=27), RULE) == pytest.approx(
        stdtrit(27, 1 - 0.05 / 3), abs=1e-12
    )
