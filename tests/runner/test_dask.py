"""Trials on the workers of a cluster: of its own, by address, by scheduler file; with and without a shared folder."""

import contextlib
import importlib.util
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from evalstats import runner
from evalstats.artifacts import Artifacts
from evalstats.cli import run_command
from evalstats.errors import AdapterError, UsageError
from evalstats.journal import journals, read_trials
from evalstats.runner import Options, executors
from tests.docs import pages

HAS_DASK = importlib.util.find_spec("distributed") is not None
needs_dask = pytest.mark.skipif(not HAS_DASK, reason="needs the extra dask")
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bwrap")


@pytest.fixture
def cluster(tmp_path):
    """Return a function that starts a scheduler and workers on loopback and gives back the scheduler's file."""
    started = []

    def dask(*words, wrapper=(), **env):
        command = [*wrapper, sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        env = {**os.environ, "PYTHONPATH": os.getcwd(), **env}
        started.append(subprocess.Popen(command, start_new_session=True, env=env, **quiet))
        return started[-1]

    def start(*, workers=1, threads=2, wrapper=(), **env):
        file = tmp_path / "scheduler.json"
        start.scheduler = dask(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
        )
        until(file.is_file)
        given = ("--no-dashboard", "--local-directory", str(tmp_path / "own"), "--nthreads", str(threads))
        for _ in range(workers):
            start.worker = dask("worker", "--scheduler-file", str(file), *given, wrapper=wrapper, **env)
        return file

    yield start
    for process in reversed(started):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(holds, patience_s=20.0):
    give_up = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < give_up, "it did not come to be"
        time.sleep(0.05)


def address_of(file):
    return json.loads(file.read_text())["address"]


def trials_of(data, run_id="r"):
    return list(read_trials(data / "runs" / run_id))


# --- what needs no dask --------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["dusk", "dask:", "local:8", "", "LOCAL", "local:"])
def test_an_executor_that_is_none(make_suite, case, tmp_path, text):
    plan = runner.plan(make_suite(case("a", shell="true")), Options(run_id="r"))
    with pytest.raises(
        UsageError, match=r"known: local, dask .*, dask:tcp://HOST:PORT or dask:SCHEDULER-FILE"
    ):
        runner.run(plan, data=tmp_path / "data", executor=text)
    assert not (tmp_path / "data/runs").exists()


def test_executors_by_name():
    assert executors.chosen("dask") == executors.chosen("dask:local") == executors.Choice("dask")
    assert executors.chosen("dask:tcp://h:1") == executors.Choice("dask", "tcp://h:1")
    assert executors.chosen("dask:/shared/s.json").address == "/shared/s.json"


def test_without_dask_there_is_one_clear_line(make_suite, case, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    suite = make_suite(case("a", shell="true"))
    code = run_command(["run", str(suite.path), "--executor", "dask", "--data", str(tmp_path / "data")])
    told = [line for line in capsys.readouterr().err.splitlines() if "dask" in line]
    assert code == 3
    assert told == [
        "evalstats: --executor: dask is not installed; install the extra: "
        "pip install 'evalstats-notebooks[dask]'"
    ]
    assert not (tmp_path / "data/runs").exists()


# --- workers of its own --------------------------------------------------------------------------


@needs_dask
def test_a_run_on_workers_is_the_run_it_is_here(drive, make_suite, case, go, tmp_path):
    cases = (case(name, shell="echo $EVALSTATS_SEED; echo $EVALSTATS_TRIAL_INDEX >&2") for name in "ab")
    suite = make_suite(*cases)
    here = go(suite, run_id="r", trials=3, mode="both")
    shutil.move(here.data, tmp_path / "here")
    driven = drive(suite, jobs=2, trials=3, mode="both", EXECUTOR="dask")
    assert driven.end() == (0, {"records": 2, "stopped_by": None})
    begun = [line["key"] for line in driven.lines if line.get("event") == "TrialStarted"]
    assert begun == [spec.key for spec in here.plan.specs]  # block by block, as here

    def facts(trial):
        return trial.key, trial.seed, trial.outcome, trial.score, trial.artifacts, trial.isolation

    there = [t for leg in ("r-skill-on", "r-skill-off") for t in trials_of(drive.data, leg)]
    assert sorted(map(facts, there)) == sorted(map(facts, here.trials))
    blobs = Artifacts(drive.data / "artifacts")
    assert all(blobs.get(t.artifacts["stdout"]).decode() == f"{t.seed}\n" for t in there)
    writers = {
        path.stem.split("-")[-2] for path in journals(drive.data / "runs/r-skill-on") if path.stat().st_size
    }
    assert writers and str(driven.process.pid) not in writers  # the workers wrote, not what coordinates them
    assert json.loads((drive.data / "runs/r-skill-on/manifest.json").read_text())["executor"] == "dask"


@needs_dask
@pytest.mark.parametrize("answers", ["INT:Draining", "INT:Draining INT:Killing", "TERM:Killing"])
def test_signals_do_what_they_do_here_and_leave_nothing(drive, make_suite, case, nap, alive, answers):
    passed = 0 if "Killing" in answers else 2
    long = f"sleep {nap}" if passed == 0 else f"sleep 1; : {nap}"
    driven = drive(make_suite(case("a", shell=long)), jobs=2, trials=6, EXECUTOR="dask", own_group=True)
    until(lambda: len(alive(nap)) >= 2)
    for answer in answers.split():
        name, event = answer.split(":")
        number = signal.Signals[f"SIG{name}"]
        os.killpg(driven.process.pid, number)  # as a terminal does: the workers get it too
        driven.until(event)
    assert driven.end() == (128 + number, {"records": 0, "stopped_by": number})
    assert [trial.passed for trial in trials_of(drive.data)] == [True] * passed
    assert not alive(nap)
    assert not processes_of(driven.process.pid)


def processes_of(group):
    """Return what is left in a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if os.getpgid(int(entry.name)) == group and command_of(entry.name):
                    found.append(int(entry.name))
    return found


def command_of(pid):
    """Return the command line of a process; nothing for a zombie."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@needs_dask
def test_a_trial_that_kills_its_workers_is_lost_and_not_tried_for_ever(drive, make_suite, case):
    parent = "import os; print(open(f'/proc/{os.getppid()}/stat').read().split()[3])"
    shell = f'{sys.executable} -c "{parent}" | xargs kill -9; sleep 5'
    suite = make_suite(case("deadly", shell=shell), case("b", shell="sleep 0.2"))
    driven = drive(suite, jobs=1, trials=1, EXECUTOR="dask")
    assert driven.end(60) == (0, {"records": 1, "stopped_by": None})
    outcomes = {trial.case_id: (trial.outcome, trial.error_class) for trial in trials_of(drive.data)}
    assert outcomes["deadly"] == ("infrastructure", "worker-lost")
    lost = [json.loads(line) for line in (drive.data / "runs/r/lost.jsonl").read_text().splitlines()]
    assert Counter(one["case_id"] for one in lost)["deadly"] == 2


@needs_dask
def test_a_rung_that_the_workers_have_not_is_no_run(make_suite, case, drive):
    suite = make_suite(case("a", shell="true"))
    driven = drive(suite, EXECUTOR="dask", REQUIRE="bwrap", PATH="/nowhere")
    code, last = driven.end()
    assert (code, last["error"]) == (3, "AdapterError")
    assert "this machine cannot give bwrap" in last["message"] and last["message"].startswith("worker ")
    assert not (drive.data / "runs").exists()


@needs_dask
def test_what_is_recorded_is_not_run_again(make_suite, case, go, tmp_path):
    suite = make_suite(case("a", shell=f"echo run >>{tmp_path}/log"))
    ran = go(suite, run_id="r", trials=3)
    again = replace(runner.resume_plan(ran.data, "r"), specs=ran.plan.specs, recorded=())
    result = runner.run(again, data=ran.data, jobs=2, executor="dask")
    assert sorted(trial.key for trial in result.trials) == sorted(trial.key for trial in ran.trials)
    assert (tmp_path / "log").read_text().count("run") == 3
    assert result.lost == ()


# --- a cluster that is there ---------------------------------------------------------------------


@needs_dask
@pytest.mark.parametrize("by", ["address", "file"])
def test_a_cluster_that_is_there(drive, make_suite, case, cluster, by):
    file = cluster(workers=2)
    where = str(file) if by == "file" else address_of(file)
    suite = make_suite(case("a", shell="echo there"))
    driven = drive(suite, jobs=4, trials=8, EXECUTOR=f"dask:{where}")
    assert driven.end() == (0, {"records": 1, "stopped_by": None})
    assert [trial.passed for trial in trials_of(drive.data)] == [True] * 8
    assert not list(drive.data.glob("runs/*/.launch-*"))
    own = list((file.parent / "own").rglob("evalstats/*"))
    assert own == []  # what was made for the run is taken away


@needs_dask
@needs_bwrap
def test_workers_that_do_not_see_the_folder_send_all_back(drive, make_suite, case, cluster):
    drive.data.mkdir()
    file = cluster(wrapper=("bwrap", "--dev-bind", "/", "/", "--tmpfs", str(drive.data)))
    suite = make_suite(case("a", shell="echo $EVALSTATS_SEED"))
    driven = drive(suite, jobs=2, trials=6, EXECUTOR=f"dask:{file}")
    assert driven.end() == (0, {"records": 1, "stopped_by": None})
    trials, blobs = trials_of(drive.data), Artifacts(drive.data / "artifacts")
    assert [blobs.get(t.artifacts["stdout"]).decode() for t in trials] == [f"{t.seed}\n" for t in trials]
    (path,) = journals(drive.data / "runs/r")  # what coordinates them wrote it
    assert path.stem.split("-")[-2] == str(driven.process.pid)
    assert not (drive.data / "runs/r/lost.jsonl").exists()


@needs_dask
@needs_bwrap
def test_what_dies_with_such_a_worker_is_told_too(drive, make_suite, case, cluster):
    drive.data.mkdir()
    file = cluster(wrapper=("bwrap", "--dev-bind", "/", "/", "--tmpfs", str(drive.data)))
    suite = make_suite(case("a", shell="sleep 0.5"))
    driven = drive(suite, jobs=2, trials=6, EXECUTOR=f"dask:{file}").until("TrialFinished", 2)
    time.sleep(0.25)
    (worker,) = (pid for pid in processes_of(cluster.worker.pid) if b"spawn_main" in command_of(pid))
    os.kill(worker, signal.SIGKILL)
    assert driven.end(30) == (0, {"records": 1, "stopped_by": None})
    assert len({trial.key for trial in trials_of(drive.data)}) == 6
    lost = [json.loads(line) for line in (drive.data / "runs/r/lost.jsonl").read_text().splitlines()]
    assert 1 <= len(lost) <= 2
    assert {one["by"].rpartition("-")[2] for one in lost} == {str(worker)}


@needs_dask
def test_when_a_coordinator_dies_its_trials_end_and_the_run_goes_on_here(
    drive, make_suite, case, cluster, nap, alive
):
    once = f"if mkdir once; then sleep {nap}; fi"
    suite = make_suite(case("a", shell=once))
    file = cluster(threads=1)
    driven = drive(suite, jobs=1, trials=3, EXECUTOR=f"dask:{file}")
    until(lambda: alive(nap))
    driven.process.kill()
    driven.end()
    until(lambda: not alive(nap), patience_s=5)
    assert trials_of(drive.data) == []  # what was cut short is no result
    assert drive(suite, jobs=2).end() == (0, {"records": 1, "stopped_by": None})
    assert [trial.passed for trial in trials_of(drive.data)] == [True] * 3
    (one,) = map(json.loads, (drive.data / "runs/r/lost.jsonl").read_text().splitlines())
    assert one["recorded"] is False


@needs_dask
def test_a_scheduler_that_is_gone_ends_the_run_and_loses_nothing(drive, make_suite, case, cluster):
    suite = make_suite(case("a", shell="sleep 0.2"))
    file = cluster()
    driven = drive(suite, jobs=2, trials=40, EXECUTOR=f"dask:{file}").until("TrialFinished", 6)
    cluster.scheduler.kill()
    code, last = driven.end(60)
    assert (code, last["error"]) == (3, "AdapterError")
    assert "what is recorded is kept; go on with --resume r" in last["message"]
    kept = trials_of(drive.data)
    assert 6 <= len(kept) < 40
    assert drive(suite, jobs=8).end()[0] == 0
    assert len({trial.key for trial in trials_of(drive.data)}) == 40


@needs_dask
@needs_bwrap
def test_a_worker_without_the_suite_is_not_fit(drive, make_suite, case, cluster):
    suite = make_suite(case("a", shell="true"))
    file = cluster(wrapper=("bwrap", "--dev-bind", "/", "/", "--tmpfs", str(suite.path.parent)))
    code, last = drive(suite, EXECUTOR=f"dask:{file}").end()
    assert (code, last["error"]) == (3, "AdapterError")
    assert f"has no valid suite at {suite.path}, where the coordinator has it" in last["message"]
    assert not (drive.data / "runs").exists()


@needs_dask
def test_credentials_are_those_of_the_worker_and_none_are_sent(make_suite, case, tmp_path, monkeypatch):
    from evalstats.runner.executors import dask

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-coordinator")
    suite = make_suite(case("a", shell="true", env={"LEVEL": "3"}))
    plan = runner.plan(suite, Options(run_id="r"))
    sent = pickle.dumps(dask._brief(plan, tmp_path))
    assert b"OPENAI_API_KEY" not in sent and b"sk-secret" not in sent
    assert b"LEVEL" not in sent or b'"3"' not in sent


@needs_dask
def test_nobody_at_an_address(make_suite, case, tmp_path, monkeypatch):
    from evalstats.runner.executors import clusters

    monkeypatch.setattr(clusters, "PATIENCE_SECONDS", 0.5)
    plan = runner.plan(make_suite(case("a", shell="true")), Options(run_id="r"))
    with pytest.raises(AdapterError, match=r"no scheduler answers at tcp://127\.0\.0\.1:1"):
        runner.run(plan, data=tmp_path / "data", executor="dask:tcp://127.0.0.1:1")
    with pytest.raises(AdapterError, match="there is no such scheduler file"):
        runner.run(plan, data=tmp_path / "data", executor=f"dask:{tmp_path / 'none.json'}")
    assert not (tmp_path / "data/runs").exists()


# --- the page ------------------------------------------------------------------------------------


@needs_dask
def test_the_page_on_clusters_runs_as_written(tmp_path):
    page = pages.DOCS / "how-to/clusters.md"
    shim = pages.clone(tmp_path) / "bin/dask"
    shim.write_text(
        f'#!/bin/sh\nname=$1; shift; exec "{sys.executable}" -m "distributed.cli.dask_$name" "$@"\n'
    )
    shim.chmod(0o755)
    commands = pages.commands(page)
    assert [command.line.split()[0] for command in commands] == [
        "evalstats",
        *["dask"] * 2,
        *["evalstats"] * 2,
        "kill",
    ]
    try:
        for command in commands:
            done = pages.run(command.line, tmp_path)
            assert done.returncode == 0, (command.line, done.stderr)
            assert pages.agrees(command, done.stdout), (command.line, done.stdout)
    finally:
        for pid in map(int, (tmp_path / "dask.pids").read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_the_recipes_that_were_not_run_are_at_least_well_formed():
    text = (pages.DOCS / "how-to/clusters.md").read_text("utf-8")
    (script,) = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0
    (manifests,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    yaml = pytest.importorskip("yaml")
    documents = list(yaml.safe_load_all(manifests))
    kinds = [document["kind"] for document in documents]
    assert Counter(kinds) == {
        "Deployment": 2,
        "Service": 1,
        "NetworkPolicy": 1,
        "PersistentVolumeClaim": 1,
        "Job": 1,
    }
    assert "envFrom" in str(documents[2]) and "envFrom" not in str(
        documents[5]
    )  # only workers have credentials
    executor = documents[5]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert (
        executors.chosen(executor[executor.index("--executor") + 1]).address == "tcp://evals-scheduler:8786"
    )
