"""Saddlepoint percentiles: within 3e-5 of a million resamples, the same every time, and edges."""

from itertools import product
from math import isnan

import numpy as np
import pytest
from scipy.special import ndtr

from evalstats.stats.saddlepoint import below_zero, resampled_sum, saddlepoint_mean, saddlepoint_ratio

WITHIN = 3e-5  # of the exact percentile
MILLION = 1e-3**2  # of resamples, of which the share in one tail is known to this variance times p (1 - p)


def arms(name):
    """Return failures of candidate and baseline, by formula, so that anyone can make them."""
    if name == "thousand":
        i = np.arange(1000)
        new, old = (i * 37 % 101) / 100, (i * 53 + 11) % 101 / 100
        old = np.where(new > 0.5, np.maximum(old, new * 0.6), old)
    elif name == "four hundred":
        i = np.arange(400)
        new = (i * i * 7 + 3 * i) % 11 / 10
        old = np.minimum(new, i * 13 % 11 / 10)
    else:
        new = 1 + np.log(1 - (np.arange(200) + 0.5) / 200)
        old = np.zeros(200)
    return 1 - new, 1 - old


def resampling_error(row):
    """Return the Monte-Carlo error of a bound from a million resamples, from the width of its interval."""
    level = float(row["level"])
    z = {0.8: 1.2816, 0.95: 1.96}[level]
    sd = (float(row["conf_high"]) - float(row["conf_low"])) / (2 * z)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) / sd
    tail = (1 - level) / 2
    return np.sqrt(tail * (1 - tail) * MILLION) / density


def test_published(published):
    top, bottom = arms(published["data"])
    level = float(published["level"])
    if published["function"] == "saddlepoint_ratio":
        record = saddlepoint_ratio(top, bottom, level=level)
    else:
        record = saddlepoint_mean(top, level=level)
    allowed = WITHIN + 3 * resampling_error(published)
    assert record.estimate == pytest.approx(float(published["estimate"]), abs=1e-6)
    assert record.conf_low == pytest.approx(float(published["conf_low"]), abs=allowed)
    assert record.conf_high == pytest.approx(float(published["conf_high"]), abs=allowed)


def test_tail_agrees_with_all_resamples_of_six():
    """6^6 resamples can be listed: values without ties, so that the sums are nearly continuous."""
    values = np.array([0.0, 1.13, 2.71, 3.07, 4.59, 7.41])
    sums = values[np.array(list(product(range(6), repeat=6)))].sum(axis=1)
    for at in (8.0, 12.0, 16.0, 19.0, 24.0, 30.0):
        exact = (sums <= at).mean()
        assert ndtr(below_zero(resampled_sum(values - at / 6))) == pytest.approx(exact, abs=0.01)


def test_near_the_centre_it_is_smooth():
    """Both large terms of the formula cancel there; the limit must join on without a step."""
    values = -np.log(1 - (np.arange(30) + 0.5) / 30)
    around = [below_zero(resampled_sum(values - values.mean() - d)) for d in np.linspace(-0.004, 0.004, 81)]
    steps = np.diff(around)
    assert (steps > 0).all()
    assert steps.max() < 1.1 * steps.min()


def test_same_data_same_bits():
    top, bottom = arms("thousand")
    assert saddlepoint_ratio(top, bottom) == saddlepoint_ratio(top.copy(), bottom.copy())


def test_inside_the_support_even_with_few():
    record = saddlepoint_mean([0, 0, 1], level=0.99)
    assert 0 <= record.conf_low < record.conf_high <= 1


def test_whole_clusters_are_what_is_resampled():
    rng = np.random.default_rng(1)
    scores = rng.random(40)
    doubled = np.repeat(scores, 2)
    tied = saddlepoint_mean(doubled, clusters=np.repeat(np.arange(40), 2))
    alone = saddlepoint_mean(scores)
    assert (tied.conf_low, tied.conf_high) == pytest.approx((alone.conf_low, alone.conf_high), abs=1e-9)
    assert (tied.n_clusters, tied.n_cases, alone.n_clusters) == (40, 80, None)


@pytest.mark.parametrize(
    ("top", "bottom", "reason"),
    [
        ([], [], "0 of the 3"),
        ([1.0, 2.0], [1.0, 1.0], "2 of the 3"),
        ([1.0, 0.0, 1.0], [0.0, 0.0, 0.0], "denominator is 0"),
        ([2.0, 4.0, 6.0], [1.0, 2.0, 3.0], "all cases agree"),
        ([1.0, 0.0, 1.0], [1.0, 0.0, 0.0], "a resample may have none"),
    ],
)
def test_ratio_refuses(top, bottom, reason):
    record = saddlepoint_ratio(top, bottom)
    assert isnan(record.conf_low) and reason in record.caveats[0]


def test_mean_refuses_what_agrees():
    assert "all cases agree" in saddlepoint_mean([0.3] * 5).caveats[0]


def test_input_is_checked():
    with pytest.raises(ValueError, match="must not be negative"):
        saddlepoint_ratio([1, 1, 1], [1, -1, 1])
    with pytest.raises(ValueError, match="level must be inside"):
        saddlepoint_mean([1, 0, 1], level=1)


@pytest.mark.slow
def test_within_3e5_of_a_million_resamples():
    """A thousand cases of ten trials: few distinct pairs, so a million resamples are drawn by their counts."""
    rng = np.random.default_rng(5)
    failed = rng.binomial(10, rng.beta(0.6, 0.4, (1000, 1)), (1000, 2)) / 10
    cells, counts = np.unique(failed, axis=0, return_counts=True)
    ratios = []
    for _ in range(20):
        means = rng.multinomial(1000, counts / 1000, 50_000) @ cells
        ratios.append(means[:, 0] / means[:, 1])
    exact = np.quantile(np.concatenate(ratios), [0.1, 0.9])
    record = saddlepoint_ratio(*failed.T, level=0.8)
    row = {"level": "0.8", "conf_low": exact[0], "conf_high": exact[1]}
    assert (record.conf_low, record.conf_high) == pytest.approx(exact, abs=WITHIN + 3 * resampling_error(row))
