"""Lift: a public report of 50 prompts, four averages side by side, the older rule's medians."""

from __future__ import annotations

import json
from math import isnan

import numpy as np
import pandas as pd
import pytest

from evalstats import estimates

REPORT = "vegastack/docs/status/phase4-audit/A1-eval-rerun/evals/audit-2026-04-28-demo-fixtures.json"


def expectations_of(counts: dict[str, int]) -> pd.DataFrame:
    """Return the expectations as the store tells them: one row per case, expectation and arm."""
    rows = [
        {"case_id": case, "idx": idx, "required": True, "arm": arm}
        for case, count in counts.items()
        for idx in range(count)
        for arm in ("skill-on", "skill-off")
    ]
    return pd.DataFrame(rows)


def test_public_report_of_fifty_prompts(case_runs, public, rng) -> None:
    report = json.loads(public(REPORT).read_text())
    arms = {"skill-on": report["with_skill"], "skill-off": report["baseline"]}
    scores = {("r", arm, e["id"]): [e["passed"] / e["total"]] for arm, evals in arms.items() for e in evals}
    runs = case_runs(scores)
    runs["archetype"] = runs["case_id"].map({e["id"]: e["archetype"] for e in report["baseline"]})
    expectations = expectations_of({e["id"]: e["total"] for e in report["baseline"]})
    found = estimates.lift(runs, rng=rng, expectations=expectations).set_index("over")
    assert found.loc["expectations", "estimate"] == pytest.approx(0.0858895706, abs=5e-11)
    assert found.loc["archetype mean", "estimate"] == pytest.approx(0.110268, abs=5e-7)
    assert found.loc["archetype median", "estimate"] == 0
    fails = 1 - estimates.case_table(runs).groupby("arm")["score"].mean()
    assert found.loc["cases", "estimate"] == pytest.approx(
        1 - fails["skill-on"] / fails["skill-off"], abs=1e-12
    )
    assert found["n_cases"].tolist() == [50] * 4
    assert found.loc["archetype mean", "n_clusters"] == 12


def test_without_expectations_their_lift_is_unknown_not_zero(graded, rng) -> None:
    row = estimates.lift(graded, rng=rng).set_index("over").loc["expectations"]
    assert isnan(row["estimate"])
    assert row["caveats"] == ("the expectations of the cases were not given",)


def test_a_case_without_required_expectations_is_left_out_of_their_lift_only(case_runs, rng) -> None:
    scores = {("r", "skill-off", f"a{i}"): [0.25 * (i % 3)] for i in range(12)}
    scores |= {("r", "skill-on", f"a{i}"): [0.5 + 0.25 * (i % 3)] for i in range(12)}
    weights = {f"a{i}": 2 for i in range(11)}
    found = estimates.lift(case_runs(scores), rng=rng, expectations=expectations_of(weights)).set_index(
        "over"
    )
    assert found["n_cases"].to_dict()["expectations"] == 11
    assert found.loc["expectations", "n_trials"] == 22
    assert "1 case without a required expectation left out" in found.loc["expectations", "caveats"]
    assert found.loc["cases", "n_cases"] == 12


def test_no_headroom_is_undefined(case_runs, rng) -> None:
    scores = {("r", arm, f"a{i}"): [1.0, 1.0] for arm in ("skill-on", "skill-off") for i in range(8)}
    found = estimates.lift(case_runs(scores), rng=rng)
    assert found["estimate"].isna().all()
    assert "no headroom" in found["caveats"].iloc[0][0]


def test_same_rng_same_lift(graded) -> None:
    def low(seed: int) -> float:
        return float(estimates.lift(graded, rng=np.random.default_rng(seed))["conf_low"].iloc[0])

    assert low(1) == low(1)
    assert low(1) != low(2)


def test_archetypes_have_one_pooled_variance_and_no_lift_of_their_own(graded, rng) -> None:
    found = estimates.by_archetype(graded, rng=rng, level=0.8)
    wide = estimates.case_table(graded).pivot(index="case_id", columns="arm", values="score")
    d = wide["skill-on"] - wide["skill-off"]
    kind = d.index.str[0]
    pooled = ((d - d.groupby(kind).transform("mean")) ** 2).sum() / (24 - 6)
    differences = found[found["quantity"] == "difference"].set_index("archetype")
    assert differences["estimate"].to_dict() == pytest.approx(d.groupby(kind).mean().to_dict(), abs=1e-12)
    assert differences["std_error"].tolist() == pytest.approx([np.sqrt(pooled / 4)] * 6, abs=1e-12)
    assert differences["n_trials"].tolist() == [4 * 2 * 6 * 4] * 6
    lifts = found[found["quantity"] == "lift"]
    assert lifts["estimate"].isna().all()
    assert lifts["caveats"].iloc[0][0].startswith("4 of the 7 prompts needed")


def trials_of(scores: dict[tuple[str, str], list[float]]) -> pd.DataFrame:
    rows = [
        {
            "run_id": f"r-{arm}",
            "case_id": case,
            "arm": arm,
            "trial_index": index,
            "usable": True,
            "score": score,
            "started_at": pd.Timestamp("2026-11-01"),
        }
        for (arm, case), trials in scores.items()
        for index, score in enumerate(trials, 1)
    ]
    return pd.DataFrame(rows)


def test_legacy_lift_is_that_of_medians_of_the_first_three(rng) -> None:
    on, off = rng.random((10, 3)).round(2), rng.random((10, 3)).round(2) / 2
    scores = {("skill-on", f"a{i}"): list(on[i]) for i in range(10)}
    scores |= {("skill-off", f"a{i}"): [*off[i], 0.9] for i in range(10)}
    scores["skill-on", "b"] = [1.0, 1.0]
    row = estimates.legacy_lift(trials_of(scores).sample(frac=1, random_state=2), rng=rng).iloc[0]
    medians = [np.median(arm, axis=1).mean() for arm in (on, off)]
    assert row["estimate"] == pytest.approx(1 - (1 - medians[0]) / (1 - medians[1]), abs=1e-12)
    assert (row["over"], row["n_cases"]) == ("medians of 3", 10)
    assert "1 case without three usable trials in both arms left out" in row["caveats"]
    assert "10 trials beyond the first three of a case not used" in row["caveats"]
