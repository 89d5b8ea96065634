"""Which cases are not believed for now, on what evidence, until when, and what earns their way back?

The register ``quarantine.jsonl`` lies beside the suite file, is committed with it, and only grows: a line puts a
case in, a later line lets it out. Suites in one folder share it.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import contract
from evalstats import suite as suites
from evalstats.errors import DocumentError, JournalError, Problem, UsageError
from evalstats.journal import encode, sync_folder
from evalstats.suite import Suite
from evalstats.trials import timestamp

if TYPE_CHECKING:
    pass

REGISTER = "quarantine.jsonl"
ADD, RELEASE = "add", "release"
DISTRIBUTION = "evalstats-notebooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the register. ``until`` is the last day of a stay; ``evidence`` is a `Flake` or a `WayBack`."""

    action: str
    suite_id: str
    case_id: str
    at: str
    by: str
    why: str
    until: str | None
    evidence: dict[str, Any]
    suite_sha256: str
    suite_scoring: str
    cli_version: str

    def as_document(self) -> dict[str, Any]:
        """Return the line as it is written (schema ``quarantine.v1``)."""
        return {"schema_version": 1, **{name: getattr(self, name) for name in self.__slots__}}

    def overdue(self, today: date) -> bool:
        """Return whether the stay should have ended before ``today``."""
        return self.until is not None and date.fromisoformat(self.until) < today


def register_path(suite: Suite) -> Path:
    """Return where the register of ``suite`` lies, or would lie."""
    return suite.folder / REGISTER


def read(path: Path) -> list[Entry]:
    """Return every line of a register, oldest first; none where there is no file.

    Raises JournalError, with the line, for one that is torn, does not follow its schema, or cannot follow the
    lines before it.
    """
    if not path.exists():
        return []
    raw = contract.read_bytes(path)
    if raw and not raw.endswith(b"\n"):
        raise JournalError(
            "the last line is torn; remove it and enter it again", path=path, line=raw.count(b"\n") + 1
        )
    entries: list[Entry] = []
    within: set[tuple[str, str]] = set()
    for number, line in enumerate(raw.split(b"\n")[:-1], 1):
        entry = _parse(line, path, number)
        key = entry.suite_id, entry.case_id
        if (entry.action == ADD) == (key in within):
            raise JournalError(
                f"cannot {entry.action} a case that is {'in' if key in within else 'not in'} quarantine; "
                "restore the file from its history",
                path=path,
                line=number,
            )
        within ^= {key}
        entries.append(entry)
    return entries


def lines(suite: Suite) -> list[Entry]:
    """Return what the register says of the cases of one suite, oldest first."""
    return [entry for entry in read(register_path(suite)) if entry.suite_id == suite.id]


def inside(suite: Suite) -> dict[str, Entry]:
    """Return the cases of a suite that are in quarantine, each with the entry that put it there."""
    found: dict[str, Entry] = {}
    for entry in lines(suite):
        if entry.action == ADD:
            found[entry.case_id] = entry
        else:
            del found[entry.case_id]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Who moves a case, why, and for how long; ``until`` is None when it is let out."""

    by: str
    why: str
    until: date | None = None
    at: datetime | None = None


def add(suite: Suite, case_id: str, reason: Reason, evidence: dict[str, Any]) -> Entry:
    """Put a case into quarantine and bring the line to disk.

    Raises UsageError when the suite has no such case, when it is in already, or when the reason is incomplete.
    """
    if case_id not in {case.id for case in suite.cases}:
        raise UsageError(f"unknown case {case_id!r}", path=suite.path, field="--case")
    if reason.until is None:
        raise UsageError(
            "say until when, YYYY-MM-DD: a stay without an end is never reviewed", field="--until"
        )
    if reason.until < _day(reason):
        raise UsageError("lies in the past; give the last day of the stay", field="--until")
    return _append(suite, _entry(ADD, suite, case_id, reason, evidence))


def release(suite: Suite, case_id: str, reason: Reason, evidence: dict[str, Any]) -> Entry:
    """Let a case out of quarantine and bring the line to disk. Raises UsageError when it is not in."""
    return _append(suite, _entry(RELEASE, suite, case_id, replace(reason, until=None), evidence))


# --------------------------------------------------------------------------------------------------


def _day(reason: Reason) -> date:
    return date.fromisoformat(timestamp(reason.at)[:10])


def _entry(action: str, suite: Suite, case_id: str, reason: Reason, evidence: dict[str, Any]) -> Entry:
    for name, text in (("--by", reason.by), ("--why", reason.why)):
        if not text.strip():
            raise UsageError("is empty; a register without names and reasons is none", field=name)
    hashes = suites.hashes(suite)
    return Entry(
        action=action,
        suite_id=suite.id,
        case_id=case_id,
        at=timestamp(reason.at),
        by=reason.by.strip(),
        why=reason.why.strip(),
        until=None if reason.until is None else reason.until.isoformat(),
        evidence=evidence,
        suite_sha256=hashes["raw"],
        suite_scoring=hashes["scoring"],
        cli_version=importlib.metadata.version(DISTRIBUTION),
    )


def _append(suite: Suite, entry: Entry) -> Entry:
    path = register_path(suite)
    contract.validate(entry.as_document(), "quarantine.v1")
    try:
        with _locked(suite.folder):
            if (entry.case_id in inside(suite)) == (entry.action == ADD):
                state = "already in" if entry.action == ADD else "not in"
                raise UsageError(f"case {entry.case_id!r} is {state} quarantine", path=path)
            _write(path, encode(entry.as_document()))
            sync_folder(suite.folder)
    except OSError as error:
        raise JournalError(f"the entry cannot be recorded: {error.strerror}", path=path) from None
    return entry


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder, so that two at once cannot both find a case outside and put it in."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _write(path: Path, line: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(fd).st_size
        if os.write(fd, line) != len(line):
            os.ftruncate(fd, size)  # half a line would stop every later reader
            raise OSError(None, "only part of a line fitted (is the disk full?)")
        os.fsync(fd)
    finally:
        os.close(fd)


def _parse(line: bytes, path: Path, number: int) -> Entry:
    try:
        document = contract.parse_json(line.decode())
        found = contract.problems(document, "quarantine.v1") or _impossible_times(document)
    except UnicodeDecodeError:
        found = [Problem("", "is not UTF-8")]
    except DocumentError as error:
        found = list(error.problems)
    if found:
        raise JournalError(found[0].message, path=path, line=number, field=found[0].pointer or None)
    return Entry(**{name: document[name] for name in Entry.__slots__})


def _impossible_times(document: dict[str, Any]) -> list[Problem]:
    """Return the times that look like one and are none, such as 31 February."""
    found = []
    for name in ("at", "until"):
        try:
            datetime.fromisoformat(document[name] or "2000-01-01")
        except ValueError:
            found.append(Problem(f"/{name}", "is no day of the calendar"))
    return found
