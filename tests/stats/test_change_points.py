"""Dating changes: published series, edges, and how often a change is seen that never was."""

import tracemalloc
from math import nan, sqrt

import numpy as np
import pytest
from statsmodels.datasets import nile

from evalstats.stats.change_points import e_divisive, energy_statistics


def test_published(published):
    name = published["values"]
    values = nile.load_pandas().data["volume"] if name == "nile" else [float(x) for x in name.split()]
    found = e_divisive(values)
    assert [change.index for change in found] == [int(published["index"])]
    expected = float(published["before"]), float(published["after"])
    assert (found[0].before, found[0].after) == pytest.approx(expected, abs=0.006)
    assert found[0].p_value < 0.001


def test_statistic_is_the_energy_distance():
    x, y = np.array([0.3, 1.0, 0.4]), np.array([2.0, 1.7, 2.2, 1.1])
    across = np.abs(x[:, None] - y).mean()
    inner = [np.abs(part[:, None] - part).sum() / (part.size * (part.size - 1)) for part in (x, y)]
    exact = 3 * 4 / 7 * (2 * across - sum(inner))
    assert energy_statistics(np.r_[x, y])[2] == pytest.approx(exact, abs=1e-12)


def test_a_long_series_costs_no_square_of_memory():
    values = np.r_[np.zeros(3000), np.ones(3000)] + np.random.default_rng(1).normal(0, 0.1, 6000)
    tracemalloc.start()
    found = energy_statistics(values)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert peak < 5  # all distances at once would take 275
    assert found.argmax() == 2999


def test_two_changes_in_order():
    values = np.r_[np.zeros(10), np.full(10, 3.0), np.full(12, 1.0)] + np.tile([0.1, -0.1], 16)
    found = e_divisive(values)
    assert [change.index for change in found] == [10, 20]
    assert [round(change.after, 6) for change in found] == [3.0, 1.0]
    assert found[0].after == found[1].before


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 9.0], [1.0, 1.0, 9.0]])
def test_too_short_to_split(values):
    assert e_divisive(values) == []


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_constant_series_has_no_change(level):
    assert e_divisive([level] * 30) == []


def test_the_dust_of_rounding_is_no_change():
    assert e_divisive([0.1 + 0.2] * 10 + [0.3] * 10) == []


def test_a_step_without_noise_is_a_change():
    found = e_divisive([0.0] * 5 + [1.0] * 5)
    assert [change.index for change in found] == [5] and found[0].p_value == 0


def test_ties_and_one_outlier_are_no_change():
    assert e_divisive([1.0, 1.0, 2.0, 1.0, 2.0, 9.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]) == []


def test_a_stricter_level_finds_less():
    values = [2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81]
    assert len(e_divisive(values, alpha=1e-9)) < len(e_divisive(values))


def test_nan_is_refused():
    with pytest.raises(ValueError, match="scores must be finite"):
        e_divisive([1.0, nan])


@pytest.mark.parametrize("n", [8, 28])
def test_calibration_unchanged_series(n):
    """At most 5% of unchanged series get a change point: the correction holds, on the safe side."""
    series = np.random.default_rng(n).standard_normal((400, n))
    found = np.mean([bool(e_divisive(row)) for row in series])
    assert found < 0.05 + 3 * sqrt(0.05 * 0.95 / 400)


def test_calibration_a_shift_is_dated():
    """A shift of two standard deviations after 14 of 28 nights: nearly always found, within two nights."""
    series = np.random.default_rng(1).standard_normal((400, 28))
    series[:, 14:] += 2
    found = [e_divisive(row) for row in series]
    near = [any(abs(change.index - 14) <= 2 for change in row) for row in found]
    assert np.mean(near) > 0.8


@pytest.mark.parametrize("alpha", [0, 1, 5])
def test_alpha_is_a_probability(alpha):
    with pytest.raises(ValueError, match="alpha must be inside"):
        e_divisive([1.0, 2.0], alpha=alpha)
