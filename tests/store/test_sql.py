from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalstats import store
from evalstats.store import rows, sql

VALUES: dict[str, Any] = {
    "run_ids": ["r1"],
    "trial_keys": ["k1"],
    "bytes": 1,
    "lines": 1,
    "torn": False,
    "applied_at": datetime(2026, 1, 1),
    "ingested_at": datetime(2026, 1, 1),
    "name": "trials",
}


def incoming(query: str, runs: Any) -> Any:
    if query == "run_insert":
        return rows.run_table(rows.run_row(runs.manifest("r1"), Path("manifest.json")))
    if query == "cases_insert":
        return rows.case_table({}, "r1", Path("manifest.json"))
    tables = {
        "trials_insert": rows.trial_table,
        "trials_outdated": rows.trial_table,
        "expectations_insert": rows.expectation_table,
        "dimension_scores_insert": rows.dimension_table,
        "judgements_insert": rows.judgement_table,
        "labels_insert": rows.label_table,
    }
    return tables[query]({})


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[store.Store]:
    with store.open(tmp_path_factory.mktemp("empty") / "s.duckdb") as opened:
        yield opened


@pytest.mark.parametrize("query", sql.names("queries"))
def test_every_query_compiles_on_an_empty_store(query: str, empty: store.Store, runs: Any) -> None:
    text = sql.statement(f"queries/{query}")
    (parsed,) = duckdb.extract_statements(text)  # one statement a file
    assert text.startswith("-- ")
    values = {name: VALUES.get(name, "x") for name in parsed.named_parameters}
    if "incoming" in text:
        empty.connection.register("incoming", incoming(query, runs))
    assert empty.connection.execute(f"EXPLAIN {text}", values).fetchall()


@pytest.mark.parametrize("query", sql.names("queries"))
def test_every_query_is_asked_by_somebody(query: str) -> None:
    code = "".join(p.read_text() for p in Path(store.__file__).parent.glob("*.py"))
    assert f'"{query}"' in code or f'"queries/{query}"' in code or query.startswith("export_")


def test_names_are_in_order() -> None:
    assert sql.names("schema")[0] == "0001_first"
    assert sql.names("lake") == (
        "allow", "cases", "dimension_scores", "expectations", "judgements", "labels", "runs", "trials", "where"
    )  # fmt: skip
