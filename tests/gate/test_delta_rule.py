"""The aggregate of a DeltaScorecard against a minimum, by hand."""

import copy
import json

import pytest

from evalstats import contract, gate
from evalstats.errors import DocumentError, UsageError

CASE = {
    "skill_on_status": "pass",
    "skill_off_status": "fail",
    "skill_on_score": 1.0,
    "skill_off_score": 0.0,
    "delta": 1,
}
CARD = {
    "schema_version": 1, "suite_id": "door", "suite_path": "evals/door", "generated_at": "2026-01-01T00:00:00Z",
    "skill_on_run_id": "r-on", "skill_off_run_id": "r-off", "skill_on_aggregate": 1.0, "skill_off_aggregate": 0.5,
    "aggregate_delta": 0.5, "per_case": [{"case_id": "a", **CASE}],
}  # fmt: skip
DIFFERENCE = {
    "estimand": "difference", "population": "SUPER", "estimate": 0.5, "std_error": 0.1, "conf_low": 0.3,
    "conf_high": 0.7, "level": 0.8, "n_cases": 5, "n_clusters": None, "n_trials": 20, "method": "t", "caveats": [],
}  # fmt: skip


@pytest.fixture
def judge(tmp_path):
    """Return a function: the scorecard, and the minimum or a policy -> result."""

    def judged(card, minimum=None, policy=None):
        path, rules = tmp_path / "card.json", tmp_path / "policy.json"
        path.write_text(json.dumps(card))
        rules.write_text(json.dumps(policy))
        result = gate.judge_scorecard(path, rules if policy else None, minimum)
        contract.validate(result.as_record(), "gate-result.v1")
        return result

    return judged


@pytest.mark.parametrize(("minimum", "code"), [(0.4, 0), (0.5, 0), (0.51, 1), (-1, 0)])
def test_the_aggregate_must_reach_the_minimum(judge, minimum, code):
    result = judge(CARD, minimum)
    assert result.exit_code == code
    assert (
        result.reasons[0] == f"the aggregate of skill-on less skill-off is +0.5000, the minimum {minimum:+g}"
    )
    assert "its noise is unknown" in result.reasons[1] and result.false_block is None


def test_the_noise_of_the_scorecard_says_how_often_it_would_be_wrong(judge, make_policy):
    policy = make_policy(rule="minimum-delta", minimum_delta=0.4, margin=0.1)
    result = judge({**CARD, "difference": DIFFERENCE}, policy=policy)
    # one standard error above the minimum: a rerun falls below it with chance .1587 of the normal table
    assert result.false_block == pytest.approx(0.1587, abs=1e-4)
    assert result.power == pytest.approx(0.8413, abs=1e-4) and result.mde == pytest.approx(0.0842, abs=1e-4)
    assert "so near that a rerun could fall on the other side" in result.reasons


def test_an_empty_comparison_decides_nothing(judge):
    lost = copy.deepcopy(CARD)
    lost["per_case"][0]["comparable"] = False
    assert judge(lost, 0.1).reasons == ["an empty comparison: no case ran in both arms"]
    assert judge({**CARD, "per_case": [], "aggregate_delta": None}, 0.1).exit_code == 3


def test_an_advisory_scorecard_decides_nothing(judge):
    result = judge({**CARD, "verdict": "advisory", "reasons": ["mock run"]}, 0.1)
    assert (result.exit_code, result.reasons) == (3, ["mock run"])


def test_another_suite_is_refused(judge, make_policy):
    policy = make_policy(suite="window", rule="minimum-delta", minimum_delta=0.1)
    assert judge(CARD, policy=policy).reasons == ["the scorecard is of suite door, the policy of window"]


def test_what_is_no_scorecard_or_has_no_minimum_is_bad_input(judge, make_policy):
    with pytest.raises(UsageError, match="a scorecard is judged by a minimum"):
        judge(CARD)
    with pytest.raises(UsageError, match="a scorecard is judged by a minimum"):
        judge(CARD, policy=make_policy())
    with pytest.raises(DocumentError):
        judge({"schema": "report.v1"}, 0.1)


def test_a_report_can_be_held_to_a_minimum_too(make_report, make_policy, make_run):
    runs = [make_run(n, {"skill-on": 0.8, "skill-off": 0.5 + n / 100}) for n in range(1, 11)]
    asked = {"rule": "minimum-delta", "statistic": "difference"}
    assert gate.decide(make_report(runs), make_policy(**asked, minimum_delta=0.19)).exit_code == 0
    assert gate.decide(make_report(runs), make_policy(**asked, minimum_delta=0.21)).exit_code == 1
    assert gate.decide(make_report(runs[:1]), make_policy(**asked, minimum_delta=0.21)).exit_code == 0


def test_a_scorecard_that_contradicts_itself_decides_nothing(judge):
    result = judge({**CARD, "skill_on_aggregate": 0.1}, minimum=0.1)
    assert result.exit_code == 3
    assert result.reasons == ["the scorecard contradicts itself: 0.1 less 0.5 is -0.4000, it says +0.5"]
    assert judge({**CARD, "aggregate_delta": 0.5004}, minimum=0.1).exit_code == 0  # rounded
    assert judge({**CARD, "skill_on_aggregate": None}, minimum=0.1).exit_code == 0  # not told


@pytest.mark.parametrize("minimum", [float("nan"), float("inf"), float("-inf"), 1.5])
def test_a_minimum_that_no_aggregate_can_have_is_bad_input(judge, minimum):
    with pytest.raises(UsageError, match="lies between -1 and 1"):
        judge(CARD, minimum=minimum)
