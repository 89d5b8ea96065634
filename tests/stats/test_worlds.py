"""Artificial worlds: the draws have the moments that were declared."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.stats.means import icc
from evalstats.stats.worlds import World, draw

WORLD = World(cases=6000, trials=3, mean=0.6, effect=0.1, correlation=0.4, pairing=0.8)


def rng(seed=3):
    return np.random.default_rng(seed)


def test_same_rng_same_draw_other_rng_another():
    small = World(cases=9, trials=3)
    first, again, other = (draw(small, rng(seed)).scores for seed in (1, 1, 2))
    assert (first == again).all() and not (first == other).all()


def test_means_and_correlation_are_as_declared():
    sample = draw(WORLD, rng())
    assert sample.candidate.mean() == pytest.approx(0.7, abs=0.02)
    assert sample.baseline.mean() == pytest.approx(0.6, abs=0.02)
    cases = np.repeat(np.arange(WORLD.cases), WORLD.trials)
    assert icc(sample.scores.ravel(), clusters=cases).estimate == pytest.approx(0.4, abs=0.03)
    assert sample.truths["mean"] == pytest.approx(0.7) and sample.truths["difference"] == pytest.approx(0.1)


def test_arms_share_difficulty():
    paired, free = draw(WORLD, rng()), draw(replace(WORLD, pairing=0.0), rng())
    assert np.corrcoef(paired.candidate, paired.baseline)[0, 1] > 0.3
    assert abs(np.corrcoef(free.candidate, free.baseline)[0, 1]) < 0.05


def test_equally_hard_cases():
    sample = draw(replace(WORLD, correlation=0.0), rng())
    assert sample.truths["long-run mean"] == pytest.approx(0.7)
    assert set(np.unique(sample.scores)) == {0.0, 1.0}


def test_some_cases_always_pass_and_the_rest_are_equally_hard():
    world = replace(WORLD, cases=20_000, trials=40, spread="two-point", effect=0.0)
    rates = draw(world, rng()).candidate
    always = 0.4 * 0.6 / 0.4 / (1 + 0.4 * 0.6 / 0.4)
    assert (rates == 1).mean() == pytest.approx(always, abs=0.01)
    assert rates.mean() == pytest.approx(0.6, abs=0.01)
    assert rates.var() == pytest.approx(0.24 * (0.4 + 0.6 / 40), abs=0.005)


def test_clusters_are_equal_and_alike():
    world = replace(WORLD, clusters=300, cluster_correlation=0.5)
    sample = draw(world, rng())
    assert set(np.bincount(sample.clusters)) == {20}
    assert icc(sample.candidate, clusters=sample.clusters).estimate > 0.2
    assert (
        icc(draw(replace(world, cluster_correlation=0.0), rng()).candidate, clusters=sample.clusters).estimate
        < 0.02
    )


def test_graded_trials_vary_less():
    graded, passes = (draw(replace(WORLD, expectations=e), rng()).scores for e in (5, 1))
    assert graded.var() < 0.8 * passes.var()
    assert np.isin(graded * 5, range(6)).all()


def test_days_move_whole_runs():
    still, moved = (
        draw(World(cases=400, trials=3, mean=0.5, runs=40, day_sd=sd), rng()).run_means for sd in (0.0, 0.1)
    )
    assert still.size == moved.size == 40
    assert moved.std() > 3 * still.std()


def test_last_past_run_is_what_is_seen():
    sample = draw(World(cases=9, trials=3, runs=4), rng())
    assert sample.candidate.mean() == pytest.approx(sample.run_means[-1])
    assert sample.truths["next run"] != sample.run_means[-1] or sample.run_means.size == 4
