"""The resampling engine: published examples, exact moments, edges, reproducibility, coverage and size."""

from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.resampling import (
    bootstrap,
    poisson,
    resampled_means,
    two_level_means,
)

LSAT = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
GPA = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]
PASSED = {  # of 4 epochs, or of 5 runs
    "inspect a": [3, 4, 2, 2, 4, 3, 3, 1, 2, 1, 4, 0, 4, 4, 4, 4, 1, 3, 2, 1],
    "inspect b": [2, 4, 2, 3, 4, 3, 3, 0, 2, 0, 4, 0, 4, 4, 2, 4, 3, 3, 1, 0],
    "openhands": list(np.repeat(range(6), [37, 7, 4, 3, 4, 25])),
}
TREATED, CONTROL = [94, 197, 16, 38, 99, 141, 23], [52, 104, 146, 10, 50, 31, 40, 27, 46]


def first(means):
    return means[..., 0]


def correlation(means):
    x, y, xx, yy, xy = (means[..., i] for i in range(5))
    return (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))


def law_school():
    x, y = np.array(LSAT) / 600, np.array(GPA) / 3
    return np.stack([x, y, x * x, y * y, x * y], axis=1)


def test_published(published):
    rng, data = np.random.default_rng(1), published["data"]
    if published["function"] == "two_level_means":
        trials = [4 if data.startswith("inspect") else 5] * len(PASSED[data])
        found = two_level_means(PASSED[data], trials, rng=rng).std()
    else:
        columns, functional = {
            "law school": (law_school(), correlation),
            "mouse treatment": (np.array(TREATED)[:, None], first),
            "mouse control": (np.array(CONTROL)[:, None], first),
        }[data]
        means = resampled_means(columns, rng=rng)
        by_bootstrap = bootstrap(columns, functional, rng=np.random.default_rng(1)).std_error
        found = functional(means).std(ddof=1)
        assert found == by_bootstrap
    assert abs(found - float(published["std_error"])) < float(published["within"])


def test_same_rng_same_means():
    one, same, other = (
        resampled_means([[0.1], [0.7], [0.4]], rng=np.random.default_rng(seed), reps=50) for seed in (1, 1, 2)
    )
    assert (one == same).all() and (one != other).any()


@pytest.mark.parametrize("mean", [1, 2, 8, 512])
def test_poisson_tables_have_their_mean_and_variance(mean):
    table = poisson(mean)
    assert table.mean() == pytest.approx(mean, rel=2e-5)
    assert table.var() == pytest.approx(mean, rel=2e-4)
    assert (table == 0).mean() == pytest.approx(np.exp(-mean), abs=1e-5)


def test_cases_that_are_alike_are_drawn_together_with_the_same_spread():
    """700 cases of 3 kinds, 512 + 128 + 60 of them: the plug-in moments, as for cases that all differ."""
    values = np.repeat([[0.0, 1.0], [0.5, 0.2], [1.0, 0.1]], [512, 128, 60], axis=0)
    means = resampled_means(values, rng=np.random.default_rng(3), reps=20_000)
    exact = values.std(axis=0) / sqrt(700)
    assert means.std(axis=0) == pytest.approx(exact, rel=0.02)
    assert np.abs(means.mean(axis=0) - values.mean(axis=0)).max() < 4 * exact.max() / sqrt(20_000)
    assert np.corrcoef(means.T)[0, 1] == pytest.approx(np.corrcoef(values.T)[0, 1], abs=0.01)
    dusted = values + np.arange(700)[:, None] * 1e-6  # no two alike
    apart = resampled_means(dusted, rng=np.random.default_rng(4), reps=20_000)
    for share in (0.025, 0.1, 0.9, 0.975):
        assert np.quantile(means, share, axis=0) == pytest.approx(
            np.quantile(apart, share, axis=0), abs=0.06 * exact.max() + 1e-3
        )


@pytest.mark.parametrize("n", [12, 400])
def test_resampled_means_have_the_plug_in_moments(n):
    values = np.random.default_rng(2).normal(1e3, 1.0, (n, 2))
    means = resampled_means(values, rng=np.random.default_rng(3), reps=20_000)
    exact = values.std(axis=0) / sqrt(n)
    assert means.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=4 * exact.max() / sqrt(20_000))
    assert means.std(axis=0) == pytest.approx(exact, rel=0.03 if n < 50 else 0.02)
    pairing = np.corrcoef(means.T)[0, 1]
    assert pairing == pytest.approx(np.corrcoef(values.T)[0, 1], abs=0.03)


def test_no_resample_lies_outside_the_data():
    """Poisson weights do not add up to n: a mean divides by what was drawn."""
    means = resampled_means([[1.0]] * 59 + [[0.0]], rng=np.random.default_rng(9), reps=2_000)
    assert means.max() == pytest.approx(1, abs=1e-7)
    assert (means > 1 - 1e-7).mean() == pytest.approx(np.exp(-1), abs=0.05)  # the one is not drawn


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
    assert isnan(record.conf_high) and record.caveats[0].endswith("of 200 resamples undefined")


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


@pytest.mark.parametrize("level", [0.80, 0.95])
@pytest.mark.parametrize("clustered", [False, True])
def test_calibration_covers_the_mean(clustered, level):
    """200 skewed cases, or 60 clusters of them: the nominal level."""
    rng, reps = np.random.default_rng(7), 400
    labels = np.arange(200) % 60 if clustered else None
    hits = 0
    for _ in range(reps):
        values = rng.exponential(1.0, 200)
        if clustered:
            values += rng.normal(0, 0.5, 60)[labels]
        record = bootstrap(values[:, None], first, rng=rng, clusters=labels, reps=400, level=level)
        hits += record.conf_low <= 1.0 <= record.conf_high
    assert abs(hits / reps - level) < 3 * sqrt(level * (1 - level) / reps)
