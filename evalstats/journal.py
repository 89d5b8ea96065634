"""The run folder: what was planned, and an append-only journal of what happened.

Journals are the source of truth; the database is rebuilt from them. A run folder holds::

    <runs>/<run_id>/manifest.json    the plan, synced to disk before the first trial
                    suite.json       the suite's bytes as they were
                    journal/<host>-<pid>-<ns>.jsonl    one line a trial, one write() a line
                    record.json      the run record, written when the run ends

A killed process leaves at most one torn last line; its trial is run again. A process that resumes a
run opens a journal of its own and never appends after a torn tail.
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
from evalstats.trials import Trial, trial_from_record

SYNC_SECONDS = 0.2
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


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

    def append(self, trial: Trial) -> None:
        """Write one trial with one system call. Raises JournalError when the disk refuses."""
        line = encode(trial.as_record())
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
        return JournalError(f"cannot be written: {error.strerror}; trials so far are kept", path=self.path)


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
    return [(number, _parse(line, path, number)) for number, line in enumerate(whole, 1)], bool(tail)


def parse_trial(line: bytes, path: Path, number: int) -> Trial:
    """Return the trial in one whole line. Raises JournalError naming file, line and field."""
    return _trial(_parse(line, path, number), path, number)


def _parse(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        record = contract.parse_json(line.decode())
        found = contract.problems(record, "trial.v1")
    except UnicodeDecodeError:
        found = [Problem("", "is not UTF-8")]
    except DocumentError as error:
        found = list(error.problems)
    if found:
        raise JournalError(found[0].message, path=path, line=number, field=found[0].pointer or None)
    return dict(record)


def journals(run_folder: Path) -> list[Path]:
    """Return the journals of one run, in name order."""
    return sorted((run_folder / "journal").glob("*.jsonl"))


def read_trials(run_folder: Path) -> Iterator[Trial]:
    """Yield each trial of a run once (the first of a key wins); torn tails are passed over."""
    seen: set[str] = set()
    for path in journals(run_folder):
        for number, line in enumerate(raw_lines(path), 1):
            if not line.endswith(b"\n"):
                break
            trial = parse_trial(line, path, number)
            if trial.key not in seen:
                seen.add(trial.key)
                yield trial


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
