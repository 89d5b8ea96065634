"""Noise floors and the bias of flips: worked numbers, edges, and the floor held against simulation."""

from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.judges import judge_noise
from evalstats.stats.noise_floors import difference_floor, flipped_lift, lift_floor
from evalstats.stats.results import Estimate

DRAWS = 400


def noise(sd, caveats=()):
    return Estimate(
        estimand="standard deviation of a judgement",
        population="FIXED",
        estimate=sd,
        std_error=sd / 10,
        conf_low=0.8 * sd,
        conf_high=1.2 * sd,
        level=0.95,
        n_cases=30,
        n_trials=60,
        method="given",
        caveats=caveats,
    )


def test_published(published, agrees):
    name = published["function"]
    if name == "flipped_lift":
        rates = float(published["fail_with"]), float(published["fail_base"])
        decimals = len(published["estimate"].partition(".")[2])
        found = flipped_lift(*rates, flips=float(published["flips"]))
        assert round(found, decimals) == float(published["estimate"])
        return
    given, judgements = noise(float(published["sd"])), int(published["judgements"])
    if name == "difference_floor":
        agrees(difference_floor(given, judgements=judgements), published)
    else:
        rates = {key: float(published[key]) for key in ("fail_with", "fail_base")}
        agrees(lift_floor(given, **rates, judgements=judgements), published)


def test_the_interval_is_that_of_the_noise():
    record = difference_floor(noise(0.3), judgements=150)
    assert record.conf_low == pytest.approx(0.8 * record.estimate, abs=1e-12)
    assert record.conf_high == pytest.approx(1.2 * record.estimate, abs=1e-12)
    assert (record.population, record.level, record.n_cases) == ("FIXED", 0.95, 30)


def test_unknown_noise_is_an_unknown_floor():
    unknown = judge_noise([1, 0, 1], transcripts=list("abc"))
    for record in (
        difference_floor(unknown, judgements=150),
        lift_floor(unknown, fail_with=0.1, fail_base=0.2, judgements=150),
    ):
        assert isnan(record.estimate)
        assert record.caveats == ("not measured: no transcript was judged twice",)


def test_no_headroom_is_no_floor_of_lift():
    record = lift_floor(noise(0.3, ("before",)), fail_with=0.1, fail_base=0.0, judgements=150)
    assert isnan(record.estimate) and isnan(record.conf_high)
    assert record.caveats == ("before", "the base never fails: no headroom, lift is undefined")


def test_no_judgements_are_named():
    with pytest.raises(ValueError, match="judgements must be at least 1, got 0"):
        difference_floor(noise(0.3), judgements=0)
    with pytest.raises(ValueError, match="content must be inside"):
        difference_floor(noise(0.3), judgements=10, content=95)


def test_flips_of_a_base_that_never_fails():
    assert isnan(flipped_lift(0.2, 0.0, flips=0.0))
    assert flipped_lift(0.2, 0.4, flips=0.0) == pytest.approx(0.5, abs=1e-12)


def test_calibration_of_difference_floor():
    rng = np.random.default_rng(20260313)
    floor = difference_floor(noise(0.3), judgements=60, content=0.8).estimate
    differences = rng.normal(0, 0.3, (DRAWS, 60)).mean(axis=1) - rng.normal(0, 0.3, (DRAWS, 60)).mean(axis=1)
    below = np.mean(np.abs(differences) < floor)
    assert abs(below - 0.8) < 3 * sqrt(0.8 * 0.2 / DRAWS)


def test_calibration_of_lift_floor():
    rng = np.random.default_rng(20260314)
    floor = lift_floor(noise(0.3), fail_with=0.3, fail_base=0.5, judgements=300, content=0.8).estimate
    fails = rng.normal([0.3, 0.5], 0.3, (DRAWS, 2, 300, 2)).mean(axis=2)
    lifts = 1 - fails[..., 0] / fails[..., 1]
    below = np.mean(np.abs(lifts[:, 0] - lifts[:, 1]) < floor)
    assert abs(below - 0.8) < 3 * sqrt(0.8 * 0.2 / DRAWS)


def test_calibration_of_flipped_lift():
    rng = np.random.default_rng(20260315)
    n = 100_000
    fails = rng.random((2, n)) < np.array([[0.3], [0.5]])
    seen = (fails ^ (rng.random((2, n)) < 0.1)).mean(axis=1)
    error = sqrt(sum(p * (1 - p) for p in seen) / n) / seen[1]
    assert abs((1 - seen[0] / seen[1]) - flipped_lift(0.3, 0.5, flips=0.1)) < 3 * error
