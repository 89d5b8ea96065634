"""Agents of our own making on PATH, and suites that ask them."""

import stat
import sys
from types import SimpleNamespace

import pytest

from evalstats import contract
from evalstats.artifacts import Artifacts

PRELUDE = f"""#!{sys.executable}
import json, os, sys, time, subprocess
def say(*events):
    for event in events:
        sys.stdout.write(json.dumps(event) + "\\n")
    sys.stdout.flush()
prompt = sys.stdin.read()
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a function that puts a Python script on PATH under a name."""

    def make(name, body):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(PRELUDE + body, "utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return path

    return make


@pytest.fixture
def prompt_case(case):
    """Return a function that makes a case with a prompt that is answered with "yes"."""

    def make(case_id="a", *expectations, prompt="Is it so?", **more):
        wanted = expectations or ({"type": "stdout_contains", "value": "yes"},)
        return {**case(case_id, *wanted, kind="runtime_prompt", **more), "prompt": prompt}

    return make


@pytest.fixture
def ask(make_suite, prompt_case, go):
    """Return a function that asks one prompt of a runtime and gives back all that was recorded of it."""

    def run(runtime, *, suite=None, given=None, mode="skill-on", model="m", **options):
        made = make_suite(prompt_case(**(given or {})), tier="headless", **(suite or {}))
        ran = go(made, runtime=runtime, model=model, mode=mode, **options)
        return told(ran)

    return run


def told(ran):
    """The one trial of a run, with its outputs and its account."""
    (trial,) = ran.trials
    blobs = Artifacts(ran.data / "artifacts")
    texts = {name: blobs.get(digest) for name, digest in trial.artifacts.items()}
    account = contract.parse_json(texts.pop("account").decode()) if "account" in texts else None
    if account is not None:
        contract.validate(account, "account.v1")
    (record,) = ran.result.records
    return SimpleNamespace(ran=ran, trial=trial, texts=texts, account=account, record=record)


@pytest.fixture
def telling():
    return told
