"""What carries cases out: a shell, a script, an agent, an endpoint.

A runtime is a `Runtime`: it has a name and answers what it is asked. The built-in ones stand in a table; others
register a class or a function without arguments under the entry point ``evalstats.runtimes``, by the name that
``run --runtime NAME`` gives. Nothing is imported before a case needs it.
"""

from __future__ import annotations

import importlib
import importlib.metadata

from evalstats.errors import UsageError
from evalstats.runner.runtimes.protocol import Answer, ApiError, Asked, Room, Runtime, skipped

__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "Answer",
    "ApiError",
    "Asked",
    "Room",
    "Runtime",
    "known",
    "load",
    "skipped",
]

ENTRY_POINTS = "evalstats.runtimes"
BUILT_IN = {
    "static": "evalstats.runner.runtimes.local:Static",
    "shell": "evalstats.runner.runtimes.local:Shell",
    "mock": "evalstats.runner.runtimes.mock:Mock",
    "claude": "evalstats.runner.runtimes.claude:Claude",
    "codex": "evalstats.runner.runtimes.codex:Codex",
    "openai": "evalstats.runner.runtimes.openai:OpenAI",
    "inspect": "evalstats.runner.runtimes.inspect_ai:Inspect",
}


def known() -> list[str]:
    """Return the names of all runtimes, those of others included."""
    return sorted({*BUILT_IN, *(point.name for point in _others())})


def check(name: str) -> None:
    """Raise UsageError when there is no runtime of this name."""
    if name not in BUILT_IN and name not in known():
        raise UsageError(f"unknown runtime {name!r}; known: {', '.join(known())}", field="--runtime")


def load(name: str) -> Runtime:
    """Return a new runtime by its name. Raises UsageError when there is none, or it cannot be loaded."""
    check(name)
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        built_in: Runtime = getattr(importlib.import_module(module), attribute)()
        return built_in
    point = next(point for point in _others() if point.name == name)
    try:
        runtime: Runtime = point.load()()
    except Exception as error:  # somebody else's code: name it and go no further
        raise UsageError(
            f"the runtime {name!r} ({point.value}) cannot be loaded: {error}", field=ENTRY_POINTS
        ) from None
    if not callable(getattr(runtime, "answer", None)):
        raise UsageError(f"the runtime {name!r} ({point.value}) has no answer()", field=ENTRY_POINTS)
    return runtime


def _others() -> tuple[importlib.metadata.EntryPoint, ...]:
    return tuple(importlib.metadata.entry_points(group=ENTRY_POINTS))
