"""Running a plan: one loop in the main thread, at most ``jobs`` trials in flight, wherever they run.

A trial counts as finished when its journal line is written; whatever stops the process before that, the
trial is simply run again. The first SIGINT drains; a second one, SIGTERM or SIGHUP kills.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import journal
from evalstats.errors import UsageError
from evalstats.journal import encode, owners_only, write_synced
from evalstats.runner import clock, executors, grounds, manifests, records
from evalstats.runner.crew import Crew
from evalstats.runner.events import FewerJobs, Listener, Started
from evalstats.runner.folders import remove_tree
from evalstats.runner.ledger import Ledger, Lost, write_lost
from evalstats.runner.planning import Plan
from evalstats.runner.sweeping import kill_orphans
from evalstats.runner.workplace import SCRATCH, Workplace
from evalstats.trials import Trial

_THRESHOLDS = (50_000, 20, 100)


@dataclass(frozen=True, slots=True)
class Result:
    """The records of the arms that are complete, all trials, and the signal that stopped the run, if one did.

    ``lost`` are the attempts that count in no number, because what ran them was killed, or because they ran twice.
    """

    records: tuple[dict[str, Any], ...]
    trials: tuple[Trial, ...]
    stopped_by: signal.Signals | None = None
    lost: tuple[Lost, ...] = ()


def run(
    plan: Plan,
    *,
    data: Path,
    jobs: int | None = 1,
    executor: str = executors.LOCAL,
    on_event: Listener = lambda event: None,
) -> Result:
    """Run the trials of ``plan`` and return the records of the arms that are now complete.

    Parameters
    ----------
    plan : Plan
        From :func:`plan`, or from :func:`resume_plan` to go on with a run that was stopped.
    data : Path
        Folder that holds ``runs`` and ``artifacts``; a private suite runs in the private tree of it.
    jobs : int, optional
        How many trials may be in flight at once; fewer where the executor has no room for them. None: all it has
        room for.
    executor : str
        Where they run: ``local``, ``dask`` for workers on this machine, ``dask:ADDRESS`` or ``dask:FILE`` for those
        of the scheduler there.
    on_event : callable
        Called in the main thread with each event; it should return quickly.

    Raises
    ------
    UsageError
        The run id is taken, another process is at it, or the candidate cannot be checked out.
    JournalError
        The disk refuses; running trials are killed, and what is in the journals is kept.
    AdapterError
        This machine has no room for a trial, or the cluster is lost; likewise. Or the executor is not to be had, or
        cannot hold trials as tightly as is asked for; then nothing is begun.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"{jobs} jobs; give at least 1", field="--jobs")
    choice = executors.chosen(executor)
    data = _tree_of(plan, data).absolute()
    clock.keep_apart(data, plan.as_of)
    with owners_only(plan.is_private) as umask, _collecting_rarely():
        return asyncio.run(_carry_out(plan, data, _Asked(choice, jobs, umask), on_event))


@dataclass(frozen=True, slots=True)
class _Asked:
    choice: executors.Choice
    jobs: int | None
    umask: int


async def _carry_out(plan: Plan, data: Path, asked: _Asked, on_event: Listener) -> Result:
    async with contextlib.AsyncExitStack() as stack:
        executor = await stack.enter_async_context(executors.opened(asked.choice, plan, asked.jobs, data))
        stack.enter_context(manifests.claimed(plan, data))
        orphans = _clear(plan, data)
        arms = stack.enter_context(grounds.prepared(plan, data / "runs"))
        facts = {"jobs": executor.slots, "isolation": executor.level, "executor": asked.choice.name}
        written = manifests.write(plan, data, facts)
        is_local = asked.choice.name == executors.LOCAL
        on_event(Started(plan, executor.level, orphans))
        if is_local and executor.slots < min(asked.jobs or 1, len(plan.specs)):
            on_event(FewerJobs(executor.slots, asked.jobs or 1))
        place = Workplace.of(plan, data, arms, executor.ladder, os.environ, asked.umask)
        with _books(plan, data) as ledger:
            await executor.begin(place, ledger)
            crew = Crew(place, executor, ledger, on_event)
            await crew.work()
    lost = {r.run_id: write_lost(manifests.run_folder(data, r.run_id)) for r in plan.runs}
    kept = _records(crew, written, lost)
    return Result(kept, tuple(crew.trials), crew.stopped_by, tuple(itertools.chain(*lost.values())))


def _tree_of(plan: Plan, data: Path) -> Path:
    """Return the data folder of a plan: a private suite has the private tree to itself. Raises UsageError."""
    if plan.is_private:
        return journal.make_private(journal.private_tree(data))
    if journal.is_private_tree(data):
        raise UsageError("holds private suites alone; a public one runs in another folder", path=data)
    return data


@contextlib.contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Spare the search for garbage in all that was there before: a run makes little that is circular."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _clear(plan: Plan, data: Path) -> int:
    """Make room for the trials: end what a dead runner left running, and remove what it left lying."""
    orphans = kill_orphans(tuple(run.run_id for run in plan.runs)) if plan.resumed else 0
    for run in plan.runs:
        scratch = manifests.run_folder(data, run.run_id) / SCRATCH
        remove_tree(str(scratch))
        scratch.mkdir()
    return orphans


@contextlib.contextmanager
def _books(plan: Plan, data: Path) -> Iterator[Ledger]:
    with Ledger(data / "runs", (run.run_id for run in plan.runs)) as ledger:
        yield ledger
    for run in plan.runs:
        remove_tree(str(manifests.run_folder(data, run.run_id) / SCRATCH))


def _records(
    crew: Crew, written: dict[str, dict[str, Any]], lost: dict[str, list[Lost]]
) -> tuple[dict[str, Any], ...]:
    kept, plan = [], crew.place.plan
    for run in plan.runs:
        folder, more = manifests.run_folder(crew.place.data, run.run_id), lost[run.run_id]
        own = [trial for trial in crew.trials if trial.run_id == run.run_id]
        if any(one.recorded for one in more):  # then what was told to us may not be what counts
            counts = {trial.key: trial for trial in journal.read_trials(folder)}
            own = [counts[trial.key] for trial in own]
        if len(own) == plan.planned_per_run:
            record = records.run_record(plan, run, written[run.run_id], own, crew.place.artifacts, more)
            write_synced(folder / "record.json", encode(record))
            kept.append(record)
    return tuple(kept)
