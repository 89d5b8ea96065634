"""The resampling engine: published examples, exact moments, edges, reproducibility, coverage and size."""

from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.resampling import (
    POISSON,
    bootstrap,
    resampled_means,
    sign_flip_test,
    two_level_means,
)

LSAT = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
GPA = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]
TREATED, CONTROL = [94, 197, 16, 38, 99, 141, 23], [52, 104, 146, 10, 50, 31, 40, 27, 46]
SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def first(means):
    return means[..., 0]


def correlation(means):
    x, y, xx, yy, xy = (means[..., i] for i in range(5))
    return (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))


def law_school():
    x, y = np.array(LSAT) / 600, np.array(GPA) / 3
    return np.stack([x, y, x * x, y * y, x * y], axis=1)


def test_published(published):
    rng, within = np.random.default_rng(1), float(published["within"])
    if published["function"] == "sign_flip_test":
        name, _, alternative = published["data"].partition(" ")
        differences = {"darwin": DARWIN, "sleep": SLEEP}[name]
        found = sign_flip_test(differences, rng=rng, alternative=alternative or "two-sided").p_value
        assert abs(found - float(published["p_value"])) < within
        return
    columns, functional = {
        "law school": (law_school(), correlation),
        "mouse treatment": (np.array(TREATED)[:, None], first),
        "mouse control": (np.array(CONTROL)[:, None], first),
    }[published["data"]]
    found = bootstrap(columns, functional, rng=rng).std_error
    assert abs(found - float(published["std_error"])) < within


def test_poisson_table_has_mean_and_variance_one():
    assert POISSON.mean() == pytest.approx(1, abs=2e-5)
    assert POISSON.var() == pytest.approx(1, abs=2e-4)
    assert (POISSON == 0).mean() == pytest.approx(np.exp(-1), abs=1e-5)


@pytest.mark.parametrize("n", [12, 400])
def test_resampled_means_have_the_plug_in_moments(n):
    values = np.random.default_rng(2).normal(1e3, 1.0, (n, 2))
    means = resampled_means(values, rng=np.random.default_rng(3), reps=20_000)
    exact = values.std(axis=0) / sqrt(n)
    assert means.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=4 * exact.max() / sqrt(20_000))
    assert means.std(axis=0) == pytest.approx(exact, rel=0.03 if n < 50 else 0.02)
    pairing = np.corrcoef(means.T)[0, 1]
    assert pairing == pytest.approx(np.corrcoef(values.T)[0, 1], abs=0.03)


def test_whole_clusters_are_drawn():
    """Clusters without inner variance: the spread is that of 6 cluster means, and weighs unequal sizes."""
    labels = np.repeat([0, 1, 2, 3, 4, 5], [1, 1, 1, 1, 1, 1])
    single = resampled_means(labels[:, None], rng=np.random.default_rng(4), reps=4_000)
    tenfold = resampled_means(
        np.repeat(labels, 10)[:, None],
        rng=np.random.default_rng(4),
        clusters=np.repeat(labels, 10),
        reps=4_000,
    )
    assert single == pytest.approx(tenfold, abs=1e-6)


@pytest.mark.parametrize("n", [12, 400])
def test_same_rng_same_interval(n):
    values = np.random.default_rng(5).random((n, 1))
    one, same, other = (
        bootstrap(values, first, rng=np.random.default_rng(seed), reps=500) for seed in (1, 1, 2)
    )
    assert one == same and one != other


def test_same_rng_same_test():
    one, same, other = (
        sign_flip_test(DARWIN, rng=np.random.default_rng(seed), reps=500) for seed in (1, 1, 3)
    )
    assert one == same and one != other


def test_same_rng_same_runs():
    one, same, other = (
        two_level_means([3, 1, 2], [3, 3, 3], rng=np.random.default_rng(seed), reps=50) for seed in (1, 1, 2)
    )
    assert (one == same).all() and (one != other).any()


@pytest.mark.parametrize(
    ("values", "clusters", "why"),
    [
        (np.zeros((0, 1)), None, "no cases"),
        ([[0.5]], None, "1 of the 3 cases needed for a standard error"),
        ([[1.0]] * 9, None, "all resamples agree: the variance is not estimable"),
        ([[1.0]] * 90, None, "all resamples agree: the variance is not estimable"),
        ([[0.1], [0.2], [0.3]], [1, 1, 1], "one cluster: no variance between clusters"),
    ],
)
def test_without_variance_no_interval(values, clusters, why):
    record = bootstrap(values, first, rng=np.random.default_rng(1), clusters=clusters, reps=100)
    assert isnan(record.conf_low) and isnan(record.std_error) and record.caveats == (why,)


def test_undefined_resamples_are_counted_not_dropped():
    columns = np.array([[1.0, 1.0], [1.0, 0.0], [0.5, 0.0]])
    with np.errstate(divide="ignore", invalid="ignore"):
        record = bootstrap(columns, lambda m: m[..., 0] / m[..., 1], rng=np.random.default_rng(1), reps=200)
    assert isnan(record.conf_high) and record.caveats[0].endswith("of 200 resamples are undefined")


@pytest.mark.parametrize("wrong", [[1.0, 2.0], np.zeros((3, 0))])
def test_columns_are_a_table(wrong):
    with pytest.raises(ValueError, match="columns must have shape"):
        bootstrap(wrong, first, rng=np.random.default_rng(1))


def test_nan_is_refused():
    with pytest.raises(ValueError, match="scores must be finite"):
        bootstrap([[np.nan]], first, rng=np.random.default_rng(1))


def test_two_level_means_add_trial_noise_once_more():
    """Var = (between seen case means + mean of p(1-p)/T) / n."""
    passed, trials = np.array([0, 1, 2, 3, 4, 5] * 10), np.full(60, 5)
    rates = passed / trials
    exact = sqrt((rates.var() + (rates * (1 - rates) / 5).mean()) / 60)
    found = two_level_means(passed, trials, rng=np.random.default_rng(6), reps=20_000)
    assert found.std() == pytest.approx(exact, rel=0.03)
    assert found.mean() == pytest.approx(0.5, abs=4 * exact / sqrt(20_000))


def test_two_level_all_pass_and_one_case():
    assert (two_level_means([3, 3], [3, 3], rng=np.random.default_rng(1), reps=20) == 1).all()
    assert (two_level_means([0], [1], rng=np.random.default_rng(1), reps=20) == 0).all()


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


@pytest.mark.parametrize("clustered", [False, True])
def test_calibration_covers_the_mean(clustered):
    """200 skewed cases, or 60 clusters of them: nominal 80%."""
    rng, reps = np.random.default_rng(7), 400
    labels = np.arange(200) % 60 if clustered else None
    hits = 0
    for _ in range(reps):
        values = rng.exponential(1.0, 200)
        if clustered:
            values += rng.normal(0, 0.5, 60)[labels]
        record = bootstrap(values[:, None], first, rng=rng, clusters=labels, reps=400, level=0.8)
        hits += record.conf_low <= 1.0 <= record.conf_high
    assert abs(hits / reps - 0.8) < 3 * sqrt(0.8 * 0.2 / reps)


def test_calibration_size_of_sign_flips():
    rng, reps = np.random.default_rng(8), 400
    found = [sign_flip_test(rng.laplace(0, 1, 12), rng=rng, reps=199).p_value <= 0.05 for _ in range(reps)]
    assert abs(np.mean(found) - 0.05) < 3 * sqrt(0.05 * 0.95 / reps)
