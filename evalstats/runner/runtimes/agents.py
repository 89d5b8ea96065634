"""What agents on a command line have in common: a program, a folder of their own, a stream of JSON lines."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats.contract import Outcome
from evalstats.runner.process import Ended
from evalstats.runner.runtimes.protocol import Answer, Asked, Room

Event = dict[str, Any]

_ARGUMENTS = "args"  # more arguments for the agent's command line
_HASHED_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of a run, in order, and how many lines were none: torn, or no JSON object."""

    events: tuple[Event, ...]
    torn: int

    def last(self, *kinds: str) -> Event | None:
        """Return the last event of these types."""
        return next((event for event in reversed(self.events) if event.get("type") in kinds), None)


def stream(output: bytes) -> Stream:
    """Return the events in an output. Bytes that are not UTF-8 are replaced; unknown events are kept."""
    events: list[Event] = []
    torn = 0
    for line in output.decode(errors="replace").split("\n"):
        if not line.strip():
            continue
        event = _event(line)
        if event is None:
            torn += 1
        else:
            events.append(event)
    return Stream(tuple(events), torn)


def _event(line: str) -> Event | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("type"), str) else None


def ask(event: Any, *path: str) -> Any:
    """Return what stands at a path of a foreign document; None where there is nothing."""
    for name in path:
        event = event.get(name) if isinstance(event, dict) else None
    return event


def program(name: str, path: str) -> str | None:
    """Return where a program lies on a PATH."""
    return shutil.which(name, path=path)


@functools.lru_cache(maxsize=16)
def version(place: str) -> str | None:
    """Return the version of a program without running it: from its package, else the digest of its file."""
    real = Path(os.path.realpath(place))
    for folder in list(real.parents)[:3]:
        try:
            named = json.loads((folder / "package.json").read_text("utf-8")).get("version")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(named, str):
            return named
    try:
        with real.open("rb") as file:
            return f"sha256:{hashlib.sha256(file.read(_HASHED_BYTES)).hexdigest()[:12]}"
    except OSError:
        return None


def faults(inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield inputs that no agent can be started with."""
    more = inputs.get(_ARGUMENTS, [])
    if not isinstance(more, list) or not all(isinstance(word, str) for word in more):
        yield _ARGUMENTS, "is not a list of texts"
    for name in ("max_turns", "max_cost"):
        value = inputs.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            yield name, "is not a number above 0"


def arguments(asked: Asked) -> list[str]:
    """Return what the case adds to the command line of an agent."""
    return list(asked.inputs.get(_ARGUMENTS, ()))


def folder(asked: Asked, room: Room) -> str | None:
    """Return the folder to work in; None where the case names one of the repository to work in as it lies."""
    return None if "cwd" in asked.inputs else room.workspace()


def cut_short(ended: Ended) -> Answer | None:
    """Return the answer where a limit of ours, or a program that did not start, ended an agent."""
    if ended.outcome is Outcome.OK:
        return None
    return Answer(
        outcome=ended.outcome,
        reason=ended.reason,
        error_class=ended.error_class,
        may_pass=ended.error_class == "not-started",
    )
