"""Whole runs: events, signals, kills, full disks."""

import gc
import json
import os
import random
import resource
import signal
import time
from collections import Counter

import pytest

from evalstats import runner
from evalstats.contract import Outcome
from evalstats.errors import AdapterError, UsageError
from evalstats.journal import journals, read_lines, read_trials
from evalstats.runner import Options, events


def keys(data, *run_ids):
    return [t.key for run_id in run_ids for t in read_trials(data / "runs" / run_id)]


def test_events_tell_the_story_in_order(make_suite, case, go):
    seen = []
    ran = go(
        make_suite(case("a", shell="true"), case("b", shell="true")), trials=2, jobs=1, on_event=seen.append
    )
    kinds = [type(event).__name__ for event in seen]
    assert kinds == ["Started", *["TrialStarted", "TrialFinished"] * 4]
    finished = [event for event in seen if isinstance(event, events.TrialFinished)]
    assert [(e.done, e.planned) for e in finished] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [e.trial.key for e in finished] == [spec.key for spec in ran.plan.specs]
    assert ran.result.stopped_by is None


def test_a_trial_is_told_only_when_it_is_in_the_journal(make_suite, case, go, tmp_path):
    def check(event):
        if isinstance(event, events.TrialFinished):
            assert event.trial.key in keys(tmp_path / "data", "r")

    go(make_suite(case("a", shell="true")), trials=5, run_id="r", on_event=check)


def test_never_more_than_jobs_at_once(make_suite, case, go, tmp_path):
    running, most = 0, 0

    def count(event):
        nonlocal running, most
        running += isinstance(event, events.TrialStarted) - isinstance(event, events.TrialFinished)
        most = max(most, running)

    go(make_suite(case("a", shell="sleep 0.05")), trials=9, jobs=3, on_event=count)
    assert (running, most) == (0, 3)


def test_both_arms_write_a_folder_each(make_suite, case, go):
    ran = go(make_suite(case("a", shell="true")), mode="both", trials=3, run_id="r")
    assert Counter(t.run_id for t in ran.trials) == {"r-skill-on": 3, "r-skill-off": 3}
    for leg in ("r-skill-on", "r-skill-off"):
        folder = ran.data / "runs" / leg
        assert sorted(p.name for p in folder.iterdir()) == [
            "journal",
            "manifest.json",
            "record.json",
            "suite.json",
        ]
        assert (folder / "suite.json").read_bytes() == ran.plan.suite.raw
    assert [record["arm"] for record in ran.result.records] == ["skill-on", "skill-off"]


def test_an_existing_run_is_not_overwritten(make_suite, case, go):
    suite = make_suite(case("a", shell="true"))
    go(suite, run_id="r")
    with pytest.raises(UsageError, match="run r exists; use --resume r or another --run-id"):
        go(suite, run_id="r")


def test_no_jobs_is_no_run(make_suite, case, go):
    with pytest.raises(UsageError, match="at least 1"):
        go(make_suite(case("a", shell="true")), jobs=0)


def test_an_error_of_the_listener_ends_the_run_and_its_processes(make_suite, case, go, nap, alive):
    def burst(event):
        if isinstance(event, events.TrialFinished):
            raise RuntimeError("listener")

    suite = make_suite(case("quick", shell="sleep 0.1"), case("slow", shell=f"sleep {nap}"))
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="listener"):
        go(suite, jobs=2, on_event=burst)
    assert time.monotonic() - started < 20
    assert not alive(nap)


def test_handlers_are_given_back(make_suite, case, go):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    garbage = gc.get_threshold(), gc.get_freeze_count()
    go(make_suite(case("a", shell="true")))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert (gc.get_threshold(), gc.get_freeze_count()) == garbage


@pytest.mark.parametrize("ignored", ["", "INT"])
def test_first_interrupt_drains(drive, make_suite, case, ignored):
    data, suite = drive.data, make_suite(case("a", shell="sleep 0.6"))
    driven = drive(suite, trials=8, ignored=ignored).until("TrialStarted", 2)
    driven.process.send_signal(signal.SIGINT)
    code, last = driven.end()
    assert (code, last) == (130, {"records": 0, "stopped_by": signal.SIGINT})
    assert {"event": "Draining"} in driven.lines
    assert [t.passed for t in read_trials(data / "runs/r")] == [True, True]
    assert drive(suite, jobs=8).end() == (0, {"records": 1, "stopped_by": None})
    assert len(keys(data, "r")) == 8


@pytest.mark.parametrize(
    "answers",
    [
        [(signal.SIGINT, "Draining"), (signal.SIGINT, "Killing")],
        [(signal.SIGTERM, "Killing")],
        [(signal.SIGHUP, "Killing")],
    ],
    ids=["twice", "term", "hup"],
)
def test_second_interrupt_or_term_kills_and_records_nothing_half(
    drive, make_suite, case, nap, alive, answers
):
    data = drive.data
    suite = make_suite(case("a", shell=f"trap 'exit 1' TERM; sleep {nap} & wait"))
    driven = drive(suite, trials=4).until("TrialStarted", 2)
    for number, answer in answers:
        driven.process.send_signal(number)
        driven.until(answer)
    code, last = driven.end()
    assert (code, last) == (128 + answers[-1][0], {"records": 0, "stopped_by": answers[-1][0]})
    assert keys(data, "r") == []
    assert not alive(nap)
    assert not (data / "runs/r/record.json").exists()
    assert len(runner.resume_plan(data, "r").specs) == 4


def test_a_hangup_that_is_ignored_stays_ignored(drive, make_suite, case):
    suite = make_suite(case("a", shell="sleep 0.3"))
    driven = drive(suite, trials=2, ignored="HUP").until("TrialStarted")
    driven.process.send_signal(signal.SIGHUP)
    assert driven.end() == (0, {"records": 1, "stopped_by": None})


def test_a_lost_terminal_does_not_keep_a_run_from_being_killed(make_suite, case, go, nap, alive):
    def tell(event):
        if isinstance(event, events.TrialStarted):
            os.kill(os.getpid(), signal.SIGHUP)
        if isinstance(event, events.Killing):
            raise BrokenPipeError

    ran = go(make_suite(case("a", shell=f"sleep {nap}")), on_event=tell)
    assert (ran.trials, ran.result.stopped_by) == ([], signal.SIGHUP)
    assert not alive(nap)


def test_jobs_are_as_many_as_files_can_be_open(drive, make_suite, case):
    suite = make_suite(case("a", shell="sleep 0.1; cat", stdin="in"))
    driven = drive(suite, jobs=100, trials=60, OPEN_FILES="80")
    assert driven.end() == (0, {"records": 1, "stopped_by": None})
    assert Counter(line.get("event") for line in driven.lines)["FewerJobs"] == 1
    assert {t.outcome for t in read_trials(drive.data / "runs/r")} == {Outcome.OK}
    assert 1 <= json.loads((drive.data / "runs/r/manifest.json").read_text())["jobs"] <= 7


def test_no_room_for_a_trial_is_no_outcome_of_it(make_suite, case, go, tmp_path, nap, alive):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    seen = 0

    def exhaust(event):
        nonlocal seen
        seen += isinstance(event, events.TrialStarted)
        if seen == 3:  # two trials are running, and no file can be opened any more
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))

    suite = make_suite(case("a", shell=f"sleep {nap}"))
    try:
        with pytest.raises(AdapterError, match="no room for another trial: Too many open files"):
            go(suite, trials=5, jobs=3, run_id="r", on_event=exhaust)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert not alive(nap)
    assert keys(tmp_path / "data", "r") == []
    assert len(runner.resume_plan(tmp_path / "data", "r").specs) == 5


def test_signals_are_heard_among_cases_that_start_nothing(drive, make_suite, case):
    data, file = drive.data, {"type": "file_exists", "target": "suite.json"}
    suite = make_suite(case("a", file, kind="artifact_check"))
    driven = drive(suite, trials=50_000).until("TrialFinished", 5)
    driven.process.send_signal(signal.SIGINT)
    assert driven.end()[0] == 130
    assert 5 <= len(keys(data, "r")) < 50_000


def test_a_run_can_be_killed_at_any_moment(drive, make_suite, case):
    """Kill -9 at twenty random moments, resume each time: at the end every planned trial is there once."""
    data, rng = drive.data, random.Random(20)
    suite = make_suite(*(case(name, shell="sleep 0.03; echo $EVALSTATS_TRIAL") for name in "abcdefghij"))
    told = set()
    for _ in range(20):
        driven = drive(suite, jobs=4, trials=20, mode="both").until("Started")
        time.sleep(rng.uniform(0.0, 0.12))
        driven.process.kill()
        driven.end()
        told |= {line["key"] for line in driven.lines if line.get("event") == "TrialFinished"}
    assert drive(suite, jobs=8, mode="both").end()[0] == 0
    plan = runner.plan(suite, Options(run_id="r", trials=20, mode="both"))
    recorded = keys(data, "r-skill-on", "r-skill-off")
    assert sorted(recorded) == sorted(spec.key for spec in plan.specs)
    lines = [
        record["key"]
        for run in plan.runs
        for path in journals(data / "runs" / run.run_id)
        for _, record in read_lines(path)[0]
    ]
    assert sorted(lines) == sorted(recorded)  # nothing was run again that had been recorded
    assert told <= set(lines)  # nothing that was told is lost
    assert not list((data / "runs").glob("*/t"))


def test_a_full_disk_stops_the_run_and_loses_nothing(drive, make_suite, case, nap, alive):
    data = drive.data
    slow = case("slow", shell=f"test $EVALSTATS_TRIAL_INDEX != 1 || exec sleep {nap}", timeout_seconds=60)
    suite = make_suite(case("a", shell="true"), slow)
    code, last = drive(suite, jobs=2, trials=60, FILE_LIMIT="9000").end()
    assert (code, last["error"]) == (2, "JournalError")
    assert "is the disk full?" in last["message"] or "cannot be written" in last["message"]
    assert not alive(nap)
    kept = keys(data, "r")
    assert 0 < len(kept) < 120
    resumed = runner.resume_plan(data, "r")
    assert {spec.key for spec in resumed.specs}.isdisjoint(kept)
    assert len(resumed.specs) + len(kept) == 120


def test_a_resumed_run_ends_what_its_dead_runner_left(drive, make_suite, case, nap, alive):
    suite = make_suite(case("a", shell=f"if mkdir once; then setsid sleep {nap} & sleep {nap}; fi"))
    driven = drive(suite, jobs=1, trials=1).until("TrialStarted")
    while len(alive(nap)) < 3:  # the shell and both sleepers
        time.sleep(0.02)
    driven.process.kill()
    driven.end()
    assert len(alive(nap)) == 3
    resumed = drive(suite, jobs=1)
    assert resumed.end() == (0, {"records": 1, "stopped_by": None})
    assert resumed.lines[0] == {"event": "Started", "orphans": 3}
    assert not alive(nap)
