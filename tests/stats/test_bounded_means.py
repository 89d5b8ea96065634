"""The mean of graded scores: the posterior it is for yes/no scores, never of zero width, and edges."""

from math import isnan

import numpy as np
import pytest

from evalstats.stats.bounded_means import mean_score, spread_share
from evalstats.stats.means import case_mean


def test_published(published, agrees):
    passed, n = int(published["passed"]), int(published["of"])
    agrees(mean_score([1.0] * passed + [0.0] * (n - passed), level=float(published["level"])), published)


def test_counts_and_names():
    record = mean_score([1, 0.5, 0.9, 1], trials=[3, 3, 2, 3], level=0.8)
    assert (record.n_cases, record.n_clusters, record.n_trials, record.level) == (4, None, 11, 0.8)
    assert (record.estimand, record.method) == ("mean score", "smoothed Beta")
    assert record.estimate == pytest.approx(0.85)


def test_the_mirror_image_mirrors():
    scores = np.array([1, 0.9, 0.4, 1, 0.8, 0.95])
    there, back = mean_score(scores), mean_score(1 - scores)
    assert there.conf_low == pytest.approx(1 - back.conf_high)
    assert there.std_error == pytest.approx(back.std_error)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n", [3, 10, 50])
def test_never_of_zero_width(value, n):
    record = mean_score([value] * n)
    assert 0 <= record.conf_low < record.conf_high <= 1
    assert record.std_error > 0 and not record.caveats


def test_one_failure_in_twenty_widens_towards_failure():
    record = mean_score([1.0] * 19 + [0.0])
    assert record.estimate - record.conf_low > record.conf_high - record.estimate


def test_many_cases_approach_t():
    scores = np.random.default_rng(1).beta(4, 3, 2000)
    record, t = mean_score(scores), case_mean(scores)
    assert (record.conf_low, record.conf_high) == pytest.approx((t.conf_low, t.conf_high), abs=5e-4)


@pytest.mark.parametrize(
    ("scores", "clusters", "reason"),
    [([], None, "no cases"), ([1.0, 0.5], None, "2 of the 3"), ([1.0, 0.5, 0.2], [1, 1, 1], "one cluster")],
)
def test_too_little_is_refused(scores, clusters, reason):
    record = mean_score(scores, clusters=clusters)
    assert isnan(record.conf_low) and reason in record.caveats[0]


def test_scores_of_another_unit_get_t():
    scores = [12.0, 15.0, 11.0, 17.0]
    assert mean_score(scores) == case_mean(scores)


def test_clusters_that_differ_widen():
    scores, mixed, tied = [1, 1, 0.9, 0.2, 0.3, 0.2] * 4, list(range(6)) * 4, []
    tied = [k // 3 + 2 * (i // 6) for i, k in enumerate(mixed)]
    free, bound = mean_score(scores), mean_score(scores, clusters=tied)
    assert bound.method == "Wilson, effective clusters" and bound.n_clusters == 8
    assert bound.conf_high - bound.conf_low > 1.3 * (free.conf_high - free.conf_low)
    assert 0 <= bound.conf_low < bound.conf_high <= 1


def test_clusters_that_agree_still_have_width():
    record = mean_score([1.0] * 12, clusters=[0, 1, 2, 3] * 3)
    assert record.conf_low < 0.9 and record.conf_high == 1


def test_spread_share_of_yes_no_scores_is_one_and_of_equal_ones_small():
    assert spread_share(np.repeat([0.0, 1.0], 10)) == 1
    assert spread_share(np.full(50, 0.5)) == pytest.approx(10 / 59)


def test_scores_are_checked():
    with pytest.raises(ValueError, match="finite"):
        mean_score([1, float("nan"), 0])
    with pytest.raises(ValueError, match="level must be inside"):
        mean_score([1, 0, 1], level=0)
