"""From trials to cases: counts and sums, and frames that are keys and then the fields of a record."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from evalstats import estimates
from evalstats.contract import Arm, Outcome, Status
from evalstats.errors import UsageError
from evalstats.estimates.cases import require, squares_within
from evalstats.estimates.records import noted
from evalstats.stats import wilson
from evalstats.stats.results import Estimate, Test
from evalstats.trials import Trial

ESTIMATE, TEST = [f.name for f in fields(Estimate)], [f.name for f in fields(Test)]


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


def test_a_case_is_one_row_over_all_runs(case_runs) -> None:
    table = estimates.case_table(
        case_runs({("r1", "x", "a1"): [1, 0], ("r2", "x", "a1"): [1], ("r1", "x", "a2"): [None]})
    )
    assert table["case_id"].tolist() == ["a1", "a2"]
    assert table["score"].iloc[0] == pytest.approx(2 / 3)
    assert np.isnan(table["score"].iloc[1])


def test_the_column_of_the_clusters_comes_along(case_runs) -> None:
    runs = case_runs({("r1", "x", "a1"): [1], ("r1", "x", "b1"): [0]}).assign(repo=["one", "two"])
    assert estimates.case_table(runs, clusters="repo")["repo"].tolist() == ["one", "two"]
    assert "repo" not in estimates.case_table(runs)


def test_squares_within_a_row_are_those_of_numpy_and_leave_no_dust(case_runs) -> None:
    trials = [0.1, 0.7, 0.9, 0.3]
    runs = case_runs({("r", "x", "a"): trials, ("r", "x", "b"): [0.1] * 3, ("r", "x", "c"): [None]})
    assert squares_within(runs).tolist() == [pytest.approx(np.var(trials) * 4, abs=1e-12), 0.0, 0.0]


def test_frames_are_keys_then_the_fields_of_the_record(
    graded: pd.DataFrame, rng: np.random.Generator
) -> None:
    compared = estimates.compare(graded, rng=rng, by=["archetype"], margin=0.1)
    frames = {
        ("arm",): estimates.rate(graded),
        ("arm", "denominator"): estimates.denominators(graded),
        ("archetype",): estimates.difference(graded, rng=rng, by=["archetype"]),
        ("archetype", "quantity"): compared.estimates,
        ("over",): estimates.lift(graded, rng=rng),
        ("arm", "component"): estimates.components(graded),
        ("arm", "k", "succeeds"): estimates.attempts(graded),
        ("arm", "band"): estimates.bands(graded),
    }
    for keys, frame in frames.items():
        assert list(frame.columns) == [*keys, *ESTIMATE]
    assert list(estimates.by_archetype(graded, rng=rng).columns) == ["archetype", "quantity", *ESTIMATE]
    assert list(compared.tests.columns) == ["archetype", "test", *TEST]
    assert list(estimates.excess_variance(graded).columns) == ["arm", *TEST]


def test_nothing_estimated_is_an_empty_frame_of_the_same_columns(graded, rng) -> None:
    one_arm = graded[graded["arm"] == "skill-on"]
    found = estimates.difference(one_arm, rng=rng)
    assert list(found.columns) == ESTIMATE
    assert estimates.only(found) is None


def test_by_run_and_by_model(graded: pd.DataFrame) -> None:
    by_run = estimates.rate(graded, by=["arm", "run_id"])
    assert len(by_run) == 12
    assert by_run["n_trials"].unique().tolist() == [24 * 4]
    by_model = estimates.rate(graded.assign(model=graded["group_id"].isin(["r0"])), by=["model"])
    assert by_model["model"].tolist() == [False, True]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(
        UsageError, match="labels lack expectation, label; needed: case_id, expectation, label"
    ):
        require(pd.DataFrame({"case_id": []}), ["case_id", "expectation", "label"], "labels")


def test_a_caveat_is_said_once() -> None:
    assert noted(noted(wilson(1, 2), "once", ""), "once").caveats == ("once",)
