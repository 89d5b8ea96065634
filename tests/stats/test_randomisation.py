"""Randomisation tests: published p-values, agreement with counting every sign vector, edges, size."""

from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.randomisation import sign_flip_test

DATA = {
    "darwin": [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48],
    "sleep": [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4],
}
DARWIN = DATA["darwin"]


def test_published(published):
    found = sign_flip_test(
        DATA[published["data"]], rng=np.random.default_rng(1), alternative=published["alternative"]
    )
    assert abs(found.p_value - float(published["p_value"])) < float(published["within"])


def test_same_rng_same_test():
    one, same, other = (
        sign_flip_test(DARWIN, rng=np.random.default_rng(seed), reps=500) for seed in (1, 1, 3)
    )
    assert one == same and one != other


def test_sign_flips_agree_with_counting_them_all():
    d = np.array([0.5, 1.0, -0.25, 0.75, 0.5, 0.0])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
    exact = {
        "greater": np.mean(signs @ d >= d.sum() - 1e-9),
        "less": np.mean(signs @ d <= d.sum() + 1e-9),
        "two-sided": np.mean(abs(signs @ d) >= d.sum() - 1e-9),
    }
    for alternative, p in exact.items():
        found = sign_flip_test(d, rng=np.random.default_rng(1), alternative=alternative).p_value
        assert abs(found - p) < 4 * sqrt(p * (1 - p) / 10_000) + 1e-4


def test_clusters_flip_together():
    """Three clusters of ten equal differences: no p-value below 2 / 2^3."""
    d, labels = np.ones(30), np.repeat([0, 1, 2], 10)
    found = sign_flip_test(d, rng=np.random.default_rng(1), clusters=labels, reps=2_000).p_value
    assert found == pytest.approx(0.25, abs=0.04)


@pytest.mark.parametrize("n", [1, 5])
def test_no_difference_is_no_surprise(n):
    record = sign_flip_test([0.0] * n, rng=np.random.default_rng(1), reps=99)
    assert record.p_value == 1 and record.caveats == ("no case differs",)


def test_no_pairs_is_unknown():
    record = sign_flip_test([], rng=np.random.default_rng(1), reps=99)
    assert isnan(record.p_value) and record.caveats == ("no pairs",)


def test_never_zero():
    assert sign_flip_test(np.ones(200), rng=np.random.default_rng(1), reps=99).p_value == 0.01


def test_calibration_size_of_sign_flips():
    rng, reps = np.random.default_rng(8), 400
    found = [sign_flip_test(rng.laplace(0, 1, 12), rng=rng, reps=199).p_value <= 0.05 for _ in range(reps)]
    assert abs(np.mean(found) - 0.05) < 3 * sqrt(0.05 * 0.95 / reps)
