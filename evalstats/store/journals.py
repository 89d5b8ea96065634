"""Journals into the store: read what is new, or rebuild everything.

Journals are the source of truth. Each is read in one transaction, from where it was last read to its
last whole line; reading it again adds nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from evalstats import journal
from evalstats.errors import JournalError, StoreError
from evalstats.store import database, rows
from evalstats.store.sql import statement
from evalstats.trials import Trial

BATCH = 10_000  # trials turned into Arrow at a time: large enough to be fast, small enough for memory
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What one ingest did.

    ``files`` journals were read, ``unchanged`` ones passed over; ``duplicates`` are trials that were
    there already; ``torn`` names the journals that end in half a line (its trial is run again).
    """

    runs: int
    files: int
    unchanged: int
    trials_added: int
    duplicates: int
    torn: tuple[str, ...]


def ingest(path: Path, runs_folder: Path, *, wait: float = database.WAIT_SECONDS) -> IngestReport:
    """Bring what is new under ``runs_folder`` into the store at ``path``; makes the store if need be.

    A journal with a bad line is left out whole, the other runs are read all the same, and then
    JournalError names the first bad line. Raises StoreError when the store cannot be opened or written.
    """
    folders = run_folders(runs_folder)
    if path.is_dir():
        raise StoreError("a folder of Parquet is read only; give a database file", path=path)
    seen: dict[str, Path] = {}
    tally: Counter[str] = Counter()
    torn: list[str] = []
    failures: list[JournalError] = []
    with contextlib.closing(database.connect(path, wait=wait)) as connection:
        for folder in folders:
            try:
                _ingest_run(_Intake(connection, runs_folder, tally, torn), folder, seen)
            except JournalError as error:
                failures.append(error)
            except duckdb.Error as error:
                why = f"cannot be written: {database.reason(error)}; what was ingested before is kept"
                raise StoreError(why, path=path) from None
    if failures:
        raise failures[0]
    return IngestReport(
        runs=len(folders),
        files=tally["files"],
        unchanged=tally["unchanged"],
        trials_added=tally["added"],
        duplicates=tally["read"] - tally["added"],
        torn=tuple(torn),
    )


def rebuild(path: Path, runs_folder: Path, *, wait: float = database.WAIT_SECONDS) -> IngestReport:
    """Make the store at ``path`` anew from the run folders: built aside, then put in its place.

    The old file stays until the new one is whole. Raises StoreError when the old one is in use or is
    the database of something else.
    """
    if path.exists():
        _check_replaceable(path, wait)
    aside = path.with_name(f".{path.name}.{os.getpid()}.rebuild")
    database.remove(aside)
    try:
        report = ingest(aside, runs_folder, wait=wait)
        path.with_name(path.name + ".wal").unlink(missing_ok=True)  # it belongs to the old file
        aside.replace(path)
    finally:
        database.remove(aside)
    return report


def _check_replaceable(path: Path, wait: float) -> None:
    with contextlib.closing(database.attach(path, read_only=False, wait=wait)) as connection:
        try:
            database.verify(connection, path)
        except duckdb.Error as error:
            raise database.damaged(error, path) from None


# --- one run, one journal ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Intake:
    connection: duckdb.DuckDBPyConnection
    runs_folder: Path
    tally: Counter[str]
    torn: list[str]

    def run(self, query: str, **parameters: Any) -> Any:
        return self.connection.execute(statement(f"queries/{query}"), parameters)

    def insert(self, query: str, table: Any, **parameters: Any) -> int:
        self.connection.register("incoming", table)
        try:
            return int(self.run(query, **parameters).fetchall()[0][0])
        finally:
            self.connection.unregister("incoming")


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far a journal has been read: its first ``size`` bytes are ``lines`` whole lines."""

    size: int = 0
    sha256: str = hashlib.sha256().hexdigest()
    lines: int = 0
    torn: bool = False


def run_folders(runs_folder: Path) -> list[Path]:
    """Return the folders of runs, in name order. Raises JournalError when there is no such place."""
    if not runs_folder.is_dir():
        raise JournalError("there is no folder of runs here", path=runs_folder)
    return sorted(
        folder
        for folder in runs_folder.iterdir()
        if (folder / "manifest.json").is_file() or (folder / "journal").is_dir()
    )


def _ingest_run(intake: _Intake, folder: Path, seen: dict[str, Path]) -> None:
    manifest = journal.read_manifest(folder)
    row = rows.run_row(manifest, folder / "manifest.json")
    twin = seen.setdefault(row["run_id"], folder)
    if twin is not folder:
        raise JournalError(
            f"is the run of {twin.name} too; keep one", path=folder / "manifest.json", field="/run_id"
        )
    if intake.run("run_manifest", run_id=row["run_id"]).fetchall() != [(row["manifest"],)]:
        cases = rows.case_table(manifest, row["run_id"], folder / "manifest.json")
        with database.transaction(intake.connection):
            intake.insert("run_insert", rows.run_table(row))
            intake.run("cases_delete", run_id=row["run_id"])
            intake.insert("cases_insert", cases)
    for file in journal.journals(folder):
        _ingest_journal(intake, file, row)


def _ingest_journal(intake: _Intake, file: Path, run: Mapping[str, Any]) -> None:
    name = file.relative_to(intake.runs_folder).as_posix()
    known = intake.run("source", path=name).fetchall()
    old = _Mark(*known[0]) if known else _Mark()
    prefix = hash_of_first(file, old.size)
    if prefix.hexdigest() != old.sha256:  # not the file it was: read it from the start
        old, prefix = _Mark(), hashlib.sha256()
    reader = _Reader(file, old, prefix)
    with database.transaction(intake.connection):
        for batch in reader.batches(run):
            _insert_batch(intake, batch, run["run_id"])
        new = reader.mark
        if new != old or not known:
            when = datetime.now(UTC).replace(tzinfo=None)
            intake.run(
                "source_insert", path=name, run_id=run["run_id"], bytes=new.size, sha256=new.sha256,
                lines=new.lines, torn=new.torn, ingested_at=when,
            )  # fmt: skip
    intake.tally["unchanged" if known and new == old else "files"] += 1
    if new.torn:
        intake.torn.append(name)


def _insert_batch(intake: _Intake, batch: list[Trial], run_id: str) -> None:
    trials: dict[str, Trial] = {}
    for trial in batch:
        trials.setdefault(trial.key, trial)  # the first of a key wins, as in the journals
    intake.insert("expectations_insert", rows.expectation_table(trials), run_id=run_id)
    intake.insert("dimension_scores_insert", rows.dimension_table(trials), run_id=run_id)
    intake.tally["added"] += intake.insert("trials_insert", rows.trial_table(trials), run_id=run_id)
    intake.tally["read"] += len(batch)


def hash_of_first(file: Path, size: int) -> hashlib._Hash:
    """Return the SHA-256 of the first ``size`` bytes of a file, ready to be carried on."""
    hashed = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while size > 0 and (chunk := stream.read(min(_CHUNK, size))):
                hashed.update(chunk)
                size -= len(chunk)
    except OSError as error:
        raise JournalError(f"cannot be read: {error.strerror}", path=file) from None
    return hashed


class _Reader:
    """Reads one journal on from a mark, and knows afterwards how far it came."""

    def __init__(self, file: Path, start: _Mark, hashed: hashlib._Hash) -> None:
        self._file, self._hashed = file, hashed
        self._size, self._lines, self._torn = start.size, start.lines, False

    @property
    def mark(self) -> _Mark:
        return _Mark(self._size, self._hashed.hexdigest(), self._lines, self._torn)

    def batches(self, run: Mapping[str, Any]) -> Iterator[list[Trial]]:
        trials = self._trials(run)
        while batch := list(itertools.islice(trials, BATCH)):
            yield batch

    def _trials(self, run: Mapping[str, Any]) -> Iterator[Trial]:
        for line in journal.raw_lines(self._file, self._size):
            if not line.endswith(b"\n"):
                self._torn = True
                return
            self._hashed.update(line)
            self._size += len(line)
            self._lines += 1
            trial = journal.parse_trial(line, self._file, self._lines)
            _check_agreement(trial, run, self._file, self._lines)
            yield trial


def _check_agreement(trial: Trial, run: Mapping[str, Any], file: Path, line: int) -> None:
    for field in ("run_id", "suite_id", "arm"):
        if getattr(trial, field) != run[field]:
            raise JournalError(
                "is another one than in the manifest of its run", path=file, line=line, field=f"/{field}"
            )
    try:
        if trial.started_at is not None:
            rows.moment(trial.started_at)
    except ValueError:
        raise JournalError("is no date", path=file, line=line, field="/started_at") from None
