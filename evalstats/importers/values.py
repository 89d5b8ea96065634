"""What a value in a foreign document is: a number, a count, a word, a part, or nothing that can be used."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any


def number(value: Any) -> float | None:
    """Return a finite number, also one written as text; None for anything else. True and false are 1 and 0."""
    if isinstance(value, str):
        if "_" in value:  # Python would read 1_0 as ten
            return None
    elif not isinstance(value, (float, int)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def whole(value: Any) -> int | None:
    """Return a count: a whole number of at least 0, also one written as text; None for anything else."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        return int(value)
    found = None if isinstance(value, bool) else number(value)
    return int(found) if found is not None and 0 <= found < 2**53 and found.is_integer() else None


def flag(value: Any) -> bool | None:
    """Return true or false; None for anything else."""
    return value if isinstance(value, bool) else None


def text(value: Any) -> str | None:
    """Return text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return an array; an empty one for anything else."""
    return value if isinstance(value, list) else []
