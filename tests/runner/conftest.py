"""Small suites in temporary folders, and runs of them."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalstats import runner
from evalstats.artifacts import Artifacts
from evalstats.journal import read_trials
from evalstats.suite import load

DRIVER = Path(__file__).with_name("drive.py")


class Driven:
    """A runner in a process of its own."""

    def __init__(self, data, suite, *, jobs=2, trials=4, mode="skill-on", ignored="", own_group=False, **env):
        command = [sys.executable, str(DRIVER), str(data), str(suite.path), "r", str(jobs), str(trials), mode]
        if ignored:
            command = ["sh", "-c", f"trap '' {ignored}; exec \"$@\"", "sh", *command]
        env = {**os.environ, "PYTHONPATH": os.getcwd(), **env}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=env, start_new_session=own_group
        )
        self.lines = []

    def until(self, event, times=1):
        """Read events until this one has come so many times."""
        while times:
            line = json.loads(self.process.stdout.readline())
            self.lines.append(line)
            times -= line.get("event") == event
        return self

    def end(self, patience_s=20):
        """Wait for the end and return exit code and last line."""
        self.lines += [json.loads(line) for line in self.process.stdout]
        self.process.stdout.close()
        return self.process.wait(patience_s), self.lines[-1] if self.lines else None


@pytest.fixture
def drive(tmp_path):
    """Return a function that starts a runner in ``drive.data``; what still runs in the end is killed."""
    started = []

    def start(suite, **options):
        started.append(Driven(start.data, suite, **options))
        return started[-1]

    start.data = tmp_path / "data"
    yield start
    for driven in started:
        driven.process.kill()
        driven.process.stdout.close()
        driven.process.wait()


@pytest.fixture
def make_suite(tmp_path):
    """Return a function that writes a suite of these cases and loads it."""

    def make(*cases, folder="suite", root=None, **sections):
        document = {
            "schema_version": 1,
            "id": "tiny",
            "name": "Tiny",
            "domain": "test",
            "visibility": "public_canary",
            "tier": "deterministic",
            "scoring": {
                "aggregate_threshold": 1.0,
                "dimensions": [{"name": "correctness", "weight": 1, "threshold": 1.0}],
            },
            "baseline_policy": {"mode": "none"},
            "cases": list(cases),
            **sections,
        }
        path = tmp_path / folder / "suite.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document), "utf-8")
        return load(path, root=root)

    return make


@pytest.fixture
def case():
    """Return a function that makes a case document: ``case("a", shell="true")``."""

    def make(case_id, *expectations, kind="command", inputs=None, **more):
        fields = {
            name: more.pop(name) for name in ("archetype", "runtime", "timeout_seconds") if name in more
        }
        return {
            "id": case_id,
            "title": case_id,
            "kind": kind,
            "objective": "end as expected",
            "inputs": {**(inputs or {}), **more},
            "dimensions": ["correctness"],
            "expectations": list(expectations) or [{"type": "exit_code", "value": 0}],
            **fields,
        }

    return make


@pytest.fixture
def go(tmp_path):
    """Return a function that runs a suite and gives back result, trials and data folder."""

    def run(suite, *, jobs=2, on_event=lambda event: None, **options):
        data = tmp_path / "data"
        plan = runner.plan(suite, runner.Options(**options))
        result = runner.run(plan, data=data, jobs=jobs, on_event=on_event)
        trials = [t for leg in plan.runs for t in read_trials(data / "runs" / leg.run_id)]
        return SimpleNamespace(
            plan=plan, result=result, trials=trials, data=data, blobs=Artifacts(data / "artifacts")
        )

    return run


@pytest.fixture
def trial_of(make_suite, case, go):
    """Return a function that runs one command case once and gives back its trial and its outputs."""

    def run(*expectations, suite=None, **inputs):
        ran = go(make_suite(case("a", *expectations, **inputs), **(suite or {})))
        (trial,) = ran.trials
        texts = {name: ran.blobs.get(digest) for name, digest in trial.artifacts.items()}
        return trial, texts.get("stdout", b""), texts.get("stderr", b"")

    return run


@pytest.fixture
def nap():
    """Return a sleeping time that no other process on this machine uses."""
    return f"{100 + os.getpid() % 1000}.{time.time_ns() % 10**9:09d}"


@pytest.fixture
def alive():
    """Return a function that lists the processes whose command line holds a text, zombies aside."""

    def look(needle):
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    found += [int(entry.name)] * (needle.encode() in (entry / "cmdline").read_bytes())
        return found

    return look
