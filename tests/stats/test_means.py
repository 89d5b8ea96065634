"""Means over cases and likeness inside clusters: published numbers, other routes to them, and edges."""

from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.means import case_mean, centred, design_effect, icc, mean_error

BY_NAME = {"case_mean": case_mean, "icc": icc, "design_effect": design_effect}

# Passed of tested members per household, chronic lung disease: Liang, Qaqish, Zeger (1992).
LIANG_PASSED = np.repeat(
    [0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 0, 2, 3, 4, 6],
    [36, 12, 15, 7, 1, 5, 7, 3, 2, 3, 3, 1, 1, 1, 1, 1, 1],
)
LIANG_SIZES = np.repeat([1, 2, 3, 4, 6], [48, 23, 17, 7, 5])


def read(row):
    if row["data"] == "liang1992":
        members = [
            (i, float(k < c))
            for i, (c, n) in enumerate(zip(LIANG_PASSED, LIANG_SIZES, strict=True))
            for k in range(n)
        ]
        clusters, scores = zip(*members, strict=True)
        return list(scores), list(clusters)
    clusters = row.get("clusters")
    return [float(x) for x in row["data"].split()], None if clusters is None else clusters.split()


def test_published(published, agrees):
    scores, clusters = read(published)
    agrees(
        BY_NAME[published["function"]](scores, clusters=clusters, level=float(published["level"])), published
    )


def test_few_clusters_leave_each_out_in_turn():
    scores, clusters = np.array([0.1, 0.9, 0.4, 0.7, 0.2, 0.6]), np.array([0, 0, 0, 1, 1, 2])
    left = np.array([scores[clusters != g].mean() for g in range(3)])
    jackknife = np.sqrt(2 / 3 * ((left - scores.mean()) ** 2).sum())
    assert mean_error(scores, clusters).std_error == pytest.approx(jackknife, rel=1e-12)
    assert mean_error(scores, clusters).method == "t on clusters, CR3"


def test_many_clusters_agree_with_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(5)
    clusters = rng.integers(0, 25, 200)
    scores = rng.random(200) + rng.random(25)[clusters]
    fit = sm.OLS(scores, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    record = case_mean(scores, clusters=clusters)
    assert record.std_error == pytest.approx(fit.bse[0], rel=1e-12)
    assert record.method == "t on clusters, CR1"
    assert record.n_clusters == 25


def test_own_clusters_are_no_clusters():
    scores = [0.2, 0.9, 0.4, 0.7]
    assert case_mean(scores, clusters=[4, 3, 2, 1]).std_error == pytest.approx(case_mean(scores).std_error)
    assert case_mean(scores).n_clusters is None


@pytest.mark.parametrize(
    ("scores", "clusters", "reason"),
    [
        ([], None, "no cases"),
        ([1.0], None, "1 of the 3 cases"),
        ([1.0, 0.0], None, "2 of the 3 cases"),
        ([1.0] * 9, None, "all cases agree"),
        ([0.0] * 9, None, "all cases agree"),
        ([0.1] * 7, None, "all cases agree"),
        ([1.0, 0.0, 1.0], [7, 7, 7], "one cluster"),
    ],
)
def test_case_mean_refuses(scores, clusters, reason):
    record = case_mean(scores, clusters=clusters)
    assert isnan(record.std_error) and isnan(record.conf_low) and isnan(record.conf_high)
    assert reason in record.caveats[0]
    assert isnan(record.estimate) if not scores else record.estimate == pytest.approx(np.mean(scores))


@pytest.mark.parametrize("function", BY_NAME.values(), ids=BY_NAME)
def test_nan_and_level_are_refused(function):
    with pytest.raises(ValueError, match=r"finite, got .*nan"):
        function([1.0, float("nan"), 0.0], clusters=[0, 0, 1])
    with pytest.raises(ValueError, match="level must be inside"):
        function([1.0, 0.5, 0.0], clusters=[0, 0, 1], level=95)
    with pytest.raises(ValueError, match="one label per element"):
        function([1.0, 0.5, 0.0], clusters=[0, 0])


@pytest.mark.parametrize("function", [icc, design_effect])
@pytest.mark.parametrize(
    ("scores", "clusters", "reason"),
    [
        ([], [], "no scores"),
        ([1.0], ["a"], "one cluster"),
        ([1.0, 0.0], ["a", "a"], "one cluster"),
        ([1.0, 0.0], ["a", "b"], "one element in each cluster"),
        ([1.0] * 4, [0, 0, 1, 1], "no variance within"),
        ([0.1] * 6, [0, 0, 0, 1, 1, 1], "no variance within"),
    ],
)
def test_likeness_refuses(function, scores, clusters, reason):
    record = function(scores, clusters=clusters)
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert reason in record.caveats[0]


def test_perfect_likeness_has_no_interval():
    record = icc([0.1, 0.1, 0.1, 0.7, 0.7, 0.7], clusters=[0, 0, 0, 1, 1, 1])
    assert record.estimate == 1.0 and isnan(record.conf_low)


def test_unlikeness_is_negative():
    assert icc([0, 1, 0, 1], clusters=[0, 0, 1, 1]).estimate == -1.0


def test_trials_are_counted():
    assert case_mean([1, 0, 0.5], trials=[3, 3, 2]).n_trials == 8
    assert case_mean([1, 0, 0.5]).n_trials == 3


def test_centred_leaves_no_dust():
    assert not centred(np.array([0.1, 0.1, 0.1, 1e12, 1e12]), np.array([0, 0, 0, 1, 1])).any()


@pytest.mark.parametrize(
    "scores",
    [
        [0.1 + 0.2, 0.3, 0.3, 0.3],
        [0.1 + 0.2 - 0.3, 0.0, 0.0, 0.0],
        [0.8 - 0.7, 0.3 - 0.2, 0.6 - 0.5],
        [1e6 + 1e-7, 1e6, 1e6],
    ],
)
def test_the_dust_of_rounding_is_not_variance(scores):
    record = case_mean(scores)
    assert isnan(record.std_error) and record.caveats == ("all cases agree: the variance is not estimable",)


def test_clusters_that_agree_have_no_error():
    record = case_mean([0, 1, 1, 0, 0, 1], clusters=[1, 1, 2, 2, 3, 3])
    assert record.estimate == 0.5 and isnan(record.std_error) and isnan(record.conf_low)
    assert record.caveats == ("all clusters agree: the variance is not estimable",)


def test_without_the_correction_for_few_clusters_the_error_is_smaller():
    """Three equal clusters: with C/(C-1) .192450 (see the reference rows), without .157135."""
    record = case_mean([1, 1, 0, 0, 1, 0, 1, 1, 1], clusters=[1, 1, 1, 2, 2, 2, 3, 3, 3])
    assert record.std_error * sqrt(2 / 3) == pytest.approx(0.157135, abs=5e-7)
