"""HELM, terminal-bench, Harbor and tau-bench, and the evidence of the AgentOps family."""

import json

import pytest

from evalstats.contract import Arm, Outcome
from evalstats.errors import LogError

# --- HELM -----------------------------------------------------------------------------------------


def test_helm_instances_and_train_trials(sample, read):
    reading, found = read(sample("helm"))
    assert [(f.row.case_id, f.row.trial_index, f.row.score) for f in found] == [
        ("id1", 1, 1.0),
        ("id2", 1, 0.0),
        ("id2", 2, 1.0),
    ]
    assert (found[0].trial.tokens_out, found[1].trial.duration_s) == (9, 0.5)
    assert (found[0].run.suite_id, found[0].run.logged.model) == ("sums", "lab/model")
    assert "1 perturbed instances were left out of the main figure" in reading.files[0].warnings


def test_helm_statistics_without_observations_are_no_score(sample, read):
    stats = [{"name": {"name": "f1"}, "count": 0, "sum": 0}, {"name": {"name": "em"}, "count": 4, "sum": 3}]
    path = sample("helm", rows=[{"instance_id": "a", "train_trial_index": 0, "stats": stats}])
    assert read(path)[1][0].row.outcome is Outcome.UNSCORED
    assert read(path, metric="em")[1][0].row.score == 0.75


@pytest.mark.parametrize(
    "row", [{"instance_id": None}, {"stats": None}, {"stats": [{"name": "x"}]}, {"train_trial_index": "a"}]
)
def test_helm_rows_that_lack_what_they_need(row, sample, read):
    good = {
        "instance_id": "a",
        "train_trial_index": 0,
        "stats": [{"name": {"name": "em"}, "count": 1, "sum": 1}],
    }
    with pytest.raises(LogError, match="/1"):
        read(sample("helm", rows=[good, good | row]))


# --- terminal-bench -------------------------------------------------------------------------------


def test_terminal_bench_failure_modes(sample, read):
    reading, found = read(sample("terminal-bench"))
    assert [(f.row.case_id, f.row.trial_index, f.row.outcome, f.row.score) for f in found] == [
        ("make", 1, Outcome.OK, 1.0),
        ("make", 2, Outcome.OK, 0.0),
        ("edit", 1, Outcome.INFRASTRUCTURE, None),
        ("edit", 2, Outcome.TIMEOUT, 1.0),
        ("grep", 1, Outcome.TIMEOUT, 0.0),
        ("grep", 2, Outcome.UNSCORED, None),
    ]
    trial = found[0].trial
    assert (trial.tokens_in, trial.tokens_out, trial.duration_s) == (None, 12, 60.0)
    assert [d.agrees for d in reading.files[0].declared] == [True, True]


def test_terminal_bench_says_what_it_does_not_know(sample, read):
    rows = [{"task_id": "a", "is_resolved": False, "failure_mode": "meteor", "trial_name": "a.1-of-1.r"}]
    reading, _ = read(sample("terminal-bench", results=rows, n_resolved=5))
    assert "a failure mode that is not known here: meteor" in reading.files[0].warnings
    assert [d.name for d in reading.files[0].declared if not d.agrees] == ["n_resolved", "accuracy"]
    for row in ({"is_resolved": "yes"}, {"task_id": None}):
        with pytest.raises(LogError, match="/results/0"):
            read(sample("terminal-bench", results=[rows[0] | row]))


def test_terminal_bench_blanks_and_cut_lines(sample, read):
    path = sample("terminal-bench-table")
    with pytest.raises(LogError, match="0, 1 or blank"):
        path.write_text(path.read_text() + "agent,r3,make,maybe,unset,\n")
        read(path)
    path = sample("terminal-bench-table")
    path.write_text(path.read_text() + "agent,r3,make")
    with pytest.raises(LogError, match="--allow-truncated"):
        read(path)
    reading, found = read(path, allow_truncated=True)
    assert len(found) == 4 and any("is cut off" in note for note in reading.files[0].warnings)


# --- Harbor and tau-bench -------------------------------------------------------------------------


def test_harbor_trials_are_ranked_by_when_they_began(sample, read, tmp_path):
    for name, when in (("zz", "00"), ("aa", "05"), ("mm", "03")):
        path = sample("harbor", trial_name=f"make__{name}", started_at=f"2026-01-01T00:{when}:00")
        path.parent.rename(path.parent.with_name(f"make__{name}"))
    job = tmp_path / "logs/job"
    (job / "result.json").write_text(json.dumps({"id": "x", "n_total_trials": 3}))
    reading, found = read(job)
    assert {f.row.locator: f.row.trial_index for f in found} == {"make__zz": 1, "make__mm": 2, "make__aa": 3}
    assert (
        len(reading.runs) == 2 and len(found) == 3
    )  # the summary of the job announces itself, without trials
    assert found[0].trial.utc_offset == "naive"
    assert "times without a zone are taken as UTC and marked naive" in reading.files[0].warnings


@pytest.mark.parametrize(
    ("changes", "outcome", "score"),
    [
        (
            {
                "verifier_result": {"rewards": {"reward": 0.0}},
                "exception_info": {"exception_type": "AgentTimeoutError"},
            },
            Outcome.OK,
            0.0,
        ),
        (
            {"verifier_result": None, "exception_info": {"exception_type": "AgentTimeoutError"}},
            Outcome.TIMEOUT,
            0.0,
        ),
        (
            {"verifier_result": None, "exception_info": {"exception_type": "DockerError"}},
            Outcome.INFRASTRUCTURE,
            None,
        ),
        ({"verifier_result": {"rewards": None}}, Outcome.UNSCORED, None),
        ({"agent_result": None}, Outcome.OK, 1.0),
    ],
)
def test_harbor_endings(changes, outcome, score, sample, read):
    trial = read(sample("harbor", **changes))[1][0].trial
    assert (trial.outcome, trial.score) == (outcome, score)


def test_tau_bench(sample, read):
    _, found = read(sample("tau-bench"))
    assert [(f.row.case_id, f.row.trial_index, f.row.score) for f in found] == [
        ("0", 1, 1.0),
        ("1", 1, 0.0),
        ("0", 2, 1.0),
        ("1", 2, 1.0),
    ]
    rows = [{"task_id": 0, "reward": 1.0, "trial": 0}]
    for row in ({"task_id": None}, {"trial": "x"}, {"trial": -1}):
        with pytest.raises(LogError, match="/0"):
            read(sample("tau-bench", rows=[rows[0] | row]))


# --- AgentOps -------------------------------------------------------------------------------------


def test_a_run_record(sample, read):
    _, found = read(sample("agentops-record"))
    assert [(f.row.case_id, f.row.outcome, f.row.score) for f in found] == [
        ("a", Outcome.OK, 1.0),
        ("b", Outcome.OK, 0.5),
        ("c", Outcome.INFRASTRUCTURE, None),
        ("d", Outcome.UNSCORED, None),
    ]
    assert found[0].trial.dimension_scores == {"safety": 1.0} and found[0].trial.duration_s == 0.005
    off = read(sample("agentops-record", environment={"hooks_disabled": True}))[1][0]
    assert off.run.arm is Arm.SKILL_OFF
    for status in ("passed", 5, None):
        with pytest.raises(LogError, match="/case_results/0"):
            read(sample("agentops-record", case_results=[{"id": "a", "status": status}]))


def test_a_record_whose_journal_lies_beside_it_holds_no_rows(sample, read, tmp_path):
    sample("agentops-record", folder="run")
    sample("journal", folder="run")
    (tmp_path / "run/run-1/journal").rename(tmp_path / "run/journal")
    reading, found = read(tmp_path / "run")
    assert len(found) == 3 and any(
        "its journal lies beside it" in note for f in reading.files for note in f.warnings
    )


def test_a_scorecard_of_two_arms(sample, read):
    reading, found = read(sample("agentops-scorecard"))
    assert [(f.run.arm, f.row.case_id, f.row.score) for f in found] == [
        (Arm.SKILL_ON, "a", 1.0),
        (Arm.SKILL_ON, "b", 1.0),
        (Arm.SKILL_OFF, "a", 0.0),
        (Arm.SKILL_OFF, "b", None),
    ]
    assert len({f.run.group_id for f in found}) == 1
    assert any("run-to-run noise is not in it" in note for note in reading.files[0].warnings)


def test_trials_with_tokens_as_text_and_named_scores(sample, read):
    _, found = read(sample("agentops-trials"))
    assert {f.run.arm for f in found} == {Arm.CONTEXT_OFF, Arm.CONTEXT_ON} and found[0].trial.tokens_out == 17
    assert [f.row.score for f in found[:2]] == [1.0, 0.0]  # hidden_pass counts
    assert read(sample("agentops-trials"), metric="visible_pass")[1][1].row.score == 1.0


def test_a_missing_arm_or_repeat_is_not_guessed(sample, read):
    rows = [{"sample_id": "a", "arm": "x", "value": 1}, {"sample_id": "a", "arm": "x", "value": 0}]
    reading, found = read(sample("agentops-trials", rows=rows))
    text = " ".join(reading.files[0].warnings)
    assert [f.row.trial_index for f in found] == [1, 2]
    assert "numbered in the order of the file" in text and "the arm 'x' is not known here; see --arm" in text
    with pytest.raises(LogError, match="a rep counts from 1"):
        read(sample("agentops-trials", rows=[{"task": "t", "rep": 0, "score": 1}]))


def test_a_series_of_escapes_counts_clean_runs_only(sample, read):
    _, found = read(sample("agentops-escapes"))
    assert [f.row.score for f in found] == [0.0, 1.0, 1.0, None, None]
    for change in (
        {"n_missed": 4},
        {"n_missed": None},
        {"degraded": "x"},
        {"degraded": None},
        {"n_caught": 3},
        {"n_false_dones": 10**7},
    ):
        row = {"run_id": "h", "n_false_dones": 3, "n_missed": 1, "degraded": 0} | change
        with pytest.raises(LogError, match=":1: "):
            read(sample("agentops-escapes", rows=[row]))


def test_verdicts(sample, read):
    _, found = read(sample("agentops-verdicts"))
    assert [(f.row.case_id, f.row.outcome, f.row.score) for f in found] == [
        ("t1", Outcome.OK, 1.0),
        ("t2", Outcome.OK, 0.0),
        ("t3", Outcome.DEGRADED, None),
    ]
    with pytest.raises(LogError, match="/per_task/0"):
        read(sample("agentops-verdicts", per_task=[{"task": "t", "class": "lucky"}]))


def test_a_plugin_scorecard(read, tmp_path):
    path = tmp_path / "card.json"
    arm = {"criteria": 2, "criteria_met": 5, "criteria_total": 6, "per_criterion": [3, 2], "runs": 3}
    cases = {"c": {"criteria": ["x", "y"], "with_1": arm, "without_plugin": arm | {"criteria_met": 3}}}
    totals = {
        "with_1": {"criteria_met": 5, "criteria_total": 6},
        "without_plugin": {"criteria_met": 4, "criteria_total": 6},
    }
    path.write_text(
        json.dumps(
            {
                "schema": "x",
                "runs_per_case": 3,
                "date": "2026-01-01",
                "model": "m",
                "behavior": {"cases": cases, "totals_all_cases": totals},
            }
        )
    )
    reading, found = read(path)
    assert [(f.run.arm, f.run.logged.label, f.row.score) for f in found] == [
        (Arm.SKILL_ON, "with_1", 5 / 6),
        (Arm.SKILL_OFF, "without_plugin", 0.5),
    ]
    assert [e.passed for e in found[0].trial.expectations] == [True, None]
    assert [d.name for d in reading.files[0].declared if not d.agrees] == ["without_plugin criteria_met"]
