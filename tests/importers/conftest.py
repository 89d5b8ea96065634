"""Small logs of every format, made here, and the two ways to read them."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstats import importers
from evalstats.contract import Arm, Outcome, Status
from evalstats.importers import Options
from evalstats.journal import encode
from evalstats.trials import Trial

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of the public files, or skip."""
    if not SHARED.is_dir():
        pytest.skip("the public files do not lie beside the repository")
    return SHARED


@pytest.fixture
def read() -> Callable[..., Any]:
    """Return a function that reads paths and returns the reading and what it found."""

    def reading(*paths: Path, format: str | None = None, data: Path | None = None, **options: Any) -> Any:
        found = importers.read(list(paths), Options(**options), format=format, data=data)
        return found, list(found)

    return reading


@pytest.fixture
def pour(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that imports paths into a data folder and returns how many trials were new."""

    def poured(*paths: Path, data: Path | None = None, write: bool = True, **options: Any) -> int:
        data = data or tmp_path / "data"
        reading = importers.read(list(paths), Options(**options), data=data)
        return sum(importers.pour(reading, data, write=write).values())

    return poured


@pytest.fixture
def sample(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the small log of a format and returns its path."""

    def write(name: str, folder: str = "logs", **changes: Any) -> Path:
        file, content = SAMPLES[name](**changes)
        path = tmp_path / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        for other, text in BESIDE.get(name, {}).items():
            (path.parent / other).write_bytes(text)
        return path

    return write


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()


def _lines(rows: list[Any]) -> bytes:
    return b"".join(_json(row) + b"\n" for row in rows)


# --- Inspect AI -----------------------------------------------------------------------------------


def inspect_header(**changes: Any) -> dict[str, Any]:
    """Return the header of a log of two cases with two epochs."""
    spec = {
        "eval_id": "e1", "run_id": "r1", "task_id": "t1", "task": "suite/sums", "task_version": 0,
        "created": "2026-01-02T03:04:05-04:00", "model": "lab/model",
        "dataset": {"name": "sums", "samples": 2, "sample_ids": ["a", "b"]},
        "config": {"epochs": 2}, "packages": {"inspect_ai": "0.3.285"}, "scorers": [{"name": "match"}],
    }  # fmt: skip
    metrics = {"accuracy": {"name": "accuracy", "value": 0.75}, "stderr": {"name": "stderr", "value": 0.25}}
    results = {"scores": [{"name": "match", "scorer": "match", "reducer": "mean", "metrics": metrics}]}
    header: dict[str, Any] = {"version": 2, "status": "success", "eval": spec, "results": results}
    spec |= changes.pop("spec", {})
    return header | changes


def inspect_sample(case: Any, epoch: int, value: Any, **changes: Any) -> dict[str, Any]:
    """Return one sample."""
    return {
        "id": case, "epoch": epoch, "input": f"ask {case}", "target": "yes",
        "scores": {"match": {"value": value, "answer": "x"}}, "metadata": {"topic": f"topic-{case}"},
        "model_usage": {"lab/model": {"input_tokens": 5, "output_tokens": 7}},
        "started_at": "2026-01-02T03:04:06+00:00", "completed_at": "2026-01-02T03:04:08+00:00",
        "total_time": 2.0, "uuid": f"{case}-{epoch}",
    } | changes  # fmt: skip


INSPECT_SAMPLES = [
    inspect_sample("a", 1, "C"), inspect_sample("a", 2, "C"),
    inspect_sample("b", 1, "C"), inspect_sample("b", 2, "I"),
]  # fmt: skip


def inspect_json(samples: Any = None, **changes: Any) -> tuple[str, bytes]:
    document = inspect_header(**changes)
    return "log.json", _json({**document, "samples": INSPECT_SAMPLES if samples is None else samples})


def inspect_eval(
    samples: Any = None,
    method: int = zipfile.ZIP_DEFLATED,
    more: Any = (),
    header: bool = True,
    **changes: Any,
) -> tuple[str, bytes]:
    """Return an archive; ``more`` are further (member, document) pairs, which may repeat a name."""
    buffer = io.BytesIO()
    document = inspect_header(**changes)
    with zipfile.ZipFile(buffer, "w", method) as archive:
        start = {"version": 2, "eval": document["eval"]}
        archive.writestr("_journal/start.json", json.dumps(start))
        for each in INSPECT_SAMPLES if samples is None else samples:
            archive.writestr(f"samples/{each['id']}_epoch_{each['epoch']}.json", json.dumps(each))
        for name, content in more:
            archive.writestr(name, json.dumps(content))
        if header:
            archive.writestr("header.json", json.dumps(document))
    return "log.eval", buffer.getvalue()


# --- lm-evaluation-harness ------------------------------------------------------------------------


def lm_sample(doc: int, score: float, name: str = "none", **changes: Any) -> dict[str, Any]:
    return {
        "doc_id": doc, "doc": {"q": f"question {doc}"}, "target": "yes", "arguments": {},
        "resps": [["yes"]], "filtered_resps": ["yes"], "filter": name, "metrics": ["exact_match"],
        "doc_hash": f"d{doc}", "exact_match": score,
    } | changes  # fmt: skip


LM_RESULTS = {
    "results": {"task": {"alias": "task", "exact_match,none": 2 / 3, "exact_match_stderr,none": 1 / 3}},
    "configs": {
        "task": {
            "repeats": 1, "metric_list": [{"metric": "exact_match", "ignore_case": True}],
            "filter_list": [{"name": "none", "filter": [{"function": "take_first"}]}],
        }
    },
    "versions": {"task": 1}, "n-samples": {"task": {"original": 3, "effective": 3}},
    "higher_is_better": {"task": {"exact_match": True}}, "model_name": "lab/model", "date": 1767225600.5,
}  # fmt: skip


def lm_eval(rows: Any = None) -> tuple[str, bytes]:
    rows = [lm_sample(0, 1.0), lm_sample(1, 0.0), lm_sample(2, 1.0)] if rows is None else rows
    return "samples_task_2026-01-01T00-00-00.500000.jsonl", _lines(rows)


# --- promptfoo ------------------------------------------------------------------------------------


def promptfoo_row(
    index: int, passed: bool, case: str | None = "c1", provider: str = "lab:model", **changes: Any
) -> dict[str, Any]:
    test: dict[str, Any] = {
        "vars": {"q": case},
        "assert": [{"type": "equals"}],
        "options": {},
        "metadata": {},
    }
    test |= {"description": case} if case else {}
    test |= changes.pop("test", {})
    return {
        "id": f"row-{index}-{provider}", "promptIdx": 0, "promptId": "p1", "testIdx": index, "testCase": test,
        "vars": test["vars"], "provider": {"id": provider, "label": ""}, "success": passed,
        "score": float(passed), "namedScores": {}, "failureReason": 0 if passed else 1,
        "error": None if passed else "assertion failed", "latencyMs": 20, "cost": 0.01,
        "gradingResult": {"pass": passed, "componentResults": [{"pass": passed, "assertion": {"type": "equals"}}]},
        "response": {"output": "x", "cached": False, "tokenUsage": {"prompt": 3, "completion": 4}},
    } | changes  # fmt: skip


PROMPTFOO_ROWS = [promptfoo_row(i, ok, case) for i, (case, ok) in enumerate([
    ("c1", True), ("c1", True), ("c2", True), ("c2", False),
])]  # fmt: skip


def promptfoo(rows: Any = None, repeat: int | None = 2, **changes: Any) -> tuple[str, bytes]:
    rows = PROMPTFOO_ROWS if rows is None else rows
    prompts = [{"id": "p1", "provider": "lab:model", "metrics": {"testPassCount": 3, "testFailCount": 1}}]
    document = {
        "evalId": "eval-1",
        "results": {"version": 3, "timestamp": "2026-01-01T00:00:00Z", "prompts": prompts, "results": rows},
        "config": {"description": "greetings"}, "runtimeOptions": {} if repeat is None else {"repeat": repeat},
        "metadata": {"promptfooVersion": "0.121", "evaluationCreatedAt": "2026-01-01T00:00:00Z"},
    }  # fmt: skip
    return "results.json", _json(document | changes)


def promptfoo_lines(rows: Any = None) -> tuple[str, bytes]:
    return "results.jsonl", _lines(PROMPTFOO_ROWS if rows is None else rows)


# --- the others -----------------------------------------------------------------------------------


def evals_event(number: int, sample: str, kind: str, **data: Any) -> dict[str, Any]:
    return {
        "run_id": "run1", "event_id": number, "sample_id": sample, "type": kind, "data": data, "created_by": "",
        "created_at": "2026-01-01 00:00:01+00:00",
    }  # fmt: skip


EVALS_SPEC = {
    "spec": {
        "completion_fns": ["lab-model"], "eval_name": "sums.dev.v0", "base_eval": "sums", "split": "dev",
        "run_config": {"seed": 1, "eval_spec": {"args": {"choice_scores": {"A": 1.0, "B": 0.5}}}},
        "run_id": "run1", "created_at": "2026-01-01 00:00:00",
    }
}  # fmt: skip


def openai_evals(rows: Any = None) -> tuple[str, bytes]:
    events = [
        EVALS_SPEC,
        evals_event(0, "sums.dev.0", "sampling", prompt="2+2"),
        evals_event(1, "sums.dev.0", "match", correct=True),
        evals_event(2, "sums.dev.1", "match", correct=False),
        evals_event(3, "sums.dev.2", "error", type="RateLimit"),
        {"final_report": {"accuracy": 0.5}, "run_id": "run1"},
    ]
    return "run.jsonl", _lines(events if rows is None else rows)


def swe_bench(**changes: Any) -> tuple[str, bytes]:
    report = {
        "total_instances": 6, "submitted_instances": 5, "completed_instances": 3, "resolved_instances": 1,
        "unresolved_instances": 1, "empty_patch_instances": 1, "error_instances": 1,
        "submitted_ids": ["o__a-1", "o__a-2", "o__a-3", "o__b-4", "o__b-5"],
        "completed_ids": ["o__a-1", "o__a-2", "o__b-4"], "incomplete_ids": ["o__b-5"],
        "resolved_ids": ["o__a-1"], "unresolved_ids": ["o__a-2"], "empty_patch_ids": ["o__a-3"],
        "error_ids": ["o__b-4"], "schema_version": 2,
    }  # fmt: skip
    return "agent.run1.json", _json(report | changes)


JUNIT = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="6" failures="1"
 errors="1" skipped="1" timestamp="2026-01-01T00:00:00" hostname="h">
<testcase classname="t" name="test_a[1-2]" time="0.5">
<properties><property name="tokens" value="7"/></properties></testcase>
<testcase classname="t" name="test_a[2-2]" time="0.5"><failure message="no &#955;">trace</failure></testcase>
<testcase classname="t" name="test_b[x-1-2]" time="0.1"/>
<testcase classname="t" name="test_b[x-2-2]" time="0.1"><error message="fixture" type="E">trace</error></testcase>
<testcase classname="t" name="test_c" time="0.1"><skipped type="pytest.xfail" message="known"/></testcase>
<testcase classname="t" name="test_d[3-4]" time="0.1"/>
</testsuite></testsuites>
"""


def junit(text: str = JUNIT) -> tuple[str, bytes]:
    return "report.xml", text.encode()


def skill_run(case: int, arm: str, number: int, passes: list[bool], **changes: Any) -> dict[str, Any]:
    checks = [{"text": f"check {i}", "passed": ok, "evidence": ""} for i, ok in enumerate(passes)]
    return {
        "eval_id": case, "configuration": arm, "run_number": number, "expectations": checks,
        "result": {
            "pass_rate": round(sum(passes) / len(passes), 2), "passed": sum(passes), "total": len(passes),
            "time_seconds": 0.0, "tokens": 900, "tool_calls": 2, "errors": 0,
        },
    } | changes  # fmt: skip


def skill_creator(runs: Any = None, **changes: Any) -> tuple[str, bytes]:
    runs = [
        skill_run(1, "with_skill", 1, [True, True]), skill_run(1, "without_skill", 1, [True, False]),
        skill_run(2, "with_skill", 1, [True, False]), skill_run(2, "without_skill", 1, [False, False]),
    ] if runs is None else runs  # fmt: skip
    rates = {"with_skill": {"pass_rate": {"mean": 0.75, "stddev": 0.3536}},
             "without_skill": {"pass_rate": {"mean": 0.25, "stddev": 0.3536}}}  # fmt: skip
    meta = {"skill_name": "tidy", "executor_model": "<model-name>", "timestamp": "2026-01-01T00:00:00Z",
            "runs_per_configuration": 3}  # fmt: skip
    return "benchmark.json", _json(
        {"metadata": meta, "runs": runs, "run_summary": rates, "notes": []} | changes
    )


def helm(rows: Any = None) -> tuple[str, bytes]:
    def stat(name: str, total: float, **more: Any) -> dict[str, Any]:
        return {"name": {"name": name, "split": "test", **more}, "count": 1, "sum": total}

    rows = [
        {"instance_id": "id1", "train_trial_index": 0,
         "stats": [stat("exact_match", 1.0), stat("num_output_tokens", 9)]},
        {"instance_id": "id2", "train_trial_index": 0,
         "stats": [stat("exact_match", 0.0), stat("inference_runtime", 0.5)]},
        {"instance_id": "id2", "train_trial_index": 1, "stats": [stat("exact_match", 1.0)]},
        {"instance_id": "id1", "perturbation": {"name": "typos"}, "train_trial_index": 0,
         "stats": [stat("exact_match", 0.0, perturbation={"name": "typos"})]},
    ] if rows is None else rows  # fmt: skip
    return "per_instance_stats.json", _json(rows)


HELM_SPEC = {
    "name": "sums:model=lab_model",
    "adapter_spec": {"model": "lab/model"},
    "metric_specs": [{"class_name": "m"}],
}


def terminal_bench(results: Any = None, **changes: Any) -> tuple[str, bytes]:
    def result(task: str, number: int, resolved: Any, mode: str = "unset") -> dict[str, Any]:
        return {
            "task_id": task, "trial_name": f"{task}.{number}-of-2.run1", "is_resolved": resolved, "failure_mode": mode,
            "total_input_tokens": 0, "total_output_tokens": 12, "trial_started_at": "2026-01-01T00:00:00+00:00",
            "trial_ended_at": "2026-01-01T00:01:00+00:00",
        }  # fmt: skip

    results = [
        result("make", 1, True), result("make", 2, False), result("edit", 1, None, "unknown_agent_error"),
        result("edit", 2, True, "agent_timeout"), result("grep", 1, False, "agent_timeout"),
        result("grep", 2, None, "parse_error"),
    ] if results is None else results  # fmt: skip
    document = {"id": "x", "results": results, "n_resolved": 2, "accuracy": 2 / 6}
    return "results.json", _json(document | changes)


def terminal_bench_table() -> tuple[str, bytes]:
    rows = ["submission,run,task_id,is_resolved,failure_mode,started_at",
            "agent,r1,make,1,unset,2026-01-01T00:00:00+00:00", "agent,r1,edit,,unknown_agent_error,",
            "agent,r2,make,0,unset,", "agent,r2,edit,0,agent_timeout,"]  # fmt: skip
    return "outcomes.csv", "\n".join(rows).encode() + b"\n"


def harbor(**changes: Any) -> tuple[str, bytes]:
    result = {
        "task_name": "make", "trial_name": "make__abc", "task_checksum": "c1", "config": {"task": {"source": "tb"}},
        "agent_info": {"name": "agent", "version": "1", "model_info": {"name": "m", "provider": "lab"}},
        "agent_result": {"n_input_tokens": 3, "n_output_tokens": 4, "cost_usd": 0.5},
        "verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": None,
        "started_at": "2026-01-01T00:00:00", "finished_at": "2026-01-01T00:00:30",
    }  # fmt: skip
    return "job/make__abc/result.json", _json(result | changes)


def tau_bench(rows: Any = None) -> tuple[str, bytes]:
    rows = [
        {"task_id": task, "reward": reward, "info": {"task": {"q": task}}, "traj": [], "trial": trial}
        for trial in (0, 1) for task, reward in ((0, 1.0), (1, float(trial)))
    ] if rows is None else rows  # fmt: skip
    return "tool-calling-model.json", _json(rows)


def agentops_record(**changes: Any) -> tuple[str, bytes]:
    record = {
        "schema_version": 1, "run_id": "eval-1", "suite": {"id": "demo", "sha256": "ab"},
        "runtime": {"name": "shell", "model": "lab/model"}, "environment": {}, "started_at": "2026-01-01T00:00:00Z",
        "case_results": [
            {"id": "a", "status": "pass", "score": 1, "duration_ms": 5, "dimension_scores": {"safety": 1}},
            {"id": "b", "status": "fail", "score": 0.5}, {"id": "c", "status": "error"},
            {"id": "d", "status": "inconclusive"},
        ],
    }  # fmt: skip
    return "demo.run.json", _json(record | changes)


def agentops_scorecard(**changes: Any) -> tuple[str, bytes]:
    card = {
        "schema_version": 1, "suite_id": "demo", "generated_at": "2026-01-01T00:00:00Z",
        "skill_on_run_id": "r-skill-on", "skill_off_run_id": "r-skill-off",
        "per_case": [
            {"case_id": "a", "skill_on_status": "pass", "skill_off_status": "fail", "skill_on_score": 1,
             "skill_off_score": 0, "delta": 1},
            {"case_id": "b", "skill_on_status": "pass", "skill_off_status": "skipped", "skill_on_score": 1,
             "skill_off_score": 0, "delta": 1},
        ],
    }  # fmt: skip
    return "delta.json", _json(card | changes)


def agentops_trials(rows: Any = None) -> tuple[str, bytes]:
    rows = [
        {"model": "m", "arm": arm, "task": task, "rep": rep, "tokens": "17",
         "score": {"visible_pass": True, "hidden_pass": rep == 1}}
        for arm in ("bare", "full") for task in ("t1", "t2") for rep in (1, 2)
    ] if rows is None else rows  # fmt: skip
    return "sweep.jsonl", _lines(rows)


def agentops_escapes(rows: Any = None) -> tuple[str, bytes]:
    rows = [
        {"run_id": "h1", "ts": "2026-01-01T00:00:00Z", "degraded": 0, "n_false_dones": 3, "n_missed": 1, "n_caught": 2},
        {"run_id": "h2", "ts": "2026-01-02T00:00:00Z", "degraded": 1, "n_false_dones": 2, "n_missed": 2, "n_caught": 0},
    ] if rows is None else rows  # fmt: skip
    return "series.jsonl", _lines(rows)


def agentops_verdicts(**changes: Any) -> tuple[str, bytes]:
    tasks = [{"task": "t1", "class": "caught", "degraded": False},
             {"task": "t2", "class": "escaped", "degraded": False},
             {"task": "t3", "class": "caught", "degraded": True}]  # fmt: skip
    return "scorecard.json", _json({
        "generated_at": "2026-01-01T00:00:00Z", "verifier": "v", "per_task": tasks, "totals": {}, "dry_run": False,
    } | changes)  # fmt: skip


def trial(case: str = "a", index: int = 1, **changes: Any) -> Trial:
    """Return a trial of our own."""
    return Trial(**{
        "run_id": "run-1", "suite_id": "door", "case_id": case, "arm": Arm.SKILL_ON, "trial_index": index,
        "status": Status.PASS, "outcome": Outcome.OK, "started_at": "2026-01-01T00:00:00.000Z", "score": 1.0,
        "passed": True, "seed": 7, "duration_s": 0.5, "tokens_in": 3, "artifacts": {"stdout": "ab" * 32},
        "dimension_scores": {"safety": 1.0},
    } | changes)  # fmt: skip


def own_journal(trials: Any = None) -> tuple[str, bytes]:
    lost = {
        "status": Status.ERROR,
        "outcome": Outcome.INFRASTRUCTURE,
        "reason": "gone",
        "score": None,
        "passed": None,
    }
    trials = [trial(), trial(index=2), trial("b", **lost)] if trials is None else trials
    return "run-1/journal/host-1.jsonl", b"".join(encode(each.as_record()) for each in trials)


def table(
    text: str = "question_id,epoch,score,cluster\nq1,1,1,x\nq1,2,0.5,x\nq2,1,0,y\nq2,2,,y\n",
) -> tuple[str, bytes]:
    return "scores.csv", text.encode()


SAMPLES: dict[str, Callable[..., tuple[str, bytes]]] = {
    "inspect-json": inspect_json, "inspect-eval": inspect_eval, "lm-eval": lm_eval, "promptfoo": promptfoo,
    "promptfoo-lines": promptfoo_lines, "openai-evals": openai_evals, "swe-bench": swe_bench, "junit": junit,
    "skill-creator": skill_creator, "helm": helm, "terminal-bench": terminal_bench,
    "terminal-bench-table": terminal_bench_table, "harbor": harbor, "tau-bench": tau_bench,
    "agentops-record": agentops_record, "agentops-scorecard": agentops_scorecard, "agentops-trials": agentops_trials,
    "agentops-escapes": agentops_escapes, "agentops-verdicts": agentops_verdicts,
    "journal": own_journal, "table": table,
}  # fmt: skip
BESIDE = {
    "lm-eval": {"results_2026-01-01T00-00-00.500000.json": _json(LM_RESULTS)},
    "helm": {"run_spec.json": _json(HELM_SPEC)},
}


@pytest.fixture(scope="session")
def samples() -> dict[str, Callable[..., tuple[str, bytes]]]:
    """Return the makers of the small logs by name."""
    return SAMPLES


@pytest.fixture(scope="session")
def beside() -> dict[str, dict[str, bytes]]:
    """Return what lies beside the small logs."""
    return BESIDE


@pytest.fixture(scope="session")
def make() -> Any:
    """Return the makers of parts of logs, as attributes."""
    import types

    parts = (
        inspect_header, inspect_sample, lm_sample, promptfoo_row, evals_event, skill_run, trial,
    )  # fmt: skip
    return types.SimpleNamespace(
        **{part.__name__: part for part in parts}, lm_results=LM_RESULTS, evals_spec=EVALS_SPEC, junit=JUNIT,
        inspect_samples=INSPECT_SAMPLES,
    )  # fmt: skip
