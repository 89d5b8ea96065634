"""Prompts put to an endpoint on this machine: what is asked, what is recorded, what is lost."""

import importlib.util
from pathlib import Path

import pytest

from evalstats.contract import SUPPRESSION, Outcome, Status

spec = importlib.util.spec_from_file_location("loopback", Path(__file__).parents[1] / "loopback.py")
loopback = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loopback)
PRICES = {"as_of": "2026-11-01", "models": {"m": {"input": 1.0, "output": 10.0}}}
YES = loopback.answer(loopback.chat("yes", system_fingerprint="fp-1"))


@pytest.fixture
def served(monkeypatch):
    """Return a function that starts a server with these answers and points the runtime to it."""
    started = []

    def serve(*script):
        server = loopback.Loopback(*script)
        started.append(server.__enter__())
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return server

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    yield serve
    for server in started:
        server.__exit__()


def test_a_chat_and_all_that_is_known_of_it(served, ask):
    server = served(YES)
    given = {"system": "Be brief.", "max_tokens": 5, "temperature": 0, "stop": ["\n"], "request": {"n": 1}}
    found = ask("openai", given=given, suite={"metadata": {"prices": PRICES}})
    trial, (request,) = found.trial, server.requests
    assert (trial.outcome, trial.passed, trial.exit_code, trial.stop_reason) == (
        Outcome.OK,
        True,
        None,
        "stop",
    )
    assert (trial.tokens_in, trial.tokens_out, trial.tokens_cache) == (11, 3, 4)
    assert trial.cost == pytest.approx((11 * 1 + 3 * 10) / 1e6)
    assert trial.isolation is None
    assert request.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it so?"}],
        "max_tokens": 5,
        "temperature": 0,
        "seed": trial.seed % 2**31,
        "stop": ["\n"],
        "n": 1,
    }
    assert (found.account["model"], found.account["version"]) == ("served-model", "fp-1")
    assert found.record["runtime"]["models"] == ["served-model"]


def test_a_text_to_go_on_with_keeps_its_ending(served, ask):
    server = served(loopback.answer(loopback.plain(" yes")))
    given = {"api": "completions", "prompt_prefix": "Q: a?\nA: no\nQ: ", "prompt_end": "\nA:"}
    suite = {"arms": {"skill-off": {"prompt_suffix": " Think."}}}
    found = ask("openai", given=given, mode="skill-off", suite=suite)
    assert found.trial.passed is True
    asked = server.requests[0]
    assert asked.path == "/v1/completions"
    assert asked.body["prompt"] == f"Q: a?\nA: no\nQ: Is it so? Think.\n\n{SUPPRESSION}\nA:"


def test_refused_at_first_and_answered_then(served, ask):
    served(loopback.refusal(429, headers=["retry-after: 1"]), loopback.refusal(500), YES)
    found = ask("openai")
    assert (found.trial.outcome, found.trial.passed) == (Outcome.OK, True)
    assert [(e["status"], e["error"]) for e in found.account["api_errors"]] == [
        (429, "rate-limit"),
        (500, "server-error"),
    ]
    assert found.record["runtime"]["api_errors"] == 2


@pytest.mark.parametrize(
    ("bad", "error_class"),
    [
        (loopback.refusal(400, "no such thing"), "bad-request"),
        (loopback.answer(raw=b"{"), "invalid-response"),
        (loopback.answer(loopback.chat("yes"), kind="text/html"), "invalid-response"),
    ],
)
def test_what_is_lost_is_no_fail(served, ask, bad, error_class):
    served(bad)
    found = ask("openai")
    assert (found.trial.status, found.trial.outcome, found.trial.score) == (
        Status.ERROR,
        Outcome.INFRASTRUCTURE,
        None,
    )
    assert found.trial.error_class == error_class
    assert found.record["status"] == "error"


def test_a_slow_answer_is_a_timeout(served, ask):
    served(loopback.answer(loopback.chat("yes"), slow_s=0.05))
    found = ask("openai", given={"timeout_seconds": 0.3})
    assert (found.trial.outcome, found.trial.score) == (Outcome.TIMEOUT, 0.0)


def test_a_refused_key(served, ask, monkeypatch):
    served(loopback.refusal(401, "who are you"))
    assert ask("openai", run_id="a").trial.reason == "no credentials for openai: set OPENAI_API_KEY"


def test_a_wrong_key_is_infrastructure(served, ask, monkeypatch):
    served(loopback.refusal(401, "who is key-of-the-test"))
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-test")
    trial = ask("openai").trial
    assert (trial.outcome, trial.error_class) == (Outcome.INFRASTRUCTURE, "authentication")
    assert trial.reason == "HTTP 401: who is [redacted:KEY]"


@pytest.mark.parametrize(
    ("url", "model", "reason"),
    [
        (None, "m", "no credentials for openai: set OPENAI_API_KEY"),
        ("http://127.0.0.1:9/v1", "m", "no network to 127.0.0.1:9"),
        ("http://127.0.0.1:9/v1", None, "no model is named: --model"),
    ],
)
def test_what_is_missing_is_a_skip(ask, monkeypatch, url, model, reason):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    found = ask("openai", model=model)
    assert found.trial.outcome is Outcome.SKIPPED
    assert found.trial.reason.startswith(reason)
    assert (found.record["status"], found.record["verdict"]) == ("skipped", "advisory")


@pytest.mark.parametrize("offline", [{"network": "forbidden"}, {"offline_required": True}])
def test_where_the_suite_forbids_the_network_only_this_machine_is_asked(served, ask, monkeypatch, offline):
    served(YES)
    assert ask("openai", suite={"environment": offline}).trial.passed is True
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example/v1")
    trial = ask("openai", suite={"environment": offline}, run_id="far").trial
    assert (trial.outcome, trial.reason) == (
        Outcome.SKIPPED,
        "the suite forbids the network, and openai needs it",
    )


def test_requests_keep_to_the_limit(served, make_suite, prompt_case, go):
    server = served(YES)
    go(make_suite(prompt_case("a")), runtime="openai", model="m", trials=11, max_rpm=1200, jobs=4)
    seen = 60 * 10 / (server.times[-1] - server.times[0])
    assert 0.9 * 1200 <= seen <= 1.1 * 1200


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"api": "tea"}, "api"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"stop": "x"}, "stop"),
        ({"system": 1}, "system"),
        ({"request": []}, "request"),
    ],
)
def test_inputs_that_make_no_request_are_found_before(ask, given, field):
    from evalstats.errors import SuiteError

    with pytest.raises(SuiteError, match=field):
        ask("openai", given=given)
