"""A control group holds what hides from everything else, and keeps limits."""

import os
import subprocess
import sys

import pytest

from evalstats.contract import Isolation, Outcome
from evalstats.errors import AdapterError
from evalstats.runner.isolation import cgroups
from evalstats.runner.isolation.cgroups import Groups


@pytest.fixture
def limited():
    """Skip where control groups cannot limit memory and processes."""
    try:
        made = cgroups.opened(frozenset(("memory", "pids")))
    except OSError as error:
        pytest.skip(f"no control groups: {error.strerror}")
    made.close()
    if made.limits != {"memory", "pids"}:
        pytest.skip(f"control groups of version 2 can limit only: {sorted(made.limits) or 'nothing'}")


@pytest.mark.usefixtures("needs_groups")
def test_what_hides_its_mark_is_ended(make_suite, case, go, nap, alive):
    shell = f"env -i setsid sleep {nap} & setsid sleep {nap} & sleep 0.1"
    (trial,) = go(make_suite(case("a", shell=shell)), require_isolation="cgroup").trials
    assert (trial.isolation, trial.passed, trial.leftover_processes) == (Isolation.CGROUP, True, 2)
    assert not alive(nap)
    assert not list(cgroups.places()[0].glob(f"evalstats-{os.getpid()}-*"))


@pytest.mark.usefixtures("needs_groups")
def test_a_trial_that_timed_out_or_did_not_start_leaves_no_group(make_suite, case, go, nap, alive):
    cases = (
        case("slow", shell=f"setsid sleep {nap} & sleep {nap}", timeout_seconds=0.3),
        case("none", argv=["nonesuch"]),
    )
    ran = go(make_suite(*cases), require_isolation="cgroup")
    assert {t.case_id: t.outcome for t in ran.trials} == {
        "slow": Outcome.TIMEOUT,
        "none": Outcome.INFRASTRUCTURE,
    }
    assert not alive(nap)
    assert not list(cgroups.places()[0].glob(f"evalstats-{os.getpid()}-*"))


@pytest.mark.usefixtures("needs_groups")
def test_groups_of_a_dead_runner_are_removed():
    script = "from evalstats.runner.isolation import cgroups as c; g = c.opened(); g.make(); print(g.folder)"
    left = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert os.path.isdir(left)
    cgroups.opened().close()
    assert not os.path.exists(left)


def test_limits_are_written_where_the_kernel_reads_them(tmp_path):
    group = Groups(tmp_path, frozenset(("memory", "pids")), memory=1 << 30, processes=20).make()
    written = {
        name: (group.folder / name).read_text() for name in ("memory.max", "memory.oom.group", "pids.max")
    }
    assert written == {"memory.max": "1073741824", "memory.oom.group": "1", "pids.max": "20"}


@pytest.mark.usefixtures("limited")
def test_limits_are_kept(make_suite, case, go):
    hog = case("hog", argv=["python3", "-c", "x = bytearray(500_000_000)"])
    forks = case("forks", shell="for i in $(seq 60); do sleep 1 & done")
    ran = go(make_suite(hog, forks), memory_limit=100 << 20, process_limit=30)
    by_case = {t.case_id: t for t in ran.trials}
    assert (by_case["hog"].outcome, by_case["hog"].reason) == (
        Outcome.LIMIT,
        "used more memory than its limit",
    )
    assert by_case["forks"].passed is False


def test_memory_is_limited_without_control_groups(make_suite, case, go, no_groups):
    cases = [case(f"{mb}", argv=["python3", "-c", f"x = bytearray({mb}_000_000)"]) for mb in (10, 500)]
    ran = go(make_suite(*cases), memory_limit=200 << 20)
    assert {t.case_id: t.passed for t in ran.trials} == {"10": True, "500": False}
    (record,) = ran.result.records
    assert record["environment"]["isolation"]["memory_limit"] == [{"most": 200 << 20, "by": "rlimit"}]


def test_a_limit_that_cannot_be_kept_is_refused(make_suite, case, go, no_groups):
    with pytest.raises(
        AdapterError, match="--process-limit: this machine cannot keep it: no group can be made"
    ):
        go(make_suite(case("a", shell="true")), process_limit=20)
