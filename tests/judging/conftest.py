"""A judge on this machine: it speaks the protocol and says what a function of the request tells it to."""

import contextlib
import importlib.util
import io
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalstats.cli import run_command

spec = importlib.util.spec_from_file_location(
    "judge_loopback", Path(__file__).parent.parent / "runner" / "loopback.py"
)
loopback = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loopback)

QUESTION = "Does the output say please?"
RUBRIC = "Only the word itself counts.\n"


def prompt(request):
    """All that a request puts to the model, as one text."""
    body = request.body
    return body["prompt"] if "prompt" in body else "\n".join(m["content"] for m in body["messages"])


def graded(request):
    """What stands between the two lines of the fence."""
    lines = prompt(request).splitlines()
    first = next(
        i for i, line in enumerate(lines) if line.startswith("[output ") and line.endswith(" begins]")
    )
    mark = lines[first].split()[1]
    last = len(lines) - 1 - lines[::-1].index(f"[output {mark} ends]")
    return "\n".join(lines[first + 1 : last])


def says(text, **more):
    return loopback.answer(loopback.chat(text, **more))


def polite(request):
    """An honest judge: yes exactly when the output says please."""
    return says(json.dumps({"verdict": "yes" if "please" in graded(request) else "no"}))


@pytest.fixture
def judge_server():
    """Return a function that serves a judge and gives back its server."""
    with contextlib.ExitStack() as stack:
        yield lambda *script: stack.enter_context(loopback.Loopback(*(script or (polite,))))


def case(name, shell, *expectations, **more):
    asked = list(expectations) or [{"type": "judge", "value": QUESTION}]
    return {
        "id": name, "title": name, "kind": "command", "objective": "Ask for it nicely.", "archetype": "A1",
        "inputs": {"shell": shell}, "expectations": asked, "dimensions": ["correctness"], **more,
    }  # fmt: skip


def write_suite(root, cases, **changes):
    document = {
        "schema_version": 1, "id": "manners", "name": "Manners", "domain": "test", "visibility": "public_canary",
        "tier": "headless", "baseline_policy": {"mode": "none"}, "cases": cases,
        "judge": {"model": "mistral-judge", "rubric": "evals/manners/rubric.md"},
        "scoring": {"aggregate_threshold": 0.1, "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0}]},
        **changes,
    }  # fmt: skip
    folder = root / "evals" / document["id"]
    folder.mkdir(parents=True, exist_ok=True)
    (root / ".git").mkdir(exist_ok=True)
    (folder / "rubric.md").write_text(RUBRIC)
    (folder / "suite.json").write_text(json.dumps(document, indent=1))
    return folder / "suite.json"


@pytest.fixture
def evalstats(tmp_path, monkeypatch):
    """Return a function that types a command in a repository of the test's own."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("EVALSTATS_JUDGE_URL", raising=False)
    monkeypatch.delenv("EVALSTATS_JUDGE_KEY", raising=False)

    def command(*arguments):
        with (
            contextlib.chdir(tmp_path),
            contextlib.redirect_stdout(io.StringIO()) as said,
            contextlib.redirect_stderr(io.StringIO()) as complained,
        ):
            code = run_command([str(argument) for argument in arguments])
        return SimpleNamespace(code=code, out=said.getvalue(), err=complained.getvalue(), root=tmp_path)

    return command


CASES = [case("nice", "echo please"), case("rude", "echo now"), case("mute", "true")]


MADE = {}  # runs that were asked for before: the same suite is run once, and copied


@pytest.fixture
def ran(evalstats, tmp_path, tmp_path_factory):
    """Return a function that runs a suite and gives back the data folder; by default three cases, two trials."""

    def run(cases=CASES, *, trials=2, run_id="r1", **changes):
        data, asked = tmp_path / "data", json.dumps([cases, trials, run_id, changes])
        write_suite(tmp_path, cases, **changes)
        if asked in MADE and not data.exists() and str(tmp_path) not in asked:
            shutil.copytree(MADE[asked], data)
            return data
        done = evalstats("run", "manners", "--run-id", run_id, "--trials", trials, "--seed", 5)
        assert done.code in (0, 1), done.err
        if asked not in MADE and len(list((data / "runs").iterdir())) == 1:
            MADE[asked] = tmp_path_factory.mktemp("made") / "data"
            shutil.copytree(data, MADE[asked])
        return data

    return run
