"""Under bwrap a trial sees what it needs, and nothing of others."""

import os
import subprocess
import sys
import time

import pytest

from evalstats.contract import Isolation, Outcome
from evalstats.runner import process
from evalstats.runner.isolation.bwrap import View

pytestmark = pytest.mark.usefixtures("needs_bwrap")


@pytest.fixture
def boxed(make_suite, case, go):
    """Return a function that runs one case under bwrap and gives back its trial and outputs."""

    def run(*, environment=None, timeout_seconds=20, **inputs):
        held = case("a", timeout_seconds=timeout_seconds, **inputs)
        ran = go(make_suite(held, environment=environment or {}), require_isolation="bwrap")
        (trial,) = ran.trials
        out, err = (
            ran.blobs.get(trial.artifacts[n]) if n in trial.artifacts else b"" for n in ("stdout", "stderr")
        )
        return trial, out, err

    return run


def test_the_system_is_read_only_and_the_trial_has_its_own_folder(boxed, tmp_path):
    trial, out, err = boxed(
        shell="touch here; touch /usr/there; echo x >$TMPDIR/own && echo x >~/own && echo mine"
    )
    assert (trial.isolation, out) == (Isolation.BWRAP, b"mine\n")
    assert err.count(b"Read-only file system") == 2
    assert not (tmp_path / "suite" / "here").exists()


def test_root_has_no_capabilities_that_would_undo_it(boxed):
    _, out, _ = boxed(shell="grep CapEff /proc/self/status")
    assert int(out.split()[1], 16) == 0


def test_what_others_have_is_out_of_sight(boxed, tmp_path, monkeypatch):
    home = tmp_path / "me"
    (home / ".aws").mkdir(parents=True)
    (home / ".cargo" / "bin").mkdir(parents=True)
    for secret in (home / ".aws" / "credentials", home / ".cargo" / "credentials", tmp_path / "stranger"):
        secret.write_text("secret")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/.cargo/bin{os.pathsep}{os.environ['PATH']}")
    look = f"cat {home}/.aws/credentials {home}/.cargo/credentials {tmp_path}/stranger; ls {tmp_path}/data/artifacts"
    trial, out, _ = boxed(
        shell=f"cat suite.json >$TMPDIR/read && {look} ; ls {tmp_path}/data/runs/*/t | wc -l"
    )
    assert (trial.exit_code, out) == (0, b"1\n")  # of all trials it sees itself


def test_processes_are_its_own_and_go_with_it(boxed, nap, alive):
    trial, out, _ = boxed(
        shell=f"env -i setsid sleep {nap} & ls -d /proc/[0-9]* | wc -l; test ! -e /proc/{os.getpid()}"
    )
    assert (trial.exit_code, trial.leftover_processes) == (0, None)
    assert int(out) < 8
    assert not alive(nap)


def test_a_command_is_asked_to_end_before_it_is_killed(boxed, monkeypatch):
    monkeypatch.setattr(process, "GRACE_SECONDS", 5.0)
    shell = "trap 'sleep 0.3; echo last words; exit 0' TERM; sleep 30 & wait"
    trial, out, _ = boxed(shell=shell, timeout_seconds=0.5)
    assert (trial.outcome, out) == (Outcome.TIMEOUT, b"last words\n")


def test_exit_codes_come_through(boxed):
    assert boxed(shell="exit 3")[0].exit_code == 3
    assert boxed(shell="kill -SEGV $$")[0].exit_code == 128 + 11  # as a shell tells it


def test_a_program_or_a_folder_that_is_missing_is_told_as_without_it(make_suite, case, go):
    cases = (case("program", argv=["nonesuch"]), case("folder", shell="true", cwd="nowhere"))
    ran = go(make_suite(*cases), require_isolation="bwrap")
    assert {t.case_id: (t.outcome, t.error_class) for t in ran.trials} == {
        "program": (Outcome.INFRASTRUCTURE, "command-not-found"),
        "folder": (Outcome.INFRASTRUCTURE, "no-working-directory"),
    }


def test_a_wrapper_that_fails_is_no_fault_of_the_trial(boxed, fake_bwrap, tmp_path):
    fake_bwrap(f'test -e {tmp_path}/probed && exit 1; touch {tmp_path}/probed; exec /usr/bin/bwrap "$@"')
    trial, _, _ = boxed(shell="true")
    assert (trial.outcome, trial.error_class) == (Outcome.INFRASTRUCTURE, "not-started")
    assert trial.reason == "bwrap could not start the command"


def test_the_network_goes_too(boxed):
    trial, out, _ = boxed(
        shell="tail -n +3 /proc/net/dev | cut -d: -f1", environment={"network": "forbidden"}
    )
    assert (trial.passed, out.split()) == (True, [b"lo"])


def test_what_a_trial_needs_of_a_home_is_put_back(tmp_path, monkeypatch):
    home = tmp_path / "me"
    for folder in ("tools/bin", ".secret/bin", "repository/suite"):
        (home / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    path = os.pathsep.join((f"{home}/tools/bin", f"{home}/.secret/bin", "/usr/bin"))
    shown = View.of(path=path, shown=[f"{home}/repository"]).shown
    assert {f"{home}/repository", f"{home}/tools/bin", f"{home}/.secret/bin"} <= set(shown)
    assert not {str(home), f"{home}/.secret"} & set(shown)


def test_a_killed_runner_takes_its_trials_along(make_suite, case, nap, alive, tmp_path):
    suite = make_suite(case("a", shell=f"env -i setsid sleep {nap} & sleep {nap}"))
    runs = "from pathlib import Path; from evalstats import runner, suite; "
    runs += "plan = runner.plan(suite.load(Path({!r})), runner.Options(require_isolation='bwrap')); "
    runs += "runner.run(plan, data=Path({!r}))"
    coordinator = subprocess.Popen(
        [sys.executable, "-c", runs.format(str(suite.path), str(tmp_path / "data"))]
    )
    try:
        wait_for(lambda: len(alive(f"sleep\0{nap}")) == 2)
    finally:
        coordinator.kill()
        coordinator.wait()
    wait_for(lambda: not alive(nap))


def wait_for(comes_true):
    give_up = time.monotonic() + 20
    while not comes_true():
        assert time.monotonic() < give_up
        time.sleep(0.02)
