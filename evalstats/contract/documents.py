"""Documents and their schemas: every problem at once, and one digest for one meaning."""

from __future__ import annotations

import functools
import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import Any

from evalstats.contract import discretion
from evalstats.contract.json_text import escape, with_lines
from evalstats.errors import DocumentError, Problem


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
        path = "".join(f"/{escape(part)}" for part in error.instance_path)
        found.append(Problem(path, error.message, rule=discretion.rule(error.kind.name, error.message)))
    if discretion.is_private(document, schema_id):
        found = discretion.discreet(found)
    return sorted(found, key=lambda problem: (problem.pointer, problem.message))


def validate(
    document: Any, schema_id: str, *, path: Path | str | None = None, text: str | None = None
) -> None:
    """Raise one DocumentError holding all problems of ``document``; ``text`` gives them lines."""
    found = problems(document, schema_id)
    if found:
        raise DocumentError(path, with_lines(found, text))


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
