"""Trials on the workers of a dask cluster: one task a trial, released as soon as it is consumed.

dask runs a task again whose worker is gone, so a trial may be started more than once. What makes one result of that is
the journal that each worker writes first, and the key of the trial (see `ledger`). A trial whose workers die again and
again is given up by dask and becomes lost to infrastructure. The scheduler sees keys, and records that pass through it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from evalstats.contract import Isolation
from evalstats.errors import AdapterError, JournalError
from evalstats.runner import manifests
from evalstats.runner.attempt import lost_trial
from evalstats.runner.executors import Carried, Executor, clusters, hosts
from evalstats.runner.executors.brief import Brief, Errand
from evalstats.runner.executors.clusters import DEATHS, OPTION, PATIENCE_SECONDS, Connection
from evalstats.runner.executors.hosts import Answer
from evalstats.runner.isolation.ladder import RUNGS
from evalstats.runner.ledger import Ledger
from evalstats.runner.planning import Plan
from evalstats.runner.specs import TrialSpec
from evalstats.runner.sweeping import kill_orphans
from evalstats.runner.workplace import Workplace, ladder_of
from evalstats.trials import Trial, trial_from_record

LEAVING_SECONDS = 15.0
LOOK_SECONDS = 1.0
MARK = ".launch-"  # of a file by which a worker sees that it has the run folder of the coordinator before it


@asynccontextmanager
async def opened(address: str | None, plan: Plan, jobs: int | None, data: Path) -> AsyncIterator[Executor]:
    """Yield an executor for the trials of a plan, on the cluster at an address, else on one of its own.

    Raises AdapterError where dask is not installed, no scheduler or worker answers, or a worker is not fit for the run.
    """
    async with clusters.connected(address, jobs or os.cpu_count() or 1) as connection:
        cluster = _Cluster(connection, address, jobs, _brief(plan, data), plan)
        await cluster.look()
        cluster.level = await cluster.probed()
        try:
            async with cluster.watching():
                yield cluster
        finally:
            await cluster.leave()
    if address is None:
        kill_orphans(tuple(run.run_id for run in plan.runs))  # of workers that were killed


def _brief(plan: Plan, data: Path) -> Brief:
    launch = secrets.token_hex(8)
    return Brief(
        launch=launch,
        version=manifests.version(),
        data=str(data),
        mark=f"{MARK}{launch}",
        manifest=manifests.compose(plan, plan.runs[0], data),
    )


class _Cluster:
    level: Isolation

    def __init__(
        self, connection: Connection, address: str | None, jobs: int | None, brief: Brief, plan: Plan
    ) -> None:
        self.ladder = ladder_of(plan, os.environ)
        self._client = connection.client
        self._mend = connection.mend
        self._address = address
        self._jobs = jobs
        self._brief = brief
        self._plan = plan
        self._threads: dict[str, int] = {}
        self._seen_at = time.monotonic()
        self._is_lost = False
        self._starts: Counter[str] = Counter()
        self._specs = {spec.key: spec for spec in plan.specs}
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def slots(self) -> int:
        room = sum(self._threads.values())
        return max(1, room if self._jobs is None else min(room, self._jobs))

    @property
    def _where(self) -> str:
        return self._address or "this machine"

    # --- its workers ---

    async def look(self) -> None:
        """Wait until there is a worker. Raises AdapterError."""
        while not self._threads:
            await self._count()
            if not self._threads:
                await asyncio.sleep(0.2)

    async def _count(self) -> None:
        self._threads = dict(await self._client.nthreads())
        if self._threads:
            self._seen_at = time.monotonic()
        elif time.monotonic() - self._seen_at > PATIENCE_SECONDS:
            gone = f"the scheduler at {self._where} has had no worker for {PATIENCE_SECONDS:g} s"
            raise AdapterError(gone, field=OPTION)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """See meanwhile which workers there are."""
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))
            if self._failure.done():
                self._failure.exception()  # told already, or to nobody

    async def _watch(self) -> None:
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                await self._count()
                self._mend()
        except Exception as error:
            told = error if isinstance(error, AdapterError) else self._lost(error)
            if not self._failure.done():
                self._failure.set_exception(told)

    async def probed(self) -> Isolation:
        """Return the lowest rung on which trials would stand. Raises AdapterError where a worker is not fit."""
        answers = await self._client.run(hosts.probe, self._brief, on_error="return")
        levels = []
        for worker, answer in answers.items():
            if isinstance(answer, BaseException):
                unfit = f"the worker {worker} cannot run evalstats: {type(answer).__name__}: {answer}"
                raise AdapterError(unfit, field=OPTION)
            if "error" in answer:
                raise _refused(answer)
            levels.append(Isolation(answer["level"]))
        return max(levels, key=RUNGS.index)

    async def leave(self) -> None:
        """End what still runs for us there, wait until it is gone, and take the marks away."""
        if not self._is_lost:  # workers without a scheduler end what they run by themselves
            leaving = self._client.run(hosts.leave, self._brief.launch, on_error="ignore")
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(leaving, LEAVING_SECONDS)
        for mark in self._marks():
            mark.unlink(missing_ok=True)

    def _marks(self) -> Iterator[Path]:
        for run in self._plan.runs:
            yield manifests.run_folder(Path(self._brief.data), run.run_id) / self._brief.mark

    # --- its trials ---

    async def begin(self, place: Workplace, ledger: Ledger) -> None:
        self._place, self._ledger = place, ledger
        for mark in self._marks():
            for left in mark.parent.glob(f"{MARK}*"):  # by coordinators that were killed
                left.unlink(missing_ok=True)
            mark.touch()
        self._client.subscribe_topic(self._brief.launch, self._started)
        self._told = self._client.submit(
            _itself, self._brief, key=f"evalstats-brief-{self._brief.launch}", pure=False
        )

    def _started(self, event: tuple[float, Answer]) -> None:
        told = event[1]
        self._starts[told["key"]] += 1
        if not told["shared"]:  # then the worker's own note is on its own disk
            self._ledger.start(self._specs[told["key"]], told["by"])

    async def run(self, spec: TrialSpec) -> Carried:
        answer = await self._answer(spec)
        if answer is None:
            trial = lost_trial(spec, self._place, f"its worker died, {DEATHS + 1} times or more")
            self._ledger.record(trial)
        elif "error" in answer:
            raise _refused(answer)
        else:
            trial = self._kept(answer)
        return Carried(trial, max(0, self._starts.pop(spec.key, 1) - 1))

    async def _answer(self, spec: TrialSpec) -> Answer | None:
        """Return what a worker says; None where dask has given the trial up."""
        KilledWorker = clusters.engine().KilledWorker
        task = f"evalstats-{self._brief.launch}-{spec.key}"
        errand = Errand(key=spec.key, task=task, max_rpm=self._share())
        future = self._client.submit(hosts.carry_out, self._told, errand, key=task, pure=False, retries=0)
        told = asyncio.ensure_future(future.result())
        try:
            await asyncio.wait((told, self._failure), return_when=asyncio.FIRST_COMPLETED)
            if not told.done():
                self._failure.result()
            return dict(told.result())
        except KilledWorker:
            return None
        except AdapterError:
            raise
        except Exception as error:
            raise self._lost(error) from None
        finally:
            told.cancel()
            future.release()  # or dask would run it again with the worker that holds what it said

    def _share(self) -> float | None:
        """Return how many requests a minute are the part of one worker."""
        most = self._plan.terms.max_rpm
        return None if most is None else most / max(1, len(self._threads))

    def _kept(self, answer: Answer) -> Trial:
        trial = trial_from_record(answer["record"])
        if "blobs" in answer:  # they, and the record, are on the worker's own disk
            for blob in answer["blobs"]:
                self._place.artifacts.put(blob)
            self._ledger.record(trial)
        return trial

    def _lost(self, error: BaseException) -> AdapterError:
        self._is_lost = True
        why = f"the cluster at {self._where} was lost ({type(error).__name__}: {error}); what is recorded is kept"
        return AdapterError(f"{why}; go on with --resume {self._plan.group_id}", field=OPTION)


def _itself(brief: Brief) -> Brief:
    return brief


def _refused(answer: Answer) -> AdapterError | JournalError:
    told = f"worker {answer['by']}: {answer['error']}"
    return JournalError(told) if answer["is_disk"] else AdapterError(told)
