"""A foreign file, read with suspicion: bounded in size, depth and number, never unpacked to disk.

Importers open files through `Log` alone, so each limit, and each way in which a file can lie about itself, is
met in one place.
"""

from __future__ import annotations

import codecs
import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

from evalstats.errors import LogError
from evalstats.importers.streams import Malformed, Window, keys, loads, walk

HEAD = 1 << 16
MAX_DOCUMENT = 1 << 28  # bytes of one JSON document, or of one member of an archive, held in memory
MAX_LINE = 1 << 26
_MAX_GLIMPSE = 1 << 24  # bytes read of one value in order to recognise a format
_CHUNK = 1 << 20
MAYBE_CUT = "the last line has no line end: the file may have been cut"
BOM = b"\xef\xbb\xbf"
T = TypeVar("T")


class Refused(LogError):
    """A log that is what it seems and still holds nothing that could be imported, such as aggregates alone.

    Raised before the first row. Inside a folder such a file is named and left out.
    """


@dataclass(frozen=True, slots=True)
class Imported:
    """A file that was imported before: its length, its digest, and what names it since it was first seen."""

    size: int
    sha256: str
    identity: str


class Log:
    """One file to import. ``name`` is its path as the caller gave it, for messages and provenance.

    ``identity`` names the content of a log whose run has no name of its own, wherever the file lies: its digest,
    or, where it begins with the whole of a file that was ``imported`` before, the identity of that one. So a log
    that has grown by lines is the same run as before.
    """

    def __init__(self, path: Path, name: str | None = None, *, imported: Sequence[Imported] = ()) -> None:
        self.path = path
        self.name = name or str(path)
        self.imported = imported
        self._files: list[IO[bytes]] = []

    def error(self, message: str, *, line: int | None = None, field: str | None = None) -> LogError:
        """Return the error to raise: file, place, what is wrong."""
        return LogError(message, path=self.name, line=line, field=field)

    def refused(self, message: str) -> Refused:
        """Return the error to raise, before any row, for a log without anything to import."""
        return Refused(message, path=self.name)

    # --- the bytes --------------------------------------------------------------------------------

    @functools.cached_property
    def size(self) -> int:
        """Return the size in bytes."""
        return self._do(lambda: self.path.stat().st_size)

    @functools.cached_property
    def sha256(self) -> str:
        """Return the digest of the file's bytes."""
        return next(self._digests([self.size]))

    @functools.cached_property
    def identity(self) -> str:
        """Return what names this content: see the class."""
        found, known = self.sha256, {each.sha256: each.identity for each in self.imported}
        for digest in self._digests(sorted({k.size for k in self.imported if 0 < k.size <= self.size})):
            found = known.get(digest, found)
        return found

    @property
    def has_grown(self) -> bool:
        """Return whether its identity was asked for and is that of an earlier, shorter file."""
        return "identity" in self.__dict__ and self.identity != self.sha256

    def _digests(self, sizes: Iterable[int]) -> Iterator[str]:
        """Yield the digest of the first so many bytes, for each of the ascending ``sizes``."""
        hashed, at = hashlib.sha256(), 0
        with self.open() as file:
            for size in sizes:
                while at < size and (chunk := self._do(lambda: file.read(min(_CHUNK, size - at)))):  # noqa: B023
                    hashed.update(chunk)
                    at += len(chunk)
                yield hashed.hexdigest()

    @functools.cached_property
    def head(self) -> bytes:
        """Return the first 64 KiB, without a byte order mark: what recognising a format may look at."""
        with self.open() as file:
            return self._do(lambda: file.read(HEAD)).removeprefix(BOM)

    @functools.cached_property
    def is_zip(self) -> bool:
        """Return whether the file begins as a zip archive does."""
        return self.head[:4] in (b"PK\x03\x04", b"PK\x05\x06")

    @functools.cached_property
    def is_array(self) -> bool:
        """Return whether the file begins as a JSON array does."""
        return self.head.lstrip()[:1] == b"["

    @functools.cached_property
    def is_cut(self) -> bool:
        """Return whether the last line has no line end: the file may have been cut."""
        with self.open() as file:
            file.seek(max(self.size - 1, 0))
            last: bytes = self._do(lambda: file.read(1))
        return last not in (b"\n", b"")

    def not_utf8(self) -> LogError:
        """Return the error for a file in another encoding, naming its first byte that is not UTF-8."""
        decode, offset = codecs.getincrementaldecoder("utf-8")(), 0
        with self.open() as file:
            while chunk := self._do(lambda: file.read(_CHUNK)):
                pending = len(decode.getstate()[0])
                try:
                    decode.decode(chunk)
                except UnicodeDecodeError as error:
                    offset += error.start - pending
                    break
                offset += len(chunk)
        return self.error(f"is not UTF-8 at byte {offset}; save it as UTF-8")

    # --- recognising ------------------------------------------------------------------------------

    @property
    def top_keys(self) -> tuple[str, ...]:
        """Return the keys of the document, or of its first line; none for an array or what is no JSON."""
        return () if self.is_array else tuple(self.first)

    @functools.cached_property
    def first(self) -> dict[str, Any]:
        """Return the first object: the document, the first line, or the first element of an array.

        Of a document of any size the keys are there as far as it can be read; a value that is too large to be
        looked at is None. Empty for a file that is no JSON.
        """
        found: dict[str, Any] = {}
        if self.head.lstrip()[:1] not in (b"{", b"["):
            return found
        try:
            with self.open() as file:
                window = Window(_behind_mark(file), _MAX_GLIMPSE, errors="replace")
                if window.peek() == "[":
                    window.skip("[")
                for key in keys(window):
                    found[key] = None
                    if file.tell() > _MAX_GLIMPSE:
                        break
                    found[key] = window.take()
        except (Malformed, LogError, OSError):
            pass  # whoever reads the file will meet the fault, and name it
        return found

    # --- reading ----------------------------------------------------------------------------------

    def json(self) -> Any:
        """Return the file as one JSON document."""
        if self.size > MAX_DOCUMENT:
            raise self.error(f"is one JSON document of more than {MAX_DOCUMENT >> 20} MiB; split it")
        return self.parse(self._do(self.path.read_bytes))

    def object(self) -> dict[str, Any]:
        """Return the file as one JSON object."""
        found = self.json()
        if not isinstance(found, dict):
            raise self.error("must be an object")
        return found

    def parse(self, raw: bytes, *, line: int | None = None, field: str | None = None) -> Any:
        """Return the JSON in ``raw``. Raises LogError naming the place; never quotes what stands there."""
        try:
            return loads(raw.removeprefix(BOM).decode())
        except UnicodeDecodeError as error:
            if field is None:
                raise self.not_utf8() from None
            raise self.error(f"is not UTF-8 at byte {error.start}", field=field) from None
        except Malformed as error:
            raise self.error(str(error), line=line or error.line, field=field) from None

    def members(self, *arrays: str) -> Iterator[tuple[str, Any]]:
        """Yield (JSON pointer, value) of a document of any size: each element of the named arrays, and the rest.

        ``arrays`` are pointers such as ``/results/results``; that of a document which is an array is "".
        """
        try:
            with self.open() as file:
                yield from walk(Window(_behind_mark(file)), arrays)
        except UnicodeDecodeError:
            raise self.not_utf8() from None
        except Malformed as error:
            raise self.error(str(error), line=error.line) from None
        except OSError as error:
            raise self.error(_unreadable(error)) from None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        r"""Yield (number from 1, line with its ``\n``). Lines end at ``\n`` only; empty ones are passed over."""
        number = 0
        try:
            with self.open() as file:
                while line := file.readline(MAX_LINE + 1):
                    number += 1
                    if len(line) > MAX_LINE:
                        raise self.error(f"is a line of more than {MAX_LINE >> 20} MiB", line=number)
                    line = line.removeprefix(BOM) if number == 1 else line
                    if not line.isspace():
                        yield number, line
        except OSError as error:
            raise self.error(_unreadable(error)) from None

    def json_lines(
        self, warnings: list[str], *, allow_truncated: bool
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (line number, object) of a JSONL file.

        A last line that was cut off is an error, or with ``allow_truncated`` a warning; any other bad line is an
        error.
        """
        for number, line in self.lines():
            try:
                document = self.parse(line, line=number)
            except LogError as error:
                if line.endswith(b"\n"):
                    raise
                self.cut(number, warnings, allow_truncated=allow_truncated, reason=error.message)
                return
            if not isinstance(document, dict):
                raise self.error("must be an object", line=number)
            yield number, document
            if not line.endswith(b"\n"):
                warnings.append(MAYBE_CUT)

    def cut(self, line: int, warnings: list[str], *, allow_truncated: bool, reason: str) -> None:
        """Note that the last line was cut off and is left out. Raises LogError unless that is allowed."""
        if not allow_truncated:
            way_out = "the last line is cut off: use --allow-truncated to import the others"
            raise self.error(f"{reason}; {way_out}", line=line)
        warnings.append(f"line {line} is cut off and was left out")

    def beside(self, name: str) -> Log:
        """Return the file called ``name`` in the same folder."""
        return Log(self.path.with_name(name), str(Path(self.name).with_name(name)))

    def exists(self) -> bool:
        """Return whether there is such a file."""
        return self.path.is_file()

    def open(self) -> BinaryIO:
        """Return the file, open; `close` closes it, should whoever reads it stumble."""
        file = self._do(lambda: self.path.open("rb"))
        self._files = [each for each in self._files if not each.closed] + [file]
        return file

    def close(self) -> None:
        """Close whatever is still open."""
        for file in self._files:
            file.close()

    def _do(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except OSError as error:
            raise self.error(_unreadable(error)) from None


def _behind_mark(file: BinaryIO) -> BinaryIO:
    if file.read(len(BOM)) != BOM:
        file.seek(0)
    return file


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {os.strerror(error.errno) if error.errno else error}"
