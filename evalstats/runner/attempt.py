"""One trial on this machine, from its plan to its record."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import scoring
from evalstats.artifacts import Artifacts
from evalstats.contract import Arm, DegradedReason, ExpectationType, Outcome, Status
from evalstats.errors import JournalError
from evalstats.redact import Redactor
from evalstats.runner import commands, expectations, limits
from evalstats.runner.contexts import ContextRoot
from evalstats.runner.environment import Environment
from evalstats.runner.evidence import Evidence
from evalstats.runner.folders import Scratch, remove_tree
from evalstats.runner.grounds import Ground
from evalstats.runner.planning import Plan, TrialSpec
from evalstats.runner.process import Command, Ended, Starter, execute
from evalstats.runner.sweeping import Sweeper
from evalstats.trials import ExpectationResult, Trial, timestamp

SCRATCH = "t"
RETRY_SECONDS = 0.2  # what was missing a moment ago may be there soon


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """What all trials of a plan share on this machine. ``data`` is absolute, ``artifacts`` by run."""

    plan: Plan
    data: Path
    grounds: Mapping[Arm, Ground]
    environment: Environment
    scratch: Scratch
    starter: Starter
    sweeper: Sweeper
    artifacts: Mapping[str, Artifacts]
    umask: int
    redactor: Redactor

    @classmethod
    def of(
        cls,
        plan: Plan,
        data: Path,
        grounds: Mapping[Arm, Ground],
        sweeper: Sweeper,
        outside: Mapping[str, str],
        umask: int = -1,
    ) -> Workplace:
        """Return the workplace of a plan that is run from the environment ``outside``; -1 is our own umask."""
        return cls(
            plan=plan,
            data=data,
            grounds=grounds,
            environment=Environment.of(plan, grounds, outside),
            scratch=Scratch(),
            starter=Starter(),
            sweeper=sweeper,
            artifacts=_artifacts(plan, data),
            umask=umask,
            redactor=Redactor(outside),
        )


def _artifacts(plan: Plan, data: Path) -> dict[str, Artifacts]:
    """Return run id -> where its outputs go: one place for all, but private ones stay with their run."""
    if plan.is_private:
        return {run.run_id: Artifacts(data / "runs" / run.run_id / "artifacts") for run in plan.runs}
    return dict.fromkeys((run.run_id for run in plan.runs), Artifacts(data / "artifacts"))


async def run_trial(spec: TrialSpec, place: Workplace) -> Trial:
    """Run one trial and return its record. Cancelling it kills its processes; then there is no record.

    What is lost to infrastructure is tried again, as often as the suite allows; the last attempt counts.
    Raises AdapterError when this machine has no room for it.
    """
    most, earlier = place.plan.suite.environment.get("max_attempts", 1), list[str]()
    while True:
        started_at = timestamp()
        facts = await _attempted(spec, place)
        if facts["outcome"] is not Outcome.INFRASTRUCTURE or len(earlier) + 1 >= most:
            break
        earlier.append(facts["reason"])
        await asyncio.sleep(RETRY_SECONDS)
    if earlier and facts["outcome"] is not Outcome.DEGRADED:  # whose reason is a word of a closed list
        lost = (
            f"{len(earlier)} earlier attempt(s) lost to infrastructure: {'; '.join(dict.fromkeys(earlier))}"
        )
        facts["reason"] = "; ".join(filter(None, (facts.get("reason"), lost)))
    return Trial(
        run_id=spec.run_id,
        suite_id=place.plan.suite.id,
        case_id=spec.case.id,
        archetype=spec.case.archetype,
        arm=spec.arm,
        trial_index=spec.trial_index,
        attempt=len(earlier) + 1,
        seed=spec.seed,
        started_at=started_at,
        **facts,
    )


async def _attempted(spec: TrialSpec, place: Workplace) -> dict[str, Any]:
    context = place.grounds[spec.arm].context
    try:
        return await (_facts(spec, place) if context is None else _facts_in(context, spec, place))
    except OSError as error:
        if limits.is_exhausted(error):
            raise limits.exhausted(error) from None
        raise


async def _facts_in(context: ContextRoot, spec: TrialSpec, place: Workplace) -> dict[str, Any]:
    """Return the facts of a trial on the context axis: degraded, unless they tell of its context."""
    if place.environment.hooks_disabled(spec):
        return await _without_a_process(_degraded({}, DegradedReason.HOOKS_DISABLED))
    if reason := context.trouble():
        return await _without_a_process(_degraded({}, reason))
    laid = context.times_laid
    facts = await _facts(spec, place)
    if reason := context.trouble(since=laid) or _undecided(facts):
        return _degraded(facts, reason)
    return facts


async def _without_a_process(facts: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(0)  # nothing here waits for a process, and signals must be heard
    return facts


def _undecided(facts: dict[str, Any]) -> DegradedReason | None:
    """Return why a trial, in a context as it should be, still says nothing about it."""
    if facts["outcome"] is Outcome.SKIPPED:
        return DegradedReason.RUNTIME_UNAVAILABLE
    if facts["outcome"] is Outcome.UNSCORED:
        return DegradedReason.INSUFFICIENT_DECISION_EVIDENCE
    nothing_ran = "exit_code" not in facts
    return DegradedReason.CONTEXT_VARIANT_UNSUPPORTED if nothing_ran else None


def _degraded(facts: dict[str, Any], reason: DegradedReason) -> dict[str, Any]:
    """Return the facts without a score; what was seen stays."""
    kept = {name: facts[name] for name in facts if name not in ("score", "passed", "dimension_scores")}
    return {**kept, "status": Status.INCONCLUSIVE, "outcome": Outcome.DEGRADED, "reason": reason}


async def _facts(spec: TrialSpec, place: Workplace) -> dict[str, Any]:
    given, ground = commands.inputs(place.plan.suite, spec.case, spec.arm), place.grounds[spec.arm]
    folder = os.path.join(ground.folder, given.get("cwd", ""))
    argv, skipped = commands.argv(given), commands.why_skipped(spec.case, given)
    if skipped is not None:
        skip = {"status": Status.SKIPPED, "outcome": Outcome.SKIPPED, "reason": skipped}
        return await _without_a_process(skip)
    if argv is None:
        return await _without_a_process(_judged(spec, Evidence(suite=ground.suite, folder=folder)))
    ended = await _executed(spec, place, folder, argv, given.get("stdin"))
    facts = {
        "exit_code": ended.exit_code,
        "duration_s": ended.duration_s,
        "leftover_processes": ended.leftovers,
        "isolation": place.sweeper.isolation,
        "artifacts": _stored(ended, spec, place),
    }
    return {**facts, **_verdict(spec, place, folder, ended)}


async def _executed(
    spec: TrialSpec, place: Workplace, folder: str, argv: tuple[str, ...], stdin: str | None
) -> Ended:
    scratch = f"{place.data}/runs/{spec.run_id}/{SCRATCH}/{spec.key[:12]}"
    try:
        place.scratch.open(scratch)
        place.environment.files(spec, scratch)
    except OSError as error:
        raise JournalError(f"the folder of a trial cannot be made: {error.strerror}", path=scratch) from None
    try:
        command = Command(
            argv=argv,
            cwd=folder,
            env=place.environment.variables(spec, scratch),
            scratch=scratch,
            mark=spec.key,
            timeout_s=place.plan.suite.timeout(spec.case),
            stdin=stdin,
            umask=place.umask,
        )
        return await execute(command, place.starter, place.sweeper)
    finally:
        if not (place.sweeper.is_alone() and place.scratch.close(scratch)):
            await asyncio.to_thread(remove_tree, scratch)


def _stored(ended: Ended, spec: TrialSpec, place: Workplace) -> dict[str, str]:
    """Store what the command wrote, without credentials, and return stream -> digest."""
    streams = {"stdout": ended.stdout, "stderr": ended.stderr}
    put = place.artifacts[spec.run_id].put
    return {name: put(place.redactor(data)) for name, data in streams.items() if data}


def _verdict(spec: TrialSpec, place: Workplace, folder: str, ended: Ended) -> dict[str, Any]:
    if ended.outcome is Outcome.INFRASTRUCTURE:
        error = {"reason": ended.reason, "error_class": ended.error_class}
        return {"status": Status.ERROR, "outcome": Outcome.INFRASTRUCTURE, **error}
    if ended.outcome is not Outcome.OK:
        return _cut_short(spec, ended)
    evidence = Evidence(
        suite=place.grounds[spec.arm].suite,
        folder=folder,
        exit_code=ended.exit_code,
        stdout=ended.stdout.decode(errors="replace"),
        stderr=ended.stderr.decode(errors="replace"),
    )
    return _judged(spec, evidence)


def _cut_short(spec: TrialSpec, ended: Ended) -> dict[str, Any]:
    """Return what is said of a trial that ran into a limit: it met no expectation."""
    results = tuple(
        ExpectationResult(
            index=index, type=e.type, required=e.required, passed=False, detail=f"not met: {ended.reason}"
        )
        for index, e in enumerate(spec.case.expectations)
    )
    return {
        "status": Status.FAIL,
        "outcome": ended.outcome,
        "reason": ended.reason,
        "score": 0.0,
        "passed": False,
        "dimension_scores": dict.fromkeys(spec.case.dimensions, 0.0),
        "expectations": results,
    }


def _judged(spec: TrialSpec, evidence: Evidence) -> dict[str, Any]:
    results = expectations.check_case(spec.case, evidence)
    facts: dict[str, Any] = {"expectations": results, **_cited(spec, results)}
    undecided = [result.detail for result in results if result.required and result.passed is None]
    if undecided:
        reason = "; ".join(dict.fromkeys(undecided))
        return {**facts, "status": Status.INCONCLUSIVE, "outcome": Outcome.UNSCORED, "reason": reason}
    status, score = scoring.case_status(results), scoring.case_score(results)
    return {
        **facts,
        "status": status,
        "outcome": Outcome.OK,
        "score": score,
        "passed": status is Status.PASS,
        "dimension_scores": dict.fromkeys(spec.case.dimensions, score),
    }


def _cited(spec: TrialSpec, results: tuple[ExpectationResult, ...]) -> dict[str, tuple[str, ...]]:
    """Return which of the expected cards and recipes were cited; nothing where none was expected."""
    cited: dict[str, tuple[str, ...]] = {}
    kinds = {ExpectationType.CITES_CARD: "cited_cards", ExpectationType.CITES_RECIPE: "cited_recipes"}
    for expectation, result in zip(spec.case.expectations, results, strict=True):
        name = kinds.get(expectation.type)
        if name is not None:
            here = (str(expectation.value),) if result.passed else ()
            cited[name] = cited.get(name, ()) + here
    return cited
