"""Codex: ``codex exec --json``. Only ``turn.completed`` and ``turn.failed`` say how it ended.

An item of type ``error`` and a top-level ``error`` are no endings: runs that succeed have them too. Codex reports no
cost and no HTTP status, only a text. Inputs of a case: ``args``, ``workspace`` or ``cwd``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from evalstats.contract import Outcome
from evalstats.runner.completions import count
from evalstats.runner.prices import Tokens
from evalstats.runner.process import Ended
from evalstats.runner.runtimes import agents
from evalstats.runner.runtimes.agents import Stream, ask
from evalstats.runner.runtimes.protocol import Answer, ApiError, Asked, Room, Runtime, skipped
from evalstats.runner.runtimes.refusals import AUTHENTICATION, lost, refused, without_credentials

KEY, OTHER_KEY = "CODEX_API_KEY", "OPENAI_API_KEY"
_COMMAND = ("exec", "--json", "--skip-git-repo-check")
_TOOLS = ("command_execution", "file_change", "mcp_tool_call", "web_search")
_STATUS = re.compile(r"(?:status:?|HTTP|error)\s*(\d{3})\b", re.IGNORECASE)
_CONNECTION = re.compile(
    r"disconnected|connection|timed? ?out|network|dns|error sending request", re.IGNORECASE
)
_UNAUTHORISED = re.compile(r"unauthori[sz]ed|not logged in|api key", re.IGNORECASE)
_TOO_LONG = re.compile(r"context (window|length)", re.IGNORECASE)


class Codex(Runtime):
    """Runs Codex once a trial, in a folder, a HOME and a CODEX_HOME of the trial's own."""

    name = "codex"
    is_live = True
    borrows = (KEY, OTHER_KEY, "OPENAI_BASE_URL")

    def faults(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Yield inputs that the program cannot be started with."""
        return agents.faults(inputs)

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Return what the agent says and did."""
        if asked.prompt is None:
            return skipped("the case has no prompt")
        place = agents.program(self.name, room.path)
        if place is None:
            return skipped("the program codex is not on PATH")
        lent, folder = room.lent, agents.folder(asked, room)
        more = {KEY: lent[OTHER_KEY]} if KEY not in lent and OTHER_KEY in lent else {}
        ended = await room.run(_argv(asked), stdin=asked.prompt, env=more, cwd=folder)
        answer = read(ended, has_credentials=KEY in lent or OTHER_KEY in lent)
        return replace(answer, folder=folder, model=asked.model, version=agents.version(place))


def _argv(asked: Asked) -> list[str]:
    model = [] if asked.model is None else ["--model", asked.model]
    return ["codex", *_COMMAND, *model, *agents.arguments(asked), "-"]


def read(ended: Ended, *, has_credentials: bool) -> Answer:
    """Return what a run of the program came to."""
    found = agents.stream(ended.stdout)
    answer = agents.cut_short(ended) or _ending(found, ended)
    if answer.outcome is Outcome.TIMEOUT and _reconnects(found):
        answer = lost("connection", f"{answer.reason}, waiting for an API that did not answer")
    if answer.error_class == AUTHENTICATION and not has_credentials:
        answer = without_credentials("codex", (KEY, OTHER_KEY))
    usage = ask(found.last("turn.completed"), "usage")
    return replace(
        answer,
        ran=answer.outcome is not Outcome.SKIPPED,
        stderr=ended.stderr,
        transcript=ended.stdout,
        exit_code=ended.exit_code,
        duration_s=ended.duration_s,
        leftovers=ended.leftovers,
        tokens=_tokens(usage),
        tool_calls=_tool_calls(found),
        stop_reason=ask(found.last("turn.completed", "turn.failed"), "type"),
        api_errors=_api_errors(found),
        usage=usage if isinstance(usage, dict) else {},
    )


def _ending(found: Stream, ended: Ended) -> Answer:
    turn = found.last("turn.completed", "turn.failed")
    if turn is None:
        torn = f"; {found.torn} line(s) are no JSON" if found.torn else ""
        return lost("no-result", f"the stream ended before the turn did{torn}")
    if turn["type"] == "turn.failed":
        return _failed(" ".join(str(ask(turn, "error", "message") or "").split())[:200])
    if ended.exit_code != 0:
        return lost("no-result", f"the turn was completed, and codex ended with code {ended.exit_code}")
    return Answer(text=_said(found).encode("utf-8", "replace"))


def _failed(message: str) -> Answer:
    if _TOO_LONG.search(message):
        return Answer(outcome=Outcome.LIMIT, reason="the context of the model is full")
    status = _STATUS.search(message)
    if status is not None and int(status.group(1)) >= 400:
        return refused(int(status.group(1)), message)
    if _UNAUTHORISED.search(message):
        return lost(AUTHENTICATION, message)
    error_class = "connection" if _CONNECTION.search(message) else "turn-failed"
    return lost(error_class, message or "the turn failed")


def _said(found: Stream) -> str:
    """Return the last message of the agent."""
    items = [e.get("item") for e in found.events if e["type"] == "item.completed"]
    texts = [ask(item, "text") for item in items if ask(item, "type") == "agent_message"]
    return next((text for text in reversed(texts) if isinstance(text, str)), "")


def _reconnects(found: Stream) -> bool:
    return bool(found.events) and found.events[-1]["type"] == "error"


def _tokens(usage: Any) -> Tokens | None:
    """Return the counts; ``input_tokens`` holds what was read from the cache."""
    sent = count(ask(usage, "input_tokens"))
    if sent is None:
        return None
    return Tokens(
        sent=sent,
        received=count(ask(usage, "output_tokens")),
        cached=count(ask(usage, "cached_input_tokens")),
    )


def _tool_calls(found: Stream) -> int | None:
    done = [ask(e, "item", "type") for e in found.events if e["type"] == "item.completed"]
    return sum(kind in _TOOLS for kind in done) if found.events else None


def _api_errors(found: Stream) -> tuple[ApiError, ...]:
    """Return the errors along the way, as far as they are of the service: by their text, there is no more."""
    texts = [str(e.get("message") or "")[:200] for e in found.events if e["type"] == "error"]
    failed = ask(found.last("turn.failed"), "error", "message")
    texts += [failed[:200]] if isinstance(failed, str) and failed[:200] not in texts else []
    return tuple(
        ApiError(status=int(s.group(1)) if (s := _STATUS.search(text)) else None, error=text)
        for text in texts
    )
