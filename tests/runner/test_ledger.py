"""What was started, what was recorded, and what that says of attempts that do not count."""

from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from evalstats import runner
from evalstats.journal import journals, read_trials
from evalstats.runner import Options, executors
from evalstats.runner.ledger import Ledger, Lost, Recorded, lost, write_lost


@pytest.fixture
def ran(make_suite, case, go):
    """A run of one case, three trials, all recorded by one process."""
    return go(make_suite(case("a", shell="true")), trials=3, run_id="r")


def ledger(ran):
    return Ledger(ran.data / "runs", ["r"])


def folder(ran):
    return ran.data / "runs" / "r"


def test_what_is_started_and_recorded_is_not_lost(ran):
    assert lost(folder(ran)) == []
    assert write_lost(folder(ran)) == []
    assert not (folder(ran) / "lost.jsonl").exists()


def test_a_start_without_a_record_in_the_same_journal_is_a_lost_attempt(ran):
    spec = ran.plan.specs[0]
    with ledger(ran) as other:  # of a process that was killed, though another one has recorded the trial
        other.start(spec, "there-7")
    (one,) = write_lost(folder(ran))
    assert (one.key, one.case_id, one.trial_index, one.by) == (spec.key, "a", spec.trial_index, "there-7")
    assert (one.recorded, one.cost) == (False, None)
    assert (folder(ran) / "lost.jsonl").read_text().count("\n") == 1


def test_of_two_starts_in_one_journal_the_last_is_the_one_that_ended(ran):
    spec, trial = ran.plan.specs[0], ran.trials[0]
    for path in folder(ran).glob("journal/*"):
        path.unlink()
    with ledger(ran) as own:
        own.start(spec, "first-1")
        own.start(spec, "second-2")
        own.record(trial)
    assert [one.by for one in lost(folder(ran))] == ["first-1"]


def test_a_trial_that_ran_to_its_end_twice_is_told_with_what_it_cost(ran):
    (path,) = journals(folder(ran))
    copy = path.with_name("zz-1-1.jsonl")
    first, *_ = path.read_bytes().splitlines(keepends=True)
    copy.write_bytes(first.replace(b'"cost":null,"cost_source":null', b'"cost":0.25,"cost_source":"mock"'))
    (one,) = lost(folder(ran))
    assert (one.recorded, one.cost, one.by) == (True, 0.25, "zz-1-1")
    assert len(list(read_trials(folder(ran)))) == 3
    copy.write_bytes(first)  # the same to the last byte: still a line too many
    assert len(lost(folder(ran))) == 1


def test_a_torn_note_is_of_a_trial_that_had_not_begun(ran):
    with ledger(ran) as other:
        other.start(ran.plan.specs[0], "there-7")
    path = max(folder(ran).glob("journal/*.starts"), key=lambda p: p.stat().st_mtime_ns)
    path.write_bytes(path.read_bytes()[:-10])
    assert lost(folder(ran)) == []


def test_what_others_record_is_found_as_soon_as_it_is_there(ran):
    seen = Recorded(folder(ran))
    spec, trial = ran.plan.specs[0], {t.key: t for t in ran.trials}[ran.plan.specs[0].key]
    assert seen.find(spec.key) == trial
    (path,) = journals(folder(ran))
    lines = path.read_bytes()
    path.unlink()
    late = Recorded(folder(ran))
    other = path.with_name("other-1-1.jsonl")
    other.write_bytes(lines[: len(lines) // 2])  # one of three lines, and a torn one
    found = [one.key for one in ran.plan.specs if late.find(one.key)]
    other.write_bytes(lines)
    assert len(found) < 3
    assert all(late.find(one.key) for one in ran.plan.specs)


def asked(case):
    """Return a case that costs 1 USD a trial."""
    script = {"answers": [{"text": "yes"}], "cost": 1.0}
    return case(
        "a", {"type": "stdout_contains", "value": "yes"}, kind="runtime_prompt", prompt="?", mock=script
    )


def test_lost_attempts_count_against_a_budget(make_suite, case, go, tmp_path):
    suite = make_suite(asked(case))
    plan = runner.plan(suite, Options(run_id="r", trials=4, runtime="mock", budget=3.0))
    data = tmp_path / "data"
    runner.run(plan, data=data, jobs=1)
    with Ledger(data / "runs", ["r"]) as other:
        other.start(plan.specs[-1], "there-7")
    (path,) = [p for p in journals(Path(data / "runs/r")) if p.stat().st_size]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0])  # as if it had been killed after the first of them
    path.with_suffix(".starts").unlink()
    result = runner.run(runner.resume_plan(data, "r"), data=data, jobs=1)
    outcomes = [trial.outcome for trial in result.trials]
    assert outcomes.count("ok") == 2  # 3 USD, of which one is gone with the attempt that was lost
    assert outcomes.count("skipped") == 2
    assert any("1 more attempts at 1 trials" in note for note in result.records[0]["notes"])
    assert result.lost == tuple(lost(data / "runs/r"))
    assert isinstance(result.lost[0], Lost)


class Wasteful:
    """An executor that needs two attempts at every trial."""

    def __init__(self, executor):
        self._executor = executor
        self.level, self.ladder, self.slots, self.begin = (
            executor.level,
            executor.ladder,
            1,
            executor.begin,
        )

    async def run(self, spec):
        return replace(await self._executor.run(spec), lost=1)


def test_attempts_that_are_lost_on_the_way_count_against_a_budget(make_suite, case, tmp_path, monkeypatch):
    opened = executors.opened

    @asynccontextmanager
    async def wasteful(*words):
        async with opened(*words) as executor:
            yield Wasteful(executor)

    monkeypatch.setattr(executors, "opened", wasteful)
    suite = make_suite(asked(case))
    plan = runner.plan(suite, Options(run_id="r", trials=4, runtime="mock", budget=5.0))
    outcomes = [trial.outcome for trial in runner.run(plan, data=tmp_path / "data").trials]
    assert outcomes == [
        "ok",
        "ok",
        "ok",
        "skipped",
    ]  # two USD each; the fourth would need one, and none is left
