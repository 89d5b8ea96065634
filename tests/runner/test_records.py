"""The run record: valid, complete, and it says what was in effect."""

import json

import pytest

from evalstats import contract

DIMENSIONS = {
    "aggregate_threshold": 0.6,
    "dimensions": [
        {"name": "correctness", "weight": 0.7, "threshold": 0.5},
        {"name": "safety", "weight": 0.3, "threshold": 1.0, "critical": True},
    ],
}


def test_a_record_is_valid_and_scored(make_suite, case, go):
    wanted = [{"type": "stdout_contains", "value": text} for text in ("one", "two", "three")]
    part = case("part", *wanted, shell="echo one two", archetype="A1")
    safe = {**case("safe", shell="true"), "dimensions": ["safety"], "critical": True}
    ran = go(make_suite(part, safe, scoring=DIMENSIONS), trials=2, seed=3)
    (record,) = ran.result.records
    contract.validate(json.loads(json.dumps(record)), "eval-run.v1")
    assert record["aggregate_score"] == pytest.approx((0.7 * 2 / 3 + 0.3) / 1.0, abs=1e-15)
    assert record["dimension_scores"] == {"correctness": 2 / 3, "safety": 1.0}
    assert (record["status"], record["verdict"]) == ("pass", "pass")
    first = record["case_results"][0]
    kept = ("id", "status", "score", "archetype", "trials", "usable", "passes", "pass_rate")
    assert [first[name] for name in kept] == ["part", "fail", 2 / 3, "A1", 2, 2, 0, 0.0]
    assert first["duration_ms"] > 0
    assert "stdout lacks the expected text" in first["diagnostics"]
    assert (record["arm"], record["axis"], record["seed"]) == ("skill-on", "skill", 3)
    for name in ("registry_version", "model", "judge_model", "cost", "tokens"):
        assert record[name] is None
    assert record["is_mock"] is False
    assert record["started_at"] <= record["completed_at"]


def test_environment_says_what_was_in_effect(make_suite, case, go):
    asked = {"network": "forbidden", "scrub_env_prefixes": ["OPENAI_", "AGENTOPS_RPI_RUNTIME"]}
    (record,) = go(make_suite(case("a", shell="true"), environment=asked)).result.records
    assert record["environment"] == {
        "scrubbed_env_prefixes": ["AGENTOPS_RPI_RUNTIME", "OPENAI_"],
        "isolated_home": True,
        "isolated_codex_home": True,
        "network_access": "none",
        "isolation": {"processes": ["subreaper"], "network": ["none"], "files": ["writable"]},
    }


@pytest.mark.parametrize(
    "shell, status, verdict",
    [("true", "pass", "pass"), ("false", "fail", "fail")],
)
def test_verdict_follows_the_status(make_suite, case, go, shell, status, verdict):
    (record,) = go(make_suite(case("a", shell=shell))).result.records
    assert (record["status"], record["verdict"]) == (status, verdict)


def test_an_infrastructure_failure_has_no_verdict(make_suite, case, go):
    (record,) = go(make_suite(case("a", argv=["no-such-program-here"]))).result.records
    assert (record["status"], record["aggregate_score"]) == ("error", None)
    assert "verdict" not in record
    assert record["trials"] == {"planned": 1, "recorded": 1, "usable": 0, "unusable": {"infrastructure": 1}}


def test_a_record_says_what_infrastructure_took(make_suite, case, go):
    suite = make_suite(case("a", shell="true"), case("b", argv=["no-such-program-here"]))
    (record,) = go(suite, trials=3).result.records
    assert record["notes"] == ["3 of 6 trials lost to infrastructure"]
    contract.validate(json.loads(json.dumps(record)), "eval-run.v1")


def test_an_unscored_run_is_inconclusive(make_suite, case, go):
    (record,) = go(make_suite(case("a", {"type": "manual_review"}, shell="true"))).result.records
    assert (record["status"], record["verdict"]) == ("inconclusive", "inconclusive")
    assert record["case_results"][0]["score"] is None


def test_one_live_trial_is_advisory_and_says_why(make_suite, case, go):
    suite = make_suite(case("a", shell="true"), tier="live")
    (one,) = go(suite, trials=1, run_id="one").result.records
    assert (one["status"], one["verdict"]) == ("pass", "advisory")
    assert one["notes"] == ["one trial a case on a live tier is never authoritative"]
    (three,) = go(suite, run_id="three").result.records
    assert (three["verdict"], three["trials"]["planned"]) == ("pass", 3)
    assert "notes" not in three


def test_a_run_without_a_process_is_static(make_suite, case, go):
    file = {"type": "file_exists", "target": "suite.json"}
    (record,) = go(make_suite(case("a", file, kind="artifact_check"))).result.records
    contract.validate(json.loads(json.dumps(record)), "eval-run.v1")
    assert record["runtime"]["name"] == "static"
    assert record["case_results"][0]["duration_ms"] is None
    assert record["environment"]["isolation"]["processes"] == []


def test_the_reference_of_two_arms(make_suite, case, go):
    """One case passes only with hooks on, one in both arms: aggregates 1.0 and 0.5."""
    hooked = case("hooked", shell="test -z $AGENTOPS_HOOKS_DISABLED")
    on, off = go(make_suite(hooked, case("plain", shell="true")), mode="both").result.records
    assert (on["aggregate_score"], off["aggregate_score"]) == (1.0, 0.5)
    assert [c["status"] for c in off["case_results"]] == ["fail", "pass"]
