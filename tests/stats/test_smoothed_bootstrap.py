"""DP.25: its arms are Jeffreys posteriors, its rng counts, and it is never undefined nor of zero width."""

from math import isnan

import numpy as np
import pytest

from evalstats.stats.smoothed_bootstrap import CHUNK, corner_scale, dp25, smoothed_means


def rng(seed=3):
    return np.random.default_rng(seed)


def test_published(published):
    """The four corners leave each arm a mass of 1/2 on pass and on fail: Jeffreys' prior."""
    passed, trials = int(published["successes"]), int(published["trials"])
    arm = np.repeat([1.0, 0.0], [passed, trials - passed])
    draws, _ = smoothed_means(arm, np.zeros(trials), rng=rng(), reps=1_000_000)
    tail = (1 - float(published["level"])) / 2
    expected = float(published["conf_low"]), float(published["conf_high"])
    # Half of the last printed digit, and three Monte-Carlo errors of the bounds of the widest of these.
    assert np.quantile(draws, [tail, 1 - tail]) == pytest.approx(expected, abs=0.0005 + 3 * 0.0004)


def test_same_rng_same_interval_other_rng_another():
    same = [dp25([1, 0, 1], [0, 0, 1], rng=rng(seed)) for seed in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


@pytest.mark.parametrize(
    ("candidate", "baseline"),
    [
        ([1], [1]),
        ([0], [0]),
        ([1] * 3, [1] * 3),
        ([0] * 3, [0] * 3),
        ([1] * 3, [0] * 3),
        ([0.5] * 3, [0.5] * 3),
    ],
)
def test_never_of_zero_width(candidate, baseline):
    record = dp25(candidate, baseline, rng=rng())
    assert -1 <= record.conf_low < record.conf_high <= 1
    assert record.conf_high - record.conf_low > 0.3
    assert record.std_error > 0
    assert not record.caveats


def test_no_pairs_and_one_cluster_are_refused():
    assert dp25([], [], rng=rng()).caveats == ("no pairs",)
    record = dp25([1, 0], [0, 0], rng=rng(), clusters=["a", "a"])
    assert record.estimate == 0.5 and isnan(record.conf_low) and "one cluster" in record.caveats[0]


def test_alike_clusters_widen():
    candidate, baseline, clusters = [1, 1, 1, 0, 0, 0] * 3, [0] * 18, [0, 0, 0, 1, 1, 1] * 3
    clusters = [c + 2 * (i // 6) for i, c in enumerate(clusters)]
    free, tied = (dp25(candidate, baseline, rng=rng(), clusters=given) for given in (None, clusters))
    assert tied.conf_high - tied.conf_low > 1.3 * (free.conf_high - free.conf_low)
    assert (free.n_clusters, tied.n_clusters) == (None, 6)


def test_arms_change_sides():
    there = dp25([1, 1, 0.5, 0], [0, 0.5, 0.5, 0], rng=rng(), reps=100_000)
    back = dp25([0, 0.5, 0.5, 0], [1, 1, 0.5, 0], rng=rng(4), reps=100_000)
    assert there.conf_low == pytest.approx(-back.conf_high, abs=0.02)


def test_chunks_are_invisible():
    """More weights than are held at once still give every draw."""
    n = 2000
    draws, _ = smoothed_means(np.full(n, 0.5), np.zeros(n), rng=rng(), reps=CHUNK // n + 10)
    assert draws.size == CHUNK // n + 10 and (draws > 0).all()


@pytest.mark.parametrize("scores", [[1.5, 0], [-0.1, 0]])
def test_scores_outside_the_corners_are_named(scores):
    with pytest.raises(ValueError, match=r"inside \[0, 1\]"):
        dp25(scores, [0, 0], rng=rng())


def test_input_is_checked():
    with pytest.raises(ValueError, match="finite"):
        dp25([1, float("nan")], [0, 0], rng=rng())
    with pytest.raises(ValueError, match="level must be inside"):
        dp25([1, 0], [0, 0], rng=rng(), level=0)
    with pytest.raises(ValueError, match="same cases"):
        dp25([1, 0], [0], rng=rng())


def test_corner_scale_of_yes_no_trials_is_near_one_and_of_graded_small():
    passes = np.repeat([1.0, 0.0], [6, 4])
    assert corner_scale(passes, passes) == 1.0
    assert corner_scale(np.full(10, 0.5), np.full(10, 0.5)) == pytest.approx(2 / 11)
