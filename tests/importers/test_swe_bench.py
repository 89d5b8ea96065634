"""SWE-bench: overlapping lists, both denominators, reports of instances."""

import json

import pytest

from evalstats.contract import Outcome
from evalstats.errors import LogError


def test_lists_overlap_and_the_worst_decides(sample, read):
    report = {
        "error_ids": ["o__a-1", "o__b-4"],
        "resolved_ids": ["o__a-1", "o__a-2"],
        "error_instances": 2,
        "resolved_instances": 2,
    }
    _, found = read(sample("swe-bench", **report))
    said = {f.row.case_id: (f.row.outcome, f.row.score) for f in found}
    assert said == {
        "o__a-1": (Outcome.INFRASTRUCTURE, None), "o__a-2": (Outcome.OK, 1.0), "o__a-3": (Outcome.OK, 0.0),
        "o__b-4": (Outcome.INFRASTRUCTURE, None), "o__b-5": (Outcome.MISSING, None),
    }  # fmt: skip


def test_both_denominators_are_told(sample, read):
    reading, found = read(sample("swe-bench"))
    assert "resolved: 1 of 3 with a score, 1 of 6 as the tool counts" in reading.files[0].warnings
    assert "1 of 6 instances are in no list; the tool counts them as failed" in reading.files[0].warnings
    assert {f.row.archetype for f in found} == {"o__a", "o__b"} and found[0].run.logged.model == "agent"


def test_newer_classes_of_failure(sample, read):
    report = {
        "incomplete_ids": [],
        "infra_failure_ids": ["o__b-5"],
        "failure_reasons": {"o__b-5": "disk full"},
    }
    _, found = read(sample("swe-bench", **report))
    (lost,) = [f.trial for f in found if f.row.case_id == "o__b-5"]
    assert (lost.outcome, lost.reason) == (Outcome.INFRASTRUCTURE, "disk full")


def test_what_the_report_counts_is_counted_again(sample, read):
    reading, _ = read(sample("swe-bench", resolved_instances=4, total_instances=2))
    assert {d.name for d in reading.files[0].declared if not d.agrees} == {
        "resolved_instances",
        "total_instances",
    }


@pytest.mark.parametrize("ids", ["x", [1], ["o__a-1", "o__a-1"], None])
def test_lists_hold_each_id_once(ids, sample, read):
    with pytest.raises(LogError, match="/resolved_ids"):
        read(sample("swe-bench", resolved_ids=ids))


def instance(root, name, **changes):
    path = root / "logs/run_evaluation/run1/agent" / name / "report.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    tests = {
        "FAIL_TO_PASS": {"success": ["t1"], "failure": ["t2"]},
        "PASS_TO_PASS": {"success": ["t3"], "failure": []},
    }
    report = {
        "patch_is_None": False,
        "patch_successfully_applied": True,
        "resolved": True,
        "tests_status": tests,
    }
    path.write_text(json.dumps({name: report | changes}))
    return path


def test_reports_of_instances_say_more_and_are_not_counted_twice(sample, read):
    path = sample("swe-bench")
    instance(path.parent, "o__a-1")
    instance(path.parent, "o__a-2", resolved=False, patch_is_None=True)
    reading, found = read(path.parent)
    assert len(found) == 5 and len(reading.runs) == 1
    detailed = {f.row.case_id: f.trial for f in found if f.row.expectations}
    assert {case: trial.score for case, trial in detailed.items()} == {"o__a-1": 1.0, "o__a-2": 0.0}
    assert [e.passed for e in detailed["o__a-1"].expectations] == [True, False, True]
    assert detailed["o__a-2"].reason == "empty patch"
    assert any(
        "2 instances have reports of their own" in note for file in reading.files for note in file.warnings
    )
    with pytest.raises(LogError, match="must be true or false"):
        read(instance(path.parent, "o__a-3", resolved="yes"))
