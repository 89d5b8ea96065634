"""The words of evalstats and the documents that use them.

``schemas/*.json`` own every enumeration and shape; the enumerations below spell them for people and
type checkers, the SQL schema spells them for DuckDB, and one test holds the three equal.

Documents are read once, at the door: :func:`read_json` refuses what JSON does not promise
(duplicate keys, NaN, absurd depth), and :func:`validate` reports all problems of a document at once,
each with its JSON pointer and line, never with the offending value (it may be private).
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Iterator
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Any

from evalstats.errors import DocumentError, Problem

MAX_DEPTH = 200
MAX_INTEGER = 2**53 - 1


class Visibility(StrEnum):
    """May the content of the suite be shown to everyone?"""

    PUBLIC_CANARY = "public_canary"
    PRIVATE_HOLDOUT = "private_holdout"


class Tier(StrEnum):
    """How much of the world a run of the suite needs."""

    DETERMINISTIC = "deterministic"
    HEADLESS = "headless"
    LIVE = "live"
    RELEASE = "release"


class CaseKind(StrEnum):
    """What is done with a case."""

    COMMAND = "command"
    HOOK_EVENT = "hook_event"
    SKILL_CONTRACT = "skill_contract"
    RPI_FLOW = "rpi_flow"
    RETRIEVAL_QUERY = "retrieval_query"
    SCENARIO = "scenario"
    RUNTIME_PROMPT = "runtime_prompt"
    ARTIFACT_CHECK = "artifact_check"


class ExpectationType(StrEnum):
    """What an expectation checks."""

    EXIT_CODE = "exit_code"
    STDOUT_CONTAINS = "stdout_contains"
    STDERR_CONTAINS = "stderr_contains"
    STDOUT_CONTAINS_AUTO_DETECT = "stdout_contains_auto_detect"
    FILE_EXISTS = "file_exists"
    FILE_ABSENT = "file_absent"
    ARTIFACT_CONTAINS = "artifact_contains"
    JSON_PATH = "json_path"
    SCHEMA_VALID = "schema_valid"
    SCORE_AT_LEAST = "score_at_least"
    MANUAL_REVIEW = "manual_review"
    REGEX = "regex"
    NOT_CONTAINS = "not_contains"
    JUDGE = "judge"
    RESOURCE_PRESENT = "resource_present"
    NO_RESOURCE = "no_resource"
    CITES_CARD = "cites_card"
    CITES_RECIPE = "cites_recipe"
    CITES_PATH = "cites_path"
    ARGUMENT_PRESENT = "argument_present"
    ARGUMENT_ABSENT = "argument_absent"
    IMPORT_SYNTAX_MATCH = "import_syntax_match"
    MANIFEST_CHECK = "manifest_check"


class Axis(StrEnum):
    """What differs between two arms."""

    SKILL = "skill"
    CONTEXT = "context"
    CANDIDATE = "candidate"


class Arm(StrEnum):
    """One condition that is compared."""

    SKILL_ON = "skill-on"
    SKILL_OFF = "skill-off"
    CONTEXT_OFF = "context-off"
    CONTEXT_ON = "context-on"
    BASELINE = "baseline"
    CANDIDATE = "candidate"


class Status(StrEnum):
    """How a case or a run ended."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIPPED = "skipped"
    INCONCLUSIVE = "inconclusive"


class Outcome(StrEnum):
    """How a trial ended. The first three are the subject's doing and usable."""

    OK = "ok"
    TIMEOUT = "timeout"
    LIMIT = "limit"
    INFRASTRUCTURE = "infrastructure"
    UNSCORED = "unscored"
    MISSING = "missing"
    SKIPPED = "skipped"
    DEGRADED = "degraded"
    CONTAMINATED = "contaminated"

    @property
    def usable(self) -> bool:
        """Return whether a trial with this outcome carries a score."""
        return self in (Outcome.OK, Outcome.TIMEOUT, Outcome.LIMIT)


class Verdict(StrEnum):
    """What a comparison concluded."""

    PASS = "pass"
    FAIL = "fail"
    IMPROVEMENT = "improvement"
    REGRESSION = "regression"
    ADVISORY = "advisory"
    INCONCLUSIVE = "inconclusive"


class GateVerdict(StrEnum):
    """What a gate decided."""

    PASS = "pass"
    REGRESSION = "regression"
    CANNOT_GATE = "cannot_gate"
    INCONCLUSIVE = "inconclusive"


class Isolation(StrEnum):
    """What held the process tree of a trial together, strongest first."""

    BWRAP = "bwrap"
    SUBREAPER = "subreaper"
    KILLPG = "killpg"


def packaged(folder: str) -> Path:
    """Return ``schemas`` or ``notebooks``: inside the wheel, or beside the package in a checkout."""
    inside = Path(str(resources.files("evalstats"))) / folder
    return inside if inside.is_dir() else inside.parent.parent / folder


@functools.cache
def schema(schema_id: str) -> dict[str, Any]:
    """Return the JSON Schema called ``schema_id``, for example ``eval-suite.v1``."""
    document: dict[str, Any] = json.loads((packaged("schemas") / f"{schema_id}.json").read_text("utf-8"))
    return document


@functools.cache
def _validator(schema_id: str) -> Any:
    import jsonschema_rs

    words = schema("words.v1")
    registry = jsonschema_rs.Registry([(words["$id"], words)])
    return jsonschema_rs.validator_for(schema(schema_id), registry=registry, mask="the value")


def problems(document: Any, schema_id: str) -> list[Problem]:
    """Return every way in which ``document`` departs from its schema, without lines."""
    found = []
    for error in _validator(schema_id).iter_errors(document):
        path = "".join(f"/{_escape(part)}" for part in error.instance_path)
        found.append(Problem(path, error.message))
    return sorted(found, key=lambda problem: (problem.pointer, problem.message))


def validate(
    document: Any, schema_id: str, *, path: Path | str | None = None, text: str | None = None
) -> None:
    """Raise one DocumentError holding all problems of ``document``; ``text`` gives them lines."""
    found = problems(document, schema_id)
    if found:
        raise DocumentError(path, with_lines(found, text))


def with_lines(found: list[Problem], text: str | None) -> list[Problem]:
    """Return the problems with the line of the nearest pointer that ``text`` holds."""
    if text is None:
        return found
    lines = pointer_lines(text)
    return [Problem(p.pointer, p.message, _nearest_line(lines, p.pointer)) for p in found]


def _nearest_line(lines: dict[str, int], pointer: str) -> int:
    while pointer and pointer not in lines:
        pointer = pointer.rpartition("/")[0]
    return lines.get(pointer, 1)


def _escape(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def read_json(path: Path) -> tuple[Any, str]:
    """Return the document in ``path`` and its text. Raises DocumentError naming file and line."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DocumentError(path, [Problem("", f"cannot be read: {error.strerror or error}")]) from None
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
        raise DocumentError(path, [Problem("", str(error), _line_of(text, error.token))]) from None
    if _depth(document) > MAX_DEPTH:
        raise DocumentError(path, [Problem("", f"is nested deeper than {MAX_DEPTH}")])
    if _MAYBE_HALF.search(text) and not _is_text(document):
        raise DocumentError(path, [Problem("", "holds half of a surrogate pair, which is not text")])
    return document


class _Refused(ValueError):
    """A fault met while parsing; ``token`` is where it stands: a number or constant, or a repeated key."""

    def __init__(self, message: str, token: str) -> None:
        super().__init__(message)
        self.token = token


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _Refused(f"key {key!r} stands twice in one object; keep one", f"/{_escape(key)}")
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
        pointer = f"{parent}/{_escape(slot[0])}"
    if token in "{[":
        stack.append((pointer, [None if token == "{" else 0]))
    return pointer, None if is_key else token, line


def canonical(document: Any) -> bytes:
    """Return the RFC 8785 bytes of ``document``: one text for one meaning, fit for hashing."""
    import rfc8785

    return rfc8785.dumps(document)


def readable(document: Any) -> str:
    """Return ``document`` as indented JSON with its keys in their order, ending in a newline."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(data: bytes) -> str:
    """Return the lower-case hex SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def canonical_digest(document: Any) -> str:
    """Return the SHA-256 of the RFC 8785 form of ``document``."""
    return digest(canonical(document))
