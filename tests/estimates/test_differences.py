"""Differences by scipy and by a public scorecard."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from evalstats import estimates
from evalstats.estimates.differences import Matched


def test_difference_is_the_paired_t_of_scipy(graded: pd.DataFrame, rng: np.random.Generator) -> None:
    found = estimates.difference(graded, rng=rng, level=0.8).iloc[0]
    wide = estimates.case_table(graded).pivot(index="case_id", columns="arm", values="score")
    outside = scipy_stats.ttest_rel(wide["skill-on"], wide["skill-off"]).confidence_interval(0.8)
    assert (found["conf_low"], found["conf_high"]) == (
        pytest.approx(outside.low, abs=1e-12),
        pytest.approx(outside.high, abs=1e-12),
    )
    assert found["n_trials"] == 2 * 24 * 6 * 4


def test_swapping_the_arms_negates_the_difference(graded: pd.DataFrame, rng: np.random.Generator) -> None:
    there = estimates.difference(graded, rng=rng).iloc[0]
    back = estimates.difference(graded, rng=rng, arms=("skill-off", "skill-on")).iloc[0]
    assert there["estimate"] == pytest.approx(-back["estimate"], abs=1e-15)
    assert there["conf_low"] == pytest.approx(-back["conf_high"], abs=1e-12)


def test_the_rng_decides_only_where_chance_is_used(graded: pd.DataFrame) -> None:
    few = graded[graded["case_id"].isin(sorted(graded["case_id"].unique())[:4])]
    few = few.assign(score_sum=few["n_passed"] + 0.0, score_sumsq=few["n_passed"] + 0.0)

    def low(seed: int) -> float:
        return float(estimates.difference(few, rng=np.random.default_rng(seed)).iloc[0]["conf_low"])

    assert low(1) == low(1)
    assert low(1) != low(2)


def test_a_lost_trial_does_not_make_cases_single(case_runs, rng) -> None:
    scores = {("r", arm, f"a{i}"): [1.0, 0.0] for arm in ("skill-on", "skill-off") for i in range(9)}
    scores["r", "skill-on", "a0"] = [1.0, None]
    found = estimates.difference(case_runs(scores), rng=rng).iloc[0]
    assert found["estimate"] == pytest.approx(0.5 / 9)
    assert (found["method"], found["n_trials"]) == ("DP.25", 35)


def test_a_third_arm_takes_no_part(graded: pd.DataFrame, rng: np.random.Generator) -> None:
    other = graded[graded["arm"] == "skill-on"].assign(arm="candidate", n_usable=1)
    together = estimates.difference(pd.concat([graded, other]), rng=rng)
    pd.testing.assert_frame_equal(together, estimates.difference(graded, rng=rng))


def test_clusters_may_be_any_column(graded: pd.DataFrame, rng: np.random.Generator) -> None:
    by_archetype = estimates.difference(graded, rng=rng, clusters="archetype").iloc[0]
    repo = graded.assign(repo=graded["archetype"].map(lambda name: f"repository {name}"))
    by_repo = estimates.difference(repo, rng=rng, clusters="repo").iloc[0]
    assert (by_repo["n_clusters"], by_repo["conf_low"]) == (6, by_archetype["conf_low"])


PUBLISHED = [  # arms, cases, mean difference of case rates, percentile bootstrap at 95%
    (("with_3_10", "without_plugin"), 29, 0.2305, (0.140, 0.328)),
    (("with_3_9_0", "without_plugin"), 28, 0.0696, (-0.011, 0.159)),
    (("with_3_10", "with_3_9_0"), 28, 0.1429, (0.059, 0.240)),
]


@pytest.mark.parametrize("published", PUBLISHED, ids=[" - ".join(row[0]) for row in PUBLISHED])
def test_public_scorecard(case_runs, public, rng, published) -> None:
    arms, n_cases, estimate, bounds = published
    card = json.loads(public("agentops/evals/plugin-eval/scorecards/*.json").read_text())["behavior"]["cases"]
    scores = {
        ("r", arm, case): [result[arm]["criteria_met"] / result[arm]["criteria_total"]] * result[arm]["runs"]
        for case, result in card.items()
        for arm in arms
        if result[arm]
    }
    table = case_runs(scores)
    found = estimates.difference(table, rng=rng, arms=arms, level=0.95).iloc[0]
    assert (round(found["estimate"], 4), found["n_cases"]) == (estimate, n_cases)
    pairs = Matched.of(estimates.case_table(table), arms).pairs
    differences = np.asarray(pairs.candidate) - np.asarray(pairs.baseline)
    outside = scipy_stats.t.interval(0.95, n_cases - 1, differences.mean(), scipy_stats.sem(differences))
    assert (found["conf_low"], found["conf_high"]) == pytest.approx(outside, abs=1e-12)
    resampled = scipy_stats.bootstrap((differences,), np.mean, method="percentile", rng=1)
    assert tuple(resampled.confidence_interval) == pytest.approx(bounds, abs=0.005)
