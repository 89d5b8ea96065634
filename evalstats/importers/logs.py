"""A foreign file, read with suspicion: bounded in size, depth and number, never unpacked to disk.

Importers open files through `Log` alone, so each limit, and each way in which a file can lie about itself, is
met in one place.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from evalstats.errors import LogError

HEAD = 1 << 16
MAX_DOCUMENT = 1 << 28  # bytes of one JSON document, or of one member of an archive, held in memory
MAX_LINE = 1 << 26
MAX_DEPTH = 200
_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"
T = TypeVar("T")


class Log:
    """One file to import. ``name`` is its path as the caller gave it, for messages and provenance."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path = path
        self.name = name or str(path)

    def error(self, message: str, *, line: int | None = None, field: str | None = None) -> LogError:
        """Return the error to raise: file, place, what is wrong."""
        return LogError(message, path=self.name, line=line, field=field)

    @functools.cached_property
    def size(self) -> int:
        """Return the size in bytes."""
        return self._do(lambda: self.path.stat().st_size)

    @functools.cached_property
    def sha256(self) -> str:
        """Return the digest of the file's bytes."""
        return self._do(self._digest)

    def _digest(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @functools.cached_property
    def head(self) -> bytes:
        """Return the first 64 KiB, without a byte order mark: what recognising a format may look at."""
        return self._do(self._head).removeprefix(_BOM)

    def _head(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(HEAD)

    @functools.cached_property
    def is_zip(self) -> bool:
        """Return whether the file begins as a zip archive does."""
        return self.head[:4] in (b"PK\x03\x04", b"PK\x05\x06")

    @functools.cached_property
    def first_object(self) -> dict[str, Any] | None:
        """Return the object on the first line of a JSONL file, or the one that a JSON file is; else None."""
        try:
            found = self.parse(next(line for _, line in self.lines()))
        except StopIteration:
            return None
        except LogError:
            found = (
                None if self.size > MAX_DOCUMENT or isinstance(self._cached_json, LogError) else self.json()
            )
        return found if isinstance(found, dict) else None

    @functools.cached_property
    def first_element(self) -> dict[str, Any] | None:
        """Return the first element of a JSON file that is an array of objects."""
        try:
            found = next(self.items("item"), None)
        except LogError:
            return None
        return found if isinstance(found, dict) else None

    @functools.cached_property
    def top_keys(self) -> tuple[str, ...]:
        """Return the keys of the outermost object as far as the first 64 KiB show them, or none.

        Works on documents of any size, and on broken ones.
        """
        return tuple(_top_keys(self.head))

    def json(self) -> Any:
        """Return the file as one JSON document. NaN and infinities, which some tools write, are let in."""
        document = self._cached_json
        if isinstance(document, LogError):
            raise document
        return document

    @functools.cached_property
    def _cached_json(self) -> Any:
        try:
            return self.parse(self._bytes())
        except LogError as error:
            return error

    def _bytes(self) -> bytes:
        if self.size > MAX_DOCUMENT:
            raise self.error(f"is one JSON document of more than {MAX_DOCUMENT >> 20} MiB; split it")
        return self._do(self.path.read_bytes)

    def parse(self, raw: bytes, *, line: int | None = None, field: str | None = None) -> Any:
        """Return the JSON in ``raw``. Raises LogError naming the place; never quotes what stands there."""
        try:
            text = raw.removeprefix(_BOM).decode()
        except UnicodeDecodeError as error:
            raise self.error(
                f"is not UTF-8 at byte {error.start}; save it as UTF-8", line=line, field=field
            ) from None
        try:
            return _checked(_loads(text))
        except json.JSONDecodeError as error:
            at = line if line is not None else error.lineno
            raise self.error(
                f"is not JSON: {error.msg} (column {error.colno})", line=at, field=field
            ) from None
        except RecursionError:
            raise self.error(f"is nested deeper than {MAX_DEPTH}", line=line, field=field) from None
        except ValueError as error:
            raise self.error(str(error), line=line, field=field) from None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        r"""Yield (number from 1, line without its ``\n``). Lines end at ``\n`` only; empty ones are passed over."""
        number = 0
        try:
            with self.path.open("rb") as file:
                while line := file.readline(MAX_LINE + 1):
                    number += 1
                    if len(line) > MAX_LINE:
                        raise self.error(f"is a line of more than {MAX_LINE >> 20} MiB", line=number)
                    line = line.removeprefix(_BOM) if number == 1 else line
                    if line.strip():
                        yield number, line
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}") from None

    def json_lines(self, warnings: list[str], *, allow_truncated: bool) -> Iterator[tuple[int, Any]]:
        """Yield (line number, document) of a JSONL file.

        A last line that was cut off is an error, or with ``allow_truncated`` a warning; any other bad line is an
        error.
        """
        for number, line in self.lines():
            try:
                document = self.parse(line, line=number)
            except LogError as error:
                if line.endswith(b"\n"):
                    raise
                if not allow_truncated:
                    error.message += "; the last line is cut off: use --allow-truncated to import the others"
                    raise
                warnings.append(f"line {number} is cut off and was left out")
                return
            yield number, document

    def items(self, prefix: str) -> Iterator[Any]:
        """Yield the elements of an array inside a JSON document of any size, one at a time.

        ``prefix`` is dotted, with ``item`` for the elements of an array: ``results.results.item``.
        """
        import ijson

        try:
            with self.path.open("rb") as file:
                if file.read(len(_BOM)) != _BOM:
                    file.seek(0)
                for element in ijson.items(file, prefix, use_float=True, map_type=_Unique):
                    yield _checked(element)
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise self.error(f"is not JSON: {str(error).splitlines()[0][:80]}") from None
        except (ValueError, RecursionError) as error:
            raise self.error(str(error)[:120]) from None
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}") from None

    def beside(self, name: str) -> Log:
        """Return the file called ``name`` in the same folder."""
        return Log(self.path.with_name(name), str(Path(self.name).with_name(name)))

    def exists(self) -> bool:
        """Return whether there is such a file."""
        return self.path.is_file()

    def _do(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}") from None


class _Unique(dict[str, Any]):
    def __setitem__(self, key: str, value: Any) -> None:
        if key in self:
            raise ValueError("a key stands twice in one object; which one counts?")
        super().__setitem__(key, value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object; which one counts?")
    return found


def _integer(digits: str) -> int:
    if len(digits) > 40:
        raise ValueError("an integer of more than 40 digits is no measurement")
    return int(digits)


def _loads(text: str | bytes) -> Any:
    return json.loads(text, object_pairs_hook=_unique, parse_int=_integer)


def _checked(document: Any) -> Any:
    """Return the document if it is not nested too deep."""
    level, layer = 0, [document]
    while layer:
        level += 1
        if level > MAX_DEPTH:
            raise RecursionError(f"is nested deeper than {MAX_DEPTH}")
        layer = (
            [
                child
                for node in layer
                for child in (node.values() if isinstance(node, dict) else node)
                if isinstance(child, (dict, list))
            ]
            if isinstance(document, (dict, list))
            else []
        )
    return document


def _top_keys(head: bytes) -> Iterator[str]:
    """Yield the keys at depth one of a JSON object that may be cut off."""
    text = head.decode("utf-8", "replace")
    depth, position, word = 0, 0, ""
    while position < len(text):
        character = text[position]
        if character == '"':
            end = _end_of_string(text, position)
            word, position = text[position + 1 : end], end
        elif character in "{[":
            depth += 1
            if depth == 1 and character == "[":
                return
        elif character in "}]":
            depth -= 1
        elif character == ":" and depth == 1:
            yield word
        position += 1


def _end_of_string(text: str, start: int) -> int:
    position = start + 1
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position


def number(value: Any) -> float | None:
    """Return a finite number, also one written as text; None for anything else. True and false are 1 and 0."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, (bool, int, float)):
        try:
            found = float(value)
        except OverflowError:
            return None
        return found if math.isfinite(found) else None
    return None


def whole(value: Any) -> int | None:
    """Return a count: a whole number of at least 0, also one written as text; None for anything else."""
    found = None if isinstance(value, bool) else number(value)
    return int(found) if found is not None and found >= 0 and found == int(found) and found < 2**53 else None
