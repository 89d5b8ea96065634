"""What a worker of a cluster does: it makes a workplace of its own for a run, and runs trials there.

A worker that sees the run folder of the coordinator, at the same place, writes its own journal there and its blobs
beside those of the others. One that does not keeps both on its own disk, and they go back with the result. Credentials
are those of the worker's own environment: none are sent.

One process is at one run at a time: what sweeps after a trial must know all that was started. A worker that two
coordinators use goes from the one run to the other when no trial is running.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalstats import journal
from evalstats.artifacts import Artifacts
from evalstats.errors import AdapterError, EvalstatsError, JournalError
from evalstats.runner import account, grounds, manifests
from evalstats.runner import workplace as workplaces
from evalstats.runner.attempt import run_trial
from evalstats.runner.executors.brief import Brief, Errand, check_version, plan_of
from evalstats.runner.folders import remove_tree
from evalstats.runner.ledger import Ledger, Recorded
from evalstats.runner.specs import TrialSpec
from evalstats.runner.sweeping import kill_orphans, runner_name
from evalstats.runner.workplace import SCRATCH, Workplace, ladder_of
from evalstats.trials import Trial

PATIENCE_SECONDS = 0.1  # how long a trial that nobody waits for any more may go on
Answer = dict[str, Any]


# --- what a coordinator calls --------------------------------------------------------------------


def dask_setup(worker: Any) -> None:
    """Let a worker that belongs to one run live through a Ctrl-C: what it does then is for its coordinator to say."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


async def probe(brief: Brief) -> Answer:
    """Return on which rung of the ladder the trials of a run would stand here."""
    try:
        async with _ROOM.emptied():
            check_version(brief)
            plan = plan_of(brief)
            with ladder_of(plan, os.environ) as ladder:
                return {"level": ladder.level}
    except EvalstatsError as error:
        return _refusal(error)


async def carry_out(brief: Brief, errand: Errand) -> Answer:
    """Run one trial, unless it is recorded already; return its record, and the blobs that only this worker has."""
    worker = _worker()
    try:
        async with _ROOM.at(brief, worker) as host:
            trial = await host.run(errand, lambda: _is_wanted(worker, errand.task))
            return {"record": trial.as_record(), **host.only_here(trial)}
    except EvalstatsError as error:
        return _refusal(error)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise  # the worker is closing: another one may take it over
        return {}  # nobody waits for it


async def leave(launch: str) -> None:
    """End all trials of a coordinator and take away what was made for them; return when they are gone."""
    await _ROOM.leave(launch)


def _refusal(error: EvalstatsError) -> Answer:
    return {"error": str(error), "is_disk": isinstance(error, JournalError), "by": runner_name()}


def _worker() -> Any:
    from distributed import get_worker

    return get_worker()


def _is_wanted(worker: Any, task: str) -> bool:
    state = worker.state.tasks.get(task)
    return state is not None and state.state in ("executing", "long-running")


# --- one run at a time ---------------------------------------------------------------------------


class _Room:
    """Where the host of this process is, if there is one."""

    def __init__(self) -> None:
        self._host: Host | None = None
        self._left: set[str] = set()
        self._moving = asyncio.Lock()

    @asynccontextmanager
    async def at(self, brief: Brief, worker: Any) -> AsyncIterator[Host]:
        """Yield the host for a run, once no other is at work here."""
        async with self._moving:
            if brief.launch in self._left:
                raise AdapterError("the run has left this worker")
            if self._host is None or self._host.launch != brief.launch:
                await self._close()
                self._host = Host.opened(brief, worker)
            host = self._host
            host.enter()
        try:
            yield host
        finally:
            host.leave()

    @asynccontextmanager
    async def emptied(self) -> AsyncIterator[None]:
        """Keep every host out meanwhile."""
        async with self._moving:
            await self._close()
            yield

    async def leave(self, launch: str) -> None:
        """Close the host of a launch for ever."""
        self._left.add(launch)
        if self._host is not None and self._host.launch == launch:
            self._host.end_all()
        async with self._moving:
            if self._host is not None and self._host.launch == launch:
                await self._close()

    async def _close(self) -> None:
        if self._host is not None:
            await self._host.close()
            self._host = None


_ROOM = _Room()


class Host:
    """The workplace of one run on this worker."""

    def __init__(self, launch: str, place: Workplace, ledger: Ledger, shared: bool, open_: ExitStack) -> None:
        self.launch = launch
        self._guests = 0
        self._is_empty = asyncio.Event()
        self._place = place
        self._ledger = ledger
        self._specs = {spec.key: spec for spec in place.plan.specs}
        self._elsewhere = _elsewhere(place) if shared else {}
        self._shared = shared
        self._running: set[asyncio.Task[Trial]] = set()
        self._ending: set[asyncio.Task[Trial]] = set()
        self._pace: float | None = None
        self._open = open_

    @classmethod
    def opened(cls, brief: Brief, worker: Any) -> Host:
        """Return a host for a run, all its places made. Raises EvalstatsError where this worker is not fit for it."""
        plan, data = plan_of(brief), Path(brief.data)
        run_ids = tuple(run.run_id for run in plan.runs)
        shared = all((manifests.run_folder(data, run_id) / brief.mark).is_file() for run_id in run_ids)
        if plan.is_private and not shared:
            raise AdapterError("a private suite runs only where its private tree is seen by all workers")
        own = Path(worker.local_directory) / "evalstats" / brief.launch
        kill_orphans(run_ids)
        with ExitStack() as opening:
            umask = opening.enter_context(journal.owners_only(plan.is_private))
            opening.callback(remove_tree, str(own))
            for run_id in run_ids:
                (own / "runs" / run_id / SCRATCH).mkdir(mode=0o700, parents=True)
            ladder = opening.enter_context(ladder_of(plan, os.environ))
            arms = opening.enter_context(grounds.prepared(plan, own / "runs"))
            kept = data if shared else own
            place = Workplace.of(plan, kept, arms, ladder, os.environ, umask)
            place = replace(place, rooms=own / "runs")
            ledger = opening.enter_context(Ledger(kept / "runs", run_ids))
            return cls(brief.launch, place, ledger, shared, opening.pop_all())

    def enter(self) -> None:
        """Count one that is at work here."""
        self._guests += 1
        self._is_empty.clear()

    def leave(self) -> None:
        """Count one that has ended."""
        self._guests -= 1
        if not self._guests:
            self._is_empty.set()

    async def run(self, errand: Errand, is_wanted: Callable[[], bool]) -> Trial:
        """Return the record of a trial, which is in a journal by then; CancelledError where it is not wanted."""
        spec = self._specs[errand.key]
        if self._elsewhere and (found := self._elsewhere[spec.run_id].find(spec.key)):
            return found  # by a worker that died before it could say so
        self._start(spec)
        trial = await self._watched(run_trial(spec, self._paced(errand.max_rpm)), is_wanted)
        self._ledger.record(trial)
        return trial

    def _start(self, spec: TrialSpec) -> None:
        self._ledger.start(spec, runner_name())
        _worker().log_event(self.launch, {"key": spec.key, "by": runner_name(), "shared": self._shared})

    def _paced(self, max_rpm: float | None) -> Workplace:
        if max_rpm != self._pace:
            self._pace = max_rpm
            self._place = replace(self._place, turns=workplaces.turns(max_rpm))
        return self._place

    async def _watched(self, running: Coroutine[Any, Any, Trial], is_wanted: Callable[[], bool]) -> Trial:
        task = asyncio.create_task(running)
        self._running.add(task)
        try:
            while not task.done():
                await asyncio.wait((task,), timeout=PATIENCE_SECONDS)
                if not is_wanted():
                    self._end(task)
            return task.result()
        finally:
            if not task.done():  # the worker is closing
                self._end(task)
                await asyncio.wait((task,))
            self._running.discard(task)
            self._ending.discard(task)

    def _end(self, task: asyncio.Task[Trial]) -> None:
        """Cancel a trial, once: one that is killing its processes must not be disturbed."""
        if task not in self._ending:
            self._ending.add(task)
            task.cancel()

    def only_here(self, trial: Trial) -> Answer:
        """Return the blobs that nobody has but this worker."""
        if self._shared:
            return {}
        artifacts = self._place.artifacts
        names = {*trial.artifacts.values(), *_in_account(trial, artifacts)}
        return {"blobs": [artifacts.get(name) for name in sorted(names)], "by": runner_name()}

    def end_all(self) -> None:
        """Have all trials end."""
        for task in self._running:
            self._end(task)

    async def close(self) -> None:
        """Wait until all trials have ended, and take away what was made for them."""
        if self._guests:
            await self._is_empty.wait()
        await self._place.casting.close()
        self._open.close()


def _elsewhere(place: Workplace) -> dict[str, Recorded]:
    return {r.run_id: Recorded(manifests.run_folder(place.data, r.run_id)) for r in place.plan.runs}


def _in_account(trial: Trial, artifacts: Artifacts) -> set[str]:
    """Return the blobs of the attempts that a trial took before."""
    attempts = [one for told in account.of([trial], artifacts) for one in told["attempts"]]
    return {digest for one in attempts for digest in one["artifacts"].values()}
