"""Do the store and the run folders agree? What is missing on either side, as findings."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from evalstats import contract, journal, judgements
from evalstats.artifacts import Artifacts
from evalstats.errors import JournalError, StoreError
from evalstats.store import database
from evalstats.store.journal_files import hash_of_first
from evalstats.store.journals import run_folders
from evalstats.store.sql import statement
from evalstats.trials import Judgement, Label, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which the store and the run folders disagree. ``place`` is a path or an id."""

    kind: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


def check(
    path: Path,
    runs_folder: Path,
    *,
    artifacts: Path | None = None,
    private: bool = False,
    wait: float = database.WAIT_SECONDS,
) -> list[Finding]:
    """Return how the store at ``path`` departs from the run folders, or an empty list.

    ``artifacts`` is the folder of blobs; by default the one beside ``runs_folder``. Runs of private suites are
    looked at where ``private`` says so, and then no others.
    """
    blobs = Artifacts(artifacts or runs_folder.parent / "artifacts")
    if not path.is_file():
        raise StoreError("there is no database file here to check", path=path)
    with contextlib.closing(database.attach(path, read_only=True, wait=wait)) as connection:
        try:
            database.verify(connection, path)
            return list(_findings(connection, path, _Kept(runs_folder, blobs, private)))
        except duckdb.Error as error:
            raise database.damaged(error, path) from None


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a store is held against: the run folders of one kind of suites, and the blobs."""

    runs_folder: Path
    blobs: Artifacts
    private: bool


def _findings(connection: duckdb.DuckDBPyConnection, path: Path, kept: _Kept) -> Iterator[Finding]:
    missing = database.pending(connection)
    if missing:  # the tables that the other questions need may not be there yet
        yield from (
            Finding(kind="migration", place=str(path), message=f"{name} is pending") for name in missing
        )
        return
    database.keep_apart(connection, path, private=kept.private)
    yield from _stale_sources(connection, kept.runs_folder)
    yield from _missing_trials(connection, kept)
    yield from _orphans(connection)
    yield from _missing_artifacts(connection, kept.blobs)


def _stale_sources(connection: duckdb.DuckDBPyConnection, runs_folder: Path) -> Iterator[Finding]:
    for name, size, sha256 in connection.execute(statement("queries/sources")).fetchall():
        file = runs_folder / name
        if not file.is_file():
            yield Finding(
                kind="journal", place=name, message="is gone; the store cannot be rebuilt without it"
            )
        elif hash_of_first(file, size).hexdigest() != sha256:
            yield Finding(kind="journal", place=name, message="is not the file that was ingested")


def _missing_trials(connection: duckdb.DuckDBPyConnection, kept: _Kept) -> Iterator[Finding]:
    for folder in run_folders(kept.runs_folder):
        try:
            manifest = journal.read_manifest(folder)
            if contract.is_private(manifest) != kept.private:
                continue
            run_id = str(manifest["run_id"])
            missing = _missing_in(connection, folder, run_id)
        except JournalError as error:
            yield Finding(kind="journal", place=folder.name, message=str(error))
            continue
        for kind, count in missing.items():
            message = f"{count} {kind} of its journals are not in the store; run `evalstats ingest`"
            yield Finding(kind=kind, place=run_id, message=message)


def _missing_in(connection: duckdb.DuckDBPyConnection, folder: Path, run_id: str) -> Counter[str]:
    """Return how many trials, judgements and labels of a run folder the store does not have."""
    kept: dict[str, tuple[str, Iterable[Trial | Judgement | Label]]] = {
        "trials": ("trial_keys", journal.read_trials(folder)),
        "judgements": ("judgement_keys", judgements.read_judgements(folder)),
        "labels": ("label_keys", judgements.read_labels(folder)),
    }
    missing: Counter[str] = Counter()
    for kind, (query, records) in kept.items():
        stored = connection.execute(statement(f"queries/{query}"), {"run_id": run_id}).fetchall()
        keys = {key for (key,) in stored}
        missing[kind] = sum(record.key not in keys for record in records)
    return +missing


def _orphans(connection: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    for run_id, count in connection.execute(statement("queries/trials_without_run")).fetchall():
        yield Finding(kind="run", place=run_id, message=f"{count} trials belong to a run that is not known")


def _missing_artifacts(connection: duckdb.DuckDBPyConnection, blobs: Artifacts) -> Iterator[Finding]:
    lost = Counter(
        run_id
        for run_id, name in connection.execute(statement("queries/artifact_digests")).fetchall()
        if not blobs.path(name).is_file()
    )
    for run_id, count in sorted(lost.items()):
        yield Finding(
            kind="artifacts", place=run_id, message=f"{count} artifacts are missing in {blobs.folder}"
        )
