"""One trial on this machine, from its plan to its record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from evalstats.contract import DegradedReason, Outcome, Status
from evalstats.errors import AdapterError, JournalError
from evalstats.journal import encode
from evalstats.runner import account, commands, limits, verdicts
from evalstats.runner.account import Tried
from evalstats.runner.contexts import ContextRoot
from evalstats.runner.isolation import holds
from evalstats.runner.isolation.holds import Hold
from evalstats.runner.runtimes.protocol import Answer, Asked, Runtime, skipped
from evalstats.runner.specs import TrialSpec
from evalstats.runner.workplace import TrialRoom, Workplace
from evalstats.trials import Trial, timestamp

RETRY_SECONDS = 0.2  # what was missing a moment ago may be there soon
LONGEST_WAIT_SECONDS = 60.0
_NEVER_RAN = Answer(ran=False)

Facts = dict[str, Any]


async def run_trial(spec: TrialSpec, place: Workplace) -> Trial:
    """Run one trial and return its record. Cancelling it kills its processes; then there is no record.

    What is lost to infrastructure is tried again, as often as the suite allows; the last attempt counts.
    Raises AdapterError when this machine has no room for it.
    """
    most, earlier = place.casting.most_attempts(spec), list[Tried]()
    while True:
        tried = await _tried(spec, place, len(earlier) + 1)
        if not tried.answer.may_pass or len(earlier) + 1 >= most:
            break
        if tried.facts["outcome"] is not Outcome.INFRASTRUCTURE:
            break
        earlier.append(tried)
        await asyncio.sleep(_wait(tried.answer, len(earlier)))
    facts = _accounted(spec, place, tried, earlier)
    return _trial(spec, place, attempt=len(earlier) + 1, started_at=tried.started_at, **facts)


def skipped_trial(spec: TrialSpec, place: Workplace, reason: str) -> Trial:
    """Return the record of a trial that was not run, and why."""
    facts = verdicts.skipped(reason)
    if place.grounds[spec.arm].context is not None:
        facts = _degraded(facts, DegradedReason.RUNTIME_UNAVAILABLE)
    return _trial(spec, place, attempt=1, started_at=timestamp(), **facts)


def lost_trial(spec: TrialSpec, place: Workplace, reason: str) -> Trial:
    """Return the record of a trial that took down, each time, whatever ran it."""
    facts = {"status": Status.ERROR, "outcome": Outcome.INFRASTRUCTURE, "error_class": "worker-lost"}
    return _trial(spec, place, attempt=1, started_at=timestamp(), reason=reason, **facts)


def _trial(spec: TrialSpec, place: Workplace, **facts: Any) -> Trial:
    return Trial(
        run_id=spec.run_id,
        suite_id=place.plan.suite.id,
        case_id=spec.case.id,
        archetype=spec.case.archetype,
        arm=spec.arm,
        trial_index=spec.trial_index,
        seed=spec.seed,
        **facts,
    )


def _wait(answer: Answer, tries: int) -> float:
    """Return how many seconds to wait for another attempt: as told, else longer each time."""
    seconds = RETRY_SECONDS * 4 ** (tries - 1) if answer.retry_after_s is None else answer.retry_after_s
    return min(seconds, LONGEST_WAIT_SECONDS)


def _accounted(spec: TrialSpec, place: Workplace, tried: Tried, earlier: list[Tried]) -> Facts:
    """Return the facts of the last attempt, with what became of the others."""
    facts = tried.facts
    if facts["outcome"] is not Outcome.DEGRADED:  # whose reason is a word of a closed list
        reason = _reason(facts.get("reason"), earlier)
        facts["reason"] = reason and place.redacted(reason)  # it may quote what a service said
    casting = place.casting
    told = account.account(casting.runtime(spec).name, tried, earlier, casting.skills)
    if told is not None:
        digest = place.artifacts.put(place.redactor(encode(told)))
        facts["artifacts"] = {**facts.get("artifacts", {}), account.NAME: digest}
    return facts


def _reason(reason: str | None, earlier: list[Tried]) -> str | None:
    if not earlier:
        return reason
    reasons = "; ".join(dict.fromkeys(str(one.facts["reason"]) for one in earlier))
    lost = f"{len(earlier)} earlier attempt(s) lost to infrastructure: {reasons}"
    return f"{reason}; {lost}" if reason else lost


async def _tried(spec: TrialSpec, place: Workplace, attempt: int) -> Tried:
    context, started_at = place.grounds[spec.arm].context, timestamp()
    try:
        if context is None:
            facts, answer = await _facts(spec, place, attempt)
        else:
            facts, answer = await _facts_in(context, spec, place, attempt)
    except OSError as error:
        if limits.is_exhausted(error):
            raise limits.exhausted(error) from None
        raise
    return Tried(started_at=started_at, facts=facts, answer=answer)


# --- on the context axis -------------------------------------------------------------------------


async def _facts_in(
    context: ContextRoot, spec: TrialSpec, place: Workplace, attempt: int
) -> tuple[Facts, Answer]:
    """Return the facts of a trial on the context axis: degraded, unless they tell of its context."""
    reason = DegradedReason.HOOKS_DISABLED if place.environment.hooks_disabled(spec) else context.trouble()
    if reason:
        await asyncio.sleep(0)  # nothing here waits for a process, and signals must be heard
        return _degraded({}, reason), _NEVER_RAN
    laid = context.times_laid
    facts, answer = await _facts(spec, place, attempt)
    if reason := context.trouble(since=laid) or _undecided(facts):
        return _degraded(facts, reason), answer
    return facts, answer


def _undecided(facts: Facts) -> DegradedReason | None:
    """Return why a trial, in a context as it should be, still says nothing about it."""
    if facts["outcome"] is Outcome.SKIPPED:
        return DegradedReason.RUNTIME_UNAVAILABLE
    if facts["outcome"] is Outcome.UNSCORED:
        return DegradedReason.INSUFFICIENT_DECISION_EVIDENCE
    nothing_ran = "exit_code" not in facts
    return DegradedReason.CONTEXT_VARIANT_UNSUPPORTED if nothing_ran else None


def _degraded(facts: Facts, reason: DegradedReason) -> Facts:
    """Return the facts without a score; what was seen stays."""
    kept = {name: facts[name] for name in facts if name not in ("score", "passed", "dimension_scores")}
    return {**kept, "status": Status.INCONCLUSIVE, "outcome": Outcome.DEGRADED, "reason": reason}


# --- one attempt ---------------------------------------------------------------------------------


async def _facts(spec: TrialSpec, place: Workplace, attempt: int) -> tuple[Facts, Answer]:
    given, ground = commands.inputs(place.plan.suite, spec.case, spec.arm), place.grounds[spec.arm]
    runtime = place.casting.runtime(spec)
    asked = place.casting.asked(spec, given, attempt)
    room = TrialRoom(place, spec, runtime, asked)
    try:
        answer = _priced(await _answer(runtime, asked, room), place, asked)
        facts = _seen(answer, place) if answer.ran else {}
        if room.held is not None:
            facts |= _held(room.held, facts, place)
        skills = place.casting.skills
        return {**facts, **verdicts.verdict(spec, ground.suite, room.folder, answer, skills)}, answer
    finally:
        await room.close()


def _held(held: Hold, facts: Facts, place: Workplace) -> Facts:
    """Return how tightly the trial was held: the level, and where that does not say it all, the whole of it."""
    level = held.in_effect.processes
    if held.in_effect.is_plain:
        return {"isolation": level}
    digest = place.artifacts.put(encode(holds.document(held.in_effect)))
    return {"isolation": level, "artifacts": {**facts.get("artifacts", {}), holds.NAME: digest}}


async def _answer(runtime: Runtime, asked: Asked, room: TrialRoom) -> Answer:
    """Return what a runtime answers; one that fails is infrastructure, whatever it raises."""
    if room.is_offline and runtime.needs_network(room):
        return skipped(f"the suite forbids the network, and {runtime.name} needs it")
    if room.is_paced and not runtime.paces_itself:
        async with room.turns:
            pass
    try:
        answer = await runtime.answer(asked, room)
        if not isinstance(answer, Answer):
            raise TypeError("an answer is an Answer")
    except (JournalError, OSError):
        raise
    except AdapterError as error:
        return Answer(outcome=Outcome.INFRASTRUCTURE, reason=str(error), error_class="adapter-error")
    except Exception as error:
        what = f"the runtime {runtime.name} failed: {type(error).__name__}"
        return Answer(outcome=Outcome.INFRASTRUCTURE, reason=what, error_class="runtime-error")
    if not room.has_run:
        await asyncio.sleep(0)  # it may have waited for nothing, and signals must be heard
    return answer


def _priced(answer: Answer, place: Workplace, asked: Asked) -> Answer:
    """Return the answer with its cost, where the runtime counts tokens and the terms have a price for them."""
    if answer.tokens is None or answer.cost is not None:
        return answer
    price = place.plan.terms.price(asked.model)
    cost = None if price is None else price.cost(answer.tokens)
    return answer if price is None or cost is None else replace(answer, cost=cost, cost_source=price.source)


def _seen(answer: Answer, place: Workplace) -> Facts:
    """Return what was measured, and the digests of what was written, credentials taken out."""
    facts: Facts = {
        "exit_code": answer.exit_code,
        "duration_s": answer.duration_s,
        "leftover_processes": answer.leftovers,
        "artifacts": _stored(answer, place),
        "cost": answer.cost,
        "cost_source": answer.cost_source,
        "tool_calls": answer.tool_calls,
        "stop_reason": answer.stop_reason,
    }
    if (tokens := answer.tokens) is not None:
        facts |= {"tokens_in": tokens.sent, "tokens_out": tokens.received, "tokens_cache": tokens.cached}
    return facts


def _stored(answer: Answer, place: Workplace) -> dict[str, str]:
    streams = {"stdout": answer.text, "stderr": answer.stderr, "transcript": answer.transcript}
    put = place.artifacts.put
    return {name: put(place.redactor(data)) for name, data in streams.items() if data}
