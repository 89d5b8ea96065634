from __future__ import annotations

import hashlib
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstats import store
from evalstats.contract import Arm, Outcome
from evalstats.errors import StoreError


@pytest.fixture
def opened(path: Path, runs: Any) -> Any:
    runs.add("r2", created_at="2026-03-02T00:00:00Z")
    runs.add(
        "r1",
        [runs.trial("r1", "c1", 1, arm=Arm.SKILL_OFF, score=0.5, passed=False)],
        arm="skill-off",
        seed=None,
    )
    runs.add("s1", [runs.trial("s1", "c1", 1, suite_id="side")], suite={"id": "side"}, is_mock=None)
    store.ingest(path, runs.folder)
    with store.open(path, read_only=True) as answered:
        yield answered


def documented(method: Any) -> list[str]:
    """The columns that a docstring promises, without what stands in brackets."""
    import re

    text = re.sub(r"\([^)]*\)", "", method.__doc__.split("Columns: ")[1].split(".\n")[0].split(". The")[0])
    text = re.sub(
        r"and what a comparison must hold equal:|then|of the expectation", "", " ".join(text.split())
    )
    return [name.strip() for name in text.split(",")]


def test_the_columns_are_those_documented(opened: Any) -> None:
    asked = {
        "runs": opened.runs(),
        "case_runs": opened.case_runs("demo"),
        "case_hashes": opened.case_hashes("demo"),
        "trials": opened.trials("demo"),
        "expectation_rates": opened.expectation_rates("demo"),
        "case_trials": opened.case_trials("r2", "c1"),
        "outcomes": opened.outcomes("demo"),
        "case_evidence": opened.case_evidence("demo"),
        "run_evidence": opened.run_evidence("demo"),
        "judgements": opened.judgements("demo"),
        "rewordings": opened.rewordings("demo"),
        "labels": opened.labels("demo"),
    }
    for name, frame in asked.items():
        assert list(frame.columns) == documented(getattr(store.Store, name)), name


def test_case_hashes(opened: Any) -> None:
    assert opened.case_hashes("demo").to_numpy().tolist() == [
        ["r1", "c1", "6" * 64],
        ["r1", "c2", "7" * 64],
        ["r2", "c1", "6" * 64],
        ["r2", "c2", "7" * 64],
    ]


def test_what_a_gate_asks_of_runs_and_cases(opened: Any) -> None:
    runs = opened.run_evidence("demo")
    assert runs[["run_id", "git_ref", "median_duration_s"]].to_numpy().tolist() == [
        ["r1", "main", 0.25],
        ["r2", "main", 0.25],
    ]
    assert runs["cost"].isna().all()  # no trial has a cost: unknown, not 0
    cases = opened.case_evidence("demo").set_index(["run_id", "case_id"])
    told = cases.loc[("r2", "c1")]
    # of four usable trials two pass, one scores a third, one nothing: the median lies between 1/3 and 1
    assert (told["n_usable"], told["n_passed"]) == (4, 2)
    assert told["median_score"] == pytest.approx(2 / 3) and told["score_sum"] == pytest.approx(2 + 1 / 3)
    assert list(told["dimensions"]) == ["correctness", "safety"]


def test_case_runs(opened: Any) -> None:
    frame = opened.case_runs("demo")
    shown = ["run_id", "case_id", "arm", "n_trials", "n_usable", "n_passed", "n_infrastructure", "n_unusable"]
    assert frame[shown].to_numpy().tolist() == [
        ["r1", "c1", "skill-off", 1, 1, 0, 0, 0],  # the older run comes first
        ["r2", "c1", "skill-on", 6, 4, 2, 1, 2],
        ["r2", "c2", "skill-on", 6, 4, 2, 1, 2],
    ]
    assert frame["score_sum"].tolist() == [0.5, 2.333333333333, 2.333333333333]
    assert frame["score_sumsq"].tolist() == [0.25, 2.111111111111, 2.111111111111]
    assert frame["archetype"].fillna("-").tolist() == ["A1", "A1", "-"]
    assert frame["seed"].fillna(0).tolist() == [0, 2**47 + 1, 2**47 + 1]
    assert frame.loc[1, ["suite_id", "group_id", "suite_scoring", "model", "registry_version"]].tolist() == [
        "demo", "g1", "3" * 64, "m1", "r9"
    ]  # fmt: skip
    assert frame["judge_model"].isna().all()
    assert {name: str(frame[name].dtype) for name in ("case_id", "seed", "n_trials", "score_sum", "is_mock")} == {
        "case_id": "str", "seed": "Int64", "n_trials": "int64", "score_sum": "float64", "is_mock": "boolean"
    }  # fmt: skip
    assert str(frame["created_at"].dtype) == "datetime64[us]"


def test_case_runs_of_an_arm_or_of_runs(opened: Any) -> None:
    assert opened.case_runs("demo", arm="skill-off")["run_id"].tolist() == ["r1"]
    assert opened.case_runs("demo", run_ids=["r2"])["run_id"].unique().tolist() == ["r2"]
    assert opened.case_runs("demo", run_ids=[]).empty
    assert opened.case_runs("demo", arm="baseline").empty


def test_no_usable_trial_has_sums_of_nothing(path: Path, runs: Any) -> None:
    runs.add("r1", [trial for trial in runs.mixed("r1", "c1") if not trial.outcome.usable])
    store.ingest(path, runs.folder)
    with store.open(path) as opened:
        row = opened.case_runs("demo").iloc[0]
    assert row[["n_trials", "n_usable", "score_sum", "score_sumsq", "n_unusable"]].tolist() == [
        2,
        0,
        0.0,
        0.0,
        2,
    ]


def test_runs(opened: Any) -> None:
    assert opened.suites() == ["demo", "side"]
    frame = opened.runs()
    assert frame["run_id"].tolist() == ["r1", "s1", "r2"]
    assert frame[["n_cases", "n_trials", "n_usable"]].to_numpy().tolist() == [
        [1, 1, 1],
        [1, 1, 1],
        [2, 12, 8],
    ]
    assert frame["is_mock"].fillna(True).tolist() == [False, True, False]
    assert opened.runs("side")["run_id"].tolist() == ["s1"]


def test_trials(opened: Any) -> None:
    frame = opened.trials("demo", ["r2"])
    assert frame["trial_index"].tolist() == [1, 2, 3, 4, 5, 6] * 2
    assert frame["score"].isna().tolist() == [False, False, False, False, True, True] * 2
    assert frame["passed"].isna().tolist() == [False, False, False, False, True, True] * 2
    assert frame["outcome"].tolist()[:6] == ["ok", "ok", "ok", "timeout", "infrastructure", "unscored"]
    assert frame["usable"].tolist()[:6] == [True, True, True, True, False, False]
    assert frame["seed"].tolist()[:2] == [2**47 + 1, 2**47 + 2]


def test_expectation_rates(opened: Any) -> None:
    frame = opened.expectation_rates("demo")
    assert frame[frame["case_id"] == "c1"].drop(columns="archetype").to_numpy().tolist() == [
        ["c1", 0, "exit_code", True, "skill-off", 1, 1, 0],
        ["c1", 0, "exit_code", True, "skill-on", 5, 2, 1],
        ["c1", 1, "manual_review", False, "skill-off", 1, 0, 1],
        ["c1", 1, "manual_review", False, "skill-on", 2, 0, 2],
    ]


def test_contaminated_trials_enter_no_expectation_rate(path: Path, runs: Any) -> None:
    spoilt = runs.trial("r1", "c1", 2, outcome=Outcome.CONTAMINATED, score=None, passed=None, reason="seen")
    runs.add("r1", [runs.trial("r1", "c1", 1), spoilt])
    store.ingest(path, runs.folder)
    with store.open(path) as opened:
        assert opened.expectation_rates("demo")["n"].tolist() == [1, 1]


def test_case_trials(opened: Any) -> None:
    frame = opened.case_trials("r2", "c1")
    assert frame[["trial_index", "idx"]].fillna(-1).to_numpy().tolist() == [
        [1, 0], [1, 1], [2, 0], [2, 1], [3, 0], [4, 0], [5, -1], [6, 0]
    ]  # fmt: skip
    assert frame["passed"].fillna(False).tolist() == [True, False, True, False, False, False, False, False]
    assert opened.case_trials("r2", "no such case").empty


def test_outcomes(opened: Any) -> None:
    assert opened.outcomes("demo").to_numpy().tolist() == [
        ["r1", "skill-off", "ok", True, 1],
        ["r2", "skill-on", "infrastructure", False, 2],
        ["r2", "skill-on", "ok", True, 6],
        ["r2", "skill-on", "timeout", True, 2],
        ["r2", "skill-on", "unscored", False, 2],
    ]


def test_what_is_not_there_is_named_with_what_is(opened: Any) -> None:
    for ask in (opened.runs, opened.case_runs, opened.trials, opened.expectation_rates, opened.outcomes):
        with pytest.raises(StoreError, match="unknown suite 'dmo'; known: demo, side"):
            ask("dmo")
    with pytest.raises(StoreError, match="unknown run 's1'; known: r1, r2"):
        opened.case_runs("demo", run_ids=["r1", "s1"])
    with pytest.raises(StoreError, match="unknown run 'r9'; known: r1, r2, s1"):
        opened.case_trials("r9", "c1")
    with pytest.raises(StoreError, match="arm: unknown arm; known: skill-on, skill-off"):
        opened.case_runs("demo", arm="left")


def test_sums_are_exact_and_the_same_on_every_thread(path: Path) -> None:
    fill = """
        INSERT INTO trials BY NAME
        SELECT
            sha256(i::VARCHAR) AS trial_key, 'r1' AS run_id, 's' AS suite_id, 'c' || (i % 3) AS case_id,
            'skill-on' AS arm, i + 1 AS trial_index, 1 AS attempt, 'pass' AS status, 'ok' AS outcome,
            true AS usable, (hash(i) % 1000003) / 1000002 AS score, '2026-01-01'::TIMESTAMP AS started_at
        FROM range(400000) AS numbers (i)
    """
    with store.open(path) as opened:
        ask = opened.connection.execute
        ask(
            "INSERT INTO runs (run_id, suite_id, arm, created_at, manifest)"
            " VALUES ('r1', 's', 'skill-on', '2026-01-01', '{}')"
        )
        ask(fill)
        assert ask("SELECT current_setting('threads') > 1").fetchall() == [(True,)]
        frames = [opened.case_runs("s") for _ in range(5)]
        scores = ask("SELECT case_id, score FROM trials").fetchall()
    seen = {
        hashlib.sha256(
            frame["score_sum"].to_numpy().tobytes() + frame["score_sumsq"].to_numpy().tobytes()
        ).hexdigest()
        for frame in frames
    }
    assert len(seen) == 1
    exact: dict[str, Decimal] = defaultdict(Decimal)
    for case_id, score in scores:
        exact[case_id] += Decimal(score).quantize(Decimal("1e-12"))
    assert frames[0]["score_sum"].tolist() == pytest.approx(
        [float(exact[c]) for c in ("c0", "c1", "c2")], abs=1e-9
    )
