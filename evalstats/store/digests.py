"""Digests of rows: two stores, or two tables, say the same exactly when these are equal."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from evalstats.store.database import LAKE_TABLES
from evalstats.store.questions import Store
from evalstats.store.sql import statement

_FETCH = 10_000
_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def fingerprint(store: Store) -> dict[str, str]:
    """What does the store say? Table -> SHA-256 of its rows in canonical order, without ingest times."""
    return {table: _table_digest(store, table) for table in (*LAKE_TABLES, "migrations", "sources")}


def _table_digest(store: Store, table: str) -> str:
    hashed = hashlib.sha256()
    lines = store.connection.execute(statement("queries/canonical_rows"), {"name": table})
    while batch := lines.fetchmany(_FETCH):
        hashed.update("".join(f"{line}\n" for (line,) in batch).encode())
    return hashed.hexdigest()


def rows_digest(frame: pd.DataFrame) -> str:
    """What do the rows of a table say? SHA-256 of one JSON line a row, keys and lines sorted.

    The order of rows and columns, the index and the dtypes do not matter: 1 and 1.0, ``None`` and NaN,
    text and category are each the same. Times are ISO text.

    Examples
    --------
    >>> one = pd.DataFrame({"n": [1, 2], "s": ["a", None]})
    >>> other = pd.DataFrame({"s": [None, "a"], "n": [2.0, 1.0]}, index=[7, 8])
    >>> rows_digest(one) == rows_digest(other)
    True
    """
    names = sorted(frame.columns, key=str)
    columns = [[_plain(value) for value in frame[name].tolist()] for name in names]
    keys = [str(name) for name in names]
    lines = sorted(_LINE(dict(zip(keys, row, strict=True))) for row in zip(*columns, strict=True))
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, pd.Timestamp):
        return None if pd.isna(value) else value.isoformat()
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    if pd.isna(value):
        return None
    raise TypeError(f"a cell of type {type(value).__name__} has no canonical form")


def _number(value: float) -> int | float | str | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return str(value)
    return int(value) if value.is_integer() else value
