"""An append-only file: each line names the digest of the line before, so that none can be changed or taken out.

What the chain cannot see is the loss of its last lines. Whoever uses it keeps something beside it that only the
last line explains: a promoted baseline, for one.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import DocumentError, JournalError
from evalstats.journal import owners_only

PREVIOUS = "previous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The entries of one file in their order, the digest of the last line, and what is wrong with it."""

    path: Path
    entries: tuple[dict[str, Any], ...]
    head: str | None
    problems: tuple[str, ...]


def read(path: Path, schema_id: str) -> Chain:
    """Return the entries of a chain; a file that is not there is an empty one. Problems are told, not raised."""
    *lines, tail = (path.read_bytes() if path.exists() else b"").split(b"\n")
    entries, problems, head = [], [], None
    for number, line in enumerate(lines, 1):
        try:
            entry = _entry(line, path, schema_id)
        except DocumentError as error:
            problems.append(f"line {number}: {error.field or 'it'} {error.message}")
        else:
            entries.append(entry)
            if entry[PREVIOUS] != head:
                problems.append(
                    f"line {number}: does not follow from the line before; a line was changed or lost"
                )
        head = contract.digest(line)
    if tail:
        problems.append(f"line {len(lines) + 1}: was not written whole")
    return Chain(path=path, entries=tuple(entries), head=head, problems=tuple(problems))


def _entry(line: bytes, path: Path, schema_id: str) -> dict[str, Any]:
    document, _ = contract.parse_bytes(line, path)
    contract.validate(document, schema_id, path=path)
    return dict(document)


def append(path: Path, entry: Mapping[str, Any], schema_id: str, *, private: bool = False) -> dict[str, Any]:
    """Add one entry and return it as written. Raises JournalError when the chain so far is broken.

    The caller holds :func:`alone` from reading what the entry says until it is written.
    """
    chain = read(path, schema_id)
    if chain.problems:
        raise JournalError(f"nothing is added to a broken chain: {chain.problems[0]}", path=path)
    line = contract.canonical({**entry, PREVIOUS: chain.head})
    document = _entry(line, path, schema_id)
    try:
        with owners_only(private):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(f"cannot be written: {error.strerror}", path=path) from None
    return document


@contextlib.contextmanager
def alone(path: Path, *, private: bool = False) -> Iterator[None]:
    """Keep others from adding to the chain meanwhile, by a lock on its folder.

    The folder is made where it is lacking and taken away again if nothing came into it: everyone must lock the same
    one, and a refusal leaves no trace. A folder that cannot be made keeps nobody out, and nobody can write there.
    """
    try:
        made, descriptor = _locked(path.absolute().parent, private)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        for new in made:
            with contextlib.suppress(OSError):  # it is in use
                new.rmdir()
        os.close(descriptor)


def _locked(folder: Path, private: bool) -> tuple[list[Path], int]:
    """Return the folders made on the way, innermost first, and the lock: one on what still lies at the path."""
    while True:
        made = list(itertools.takewhile(lambda one: not one.exists(), (folder, *folder.parents)))
        with owners_only(private):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # another's empty folder, taken away
            continue
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), folder.stat()):
                return made, descriptor
        os.close(descriptor)
