"""Where trials run: what all of a plan share on this machine, and the room that each has to itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalstats.artifacts import Artifacts
from evalstats.contract import Arm
from evalstats.errors import AdapterError, JournalError
from evalstats.journal import private_tree
from evalstats.redact import Redactor
from evalstats.runner import account, commands, limits
from evalstats.runner.budget import Budget
from evalstats.runner.casting import FREE, Casting, is_offline
from evalstats.runner.environment import Environment
from evalstats.runner.folders import HOME, Scratch, remove_tree
from evalstats.runner.folders import place as put
from evalstats.runner.grounds import Ground
from evalstats.runner.isolation.holds import Hold
from evalstats.runner.isolation.ladder import Ladder, Site
from evalstats.runner.ledger import Lost
from evalstats.runner.planning import Plan
from evalstats.runner.process import Command, Ended, Starter, execute
from evalstats.runner.runtimes.protocol import Asked, Runtime
from evalstats.runner.specs import TrialSpec
from evalstats.trials import Trial

SCRATCH = "t"
WORK = "/work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """What all trials of a plan share on this machine.

    ``data`` is where results are kept and ``rooms`` where trials have their folders; both are absolute.
    """

    plan: Plan
    data: Path
    rooms: Path
    grounds: Mapping[Arm, Ground]
    environment: Environment
    casting: Casting
    scratch: Scratch
    starter: Starter
    ladder: Ladder
    artifacts: Artifacts
    umask: int
    redactor: Redactor
    turns: AbstractAsyncContextManager[Any]
    outside: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(
        cls,
        plan: Plan,
        data: Path,
        grounds: Mapping[Arm, Ground],
        ladder: Ladder,
        outside: Mapping[str, str],
        umask: int = -1,
    ) -> Workplace:
        """Return the workplace of a plan that is run from the environment ``outside``; -1 is our own umask.

        Trials have their folders in those of their runs.
        """
        return cls(
            plan=plan,
            data=data,
            rooms=data / "runs",
            grounds=grounds,
            environment=Environment.of(plan, grounds, outside),
            casting=Casting(plan),
            scratch=Scratch(),
            starter=Starter(),
            ladder=ladder,
            artifacts=Artifacts(data / "artifacts"),
            umask=umask,
            redactor=Redactor(outside),
            turns=turns(plan.terms.max_rpm),
            outside=outside,
        )

    @property
    def hidden(self) -> tuple[str, ...]:
        """Return the folders that are hidden from trials, as far as that can be."""
        data = self.data
        return tuple(map(str, (data / "runs", data / "artifacts", private_tree(data), self.rooms)))

    def budget(self, lost: Iterable[Lost] = ()) -> Budget | None:
        """Return what keeps the money of the plan; None where there is no limit.

        An attempt that was ``lost`` counts with what it told, else with the most that it can have cost, as far as
        that is known.
        """
        plan, casting = self.plan, self.casting
        if plan.terms.budget is None:
            return None
        specs = {spec.key: spec for spec in plan.specs}

        def spent_on(one: Lost) -> float:
            spec = specs.get(one.key)
            return (one.cost if spec is None else one.cost or self.highest_cost(spec)) or 0.0

        return Budget(
            plan.terms.budget,
            spent=sum(self.paid(trial) or 0.0 for trial in plan.recorded) + sum(map(spent_on, lost)),
            specs=[spec for spec in plan.specs if casting.runtime(spec).name not in FREE],
            highest_cost=self.highest_cost,
        )

    def highest_cost(self, spec: TrialSpec) -> float | None:
        """Return what an attempt at a trial costs at most, in US dollars; None where there is no saying."""
        asked = self.casting.asked(spec, commands.inputs(self.plan.suite, spec.case, spec.arm), 1)
        return self.casting.runtime(spec).highest_cost(asked, self.plan.terms.price(asked.model))

    def paid(self, trial: Trial) -> float | None:
        """Return what a trial cost, the attempts at it that were lost included; None where that is not known."""
        lost = account.lost_cost(account.of([trial], self.artifacts)) if trial.attempt > 1 else 0.0
        return trial.cost + lost if trial.cost is not None else lost or None

    def redacted(self, text: str) -> str:
        """Return a text without credentials."""
        return self.redactor(text.encode("utf-8", "replace")).decode(errors="replace")


def ladder_of(plan: Plan, outside: Mapping[str, str]) -> Ladder:
    """Return what is to hold the trials of a plan that are run from the environment ``outside``; not yet entered."""
    path, root = outside.get("PATH", os.defpath), str(plan.suite.root)
    return Ladder(plan.terms, offline=is_offline(plan.suite), path=path, shown=(root,))


def turns(max_rpm: float | None) -> AbstractAsyncContextManager[Any]:
    """Return the limit to so many requests a minute; None is no limit."""
    if max_rpm is None:
        return contextlib.nullcontext()
    from evalstats.runner import endpoint

    return endpoint.pace(max_rpm) or contextlib.nullcontext()


class TrialRoom:
    """The room of one attempt; what is not used is not made. ``folder`` is where the case runs."""

    def __init__(self, place: Workplace, spec: TrialSpec, runtime: Runtime, asked: Asked) -> None:
        self._place = place
        self._spec = spec
        self._borrows = runtime.borrows
        self._asked = asked
        self._scratch = f"{place.rooms}/{spec.run_id}/{SCRATCH}/{spec.key[:12]}"
        self._is_open = False
        self._is_cut_off = self.is_offline and not runtime.is_live  # one that is live asks an endpoint here
        self.held: Hold | None = None
        self.folder = os.path.join(place.grounds[spec.arm].folder, asked.inputs.get("cwd", ""))

    @property
    def has_run(self) -> bool:
        """Return whether a command was run here."""
        return self.held is not None

    @property
    def home(self) -> str:
        """Return the trial's own HOME."""
        return self._scratch + HOME

    @property
    def path(self) -> str:
        """Return the PATH of the trial."""
        own = self._place.environment.own(self._spec)
        return own.get("PATH") or self._place.environment.inherited["PATH"]

    @property
    def lent(self) -> Mapping[str, str]:
        """Return the variables that the runtime borrows, as far as they are set and the suite lets them through."""
        return self._place.environment.lent(self._borrows, self._place.outside)

    @property
    def is_offline(self) -> bool:
        """Return whether the suite forbids the network."""
        return self._place.casting.is_offline

    @property
    def is_paced(self) -> bool:
        """Return whether there is a limit to keep to."""
        return self._place.plan.terms.max_rpm is not None

    @property
    def turns(self) -> AbstractAsyncContextManager[Any]:
        """Return the limit that requests keep to."""
        return self._place.turns

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Ended:
        """Run a command to its end, in the trial's own environment."""
        place = self._place
        self._open()
        where = cwd or self.folder
        held = self.held = place.ladder.hold(lambda: self._site(argv[0], where), offline=self._is_cut_off)
        variables = place.environment.variables(self._spec, self._scratch)
        if self._borrows or env:
            more = {**self.lent, **(env or {})}
            variables |= {os.fsencode(name): os.fsencode(value) for name, value in more.items()}
        command = Command(
            argv=tuple(argv),
            hold=held,
            cwd=where,
            env=variables,
            scratch=self._scratch,
            mark=self._spec.key,
            timeout_s=self._asked.timeout_s,
            stdin=stdin,
            umask=place.umask,
        )
        return await execute(command, place.starter, place.ladder.sweeper)

    def _site(self, program: str, cwd: str) -> Site:
        place, ground = self._place, self._place.grounds[self._spec.arm]
        context = () if ground.context is None else (str(ground.context.path),)
        return Site(
            scratch=self._scratch,
            cwd=cwd,
            program=program,
            program_path=self.path,
            path=place.environment.inherited["PATH"],
            shown=(str(ground.suite.root), *context),
            hidden=place.hidden,
        )

    def workspace(self) -> str:
        """Return a folder of the trial's own, filled with what the case names as ``workspace``."""
        self._open()
        folder, given = self._scratch + WORK, self._asked.inputs.get("workspace")
        if given is None:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            return folder
        try:
            put(Path(self._place.grounds[self._spec.arm].folder, given), Path(folder))
        except OSError as error:
            if limits.is_exhausted(error):
                raise
            raise AdapterError("the workspace of the case cannot be copied") from None
        return folder

    def _open(self) -> None:
        if self._is_open:
            return
        try:
            self._place.scratch.open(self._scratch)
            self._is_open = True
            self._place.environment.files(self._spec, self._scratch)
        except OSError as error:
            raise JournalError(
                f"the folder of a trial cannot be made: {error.strerror}", path=self._scratch
            ) from None

    async def close(self) -> None:
        """Take the folders of the attempt away, if there are any."""
        place = self._place
        if self._is_open and not (place.ladder.sweeper.is_alone() and place.scratch.close(self._scratch)):
            await asyncio.to_thread(remove_tree, self._scratch)
