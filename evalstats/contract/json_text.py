"""JSON as it promises to be: no duplicate key, no NaN, no absurd depth or number; and where each value stands."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalstats.contract.discretion import may_be_private
from evalstats.errors import DocumentError, Problem

MAX_DEPTH = 200
MAX_INTEGER = 2**53 - 1


def with_lines(found: list[Problem], text: str | None) -> list[Problem]:
    """Return the problems with the line of the nearest pointer that ``text`` holds."""
    if text is None:
        return found
    lines = pointer_lines(text)
    return [replace(p, line=_nearest_line(lines, p.pointer)) for p in found]


def _nearest_line(lines: dict[str, int], pointer: str) -> int:
    while pointer and pointer not in lines:
        pointer = pointer.rpartition("/")[0]
    return lines.get(pointer, 1)


def escape(part: str | int) -> str:
    """Return one step of a JSON pointer (RFC 6901)."""
    return str(part).replace("~", "~0").replace("/", "~1")


def read_json(path: Path) -> tuple[Any, str]:
    """Return the document in ``path`` and its text. Raises DocumentError naming file and line."""
    return parse_bytes(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Return what ``path`` holds. Raises DocumentError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DocumentError(path, [Problem("", f"cannot be read: {error.strerror or error}")]) from None


def parse_bytes(raw: bytes, path: Path) -> tuple[Any, str]:
    """Return the document in the bytes of ``path`` and its text, for who must also hash them."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem("", f"is not UTF-8 (byte {error.start}); save it as UTF-8")
        raise DocumentError(path, [problem]) from None
    return parse_json(text, path), text


def parse_json(text: str, path: Path | str | None = None) -> Any:
    """Return the document in ``text``; refuses duplicate keys, NaN, huge numbers and deep nesting."""
    try:
        document = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_int=_bounded_integer,
            parse_float=_finite_float,
        )
    except json.JSONDecodeError as error:
        problem = Problem("", f"is not JSON: {error.msg} (column {error.colno})", error.lineno)
        raise DocumentError(path, [problem]) from None
    except RecursionError:
        raise DocumentError(path, [Problem("", f"is nested deeper than {MAX_DEPTH}")]) from None
    except _Refused as error:
        said = error.rule if may_be_private(text.encode("utf-8", "replace")) else str(error)
        raise DocumentError(path, [Problem("", said, _line_of(text, error.token))]) from None
    if _depth(document) > MAX_DEPTH:
        raise DocumentError(path, [Problem("", f"is nested deeper than {MAX_DEPTH}")])
    if _MAYBE_HALF.search(text) and not _is_text(document):
        raise DocumentError(path, [Problem("", "holds half of a surrogate pair, which is not text")])
    return document


class _Refused(ValueError):
    """A fault met while parsing; ``token`` is where it stands: a number or constant, or a repeated key.

    ``rule`` is the message without the key.
    """

    def __init__(self, message: str, token: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.token = token
        self.rule = rule or message


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            rule = "stands twice in one object; keep one"
            raise _Refused(f"key {key!r} {rule}", f"/{escape(key)}", f"a key {rule}")
        result[key] = value
    return result


def _refuse_constant(name: str) -> Any:
    raise _Refused(f"{name} is not JSON; write null for an unknown number", name)


def _bounded_integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > MAX_INTEGER:
        raise _Refused("an integer beyond 2^53 - 1 is not exact in JSON; write it as a string", digits)
    return int(digits)


def _finite_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _Refused("a number beyond 1.8e308 has no value; write it as a string", digits)
    return value


_MAYBE_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _is_text(document: Any) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _line_of(text: str, token: str) -> int:
    """Return the line of the first such token outside strings, or of the first repeated key of that name."""
    seen: set[str] = set()
    for pointer, word, line in _placed(text):
        if word == token or (word is None and pointer in seen and pointer.endswith(token)):
            return line
        seen.add(pointer)
    return 1


def _depth(document: Any) -> int:
    level, layer = 0, [document]
    while layer and level <= MAX_DEPTH:
        level += 1
        layer = [child for node in layer for child in _children(node) if isinstance(child, (dict, list))]
    return level


def _children(node: Any) -> list[Any]:
    return list(node.values()) if isinstance(node, dict) else list(node) if isinstance(node, list) else []


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def pointer_lines(text: str) -> dict[str, int]:
    """Return JSON pointer -> line for every value of a valid JSON text (its key's line, in an object)."""
    lines: dict[str, int] = {}
    for pointer, _, line in _placed(text):
        lines.setdefault(pointer, line)
    return lines


def _placed(text: str) -> Iterator[tuple[str, str | None, int]]:
    """Yield (pointer, token or None for a key, line) for each key and value, in the order of the text."""
    stack: list[tuple[str, list[Any]]] = []  # (pointer, [next index] in arrays, [key or None] in objects)
    position, line = 0, 1
    for match in _TOKEN.finditer(text):
        line += text.count("\n", position, match.start())
        position, token = match.start(), match.group()
        if token in "}]":
            stack.pop()
        elif token == ",":
            _next_slot(stack)
        elif token != ":":
            yield _place(stack, token, line)


def _next_slot(stack: list[tuple[str, list[Any]]]) -> None:
    slot = stack[-1][1]
    slot[0] = slot[0] + 1 if isinstance(slot[0], int) else None


def _place(stack: list[tuple[str, list[Any]]], token: str, line: int) -> tuple[str, str | None, int]:
    pointer, is_key = "", False
    if stack:
        parent, slot = stack[-1]
        is_key = slot[0] is None  # in an object, before its value
        if is_key:
            slot[0] = json.loads(token)
        pointer = f"{parent}/{escape(slot[0])}"
    if token in "{[":
        stack.append((pointer, [None if token == "{" else 0]))
    return pointer, None if is_key else token, line
