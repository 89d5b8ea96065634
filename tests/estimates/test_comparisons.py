"""Comparisons: scipy's tests, power beside them, attrition named, arms of different cases kept apart."""

from __future__ import annotations

import json
from math import hypot, isnan

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import DescrStatsW

from evalstats import estimates

Z = scipy_stats.norm.ppf(0.975) + scipy_stats.norm.ppf(0.8)
FIELDS = ["visible_pass", "hidden_pass", "claimed_done", "false_pass", "flagged_gap"]


def differences_of(case_runs: pd.DataFrame) -> np.ndarray:
    wide = estimates.case_table(case_runs).pivot(index="case_id", columns="arm", values="score")
    return (wide["skill-on"] - wide["skill-off"]).to_numpy()


def test_tests_are_those_of_scipy_and_statsmodels(graded: pd.DataFrame, rng: np.random.Generator) -> None:
    tests = estimates.compare(graded, rng=rng, margin=0.05).tests.set_index("test")
    d = differences_of(graded)
    two_sided = scipy_stats.ttest_1samp(d, 0)
    assert tests.loc["difference", "p_value"] == pytest.approx(two_sided.pvalue, rel=1e-9)
    p_value = DescrStatsW(d).ttost_mean(-0.05, 0.05)[0]
    assert tests.loc["equivalence", "p_value"] == pytest.approx(p_value, rel=1e-9)
    greater = scipy_stats.ttest_1samp(d, -0.05, alternative="greater")
    assert tests.loc["non-inferiority", "p_value"] == pytest.approx(greater.pvalue, rel=1e-9)


def test_detectable_difference_is_a_multiple_of_the_standard_error(graded, rng) -> None:
    found = estimates.compare(graded, rng=rng).estimates.set_index("quantity")
    assert found.loc["detectable", "estimate"] == pytest.approx(
        Z * scipy_stats.sem(differences_of(graded)), rel=1e-9
    )
    assert "fewer than 30 cases: the truth is larger" in found.loc["detectable", "caveats"]
    assert isnan(found.loc["detectable", "conf_low"])


def test_without_a_margin_nothing_is_said_of_equivalence(graded, rng) -> None:
    assert estimates.compare(graded, rng=rng).tests["test"].tolist() == ["difference"]


def test_underpowered_exactly_when_the_detectable_difference_exceeds_the_margin(graded, rng) -> None:
    detectable = Z * scipy_stats.sem(differences_of(graded))
    for margin, expected in ((0.99 * detectable, True), (1.01 * detectable, False)):
        tests = estimates.compare(graded, rng=rng, margin=margin).tests.set_index("test")
        said = tests["caveats"].map(lambda caveats: any("underpowered" in c for c in caveats)).to_dict()
        assert said == {"difference": False, "equivalence": expected, "non-inferiority": expected}


def test_one_yes_no_trial_a_case_is_mcnemar(case_runs, rng) -> None:
    # 59 + 6 + 16 + 80 cases: both, on only, off only, neither.
    on, off = [1] * 65 + [0] * 96, [1] * 59 + [0] * 6 + [1] * 16 + [0] * 80
    scores = {("r", "skill-on", f"a{i}"): [x] for i, x in enumerate(on)}
    scores |= {("r", "skill-off", f"a{i}"): [x] for i, x in enumerate(off)}
    test = estimates.compare(case_runs(scores), rng=rng).tests.iloc[0]
    assert test["method"] == "exact McNemar"
    assert test["p_value"] == pytest.approx(scipy_stats.binomtest(6, 22, 0.5).pvalue, rel=1e-12)


def test_cases_of_one_arm_are_listed_with_the_reason(case_runs, rng) -> None:
    scores = {("r", arm, f"a{i}"): [1, 0] for arm in ("skill-on", "skill-off") for i in range(20)}
    scores |= {("r", "skill-off", "b1"): [1, 1], ("r", "skill-on", "b2"): [1, 0]}
    scores |= {("r", "skill-off", "b2"): [None, None], ("r", "skill-on", "b3"): [None]}
    found = estimates.compare(case_runs(scores), rng=rng)
    assert found.attrition.fillna("").to_numpy().tolist() == [
        ["b1", "b", "skill-off", "not run in skill-on"],
        ["b2", "b", "skill-on", "no usable trial in skill-off"],
        ["b3", "b", "", "no usable trial in either arm"],
    ]
    difference = found.estimates.iloc[0]
    assert (difference["n_cases"], difference["estimate"]) == (20, 0.0)
    assert "3 unmatched cases left out" in difference["caveats"]


def test_too_many_unmatched_cases_are_refused_by_every_number(case_runs, rng) -> None:
    scores = {("r", "skill-on", f"a{i}"): [1, 0] for i in range(6)}
    scores |= {("r", "skill-off", f"a{i}"): [1, 1] for i in range(4)}
    found = estimates.compare(case_runs(scores), rng=rng, margin=0.1)
    assert found.estimates[["estimate", "conf_low"]].isna().all(axis=None)
    assert found.tests["p_value"].isna().all()
    assert "2 of 6 cases unmatched" in found.tests["caveats"].iloc[0][0]
    assert "underpowered: what would have been seen is unknown" in found.tests["caveats"].iloc[1]


def test_different_cases_are_compared_as_separate_samples_and_said(case_runs, rng, smoothed_beta) -> None:
    on, off = rng.random(12).round(3), rng.random(15).round(3)
    scores = {("r", "skill-on", f"a{i}"): [x] for i, x in enumerate(on)}
    scores |= {("r", "skill-off", f"b{i}"): [x] for i, x in enumerate(off)}
    found = estimates.compare(case_runs(scores), rng=rng, level=0.95)
    difference, test = found.estimates.iloc[0], found.tests.iloc[0]
    outside = scipy_stats.ttest_ind(on, off, equal_var=False)
    assert test["p_value"] == pytest.approx(outside.pvalue, rel=1e-9)
    assert difference["estimate"] == pytest.approx(on.mean() - off.mean(), abs=1e-12)
    (on_sd, on_low, on_high), (off_sd, off_low, off_high) = (smoothed_beta(x, 0.95) for x in (on, off))
    assert difference["std_error"] == pytest.approx(hypot(on_sd, off_sd), abs=1e-12)
    # Zou and Donner (2008): the distances of the bounds add as squares do
    below = hypot(on.mean() - on_low, off_high - off.mean())
    above = hypot(on_high - on.mean(), off.mean() - off_low)
    assert (difference["conf_low"], difference["conf_high"]) == pytest.approx(
        (difference["estimate"] - below, difference["estimate"] + above), abs=1e-12
    )
    for record in (difference, test):
        assert record["caveats"][0].startswith("the arms ran different cases")
    assert found.attrition.empty


def test_an_absent_arm_is_no_comparison(graded, rng) -> None:
    found = estimates.compare(graded[graded["arm"] == "skill-on"], rng=rng)
    assert found.estimates["caveats"].iloc[0] == ("no pairs",)
    assert found.attrition["reason"].unique().tolist() == ["not run in skill-off"]


def test_models_are_compared_by_naming_them_in_the_arm(graded, rng) -> None:
    renamed = graded.assign(arm=graded["arm"].map({"skill-on": "large", "skill-off": "small"}))
    found = estimates.compare(renamed, rng=rng, arms=("large", "small")).estimates
    pd.testing.assert_frame_equal(found, estimates.compare(graded, rng=rng).estimates)


@pytest.mark.parametrize("model", ["luna", "terra"])
@pytest.mark.parametrize("margin", [0.05, 0.10, 0.20])
@pytest.mark.parametrize("field", FIELDS)
def test_no_claim_of_no_change_on_four_tasks_has_power(case_runs, public, rng, field, margin, model) -> None:
    scores: dict[tuple[str, str, str], list[float]] = {}
    lines = public(f"agentops/evals/estate-ablation/results/sweep1-{model}.jsonl").read_text().splitlines()
    for row in map(json.loads, lines):
        scores.setdefault(("r", row["arm"], row["task"]), []).append(float(row["score"][field]))
    found = estimates.compare(
        case_runs(scores), rng=rng, arms=("full", "bare"), margin=margin, clusters="case_id"
    )
    assert found.estimates["n_clusters"].iloc[0] == 4
    claims = found.tests[found.tests["test"] != "difference"]
    assert len(claims) == 2
    assert all(any(c.startswith("underpowered") for c in caveats) for caveats in claims["caveats"])
    equivalence = claims.set_index("test").loc["equivalence", "p_value"]
    assert isnan(equivalence) or equivalence > 0.05
