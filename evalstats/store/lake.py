"""The store as a folder of Parquet: all of it for many machines and 1e9 trials, or the inputs of one report.

DuckDB's own COPY stays locked away on a hardened connection, so pyarrow writes the files. The folder
holds ``lake.json`` and one folder a table: ``trials`` by suite, run and arm, the others by run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from evalstats import contract
from evalstats.errors import StoreError
from evalstats.store import database, sql
from evalstats.store.questions import Store

BATCH = 100_000
_PARTITIONS = {"trials": ("suite_id", "run_id", "arm")}
_OPEN_FILES = 200  # well below the usual limit of a process
_MOST_PARTITIONS = 1_000_000


def export_parquet(store: Store, folder: Path) -> None:
    """Write the whole store into ``folder``, replacing the runs that are there already and keeping others."""
    aside = folder / f".export-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(store, aside, None, None)
        for table in reversed(database.LAKE_TABLES):  # runs last: a run is seen when its trials are there
            _merge(aside / table, folder / table)
        (aside / database.LAKE_MARKER).replace(folder / database.LAKE_MARKER)
    except OSError as error:
        raise StoreError(f"cannot be written: {database.reason(error)}", path=folder) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def snapshot(store: Store, folder: Path, suite_id: str, run_ids: Sequence[str] | None = None) -> None:
    """Write what the questions about one suite need into the new ``folder``, whole or not at all.

    ``store.open(folder)`` then answers as ``store`` did. Raises StoreError when the folder exists.
    """
    store.require(suite_id, run_ids)
    if folder.exists():
        raise StoreError("is there already; a snapshot is written once", path=folder)
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        _write(store, aside, suite_id, None if run_ids is None else list(run_ids))
        aside.rename(folder)
    except OSError as error:
        raise StoreError(f"cannot be written: {database.reason(error)}", path=folder) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(store: Store, folder: Path, suite_id: str | None, run_ids: list[str] | None) -> None:
    folder.mkdir(parents=True)
    for table in database.LAKE_TABLES:
        parameters = {"suite_id": suite_id, "run_ids": run_ids}
        try:
            relation = store.connection.sql(sql.statement(f"queries/export_{table}"), params=parameters)
            _write_table(relation.to_arrow_reader(BATCH), folder / table, _PARTITIONS.get(table, ("run_id",)))
        except duckdb.Error as error:
            raise StoreError(f"cannot be read: {database.reason(error)}", path=store.path) from None
    marker = {"format": database.LAKE_FORMAT, "migrations": list(sql.names("schema"))}
    (folder / database.LAKE_MARKER).write_bytes(contract.canonical(marker) + b"\n")


def _write_table(reader: Any, folder: Path, keys: tuple[str, ...]) -> None:
    parquet = ds.ParquetFileFormat()
    ds.write_dataset(
        reader,
        folder,
        format=parquet,
        file_options=parquet.make_write_options(compression="zstd"),
        partitioning=ds.partitioning(pa.schema([(key, pa.string()) for key in keys]), flavor="hive"),
        max_open_files=_OPEN_FILES,
        max_partitions=_MOST_PARTITIONS,
    )


def _merge(source: Path, target: Path) -> None:
    for leaf in sorted({file.parent for file in source.glob("**/*.parquet")}):
        place = target / leaf.relative_to(source)
        if place.exists():
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        leaf.rename(place)
