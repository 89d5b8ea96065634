"""From paths to trials: find the files, recognise them, and hold every row to one set of rules.

The rules: a score that is no finite number within its range becomes NULL with a reason; a cached answer is no
second look; the same attempt told twice counts once, and told differently is an error that names both places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from evalstats import contract
from evalstats.contract import Arm, Outcome
from evalstats.errors import UsageError
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Importer, LoggedRun, Options, Row
from evalstats.importers.rules import (
    NAIVE,
    canonical,
    fingerprint,
    hold,
    moment,
    slug,
    text,
    trial_of,
    withdraw,
)
from evalstats.trials import Trial, timestamp

CACHED = "answered from a cache: no independent look at the subject"


@dataclass(slots=True, kw_only=True)
class FileReport:
    """What one file held. ``format`` is None, and ``why`` says so, when it was not recognised."""

    path: str
    format: str | None
    why: str
    suites: list[str] = field(default_factory=list)
    runs: int = 0
    cases: int = 0
    trials: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
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
        return {**record, "statuses": dict(sorted(self.statuses.items())), "declared": declared}


@dataclass(slots=True, eq=False)
class ImportedRun:
    """One run, named and known by its content. Its ``cases`` fill up while its rows are read."""

    run_id: str
    group_id: str
    suite_id: str
    arm: Arm
    logged: LoggedRun
    created_at: str
    files: dict[str, str] = field(default_factory=dict)
    cases: dict[str, str] = field(default_factory=dict)
    trials_per_case: int = 1

    @property
    def scoring_digest(self) -> str:
        """Return what must be equal for two runs to be of one suite: the cases asked and how they were scored."""
        return contract.canonical_digest({"cases": self.cases, "scoring": self.logged.scoring})


@dataclass(frozen=True, slots=True)
class Found:
    """A row of a run. ``supersedes`` is set when it takes the place of one that was found before."""

    run: ImportedRun
    row: Row
    log: Log
    supersedes: bool = False

    @property
    def trial(self) -> Trial:
        """Return the row as a trial, fit for a journal."""
        run, source = self.run, (self.log.name, self.log.sha256)
        return trial_of(self.row, run_id=run.run_id, suite_id=run.suite_id, arm=run.arm, source=source)


class _Place(NamedTuple):
    """Where a trial was told first, and what it said."""

    fingerprint: int
    log: Log
    locator: str
    usable: bool


class Reading:
    """Reads files as an iterator over `Found` trials; ``files`` and ``runs`` are complete when it is exhausted."""

    def __init__(
        self,
        paths: Sequence[Path],
        options: Options,
        importers: Sequence[Importer],
        *,
        format: str | None = None,
    ) -> None:
        self.options = options
        self.importers = _chosen(importers, format)
        self.forced = format is not None
        self.paths = paths
        self.files: list[FileReport] = []
        self.runs: dict[str, ImportedRun] = {}
        self._seen: dict[tuple[str, str, int], _Place] = {}
        self._first: dict[tuple[str, str], int] = {}  # (run, case) -> the trial that was answered first

    def __iter__(self) -> Iterator[Found]:
        for log, named in _logs(self.paths):
            yield from self._file(log, named=named)
        if not any(file.format for file in self.files):
            raise UsageError(
                "nothing here is a log of a known format; name one with --format", path=self.paths[0]
            )

    def _file(self, log: Log, *, named: bool) -> Iterator[Found]:
        importer, why = self._recognised(log)
        report = FileReport(path=log.name, format=importer.NAME if importer else None, why=why)
        self.files.append(report)
        if importer is None:
            if named:
                raise log.error(f"{why}; name the format with --format")
            return
        met: dict[LoggedRun, ImportedRun] = {}
        cases: set[tuple[str, str]] = set()
        for logged, row in importer.read(log, self.options):
            if logged not in met:
                met[logged] = self._run(logged, log)
            if row is not None:
                yield from self._trial(met[logged], row, log, report)
                cases.add((row.case_id, met[logged].cases[row.case_id]))
        report.suites = sorted({run.suite_id for run in met.values()})
        report.runs, report.cases = len({run.run_id for run in met.values()}), len(cases)
        for logged in met:
            report.declared += logged.declared()
            report.warnings += [note for note in logged.warnings if note not in report.warnings]

    def _recognised(self, log: Log) -> tuple[Importer | None, str]:
        if self.forced:
            return self.importers[0], "as asked"
        for importer in self.importers:
            if (why := importer.sniff(log)) is not None:
                return importer, why
        return None, "no known format"

    def _run(self, logged: LoggedRun, log: Log) -> ImportedRun:
        arm = self.options.arm or logged.arm
        suite_id = slug(self.options.suite or logged.suite)
        run_id = logged.run_id or _run_id(suite_id, logged.key, arm, self.options)
        run = self.runs.get(run_id)
        if run is None:
            group = run_id if logged.group is None else _run_id(suite_id, logged.group, None, self.options)
            created, _ = moment(logged.created_at)
            if created is None:
                created = timestamp(datetime.fromtimestamp(log.path.stat().st_mtime, UTC))
                logged.warnings.append("the log names no time; the run is dated by its file")
            run = self.runs[run_id] = ImportedRun(run_id, group, suite_id, arm, logged, created)
        run.files[log.name] = log.sha256
        return run

    def _trial(self, run: ImportedRun, row: Row, log: Log, report: FileReport) -> Iterator[Found]:
        self._hold(run, row, log, report)
        key, told = (run.run_id, row.case_id, row.trial_index), fingerprint(row)
        place = self._seen.get(key)
        if place is not None and not self._takes_over(row, told, place, log):
            report.duplicates += 1
            return
        self._seen[key] = _Place(told, log, row.locator, row.outcome.usable)
        report.trials += 1
        report.statuses[STATUS_WORDS.get(row.outcome, row.outcome)] += 1
        run.trials_per_case = max(run.trials_per_case, row.trial_index)
        yield Found(run, row, log, supersedes=place is not None)

    def _takes_over(self, row: Row, told: int, place: _Place, log: Log) -> bool:
        """Return whether a row takes the place of one that was told before. Raises LogError when none may.

        An attempt that was lost gives way to the one that was not: that is a retry.
        """
        if place.fingerprint == told:
            return False
        if place.usable != row.outcome.usable:
            return row.outcome.usable
        if self.options.on_conflict == "error":
            raise log.error(_conflict(row, place))
        return self.options.on_conflict == "last"

    def _hold(self, run: ImportedRun, row: Row, log: Log, report: FileReport) -> None:
        hold(row, self.options)
        if not row.case_id or row.trial_index < 1:
            raise log.error("a case needs an id, and its trials count from 1", field=row.locator)
        if row.started_at is not None and moment(row.started_at)[1] == NAIVE:
            _warn(report, "times without a zone are taken as UTC and marked naive")
        self._note_case(run, row, report)
        self._keep_independent(run, row)

    def _note_case(self, run: ImportedRun, row: Row, report: FileReport) -> None:
        known = run.cases.get(row.case_id)
        if known is None or row.content is not None:
            digest = contract.digest(canonical(row.case_id if row.content is None else row.content))
            if run.cases.setdefault(row.case_id, digest) != digest:
                _warn(report, "a case asks different things in different rows; is its id the right key?")

    def _keep_independent(self, run: ImportedRun, row: Row) -> None:
        """Let the first answer of a case count, cached or not; a further one from the cache repeats it."""
        if row.cached is not None and row.outcome.usable:
            first = self._first.setdefault((run.run_id, row.case_id), row.trial_index)
            if row.cached and row.trial_index != first:
                withdraw(row, Outcome.DEGRADED, CACHED)


# The words of the summary; other outcomes go by their own name.
STATUS_WORDS = {Outcome.INFRASTRUCTURE: "error"}


def _chosen(importers: Sequence[Importer], format: str | None) -> Sequence[Importer]:
    chosen = [i for i in importers if format in (None, i.NAME)]
    if not chosen:
        known = ", ".join(i.NAME for i in importers)
        raise UsageError(f"unknown format {format!r}; known: {known}", field="--format")
    return chosen


def _logs(paths: Sequence[Path]) -> Iterator[tuple[Log, bool]]:
    """Yield each file, and whether the caller named it; those of a folder come in the order of their names."""
    for path in paths:
        if not path.exists():
            raise UsageError("is not there", path=path)
        for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
            inside = file.relative_to(path)
            if file == path or not (inside.name.startswith(".") or ".git" in inside.parts):
                yield Log(file), file == path


def _run_id(suite_id: str, key: tuple[str, ...], arm: Arm | None, options: Options) -> str:
    parts = [suite_id, *key, str(arm), options.metric or "", str(options.rescore), str(options.score_range)]
    digest = contract.digest("\0".join(text(part) for part in parts).encode())
    return f"import-{suite_id}-{digest[:12]}"


def _conflict(row: Row, place: _Place) -> str:
    there = f"{place.log.name}: {place.locator}"
    what = f"trial {row.trial_index} of case {row.case_id!r} differs here ({row.locator}) and in {there}"
    return f"{what}; choose with --on-conflict first or last"


def _warn(report: FileReport, sentence: str) -> None:
    if sentence not in report.warnings:
        report.warnings.append(sentence)
