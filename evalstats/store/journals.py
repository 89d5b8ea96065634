"""Journals into the store: read what is new, or rebuild everything.

Journals are the source of truth. Each is read in one transaction, from where it was last read to its
last whole line; reading it again adds nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from evalstats import contract, journal, judgements
from evalstats.contract import Visibility
from evalstats.errors import JournalError, StoreError
from evalstats.journal import owners_only
from evalstats.store import database, rows
from evalstats.store.journal_files import Mark, Parse, Reader
from evalstats.store.sql import statement
from evalstats.trials import Judgement, Label, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What one ingest did.

    ``files`` journals were read, ``unchanged`` ones passed over; ``duplicates`` are trials that were
    there already; ``torn`` names the journals that end in half a line (its trial is run again); ``left_out``
    counts the runs of private suites among public ones, or the other way round.
    """

    runs: int
    left_out: int
    files: int
    unchanged: int
    trials_added: int
    duplicates: int
    torn: tuple[str, ...]
    judgements_added: int = 0
    labels_added: int = 0


def ingest(
    path: Path, runs_folder: Path, *, private: bool = False, wait: float = database.WAIT_SECONDS
) -> IngestReport:
    """Bring what is new under ``runs_folder`` into the store at ``path``; makes the store if need be.

    A store holds runs of public suites or, where ``private`` says so, those of private ones, never both.

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
    with (
        owners_only(private),
        contextlib.closing(database.connect(path, wait=wait, small=True)) as connection,
    ):
        for folder in folders:
            try:
                _ingest_run(_Intake(connection, runs_folder, tally, torn, private), folder, seen)
            except JournalError as error:
                failures.append(error)
            except duckdb.Error as error:
                why = f"cannot be written: {database.reason(error)}; what was ingested before is kept"
                raise StoreError(why, path=path) from None
    if failures:
        raise failures[0]
    return IngestReport(
        runs=len(folders) - tally["left_out"],
        left_out=tally["left_out"],
        files=tally["files"],
        unchanged=tally["unchanged"],
        trials_added=tally["added"],
        duplicates=tally["read"] - tally["added"],
        torn=tuple(torn),
        judgements_added=tally["judgements"],
        labels_added=tally["labels"],
    )


def rebuild(
    path: Path, runs_folder: Path, *, private: bool = False, wait: float = database.WAIT_SECONDS
) -> IngestReport:
    """Make the store at ``path`` anew from the run folders: built aside, then put in its place.

    The old file stays until the new one is whole. Raises StoreError when the old one is in use or is
    the database of something else.
    """
    if path.exists():
        _check_replaceable(path, wait)
    aside = path.with_name(f".{path.name}.{os.getpid()}.rebuild")
    database.remove(aside)
    try:
        report = ingest(aside, runs_folder, private=private, wait=wait)
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
    private: bool

    def run(self, query: str, **parameters: Any) -> Any:
        return self.connection.execute(statement(f"queries/{query}"), parameters)

    def insert(self, query: str, table: Any, **parameters: Any) -> int:
        self.connection.register("incoming", table)
        try:
            return int(self.run(query, **parameters).fetchall()[0][0])
        finally:
            self.connection.unregister("incoming")


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
    if (row["visibility"] == Visibility.PRIVATE_HOLDOUT) != intake.private:
        intake.tally["left_out"] += 1
        return
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
    for kind in _KINDS:
        for file in sorted((folder / kind.folder).glob("*.jsonl")):
            _ingest_journal(intake, file, row, kind)
    if manifest.get("judge"):
        _settle(intake, folder, manifest)


def _ingest_journal(intake: _Intake, file: Path, run: Mapping[str, Any], kind: _Kind) -> None:
    name = file.relative_to(intake.runs_folder).as_posix()
    known = intake.run("source", path=name).fetchall()
    old = Mark(*known[0]) if known else Mark()
    reader = Reader(file, old, lambda *line: _agreeing(kind.parse(*line), run, *line[1:]))
    with database.transaction(intake.connection):
        for batch in reader.batches():
            kind.insert(intake, batch, run["run_id"])
        new = reader.mark
        if new != old or not known:
            _note(intake, name, run["run_id"], new)
    intake.tally["unchanged" if known and new == old else "files"] += 1
    if new.torn:
        intake.torn.append(name)


def _note(intake: _Intake, name: str, run_id: str, mark: Mark) -> None:
    when = datetime.now(UTC).replace(tzinfo=None)
    intake.run(
        "source_insert", path=name, run_id=run_id, bytes=mark.size, sha256=mark.sha256,
        lines=mark.lines, torn=mark.torn, ingested_at=when,
    )  # fmt: skip


def _settle(intake: _Intake, folder: Path, manifest: Mapping[str, Any]) -> None:
    """Let the trials of a run stand as its deployed judge votes, if anything is new since they last did.

    What they were settled by is noted as a source of its own: the manifest, and how many lines there were.
    """
    file, run_id = folder / "manifest.json", str(manifest["run_id"])
    name = file.relative_to(intake.runs_folder).as_posix()
    raw = file.read_bytes()
    ((lines,),) = intake.run("source_lines", run_id=run_id, path=name).fetchall()
    mark = Mark(len(raw), contract.digest(raw), lines)
    if [Mark(*row) for row in intake.run("source", path=name).fetchall()] == [mark]:
        return
    trials = {trial.key: trial for trial in judgements.standing(folder, manifest)}
    with database.transaction(intake.connection):
        _forget(intake, list(trials), run_id)
        _insert_rows(intake, trials, run_id)
        _note(intake, name, run_id, mark)


def _insert_batch(intake: _Intake, batch: list[Trial], run_id: str) -> None:
    trials: dict[str, Trial] = {}
    for trial in batch:  # the last attempt counts, and of one attempt the first, as in the journals
        if trial.key not in trials or trial.attempt > trials[trial.key].attempt:
            trials[trial.key] = trial
    if any(trial.attempt > 1 for trial in batch):
        _forget_earlier_attempts(intake, rows.trial_table(trials), run_id)
    intake.tally["added"] += _insert_rows(intake, trials, run_id)
    intake.tally["read"] += len(batch)


def _insert_rows(intake: _Intake, trials: Mapping[str, Trial], run_id: str) -> int:
    intake.insert("expectations_insert", rows.expectation_table(trials), run_id=run_id)
    intake.insert("dimension_scores_insert", rows.dimension_table(trials), run_id=run_id)
    return intake.insert("trials_insert", rows.trial_table(trials), run_id=run_id)


def _insert_judgements(intake: _Intake, batch: list[Judgement], run_id: str) -> None:
    table = rows.judgement_table({each.key: each for each in reversed(batch)})
    intake.tally["judgements"] += intake.insert("judgements_insert", table, run_id=run_id)


def _insert_labels(intake: _Intake, batch: list[Label], run_id: str) -> None:
    table = rows.label_table({each.key: each for each in reversed(batch)})
    intake.tally["labels"] += intake.insert("labels_insert", table, run_id=run_id)


def _forget_earlier_attempts(intake: _Intake, table: Any, run_id: str) -> None:
    intake.connection.register("incoming", table)
    try:
        keys = [key for (key,) in intake.run("trials_outdated", run_id=run_id).fetchall()]
    finally:
        intake.connection.unregister("incoming")
    _forget(intake, keys, run_id)


def _forget(intake: _Intake, keys: list[str], run_id: str) -> None:
    for query in ("trials_delete", "expectations_delete", "dimension_scores_delete") if keys else ():
        intake.run(query, run_id=run_id, trial_keys=keys)


def _agreeing(record: Any, run: Mapping[str, Any], file: Path, line: int) -> Any:
    """Return a record that is of its run and has real dates. Raises JournalError."""
    for field in ("run_id", "suite_id", "arm"):
        if getattr(record, field, run[field]) != run[field]:
            raise JournalError(
                "is another one than in the manifest of its run", path=file, line=line, field=f"/{field}"
            )
    for field in ("started_at", "labelled_at"):
        try:
            if (when := getattr(record, field, None)) is not None:
                rows.moment(when)
        except ValueError:
            raise JournalError("is no date", path=file, line=line, field=f"/{field}") from None
    return record


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of journals: where they lie in a run folder, what a line holds, and where that goes."""

    folder: str
    parse: Parse
    insert: Callable[[_Intake, list[Any], str], None]


_KINDS = (
    _Kind("journal", journal.parse_trial, _insert_batch),
    _Kind(judgements.JUDGEMENTS, judgements.parse_judgement, _insert_judgements),
    _Kind(judgements.LABELS, judgements.parse_label, _insert_labels),
)
