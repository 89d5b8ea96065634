"""From what a trial did to what is recorded of it."""

import pytest

from evalstats.contract import Outcome, Status

FILE = {"type": "file_exists", "target": "suite.json"}


def test_a_case_of_files_alone_needs_no_process(make_suite, case, go):
    (trial,) = go(make_suite(case("a", FILE, kind="artifact_check"))).trials
    assert (trial.status, trial.score, trial.exit_code, trial.isolation) == (Status.PASS, 1.0, None, None)
    assert (trial.duration_s, trial.leftover_processes, trial.artifacts) == (None, None, {})


@pytest.mark.parametrize(
    "kind", ["artifact_check", "skill_contract", "hook_event", "retrieval_query", "rpi_flow", "scenario"]
)
def test_other_static_kinds_run_a_command_when_they_hold_one(make_suite, case, go, kind):
    out = {"type": "stdout_contains", "value": "hi"}
    suite = make_suite(case("with", out, kind=kind, shell="echo hi"), case("without", FILE, kind=kind))
    assert [t.passed for t in go(suite).trials] == [True, True]


@pytest.mark.parametrize(
    ("runtime", "reason"),
    [
        ("claude", "the case has no prompt"),
        ("codex", "the case has no prompt"),
        ("openai", "the case has no prompt"),
        ("inspect", "the case names no task of Inspect"),
        ("mock", "the case has no script for the mock runtime"),
        ("manual", "the case is for people to run"),
    ],
)
def test_a_runtime_that_lacks_something_is_a_skip_with_a_reason(make_suite, case, go, runtime, reason):
    ran = go(make_suite(case("a", kind="runtime_prompt", runtime=runtime), tier="headless"))
    (trial,) = ran.trials
    assert (trial.status, trial.outcome, trial.score) == (Status.SKIPPED, Outcome.SKIPPED, None)
    assert trial.reason == reason
    (record,) = ran.result.records
    assert (record["status"], record["verdict"], record["aggregate_score"]) == ("skipped", "advisory", None)
    assert record["runtime"]["name"] == runtime
    assert record["runtime"]["skipped_reason"] == trial.reason


def test_a_prompt_without_a_runtime_is_a_skip(make_suite, case, go):
    (trial,) = go(make_suite(case("a", kind="runtime_prompt"))).trials
    assert (trial.outcome, trial.reason) == (
        Outcome.SKIPPED,
        "a prompt needs a live runtime; name one: --runtime",
    )


@pytest.mark.parametrize("runtime", ["static", "shell"])
def test_local_runtimes_run(make_suite, case, go, runtime):
    assert go(make_suite(case("a", shell="true", runtime=runtime))).trials[0].passed is True


def test_an_undecided_expectation_leaves_the_trial_unscored(trial_of):
    review = {"type": "manual_review"}
    trial, _, _ = trial_of({"type": "exit_code", "value": 0}, review, {"type": "judge"}, shell="true")
    assert (trial.status, trial.outcome, trial.score) == (Status.INCONCLUSIVE, Outcome.UNSCORED, None)
    assert trial.reason == "manual review has not been done; no judge was run"
    assert [e.passed for e in trial.expectations] == [True, None, None]
    assert trial.dimension_scores == {}


def test_an_optional_expectation_never_counts(trial_of):
    optional = [
        {"type": "manual_review", "required": False},
        {"type": "exit_code", "value": 1, "required": False},
    ]
    trial, _, _ = trial_of({"type": "exit_code", "value": 0}, *optional, shell="true")
    assert (trial.outcome, trial.score, trial.passed) == (Outcome.OK, 1.0, True)


def test_the_score_is_the_share_of_required_expectations(trial_of):
    wanted = [{"type": "stdout_contains", "value": text} for text in ("one", "two", "three")]
    trial, _, _ = trial_of(*wanted, shell="echo one two")
    assert (trial.status, trial.score, trial.passed) == (Status.FAIL, 2 / 3, False)


def test_citations_are_kept_where_they_were_expected(trial_of):
    wanted = [
        {"type": "cites_card", "value": "card-1"},
        {"type": "cites_card", "value": "card-2"},
        {"type": "cites_recipe", "value": "recipe-1"},
    ]
    trial, _, _ = trial_of(*wanted, shell="echo see card-2")
    assert (trial.cited_cards, trial.cited_recipes) == (("card-2",), ())


def test_no_citation_is_known_where_none_was_expected(trial_of):
    trial, _, _ = trial_of(shell="echo see card-2")
    assert (trial.cited_cards, trial.cited_recipes) == (None, None)


def test_what_infrastructure_took_is_tried_again_and_said(make_suite, case, go):
    suite = make_suite(case("a", argv=["no-such-program-here"]), environment={"max_attempts": 3})
    ran = go(suite)
    (trial,) = ran.trials
    missing = "the command 'no-such-program-here' was not found"
    assert (trial.outcome, trial.attempt) == (Outcome.INFRASTRUCTURE, 3)
    assert trial.reason == f"{missing}; 2 earlier attempt(s) lost to infrastructure: {missing}"
    assert ran.result.records[0]["runtime"]["attempts"] == 3


def test_the_last_attempt_counts(make_suite, case, go):
    make = "sleep 0.3; printf '#!/bin/sh\\n' > new; chmod +x new; mv new tool"
    suite = make_suite(
        case("maker", shell=make), case("user", argv=["./tool"]), environment={"max_attempts": 20}
    )
    trial = next(t for t in go(suite, jobs=2).trials if t.case_id == "user")
    assert (trial.outcome, trial.passed) == (Outcome.OK, True)
    assert 1 < trial.attempt < 20
    assert trial.reason.endswith("lost to infrastructure: the command './tool' was not found")


def test_a_failure_of_the_subject_is_not_tried_again(make_suite, case, go):
    (trial,) = go(make_suite(case("a", shell="exit 1"), environment={"max_attempts": 3})).trials
    assert (trial.attempt, trial.passed, trial.reason) == (1, False, None)
