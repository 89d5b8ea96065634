"""An inspect of our own making, which leaves a log where it is told to."""

import json

import pytest

from evalstats.contract import Outcome

SCORED = {"type": "score_at_least", "target": "$.scores.match", "threshold": 1}


def log(**changes):
    sample = {
        "id": "s1",
        "epoch": 1,
        "input": "Is it so?",
        "target": "yes",
        "output": {"completion": "yes, indeed", "choices": [{"stop_reason": "stop"}]},
        "scores": {"match": {"value": "C"}},
        "model_usage": {"m": {"input_tokens": 9, "output_tokens": 2, "total_cost": 0.01}},
        **changes,
    }
    spec = {
        "task": "t",
        "model": "m",
        "eval_id": "e",
        "packages": {"inspect_ai": "0.3.1"},
        "config": {"epochs": 1},
    }
    return {"version": 2, "status": "success", "eval": spec, "samples": [sample]}


def writes(document, code=0):
    body = """
folder = sys.argv[sys.argv.index("--log-dir") + 1]
os.makedirs(folder)
"""
    body += "" if document is None else f"open(folder + '/log.json', 'w').write({json.dumps(document)!r})\n"
    return body + f"sys.exit({code})\n"


@pytest.fixture
def inspect(fake, make_suite, prompt_case, go, telling):
    def run(body, *wanted, task="tasks.py@t", **more):
        fake("inspect", "sys.stdin = None\n" + body)
        suite = make_suite(
            prompt_case("a", *(wanted or (SCORED,)), task=task, sample_id="s1"), tier="headless"
        )
        return telling(go(suite, runtime="inspect", model="m", **more))

    return run


def test_the_log_of_a_sample_is_the_trial(inspect):
    said = {"type": "stdout_contains", "value": "yes, indeed"}
    found = inspect(writes(log()), SCORED, said)
    trial = found.trial
    assert (trial.outcome, trial.passed, trial.stop_reason) == (Outcome.OK, True, "stop")
    assert (trial.tokens_in, trial.tokens_out, trial.cost, trial.cost_source) == (9, 2, 0.01, "inspect_ai")
    assert (found.account["model"], found.account["version"]) == ("m", "0.3.1")
    assert json.loads(found.texts["stdout"]) == {"completion": "yes, indeed", "scores": {"match": 1.0}}
    assert json.loads(found.texts["transcript"]) == log()


def test_a_score_below_is_a_fail(inspect):
    assert inspect(writes(log(scores={"match": {"value": "I"}}))).trial.score == 0.0


@pytest.mark.parametrize(
    ("document", "outcome", "reason"),
    [
        (log(error={"message": "APIError('busy')"}, scores={}), Outcome.INFRASTRUCTURE, "APIError('busy')"),
        (log(limit={"type": "token"}), Outcome.LIMIT, "limit: token"),
        (None, Outcome.INFRASTRUCTURE, "inspect left no log and ended with code 1"),
        ([], Outcome.INFRASTRUCTURE, "the log cannot be read"),
        ({**log(), "samples": []}, Outcome.INFRASTRUCTURE, "the log holds 0 samples"),
    ],
)
def test_what_is_no_answer(inspect, document, outcome, reason):
    trial = inspect(writes(document, code=1)).trial
    assert (trial.outcome, trial.passed) == (outcome, False if outcome is Outcome.LIMIT else None)
    assert trial.reason.startswith(reason)


def test_what_is_missing_is_a_skip(inspect, monkeypatch, make_suite, prompt_case, go):
    assert inspect(writes(log()), task="").trial.reason == "the case names no task of Inspect"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    suite = make_suite(prompt_case("a", task="t.py"), tier="headless")
    assert go(suite, runtime="inspect", model="m").trials[0].reason == "the program inspect is not on PATH"
    assert go(suite, runtime="inspect").trials[0].reason == "no model is named: --model"
