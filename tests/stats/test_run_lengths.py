"""Average run lengths: published tables, symmetry, and a chart that is simply run."""

from math import sqrt

import numpy as np
import pytest

from evalstats.stats.results import undefined
from evalstats.stats.run_lengths import (
    cusum_run_length,
    ewma_run_length,
    one_sided_cusum_run_length,
    shewhart_run_length,
)


def nights(number):
    known = {"estimand": "run length", "population": "FIXED", "level": 0.95, "n_cases": 1, "n_trials": 1}
    return undefined("exact", estimate=number, method="integral equation", **known)


def test_published(published, agrees):
    limit, shift = float(published["limit"]), float(published["shift"])
    if published["function"] == "shewhart_run_length":
        found = shewhart_run_length(limit=limit, shift=shift)
    elif published["function"] == "ewma_run_length":
        found = ewma_run_length(weight=float(published["weight"]), limit=limit, shift=shift)
    else:
        methods = (cusum_run_length, one_sided_cusum_run_length)
        method = next(m for m in methods if m.__name__ == published["function"])
        found = method(k=float(published["weight"]), h=limit, shift=shift)
    agrees(nights(found), {"estimate": published["expected"]})


@pytest.mark.parametrize("method", [shewhart_run_length, ewma_run_length, cusum_run_length])
def test_both_directions_are_alike(method):
    assert method(shift=0.7) == pytest.approx(method(shift=-0.7), rel=1e-9)
    assert method(shift=2.0) < method(shift=1.0) < method(shift=0.0)


def test_weight_one_is_a_shewhart_chart():
    assert ewma_run_length(weight=1.0, limit=3.0) == pytest.approx(shewhart_run_length(), rel=1e-9)


def test_calibration_a_chart_that_is_run():
    """400 CUSUMs under a shift of one standard deviation."""
    rng, reps, horizon = np.random.default_rng(2), 400, 300
    state, lengths = np.zeros((2, reps)), np.full(reps, horizon)
    for night in range(horizon, 0, -1):  # values are exchangeable, so only the count matters
        z = 1.0 + rng.standard_normal(reps)
        state = np.maximum(0, state + np.stack([z, -z]) - 0.5)
        passed = (state > 5).any(axis=0) & (lengths == horizon)
        lengths[passed] = horizon - night + 1
    assert abs(lengths.mean() - cusum_run_length(shift=1.0)) < 3 * lengths.std() / sqrt(reps)
