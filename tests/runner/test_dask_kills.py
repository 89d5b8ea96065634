"""Kill -9, at random moments, of what coordinates a run and of what runs its trials: each trial counts once.

What was paid for is told by the trials themselves: each writes its key into one file when it begins.
"""

import importlib.util
import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from evalstats import runner, store
from evalstats.journal import read_trials
from evalstats.runner import Options

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs the extra dask"
)
EXECUTORS = ["local", pytest.param("dask", marks=needs_dask)]
CASES = 10


@pytest.fixture
def noted(make_suite, case, tmp_path):
    """Return a function that makes a suite whose trials take so long, and the file where each writes its key first."""

    def make(seconds):
        log = tmp_path / "begun"
        log.touch()
        shell = f"echo $EVALSTATS_TRIAL >>{log}; sleep {seconds}"
        return make_suite(*(case(f"c{number}", shell=shell) for number in range(CASES))), log

    return make


def kill_coordinators(drive, suite, executor, *, trials, kills, rng):
    """Begin a run of both arms, kill what coordinates it so many times, and finish it."""
    given = {"jobs": 4, "trials": trials, "mode": "both", "EXECUTOR": executor}
    for number in range(kills):
        driven = drive(suite, **given).until("Started")
        if number % 4:
            driven.until("TrialFinished", rng.randint(1, 60))
        else:
            time.sleep(rng.uniform(0.0, 0.3))
        driven.process.kill()
        driven.end()
    return drive(suite, **given)


def kill_workers(driven, *, kills, every, rng):
    """Kill a worker of a run each time that so many more trials are finished."""
    killed = 0
    for _ in range(kills):
        driven.until("TrialFinished", every)
        if workers := workers_of(driven.process.pid):
            os.kill(rng.choice(workers), signal.SIGKILL)
            killed += 1
    return killed


def workers_of(coordinator):
    children = Path(f"/proc/{coordinator}/task/{coordinator}/children").read_text().split()
    found = {int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()}
    for thread in Path(f"/proc/{coordinator}/task").iterdir():
        for pid in (thread / "children").read_text().split():
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(int(pid))
    return sorted(found)


def check(data, suite, log, *, trials):
    """Check that each trial counts once and that all that was begun beyond that is listed; return the list."""
    plan = runner.plan(suite, Options(run_id="r", trials=trials, mode="both"))
    planned = {spec.key for spec in plan.specs}
    folders = [data / "runs" / run.run_id for run in plan.runs]
    recorded = [trial.key for folder in folders for trial in read_trials(folder)]
    assert sorted(recorded) == sorted(planned)
    place = data / "evalstats.duckdb"
    store.ingest(place, data / "runs")
    with store.open(place, read_only=True) as opened:
        assert opened.runs()["n_trials"].sum() == len(planned)
    lists = [folder / "lost.jsonl" for folder in folders]
    lost = [json.loads(line) for path in lists if path.exists() for line in path.read_text().splitlines()]
    listed = Counter(one["key"] for one in lost)
    begun = Counter(log.read_text().split())
    assert set(begun) == planned
    beyond = Counter({key: times - 1 for key, times in begun.items() if times > 1})
    assert beyond <= listed, "a trial was begun more often than is told"
    notes = [json.loads((folder / "record.json").read_text()).get("notes", []) for folder in folders]
    told = sum(int(note.split()[0]) for each in notes for note in each if "lost or doubled" in note)
    assert told == len(lost)
    assert not list((data / "runs").glob("*/t")) and not list((data / "runs").glob("*/.launch-*"))
    print(
        f"{len(recorded)} trials, {begun.total()} begun, {beyond.total()} of them again, {len(lost)} listed"
    )
    return lost


@needs_dask
def test_a_worker_and_a_coordinator_may_be_killed(drive, noted):
    suite, log = noted(0.05)
    rng, trials = random.Random(1), 3
    driven = drive(suite, jobs=2, trials=trials, mode="both", EXECUTOR="dask")
    assert kill_workers(driven, kills=1, every=10, rng=rng) == 1
    driven.until("TrialFinished", 15).process.kill()
    driven.end()
    assert drive(suite, jobs=2, mode="both", EXECUTOR="dask").end()[0] == 0
    check(drive.data, suite, log, trials=trials)


@pytest.mark.slow
@pytest.mark.parametrize("executor", EXECUTORS)
def test_twenty_coordinators_are_killed(drive, noted, executor):
    suite, log = noted(0.005)
    last = kill_coordinators(drive, suite, executor, trials=100, kills=20, rng=random.Random(2))
    assert last.end(300) == (0, {"records": 2, "stopped_by": None})
    check(drive.data, suite, log, trials=100)


@pytest.mark.slow
@needs_dask
def test_ten_workers_are_killed(drive, noted):
    suite, log = noted(0.005)
    driven = drive(suite, jobs=4, trials=100, mode="both", EXECUTOR="dask")
    assert kill_workers(driven, kills=10, every=150, rng=random.Random(3)) == 10
    assert driven.end(300) == (0, {"records": 2, "stopped_by": None})
    lost = check(drive.data, suite, log, trials=100)
    assert lost, "ten workers at work were killed, and nothing was lost?"
    outcomes = Counter(
        t.outcome for run in ("on", "off") for t in read_trials(drive.data / f"runs/r-skill-{run}")
    )
    print(dict(outcomes))
    assert outcomes["ok"] >= 2000 - 2
