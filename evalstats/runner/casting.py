"""Which runtime carries which case, and why none does.

A case with a command runs in the shell, one with neither command nor prompt is static. A prompt goes to the runtime
that ``--runtime`` names, else to the one of the case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evalstats.contract import Arm, CaseKind
from evalstats.runner import commands, prompts, runtimes
from evalstats.runner.runtimes.local import MISSING, Missing
from evalstats.runner.runtimes.protocol import Asked, Runtime
from evalstats.suite import Case, Suite

if TYPE_CHECKING:
    from evalstats.runner.planning import Plan
from evalstats.runner.specs import TrialSpec

LOCAL = ("shell", "static")
FREE = (*LOCAL, MISSING)
LIVE_ATTEMPTS = 3


def runtime_name(case: Case, given: Mapping[str, Any], chosen: str | None) -> str | None:
    """Return the name of the runtime that carries a case; None where there is none."""
    chosen = None if chosen in LOCAL else chosen
    if case.runtime == "manual":
        return None
    if case.runtime not in (None, *LOCAL):
        return chosen or case.runtime
    if commands.argv(given) is not None:
        return "shell"
    if case.kind is CaseKind.RUNTIME_PROMPT or (chosen is not None and case.prompt is not None):
        return chosen
    return "static"


def faults(case: Case, given: Mapping[str, Any], chosen: str | None) -> Iterable[tuple[str, str]]:
    """Return (input, what is wrong with it) of what the runtime of a case cannot carry out."""
    name = runtime_name(case, given, chosen)
    return () if name is None or name in LOCAL else runtimes.load(name).faults(given)


def names(plan: Plan) -> list[str]:
    """Return the names of all runtimes that a plan needs, each once."""
    return list(dict.fromkeys(name for _, name in _cast(plan) if name is not None))


def is_mock(plan: Plan) -> bool:
    """Return whether any answer of a plan is made up."""
    return any(runtimes.load(name).is_mock for name in _beyond_here(names(plan)))


def is_live(plan: Plan) -> bool:
    """Return whether any case of a plan asks a model."""
    return any(runtimes.load(name).is_live for name in _beyond_here(names(plan)))


def model(plan: Plan, arm: Arm) -> str | None:
    """Return the model of an arm: its own, else the one asked for; None where no case asks a model."""
    if not list(_beyond_here(names(plan))):
        return None
    own: str | None = commands.arm_section(plan.suite, arm).get("model")
    return own or plan.terms.model


def is_offline(suite: Suite) -> bool:
    """Return whether a suite forbids the network."""
    given = suite.environment
    return given.get("network") == "forbidden" or bool(given.get("offline_required", False))


def _beyond_here(found: Iterable[str]) -> Iterable[str]:
    return (name for name in found if name not in LOCAL)


def _cast(plan: Plan) -> Iterable[tuple[Case, str | None]]:
    for run in plan.runs:
        for case in plan.cases:
            given = commands.inputs(plan.suite, case, run.arm)
            yield case, runtime_name(case, given, plan.terms.runtime)


class Casting:
    """The runtimes of one plan, loaded as they are needed."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._loaded: dict[str, Runtime] = {}
        self._known: dict[tuple[str, Arm], tuple[Runtime, str | None, str | None]] = {}
        self._last = max(1, plan.planned_per_run * len(plan.runs) - 1)
        self.skills = prompts.skill_names(plan.suite)
        self.is_offline = is_offline(plan.suite)

    def runtime(self, spec: TrialSpec) -> Runtime:
        """Return what carries a trial out."""
        return self._role(spec)[0]

    def asked(self, spec: TrialSpec, given: Mapping[str, Any], attempt: int) -> Asked:
        """Return what the runtime of a trial is asked."""
        _, prompt, model = self._role(spec)
        return Asked(
            case=spec.case,
            arm=spec.arm,
            trial_index=spec.trial_index,
            attempt=attempt,
            seed=spec.seed,
            progress=spec.position / self._last,
            inputs=given,
            prompt=prompt,
            model=model,
            timeout_s=self._plan.suite.timeout(spec.case),
        )

    def most_attempts(self, spec: TrialSpec) -> int:
        """Return how often a trial is tried that is lost to infrastructure."""
        default = 1 if self.runtime(spec).name in LOCAL else LIVE_ATTEMPTS
        return int(self._plan.suite.environment.get("max_attempts", default))

    async def close(self) -> None:
        """Close what was loaded."""
        for runtime in self._loaded.values():
            await runtime.close()

    def _role(self, spec: TrialSpec) -> tuple[Runtime, str | None, str | None]:
        role = self._known.get((spec.case.id, spec.arm))
        if role is None:
            suite, case, arm = self._plan.suite, spec.case, spec.arm
            given = commands.inputs(suite, case, arm)
            runtime = self._load(runtime_name(case, given, self._plan.terms.runtime), case)
            prompt = prompts.prompt(suite, case, arm, given, live=runtime.is_live)
            role = runtime, prompt, commands.arm_section(suite, arm).get("model") or self._plan.terms.model
            self._known[case.id, arm] = role
        return role

    def _load(self, name: str | None, case: Case) -> Runtime:
        if name is None:
            manual = case.runtime == "manual"
            why = (
                "the case is for people to run"
                if manual
                else "a prompt needs a live runtime; name one: --runtime"
            )
            return Missing(why)
        if name not in self._loaded:
            self._loaded[name] = runtimes.load(name)
        return self._loaded[name]
