import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from evalstats.report import kernel
from evalstats.report.kernel import Execution, Outcome

STARTS = ("warm", "cold")


@pytest.fixture(params=STARTS)
def run(request, write_notebook, tmp_path):
    def go(source, **limits):
        work = tmp_path / "work"
        work.mkdir()
        path = write_notebook(parameters="x = 1", work=source, save=None)
        how = Execution(cold=request.param == "cold", **limits)
        outcome = kernel.run(path.read_bytes(), {"x": 2}, work, how)
        assert outcome.kernel == request.param
        return outcome, work

    return go


def processes_in(work):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd").startswith(str(work)):
                found.append(pid)
        except OSError:
            continue
    return found


def gone(work, seconds=8):
    deadline = time.monotonic() + seconds
    while processes_in(work) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not processes_in(work)


def test_the_notebook_runs_in_a_world_of_its_own(run, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-for-notebooks")
    monkeypatch.setenv("SOMETHING_ELSE", "1")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    source = (
        "import os, sys, time, json\n"
        "json.dump([sorted(os.environ), os.getcwd(), os.environ['HOME'], time.tzname[0], x, sys.executable],"
        " open('seen.json', 'w'))"
    )
    outcome, work = run(source)
    assert outcome == Outcome(status="ok", kernel=outcome.kernel)
    names, folder, home, zone, x, python = json.loads((work / "seen.json").read_text())
    assert not {"ANTHROPIC_API_KEY", "SOMETHING_ELSE"} & set(names)
    assert (folder, home, zone, x, python) == (str(work), str(work / "home"), "UTC", 2, sys.executable)
    assert gone(work)


ENDINGS = {
    "raises": ("def deep():\n    raise ValueError('first line\\nthe reason')\ndeep()", {}),
    "dies": ("print('before', flush=True)\nimport os\nos._exit(3)", {}),
    "is killed": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", {}),
    "orphans itself": ("import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)", {}),
    "waits": ("import time\ntime.sleep(600)", {"cell_seconds": 1}),
    "holds on": (
        "import subprocess, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True).wait()",
        {"total_seconds": 8},
    ),
}


@pytest.fixture(scope="module")
def endings(tmp_path_factory, save_notebook_in):
    """Run every notebook that does not end well, from both starts, several at a time."""

    def end(job):
        name, start = job
        source, limits = ENDINGS[name]
        work, started = tmp_path_factory.mktemp("work"), time.monotonic()
        path = save_notebook_in(
            tmp_path_factory.mktemp("notebook"), parameters="x = 1", work=source, save=None
        )
        how = Execution(cold=start == "cold", **limits)
        outcome = kernel.run(path.read_bytes(), {"x": 2}, work, how)
        return outcome, work, time.monotonic() - started

    jobs = [(name, start) for name in ENDINGS for start in STARTS]
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(jobs, pool.map(end, jobs), strict=True))


@pytest.fixture(params=STARTS)
def ended(request, endings):
    """Name -> outcome, folder, seconds, from one start."""
    return lambda name: endings[name, request.param]


def test_a_cell_that_raises_is_named(ended):
    outcome, work, _ = ended("raises")
    assert (outcome.status, outcome.cell, outcome.message) == ("failed", 3, "ValueError: the reason")
    assert "in deep()" in outcome.traceback and "\x1b" not in outcome.traceback
    assert gone(work)


@pytest.mark.parametrize("name", ["dies", "is killed"])
def test_a_dead_kernel_is_told_from_a_failure(ended, name):
    outcome, work, _ = ended(name)
    assert outcome == Outcome(status="dead-kernel", message="the kernel died", kernel=outcome.kernel)
    assert gone(work)


def test_a_cell_that_never_ends(ended):
    outcome, work, _ = ended("waits")
    assert (outcome.status, outcome.message) == ("timeout", "a cell took longer than 1 s")
    assert gone(work)


def test_a_notebook_that_never_ends_is_ended_with_its_children(ended):
    outcome, work, seconds = ended("holds on")
    assert (outcome.status, outcome.message) == ("timeout", "took longer than 8 s")
    assert seconds < 40
    assert gone(work)


def test_a_runner_that_is_killed_is_a_failure_and_leaves_no_kernel(ended):
    outcome, work, _ = ended("orphans itself")
    assert (outcome.status, outcome.cell) == ("failed", None)
    assert outcome.message == "the process that runs the notebook ended before the notebook did"
    assert gone(work)


@pytest.mark.parametrize("start", STARTS)
def test_a_killed_builder_leaves_nothing_running(write_notebook, tmp_path, start):
    work = tmp_path / "work"
    work.mkdir()
    path = write_notebook(
        parameters="x = 1", work="open('started', 'w').close()\nimport time\ntime.sleep(600)", save=None
    )
    code = (
        "from pathlib import Path; from evalstats.report import kernel;"
        f"how = kernel.Execution(cold={start == 'cold'});"
        f"kernel.run(Path({str(path)!r}).read_bytes(), {{}}, Path({str(work)!r}), how)"
    )
    builder = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while not (work / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (work / "started").exists() and processes_in(work)
    family = psutil.Process(builder.pid).children(recursive=True)  # with a warm start also the server
    assert len(family) == {"warm": 3, "cold": 2}[start]
    builder.kill()
    builder.wait()
    assert gone(work) and psutil.wait_procs(family, timeout=10)[1] == []
