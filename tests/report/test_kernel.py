import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalstats.report import kernel
from evalstats.report.kernel import Limits, Outcome


@pytest.fixture
def run(write_notebook, tmp_path):
    def go(source, **limits):
        work = tmp_path / "work"
        work.mkdir()
        path = write_notebook(parameters="x = 1", work=source, save=None)
        return kernel.run(path.read_bytes(), {"x": 2}, work, Limits(**limits)), work

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
    assert outcome == Outcome(status="ok")
    names, folder, home, zone, x, python = json.loads((work / "seen.json").read_text())
    assert not {"ANTHROPIC_API_KEY", "SOMETHING_ELSE"} & set(names)
    assert (folder, home, zone, x, python) == (str(work), str(work / "home"), "UTC", 2, sys.executable)
    assert gone(work)


ENDINGS = {
    "raises": ("def deep():\n    raise ValueError('first line\\nthe reason')\ndeep()", {}),
    "dies": ("print('before', flush=True)\nimport os\nos._exit(3)", {}),
    "waits": ("import time\ntime.sleep(600)", {"cell_seconds": 1}),
    "holds on": (
        "import subprocess, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True).wait()",
        {"total_seconds": 8},
    ),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory, save_notebook_in):
    """Run every notebook that does not end well, side by side: name -> outcome, folder, seconds."""

    def end(name):
        source, limits = ENDINGS[name]
        work, started = tmp_path_factory.mktemp("work"), time.monotonic()
        path = save_notebook_in(
            tmp_path_factory.mktemp("notebook"), parameters="x = 1", work=source, save=None
        )
        outcome = kernel.run(path.read_bytes(), {"x": 2}, work, Limits(**limits))
        return outcome, work, time.monotonic() - started

    with ThreadPoolExecutor(len(ENDINGS)) as pool:
        return dict(zip(ENDINGS, pool.map(end, ENDINGS), strict=True))


def test_a_cell_that_raises_is_named(ended):
    outcome, work, _ = ended["raises"]
    assert (outcome.status, outcome.cell, outcome.message) == ("failed", 3, "ValueError: the reason")
    assert "in deep()" in outcome.traceback and "\x1b" not in outcome.traceback
    assert gone(work)


def test_a_dead_kernel_is_told_from_a_failure(ended):
    outcome, work, _ = ended["dies"]
    assert outcome == Outcome(status="dead-kernel", message="the kernel died")
    assert gone(work)


def test_a_cell_that_never_ends(ended):
    outcome, work, _ = ended["waits"]
    assert outcome == Outcome(status="timeout", message="a cell took longer than 1 s")
    assert gone(work)


def test_a_notebook_that_never_ends_is_ended_with_its_children(ended):
    outcome, work, seconds = ended["holds on"]
    assert outcome == Outcome(status="timeout", message="took longer than 8 s")
    assert seconds < 20
    assert gone(work)


def test_a_killed_builder_leaves_nothing_running(write_notebook, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    path = write_notebook(
        parameters="x = 1", work="open('started', 'w').close()\nimport time\ntime.sleep(600)", save=None
    )
    code = (
        "from pathlib import Path; from evalstats.report import kernel;"
        f"kernel.run(Path({str(path)!r}).read_bytes(), {{}}, Path({str(work)!r}), kernel.Limits())"
    )
    builder = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while not (work / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (work / "started").exists() and processes_in(work)
    builder.kill()
    builder.wait()
    assert gone(work)
