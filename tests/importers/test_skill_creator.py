"""skill-creator: runs recounted, placeholders unknown, aggregates refused, folders of gradings."""

import json

import pytest

from evalstats.contract import Arm
from evalstats.errors import LogError


def test_runs_in_two_arms(sample, read):
    reading, found = read(sample("skill-creator"))
    assert [(f.run.arm, f.row.case_id, f.row.score) for f in found] == [
        (Arm.SKILL_ON, "1", 1.0),
        (Arm.SKILL_OFF, "1", 0.5),
        (Arm.SKILL_ON, "2", 0.5),
        (Arm.SKILL_OFF, "2", 0.0),
    ]
    trial = found[0].trial
    assert (trial.duration_s, trial.tokens_out, trial.tool_calls, trial.passed) == (None, None, 2, True)
    assert found[0].run.logged.model is None and found[0].run.suite_id == "tidy"
    assert len({f.run.group_id for f in found}) == 1 and len({f.run.run_id for f in found}) == 2
    assert all(d.agrees for d in reading.files[0].declared) and len(reading.files[0].declared) == 4


def test_counts_that_the_expectations_do_not_give_are_shown(sample, read, make):
    run = make.skill_run(1, "with_skill", 1, [True, False])
    run["result"] |= {"passed": 2, "total": 3}
    reading, found = read(sample("skill-creator", runs=[run], run_summary={}))
    assert found[0].row.score == 0.5
    assert {d.name: (d.declared, d.recomputed) for d in reading.files[0].declared} == {
        "passed of with_skill 1, run 1": (2.0, 1.0),
        "total of with_skill 1, run 1": (3.0, 2.0),
    }


def test_arms_graded_on_different_expectations_are_no_lift(sample, read, make):
    runs = [make.skill_run(1, "with_skill", 1, [True] * 3), make.skill_run(1, "without_skill", 1, [True])]
    reading, found = read(sample("skill-creator", runs=runs))
    assert any("different expectations: no lift on 1" in note for note in reading.files[0].warnings)
    with_skill, without = (f.run.cases.listed["1"] for f in found)
    assert with_skill != without


def test_an_undecided_expectation_leaves_the_run_unscored(sample, read, make):
    run = make.skill_run(1, "with_skill", 1, [True, True])
    run["expectations"][1]["passed"] = "maybe"
    _, found = read(sample("skill-creator", runs=[run]))
    assert found[0].row.score is None and "1 of 2 expectations are undecided" in found[0].row.reason


def test_counts_alone_and_nothing_at_all(sample, read, make):
    runs = [
        make.skill_run(1, "with_skill", 1, [True, False], expectations=[]),
        make.skill_run(2, "with_skill", 1, [True]),
    ]
    runs[1] |= {"expectations": [], "result": {}}
    _, found = read(sample("skill-creator", runs=runs))
    assert [(f.row.score, f.row.reason) for f in found] == [
        (0.5, None),
        (None, "neither expectations nor counts"),
    ]


def test_missing_runs_and_unknown_arms_are_said(sample, read, make):
    runs = [
        make.skill_run(1, "with_skill", 1, [True]),
        make.skill_run(1, "with_skill", 2, [True]),
        make.skill_run(1, "variant_b", 1, [True]),
    ]
    reading, found = read(sample("skill-creator", runs=runs))
    text = " ".join(reading.files[0].warnings)
    assert "runs are missing (others have 2): 1 variant_b 1" in text and "'variant_b' is no known arm" in text
    assert found[2].run.arm is Arm.CANDIDATE and found[2].run.logged.label == "variant_b"


def test_the_other_shape_pairs_the_arms_in_one_run(sample, read):
    arm = {
        "assertion_results": [{"text": "a", "passed": True}],
        "timing": {"elapsed_seconds": 2.5},
        "execution_metrics": {"token_counts": {"input_tokens": 5, "output_tokens": 6}},
    }
    runs = [{"eval_id": "x", "run_index": 0, "with_skill": arm, "without_skill": arm}]
    _, found = read(sample("skill-creator", runs=runs, skill_name="s"))
    assert [(f.run.arm, f.row.trial_index, f.row.duration_s, f.row.tokens_in) for f in found] == [
        (Arm.SKILL_ON, 1, 2.5, 5),
        (Arm.SKILL_OFF, 1, 2.5, 5),
    ]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"eval_id": None}, "eval_id"),
        ({"configuration": None}, "configuration"),
        ({"run_number": "x"}, "counts from 1"),
        ({"run_number": 0}, "counts from 1"),
        ({"expectations": {"a": 1}}, "must be an array"),
        ({"expectations": ["a"]}, "must be an object"),
    ],
)
def test_a_run_that_lacks_what_it_needs(run, message, sample, read, make):
    with pytest.raises(LogError, match=message):
        read(sample("skill-creator", runs=[make.skill_run(1, "with_skill", 1, [True]) | run]))


def test_aggregates_alone_hold_no_trial(sample, read, tmp_path):
    path = tmp_path / "benchmark.json"
    arms = {"with_skill": {"pass_rate": "15/18"}, "without_skill": {"pass_rate": "6/6"}}
    path.write_text(json.dumps({"skill_name": "s", "iteration": 1, "configurations": arms}))
    with pytest.raises(LogError, match=r"different expectations \(with_skill on 18, without_skill on 6\)"):
        read(path)
    path.write_text(json.dumps({"metadata": {}, "run_summary": {"with_skill": {"pass_rate": {"mean": 1}}}}))
    with pytest.raises(LogError, match="aggregates only"):
        read(path)


def grading(root, place, passes, **changes):
    path = root / place / "grading.json"
    path.parent.mkdir(parents=True)
    checks = [{"text": f"c{i}", "passed": ok} for i, ok in enumerate(passes)]
    summary = {"passed": sum(passes), "failed": len(passes) - sum(passes), "total": len(passes)}
    path.write_text(json.dumps({"expectations": checks, "summary": summary} | changes))
    return path


def test_folders_of_gradings_are_one_run_an_arm(read, tmp_path):
    root = tmp_path / "tidy-workspace/iteration-1"
    grading(root, "eval-one/with_skill/run-1", [True, True])
    path = grading(root, "eval-one/with_skill/run-2", [True, False])
    path.with_name("timing.json").write_text(json.dumps({"total_duration_seconds": 12.5}))
    grading(root, "eval-one/without_skill/run-1", [False, False])
    grading(root, "eval-two/with_skill", [True], execution_metrics={"total_tool_calls": 3})
    (root / "benchmark.json").write_text(
        json.dumps({"metadata": {"skill_name": "tidy"}, "runs": [], "run_summary": {}})
    )
    reading, found = read(tmp_path)
    assert {(f.run.arm, f.row.case_id, f.row.trial_index, f.row.score) for f in found} == {
        (Arm.SKILL_ON, "one", 1, 1.0),
        (Arm.SKILL_ON, "one", 2, 0.5),
        (Arm.SKILL_OFF, "one", 1, 0.0),
        (Arm.SKILL_ON, "two", 1, 1.0),
    }
    assert len({f.run.run_id for f in found}) == 2 and {f.run.suite_id for f in found} == {"tidy"}
    assert {f.row.duration_s for f in found} == {None, 12.5}
    assert any("its gradings lie beside it" in note for file in reading.files for note in file.warnings)


def test_a_workspace_that_was_copied_counts_once(read, tmp_path):
    for place in ("a", "b"):
        grading(tmp_path / place / "w-workspace/iteration-1", "eval-x/with_skill/run-1", [True])
    reading, found = read(tmp_path)
    assert len(found) == 1 and reading.files[1].duplicates == 1


def test_the_summary_of_a_grading_is_counted_again(read, tmp_path):
    path = grading(
        tmp_path / "w/iteration-1", "eval-x/with_skill", [True, False], summary={"passed": 2, "total": 3}
    )
    reading, found = read(path)
    assert found[0].row.score == 0.5 and [d.agrees for d in reading.files[0].declared] == [False, False]
