"""A runtime that says what the suite scripts: for trying suites, runners and statistics without a model.

The script of a case stands in its inputs under ``mock`` (schema ``mock-script.v1``). All that is random about it
comes from the seed of the trial. Runs with it are marked ``is_mock`` and never enter a headline.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping
from typing import Any

from evalstats import contract
from evalstats.contract import Outcome
from evalstats.runner.prices import Price, Tokens
from evalstats.runner.runtimes.protocol import Answer, ApiError, Asked, Room, Runtime, skipped
from evalstats.runner.runtimes.refusals import refused

SCRIPT = "mock"
SCHEMA = "mock-script.v1"


class Mock(Runtime):
    """Draws one of the scripted answers."""

    name = "mock"
    is_mock = True

    def faults(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Yield what is wrong with the script."""
        if SCRIPT not in inputs:
            return
        for problem in contract.problems(inputs[SCRIPT], SCHEMA):
            yield SCRIPT + problem.pointer, problem.message
            return
        for arm, script in (("", inputs[SCRIPT]), *inputs[SCRIPT].get("arms", {}).items()):
            for what in ("answers", "errors"):
                if sum(entry.get("probability", 0) for entry in script.get(what, ())) > 1 + 1e-9:
                    yield (
                        f"{SCRIPT}{f'/arms/{arm}' if arm else ''}/{what}",
                        "has probabilities above 1 in all",
                    )

    def highest_cost(self, asked: Asked, price: Price | None) -> float | None:
        """Return the scripted cost."""
        cost = _script(asked).get("cost")
        return None if cost is None else float(cost)

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Wait as scripted, then refuse or answer as drawn."""
        if SCRIPT not in asked.inputs:
            return skipped("the case has no script for the mock runtime")
        script, draw = _script(asked), random.Random((asked.seed << 8) + asked.attempt)
        error, text = _error(script, draw), _text(script, draw, asked.progress)
        latency = _latency(script, draw)
        if latency > 0:
            await asyncio.sleep(min(latency, asked.timeout_s))
        if error is not None:
            return _refusal(error, latency)
        if latency > asked.timeout_s:
            late = f"timed out after {asked.timeout_s:g} s"
            return Answer(outcome=Outcome.TIMEOUT, reason=late, duration_s=asked.timeout_s)
        return _answer(script, text, latency)


def _script(asked: Asked) -> dict[str, Any]:
    script = asked.inputs.get(SCRIPT, {})
    return {**script, **script.get("arms", {}).get(asked.arm, {})}


def _latency(script: Mapping[str, Any], draw: random.Random) -> float:
    given = script.get("latency_s", 0)
    return draw.uniform(*given) if isinstance(given, list) else float(given)


def _error(script: Mapping[str, Any], draw: random.Random) -> Mapping[str, Any] | None:
    place = draw.random()
    for error in script.get("errors", ()):
        place -= error["probability"]
        if place < 0:
            found: Mapping[str, Any] = error
            return found
    return None


def _text(script: Mapping[str, Any], draw: random.Random, progress: float) -> str:
    """Return the drawn answer: the first one's probability moves by ``drift`` from first to last trial."""
    answers, place = script["answers"], draw.random()
    free = 1 - sum(entry.get("probability", 0) for entry in answers)
    open_ended = sum("probability" not in entry for entry in answers)
    chances = [entry.get("probability", free / max(1, open_ended)) for entry in answers]
    first = min(1.0, max(0.0, chances[0] + script.get("drift", 0) * progress))
    rest = sum(chances[1:])
    scale = (1 - first) / rest if rest else 0.0
    for entry, chance in zip(answers, [first, *(c * scale for c in chances[1:])], strict=True):
        place -= chance
        if place < 0:
            return str(entry["text"])
    return ""


def _refusal(error: Mapping[str, Any], latency: float) -> Answer:
    status, wait = error["status"], error.get("retry_after_s")
    answer = refused(status, "scripted", retry_after_s=wait)
    return Answer(
        outcome=answer.outcome,
        reason=answer.reason,
        error_class=answer.error_class,
        may_pass=answer.may_pass,
        retry_after_s=wait,
        duration_s=latency,
        api_errors=(ApiError(status=status, retry_after_s=wait),),
    )


def _answer(script: Mapping[str, Any], text: str, latency: float) -> Answer:
    tokens, skills, cost = script.get("tokens"), script.get("skills"), script.get("cost")
    return Answer(
        text=text.encode("utf-8", "replace"),
        duration_s=latency,
        tokens=None if tokens is None else Tokens(**tokens),
        cost=cost,
        cost_source=None if cost is None else "mock",
        tool_calls=script.get("tool_calls"),
        stop_reason=script.get("stop_reason"),
        skills=None if skills is None else frozenset(skills),
    )
