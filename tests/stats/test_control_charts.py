"""Control charts: a textbook's worked example, short and degenerate histories, size and detection."""

from math import isnan, nan, sqrt

import numpy as np
import pytest

from evalstats.stats.control_charts import InControl, cusum, ewma, in_control, shewhart
from evalstats.stats.run_lengths import cusum_run_length

KNOWN = InControl(centre=0.0, sigma=1.0, autocorrelation=0.0, n_runs=1000)
CHARTS = {"shewhart": shewhart, "ewma": ewma, "cusum": cusum}
every_chart = pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)


def numbers(cell):
    return np.array([float(number) for number in cell.split()])


def series(cell):
    """Return a printed series; a last word like x500 repeats the two values before it."""
    *words, last = cell.split()
    if not last.startswith("x"):
        return numbers(cell)
    start, pair = words[:-2], words[-2:]
    return numbers(" ".join([*start, *pair * int(last[1:])]))


def test_published(published):
    if published["function"] == "in_control":
        found = in_control(series(published["values"]))
        assert found.centre == pytest.approx(float(published["centre"]), rel=1e-12)
        assert found.sigma == pytest.approx(float(published["sigma"]), rel=1e-6)
        assert found.autocorrelation == pytest.approx(float(published["k"]), rel=1e-6)
        return
    centre, sigma = float(published["centre"]), float(published["sigma"])
    normal = InControl(centre=centre, sigma=sigma, autocorrelation=0.0, n_runs=1000)
    values, k, limit = numbers(published["values"]), float(published["k"]), float(published["h"])
    found = charted(published["function"], values, normal, k, limit)
    scale = sigma * sqrt(k / (2 - k)) if published["function"] == "ewma" else sigma
    if "upper" in published:
        base = centre if published["function"] == "ewma" else 0.0
        assert base + found.upper * scale == pytest.approx(numbers(published["upper"]), abs=0.0051)
    if "lower" in published:
        assert found.lower * scale == pytest.approx(numbers(published["lower"]), abs=0.0051)
    assert found.first_alarm == (int(published["first_alarm"]) if "first_alarm" in published else None)


def charted(name, values, normal, k, limit):
    if name == "cusum":
        return cusum(values, normal, k=k, h=limit)
    return (
        ewma(values, normal, weight=k, limit=limit)
        if name == "ewma"
        else shewhart(values, normal, limit=limit)
    )


@every_chart
def test_a_lasting_shift_is_confirmed(chart):
    found = chart([0.1, -0.2] + [4.0] * 6, KNOWN)
    assert found.first_alarm in (2, 3) and found.confirmed_alarm == found.first_alarm


@every_chart
def test_down_is_like_up(chart):
    z = np.random.default_rng(1).standard_normal(60) + 0.8
    up, down = chart(z, KNOWN), chart(-z, KNOWN)
    assert up.upper == pytest.approx(-down.lower) and up.first_alarm == down.first_alarm


def test_a_single_night_is_not_confirmed():
    found = shewhart([0, 5, 0, 0], KNOWN)
    assert found.first_alarm == 1 and found.confirmed_alarm is None


@every_chart
@pytest.mark.parametrize("nights", [[], [0.1]])
def test_few_nights(chart, nights):
    found = chart(nights, KNOWN)
    assert found.alarms.shape == (len(nights),)
    assert found.first_alarm is None and found.confirmed_alarm is None


@pytest.mark.parametrize(
    ("history", "why"),
    [
        ([], "degenerate: 0 of the 2 runs needed"),
        ([0.5], "degenerate: 1 of the 2 runs needed"),
        ([0.5] * 20, "degenerate: all runs agree: no spread, no in-control claim"),
        ([1.0] * 20, "degenerate: all runs agree: no spread, no in-control claim"),
    ],
)
@every_chart
def test_degenerate_history_makes_no_claim(chart, history, why):
    normal = in_control(history)
    assert isnan(normal.sigma) and normal.caveats == (why,)
    found = chart([0.1, 0.9], normal)
    assert np.isnan(found.upper).all() and found.first_alarm is None and found.caveats == (why,)


def test_short_history_is_provisional():
    assert in_control([1, 2, 1, 2, 1, 2, 1]).caveats == ("provisional: 7 of the 8 runs needed",)
    assert in_control([1, 2, 1, 2, 1, 2, 1, 2]).caveats == ()


def test_alike_neighbours_widen_the_spread():
    history = [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    normal = in_control(history)
    r = 0.7
    assert normal.autocorrelation == pytest.approx(r, abs=1e-12)
    assert normal.sigma == pytest.approx(np.std(history, ddof=1) * sqrt((1 + r) / (1 - r)), abs=1e-12)
    assert "neighbouring nights are alike (r = 0.70)" in normal.caveats[0]


def test_opposite_neighbours_do_not_narrow_it():
    assert in_control([1, 2] * 6).sigma == pytest.approx(np.std([1, 2] * 6, ddof=1), abs=1e-12)


@every_chart
def test_unit_does_not_matter(chart):
    history, new = np.random.default_rng(2).standard_normal((2, 20))
    plain = chart(new, in_control(history))
    percent = chart(100 * new + 7, in_control(100 * history + 7))
    assert plain.upper == pytest.approx(percent.upper)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="scores must be finite"):
        in_control([0.1, nan])
    with pytest.raises(ValueError, match="scores must be finite"):
        cusum([nan], KNOWN)


def test_calibration_cusum_finds_a_shift_when_the_tables_say():
    rng, reps = np.random.default_rng(3), 400
    waits = [cusum(row, KNOWN).first_alarm + 1 for row in rng.normal(1.0, 1.0, (reps, 100))]
    assert abs(np.mean(waits) - cusum_run_length(shift=1.0)) < 3 * np.std(waits) / sqrt(reps)


def test_calibration_widening_holds_back_false_alarms():
    """First-order autoregression of .6: without the widening a CUSUM alarms far more often."""
    rng, reps, n, rho = np.random.default_rng(4), 400, 40, 0.6
    noise = rng.standard_normal((reps, n + 28))
    series = np.empty_like(noise)
    series[:, 0] = noise[:, 0]
    for night in range(1, n + 28):
        series[:, night] = rho * series[:, night - 1] + sqrt(1 - rho**2) * noise[:, night]
    wide, naive = [], []
    for row in series:
        normal = in_control(row[:n])
        plain = InControl(centre=normal.centre, sigma=row[:n].std(ddof=1), autocorrelation=0.0, n_runs=n)
        wide.append(cusum(row[n:], normal).first_alarm is not None)
        naive.append(cusum(row[n:], plain).first_alarm is not None)
    assert np.mean(naive) > 0.5 and np.mean(wide) < 0.2
