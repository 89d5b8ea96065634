from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalstats import store
from evalstats.errors import StoreError


def found(path: Path, runs: Any) -> list[tuple[str, str]]:
    return [(finding.kind, str(finding)) for finding in store.check(path, runs.folder)]


@pytest.fixture
def journal(path: Path, runs: Any) -> Path:
    file: Path = runs.add("r1")
    store.ingest(path, runs.folder)
    return file


def test_a_store_just_ingested_agrees(path: Path, runs: Any, journal: Path) -> None:
    assert found(path, runs) == []


def test_trials_not_ingested_yet_are_found(path: Path, runs: Any, journal: Path) -> None:
    runs.add("r2")
    assert found(path, runs) == [
        ("trials", "r2: 12 trials of its journals are not in the store; run `evalstats ingest`")
    ]


def test_a_database_copied_without_its_log_is_found(path: Path, runs: Any, tmp_path: Path) -> None:
    runs.add("r1", [runs.trial("r1", "c1", 1)])
    store.ingest(path, runs.folder)
    copy = tmp_path / "copy.duckdb"
    with store.open(path) as opened:  # a writer whose newest rows are still in the log
        runs.add("r1", [runs.trial("r1", "c1", 2)])
        store.ingest(path, runs.folder)
        assert path.with_name(path.name + ".wal").exists()
        shutil.copyfile(path, copy)
        assert len(opened.trials("demo")) == 2
    assert found(path, runs) == []
    assert found(copy, runs) == [
        ("trials", "r1: 1 trials of its journals are not in the store; run `evalstats ingest`")
    ]


def test_a_journal_that_is_gone_or_changed_is_found(path: Path, runs: Any, journal: Path) -> None:
    second = runs.add("r2")
    store.ingest(path, runs.folder)
    journal.unlink()
    raw = second.read_bytes()
    second.write_bytes(raw.replace(b'"detail":"looked at"', b'"detail":"looked_at"'))
    assert found(path, runs) == [
        ("journal", "r1/journal/host-1-1.jsonl: is gone; the store cannot be rebuilt without it"),
        ("journal", "r2/journal/host-1-1.jsonl: is not the file that was ingested"),
    ]


def test_an_unreadable_journal_is_a_finding_not_an_end(path: Path, runs: Any, journal: Path) -> None:
    with journal.open("ab") as file:
        file.write(b"{}\n")
    runs.add("r2")
    kinds = [(kind, text.split(":")[0]) for kind, text in found(path, runs)]
    assert kinds == [("journal", "r1"), ("trials", "r2")]


def test_trials_of_an_unknown_run_are_found(path: Path, runs: Any, journal: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM runs")
    assert found(path, runs) == [("run", "r1: 12 trials belong to a run that is not known")]


def test_missing_artifacts_are_found(path: Path, runs: Any, journal: Path) -> None:
    shutil.rmtree(runs.artifacts.folder)
    assert found(path, runs) == [("artifacts", f"r1: 1 artifacts are missing in {runs.artifacts.folder}")]


def test_a_foreign_database_is_not_checked(path: Path, runs: Any, journal: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM migrations")
    with pytest.raises(StoreError, match="not a store of evalstats"):
        found(path, runs)


def test_nothing_to_check_is_an_error(path: Path, runs: Any) -> None:
    with pytest.raises(StoreError, match="no database file here"):
        found(path, runs)
