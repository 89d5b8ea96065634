"""What may be said of a document that is private: where it breaks which rule, and nothing of what it holds.

A private suite's ids, values and keys are its author's words. A pointer keeps the words of our schemas and its
numbers; every other key in it becomes ``*``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from evalstats.contract.words import Arm, Visibility
from evalstats.errors import Problem

UNTOLD = "is not as it must be; more is not told of a private suite"
_OTHER_KEY = "*"
# Rules of JSON Schema whose messages name a key of the document; those of all others name words of the schema.
_NAMING = {
    "additionalProperties": "holds a key that the schema does not know",
    "unevaluatedProperties": "holds a key that the schema does not know",
    "propertyNames": "holds a key of a form that the schema does not allow",
}


def is_private(document: Any, schema_id: str = "") -> bool:
    """Return whether a document speaks of a private suite; a suite does unless it says that it is public."""
    if not isinstance(document, dict):
        return False
    suite = document.get("suite")
    said = (suite if isinstance(suite, dict) else document).get("visibility")
    if said is None:
        return schema_id == "eval-suite.v1"
    return bool(said != Visibility.PUBLIC_CANARY)


def may_be_private(raw: bytes) -> bool:
    """Return whether a file that cannot be read may be a private suite, in whatever encoding."""
    return Visibility.PRIVATE_HOLDOUT.value.encode() in raw.replace(b"\0", b"")


def rule(keyword: str, message: str) -> str:
    """Return what a schema's rule asks, in words that quote no key of the document."""
    return _NAMING.get(keyword, message)


def discreet(found: Iterable[Problem]) -> list[Problem]:
    """Return problems of a private document as they may be told to anyone."""
    return [replace(p, pointer=discreet_pointer(p.pointer), message=p.rule or UNTOLD) for p in found]


def discreet_pointer(pointer: str) -> str:
    """Return a pointer in which only numbers and the words of our schemas stand."""
    known = _schema_words()
    return "/".join(s if not s or s.isdecimal() or s in known else _OTHER_KEY for s in pointer.split("/"))


@functools.cache
def _schema_words() -> frozenset[str]:
    from evalstats.contract.documents import schema

    ids = ("eval-suite.v1", "eval-run.v1", "manifest.v1", "trial.v1")
    return frozenset({*Arm, *(name for schema_id in ids for name in _properties(schema(schema_id)))})


def _properties(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        declared = node.get("properties")
        yield from declared if isinstance(declared, dict) else ()
        for below in node.values():
            yield from _properties(below)
    elif isinstance(node, list):
        for below in node:
            yield from _properties(below)
