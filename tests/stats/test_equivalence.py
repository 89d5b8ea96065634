"""Equivalence and non-inferiority: published tests, duality with the interval, edges and size."""

from math import isnan, nan, sqrt

import numpy as np
import pytest

from evalstats.stats.equivalence import non_inferiority, tost
from evalstats.stats.pairs import paired_t

BOTH = {"tost": tost, "non_inferiority": non_inferiority}
either = pytest.mark.parametrize("method", BOTH.values(), ids=BOTH)
SLEEP = (
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2],
)


def scores_with(mean, std_error, n):
    """Return n scores with exactly this mean and standard error."""
    z = np.arange(n) - (n - 1) / 2
    return mean + std_error * sqrt(n) * z / z.std(ddof=1)


def test_published(published, agrees):
    n, mean, std_error = int(published["n"]), float(published["mean"]), float(published["std_error"])
    method = BOTH[published["function"]]
    agrees(method(scores_with(mean, std_error, n), np.zeros(n), margin=float(published["margin"])), published)


def test_sleep_data_have_the_published_mean_and_error():
    record = paired_t(*SLEEP)
    assert (record.estimate, record.std_error) == pytest.approx((1.58, 0.38896), abs=1e-5)
    assert non_inferiority(*SLEEP, margin=0).p_value == pytest.approx(0.002833 / 2, abs=5e-7)


@pytest.mark.parametrize("clusters", [None, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]])
@pytest.mark.parametrize("margin", [0.5, 2.0, 2.2, 2.4, 2.6, 3.0])
def test_rejects_exactly_when_the_interval_is_inside(margin, clusters):
    record = paired_t(*SLEEP, clusters=clusters, level=0.90)
    inside = -margin < record.conf_low and record.conf_high < margin
    assert (tost(*SLEEP, margin=margin, clusters=clusters).p_value < 0.05) == inside


def test_does_not_care_which_arm_is_which():
    there, back = tost(*SLEEP, margin=2.5), tost(*SLEEP[::-1], margin=2.5)
    assert (there.statistic, there.p_value) == (back.statistic, back.p_value)


def test_non_inferiority_looks_at_the_harmful_side_only():
    assert non_inferiority(*SLEEP, margin=0.5).p_value < 0.001
    assert non_inferiority(*SLEEP[::-1], margin=0.5).p_value > 0.98


@either
@pytest.mark.parametrize(
    ("differences", "why"),
    [
        ([], "no cases"),
        ([0.1], "1 of the 3 cases needed for a standard error"),
        ([0.0, 0.0, 0.0], "all cases agree: the variance is not estimable"),
    ],
)
def test_without_a_standard_error_nothing_is_shown(method, differences, why):
    record = method(differences, [0.0] * len(differences), margin=0.1)
    assert isnan(record.p_value) and isnan(record.statistic) and record.caveats == (why,)


@either
def test_rounding_is_not_variance(method):
    assert isnan(method([0.4, 0.7, 0.9], [0.3, 0.6, 0.8], margin=0.2).p_value)
    assert isnan(method([0.1 + 0.2, 0.5, 0.5], [0.3, 0.5, 0.5], margin=0.2).p_value)


@either
def test_one_cluster_shows_nothing(method):
    record = method([0.1, 0.2, 0.3], [0, 0, 0], margin=1, clusters=[7, 7, 7])
    assert isnan(record.p_value) and record.caveats == ("one cluster: no variance between clusters",)


@either
@pytest.mark.parametrize("margin", [-0.1, nan, float("inf")])
def test_margin_is_checked(method, margin):
    with pytest.raises(ValueError, match="margin must be above 0"):
        method(*SLEEP, margin=margin)


def test_equivalence_within_nothing_is_refused():
    with pytest.raises(ValueError, match="margin must be above 0"):
        tost(*SLEEP, margin=0)


@either
def test_arms_must_match(method):
    with pytest.raises(ValueError, match="both arms must have the same cases, got 2 and 3"):
        method([1, 2], [1, 2, 3], margin=1)


@either
def test_calibration_size_at_the_margin(method):
    """The true difference is the margin itself: 5% findings."""
    rng, reps, margin = np.random.default_rng(8), 400, 0.2
    shift = {tost: margin, non_inferiority: -margin}[method]
    new = rng.normal(shift, 0.3, (reps, 40))
    found = np.mean([method(row, np.zeros(40), margin=margin).p_value < 0.05 for row in new])
    assert abs(found - 0.05) < 3 * sqrt(0.05 * 0.95 / reps)


def test_calibration_small_studies_rarely_show_equivalence():
    rng, reps = np.random.default_rng(9), 400
    new = rng.normal(0, 0.3, (reps, 8))
    assert np.mean([tost(row, np.zeros(8), margin=0.1).p_value < 0.05 for row in new]) < 0.05
