"""Limits for short histories: known rates, the promise kept, reproducible."""

from math import sqrt

import numpy as np
import pytest

from evalstats.stats.chart_limits import false_alarm_probability, simulated_limit
from evalstats.stats.control_charts import cusum, in_control


def test_published(published):
    if published["function"] == "simulated_limit":
        found = simulated_limit(
            int(published["n_history"]),
            kind=published["kind"],
            nights=int(published["nights"]),
            false_alarm=float(published["estimate"]),
            rng=np.random.default_rng(1),
            reps=4_000,
        )
        assert abs(found - float(published["limit"])) < float(published["within"])
        return
    found = false_alarm_probability(
        int(published["n_history"]),
        float(published["limit"]),
        kind=published["kind"],
        nights=int(published["nights"]),
        rng=np.random.default_rng(1),
        reps=1_500,
    )
    slack = 3 * sqrt(found.estimate * (1 - found.estimate) / 1_500)
    assert abs(found.estimate - float(published["estimate"])) < float(published["within"]) + slack


@pytest.mark.parametrize("kind", ["shewhart", "ewma", "cusum"])
def test_same_rng_same_limit(kind):
    one, same, other = (
        simulated_limit(8, kind=kind, rng=np.random.default_rng(seed), reps=500) for seed in (1, 1, 2)
    )
    assert one == same and one != other


def test_same_rng_same_probability():
    one, same, other = (
        false_alarm_probability(8, 5.0, rng=np.random.default_rng(seed), reps=500) for seed in (1, 1, 2)
    )
    assert one == same and one != other


@pytest.mark.parametrize("kind", ["shewhart", "ewma", "cusum"])
def test_longer_histories_need_narrower_limits(kind):
    limits = [
        simulated_limit(n, kind=kind, rng=np.random.default_rng(3), reps=3_000) for n in (4, 8, 28, 400)
    ]
    assert limits == sorted(limits, reverse=True)


def test_the_limit_is_that_share_of_the_peaks():
    limit = simulated_limit(10, rng=np.random.default_rng(4), reps=2_000, false_alarm=0.1)
    assert false_alarm_probability(10, limit, rng=np.random.default_rng(4), reps=2_000).estimate == 0.1


def test_one_night_of_history_is_refused():
    with pytest.raises(ValueError, match="n_history must be at least 2, got 1"):
        simulated_limit(1, rng=np.random.default_rng(1))


def test_unknown_chart_is_named():
    with pytest.raises(ValueError, match="kind must be one of shewhart, ewma, cusum, got 'moving'"):
        simulated_limit(8, kind="moving", rng=np.random.default_rng(1))


@pytest.mark.parametrize("false_alarm", [0, 1, 5])
def test_false_alarm_is_a_probability(false_alarm):
    with pytest.raises(ValueError, match="false_alarm must be inside"):
        simulated_limit(8, false_alarm=false_alarm, rng=np.random.default_rng(1), reps=10)


def test_calibration_charts_keep_the_promise():
    """Histories of 12 nights, 20 unchanged nights: 10% alarm at the simulated limit."""
    rng, reps = np.random.default_rng(5), 400
    limit = simulated_limit(12, nights=20, false_alarm=0.1, rng=rng, reps=20_000)
    series = rng.normal(0.4, 0.03, (reps, 32))
    alarms = [cusum(row[12:], _plain(row[:12]), h=limit).first_alarm is not None for row in series]
    assert abs(np.mean(alarms) - 0.1) < 3 * sqrt(0.1 * 0.9 / reps)


def _plain(history):
    """The history without the widening for autocorrelation, which independent nights show by chance."""
    found = in_control(history)
    return type(found)(
        centre=found.centre, sigma=history.std(ddof=1), autocorrelation=0.0, n_runs=history.size
    )
