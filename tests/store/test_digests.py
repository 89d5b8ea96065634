from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalstats import store


def test_rows_digest_is_that_of_sorted_json_lines() -> None:
    frame = pd.DataFrame({"b": [0.5, np.nan], "a": ["é", "z"], "t": pd.to_datetime(["2026-01-01", None])})
    lines = '{"a":"z","b":null,"t":null}\n{"a":"é","b":0.5,"t":"2026-01-01T00:00:00"}\n'
    assert store.rows_digest(frame) == hashlib.sha256(lines.encode()).hexdigest()


def test_rows_digest_does_not_see_dtypes_or_order() -> None:
    plain = pd.DataFrame({"n": [1, 2, None], "s": ["a", "b", None], "f": [True, False, None]}, dtype=object)
    other = pd.DataFrame(
        {
            "s": pd.Series(["a", "b", None], dtype="category"),
            "f": pd.Series([True, False, None], dtype="boolean"),
            "n": pd.Series([1, 2, None], dtype="float64"),
        }
    ).iloc[::-1]
    assert store.rows_digest(plain) == store.rows_digest(other)
    assert store.rows_digest(plain) == store.rows_digest(plain.astype({"n": "Int64", "s": "str"}))


@pytest.mark.parametrize(
    "changed", [{"n": [1, 3]}, {"n": [1, None]}, {"m": [1, 2]}, {"n": [1]}, {"n": ["1", "2"]}]
)
def test_rows_digest_sees_every_change(changed: dict[str, Any]) -> None:
    assert store.rows_digest(pd.DataFrame(changed)) != store.rows_digest(pd.DataFrame({"n": [1, 2]}))


def test_rows_digest_reads_lists_and_refuses_what_it_does_not_know() -> None:
    assert store.rows_digest(pd.DataFrame({"x": [["a"]]})) == store.rows_digest(
        pd.DataFrame({"x": [np.array(["a"])]})
    )
    with pytest.raises(TypeError, match="type object has no canonical form"):
        store.rows_digest(pd.DataFrame({"x": [object()]}))


def test_a_frozen_table_has_the_digest_of_the_live_one(path: Path, runs: Any, tmp_path: Path) -> None:
    runs.add("r1")
    store.ingest(path, runs.folder)
    with store.open(path) as opened:
        live = store.rows_digest(opened.trials("demo"))
        store.snapshot(opened, tmp_path / "snap", "demo")
    with store.open(tmp_path / "snap") as frozen:
        assert store.rows_digest(frozen.trials("demo")) == live


def test_fingerprint_sees_rows_and_not_when_they_came(path: Path, runs: Any) -> None:
    journal = runs.add("r1")
    other = path.with_name("other.duckdb")
    for place in (path, other):
        store.ingest(place, runs.folder)
    prints = []
    for place in (path, other):
        with store.open(place) as opened:
            prints.append(store.fingerprint(opened))
    assert prints[0] == prints[1]
    with store.open(other) as opened:
        opened.connection.execute("UPDATE expectations SET detail = 'x' WHERE idx = 1")
        changed = store.fingerprint(opened)
    assert {table for table in changed if changed[table] != prints[0][table]} == {"expectations"}
    assert journal.exists()
