"""From paths to trials: find the files, recognise them, and hold every row to one set of rules.

The rules: a score that is no finite number within its range becomes NULL with a reason; a cached answer is no
second look; the same trial told twice counts once, and told differently is an error that names both places.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import Arm, Outcome
from evalstats.errors import EvalstatsError, LogError, UsageError
from evalstats.importers.finding import logs
from evalstats.importers.found import FileReport, Found, ImportedRun
from evalstats.importers.logs import Imported, Log, Refused
from evalstats.importers.marks import Marks
from evalstats.importers.rows import Importer, LoggedRun, Options, Row
from evalstats.importers.rules import (
    NAIVE,
    canonical,
    fingerprint,
    hold,
    moment,
    slug,
    takes_over,
    text,
    withdraw,
)
from evalstats.trials import timestamp

CACHED = "answered from a cache: no independent look at the subject"
UNKNOWN = "no known format"
_OTHER_ENCODINGS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # and UTF-32, which begins like the first


# What was told of a trial last, in one number: file, outcome, attempt and a fingerprint.
_OUTCOMES = tuple(Outcome)
_PLACES = {outcome: place << 44 for place, outcome in enumerate(_OUTCOMES)}
_MOST = 2**16 - 1  # files that are told apart


def _packed(row: Row, file: int) -> int:
    """Return all of it; ``file`` stands in its place already."""
    attempt = row.attempt if row.attempt < 255 else 255
    return file | _PLACES[row.outcome] | attempt << 36 | fingerprint(row) & (2**36 - 1)


def _unpacked(packed: int) -> tuple[int, Outcome, int, int]:
    """Return (file, outcome, attempt, fingerprint)."""
    return packed >> 48, _OUTCOMES[packed >> 44 & 15], packed >> 36 & 255, packed & (2**36 - 1)


class Reading:
    """Reads files as an iterator over `Found` trials; ``files`` and ``runs`` are complete when it is exhausted."""

    def __init__(
        self,
        paths: Sequence[Path],
        options: Options,
        importers: Sequence[Importer],
        *,
        format: str | None = None,
        imported: Sequence[Imported] = (),
        data: Path | None = None,
    ) -> None:
        self.options = options
        self.importers = _chosen(importers, format)
        self.forced = format is not None
        self.paths = paths
        self.files: list[FileReport] = []
        self.runs: dict[str, ImportedRun] = {}
        self._imported, self._data = imported, data
        self._file_mark = 0  # of the file that is being read
        self._told = Marks()  # of each trial
        self._first = Marks()  # of each case with cached answers, the trial that was answered first

    def __iter__(self) -> Iterator[Found]:
        for log, named, why in logs(self.paths, self._imported, self._data):
            yield from self._file(log, named=named, refusal=why)
        if not any(file.format or file.refused for file in self.files):
            raise UsageError(
                "nothing here is a log of a known format; name one with --format", path=self.paths[0]
            )

    def _file(self, log: Log, *, named: bool, refusal: Refused | None) -> Iterator[Found]:
        report = FileReport(path=log.name, format=None, why=UNKNOWN)
        self._file_mark = min(len(self.files), _MOST) << 48
        self.files.append(report)
        try:
            if refusal is not None:
                raise refusal
            importer = self._recognised(log, report)
            if importer is not None:
                yield from self._rows(log, importer, report)
            elif named and log.head.startswith(_OTHER_ENCODINGS):
                raise log.not_utf8()
            elif named:
                raise log.error(f"{UNKNOWN}; name the format with --format")
        except Refused as error:
            if named:
                raise
            report.refused, report.why = True, error.message
        finally:
            log.close()

    def _recognised(self, log: Log, report: FileReport) -> Importer | None:
        for importer in self.importers:
            try:
                why = "as asked" if self.forced else importer.sniff(log)
            except LogError as error:  # a torn archive, say: inside a folder it is named and left out
                raise log.refused(error.message) from None
            if why is not None:
                report.format, report.why = importer.NAME, why
                return importer
        return None

    def _rows(self, log: Log, importer: Importer, report: FileReport) -> Iterator[Found]:
        met: dict[LoggedRun, ImportedRun] = {}
        seen = _Seen(self.options)
        for logged, row in _told_by(importer, log, self.options):
            run = met.get(logged)
            if run is None:
                run = met[logged] = self._run(logged, log)
            if row is not None:
                found = self._trial(run, row, log, report)
                seen.meet(row)
                if found is not None:
                    yield found
        report.suites = sorted({run.suite_id for run in met.values()})
        report.runs, report.cases = len({run.run_id for run in met.values()}), len(seen.cases)
        for logged in met:
            report.declared += logged.declared()
            for note in logged.warnings:
                report.warn(note)
        for note in seen.notes(log, report):
            report.warn(note)

    def _run(self, logged: LoggedRun, log: Log) -> ImportedRun:
        new = _named(logged, self.options)
        run = self.runs.setdefault(new.run_id, new)
        if run is new:
            created, _ = moment(logged.created_at)
            if created is None:
                created = timestamp(datetime.fromtimestamp(log.path.stat().st_mtime, UTC))
                logged.warn("the log names no time; the run is dated by its file")
            run.created_at = created
        run.files[log.name] = log
        return run

    def _trial(self, run: ImportedRun, row: Row, log: Log, report: FileReport) -> Found | None:
        """Return a row that counts; None for one that says again what was said, or yields to what was."""
        self._hold(run, row, log, report)
        key, before = (run.run_id, row.case_id, row.trial_index), None
        now = _packed(row, self._file_mark)
        seen = self._told.add(key, now)
        if seen is not None:
            file, before, attempt, told = _unpacked(seen)
            if told == _unpacked(now)[-1] or not self._takes_over(run, row, seen, log):
                report.duplicates += 1
                return None
            self.files[min(file, len(self.files) - 1)].count(before, -1)
            report.replaced += 1
            row.attempt = max(row.attempt, attempt + 1)
            self._told.set(key, _packed(row, self._file_mark))
        report.count(row.outcome, 1)
        run.trials_per_case = max(run.trials_per_case, row.trial_index)
        return Found(run, row, log, before)

    def _takes_over(self, run: ImportedRun, row: Row, seen: int, log: Log) -> bool:
        """Return whether a row takes the place of one that was told before. Raises LogError for a conflict."""
        file, outcome, attempt, _ = _unpacked(seen)
        found = takes_over(
            usable=(outcome.usable, row.outcome.usable),
            attempts=(attempt, row.attempt) if run.logged.manifest is not None else (1, 1),
            on_conflict=self.options.on_conflict,
        )
        if found is None:
            there = self._where(run, row, self.files[file].path, log)
            what = (
                f"trial {row.trial_index} of case {row.case_id!r} differs here ({row.locator}) and in {there}"
            )
            raise log.error(f"{what}; choose with --on-conflict first or last")
        return found

    def _where(self, run: ImportedRun, row: Row, path: str, log: Log) -> str:
        """Return where a trial was told before, by reading that file again: no place is kept for each trial."""
        there, place = run.files[path], "an earlier row"
        importer = self._recognised(there, FileReport(path=path, format=None, why=""))
        for logged, other in importer.read(there, self.options) if importer else ():
            if other is None or _named(logged, self.options).run_id != run.run_id:
                continue
            hold(other, self.options)
            if (other.case_id, other.trial_index) == (row.case_id, row.trial_index):
                if there is log and other.locator == row.locator:
                    break
                place = other.locator
        return f"{path} ({place})"

    def _hold(self, run: ImportedRun, row: Row, log: Log, report: FileReport) -> None:
        hold(row, self.options)
        if not row.case_id or not 1 <= row.trial_index < 2**53:
            raise log.error("a case needs an id, and its trials count from 1", field=row.locator)
        if row.started_at is not None and moment(row.started_at)[1] == NAIVE:
            report.warn("times without a zone are taken as UTC and marked naive")
        if row.content is not None or row.case_id not in run.cases:
            same = run.cases.note(row.case_id, _digest(row.case_id if row.content is None else row.content))
            if not same:
                report.warn("a case asks different things in different rows; is its id the right key?")
        if row.cached is not None and row.outcome.usable:
            # The first answer of a case counts, cached or not; a further one from the cache repeats it.
            first = self._first.get((run.run_id, row.case_id))
            if first is None:
                self._first.set((run.run_id, row.case_id), row.trial_index)
            elif row.cached and row.trial_index != first:
                withdraw(row, Outcome.DEGRADED, CACHED)


class _Seen:
    """What the rows of one file have in common, for its report."""

    def __init__(self, options: Options) -> None:
        self._metric, self._cluster_key = options.metric, options.cluster_key
        self.cases, self._scores, self._grouped = Marks(), set[str](), False
        self._last: str | None = None

    def meet(self, row: Row) -> None:
        if row.case_id != self._last:  # the trials of a case mostly stand together
            self._last = row.case_id
            self.cases.set(row.case_id, 1)
        if row.archetype is not None:
            self._grouped = True
        if self._metric is not None:
            self._scores.update(row.scores)

    def notes(self, log: Log, report: FileReport) -> Iterator[str]:
        """Yield what a person should know: what was asked for in vain, and what the file turned out to be."""
        if not self.cases:
            yield "holds no trials"
        if report.replaced:
            yield f"trials that took the place of ones told before: {report.replaced}"
        if log.has_grown:
            yield "begins with a log that was imported before: the same run, grown"
        if self._scores and self._metric not in self._scores:
            yield f"no score is called {self._metric}; there are {', '.join(sorted(self._scores)[:10])}"
        if self.cases and self._cluster_key is not None and not self._grouped:
            yield f"nothing stands at {self._cluster_key}: the cases are in no groups"


def _told_by(importer: Importer, log: Log, options: Options) -> Iterator[tuple[LoggedRun, Row | None]]:
    """Yield what an importer reads; whatever it stumbles over becomes an error that names the file."""
    try:
        yield from importer.read(log, options)
    except EvalstatsError:
        raise
    except Exception as error:  # perhaps somebody else's code, and in any case a log it was not made for
        kind = type(error).__name__
        raise log.error(
            f"cannot be read as {importer.NAME}: it is not as that format promises ({kind})"
        ) from error


def _named(logged: LoggedRun, options: Options) -> ImportedRun:
    """Return a run with the names it goes by here, and nothing in it."""
    if logged.manifest is not None:  # our own: it stays what it is
        known = logged.manifest
        group = str(known.get("group_id") or known["run_id"])
        return ImportedRun(str(known["run_id"]), group, logged.suite, logged.arm, logged, "")
    arm = options.arm or logged.arm
    suite_id = slug(options.suite or logged.suite)
    run_id = _run_id(suite_id, logged.key, arm, options)
    group = run_id if logged.group is None else _run_id(suite_id, logged.group, None, options)
    return ImportedRun(run_id, group, suite_id, arm, logged, "")


def _run_id(suite_id: str, key: tuple[str, ...], arm: Arm | None, options: Options) -> str:
    parts = [suite_id, *key, str(arm), options.metric or "", str(options.rescore), str(options.score_range)]
    return f"import-{suite_id}-{contract.digest(canonical([text(part) for part in parts]))[:12]}"


def _digest(content: Any) -> bytes:
    return hashlib.sha256(canonical(content)).digest()


def _chosen(importers: Sequence[Importer], format: str | None) -> Sequence[Importer]:
    chosen = [i for i in importers if format in (None, i.NAME)]
    if not chosen:
        known = ", ".join(i.NAME for i in importers)
        raise UsageError(f"unknown format {format!r}; known: {known}", field="--format")
    return chosen
