"""Where trials run: on this machine (``local``), or on the workers of a dask cluster (``dask``).

What does not depend on that stays with the coordinator: the order of the trials, the budget, signals, events, records.
An executor carries one trial out and sees to it that it is in a journal of the run; every trial, wherever it runs, goes
through the same `run_trial`. ``local`` and ``dask`` are the two there are; `hosts` is what a worker of the latter does.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evalstats.contract import Isolation
from evalstats.errors import UsageError
from evalstats.runner.isolation.ladder import Ladder
from evalstats.runner.ledger import Ledger
from evalstats.runner.planning import Plan
from evalstats.runner.specs import TrialSpec
from evalstats.runner.workplace import Workplace
from evalstats.trials import Trial

LOCAL = "local"
DASK = "dask"


@dataclass(frozen=True, slots=True)
class Carried:
    """A trial that was carried out, and how many attempts at it were lost on the way, as far as is known."""

    trial: Trial
    lost: int = 0


class Executor(Protocol):
    """Carries trials out, as many at once as it has ``slots``.

    ``level`` is the rung of the ladder on which all of them stand, ``ladder`` what holds those that run in this
    process.
    """

    level: Isolation
    ladder: Ladder

    @property
    def slots(self) -> int:
        """Return how many trials it has room for; that may change while it is at work."""
        ...

    async def begin(self, place: Workplace, ledger: Ledger) -> None:
        """Make ready to run the trials of a plan whose manifests are written."""
        ...

    async def run(self, spec: TrialSpec) -> Carried:
        """Carry a trial out; it is in a journal of its run when this returns. Cancelling it ends the trial.

        What had been started for a cancelled trial is gone by the time the executor is closed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Which executor, and where its cluster is: None is one that is made for the run, on this machine."""

    name: str
    address: str | None = None


def chosen(text: str) -> Choice:
    """Return the executor that a text names: ``local``, ``dask``, ``dask:ADDRESS`` or ``dask:FILE``.

    Raises UsageError.
    """
    name, colon, address = text.partition(":")
    if name == DASK and bool(colon) == bool(address):
        return Choice(name, None if address in ("", LOCAL) else address)
    if text == LOCAL:
        return Choice(LOCAL)
    known = "local, dask (workers on this machine), dask:tcp://HOST:PORT or dask:SCHEDULER-FILE"
    raise UsageError(f"unknown executor {text!r}; known: {known}", field="--executor")


def opened(choice: Choice, plan: Plan, jobs: int | None, data: Path) -> AbstractAsyncContextManager[Executor]:
    """Return the context in which there is an executor for a plan whose results are kept in ``data``.

    ``jobs`` is the most trials at once, None all that it has room for.
    Raises AdapterError where it is not to be had, or cannot hold trials as tightly as the plan asks for.
    """
    if choice.name == DASK:
        from evalstats.runner.executors import dask

        return dask.opened(choice.address, plan, jobs, data)
    from evalstats.runner.executors import local

    return local.opened(plan, jobs)
