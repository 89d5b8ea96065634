"""Where the rows of a table come from: CSV, JSON lines, Parquet. CSV gives lists of cells, the others objects."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from evalstats.errors import LogError
from evalstats.importers.logs import MAX_LINE, MAYBE_CUT, Log
from evalstats.importers.rows import Options

_PARQUET = b"PAR1"
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
Lines = Iterator[tuple[list[str], Iterable[tuple[int, Any]]]]


def has_names_in_rows(log: Log) -> bool:
    """Return whether a row is an object, which names its values, and not a list of cells."""
    return log.head.startswith(_PARQUET) or bool(log.top_keys)


def columns_of(log: Log) -> list[str]:
    """Return the names of the columns, or none for a file that is no table."""
    if log.head.startswith(_PARQUET):
        try:
            return next(_batches(log))[0]
        except LogError:
            return []
    return list(log.top_keys) or _header(log)


def lines_of(log: Log, options: Options, warnings: list[str]) -> Lines:
    """Yield once: the columns, and an iterator over the numbered rows. The file is open until both are used up."""
    if log.head.startswith(_PARQUET):
        return _batches(log)
    return (_objects if log.top_keys else _cells)(log, options, warnings)


def parquet_rows(log: Log) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered rows of a Parquet file; what its folders are named after belongs to each."""
    for _, rows in _batches(log):
        yield from rows


def _header(log: Log) -> list[str]:
    line = log.head.partition(b"\n")[0]
    try:
        names = next(csv.reader([line.decode()], delimiter=_delimiter(line), strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return []
    return [name.strip() for name in names]


def _delimiter(line: bytes) -> str:
    return max(",", ";", "\t", key=lambda mark: line.count(mark.encode()))


def _cells(log: Log, options: Options, warnings: list[str]) -> Lines:
    """Yield the header of a CSV file and its numbered rows."""
    try:
        with log.open() as binary:
            text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="\n")
            csv.field_size_limit(MAX_LINE)
            reader = csv.reader(text, delimiter=_delimiter(log.head.partition(b"\n")[0]), strict=True)
            header = [name.strip() for name in next(reader, [])]
            repeated = next((name for name, count in Counter(header).items() if name and count > 1), None)
            if repeated is not None:
                raise log.error(f"column {repeated[:80]!r} stands twice", line=1)
            yield header, _numbered(log, reader, len(header), options, warnings)
    except UnicodeDecodeError:
        raise log.not_utf8() from None
    except OSError as error:
        raise log.error(f"cannot be read: {error.strerror or error}") from None


def _numbered(
    log: Log, reader: Any, width: int, options: Options, warnings: list[str]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of as many cells as the header; a last one that was cut is met as in other logs."""
    try:
        for cells in reader:
            if len(cells) == width:
                yield reader.line_num, cells
            elif cells:
                fault, line = f"has {len(cells)} cells, the header has {width}", reader.line_num
                if not log.is_cut or next(reader, None) is not None:
                    raise log.error(fault, line=line)
                log.cut(line, warnings, allow_truncated=options.allow_truncated, reason=fault)
                return
    except csv.Error as error:
        _cut_inside_quotes(log, reader.line_num, error, options, warnings)
    except UnicodeDecodeError:
        raise log.not_utf8() from None
    if log.is_cut and not warnings:
        warnings.append(MAYBE_CUT)


def _cut_inside_quotes(log: Log, line: int, error: Exception, options: Options, warnings: list[str]) -> None:
    if not log.is_cut or "end of data" not in str(error):
        raise log.error(f"is not CSV: {error}", line=line) from None
    log.cut(line, warnings, allow_truncated=options.allow_truncated, reason="ends inside quotes")


def _batches(log: Log) -> Lines:
    """Yield the columns of a Parquet file, and those that its folders are named after, and its numbered rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folders = dict(_named(part) for part in log.path.parts[:-1] if part.count("=") == 1)
    try:
        with pq.ParquetFile(log.path, page_checksum_verification=True) as file:
            columns = [*file.schema_arrow.names, *(n for n in folders if n not in file.schema_arrow.names)]

            def numbered() -> Iterator[tuple[int, dict[str, Any]]]:
                number = 0
                try:
                    for batch in file.iter_batches(10_000):
                        for row in batch.to_pylist():
                            number += 1
                            yield number, folders | row
                except (pa.ArrowException, *_DAMAGES) as error:
                    raise _no_parquet(log, error) from None
                if number != file.metadata.num_rows:  # pages have checksums, the footer has none
                    raise log.error(f"is a damaged Parquet file: {number} of {file.metadata.num_rows} rows")

            yield columns, numbered()
    except (pa.ArrowException, *_DAMAGES) as error:
        raise _no_parquet(log, error) from None


_DAMAGES = (OSError, ValueError, OverflowError, MemoryError)


def _no_parquet(log: Log, error: Exception) -> LogError:
    return log.error(f"is not Parquet that can be read: {(str(error) or 'damaged').splitlines()[0][:100]}")


def _named(folder: str) -> tuple[str, str | None]:
    name, _, value = folder.partition("=")
    return name, None if value == _NO_PARTITION else unquote(value)


def _objects(log: Log, options: Options, warnings: list[str]) -> Lines:
    yield list(log.top_keys), log.json_lines(warnings, allow_truncated=options.allow_truncated)
