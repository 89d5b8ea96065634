"""What may be handed to a notebook: the names its ``parameters`` cell declares, as plain values of their kind."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from evalstats.contract import MAX_INTEGER
from evalstats.errors import ReportError, UsageError

Scalar: TypeAlias = str | int | float | bool

STORE = "store"  # the parameter that the build sets itself

# What a number of this name may be, whichever notebook declares it: nonsense is refused before a cell runs.
_SHARE: tuple[str, Callable[[float], bool]] = ("lie between 0 and 1", lambda value: 0 < value < 1)
_RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "level": _SHARE,
    "margin": _SHARE,
    "seed": ("be 0 or more", lambda value: value >= 0),
}
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def parse_parameters(pairs: Sequence[str]) -> dict[str, str]:
    """Return the parameters in ``NAME=VALUE`` texts, as given on a command line. Raises UsageError."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"{pair!r} is not NAME=VALUE", field="-p")
        if name in found:
            raise UsageError(f"parameter {name} is given twice", field="-p")
        found[name] = value
    return found


def declared(notebook: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return name -> default of a notebook's parameters. Raises ReportError when a default is no plain literal."""
    cells = [cell for cell in notebook["cells"] if "parameters" in cell.get("metadata", {}).get("tags", [])]
    if len(cells) != 1:
        raise ReportError(f"a notebook has one cell tagged `parameters`, this one has {len(cells)}")
    source = cells[0]["source"]
    try:
        tree = ast.parse(source if isinstance(source, str) else "".join(source))
    except SyntaxError as error:
        raise ReportError(f"the `parameters` cell is not Python: {error.msg}", line=error.lineno) from None
    return dict(_assignment(statement) for statement in tree.body)


def _assignment(statement: ast.stmt) -> tuple[str, Scalar]:
    target, value = None, None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign):
        target, value = statement.target, statement.value
    if not isinstance(target, ast.Name) or value is None:
        raise ReportError(
            "the `parameters` cell holds assignments only, one name each", line=statement.lineno
        )
    try:
        default = ast.literal_eval(value)
    except ValueError:
        default = None
    if type(default) not in (str, int, float, bool):
        raise ReportError(
            "a default is a literal str, int, float or bool", line=statement.lineno, field=target.id
        )
    return target.id, default


def checked(defaults: Mapping[str, Scalar], given: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return all parameters, with those given in place of their defaults. Raises ReportError naming the first fault."""
    if STORE in given:
        raise ReportError("is set by the build; say which store with --store", field=STORE)
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        known = ", ".join(sorted(set(defaults) - {STORE})) or "none"
        raise ReportError(f"unknown parameter {unknown[0]!r}; this notebook knows: {known}")
    return {
        name: _in_range(name, _as_declared(name, given.get(name, d), d))
        for name, d in sorted(defaults.items())
    }


def _as_declared(name: str, value: Any, default: Scalar) -> Scalar:
    kind = type(default)
    if type(value) is str and kind is not str:
        value = _parsed(value, kind)
    if type(value) is int and kind is float:
        value = float(value)
    if type(value) is not kind:
        raise ReportError(f"must be {kind.__name__}, as declared; got {type(value).__name__}", field=name)
    if isinstance(value, float) and not math.isfinite(value):
        raise ReportError("must be a finite number", field=name)
    if type(value) is int and abs(value) > MAX_INTEGER:
        raise ReportError("an integer beyond 2^53 - 1 is not exact in JSON; declare it as str", field=name)
    return value


def _in_range(name: str, value: Scalar) -> Scalar:
    if name in _RANGES and not isinstance(value, str):
        bounds, holds = _RANGES[name]
        if not holds(value):
            raise ReportError(f"must {bounds}; got {value:g}", field=name)
    return value


def _parsed(text: str, kind: type) -> Any:
    """Return what ``text`` says as ``kind``; the text itself when it does not say it."""
    if kind is bool:
        return _WORDS.get(text.lower(), text)
    try:
        return kind(text)
    except ValueError:
        return text
