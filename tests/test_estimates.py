"""The bridge gives the numbers that scipy or a closed form gives on the same table."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from evalstats import estimates
from evalstats.contract import Arm, Outcome, Status
from evalstats.stats.results import Estimate, Test
from evalstats.trials import Trial

IDENTITY = dict.fromkeys(estimates.IDENTITY, "same")


def case_runs(scores: dict[tuple[str, str, str], list[float]], **changes: object) -> pd.DataFrame:
    """Return a case table from {(run, arm, case): trial scores}; runs are a day apart, in the order given."""
    runs = list(dict.fromkeys(run for run, _, _ in scores))
    rows = []
    for (run, arm, case), trials in scores.items():
        rows.append(
            {
                "suite_id": "s",
                "case_id": case,
                "archetype": case[0],
                "arm": arm,
                "run_id": f"{run}-{arm}",
                "group_id": run,
                "created_at": pd.Timestamp("2026-11-01", tz="UTC") + pd.Timedelta(days=runs.index(run)),
                "seed": runs.index(run),
                "n_trials": len(trials),
                "n_usable": len(trials),
                "n_passed": sum(score == 1 for score in trials),
                "score_sum": math.fsum(trials),
                "score_sumsq": math.fsum(score**2 for score in trials),
                "n_infrastructure": 0,
                "n_unusable": 0,
                "is_mock": False,
                **IDENTITY,
                **changes,
            }
        )
    return pd.DataFrame(rows)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture
def graded(rng: np.random.Generator) -> pd.DataFrame:
    """24 cases x 2 arms x 6 runs x 4 graded trials."""
    base = rng.uniform(0.2, 0.7, 24)
    scores = {}
    for run in range(6):
        for arm, lift in (("skill-on", 0.2), ("skill-off", 0.0)):
            for case in range(24):
                trials = np.round(np.clip(rng.normal(base[case] + lift, 0.2, 4), 0, 1), 2)
                scores[f"r{run}", arm, f"{'abcdef'[case % 6]}{case}"] = trials.tolist()
    return case_runs(scores)


def test_rate_of_graded_scores_is_the_t_interval_on_case_means(graded: pd.DataFrame) -> None:
    found = estimates.rate(graded, level=0.9).set_index("arm").loc["skill-on"]
    on = graded[graded["arm"] == "skill-on"].groupby("case_id")[["score_sum", "n_usable"]].sum()
    means = (on["score_sum"] / on["n_usable"]).to_numpy()
    low, high = scipy_stats.t.interval(0.9, len(means) - 1, means.mean(), scipy_stats.sem(means))
    assert (found["conf_low"], found["conf_high"]) == (
        pytest.approx(low, abs=1e-12),
        pytest.approx(high, abs=1e-12),
    )
    assert (found["n_cases"], found["n_trials"], found["population"]) == (24, 24 * 6 * 4, "SUPER")


def test_difference_is_the_paired_t_of_scipy(graded: pd.DataFrame, rng: np.random.Generator) -> None:
    found = estimates.difference(graded, rng=rng, level=0.8).iloc[0]
    wide = estimates.case_table(graded).pivot(index="case_id", columns="arm", values="score")
    outside = scipy_stats.ttest_rel(wide["skill-on"], wide["skill-off"]).confidence_interval(0.8)
    assert (found["conf_low"], found["conf_high"]) == (
        pytest.approx(outside.low, abs=1e-12),
        pytest.approx(outside.high, abs=1e-12),
    )


def test_swapping_the_arms_negates_the_difference(graded: pd.DataFrame, rng: np.random.Generator) -> None:
    there = estimates.difference(graded, rng=rng).iloc[0]
    back = estimates.difference(graded, rng=rng, arms=("skill-off", "skill-on")).iloc[0]
    assert there["estimate"] == pytest.approx(-back["estimate"], abs=1e-15)
    assert there["conf_low"] == pytest.approx(-back["conf_high"], abs=1e-12)


def test_observed_band_is_the_textbook_prediction_interval(graded: pd.DataFrame) -> None:
    bands = estimates.bands(graded, level=0.8).set_index(["arm", "band"])
    means = estimates.series(graded[graded["arm"] == "skill-on"])["score"].to_numpy(float)
    half = scipy_stats.t.ppf(0.9, 5) * means.std(ddof=1) * math.sqrt(1 + 1 / 6)
    assert bands.loc[("skill-on", "observed"), "conf_high"] == pytest.approx(means.mean() + half, abs=1e-12)


def test_model_band_rests_on_the_variance_between_trials_of_one_case() -> None:
    # Two cases, two trials each: variances .5 and 0, so a run mean varies by (.5/2 + 0/2) / 4 = .0625.
    one = case_runs({("r1", "skill-on", "a1"): [0, 1], ("r1", "skill-on", "a2"): [1, 1]})
    row = estimates.series(one).iloc[0]
    assert (row["score"], row["within_variance"]) == (0.75, pytest.approx(0.0625))
    chosen = estimates.which_band(estimates.bands(one))
    assert chosen["band"].tolist() == ["model"]
    assert chosen["std_error"].iloc[0] == pytest.approx(math.sqrt(0.0625 * 2))


def test_excess_variance_is_silent_on_trial_noise_and_sees_a_day_effect(rng: np.random.Generator) -> None:
    def world(day_effect: float) -> float:
        scores = {}
        for run in range(20):
            shift = day_effect * (1 if run % 2 else -1)
            for case in range(30):
                scores[f"r{run}", "skill-on", f"a{case}"] = (
                    (rng.random(4) < 0.5 + shift).astype(float).tolist()
                )
        return float(estimates.excess_variance(case_runs(scores))["p_value"].iloc[0])

    assert world(0.0) > 0.001
    assert world(0.2) < 1e-6


def test_comparable_cuts_other_identities_and_replicas(graded: pd.DataFrame) -> None:
    changed = graded.copy()
    changed.loc[changed["group_id"].isin(["r0", "r1"]), "model"] = "older"
    changed.loc[changed["group_id"] == "r3", "seed"] = 2
    kept, notes = estimates.comparable(changed)
    assert sorted(kept["group_id"].unique()) == ["r2", "r4", "r5"]
    assert len(notes) == 6
    assert sum("model changed" in note for note in notes) == 4
    assert sum("replica" in note for note in notes) == 2


def test_a_run_of_some_cases_is_no_run_of_the_suite(graded: pd.DataFrame) -> None:
    partial = graded[(graded["group_id"] != "r5") | (graded["archetype"] == "a")]
    kept, notes = estimates.comparable(partial)
    assert "r5" not in set(kept["group_id"])
    assert notes == [f"r5-{arm} left out: it ran 4 of 24 cases" for arm in ("skill-on", "skill-off")]


def test_unknown_identity_equals_unknown_identity(graded: pd.DataFrame) -> None:
    kept, notes = estimates.comparable(graded.assign(model=None))
    assert (len(kept), notes) == (len(graded), [])


def test_a_case_without_usable_trials_is_left_out_and_said(rng: np.random.Generator) -> None:
    table = case_runs({("r1", "skill-on", f"a{i}"): [1.0, 0.0] for i in range(4)})
    table.loc[0, ["n_usable", "n_passed", "score_sum", "score_sumsq", "n_infrastructure"]] = [
        0,
        0,
        0.0,
        0.0,
        2,
    ]
    found = estimates.rate(table).iloc[0]
    assert found["n_cases"] == 3
    assert "1 case(s) without a usable trial left out" in found["caveats"]
    row = estimates.series(table).iloc[0]
    assert (row["n_cases"], row["n_trials"], row["usable"], row["infrastructure"]) == (3, 8, 6, 2)


def test_flakiness_counts_changes_of_the_majority() -> None:
    table = case_runs(
        {(f"r{run}", "skill-on", "a1"): [float(run % 2)] * 2 for run in range(4)}
        | {(f"r{run}", "skill-on", "a2"): [1.0, 1.0] for run in range(4)}
    )
    found = estimates.flakiness(table).set_index("case_id")
    assert found["verdict_flips"].to_dict() == {"a1": 1.0, "a2": 0.0}
    assert found.loc["a1", "run_sd"] == pytest.approx(np.std([0, 1, 0, 1], ddof=1))


def test_a_single_run_has_unknown_flakiness_not_zero() -> None:
    found = estimates.flakiness(case_runs({("r1", "skill-on", "a1"): [1.0]})).iloc[0]
    assert math.isnan(found["run_sd"])
    assert math.isnan(found["verdict_flips"])


def test_frames_are_keys_then_the_fields_of_the_record(
    graded: pd.DataFrame, rng: np.random.Generator
) -> None:
    record, test = [f.name for f in fields(Estimate)], [f.name for f in fields(Test)]
    assert list(estimates.rate(graded).columns) == ["arm", *record]
    assert list(estimates.difference(graded, rng=rng, by=["archetype"]).columns) == ["archetype", *record]
    assert list(estimates.bands(graded).columns) == ["arm", "band", *record]
    assert list(estimates.excess_variance(graded).columns) == ["arm", *test]


def test_trials_in_memory_give_the_table_of_the_store() -> None:
    def trial(index: int, score: float | None) -> Trial:
        known = score is not None
        return Trial(
            run_id="r",
            suite_id="s",
            case_id="c",
            arm=Arm.SKILL_ON,
            trial_index=index,
            status=Status.PASS if score == 1 else Status.FAIL if known else Status.ERROR,
            outcome=Outcome.OK if known else Outcome.INFRASTRUCTURE,
            reason=None if known else "no such command",
            score=score,
            passed=score == 1 if known else None,
            started_at="2026-11-30T00:00:00.000Z",
        )

    row = estimates.case_runs_of([trial(1, 1.0), trial(2, 0.5), trial(3, None)]).iloc[0]
    names = ["n_trials", "n_usable", "n_passed", "score_sum", "score_sumsq", "n_infrastructure"]
    assert [row[name] for name in names] == [3, 2, 1, 1.5, 1.25, 1]


def test_the_rng_decides_only_where_chance_is_used(graded: pd.DataFrame) -> None:
    few = graded[graded["case_id"].isin(sorted(graded["case_id"].unique())[:4])]
    few = few.assign(score_sum=few["n_passed"] + 0.0, score_sumsq=few["n_passed"] + 0.0)

    def low(seed: int) -> float:
        return float(estimates.difference(few, rng=np.random.default_rng(seed)).iloc[0]["conf_low"])

    assert low(1) == low(1)
    assert low(1) != low(2)
