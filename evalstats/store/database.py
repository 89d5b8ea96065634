"""A connection to the store: hardened, waited for, and of exactly our schema.

DuckDB lets one writer in and keeps everyone else out meanwhile, so nobody holds the file for long and
whoever comes waits a little. A file that holds anything but our tables is refused: a view or a macro in
it could answer in place of a function, even on a hardened connection.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import json
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from evalstats.errors import StoreError
from evalstats.redact import Redactor
from evalstats.store import sql

WAIT_SECONDS = 30.0
LAKE_MARKER = "lake.json"
LAKE_FORMAT = "evalstats-lake.v1"
LAKE_TABLES = ("runs", "cases", "trials", "expectations", "dimension_scores", "judgements", "labels")

_locking = threading.Lock()
_Config = dict[str, str | bool | int | float | list[str]]
_QUIET: _Config = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
_HARDENED: _Config = _QUIET | {"enable_external_access": False}
# Older DuckDB versions can read what this one writes.
_NEW_FILE: _Config = _HARDENED | {"storage_compatibility_version": "v1.4.0"}


def connect(
    path: Path, *, read_only: bool = False, wait: float = WAIT_SECONDS, small: bool = False
) -> duckdb.DuckDBPyConnection:
    """Return a hardened connection to the database file, or folder of Parquet, at ``path``.

    A missing file is created and a file of an older schema brought up to date, unless ``read_only``.
    ``wait`` is in seconds; ``small`` keeps DuckDB to little memory. Raises StoreError when the file stays locked, is
    foreign, damaged or newer.
    """
    if path.is_dir():
        return _connect_lake(path)
    if not path.exists():
        if read_only:
            raise StoreError("there is no store here; `evalstats ingest` makes one", path=path)
        _create(path)
    connection = attach(path, read_only=read_only, wait=wait, small=small)
    try:
        _bring_up_to_date(connection, path, read_only)
    except BaseException:
        connection.close()
        raise
    return connection


def keep_apart(connection: duckdb.DuckDBPyConnection, path: Path, *, private: bool) -> None:
    """Raise StoreError, and close, when runs of private suites are here that nobody may see who asks so."""
    if not private and connection.execute(sql.statement("queries/private_runs")).fetchall() != [(0,)]:
        connection.close()
        said = "holds runs of private suites, which only an evaluator reads; `evalstats db rebuild` leaves them out"
        raise StoreError(said, path=path)


def attach(path: Path, *, read_only: bool, wait: float, small: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a hardened connection to an existing file, whatever it holds. Waits for its lock."""
    deadline = time.monotonic() + wait
    while True:
        try:
            connection = duckdb.connect(str(path.absolute()), read_only=read_only, config=_HARDENED)
            _lock(connection, small)
            return connection
        except duckdb.Error as error:
            if "Could not set lock" not in str(error):
                raise _unreadable(error, path) from None
            if time.monotonic() >= deadline:
                raise StoreError(_who_holds_it(str(error)), path=path) from None
        time.sleep(random.uniform(0.05, 0.25))  # jitter, so that two who wait do not meet again


def _lock(connection: duckdb.DuckDBPyConnection, small: bool = False) -> None:
    """Print nothing among the results, reach nothing outside, and let nobody allow more."""
    with _locking:  # connections of one process share the configuration, so only the first locks it
        if connection.execute(sql.statement("is_locked")).fetchone() == (True,):
            return
        with contextlib.suppress(duckdb.InvalidInputException):  # in a notebook there is no bar to turn off
            connection.execute(sql.statement("quiet"))
        if small:
            connection.execute(sql.statement("small"))
        connection.execute(sql.statement("lock"))


@contextlib.contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Do all of a block or nothing."""
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a commit that failed has already rolled back
            connection.rollback()
        raise


def reason(error: Exception) -> str:
    """Return the first line of what DuckDB or the system says, without a row's values."""
    if isinstance(error, (duckdb.ConstraintException, duckdb.ConversionException)):
        return "a row breaks the rules of the schema"
    return getattr(error, "strerror", None) or str(error).partition("\n")[0]


# --- creating and migrating ----------------------------------------------------------------------


def _create(path: Path) -> None:
    # Made aside and then put in place: a disk that fails half-way leaves no file that cannot be opened.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove(temporary)  # left by a process of the same number that was killed
        with contextlib.closing(duckdb.connect(str(temporary.absolute()), config=_NEW_FILE)) as connection:
            migrate(connection)
        _put_in_place(temporary, path)
    except (OSError, duckdb.Error) as error:
        raise StoreError(f"cannot be created: {reason(error)}", path=path) from None
    finally:
        remove(temporary)


def _put_in_place(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)  # unlike a rename, never replaces a store that was made meanwhile
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        temporary.replace(path)


def remove(path: Path) -> None:
    """Delete a database file together with its log."""
    for file in (path, path.with_name(path.name + ".wal")):
        file.unlink(missing_ok=True)


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply the migrations that are missing, each in a transaction of its own."""
    for name in pending(connection):
        with transaction(connection):
            connection.execute(sql.statement(f"schema/{name}"))
            now = datetime.now(UTC).replace(tzinfo=None)
            connection.execute(sql.statement("queries/migration_record"), {"name": name, "applied_at": now})


def pending(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the migrations that the database has not seen, in order."""
    done = _applied(connection) or []
    return [name for name in sql.names("schema") if name not in done]


def verify(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise StoreError unless the database was made by this version of evalstats or an older one."""
    done = _applied(connection)
    if not done:
        raise StoreError("is a DuckDB file, but not a store of evalstats", path=path)
    newer = sorted(set(done) - set(sql.names("schema")))
    if newer:
        raise StoreError(f"was made by a newer evalstats ({newer[0]}); upgrade evalstats", path=path)


def _bring_up_to_date(connection: duckdb.DuckDBPyConnection, path: Path, read_only: bool) -> None:
    try:
        verify(connection, path)
        missing = pending(connection)
        if missing and read_only:
            raise StoreError(f"needs migration {missing[0]}; run `evalstats db migrate`", path=path)
        migrate(connection)
        same = _catalog(connection) == _expected_catalog()
    except duckdb.Error as error:
        raise damaged(error, path) from None
    if not same:
        why = "holds other tables, views or macros than a store does; run `evalstats db rebuild`"
        raise StoreError(why, path=path)


def _applied(connection: duckdb.DuckDBPyConnection) -> list[str] | None:
    tables = connection.execute(sql.statement("queries/tables")).fetchall()
    if ("migrations",) not in tables:
        return None
    return [name for (name,) in connection.execute(sql.statement("queries/migrations_applied")).fetchall()]


def _catalog(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    return connection.execute(sql.statement("queries/catalog")).fetchall()


@functools.cache
def _expected_catalog() -> list[Any]:
    with contextlib.closing(in_memory()) as connection:
        return _catalog(connection)


def in_memory() -> duckdb.DuckDBPyConnection:
    """Return a connection to an empty store that lives in memory."""
    connection = duckdb.connect(config=_QUIET)
    migrate(connection)
    return connection


def enum_values() -> dict[str, list[str]]:
    """Return the words of each enumeration as the SQL schema spells them, in its order."""
    with contextlib.closing(in_memory()) as connection:
        return dict(connection.execute(sql.statement("queries/enum_values")).fetchall())


# --- a folder of Parquet -------------------------------------------------------------------------


def _connect_lake(folder: Path) -> duckdb.DuckDBPyConnection:
    _verify_lake(folder)
    place = str(folder.resolve())
    pattern = glob.escape(place)
    connection = in_memory()
    # DuckDB asks for permission twice: for the pattern as it is written, and for each file behind it.
    connection.execute(sql.statement("lake/allow"), {"folder": place, "pattern": pattern})
    connection.execute(sql.statement("lake/where"), {"pattern": pattern})
    _lock(connection)
    for table in LAKE_TABLES:
        if any((folder / table).glob("**/*.parquet")):
            try:
                connection.execute(sql.statement(f"lake/{table}"))
            except duckdb.Error as error:
                connection.close()
                raise StoreError(f"cannot be read: {reason(error)}", path=folder / table) from None
    return connection


def _verify_lake(folder: Path) -> None:
    try:
        marker = json.loads((folder / LAKE_MARKER).read_bytes())
        ours = marker["format"] == LAKE_FORMAT
        newer = sorted(set(marker["migrations"]) - set(sql.names("schema")))
    except (OSError, ValueError, LookupError, TypeError):
        ours, newer = False, []
    if not ours:
        raise StoreError(f"is a folder without a {LAKE_MARKER} of evalstats, so no store", path=folder)
    if newer:
        raise StoreError(f"was made by a newer evalstats ({newer[0]}); upgrade evalstats", path=folder)


# --- saying what is wrong ------------------------------------------------------------------------


def damaged(error: duckdb.Error, path: Path) -> StoreError:
    """Return the error to raise when DuckDB cannot make sense of the file, with the way out."""
    why = f"cannot be read: {reason(error)}; move it away and run `evalstats db rebuild`"
    return StoreError(why, path=path)


def _unreadable(error: duckdb.Error, path: Path) -> StoreError:
    text = str(error)
    if "not a valid DuckDB database file" in text:
        return StoreError("is not a DuckDB file, so no store", path=path)
    if "different configuration" in text:
        return StoreError("is open elsewhere in this process with other rights; close it first", path=path)
    if "Permission denied" in text:
        return StoreError("may not be opened: permission denied", path=path)
    return damaged(error, path)


def _who_holds_it(message: str) -> str:
    found = re.search(r"\(PID (\d+)\)", message)
    if found is None:
        return "is in use by another process; try again when it is done"
    pid = found.group(1)
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").strip()
    except OSError:
        raw = b""
    command = f" ({Redactor({})(raw).decode(errors='replace')[:120]})" if raw else ""
    return f"is in use by process {pid}{command}; try again when it is done"
