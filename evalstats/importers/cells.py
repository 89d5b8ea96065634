"""Where the rows of a table come from: CSV, JSON lines, Parquet. CSV gives lists of cells, the others objects."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from evalstats.errors import LogError
from evalstats.importers.logs import MAX_LINE, Log
from evalstats.importers.rows import Options

_PARQUET = b"PAR1"
Lines = Iterator[tuple[list[str], Iterable[tuple[int, Any]]]]


def has_names_in_rows(log: Log) -> bool:
    """Return whether a row is an object, which names its values, and not a list of cells."""
    return log.head.startswith(_PARQUET) or log.first_object is not None


def columns_of(log: Log) -> list[str]:
    """Return the names of the columns, or none for a file that is no table."""
    if log.head.startswith(_PARQUET):
        try:
            return next(_batches(log))[0]
        except LogError:
            return []
    return list(log.first_object) if log.first_object is not None else _header(log)


def lines_of(log: Log, options: Options, warnings: list[str]) -> Lines:
    """Yield once: the columns, and an iterator over the numbered rows. The file is open until both are used up."""
    if log.head.startswith(_PARQUET):
        return _batches(log)
    return _objects(log, options, warnings) if log.first_object is not None else _cells(log)


def _header(log: Log) -> list[str]:
    line = log.head.partition(b"\n")[0]
    try:
        return next(csv.reader([line.decode()], delimiter=_delimiter(line)), [])
    except (UnicodeDecodeError, csv.Error):
        return []


def _delimiter(line: bytes) -> str:
    return max(",", ";", "\t", key=lambda mark: line.count(mark.encode()))


def _cells(log: Log) -> Lines:
    """Yield the header of a CSV file and its numbered rows."""
    try:
        with log.path.open("rb") as binary:
            text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            csv.field_size_limit(MAX_LINE)
            reader = csv.reader(text, delimiter=_delimiter(log.head.partition(b"\n")[0]), strict=True)
            header = next(reader, [])
            repeated = [name for name, count in Counter(header).items() if count > 1]
            if repeated:
                raise log.error(f"column {repeated[0]!r} stands twice", line=1)
            yield header, _numbered(log, reader, len(header))
    except UnicodeDecodeError as error:
        raise log.error(f"is not UTF-8 at byte {error.start} of a block; save it as UTF-8") from None
    except csv.Error as error:
        raise log.error(f"is not CSV: {error}", line=reader.line_num) from None
    except OSError as error:
        raise log.error(f"cannot be read: {error.strerror or error}") from None


def _numbered(log: Log, reader: Any, width: int) -> Iterator[tuple[int, list[str]]]:
    for cells in reader:
        if len(cells) == width:
            yield reader.line_num, cells
        elif cells:
            raise log.error(f"has {len(cells)} cells, the header has {width}", line=reader.line_num)


def _batches(log: Log) -> Lines:
    """Yield the columns of a Parquet file, and those that its folders are named after, and its numbered rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folders = dict(part.split("=", 1) for part in log.path.parts[:-1] if part.count("=") == 1)
    try:
        with pq.ParquetFile(log.path) as file:
            columns = [*file.schema_arrow.names, *(n for n in folders if n not in file.schema_arrow.names)]

            def numbered() -> Iterator[tuple[int, dict[str, Any]]]:
                rows = (row for batch in file.iter_batches(10_000) for row in batch.to_pylist())
                yield from ((number, folders | row) for number, row in enumerate(rows, 1))

            yield columns, numbered()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise log.error(f"is not Parquet that can be read: {str(error).splitlines()[0][:100]}") from None


def _objects(log: Log, options: Options, warnings: list[str]) -> Lines:
    first = log.first_object or {}

    def numbered() -> Iterator[tuple[int, dict[str, Any]]]:
        for line, found in log.json_lines(warnings, allow_truncated=options.allow_truncated):
            if not isinstance(found, dict):
                raise log.error("must be an object", line=line)
            yield line, found

    yield list(first), numbered()
