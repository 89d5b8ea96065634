"""What a case runs: its command line, or why there is none.

Inputs of a command, in order of precedence: ``shell`` (given to ``/bin/sh -c``), ``argv``, ``command``
with ``args``; beside them ``cwd`` (relative to the suite's folder), ``stdin`` and ``env``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Arm
from evalstats.suite import Case, Suite

SHELL = "/bin/sh"


def arm_section(suite: Suite, arm: Arm) -> dict[str, Any]:
    """Return what the suite says about one arm."""
    section: dict[str, Any] = suite.document.get("arms", {}).get(arm, {})
    return section


def inputs(suite: Suite, case: Case, arm: Arm) -> dict[str, Any]:
    """Return the inputs of a case in one arm: its own, overruled by those of the arm."""
    return {**case.inputs, **arm_section(suite, arm).get("inputs", {})}


def argv(given: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the command line, or None when the inputs hold no command."""
    if "shell" in given:
        return SHELL, "-c", given["shell"]
    if "argv" in given:
        return tuple(given["argv"])
    if "command" in given:
        return given["command"], *given.get("args", ())
    return None


def input_problems(given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (input, what is wrong with it) for inputs that no command can be made of."""
    for name in ("shell", "command", "cwd", "stdin", "workspace", "prompt_prefix", "prompt_end"):
        if name in given and not isinstance(given[name], str):
            yield name, "is not a text"
    for name in ("argv", "args"):
        if name in given and not _is_texts(given[name]):
            yield name, "is not a list of texts"
    if given.get("argv") == []:
        yield "argv", "is empty; it needs at least the program"
    yield from _env_problems(given.get("env", {}))
    yield from _nul_problems(given)


def _env_problems(env: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(env, dict) or not _is_texts(list(env.values())):
        yield "env", "is not an object of texts"
    elif any(name == "" or "=" in name for name in env):
        yield "env", "holds a name that is empty or has '=' in it"


def _nul_problems(given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("shell", "argv", "command", "args", "cwd", "env", "stdin", "workspace"):
        if name in given and _holds_nul(given[name]):
            yield name, "holds a NUL character"


def _holds_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return _holds_nul([*value.keys(), *value.values()])
    return (
        any(map(_holds_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\0" in value
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
