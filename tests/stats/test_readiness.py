"""Readiness: the table of its design, states and reasons, and the error rates it promises."""

from math import isnan, nan, sqrt

import numpy as np
import pytest

from evalstats.stats.decisions import Rule
from evalstats.stats.readiness import (
    HYSTERESIS,
    Evidence,
    blocking_curve,
    gate_readiness,
    largest_ready_spread,
    spread_upper_bound,
)

RULE = Rule(margin=5.0)


def runs(spread, n=10, centre=80.0):
    """Return n runs with exactly this standard deviation."""
    z = np.resize([1.0, -1.0, 0.5, -0.5], n)
    return centre + spread * (z - z.mean()) / z.std(ddof=1)


def judged(history, rule=RULE, **known):
    days = known.pop("days", range(len(history)))
    return gate_readiness(Evidence(history=history, days=days, **known), rule)


def test_published(published):
    n, expected = int(published["n_runs"]), published["expected"]
    known = {name: float(published[name]) for name in ("level", "spread", "drop") if name in published}
    rule, reruns = Rule(margin=float(published.get("margin", 5))), int(published.get("reruns", 1))
    if published["function"] == "gate_readiness":
        assert judged(runs(known["spread"], n), rule, reruns=reruns).state == expected
        return
    if published["function"] == "spread_upper_bound":
        found = spread_upper_bound(1.0, n, level=known["level"])
    elif published["function"] == "blocking_curve":
        found = blocking_curve([known["drop"]], known["spread"], n, rule, reruns=reruns)[0]
    else:
        found = largest_ready_spread(n, rule, reruns=reruns, level=known["level"])
    decimals = len(expected.partition(".")[2])
    assert abs(found - float(expected)) <= 0.51 * 10**-decimals


def test_ready_up_to_the_largest_spread():
    assert judged(runs(1.30)).state == "READY" and judged(runs(1.30)).reasons == ()
    found = judged(runs(1.31))
    assert found.state == "NOT_READY"
    assert found.detectable == pytest.approx(5 * 1.31 / 1.3048, abs=1e-3)
    assert found.reasons == ("a drop below 5.02 would not be seen, the margin is 5",)


@pytest.mark.parametrize(("spread", "reruns"), [(1.31, 1), (1.5, 1), (1.6, 1), (2.5, 3), (2.8, 3)])
def test_more_runs_are_just_enough(spread, reruns):
    found = judged(runs(spread), reruns=reruns)
    total = 10 + found.more_runs
    assert largest_ready_spread(total, RULE, reruns=reruns) >= spread
    assert largest_ready_spread(total - 1, RULE, reruns=reruns) < spread


def test_no_number_of_runs_steadies_a_wild_suite():
    assert judged(runs(3.0)).more_runs is None  # even a known spread of 3 sees no drop of 5 in one run


def test_blocks_above_a_share_of_the_margin():
    assert judged(runs(1.0)).block_above == pytest.approx(0.6615 * 5, abs=1e-3)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"history": runs(1.0, 7)}, "7 of the 8 runs needed"),
        ({"history": runs(1.0), "days": [1, 1, 1, 2, 2, 2, 3, 3, 4, 4]}, "4 of the 5 days needed"),
        ({"history": runs(1.0), "confirmed_alarm": True}, "monitoring has a confirmed alarm"),
        ({"history": runs(1.0), "objections": ("timeouts at 9%",)}, "timeouts at 9%"),
    ],
)
def test_each_reason_alone_is_enough(known, reason):
    found = judged(known.pop("history"), **known)
    assert found.state == "NOT_READY" and found.reasons[0] == reason


def test_all_reasons_are_told_at_once():
    found = judged(runs(9.0, 4), days=[1, 1, 1, 1], confirmed_alarm=True)
    assert len(found.reasons) == 4 and found.state == "NOT_READY"


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_history_without_scatter_is_not_ready(level):
    found = judged([level] * 20)
    assert found.state == "NOT_READY" and isnan(found.spread) and isnan(found.detectable)
    assert found.reasons == ("all runs agree: a repeated answer is not a measured noise",)
    assert found.more_runs is None


@pytest.mark.parametrize("history", [[], [80.0]])
def test_almost_no_history(history):
    found = judged(history)
    assert found.state == "NOT_READY" and isnan(found.spread_bound) and isnan(found.largest_spread)
    assert found.more_runs == 8 - len(history)


def test_revoked_by_an_alarm():
    assert judged(runs(1.0), was_ready=True, confirmed_alarm=True).state == "REVOKED"


def test_revoked_by_noise_only_beyond_the_hysteresis():
    at_the_margin = largest_ready_spread(10, RULE)
    assert judged(runs(1.05 * at_the_margin)).state == "NOT_READY"
    assert judged(runs(1.05 * at_the_margin), was_ready=True).state == "READY"
    assert judged(runs(1.01 * HYSTERESIS * at_the_margin), was_ready=True).state == "REVOKED"


def test_days_must_match():
    with pytest.raises(ValueError, match="days must have one label per run, got 2 for 10"):
        judged(runs(1.0), days=[1, 2])


def test_nan_is_refused():
    with pytest.raises(ValueError, match="scores must be finite"):
        judged([80.0, nan])


def test_curve_at_its_two_points():
    """At the largest true spread the curve passes through size and power."""
    error = 5.0 / 2.486475 / sqrt(1 + 1 / 20)
    assert blocking_curve([0.0, 5.0], error, 20, RULE) == pytest.approx([0.05, 0.80], abs=1e-5)
    curve = blocking_curve(np.linspace(-5, 15, 50), 2.0, 20, RULE)
    assert (np.diff(curve) > 0).all()


def test_calibration_bound_holds():
    rng, reps = np.random.default_rng(1), 400
    bounds = [spread_upper_bound(row.std(ddof=1), 12) for row in rng.normal(80, 1.3, (reps, 12))]
    assert abs(np.mean(np.array(bounds) >= 1.3) - 0.9) < 3 * sqrt(0.9 * 0.1 / reps)


def test_calibration_curve_is_what_happens():
    rng, reps, spread, n = np.random.default_rng(2), 400, 1.5, 20
    centre = rng.normal(80, spread, (reps, n)).mean(axis=1)
    for drop, chance in zip((0.0, 3.0, 5.0), blocking_curve([0.0, 3.0, 5.0], spread, n, RULE), strict=True):
        candidate = rng.normal(80 - drop, spread, reps)
        blocked = np.mean(centre - candidate > RULE.fraction * RULE.margin)
        assert abs(blocked - chance) < 3 * sqrt(chance * (1 - chance) / reps) + 1 / reps
