"""The run folder: what was planned, and an append-only journal of what happened.

Journals are the source of truth; the database is rebuilt from them. A run folder holds::

    <runs>/<run_id>/manifest.json    the plan, synced to disk before the first trial
                    suite.json       the suite's bytes as they were
                    journal/<host>-<pid>-<ns>.jsonl    one line a trial, one write() a line
                            <host>-<pid>-<ns>.starts   one line a start, before the trial runs
                    lost.jsonl       attempts that do not count and may have been paid for
                    judgements/, labels/    likewise: what judges and people said of the trials
                    record.json      the run record, written when the run ends

A killed process leaves at most one torn last line; its trial is run again. A process that resumes a
run opens a journal of its own and never appends after a torn tail.

What belongs to private suites has a tree of its own in the data folder, laid out like the rest: runs,
store, captures. Only its owner can read it, and nothing that reads the rest looks there.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import DocumentError, JournalError, Problem
from evalstats.trials import Judgement, Label, Trial, trial_from_record

SYNC_SECONDS = 0.2
PRIVATE = "private"
_PRIVATE_MARK = ".private"
_MARK_TEXT = b"Runs of private suites. Nothing in this folder may leave it.\n"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def private_tree(data: Path) -> Path:
    """Return the tree of private suites in a data folder, whether it is there or not; of that tree, itself."""
    return data if is_private_tree(data) else data / PRIVATE


def make_private(tree: Path) -> Path:
    """Make a tree of private suites, if need be, and see to it that it is its owner's alone; return it."""
    try:
        tree.parent.mkdir(parents=True, exist_ok=True)
        with owners_only():
            tree.mkdir(exist_ok=True)
            tree.chmod(0o700)
            if not (tree / _PRIVATE_MARK).exists():
                write_synced(tree / _PRIVATE_MARK, _MARK_TEXT)
    except OSError as error:
        raise JournalError(f"cannot be kept from others: {error.strerror}", path=tree) from None
    return tree


def is_private_tree(place: Path) -> bool:
    """Return whether a file or folder is in a tree of private suites, or is one."""
    whole = place.resolve()
    return any((folder / _PRIVATE_MARK).is_file() for folder in (whole, *whole.parents))


@contextlib.contextmanager
def owners_only(wanted: bool = True) -> Iterator[int]:
    """Keep from others what is made meanwhile; yield the umask that was, or -1 where nothing is ``wanted``."""
    if not wanted:
        yield -1
        return
    before = os.umask(0o077)
    try:
        yield before
    finally:
        os.umask(before)


def encode(record: Any) -> bytes:
    """Return one line of a journal. Halves of surrogate pairs become "?", so any text can be recorded."""
    return _ENCODER.encode(record).encode("utf-8", "replace") + b"\n"


class Journal:
    """An append-only file of one process, used as a context manager.

    ``append`` returns when the kernel holds the line; a thread brings it to disk within 200 ms.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
            sync_folder(folder)
        except OSError as error:
            raise self._refused(error) from None
        self._dirty = threading.Event()
        self._closing = threading.Event()
        self._failure: OSError | None = None
        self._syncer = threading.Thread(target=self._keep_synced, name="journal-sync", daemon=True)
        self._syncer.start()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, record: Trial | Judgement | Label) -> None:
        """Write one record with one system call. Raises JournalError when the disk refuses."""
        line = encode(record.as_record())
        if self._failure is not None:
            raise self._refused(self._failure)
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            raise self._refused(error) from None
        if written != len(line):  # the reader calls it a torn tail, so nothing may follow it here
            self._failure = OSError(errno.ENOSPC, "only part of a line fitted (is the disk full?)")
            raise self._refused(self._failure)
        self._dirty.set()

    def close(self) -> None:
        """Bring everything to disk and close the file. Raises JournalError when the disk refuses."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._dirty.set()
        self._syncer.join()
        self._sync()  # what was appended while the thread was in its last sync
        os.close(self._fd)
        if self._failure is not None:
            raise self._refused(self._failure)

    def _keep_synced(self) -> None:
        while self._failure is None and not self._closing.is_set():
            self._dirty.wait()
            self._closing.wait(SYNC_SECONDS)
            self._dirty.clear()
            self._sync()

    def _sync(self) -> None:
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            self._failure = self._failure or error

    def _refused(self, error: OSError) -> JournalError:
        return JournalError(f"cannot be written: {error.strerror}; what is in it is kept", path=self.path)


def sync_folder(folder: Path) -> None:
    """Bring the entries of a folder to disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_file(path: Path) -> None:
    """Bring a file and its name to disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    sync_folder(path.parent)


def write_synced(path: Path, data: bytes) -> None:
    """Write a file so that it is either absent or whole, and on disk: temporary name, sync, rename, sync."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise JournalError(f"cannot be written: {error.strerror}", path=path) from None


def raw_lines(path: Path, offset: int = 0) -> Iterator[bytes]:
    """Yield the lines of a journal from byte ``offset`` on, newline included.

    Only a line that ends in a newline was written whole; a torn last line comes without one.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            yield from file
    except OSError as error:
        raise JournalError(f"cannot be read: {error.strerror}", path=path) from None


def read_lines(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], bool]:
    """Return the (line number, record) pairs of a journal and whether its last line was torn.

    Raises JournalError for a bad line elsewhere.
    """
    *whole, tail = b"".join(raw_lines(path)).split(b"\n")
    return [(number, parse_line(line, path, number)) for number, line in enumerate(whole, 1)], bool(tail)


def parse_trial(line: bytes, path: Path, number: int) -> Trial:
    """Return the trial in one whole line. Raises JournalError naming file, line and field."""
    return _trial(parse_line(line, path, number), path, number)


def parse_line(line: bytes, path: Path, number: int, schema_id: str = "trial.v1") -> dict[str, Any]:
    """Return the record in one whole line of a journal. Raises JournalError naming file, line and field."""
    try:
        record = contract.parse_json(line.decode())
        found = contract.problems(record, schema_id)
    except UnicodeDecodeError:
        found = [Problem("", "is not UTF-8", rule="is not UTF-8")]
    except DocumentError as error:
        found = list(error.problems)
    if found:
        first = (contract.discreet(found) if is_private_tree(path) else found)[0]
        raise JournalError(first.message, path=path, line=number, field=first.pointer or None)
    return dict(record)


def journals(run_folder: Path) -> list[Path]:
    """Return the journals of one run, in name order."""
    return sorted((run_folder / "journal").glob("*.jsonl"))


def read_trials(run_folder: Path) -> Iterator[Trial]:
    """Yield each trial of a run once; torn tails are passed over.

    Of one trial the last attempt counts, and of the same attempt the first that was recorded.
    """
    last = {trial.key: trial.attempt for trial in _all_trials(run_folder, retried=True)}
    seen: set[str] = set()
    for trial in _all_trials(run_folder):
        if trial.key not in seen and trial.attempt >= last.get(trial.key, 1):
            seen.add(trial.key)
            yield trial


_FIRST_ATTEMPT = b'"attempt":1,'  # as `encode` writes it; inside a text the quotes would be escaped


def _all_trials(run_folder: Path, *, retried: bool = False) -> Iterator[Trial]:
    """Yield what every whole line holds; with ``retried``, only of the lines with a later attempt, ascending."""
    found: list[Trial] = []
    for path in journals(run_folder):
        for number, line in enumerate(raw_lines(path), 1):
            if not line.endswith(b"\n"):
                break
            if not retried:
                yield parse_trial(line, path, number)
            elif _FIRST_ATTEMPT not in line:
                found.append(parse_trial(line, path, number))
    yield from sorted(found, key=lambda trial: trial.attempt)


def _trial(record: dict[str, Any], path: Path, number: int) -> Trial:
    try:
        trial = trial_from_record(record)
        key = trial.key
    except ValueError as error:
        raise JournalError(str(error), path=path, line=number) from None
    if key != record["key"]:
        raise JournalError(
            "the key is not that of its run, case, arm and trial", path=path, line=number, field="/key"
        )
    return trial


def read_manifest(run_folder: Path) -> dict[str, Any]:
    """Return the manifest of a run. Raises JournalError when the folder is no run."""
    path = run_folder / "manifest.json"
    try:
        document, _ = contract.read_json(path)
    except DocumentError as error:
        raise JournalError(error.message, path=path, line=error.line) from None
    if not isinstance(document, dict) or "run_id" not in document:
        raise JournalError("is not the manifest of a run", path=path)
    return document
