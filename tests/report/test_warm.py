import json
import os
import subprocess

import pytest

from evalstats.report import kernel, warm
from evalstats.report.kernel import Execution

PROBE = """
import json, os, random, signal, sys
import numpy as np
import evalstats.report.wording
told = {
    "modules": sorted(sys.modules), "pid": os.getpid(), "parent": os.getppid(), "folder": os.getcwd(),
    "environment": dict(os.environ), "random": [random.random(), np.random.rand()],
    "threads": len(os.listdir("/proc/self/task")), "interrupt": signal.getsignal(signal.SIGINT).__name__,
    "group": os.getpgrp(), "blas": os.environ.get("OPENBLAS_NUM_THREADS"),
}
open("told.json", "w").write(json.dumps(told))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of its own, which knows the module ``probe``; other tests share the one of the process."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "probe.py").write_text(PROBE)
    (folder / "hangs.py").write_text("import time\nopen('started', 'w').close()\ntime.sleep(600)\n")
    (folder / "raises.py").write_text("raise ValueError('the reason')\n")
    (folder / "early.py").write_text(
        "import json, sys\nopen('early.json', 'w').write(json.dumps([m for m in sys.modules if 'evalstats' in m]))\n"
    )
    surroundings = kernel._surroundings()
    path = os.pathsep.join([str(folder), surroundings["PYTHONPATH"]])
    started = warm.Server({**surroundings, "PYTHONPATH": path, "HOME": "/nonexistent"})
    yield started, {**surroundings, "PYTHONPATH": path}
    started.stop()


@pytest.fixture
def fork(server, tmp_path):
    """Return a function that runs a module in a fork, in a folder of its own."""

    def go(module, name="work", **environment):
        folder = tmp_path / name
        folder.mkdir()
        return server[0].fork(module, folder, {**server[1], **environment}), folder

    return go


def told(fork, name, **environment):
    process, folder = fork("probe", name, **environment)
    assert process.wait(60) == 0
    return json.loads((folder / "told.json").read_text()), folder, process


def test_every_fork_is_a_process_of_its_own(fork):
    (one, folder, process), (two, _, _) = told(fork, "one", COLOUR="blue"), told(fork, "two")
    assert (
        one["folder"] == str(folder)
        and one["pid"] == process.pid == one["group"]
        and one["pid"] != two["pid"]
    )
    assert one["environment"]["COLOUR"] == "blue" and "COLOUR" not in two["environment"]
    assert one["interrupt"] == "default_int_handler"
    assert one["blas"] == "1"


def test_forks_share_no_random_state(fork):
    draws = [told(fork, str(number))[0]["random"] for number in range(3)]
    assert len({python for python, _ in draws}) == len({numpy for _, numpy in draws}) == 3


def test_third_parties_are_there_and_evalstats_is_not(fork):
    process, folder = fork("early")
    process.wait(60)
    assert json.loads((folder / "early.json").read_text()) == []
    assert {"pandas", "statsmodels.api", "altair", "papermill"} <= set(told(fork, "later")[0]["modules"])


def test_a_fork_is_waited_for_and_killed(fork):
    process, _ = fork("hangs")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.2)
    assert process.poll() is None
    process.kill()
    process.wait(10)
    process.kill()  # twice is once
    assert process.poll() is not None and not os.path.exists(f"/proc/{process.pid}/cwd")


def test_what_a_fork_says_and_how_it_fails_is_in_its_log(fork):
    process, folder = fork("raises")
    process.wait(60)
    assert "ValueError: the reason" in (folder / "log").read_text()


def test_a_server_that_cannot_be_had_is_no_reason_not_to_run(write_notebook, tmp_path, monkeypatch):
    monkeypatch.setattr(warm, "_servers", [])
    monkeypatch.setattr(
        kernel, "_FIXED", {**kernel._FIXED, "PYTHONHOME": "/nonexistent"}
    )  # no Python starts so
    with monkeypatch.context() as only_server:
        only_server.setattr(warm, "START_SECONDS", 20)
        broken = warm.start(kernel._surroundings())
    monkeypatch.setattr(kernel, "_FIXED", {k: v for k, v in kernel._FIXED.items() if k != "PYTHONHOME"})
    assert broken.fork("json", tmp_path, {}) is None
    path = write_notebook(parameters="x = 1", work="x", save=None)
    monkeypatch.setattr(warm, "start", lambda environment: broken)
    outcome = kernel.run(path.read_bytes(), {"x": 2}, tmp_path, Execution())
    assert (outcome.status, outcome.kernel) == ("ok", "cold")


def test_a_dead_server_is_replaced(monkeypatch):
    monkeypatch.setattr(warm, "_servers", [])
    first = warm.start(kernel._surroundings())
    assert warm.start(kernel._surroundings()) is first
    first.stop()
    second = warm.start(kernel._surroundings())
    assert second is not first and second.alive
    second.stop()
