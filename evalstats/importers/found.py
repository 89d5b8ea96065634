"""What a reading yields and leaves behind: rows with their runs, and what each file held."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from evalstats.contract import Arm, Outcome
from evalstats.importers.logs import Log
from evalstats.importers.marks import Marks
from evalstats.importers.rows import Declared, LoggedRun, Row
from evalstats.importers.rules import trial_of
from evalstats.trials import Trial

LISTED = 100_000  # cases that a manifest names one by one
STATUS_WORDS = {Outcome.INFRASTRUCTURE: "error"}  # in summaries; the other outcomes go by their own name


@dataclass(slots=True, kw_only=True)
class FileReport:
    """What one file held. ``format`` is None, and ``why`` says so, when it was not recognised.

    ``refused`` means that it was recognised, or could be nothing else, and was left out all the same. A trial
    that takes the place of one told before is counted here and no longer there; ``replaced`` says how many did.
    """

    path: str
    format: str | None
    why: str
    refused: bool = False
    suites: list[str] = field(default_factory=list)
    runs: int = 0
    cases: int = 0
    trials: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    replaced: int = 0
    declared: list[Declared] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def as_record(self) -> dict[str, Any]:
        """Return the report as plain data, one field of the JSON each."""
        record = {
            name: getattr(self, name) for name in self.__slots__ if name not in ("statuses", "declared")
        }
        names = ("name", "declared", "recomputed", "agrees")
        declared = [{name: getattr(d, name) for name in names} for d in self.declared]
        record["suite"] = self.suites[0] if len(self.suites) == 1 else None
        return {**record, "statuses": dict(sorted((+self.statuses).items())), "declared": declared}

    def warn(self, sentence: str) -> None:
        """Add a warning, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def count(self, outcome: Outcome, by: int) -> None:
        """Count a trial in, or out again."""
        self.trials += by
        self.statuses[STATUS_WORDS.get(outcome, outcome)] += by


class Cases:
    """The cases of a run and the digest of what each asks; from `LISTED` on only counted and held together."""

    def __init__(self) -> None:
        self.listed: dict[str, bytes] = {}
        self._others = Marks()
        self._sum = 0  # of the others

    def __len__(self) -> int:
        return len(self.listed) + len(self._others)

    def __contains__(self, case_id: str) -> bool:
        return case_id in self.listed or self._others.get(case_id) is not None

    def get(self, case_id: str) -> str | None:
        """Return the digest of what a case asks, None for one that is not known or not listed."""
        found = self.listed.get(case_id)
        return None if found is None else found.hex()

    def note(self, case_id: str, digest: bytes) -> bool:
        """Add a case; return whether it is new, or asks what it asked before."""
        listed = self.listed.get(case_id)
        if listed is not None:
            return listed == digest
        head = int.from_bytes(digest[:8], "big")
        known = self._others.get(case_id) if self._others else None
        if known is not None:
            return known == head
        if len(self.listed) < LISTED:
            self.listed[case_id] = digest
        else:
            self._others.set(case_id, head)
            self._sum += _number(case_id, digest)
        return True

    @property
    def all_listed(self) -> bool:
        """Return whether ``listed`` holds all of them."""
        return not self._others

    @property
    def digest(self) -> str:
        """Return one digest of all, whatever their order: the sum of theirs."""
        total = self._sum + sum(_number(case_id, digest) for case_id, digest in self.listed.items())
        return f"{total % 2**256:064x}"


def _number(case_id: str, digest: bytes) -> int:
    """Return what a case adds to the digest of all."""
    return int.from_bytes(hashlib.sha256(digest + case_id.encode()).digest(), "big")


@dataclass(slots=True, eq=False)
class ImportedRun:
    """One run, named and known by its content. Its ``cases`` fill up while its rows are read.

    ``files`` maps each path to the log it was read from.
    """

    run_id: str
    group_id: str
    suite_id: str
    arm: Arm
    logged: LoggedRun
    created_at: str
    files: dict[str, Log] = field(default_factory=dict)
    cases: Cases = field(default_factory=Cases)
    trials_per_case: int = 1


@dataclass(slots=True, eq=False)  # not frozen, as `Row` is not
class Found:
    """A row of a run. ``supersedes`` is the outcome of the one found before whose place it takes, if any."""

    run: ImportedRun
    row: Row
    log: Log
    supersedes: Outcome | None = None

    @property
    def trial(self) -> Trial:
        """Return the row as a trial, fit for a journal."""
        run, source = self.run, (self.log.name, self.log.sha256)
        return trial_of(self.row, run_id=run.run_id, suite_id=run.suite_id, arm=run.arm, source=source)
