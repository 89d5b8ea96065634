"""What a context changes, case by case; a leg that says nothing has a reason from a closed list, and no delta."""

import pytest

from evalstats import contract
from evalstats.contract import DegradedReason
from evalstats.errors import UsageError
from evalstats.governance.context_scorecard import SAME_CONTEXT, context_scorecard
from evalstats.governance.scorecard import common_axis, delta_scorecard

MUTATED = "context_root_mutated_live_state"
LOST = "cases say nothing in one leg or both; the aggregates are not comparable"


def case(status, score, trials=1, usable=None, **more):
    usable = trials if usable is None and score is not None else usable or 0
    use = {"tokens": None, "tool_calls": None, "degraded": {}, **more}
    return {"status": status, "score": score, "pass_rate": score, "trials": trials, "usable": usable, **use}


PASSED, FAILED = case("pass", 1.0), case("fail", 0.0)


def record(arm, aggregate, cases, tier="headless", sha=None, **changes):
    trials = sum(case["trials"] for case in cases.values())
    document = {
        "schema_version": 1,
        "run_id": f"r-{arm}",
        "arm": arm,
        "axis": "context",
        "suite": {
            "id": "door",
            "path": "evals/door/suite.json",
            "visibility": "public_canary",
            "tier": tier,
            "sha256": "0" * 64,
        },
        "status": "pass",
        "environment": {
            "context": {
                "root_label": "notes" if arm == "context-on" else "empty",
                "sha256": sha or contract.digest(arm.encode()),
            }
        },
        "case_results": [{"id": name, **result} for name, result in cases.items()],
        "aggregate_score": aggregate,
        "dimension_scores": {},
        "trials": {"planned": trials, "recorded": trials, "usable": sum(c["usable"] for c in cases.values())},
        **changes,
    }
    contract.validate(document, "eval-run.v1")
    return document


def scorecard(on, off, difference=None):
    return context_scorecard(on, off, generated_at="2026-01-02T03:04:05Z", difference=difference)


def pair(on, off, scores=(1.0, 0.5), **options):
    return scorecard(
        record("context-on", scores[0], on, **options), record("context-off", scores[1], off, **options)
    )


def test_a_context_that_helps_one_case_of_two():
    card = pair({"helped": PASSED, "same": PASSED}, {"helped": FAILED, "same": PASSED})
    assert (card["axis"], card["aggregate_delta"], card["verdict"], card["reasons"]) == (
        "context",
        0.5,
        None,
        [],
    )
    assert [(r["case_id"], r["status_delta"], r["score_delta"]) for r in card["per_case"]] == [
        ("helped", 1, 1.0),
        ("same", 0, 0.0),
    ]
    on, off = card["context_on"], card["context_off"]
    assert (on["variant"], on["context_root_label"], on["run_id"]) == ("context-on", "notes", "r-context-on")
    assert (off["variant"], off["context_root_label"], off["aggregate_score"]) == (
        "context-off",
        "empty",
        0.5,
    )
    assert (card["n_trials"], on["n_usable"], on["degraded"]) == (4, 2, {})


@pytest.mark.parametrize(
    ("on", "off", "status_delta", "score_delta", "reason"),
    [
        (PASSED, FAILED, 1, 1.0, None),
        (FAILED, PASSED, -1, -1.0, None),
        (FAILED, FAILED, 0, 0.0, None),
        (case("fail", 0.25, 4), case("fail", 0.5, 4), 0, -0.25, None),
        # some trials degraded: they are out, the case stays in
        (case("pass", 1.0, 3, usable=2, degraded={MUTATED: 1}), FAILED, 1, 1.0, None),
        # all degraded: no delta, a reason
        (case("inconclusive", None, 2, degraded={MUTATED: 2}), FAILED, None, None, MUTATED),
        (PASSED, case("inconclusive", None, 1, degraded={"hooks_disabled": 1}), None, None, "hooks_disabled"),
        (
            case("inconclusive", None, 3, degraded={"hooks_disabled": 1, MUTATED: 2}),
            PASSED,
            None,
            None,
            MUTATED,
        ),
        # what is not degraded, yet without a score
        (case("error", None), PASSED, None, None, "runtime_unavailable"),
        (PASSED, case("skipped", None, 0), None, None, "runtime_unavailable"),
        (case("inconclusive", None), PASSED, None, None, "insufficient_decision_evidence"),
    ],
)
def test_a_case_by_hand(on, off, status_delta, score_delta, reason):
    (row,) = pair({"a": on}, {"a": off})["per_case"]
    found = row["status_delta"], row["score_delta"], row["degraded_reason"], row["comparable"]
    assert found == (status_delta, score_delta, reason, reason is None)
    assert row["decision_evidence"] == {"context_on": on["usable"], "context_off": off["usable"]}
    assert reason is None or reason in list(DegradedReason)


def test_tokens_and_tool_calls_are_subtracted_where_both_are_known():
    on = {"a": case("pass", 1.0, tokens=900.0, tool_calls=3.0), "b": case("pass", 1.0, tokens=0.0)}
    off = {"a": case("pass", 1.0, tokens=1000.5, tool_calls=3.0), "b": case("pass", 1.0)}
    rows = pair(on, off)["per_case"]
    assert [(row["token_delta"], row["tool_call_delta"]) for row in rows] == [(-100.5, 0.0), (None, None)]


def test_aggregates_of_different_cases_are_not_subtracted():
    lost = case("inconclusive", None, 2, degraded={MUTATED: 2})
    card = pair({"a": PASSED, "b": lost}, {"a": FAILED, "b": PASSED})
    assert (card["aggregate_delta"], card["verdict"]) == (None, "advisory")
    assert card["reasons"] == [f"1 of 2 {LOST}"]
    assert card["context_on"]["degraded"] == {MUTATED: 2}
    alone = pair({"b": lost}, {"b": PASSED}, scores=(None, 1.0))
    assert (alone["verdict"], alone["reasons"]) == ("inconclusive", [f"1 of 1 {LOST}"])


def test_a_case_of_one_leg_is_listed():
    rows = {r["case_id"]: r for r in pair({"x": PASSED, "y": PASSED}, {"x": PASSED, "z": PASSED})["per_case"]}
    assert {name: row.get("note") for name, row in rows.items()} == {
        "x": None,
        "y": "ran only in the context-on leg",
        "z": "ran only in the context-off leg",
    }
    assert rows["y"]["degraded_reason"] == rows["z"]["degraded_reason"] == "insufficient_decision_evidence"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tier": "live"}, "a live suite with a single trial per case is never authoritative"),
        ({"is_mock": True}, "mock run"),
        ({"sha": "1" * 64}, SAME_CONTEXT),
    ],
)
def test_what_may_not_be_believed_alone_is_advisory(options, reason):
    card = pair({"a": PASSED}, {"a": FAILED}, **options)
    assert (card["verdict"], card["reasons"]) == ("advisory", [reason])


def test_records_of_another_axis_or_suite_are_refused():
    on, off = record("context-on", 1.0, {"a": PASSED}), record("context-off", 1.0, {"a": PASSED})
    skill = record("skill-off", 1.0, {"a": PASSED}, axis="skill")
    with pytest.raises(UsageError, match=r"different axes \(context and skill\), which are never combined"):
        scorecard(on, skill)
    with pytest.raises(UsageError, match="these are runs of the skill axis"):
        scorecard(skill, skill)
    with pytest.raises(UsageError, match="runs of the context axis have a scorecard of their own"):
        delta_scorecard(on, off, generated_at="2026-01-02T03:04:05Z", difference=None)
    off["suite"]["id"] = "window"
    with pytest.raises(UsageError, match="different suites, door and window"):
        scorecard(on, off)


def test_scorecards_of_two_axes_are_never_combined():
    context = pair({"a": PASSED}, {"a": FAILED})
    assert common_axis([context, context]) == "context"
    with pytest.raises(
        UsageError, match=r"\(context and skill\), which are never combined; give those of one"
    ):
        common_axis([context, {"schema_version": 1, "suite_id": "door"}])  # a skill scorecard names no axis
    with pytest.raises(UsageError, match="none"):
        common_axis([])


def test_the_reasons_are_a_closed_list():
    card = pair({"a": PASSED}, {"a": case("inconclusive", None, degraded={"hooks_disabled": 1})})
    card["per_case"][0]["degraded_reason"] = "score regressed"
    assert [p.pointer for p in contract.problems(card, "context-delta-scorecard.v1")] == [
        "/per_case/0/degraded_reason"
    ]
    assert len(list(DegradedReason)) == 6
