"""``evalstats export``: what goes out comes back the same, and documents for others fit their schema."""

import csv
import json
from dataclasses import fields

import pytest

from evalstats import importers, store
from evalstats.cli import run_command
from evalstats.contract import Arm, ExpectationType, Outcome, Status
from evalstats.importers import Options
from evalstats.journal import encode
from evalstats.trials import ExpectationResult, Trial

CHECK = ExpectationResult(
    index=0, type=ExpectationType.REGEX, required=False, passed=None, detail='says "é, ;"\n'
)


def trial(case, index, **changes):
    return Trial(**{
        "run_id": "run-1", "suite_id": "door", "case_id": case, "arm": Arm.SKILL_ON, "trial_index": index,
        "status": Status.PASS, "outcome": Outcome.OK, "score": 1.0, "passed": True, "started_at": None, "cached": None,
    } | changes)  # fmt: skip


LOST = {"status": Status.ERROR, "outcome": Outcome.INFRASTRUCTURE, "score": None, "passed": None}
TRIALS = [
    trial("a", 1, score=1 / 3, passed=False, status=Status.FAIL, archetype="x", tokens_in=0, tokens_out=7,
          tokens_cache=2, cost=0.1 + 0.2, cost_source="tool", duration_s=1e-9, tool_calls=0, exit_code=-9,
          stop_reason="end,turn", error_class="E", cached=False,
          dimension_scores={"safety": 0.5, "speed": None}, expectations=(CHECK,),
          started_at="2026-01-01T04:00:00.123Z", utc_offset="-04:00"),
    trial("a", 2, attempt=3, started_at="2026-01-01T00:00:00.000Z", utc_offset="naive"),
    trial("a", 3, **LOST, reason="gone\naway"),
    trial("b\u2028,\"", 1, outcome=Outcome.TIMEOUT, score=0.0, passed=False, status=Status.FAIL,
          started_at="2026-01-01T00:00:00.000Z", utc_offset="+00:00"),
    trial("b\u2028,\"", 2, outcome=Outcome.DEGRADED, score=None, passed=None, status=Status.INCONCLUSIVE,
          reason="cached", cached=True),
    trial("c", 1, outcome=Outcome.SKIPPED, score=None, passed=None, status=Status.SKIPPED, reason="-"),
]  # fmt: skip


@pytest.fixture
def data(tmp_path):
    """Return a data folder whose store holds a run of ours and a pair from a log."""
    journal = tmp_path / "there/runs/run-1/journal/x.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"".join(encode(each.as_record()) for each in TRIALS))
    log = tmp_path / "pair.csv"
    rows = [f"r,lab/m,{arm},c{case},{case % 2}" for arm in ("skill-on", "skill-off") for case in range(6)]
    log.write_text("\n".join(["run,model,arm,case,score", *rows, ""]))
    folder = tmp_path / "data"
    importers.pour(importers.read([journal, log]), folder)
    store.ingest(folder / "evalstats.duckdb", folder / "runs")
    return folder


def said(trials):
    """Return what trials say, whatever run and file they are of."""
    ours = {
        "run_id",
        "source_path",
        "source_sha256",
        "source_locator",
        "seed",
        "isolation",
        "leftover_processes",
    }
    names = [f.name for f in fields(Trial) if f.name not in ours]
    return {(t.suite_id, t.arm, t.case_id, t.trial_index): {n: getattr(t, n) for n in names} for t in trials}


def test_a_table_is_read_back_to_identical_trials(data, tmp_path):
    out = tmp_path / "out/trials.csv"
    assert (
        run_command(
            ["export", "--format", "table", "--suite", "door", "--out", str(out), "--data", str(data)]
        )
        == 0
    )
    back = [found.trial for found in importers.read([out], Options(), format="table")]
    expected = said(TRIALS)
    expected["door", Arm.SKILL_ON, "a", 1]["started_at"] = "2026-01-01T04:00:00.123Z"
    assert said(back) == expected
    with out.open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(TRIALS)


def test_all_suites_go_into_one_table(data, tmp_path, capsys):
    out = tmp_path / "trials.csv"
    assert run_command(["export", "--format", "table", "--out", str(out), "--data", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == f"{len(TRIALS) + 12} trial(s)"
    reading = importers.read([out])
    assert len({found.run.suite_id for found in reading}) == 2


@pytest.mark.parametrize("suite", [None, "door"])
def test_parquet_is_a_lake(data, tmp_path, suite):
    out = tmp_path / "lake"
    words = ["export", "--format", "parquet", "--out", str(out), "--data", str(data)]
    assert run_command([*words, *(["--suite", suite] if suite else [])]) == 0
    with store.open(out) as lake, store.open(data / "evalstats.duckdb", read_only=True) as database:
        assert lake.trials("door").equals(database.trials("door"))
        assert lake.suites() == (["door"] if suite else ["door", "pair"])
    assert sum(importers.pour(importers.read([out]), tmp_path / "again").values()) == len(TRIALS) + (
        0 if suite else 12
    )


def test_documents_of_every_eval_ever(data, tmp_path):
    """The required fields, words and patterns of version 0.3.0 of the schema of the EvalEval Coalition."""
    out = tmp_path / "eee"
    words = [
        "export",
        "--format",
        "every-eval-ever",
        "--suite",
        "pair",
        "--out",
        str(out),
        "--data",
        str(data),
    ]
    assert run_command(words) == 0
    files = sorted(out.rglob("*.json"))
    assert len(files) == 2
    for file in files:
        folders = file.relative_to(out).parts
        assert (
            folders[:4] == ("data", "pair", "lab", "m") and file.stem[14] == "4" and file.stem[19] in "89ab"
        )
        document = json.loads(file.read_text())
        assert set(document) == {
            "schema_version", "evaluation_id", "evaluation_timestamp", "retrieved_timestamp", "source_metadata",
            "eval_library", "model_info", "evaluation_results",
        }  # fmt: skip
        assert document["schema_version"] == "0.3.0" and float(document["retrieved_timestamp"]) > 1.7e9
        assert document["source_metadata"]["source_type"] == "evaluation_run"
        assert document["source_metadata"]["evaluator_relationship"] in (
            "first_party",
            "third_party",
            "collaborative",
            "other",
        )
        assert document["model_info"]["id"] == "lab/m"
        assert document["model_info"]["additional_details"] == {
            "deployment_type": "unknown",
            "model_availability": "unknown",
        }
        (result,) = document["evaluation_results"]
        assert result["score_details"]["score"] == 0.5
        assert (
            result["source_data"]["source_type"] == "other"
            and result["metric_config"]["lower_is_better"] is False
        )
        uncertainty = result["score_details"]["uncertainty"]
        assert uncertainty["num_samples"] == 6
        assert (
            0
            <= uncertainty["confidence_interval"]["lower"]
            < 0.5
            < uncertainty["confidence_interval"]["upper"]
            <= 1
        )
        assert all(isinstance(value, str) for value in result["score_details"]["details"].values())


def test_what_cannot_be_exported_is_one_line(data, tmp_path, capsys):
    for words, message in (
        (["--suite", "absent"], "unknown suite 'absent'"),
        (["--store", str(tmp_path / "no.duckdb")], "there is no store here"),
    ):
        code = run_command(
            ["export", "--format", "table", "--out", str(tmp_path / "x"), "--data", str(data), *words]
        )
        error = capsys.readouterr().err
        assert code == 2 and message in error and len(error.strip().splitlines()) == 1
    (tmp_path / "file").write_text("")
    assert (
        run_command(["export", "--format", "table", "--out", str(tmp_path / "file/x"), "--data", str(data)])
        == 2
    )
    assert (
        run_command(
            ["export", "--format", "every-eval-ever", "--out", str(tmp_path / "file/x"), "--data", str(data)]
        )
        == 2
    )
    assert not list(tmp_path.glob(".*.tmp"))
