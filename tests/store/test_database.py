from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from evalstats import store
from evalstats.errors import StoreError
from evalstats.store import database, sql

HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "ro")
print("open", flush=True)
sys.stdin.readline()
"""


def hold(path: Path, rights: str) -> subprocess.Popen[str]:
    """Another process that keeps the database open until a line is written to it."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), rights],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def release(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=20)


def test_a_missing_store_is_made_whole_and_alone(path: Path) -> None:
    with store.open(path) as opened:
        assert opened.suites() == []
        (version,) = opened.connection.execute(
            "SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal AND path IS NOT NULL"
        ).fetchall()
        assert "v1.4" in version[0]
    assert [file.name for file in path.parent.iterdir()] == ["evalstats.duckdb"]


def test_migrations_are_recorded_once(path: Path) -> None:
    for _ in range(2):
        with store.open(path) as opened:
            applied = opened.connection.execute("SELECT name FROM migrations").fetchall()
    assert applied == [(name,) for name in sql.names("schema")]


def test_reading_does_not_make_a_store(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store here"):
        store.open(path, read_only=True)
    assert not path.exists()


@pytest.mark.parametrize(
    "attack",
    [
        "COPY runs TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.duckdb' AS other",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM frame",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "EXPORT DATABASE '{folder}/dump'",
    ],
)
def test_a_connection_reaches_nothing_but_its_file(attack: str, path: Path, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1]})  # found by a replacement scan, were it allowed
    with store.open(path) as opened, pytest.raises(duckdb.Error):
        opened.connection.execute(attack.format(folder=tmp_path))
    assert len(frame) == 1
    assert not list(tmp_path.glob("o*")) and not (tmp_path / "dump").exists()


def test_a_slow_question_prints_nothing_among_the_results(path: Path) -> None:
    with store.open(path) as opened:
        setting = opened.connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    assert setting == (False,)


@pytest.mark.parametrize("rights", ["rw", "ro"])
def test_a_locked_store_names_who_holds_it(rights: str, path: Path) -> None:
    store.open(path).close()
    other = hold(path, rights)
    try:
        started = time.monotonic()
        with pytest.raises(StoreError) as caught:
            store.open(path, wait=0.4)
        assert time.monotonic() - started >= 0.4
    finally:
        release(other)
    assert f"in use by process {other.pid} ({sys.executable} -c" in str(caught.value)
    assert len(caught.value.lines()) == 1
    store.open(path, wait=0).close()


def test_a_locked_store_is_waited_for(path: Path) -> None:
    store.open(path).close()
    other = hold(path, "rw")
    later = threading.Timer(0.5, release, [other])
    later.start()
    with store.open(path, wait=20) as opened:
        assert opened.suites() == []
    later.join()


def test_readers_do_not_exclude_each_other(path: Path) -> None:
    store.open(path).close()
    other = hold(path, "ro")
    try:
        with store.open(path, read_only=True, wait=0) as opened:
            assert opened.suites() == []
            with pytest.raises(duckdb.Error, match="read-only"):
                opened.connection.execute("DELETE FROM runs")
    finally:
        release(other)


def test_two_rights_in_one_process_are_explained(path: Path) -> None:
    with store.open(path), pytest.raises(StoreError, match="open elsewhere in this process"):
        store.open(path, read_only=True)


@pytest.mark.parametrize("content", [b"", b"hello\n" * 1000])
def test_a_file_that_is_no_database_is_refused(content: bytes, path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is not a DuckDB file"):
        store.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("foreign", ["CREATE TABLE x (a INT)", "CREATE TABLE migrations (name VARCHAR)"])
def test_a_database_of_something_else_is_refused(foreign: str, path: Path) -> None:
    path.parent.mkdir()
    with duckdb.connect(str(path)) as connection:
        connection.execute(foreign)
    with pytest.raises(StoreError, match="not a store of evalstats"):
        store.open(path)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE MACRO sum(x) AS 42",
        "CREATE VIEW extra AS SELECT 1",
        "CREATE TABLE extra (a INT)",
        "ALTER TABLE trials ADD COLUMN extra INT",
        "DROP TABLE expectations",
    ],
)
def test_a_store_that_was_tampered_with_is_refused(change: str, path: Path) -> None:
    store.open(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute(change)
    with pytest.raises(StoreError, match="other tables, views or macros"):
        store.open(path, read_only=True)


def test_a_store_of_a_newer_version_is_refused(path: Path) -> None:
    store.open(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO migrations VALUES ('0999_later', now()::TIMESTAMP)")
    with pytest.raises(StoreError, match=r"newer evalstats \(0999_later\); upgrade evalstats"):
        store.open(path)


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Give the schema one more migration, as a later version would."""
    names, statement = sql.names, sql.statement

    def upgrade(text: str) -> None:
        more = {"schema": ("9999_next",)}
        monkeypatch.setattr(sql, "names", lambda folder: (*names(folder), *more.get(folder, ())))
        monkeypatch.setattr(
            sql, "statement", lambda name: text if name.endswith("_next") else statement(name)
        )
        database._expected_catalog.cache_clear()

    yield upgrade
    database._expected_catalog.cache_clear()


def test_an_older_store_is_migrated_by_a_writer_only(
    path: Path, runs: Any, next_version: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.add("r1")
    store.ingest(path, runs.folder)
    next_version("ALTER TABLE runs ADD COLUMN wing VARCHAR; UPDATE runs SET wing = 'east';")
    with pytest.raises(StoreError, match="needs migration 9999_next; run `evalstats db migrate`"):
        store.open(path, read_only=True)
    assert [str(finding) for finding in store.check(path, runs.folder)] == [f"{path}: 9999_next is pending"]
    store.open(path).close()
    with store.open(path, read_only=True) as opened:
        assert opened.connection.execute("SELECT run_id, wing FROM runs").fetchall() == [("r1", "east")]
        assert opened.connection.execute("FROM migrations").fetchall()[-1][0] == "9999_next"
    monkeypatch.undo()
    with pytest.raises(StoreError, match=r"newer evalstats \(9999_next\)"):
        store.open(path)


def test_a_migration_that_fails_changes_nothing(path: Path, next_version: Callable[[str], None]) -> None:
    store.open(path).close()
    next_version("ALTER TABLE runs ADD COLUMN wing VARCHAR; SELECT * FROM nowhere;")
    with pytest.raises(StoreError, match="nowhere"):
        store.open(path)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("FROM duckdb_columns() WHERE column_name = 'wing'").fetchall() == []
        assert "9999_next" not in str(connection.execute("SELECT name FROM migrations").fetchall())


@pytest.mark.parametrize("size", [5000, 100_000])
def test_a_truncated_store_is_refused(size: int, path: Path, runs: Any) -> None:
    runs.add("r1")
    store.ingest(path, runs.folder)
    os.truncate(path, size)
    with pytest.raises(StoreError) as caught, store.open(path, read_only=True) as opened:
        opened.case_runs("demo")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "values",
    [
        {"score": "'nan'::DOUBLE"},
        {"score": "1.5"},
        {"score": "-0.1"},
        {"score": "NULL"},
        {"usable": "false"},
        {"outcome": "'infrastructure'", "usable": "false"},
        {"outcome": "'infrastructure'", "usable": "false", "score": "NULL"},
        {"trial_index": "0"},
        {"outcome": "'good'"},
    ],
)
def test_the_schema_refuses_a_trial_that_cannot_be(values: dict[str, str], path: Path) -> None:
    sound = {
        "trial_key": "'k'", "run_id": "'r'", "suite_id": "'s'", "case_id": "'c'", "arm": "'skill-on'",
        "trial_index": "1", "attempt": "1", "status": "'pass'", "outcome": "'ok'", "usable": "true",
        "score": "1.0", "started_at": "'2026-01-01'::TIMESTAMP",
    }  # fmt: skip

    def insert(row: dict[str, str]) -> str:
        return f"INSERT INTO trials ({', '.join(row)}) VALUES ({', '.join(row.values())})"

    with store.open(path) as opened:
        opened.connection.execute(insert(sound))
        with pytest.raises((duckdb.ConstraintException, duckdb.ConversionException)):
            opened.connection.execute(insert({**sound, **values}))


@pytest.mark.parametrize("small_disk", ["100k"], indirect=True)
def test_a_full_disk_leaves_no_half_made_store(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * 90_000)
    with pytest.raises(StoreError, match="cannot be created"):
        store.open(small_disk / "s.duckdb")
    assert [file.name for file in small_disk.iterdir()] == ["filler"]


def test_the_command_line_of_the_holder_is_redacted() -> None:
    secret = "sk-ant-" + "a" * 30
    command = [sys.executable, "-c", "input('ready')", secret]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.read(5) == b"ready"
    message = f"Conflicting lock is held in python (PID {holder.pid})."
    alive = database._who_holds_it(message)
    holder.communicate(b"\n", timeout=20)
    shown = f"{sys.executable} -c input('ready') [redacted:token]"
    assert alive == f"is in use by process {holder.pid} ({shown}); try again when it is done"
    gone = database._who_holds_it(message)
    assert gone == f"is in use by process {holder.pid}; try again when it is done"


def test_enum_values_are_those_of_the_schema() -> None:
    words = store.enum_values()
    assert sorted(words) == ["arm", "axis", "isolation", "outcome", "status", "tier", "visibility"]
    assert words["status"] == ["pass", "fail", "error", "skipped", "inconclusive"]


def test_threads_of_one_process_open_it_at_once(tmp_path: Path) -> None:
    path, threads, rounds = tmp_path / "store.duckdb", 4, 15
    store.open(path).close()
    together = threading.Barrier(threads)

    def open_and_close(_: int) -> list[str]:
        found = []
        for _ in range(rounds):
            together.wait(120)
            with store.open(path, read_only=True) as opened:
                found += opened.suites()
                together.wait(120)  # the last one closes the shared database, so each round locks it anew
        return found

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(open_and_close, range(threads))) == [[]] * threads
