"""A codex of our own making: only turn.completed and turn.failed say how it ended."""

import json

import pytest

from evalstats.contract import Outcome, Status
from evalstats.runner import process

START = [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}]
COMMAND = {"type": "item.completed", "item": {"id": "1", "type": "command_execution", "exit_code": 0}}
SAID = {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": "yes, indeed"}}
USAGE = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 9, "reasoning_output_tokens": 4}
DONE = {"type": "turn.completed", "usage": USAGE}
HICCUP = [
    {"type": "error", "message": "Reconnecting... 1/1"},
    {"type": "item.completed", "item": {"id": "0", "type": "error", "message": "a warning"}},
]
PRICES = {"as_of": "2026-11-01", "models": {"m": {"input": 2.0, "output": 10.0, "cached_input": 0.5}}}


def failed(message):
    return {"type": "turn.failed", "error": {"message": message}}


def says(*events, code=0, before="", after=""):
    return f"{before}\nsay(*json.loads({json.dumps(json.dumps(events))}))\n{after}\nsys.exit({code})\n"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("CODEX_API_KEY", "key-of-the-test")
    monkeypatch.setattr("evalstats.runner.attempt.RETRY_SECONDS", 0.01)


@pytest.fixture
def codex(fake, ask):
    def run(body, **more):
        fake("codex", body)
        return ask("codex", **more)

    return run


def test_a_success_and_all_that_is_known_of_it(codex):
    found = codex(says(*START, *HICCUP, COMMAND, SAID, DONE), suite={"metadata": {"prices": PRICES}})
    trial = found.trial
    assert (trial.outcome, trial.passed, trial.exit_code, trial.tool_calls) == (Outcome.OK, True, 0, 1)
    assert (trial.tokens_in, trial.tokens_out, trial.tokens_cache) == (100, 9, 60)
    # 40 tokens at 2 $, 60 at 0.5 $, 9 at 10 $, a million
    assert trial.cost == pytest.approx((40 * 2 + 60 * 0.5 + 9 * 10) / 1e6)
    assert trial.cost_source == "prices of 2026-11-01"
    assert found.texts["stdout"] == b"yes, indeed"
    assert found.account["usage"] == USAGE
    assert found.account["version"].startswith("sha256:")
    assert found.account["skills"] is None
    assert [e["error"] for e in found.account["api_errors"]] == ["Reconnecting... 1/1"]


def test_without_prices_no_cost_is_known(codex):
    found = codex(says(*START, SAID, DONE))
    assert (found.trial.cost, found.trial.cost_source, found.record["cost"]) == (None, None, None)


@pytest.mark.parametrize(
    ("message", "error_class", "attempts"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate-limit", 3),
        ("unexpected status 503 Service Unavailable", "server-error", 3),
        ("stream disconnected before completion", "connection", 3),
        ("exceeded retry limit, last status: 401 Unauthorized", "authentication", 1),
        ("something else", "turn-failed", 1),
    ],
)
def test_a_failed_turn_is_infrastructure(codex, message, error_class, attempts):
    found = codex(says(*START, *HICCUP, failed(message), code=1))
    assert (found.trial.status, found.trial.outcome, found.trial.score) == (
        Status.ERROR,
        Outcome.INFRASTRUCTURE,
        None,
    )
    assert (found.trial.error_class, found.trial.attempt) == (error_class, attempts)
    assert message in found.trial.reason


def test_without_credentials_it_is_a_skip(codex, monkeypatch):
    monkeypatch.delenv("CODEX_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = codex(says(*START, failed("last status: 401 Unauthorized"), code=1))
    assert (found.trial.outcome, found.record["verdict"]) == (Outcome.SKIPPED, "advisory")
    assert found.trial.reason == "no credentials for codex: set CODEX_API_KEY or OPENAI_API_KEY"


def test_the_other_key_is_lent_under_the_name_that_codex_reads(codex, monkeypatch):
    monkeypatch.delenv("CODEX_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    seen = "say({'type': 'seen', 'same': os.environ['CODEX_API_KEY'] == os.environ['OPENAI_API_KEY'],"
    seen += " 'home': os.environ['CODEX_HOME'].startswith(os.environ['HOME']), 'argv': sys.argv[1:]})"
    found = codex(says(*START, SAID, DONE, before=seen))
    event = json.loads(found.texts["transcript"].splitlines()[0])
    assert (event["same"], event["home"]) == (True, True)
    assert event["argv"] == ["exec", "--json", "--skip-git-repo-check", "--model", "m", "-"]


def test_without_the_program_it_is_a_skip(ask, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert ask("codex").trial.reason == "the program codex is not on PATH"


def test_a_full_context_is_the_subjects_doing(codex):
    found = codex(says(*START, failed("your input exceeds the context window of this model"), code=1))
    assert (found.trial.outcome, found.trial.score) == (Outcome.LIMIT, 0.0)


@pytest.mark.parametrize(
    ("events", "code", "tail", "reason"),
    [
        ([*START, SAID], 0, "", "the stream ended before the turn did"),
        (
            [*START, SAID],
            1,
            'sys.stdout.write(\'{"type": "turn.comp\')',
            "the turn did; 1 line(s) are no JSON",
        ),
        ([*START, SAID, DONE], 1, "", "the turn was completed, and codex ended with code 1"),
        ([], 0, "", "the stream ended before the turn did"),
    ],
)
def test_no_ending_is_infrastructure(codex, events, code, tail, reason):
    found = codex(says(*events, code=code, after=tail))
    assert (found.trial.outcome, found.trial.error_class) == (Outcome.INFRASTRUCTURE, "no-result")
    assert found.trial.reason.endswith(reason)


def test_a_hang_a_flood_and_an_escape(codex, nap, alive):
    sleep = f"subprocess.Popen(['sleep', '{nap}'], start_new_session=True)"
    hung = codex(says(*START, before=sleep, after="time.sleep(60)"), given={"timeout_seconds": 0.6})
    assert (hung.trial.outcome, hung.trial.score) == (Outcome.TIMEOUT, 0.0)
    assert not alive(nap)
    flooded = codex("while True: print('x' * 100_000)")
    assert (flooded.trial.outcome, len(flooded.texts["transcript"])) == (Outcome.LIMIT, process.OUTPUT_CAP)
    escaped = codex(says(*START, SAID, DONE, before=sleep))
    assert (escaped.trial.passed, escaped.trial.leftover_processes) == (True, 1)
    assert not alive(nap)


def test_a_hang_while_it_reconnects_is_infrastructure(codex):
    body = says(*START, HICCUP[0], after="time.sleep(60)")
    found = codex(body, given={"timeout_seconds": 0.6}, suite={"environment": {"max_attempts": 1}})
    assert (found.trial.outcome, found.trial.error_class) == (Outcome.INFRASTRUCTURE, "connection")


def test_bytes_that_are_no_text(codex):
    noise = "sys.stdout.buffer.write(b'\\xff\\xfe{\\n'); sys.stdout.flush()"
    assert codex(says(*START, SAID, DONE, before=noise)).trial.passed is True
