"""Running a plan on this machine: one loop in the main thread, at most ``jobs`` trials in flight.

A trial counts as finished when its journal line is written; whatever stops the process before that, the
trial is simply run again. The first SIGINT drains; a second one, SIGTERM or SIGHUP kills.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import journal
from evalstats.contract import Outcome
from evalstats.errors import UsageError
from evalstats.journal import Journal, encode, owners_only, write_synced
from evalstats.runner import casting, clock, grounds, limits, manifests, records
from evalstats.runner.attempt import run_trial, skipped_trial
from evalstats.runner.budget import Budget
from evalstats.runner.events import (
    Draining,
    FewerJobs,
    Killing,
    Listener,
    Started,
    TrialFinished,
    TrialStarted,
)
from evalstats.runner.folders import remove_tree
from evalstats.runner.isolation.ladder import Ladder
from evalstats.runner.planning import Plan
from evalstats.runner.specs import TrialSpec
from evalstats.runner.sweeping import kill_orphans
from evalstats.runner.workplace import SCRATCH, Workplace
from evalstats.trials import Trial

# The first SIGINT drains; every further one, and any other of these, kills.
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_THRESHOLDS = (50_000, 20, 100)


@dataclass(frozen=True, slots=True)
class Result:
    """The records of the arms that are complete, all trials, and the signal that stopped the run, if one did."""

    records: tuple[dict[str, Any], ...]
    trials: tuple[Trial, ...]
    stopped_by: signal.Signals | None = None


def run(plan: Plan, *, data: Path, jobs: int = 1, on_event: Listener = lambda event: None) -> Result:
    """Run the trials of ``plan`` and return the records of the arms that are now complete.

    Parameters
    ----------
    plan : Plan
        From :func:`plan`, or from :func:`resume_plan` to go on with a run that was stopped.
    data : Path
        Folder that holds ``runs`` and ``artifacts``; a private suite runs in the private tree of it.
    jobs : int
        How many trials may be in flight at once; fewer where the limit of open files asks for it.
    on_event : callable
        Called in the main thread with each event; it should return quickly.

    Raises
    ------
    UsageError
        The run id is taken, another process is at it, or the candidate cannot be checked out.
    JournalError
        The disk refuses; running trials are killed, and what is in the journals is kept.
    AdapterError
        This machine has no room for a trial; likewise. Or it cannot hold trials as tightly as is asked for; then
        nothing is begun.
    """
    if jobs < 1:
        raise UsageError(f"{jobs} jobs; give at least 1", field="--jobs")
    data = _tree_of(plan, data).absolute()
    clock.keep_apart(data, plan.as_of)
    with contextlib.ExitStack() as stack:
        umask = stack.enter_context(owners_only(plan.is_private))
        ladder = stack.enter_context(_ladder(plan))
        stack.enter_context(manifests.claimed(plan, data))
        orphans = _clear(plan, data)
        arms = stack.enter_context(grounds.prepared(plan, data / "runs"))
        fitting = limits.jobs_that_fit(jobs)
        written = manifests.write(plan, data, {"jobs": fitting, "isolation": ladder.level})
        on_event(Started(plan, ladder.level, orphans))
        if fitting < min(jobs, len(plan.specs)):
            on_event(FewerJobs(fitting, jobs))
        crew = _Crew(Workplace.of(plan, data, arms, ladder, os.environ, umask), on_event)
        with _journals(plan, data) as journals, _collecting_rarely():
            asyncio.run(crew.work(journals, fitting))
        return Result(_records(crew, written), tuple(crew.trials), crew.stopped_by)


def _ladder(plan: Plan) -> Ladder:
    root = str(plan.suite.root)
    offline = casting.is_offline(plan.suite)
    return Ladder(plan.terms, offline=offline, path=os.environ.get("PATH", os.defpath), shown=(root,))


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
def _journals(plan: Plan, data: Path) -> Iterator[dict[str, Journal]]:
    with contextlib.ExitStack() as stack:
        yield {
            run.run_id: stack.enter_context(Journal(manifests.run_folder(data, run.run_id) / "journal"))
            for run in plan.runs
        }
    for run in plan.runs:
        remove_tree(str(manifests.run_folder(data, run.run_id) / SCRATCH))


def _records(crew: _Crew, written: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    kept, plan = [], crew.place.plan
    for run in plan.runs:
        own = [trial for trial in crew.trials if trial.run_id == run.run_id]
        if len(own) == plan.planned_per_run:
            record = records.run_record(plan, run, written[run.run_id], own, crew.place.artifacts)
            folder = manifests.run_folder(crew.place.data, run.run_id)
            write_synced(folder / "record.json", encode(record))
            kept.append(record)
    return tuple(kept)


class _Crew:
    """The workers of one run: they take trials in the order of the plan until there are no more."""

    def __init__(self, place: Workplace, on_event: Listener) -> None:
        self.place = place
        self.trials = list(place.plan.recorded)
        self.stopped_by: signal.Signals | None = None
        self._on_event = on_event
        self._waiting = iter(place.plan.specs)
        self._planned = place.plan.planned_per_run * len(place.plan.runs)
        self._running = 0
        self._killed = False
        self._workers: list[asyncio.Task[None]] = []
        self._budget = place.budget()

    async def work(self, journals: dict[str, Journal], jobs: int) -> None:
        """Run all trials, or those until a signal or an error; raise the first error."""
        with self._listening():
            count = min(jobs, len(self.place.plan.specs))
            self._workers = [asyncio.create_task(self._worker(journals)) for _ in range(count)]
            ended = await asyncio.gather(*self._workers, return_exceptions=True)
            await self.place.casting.close()
        for error in ended:
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                raise error

    async def _worker(self, journals: dict[str, Journal]) -> None:
        try:
            while self.stopped_by is None and (spec := next(self._waiting, None)) is not None:
                if self._budget is None:
                    trial = await self._run(spec)
                elif (paid := await self._run_within(self._budget, spec)) is None:
                    break
                else:
                    trial = paid
                journals[spec.run_id].append(trial)
                self.trials.append(trial)
                self._on_event(TrialFinished(trial, len(self.trials), self._planned))
        except BaseException:
            self._kill()
            raise

    async def _run(self, spec: TrialSpec) -> Trial:
        self._on_event(TrialStarted(spec))
        self._running += 1
        trial = await run_trial(spec, self.place)
        self._running -= 1
        return trial

    async def _run_within(self, budget: Budget, spec: TrialSpec) -> Trial | None:
        """Run a trial if it can be paid for, else skip it; None where the run was stopped while it waited."""
        if not await budget.admit(spec):
            return skipped_trial(spec, self.place, str(budget.reason))
        if self.stopped_by is not None:
            return None
        trial = await self._run(spec)
        is_free = trial.outcome in (Outcome.SKIPPED, Outcome.INFRASTRUCTURE)
        await budget.settle(spec, self.place.paid(trial), is_free=is_free)
        return trial

    def _kill(self) -> None:
        """Cancel all workers, once: a worker that is killing its processes must not be disturbed."""
        if not self._killed:
            self._killed = True
            for worker in self._workers:
                if worker is not asyncio.current_task():
                    worker.cancel()

    def _stop(self, number: signal.Signals) -> None:
        first = self.stopped_by is None
        self.stopped_by = number
        if first and number is signal.SIGINT:
            self._on_event(Draining(self._running))
        elif not self._killed:
            running = self._running
            self._kill()  # first: telling may fail, as where the terminal is gone
            self._on_event(Killing(running))

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        # Also where the process was started with SIGINT ignored, as shells start what runs in the background.
        # SIGHUP alone stays ignored: that is what nohup is for.
        loop, before = asyncio.get_running_loop(), {number: signal.getsignal(number) for number in _STOPPING}
        if before[signal.SIGHUP] is signal.SIG_IGN:
            del before[signal.SIGHUP]
        for number in before:
            loop.add_signal_handler(number, self._stop, number)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
