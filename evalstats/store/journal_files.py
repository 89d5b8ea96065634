"""Reading one journal of a run on from where it was last read, whatever its lines hold."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import journal
from evalstats.errors import JournalError

BATCH = 10_000  # records turned into Arrow at a time: large enough to be fast, small enough for memory
_CHUNK = 1 << 20

Parse = Callable[[bytes, Path, int], Any]


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a journal has been read: its first ``size`` bytes are ``lines`` whole lines."""

    size: int = 0
    sha256: str = hashlib.sha256().hexdigest()
    lines: int = 0
    torn: bool = False


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


class Reader:
    """Reads one journal on from a mark, and knows afterwards how far it came. ``parse`` makes a record of a line."""

    def __init__(self, file: Path, start: Mark, parse: Parse) -> None:
        hashed = hash_of_first(file, start.size)
        if hashed.hexdigest() != start.sha256:  # not the file it was: read it from the start
            start, hashed = Mark(), hashlib.sha256()
        self._file, self._parse, self._hashed = file, parse, hashed
        self._size, self._lines, self._torn = start.size, start.lines, False

    @property
    def mark(self) -> Mark:
        """Return how far the journal has been read."""
        return Mark(self._size, self._hashed.hexdigest(), self._lines, self._torn)

    def batches(self) -> Iterator[list[Any]]:
        """Yield what is new, many records at a time."""
        records = self._records()
        while batch := list(itertools.islice(records, BATCH)):
            yield batch

    def _records(self) -> Iterator[Any]:
        for line in journal.raw_lines(self._file, self._size):
            if not line.endswith(b"\n"):
                self._torn = True
                return
            self._hashed.update(line)
            self._size += len(line)
            self._lines += 1
            yield self._parse(line, self._file, self._lines)
