"""What leaves its process group is found, and nothing else is touched."""

import os
import subprocess
import sys
from pathlib import Path

from evalstats import runner
from evalstats.contract import Isolation, Outcome
from evalstats.runner import process, sweeping
from evalstats.runner.environment import RUN_MARK


def test_an_escapee_is_found(trial_of, nap, alive):
    inside = f"sleep {nap} & sleep {nap} & touch $TMPDIR/up; wait"
    trial, _, _ = trial_of(shell=f"setsid sh -c '{inside}' & until test -e $TMPDIR/up; do sleep 0.01; done")
    assert (trial.passed, trial.isolation) == (True, Isolation.SUBREAPER)
    assert trial.leftover_processes == 3  # the shell in its own session, and its two sleepers
    assert not alive(nap)


def test_an_escapee_of_a_command_that_timed_out_is_found(make_suite, case, go, nap, alive, monkeypatch):
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)
    shell = f"setsid sleep {nap} & sleep {nap}"
    (trial,) = go(make_suite(case("a", shell=shell, timeout_seconds=0.5))).trials
    assert (trial.outcome, trial.leftover_processes) == (Outcome.TIMEOUT, 1)
    assert not alive(nap)


def test_an_escapee_of_one_trial_does_not_cost_another_its_own(make_suite, case, go, nap, alive):
    quick = case("quick", shell=f"setsid sleep {nap} & sleep 0.2")
    slow = case(
        "slow",
        {"type": "stdout_contains", "value": "still there"},
        shell="setsid sh -c 'sleep 0.8; echo still there' & sleep 1.2",
    )
    ran = go(make_suite(quick, slow), jobs=2)
    assert {t.case_id: (t.passed, t.leftover_processes) for t in ran.trials} == {
        "quick": (True, 1),
        "slow": (True, 0),
    }
    assert not alive(nap)


def test_what_does_not_carry_the_mark_is_left_alone(make_suite, case, go, nap, alive):
    bystander = subprocess.Popen(["sleep", nap], start_new_session=True)
    unmarked = f"{nap}1"
    try:
        (trial,) = go(make_suite(case("a", shell=f"setsid env -i sleep {unmarked} & sleep 0.3"))).trials
        assert trial.leftover_processes == 0
        assert bystander.poll() is None
        assert len(alive(unmarked)) == 1
    finally:
        bystander.kill()
        bystander.wait()
        for pid in alive(unmarked):
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def test_dead_orphans_are_reaped(make_suite, case, go):
    def children() -> set[str]:
        return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())

    others = children()  # of tests before this one: not the runner's to reap
    shell = "(setsid sleep 0.01 &) ; (sleep 0.01 &) ; sleep 0.15"
    go(make_suite(case("a", shell=shell)), trials=5, jobs=1)
    assert children() <= others


def test_the_subreaper_is_given_back(tmp_path):
    script = "import os, sys; from evalstats.runner.sweeping import Sweeper\n"
    script += "with Sweeper() as s: print(s.isolation)\n"
    script += (
        "os.system('(sleep 0.3 &)'); print(open(f'/proc/self/task/{os.getpid()}/children').read().split())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["subreaper", "[]"]


def test_without_a_subreaper_leftovers_are_unknown(make_suite, case, go, nap, alive, monkeypatch):
    monkeypatch.setattr(sweeping, "_PR_SET_CHILD_SUBREAPER", -1)  # what a kernel without it answers
    (trial,) = go(make_suite(case("a", shell=f"sleep {nap} & true"))).trials
    assert (trial.isolation, trial.leftover_processes) == (Isolation.KILLPG, None)
    assert not alive(nap)  # it was in the group


def test_orphans_of_a_dead_runner_are_killed_by_their_run(nap, alive):
    mine, other = f"{nap}1", f"{nap}2"
    runs = {mine: "run-1", other: "run-10"}
    sleepers = [
        subprocess.Popen(["sleep", time_], env={RUN_MARK: run}, start_new_session=True)
        for time_, run in runs.items()
    ]
    try:
        assert sweeping.kill_orphans(("run-1", "run-2")) == 0  # they are younger than this process
        script = "from evalstats.runner.sweeping import kill_orphans; print(kill_orphans(('run-1', 'run-2')))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == "1\n"
        assert sleepers[0].wait(5) == -9
        assert sleepers[1].poll() is None
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()


def test_the_room_offers_what_its_map_says():
    assert set(runner.__all__) <= set(dir(runner))


def test_an_escapee_is_found_even_between_two_programs(make_suite, case, go, nap, alive):
    ran = go(make_suite(case("a", shell=f"setsid sleep {nap} &")), trials=100, jobs=4)
    assert not alive(nap)
    assert {t.leftover_processes for t in ran.trials} == {1}
