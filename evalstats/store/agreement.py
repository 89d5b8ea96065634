"""Do the store and the run folders agree? What is missing on either side, as findings."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from evalstats import journal
from evalstats.artifacts import Artifacts
from evalstats.errors import JournalError, StoreError
from evalstats.store import database
from evalstats.store.journals import hash_of_first, run_folders
from evalstats.store.sql import statement


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
    wait: float = database.WAIT_SECONDS,
) -> list[Finding]:
    """Return how the store at ``path`` departs from the run folders, or an empty list.

    ``artifacts`` is the folder of blobs; by default the one beside ``runs_folder``.
    """
    blobs = Artifacts(artifacts or runs_folder.parent / "artifacts")
    if not path.is_file():
        raise StoreError("there is no database file here to check", path=path)
    with contextlib.closing(database.attach(path, read_only=True, wait=wait)) as connection:
        try:
            database.verify(connection, path)
            return list(_findings(connection, path, runs_folder, blobs))
        except duckdb.Error as error:
            raise database.damaged(error, path) from None


def _findings(
    connection: duckdb.DuckDBPyConnection, path: Path, runs_folder: Path, blobs: Artifacts
) -> Iterator[Finding]:
    missing = database.pending(connection)
    if missing:  # the tables that the other questions need may not be there yet
        yield from (
            Finding(kind="migration", place=str(path), message=f"{name} is pending") for name in missing
        )
        return
    yield from _stale_sources(connection, runs_folder)
    yield from _missing_trials(connection, runs_folder)
    yield from _orphans(connection)
    yield from _missing_artifacts(connection, blobs, runs_folder)


def _stale_sources(connection: duckdb.DuckDBPyConnection, runs_folder: Path) -> Iterator[Finding]:
    for name, size, sha256 in connection.execute(statement("queries/sources")).fetchall():
        file = runs_folder / name
        if not file.is_file():
            yield Finding(
                kind="journal", place=name, message="is gone; the store cannot be rebuilt without it"
            )
        elif hash_of_first(file, size).hexdigest() != sha256:
            yield Finding(kind="journal", place=name, message="is not the file that was ingested")


def _missing_trials(connection: duckdb.DuckDBPyConnection, runs_folder: Path) -> Iterator[Finding]:
    for folder in run_folders(runs_folder):
        try:
            run_id = str(journal.read_manifest(folder)["run_id"])
            stored = connection.execute(statement("queries/trial_keys"), {"run_id": run_id}).fetchall()
            keys = {key for (key,) in stored}
            missing = sum(trial.key not in keys for trial in journal.read_trials(folder))
        except JournalError as error:
            yield Finding(kind="journal", place=folder.name, message=str(error))
            continue
        if missing:
            message = f"{missing} trials of its journals are not in the store; run `evalstats ingest`"
            yield Finding(kind="trials", place=run_id, message=message)


def _orphans(connection: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    for run_id, count in connection.execute(statement("queries/trials_without_run")).fetchall():
        yield Finding(kind="run", place=run_id, message=f"{count} trials belong to a run that is not known")


def _missing_artifacts(
    connection: duckdb.DuckDBPyConnection, blobs: Artifacts, runs_folder: Path
) -> Iterator[Finding]:
    # A private suite keeps its blobs in its own run folder.
    lost = Counter(
        run_id
        for run_id, name in connection.execute(statement("queries/artifact_digests")).fetchall()
        if not blobs.path(name).is_file()
        and not Artifacts(runs_folder / run_id / "artifacts").path(name).is_file()
    )
    for run_id, count in sorted(lost.items()):
        yield Finding(
            kind="artifacts", place=run_id, message=f"{count} artifacts are missing in {blobs.folder}"
        )
