"""One command, run to its end, whatever it does."""

import asyncio
import os
import time
from collections import Counter

import pytest

from evalstats.contract import Isolation, Outcome, Status
from evalstats.runner import process
from evalstats.runner.isolation.holds import Hold, InEffect
from evalstats.runner.sweeping import Sweeper

PLAIN = Hold(in_effect=InEffect(processes=Isolation.SUBREAPER))


def test_pass_and_fail(make_suite, case, go):
    ran = go(make_suite(case("good", shell="echo out; echo err >&2"), case("bad", shell="exit 3")))
    by_case = {t.case_id: t for t in ran.trials}
    good, bad = by_case["good"], by_case["bad"]
    assert (good.status, good.outcome, good.score, good.passed) == (Status.PASS, Outcome.OK, 1.0, True)
    assert (bad.status, bad.outcome, bad.score, bad.passed) == (Status.FAIL, Outcome.OK, 0.0, False)
    assert (good.exit_code, bad.exit_code, bad.reason) == (0, 3, None)
    assert (ran.blobs.get(good.artifacts["stdout"]), ran.blobs.get(good.artifacts["stderr"])) == (
        b"out\n",
        b"err\n",
    )
    assert bad.artifacts == {}
    assert 0 < good.duration_s < 5
    assert good.dimension_scores == {"correctness": 1.0}


def test_precedence_of_the_inputs(make_suite, case, go):
    every = {"argv": ["echo", "argv"], "command": "echo", "args": ["command", "x y"]}
    cases = [
        case("shell", shell="echo shell", **every),
        case("argv", **every),
        case("command", command="echo", args=["command", "x y"]),
    ]
    ran = go(make_suite(*cases))
    out = {t.case_id: ran.blobs.get(t.artifacts["stdout"]) for t in ran.trials}
    assert out == {"shell": b"shell\n", "argv": b"argv\n", "command": b"command x y\n"}


def test_working_directory(trial_of):
    assert trial_of(shell="basename $PWD")[1] == b"suite\n"
    assert trial_of(shell="basename $PWD", cwd="..")[1] != b"suite\n"


def test_stdin_is_empty_or_what_the_case_says(trial_of):
    assert trial_of(shell="cat; echo end")[1] == b"end\n"
    text = "line\n" * 50_000
    assert trial_of(shell="cat", stdin=text)[1] == text.encode()


def test_death_by_signal_is_an_exit_code(trial_of):
    trial, _, _ = trial_of({"type": "exit_code", "value": -11}, shell="kill -SEGV $$")
    assert (trial.exit_code, trial.passed) == (-11, True)


def test_output_that_is_no_text(trial_of):
    wanted = {"type": "stdout_contains", "value": "tail"}
    trial, stdout, _ = trial_of(wanted, shell=r"printf '\377\376\000 tail'")
    assert trial.passed is True
    assert stdout == b"\xff\xfe\x00 tail"


def test_timeout_of_a_command_that_ignores_being_asked(make_suite, case, go, nap, alive, monkeypatch):
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.3)
    shell = f"trap '' TERM; echo started; sleep {nap} & while :; do sleep {nap}; done"
    started = time.monotonic()
    (trial,) = go(make_suite(case("a", shell=shell, timeout_seconds=0.3))).trials
    assert 0.6 <= time.monotonic() - started < 4
    assert (trial.status, trial.outcome, trial.score, trial.passed) == (
        Status.FAIL,
        Outcome.TIMEOUT,
        0.0,
        False,
    )
    assert trial.reason == "timed out after 0.3 s"
    assert [(e.passed, e.detail) for e in trial.expectations] == [(False, "not met: timed out after 0.3 s")]
    assert trial.dimension_scores == {"correctness": 0.0}
    assert trial.exit_code == -9
    assert "stdout" in trial.artifacts
    assert not alive(nap)


def test_timeout_gives_time_to_end_well(make_suite, case, go):
    shell = "trap 'echo bye; exit 5' TERM; echo hello; while :; do sleep 0.05; done"
    ran = go(make_suite(case("a", shell=shell, timeout_seconds=0.3)))
    (trial,) = ran.trials
    assert (trial.outcome, trial.exit_code, trial.leftover_processes) == (Outcome.TIMEOUT, 5, 0)
    assert ran.blobs.get(trial.artifacts["stdout"]) == b"hello\nbye\n"


def test_a_grandchild_does_not_outlive_the_trial(trial_of, nap, alive):
    trial, stdout, _ = trial_of(shell=f"sleep {nap} & echo done")
    assert (trial.passed, trial.leftover_processes, stdout) == (True, 1, b"done\n")
    assert trial.duration_s < 5
    assert not alive(nap)


def test_a_flood_is_stopped_and_its_beginning_kept(trial_of):
    started = time.monotonic()
    trial, stdout, _ = trial_of(shell="trap '' TERM; while :; do head -c 3000000 /dev/zero; sleep 0.05; done")
    assert time.monotonic() - started < 10
    assert (trial.status, trial.outcome, trial.score) == (Status.FAIL, Outcome.LIMIT, 0.0)
    assert trial.reason == "wrote more than 10000000 bytes to one stream"
    assert stdout == bytes(process.OUTPUT_CAP)


def test_too_much_is_too_much_even_when_the_command_has_ended(trial_of):
    trial, _, stderr = trial_of(shell="head -c 10000001 /dev/zero >&2")
    assert (trial.outcome, len(stderr)) == (Outcome.LIMIT, 10_000_000)


def test_as_much_as_the_cap_is_not_too_much(trial_of):
    assert trial_of(shell="head -c 10000000 /dev/zero")[0].outcome is Outcome.OK


@pytest.mark.parametrize(
    "inputs, reason, error_class",
    [
        (
            {"argv": ["no-such-program-here"]},
            "the command 'no-such-program-here' was not found",
            "command-not-found",
        ),
        ({"command": "./gone.sh"}, "the command './gone.sh' was not found", "command-not-found"),
        (
            {"shell": "true", "cwd": "gone"},
            "the working directory does not exist",
            "no-working-directory",
        ),
        (
            {"shell": "true", "cwd": "suite.json"},
            "the working directory does not exist",
            "no-working-directory",
        ),
        ({"argv": ["/"]}, "the command could not be started: Permission denied", "not-started"),
    ],
)
def test_what_cannot_start_is_not_the_subjects_fault(trial_of, inputs, reason, error_class):
    trial, _, _ = trial_of(**inputs)
    assert (trial.status, trial.outcome) == (Status.ERROR, Outcome.INFRASTRUCTURE)
    assert (trial.score, trial.passed, trial.expectations) == (None, None, ())
    assert (trial.reason, trial.error_class) == (reason, error_class)


def test_nothing_stays_open(make_suite, case, go):
    suite = make_suite(
        case("a", shell="true"), case("b", argv=["no-such-program-here"]), case("c", shell="sleep 9 &")
    )
    go(suite, run_id="warm")
    before = sorted(os.listdir("/proc/self/fd"))
    go(suite, run_id="r", trials=20)
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def busy(monkeypatch):
    """Let every start happen in a thread, as on a busy machine."""
    monkeypatch.setattr(process, "SLOW_START_SECONDS", -1.0)


def test_starting_in_threads_changes_nothing(busy, make_suite, case, go, nap, alive):
    shell = f"setsid sleep {nap} & cat; exit $(($EVALSTATS_TRIAL_INDEX % 2))"
    suite = make_suite(case("a", shell=shell, stdin="in"), case("b", argv=["no-such-program-here"]))
    ran = go(suite, trials=20, jobs=8)
    assert not alive(nap)
    ends = Counter((t.case_id, t.outcome, t.exit_code, t.leftover_processes) for t in ran.trials)
    assert ends == {
        ("a", Outcome.OK, 0, 1): 10,
        ("a", Outcome.OK, 1, 1): 10,
        ("b", Outcome.INFRASTRUCTURE, None, None): 20,
    }
    assert {ran.blobs.get(t.artifacts["stdout"]) for t in ran.trials if t.case_id == "a"} == {b"in"}


@pytest.mark.parametrize("turns", [1, 2, 50])
@pytest.mark.parametrize("slow", [-1.0, 1.0])
def test_cancelling_at_any_moment_leaves_nothing(tmp_path, monkeypatch, nap, alive, turns, slow):
    monkeypatch.setattr(process, "SLOW_START_SECONDS", slow)
    env = {b"PATH": os.environb[b"PATH"], b"EVALSTATS_TRIAL": b"m"}
    command = process.Command(
        argv=("sleep", nap), hold=PLAIN, cwd=".", env=env, scratch=str(tmp_path), mark="m", timeout_s=60.0
    )

    async def cancel(sweeper):
        task = asyncio.create_task(process.execute(command, process.Starter(), sweeper))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Sweeper() as sweeper:
        asyncio.run(cancel(sweeper))
    assert not alive(nap)
