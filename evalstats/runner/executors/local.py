"""Trials in processes of this machine, in the loop of the runner itself."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evalstats.runner import limits
from evalstats.runner.attempt import run_trial
from evalstats.runner.executors import Carried, Executor
from evalstats.runner.isolation.ladder import Ladder
from evalstats.runner.ledger import Ledger
from evalstats.runner.planning import Plan
from evalstats.runner.specs import TrialSpec
from evalstats.runner.sweeping import runner_name
from evalstats.runner.workplace import Workplace, ladder_of


@asynccontextmanager
async def opened(plan: Plan, jobs: int | None) -> AsyncIterator[Executor]:
    """Yield an executor for the trials of a plan. Raises AdapterError where they cannot be held as asked."""
    with ladder_of(plan, os.environ) as ladder:
        yield _Local(ladder, limits.jobs_that_fit(jobs or os.cpu_count() or 1))


class _Local:
    def __init__(self, ladder: Ladder, slots: int) -> None:
        self.ladder = ladder
        self.level = ladder.level
        self.slots = slots
        self._name = runner_name()

    async def begin(self, place: Workplace, ledger: Ledger) -> None:
        self._place, self._ledger = place, ledger

    async def run(self, spec: TrialSpec) -> Carried:
        self._ledger.start(spec, self._name)
        trial = await run_trial(spec, self._place)
        self._ledger.record(trial)
        return Carried(trial)
