"""A claude of our own making: each way in which a run can end, and what is said of it."""

import json

import pytest

from evalstats.contract import SUPPRESSION, Outcome, Status
from evalstats.errors import SuiteError
from evalstats.runner import process

INIT = {
    "type": "system",
    "subtype": "init",
    "model": "claude-x-1",
    "claude_code_version": "9.9.9",
    "skills": ["built-in"],
    "plugins": [{"name": "some", "path": "/p"}],
    "apiKeySource": "ANTHROPIC_API_KEY",
}
USAGE = {
    "input_tokens": 10,
    "output_tokens": 7,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 5,
}
DONE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "yes, indeed",
    "num_turns": 2,
    "total_cost_usd": 0.0123,
    "stop_reason": "end_turn",
    "usage": USAGE,
}
WORK = {
    "type": "assistant",
    "message": {
        "content": [{"type": "text", "text": "hm"}, {"type": "tool_use", "name": "Bash", "input": {}}]
    },
}
RETRY = {
    "type": "system",
    "subtype": "api_retry",
    "attempt": 1,
    "max_retries": 2,
    "retry_delay_ms": 500,
    "error_status": 429,
    "error": "rate_limit",
}


def refusal(status, text="API Error"):
    return {
        **DONE,
        "is_error": True,
        "api_error_status": status,
        "result": text,
        "terminal_reason": "api_error",
        "total_cost_usd": 0,
    }


def says(*events, code=0, before="", after=""):
    return f"{before}\nsay(*json.loads({json.dumps(json.dumps(events))}))\n{after}\nsys.exit({code})\n"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-test")
    monkeypatch.setattr("evalstats.runner.attempt.RETRY_SECONDS", 0.01)


@pytest.fixture
def claude(fake, ask):
    """Return a function that asks a claude that does as this Python code says."""

    def run(body, **more):
        fake("claude", body)
        return ask("claude", **more)

    return run


def test_a_success_and_all_that_is_known_of_it(claude):
    found = claude(says(INIT, WORK, DONE))
    trial = found.trial
    assert (trial.outcome, trial.passed, trial.exit_code) == (Outcome.OK, True, 0)
    assert (trial.tokens_in, trial.tokens_out, trial.tokens_cache) == (115, 7, 100)
    assert (trial.cost, trial.cost_source, trial.tool_calls, trial.stop_reason) == (
        0.0123,
        "claude",
        1,
        "end_turn",
    )
    assert found.texts["stdout"] == b"yes, indeed"
    assert [json.loads(line)["type"] for line in found.texts["transcript"].splitlines()] == [
        "system",
        "assistant",
        "result",
    ]
    about = found.account
    assert (about["runtime"], about["version"], about["model"], about["usage"]) == (
        "claude",
        "9.9.9",
        "claude-x-1",
        USAGE,
    )
    assert (about["skills"], about["skill_present"], about["api_errors"]) == (["built-in", "some"], None, [])
    assert about["transcript_bytes"] == len(found.texts["transcript"])
    runtime = found.record["runtime"]
    assert (runtime["name"], runtime["live"], runtime["version"], runtime["model"], runtime["models"]) == (
        "claude",
        True,
        "9.9.9",
        "m",
        ["claude-x-1"],
    )
    assert (found.record["cost"], found.record["tokens"]["in"], found.record["is_mock"]) == (
        0.0123,
        115,
        False,
    )
    assert (found.record["verdict"], found.record["model"]) == ("advisory", "m")
    assert found.record["notes"] == ["one trial a case on a live tier is never authoritative"]


def test_a_wrong_answer_is_a_fail(claude):
    trial = claude(says(INIT, {**DONE, "result": "no"})).trial
    assert (trial.status, trial.outcome, trial.score) == (Status.FAIL, Outcome.OK, 0.0)


@pytest.mark.parametrize(
    ("status", "error_class", "attempts"),
    [(429, "rate-limit", 3), (529, "server-error", 3), (401, "authentication", 1), (400, "bad-request", 1)],
)
def test_an_api_error_is_infrastructure_though_the_subtype_says_success(
    claude, status, error_class, attempts
):
    found = claude(says(INIT, refusal(status), code=1))
    trial = found.trial
    assert (trial.status, trial.outcome, trial.score, trial.passed) == (
        Status.ERROR,
        Outcome.INFRASTRUCTURE,
        None,
        None,
    )
    assert (trial.error_class, trial.attempt) == (error_class, attempts)
    assert trial.reason.startswith(f"HTTP {status}: API Error")
    assert [e["status"] for e in found.account["api_errors"]] == [status]
    assert [a["outcome"] for a in found.account["attempts"]] == ["infrastructure"] * attempts
    assert (found.record["status"], found.record["aggregate_score"]) == ("error", None)


@pytest.mark.parametrize(
    "result",
    [
        {**DONE, "is_error": True, "result": "Not logged in · Please run /login"},
        {**DONE, "is_error": True, "result": "Invalid API key · Please run /login"},
        refusal(401),
    ],
)
def test_without_credentials_it_is_a_skip(claude, monkeypatch, result):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    found = claude(says({**INIT, "apiKeySource": "none"}, result, code=1))
    assert (found.trial.status, found.trial.outcome) == (Status.SKIPPED, Outcome.SKIPPED)
    assert found.trial.reason.startswith("no credentials for claude: set ANTHROPIC_API_KEY")
    assert (found.record["status"], found.record["verdict"]) == ("skipped", "advisory")


def test_without_the_program_it_is_a_skip(ask, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = ask("claude")
    assert (found.trial.outcome, found.trial.reason) == (Outcome.SKIPPED, "the program claude is not on PATH")
    assert found.record["verdict"] == "advisory"


def test_retries_of_the_program_are_counted(claude):
    found = claude(says(INIT, RETRY, RETRY, DONE))
    assert (found.trial.outcome, found.trial.passed, found.trial.attempt) == (Outcome.OK, True, 1)
    assert found.account["api_errors"] == [{"status": 429, "error": "rate_limit", "retry_after_s": 0.5}] * 2
    assert found.record["runtime"]["api_errors"] == 2


def test_refused_at_first_and_answered_then(claude, tmp_path):
    once = f"""
import pathlib
first = pathlib.Path({str(tmp_path / "been-here")!r})
if not first.exists():
    first.touch()
    say(*json.loads({json.dumps(json.dumps([INIT, refusal(429)]))}))
    sys.exit(1)
"""
    found = claude(says(INIT, DONE, before=once))
    assert (found.trial.outcome, found.trial.passed, found.trial.attempt) == (Outcome.OK, True, 2)
    assert found.trial.reason == "1 earlier attempt(s) lost to infrastructure: HTTP 429: API Error"
    first, second = found.account["attempts"]
    assert (first["error_class"], first["cost"], second["cost"]) == ("rate-limit", 0.0, 0.0123)
    assert {"stdout", "transcript"} & set(first["artifacts"]) == {"transcript"}


@pytest.mark.parametrize("subtype", ["error_max_turns", "error_max_budget_usd"])
def test_a_limit_of_the_agent_is_the_subjects_doing(claude, subtype):
    result = {
        "type": "result",
        "subtype": subtype,
        "is_error": True,
        "errors": ["too many"],
        "total_cost_usd": 0.5,
    }
    found = claude(says(INIT, WORK, result, code=1))
    assert (found.trial.status, found.trial.outcome, found.trial.score) == (Status.FAIL, Outcome.LIMIT, 0.0)
    assert found.trial.cost == 0.5
    assert found.trial.stop_reason == subtype


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (
            'sys.stdout.write(\'{"type": "result", "is_er\')',
            "the stream ended without a result; 1 line(s) are no JSON",
        ),
        ("", "the stream ended without a result"),
        ('sys.stdout.write("[1]\\n7\\n")', "the stream ended without a result; 2 line(s) are no JSON"),
    ],
)
def test_a_torn_stream_is_infrastructure(claude, tail, reason):
    found = claude(says(INIT, WORK, after=tail))
    assert (found.trial.outcome, found.trial.error_class, found.trial.reason) == (
        Outcome.INFRASTRUCTURE,
        "no-result",
        reason,
    )
    assert found.trial.attempt == 1
    assert found.trial.score is None


def test_a_hang_is_a_timeout_and_nothing_is_left(claude, nap, alive):
    body = f"say({INIT!r})\nsubprocess.run(['sleep', '{nap}'])"
    found = claude(body, given={"timeout_seconds": 0.6})
    assert (found.trial.outcome, found.trial.score) == (Outcome.TIMEOUT, 0.0)
    assert found.trial.reason == "timed out after 0.6 s"
    assert found.texts["transcript"]
    assert not alive(nap)


def test_a_hang_while_the_api_refuses_is_infrastructure(claude, nap, alive):
    body = says(INIT, RETRY, after=f"subprocess.run(['sleep', '{nap}'])")
    found = claude(body, given={"timeout_seconds": 0.6}, suite={"environment": {"max_attempts": 1}})
    assert (found.trial.outcome, found.trial.error_class) == (Outcome.INFRASTRUCTURE, "rate-limit")
    assert not alive(nap)


def test_a_flood_is_cut_off(claude):
    found = claude(f"say({INIT!r})\nwhile True: print('x' * 100_000)")
    assert (found.trial.outcome, found.trial.score) == (Outcome.LIMIT, 0.0)
    assert len(found.texts["transcript"]) == process.OUTPUT_CAP


def test_a_child_that_escapes_is_found_and_killed(claude, nap, alive):
    escape = f"subprocess.Popen(['sleep', '{nap}'], start_new_session=True)"
    found = claude(says(INIT, DONE, before=escape))
    assert (found.trial.outcome, found.trial.passed, found.trial.leftover_processes) == (Outcome.OK, True, 1)
    assert not alive(nap)


def test_bytes_that_are_no_text(claude):
    noise = "sys.stdout.buffer.write(b'\\xff\\xfe{\\n'); sys.stdout.flush()"
    found = claude(says(INIT, DONE, before=noise))
    assert (found.trial.outcome, found.trial.passed) == (Outcome.OK, True)
    assert found.texts["transcript"].startswith(b"\xff\xfe{\n")


SKILLED = {"arms": {"skill-on": {"files": [".claude/skills/counting/SKILL.md"]}}}


@pytest.mark.parametrize(
    ("mode", "skills", "outcome", "reason"),
    [
        ("skill-on", ["counting"], Outcome.OK, None),
        ("skill-on", ["plug:counting"], Outcome.OK, None),
        ("skill-on", [], Outcome.CONTAMINATED, "the skill counting was absent from a skill-on trial"),
        ("skill-off", [], Outcome.OK, None),
        (
            "skill-off",
            ["counting"],
            Outcome.CONTAMINATED,
            "the skill counting was present in a skill-off trial",
        ),
    ],
)
def test_the_skill_must_be_as_the_arm_says(claude, tmp_path, mode, skills, outcome, reason):
    file = tmp_path / "suite" / ".claude/skills/counting/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("count", "utf-8")
    found = claude(says({**INIT, "skills": skills}, DONE), suite=SKILLED, mode=mode)
    assert (found.trial.outcome, found.trial.reason) == (outcome, reason)
    assert found.account["skill_present"] is bool(skills)
    assert (found.trial.score is None) == (outcome is Outcome.CONTAMINATED)
    assert found.record["runtime"]["skill"]["present"] == bool(skills)


def test_what_the_agent_is_given(claude, monkeypatch, tmp_path):
    monkeypatch.setenv("SOME_TOKEN", "token-of-another")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-another")
    (tmp_path / "suite" / "desk").mkdir(parents=True)
    (tmp_path / "suite" / "desk" / "note.txt").write_text("hello", "utf-8")
    seen = """
say({'type': 'seen', 'argv': sys.argv[1:], 'env': dict(os.environ), 'prompt': prompt,
     'cwd': os.getcwd(), 'files': os.listdir()})
open('made.txt', 'w').write('x')
"""
    given = {"args": ["--allowedTools", "Bash"], "max_turns": 3, "workspace": "desk"}
    found = claude(says(INIT, DONE, before=seen), mode="skill-off", given=given)
    event = json.loads(found.texts["transcript"].splitlines()[0])
    assert event["prompt"] == f"Is it so?\n\n{SUPPRESSION}"
    assert event["argv"][:4] == ["-p", "--output-format", "stream-json", "--verbose"]
    assert event["argv"][-6:] == ["--model", "m", "--max-turns", "3", "--allowedTools", "Bash"]
    assert event["files"] == ["note.txt"]
    env = event["env"]
    assert env["ANTHROPIC_API_KEY"] == "[redacted:ANTHROPIC_API_KEY]"  # it was there; the record hides it
    assert not {"SOME_TOKEN", "OPENAI_API_KEY"} & set(env)
    assert env["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert env["AGENTOPS_HOOKS_DISABLED"] == "1"
    assert env["CLAUDE_CONFIG_DIR"] == env["HOME"] + "/.claude"
    assert env["HOME"].startswith(str(found.ran.data))
    assert event["cwd"].startswith(str(found.ran.data))
    assert not (tmp_path / "suite/desk/made.txt").exists()


def test_files_that_the_agent_made_are_looked_for_where_it_worked(fake, make_suite, prompt_case, go, telling):
    fake("claude", says(INIT, DONE, before="open('made.txt', 'w').write('x')"))
    wanted = (
        {"type": "file_exists", "target": "made.txt"},
        {"type": "file_absent", "target": "/etc/passwd", "required": False},
    )
    ran = go(make_suite(prompt_case("a", *wanted), tier="headless"), runtime="claude")
    trial = telling(ran).trial
    assert trial.passed is True
    assert trial.expectations[1].detail == "file /etc/passwd lies outside the workspace"


@pytest.mark.parametrize("place", ["nowhere", "../..", "suite.json"])
def test_a_workspace_is_a_folder_of_the_repository(claude, place):
    with pytest.raises(SuiteError, match="inputs/workspace: case 'a': is no folder inside the repository"):
        claude(says(INIT, DONE), given={"workspace": place})


def test_a_reason_hides_what_a_service_quotes(claude):
    found = claude(says(INIT, refusal(400, "bad key key-of-the-test"), code=1))
    assert found.trial.reason == "HTTP 400: bad key [redacted:ANTHROPIC_API_KEY]"
    assert "key-of-the-test" not in str(found.account)


@pytest.mark.parametrize("prefix", ["ANTHROPIC_", "ANTHROPIC_API"])
def test_a_prefix_that_the_suite_scrubs_is_lent_to_nobody(claude, prefix):
    seen = "say({'type': 'seen', 'env': sorted(os.environ)})"
    found = claude(says(INIT, DONE, before=seen), suite={"environment": {"scrub_env_prefixes": [prefix]}})
    assert "ANTHROPIC_API_KEY" not in json.loads(found.texts["transcript"].splitlines()[0])["env"]
