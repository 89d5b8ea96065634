"""Bands over runs: published factors, what each may not claim, and edges."""

from math import inf, isnan

import numpy as np
import pytest

from evalstats.stats.bands import confidence_band, prediction_band, tolerance_band

BY_NAME = {
    "prediction_band": prediction_band,
    "confidence_band": confidence_band,
    "tolerance_band": tolerance_band,
}
every_band = pytest.mark.parametrize("band", BY_NAME.values(), ids=BY_NAME)


def standard_runs(n):
    """Return n runs of mean 0 and standard deviation 1, so that a bound is its factor."""
    runs = np.arange(n, dtype=float)
    return (runs - runs.mean()) / runs.std(ddof=1)


def test_published(published):
    options = {"level": float(published["level"])}
    if published["function"] == "tolerance_band":
        options |= {"content": float(published["content"]), "side": published["side"]}
    record = BY_NAME[published["function"]](standard_runs(int(published["n"])), **options)
    for bound, printed in (
        (-record.conf_low, published["factor_low"]),
        (record.conf_high, published["factor_high"]),
    ):
        decimals = len(printed.partition(".")[2])
        assert bound == inf if printed == "inf" else abs(bound - float(printed)) <= 0.51 * 10.0**-decimals


@every_band
@pytest.mark.parametrize(
    ("runs", "reason"),
    [([], "0 runs"), ([0.7], "1 run: "), ([0.7] * 8, "all runs agree"), ([0.1] * 7, "all runs agree")],
)
def test_no_spread_no_band(band, runs, reason):
    record = band(runs)
    assert isnan(record.conf_low) and isnan(record.conf_high) and isnan(record.std_error)
    assert reason in record.caveats[0]
    assert isnan(record.estimate) if not runs else record.estimate == pytest.approx(runs[0])


@every_band
def test_few_runs_are_flagged_many_are_not(band):
    assert band([0.7, 0.8, 0.75]).caveats == ("3 runs: the spread is hardly known",)
    assert band([0.7, 0.8, 0.75, 0.7, 0.72]).caveats == ()


@every_band
def test_bands_are_of_these_cases(band):
    assert band([0.7, 0.8, 0.75]).population == "FIXED"


def test_confidence_is_narrowest_tolerance_widest():
    runs = [0.70, 0.74, 0.72, 0.73, 0.71, 0.69]
    widths = [
        r.conf_high - r.conf_low
        for r in (confidence_band(runs), prediction_band(runs), tolerance_band(runs, level=0.95))
    ]
    assert widths == sorted(widths)


def test_average_of_many_future_runs_nears_the_confidence_band():
    runs = [0.70, 0.74, 0.72, 0.73, 0.71]
    far = prediction_band(runs, future_runs=10**9)
    assert far.conf_low == pytest.approx(confidence_band(runs).conf_low, abs=1e-6)


@every_band
def test_input_is_checked(band):
    with pytest.raises(ValueError, match="level must be inside"):
        band([0.7, 0.8], level=1)
    with pytest.raises(ValueError, match="finite"):
        band([0.7, float("nan")])


def test_tolerance_options_are_checked():
    with pytest.raises(ValueError, match="side must be one of both, lower, upper, got 'left'"):
        tolerance_band([0.7, 0.8], side="left")
    with pytest.raises(ValueError, match="content must be inside"):
        tolerance_band([0.7, 0.8], content=1)


def test_runs_that_agree_but_for_rounding_have_no_spread():
    assert isnan(prediction_band([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3]).conf_low)
