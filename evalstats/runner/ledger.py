"""What one process keeps of the trials that it runs: that each was started, and then its record.

Trials are run at least once. What makes of that exactly one result is their key; what tells how often one was paid
for is the note of each start, which lies beside the journal of the process that made it::

    journal/<host>-<pid>-<ns>.jsonl     the records
            <host>-<pid>-<ns>.starts    one line a start, written before the trial runs

A start without a record in the journal of the same name is a lost attempt: its process was killed, or the trial was.
A record that is not the one that counts is a trial that was run twice to its end.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalstats import journal
from evalstats.errors import JournalError
from evalstats.journal import Journal, encode
from evalstats.runner.specs import TrialSpec
from evalstats.trials import Trial, timestamp

FOLDER = "journal"
STARTS = ".starts"
LOST = "lost.jsonl"
_KEY_AT = len(b'{"kind":"trial","key":"')  # as `encode` writes the line of a trial
_KEY_LENGTH = 64


class Ledger:
    """The journals of some runs, and the notes of what was started; used as a context manager.

    Both are there, one of each a run, as long as the ledger is open. Raises JournalError when the disk refuses.
    """

    def __init__(self, runs: Path, run_ids: Iterable[str]) -> None:
        self._folders = {run_id: runs / run_id / FOLDER for run_id in run_ids}
        self._journals: dict[str, Journal] = {}
        self._starts: dict[str, int] = {}
        self._open = ExitStack()

    def __enter__(self) -> Ledger:
        with ExitStack() as opening:
            for run_id, folder in self._folders.items():
                kept = self._journals[run_id] = opening.enter_context(Journal(folder))
                self._starts[run_id] = _opened(kept.path.with_suffix(STARTS))
                opening.callback(os.close, self._starts[run_id])
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def start(self, spec: TrialSpec, by: str) -> None:
        """Note that a trial is about to run, and where."""
        note = {
            "key": spec.key,
            "case_id": spec.case.id,
            "arm": spec.arm,
            "trial_index": spec.trial_index,
            "started_at": timestamp(),
            "by": by,
        }
        try:
            os.write(self._starts[spec.run_id], encode(note))
        except OSError as error:
            path = self._journals[spec.run_id].path.with_suffix(STARTS)
            raise JournalError(f"cannot be written: {error.strerror}", path=path) from None

    def record(self, trial: Trial) -> None:
        """Write the record of a trial: from now on it is done."""
        self._journals[trial.run_id].append(trial)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
    except OSError as error:
        raise JournalError(f"cannot be written: {error.strerror}", path=path) from None


class Recorded:
    """The trials that other processes have recorded in one run folder, found without reading a line twice."""

    def __init__(self, run_folder: Path) -> None:
        self._folder = run_folder
        self._read: dict[Path, int] = {}  # bytes
        self._lines: dict[str, tuple[Path, int]] = {}  # key -> where its line begins

    def find(self, key: str) -> Trial | None:
        """Return the record of a trial, as soon as there is one."""
        for path in journal.journals(self._folder):
            self._go_on(path)
        if key not in self._lines:
            return None
        path, offset = self._lines[key]
        return journal.parse_trial(next(journal.raw_lines(path, offset)), path, 0)

    def _go_on(self, path: Path) -> None:
        done = self._read.get(path, 0)
        if path.stat().st_size <= done:
            return
        for line in journal.raw_lines(path, done):
            if not line.endswith(b"\n"):
                break
            self._lines.setdefault(_key(line), (path, done))
            done += len(line)
        self._read[path] = done


def _key(line: bytes) -> str:
    return line[_KEY_AT : _KEY_AT + _KEY_LENGTH].decode("ascii", "replace")


# --- what was lost -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """One attempt at a trial that is not the one that counts, and that may have been paid for.

    ``recorded``: it ran to its end; then its ``cost``, in US dollars, is what it told. Else nobody knows it.
    """

    key: str
    case_id: str
    arm: str
    trial_index: int
    started_at: str | None
    by: str
    recorded: bool
    cost: float | None = None


def lost(run_folder: Path) -> list[Lost]:
    """Return the attempts of a run that were lost or doubled, by trial."""
    recorded = {path.stem: Counter(_keys(path)) for path in journal.journals(run_folder)}
    found = []
    for path in sorted((run_folder / FOLDER).glob(f"*{STARTS}")):
        ended = recorded.get(path.stem, Counter[str]())
        for note in reversed(list(_notes(path))):
            if ended[note["key"]] > 0:
                ended[note["key"]] -= 1  # of several starts it is the last one that came to its end
            else:
                found.append(Lost(**note, recorded=False))
    every = Counter(key for path in journal.journals(run_folder) for key in _keys(path))
    twice = {key for key, times in every.items() if times > 1}
    return sorted([*found, *_doubled(run_folder, twice)], key=lambda one: (one.key, one.started_at or ""))


def write_lost(run_folder: Path) -> list[Lost]:
    """Bring ``lost.jsonl`` up to date, if there is anything to list; return what it lists."""
    found = lost(run_folder)
    if found:
        journal.write_synced(run_folder / LOST, b"".join(encode(asdict(one)) for one in found))
    return found


def _doubled(run_folder: Path, twice: set[str]) -> Iterator[Lost]:
    if not twice:
        return
    counts = {trial.key: trial for trial in journal.read_trials(run_folder)}
    seen: set[str] = set()
    for path in journal.journals(run_folder):
        for number, line in enumerate(_whole(path), 1):
            if _key(line) not in twice:
                continue
            trial = journal.parse_trial(line, path, number)
            if trial == counts[trial.key] and trial.key not in seen:
                seen.add(trial.key)
            else:
                yield _double(trial, path.stem)


def _double(trial: Trial, by: str) -> Lost:
    return Lost(
        key=trial.key,
        case_id=trial.case_id,
        arm=trial.arm,
        trial_index=trial.trial_index,
        started_at=trial.started_at,
        by=by,
        recorded=True,
        cost=trial.cost,
    )


def _keys(path: Path) -> Iterator[str]:
    return map(_key, _whole(path))


def _whole(path: Path) -> Iterator[bytes]:
    return (line for line in journal.raw_lines(path) if line.endswith(b"\n"))


def _notes(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the notes of one process; a torn last one was of a trial that had not begun."""
    for line in _whole(path):
        yield json.loads(line)
