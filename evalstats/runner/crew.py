"""All trials of a plan: who takes which, what may be paid for, what stops it. Where they run is not known here."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

from evalstats.contract import Outcome
from evalstats.runner import ledger as ledgers
from evalstats.runner import manifests
from evalstats.runner.attempt import skipped_trial
from evalstats.runner.budget import Budget
from evalstats.runner.events import Draining, Killing, Listener, TrialFinished, TrialStarted
from evalstats.runner.executors import Carried, Executor
from evalstats.runner.ledger import Ledger, Lost
from evalstats.runner.specs import TrialSpec
from evalstats.runner.workplace import Workplace
from evalstats.trials import Trial

# The first SIGINT drains; every further one, and any other of these, kills.
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HIRING_SECONDS = 1.0  # how soon new room is noticed


def _lost_before(place: Workplace) -> list[Lost]:
    """Return the attempts that earlier processes lost, where they matter: to a budget."""
    if place.plan.terms.budget is None:
        return []
    folders = [manifests.run_folder(place.data, run.run_id) for run in place.plan.runs]
    return [one for folder in folders for one in ledgers.lost(folder)]


class Crew:
    """Those who see to the trials of one run: they take them in the order of the plan until there are no more."""

    def __init__(self, place: Workplace, executor: Executor, ledger: Ledger, on_event: Listener) -> None:
        self.place = place
        self.trials = list(place.plan.recorded)
        self.stopped_by: signal.Signals | None = None
        self._executor = executor
        self._ledger = ledger
        self._on_event = on_event
        self._waiting = iter(place.plan.specs)
        self._planned = place.plan.planned_per_run * len(place.plan.runs)
        self._running = 0
        self._killed = False
        self._workers: list[asyncio.Task[None]] = []
        self._budget = place.budget(_lost_before(place))

    async def work(self) -> None:
        """Run all trials, or those until a signal or an error; raise the first error."""
        with self._listening():
            while self._hired():
                at_work = [worker for worker in self._workers if not worker.done()]
                await asyncio.wait(at_work, timeout=HIRING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            ended = await asyncio.gather(*self._workers, return_exceptions=True)
            await self.place.casting.close()
        for error in ended:
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                raise error

    def _hired(self) -> bool:
        """Have as many workers as there is room for trials; return whether any is at work."""
        most = min(self._executor.slots, len(self.place.plan.specs))
        while len(self._workers) < most and self.stopped_by is None and not self._killed:
            self._workers.append(asyncio.create_task(self._worker()))
        return not all(worker.done() for worker in self._workers)

    async def _worker(self) -> None:
        try:
            while self.stopped_by is None and (spec := next(self._waiting, None)) is not None:
                if self._budget is None:
                    trial = (await self._run(spec)).trial
                elif (paid := await self._run_within(self._budget, spec)) is None:
                    break
                else:
                    trial = paid
                self.trials.append(trial)
                self._on_event(TrialFinished(trial, len(self.trials), self._planned))
        except BaseException:
            self._kill()
            raise

    async def _run(self, spec: TrialSpec) -> Carried:
        self._on_event(TrialStarted(spec))
        self._running += 1
        carried = await self._executor.run(spec)
        self._running -= 1
        return carried

    async def _run_within(self, budget: Budget, spec: TrialSpec) -> Trial | None:
        """Run a trial if it can be paid for, else skip it; None where the run was stopped while it waited."""
        if not await budget.admit(spec):
            trial = skipped_trial(spec, self.place, str(budget.reason))
            self._ledger.record(trial)
            return trial
        if self.stopped_by is not None:
            return None
        carried = await self._run(spec)
        is_free = carried.trial.outcome in (Outcome.SKIPPED, Outcome.INFRASTRUCTURE)
        await budget.settle(spec, self._cost(spec, carried), is_free=is_free)
        return carried.trial

    def _cost(self, spec: TrialSpec, carried: Carried) -> float | None:
        """Return what a trial cost: a lost attempt as much as one can cost at most, where that is known."""
        paid = self.place.paid(carried.trial)
        lost = carried.lost * (self.place.highest_cost(spec) or 0.0)
        return paid + lost if paid is not None else lost or None

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
