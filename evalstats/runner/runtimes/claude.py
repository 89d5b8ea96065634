"""Claude Code: ``claude -p --output-format stream-json``, read by a few stable fields.

An API error comes with the subtype ``success``, so ``is_error`` is looked at first. Inputs of a case: ``args``,
``max_turns``, ``max_cost`` (US dollars, kept by the program itself), ``workspace`` or ``cwd``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from evalstats.contract import Outcome
from evalstats.runner.completions import count
from evalstats.runner.prices import Price, Tokens
from evalstats.runner.process import Ended
from evalstats.runner.runtimes import agents
from evalstats.runner.runtimes.agents import Event, Stream, ask
from evalstats.runner.runtimes.protocol import Answer, ApiError, Asked, Room, Runtime, skipped
from evalstats.runner.runtimes.refusals import AUTHENTICATION, lost, refused, without_credentials

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
MAX_RETRIES = "2"  # by default 10, which outlast any time limit and would pass for a timeout
_SETTINGS = {
    "CLAUDE_CODE_MAX_RETRIES": MAX_RETRIES,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
}
_COMMAND = ("-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence")
_LIMITS = ("error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries")
_NOT_LOGGED_IN = re.compile(r"not logged in|/login|invalid api key", re.IGNORECASE)
_TOO_LONG = re.compile(r"prompt is too long|context window", re.IGNORECASE)


class Claude(Runtime):
    """Runs Claude Code once a trial, in a folder and a HOME of the trial's own."""

    name = "claude"
    is_live = True
    borrows = (*KEYS, "ANTHROPIC_BASE_URL")

    def faults(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Yield inputs that the program cannot be started with."""
        return agents.faults(inputs)

    def highest_cost(self, asked: Asked, price: Price | None) -> float | None:
        """Return the limit that the program is given."""
        most = asked.inputs.get("max_cost")
        return None if most is None else float(most)

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Return what the agent says and did."""
        if asked.prompt is None:
            return skipped("the case has no prompt")
        place = agents.program(self.name, room.path)
        if place is None:
            return skipped("the program claude is not on PATH")
        folder = agents.folder(asked, room)
        ended = await room.run(_argv(asked), stdin=asked.prompt, env=_SETTINGS, cwd=folder)
        answer = read(ended, has_credentials=any(name in room.lent for name in KEYS))
        return replace(answer, folder=folder, version=answer.version or agents.version(place))


def _argv(asked: Asked) -> list[str]:
    options = {
        "--model": asked.model,
        "--max-turns": asked.inputs.get("max_turns"),
        "--max-budget-usd": asked.inputs.get("max_cost"),
    }
    given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return ["claude", *_COMMAND, *given, *agents.arguments(asked)]


def read(ended: Ended, *, has_credentials: bool) -> Answer:
    """Return what a run of the program came to."""
    found = agents.stream(ended.stdout)
    answer = agents.cut_short(ended) or _ending(found)
    if answer.outcome is Outcome.TIMEOUT and _waits_for_the_api(found):
        answer = lost("rate-limit", f"{answer.reason}, waiting for an API that refused")
    if answer.error_class == AUTHENTICATION and not (has_credentials and _has_key(found)):
        answer = without_credentials("claude", KEYS)
    return _with_facts(answer, ended, found)


def _ending(found: Stream) -> Answer:
    result = found.last("result")
    if result is None:
        torn = f"; {found.torn} line(s) are no JSON" if found.torn else ""
        return lost("no-result", f"the stream ended without a result{torn}")
    said, subtype = str(result.get("result") or "; ".join(_errors(result))), str(result.get("subtype"))
    if result.get("is_error") or subtype.startswith("error_"):
        return _error(result, said, subtype)
    return Answer(text=said.encode("utf-8", "replace"))


def _error(result: Event, said: str, subtype: str) -> Answer:
    status, message = result.get("api_error_status"), " ".join(said.split())[:200]
    if subtype in _LIMITS:
        return Answer(outcome=Outcome.LIMIT, reason=f"the agent ran into a limit: {subtype[6:]}")
    if isinstance(status, int) and status == 400 and _TOO_LONG.search(said):
        return Answer(outcome=Outcome.LIMIT, reason="the context of the model is full")
    if isinstance(status, int):
        return refused(status, message)
    if _NOT_LOGGED_IN.search(said):
        return lost(AUTHENTICATION, message)
    if subtype == "error_during_execution":
        return lost("error-during-execution", message or "the agent failed while it ran")
    # An API error without a status is one of the connection.
    return lost("connection", message or "the agent reports an API error")


def _errors(result: Event) -> list[str]:
    errors = result.get("errors")
    return [str(error) for error in errors] if isinstance(errors, list) else []


def _waits_for_the_api(found: Stream) -> bool:
    """Return whether the last thing that happened was a request that was refused."""
    last = found.events[-1] if found.events else {}
    return last.get("type") == "system" and last.get("subtype") == "api_retry"


def _has_key(found: Stream) -> bool:
    init = _init(found)
    return init is None or init.get("apiKeySource") != "none"


def _init(found: Stream) -> Event | None:
    return next((e for e in found.events if e.get("type") == "system" and e.get("subtype") == "init"), None)


def _with_facts(answer: Answer, ended: Ended, found: Stream) -> Answer:
    init, result = _init(found) or {}, found.last("result") or {}
    cost, usage = _amount(result.get("total_cost_usd")), result.get("usage")
    return replace(
        answer,
        ran=answer.outcome is not Outcome.SKIPPED,
        stderr=ended.stderr,
        transcript=ended.stdout,
        exit_code=ended.exit_code,
        duration_s=ended.duration_s,
        leftovers=ended.leftovers,
        tokens=_tokens(usage),
        cost=cost,
        cost_source=None if cost is None else "claude",
        tool_calls=_tool_calls(found),
        stop_reason=_word(result.get("stop_reason")) or _word(result.get("subtype")),
        model=_word(init.get("model")),
        version=_word(init.get("claude_code_version")),
        api_errors=_retries(found) + _final(result),
        skills=_skills(init),
        usage=usage if isinstance(usage, dict) else {},
    )


def _amount(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value >= 0 else None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _tokens(usage: Any) -> Tokens | None:
    """Return the counts; ``input_tokens`` leaves out what was read from or written to the cache."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = [count(ask(usage, name)) for name in names]
    if counts[0] is None:
        return None
    sent = sum(number or 0 for number in counts)
    return Tokens(sent=sent, received=count(ask(usage, "output_tokens")), cached=counts[1])


def _tool_calls(found: Stream) -> int | None:
    said = [event for event in found.events if event.get("type") == "assistant"]
    blocks = [content for event in said if isinstance(content := ask(event, "message", "content"), list)]
    return sum(ask(block, "type") == "tool_use" for each in blocks for block in each) if said else None


def _retries(found: Stream) -> tuple[ApiError, ...]:
    return tuple(
        ApiError(
            status=count(event.get("error_status")),
            error=_word(event.get("error")),
            retry_after_s=None if (wait := count(event.get("retry_delay_ms"))) is None else wait / 1000,
        )
        for event in found.events
        if event.get("type") == "system" and event.get("subtype") == "api_retry"
    )


def _final(result: Event) -> tuple[ApiError, ...]:
    status = count(result.get("api_error_status"))
    return () if status is None else (ApiError(status=status),)


def _skills(init: Event) -> frozenset[str] | None:
    """Return the names of skills and plugins; of one in a plugin (``plugin:skill``) also the bare name."""
    listed = [init[name] for name in ("skills", "plugins") if isinstance(init.get(name), list)]
    if not listed:
        return None
    names = [item if isinstance(item, str) else ask(item, "name") for each in listed for item in each]
    known = {name for name in names if isinstance(name, str)}
    return frozenset(known | {name.rpartition(":")[2] for name in known})
