"""What can be compared: log files and folders, runs of the store, arms of a suite; each becomes a side."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats.contract import Arm, Outcome
from evalstats.errors import UsageError

if TYPE_CHECKING:
    from evalstats.estimates.sides import Side
    from evalstats.importers import FileReport, Found, ImportedRun, Options

_Trial = tuple[str, str, int]  # run, case, trial index


@dataclass(slots=True)
class _Case:
    """One case of one source: counts of trials, sums of scores, and the digest of what it asks."""

    asks: str | None
    archetype: str | None
    n_trials: int = 0
    n_usable: int = 0
    n_passed: int = 0
    score_sum: float = 0.0
    first: float | None = None
    varies: bool = False


@dataclass(slots=True)
class Source:
    """One of the things compared, with what may be wrong with it."""

    name: str
    suite: str = ""
    cases: dict[str, _Case] = field(default_factory=dict)
    runs: set[str] = field(default_factory=set)
    n_infrastructure: int = 0
    is_mock: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def n_trials(self) -> int:
        """Return how many trials were recorded, whatever came of them."""
        return sum(case.n_trials for case in self.cases.values())

    @property
    def n_usable(self) -> int:
        """Return how many trials carry a score."""
        return sum(case.n_usable for case in self.cases.values())

    @property
    def never_varies(self) -> bool:
        """Return whether some case was tried twice and no case ever gave two different scores."""
        repeated = [case for case in self.cases.values() if case.n_usable > 1]
        return bool(repeated) and not any(case.varies for case in repeated)

    def side(self, *, clustered: bool) -> Side:
        """Return the source as a side of a comparison."""
        import numpy as np

        from evalstats.estimates.sides import Side

        cases = list(self.cases.values())
        archetypes = [case.archetype for case in cases]
        return Side(
            name=self.name,
            cases=list(self.cases),
            n_trials=np.array([case.n_trials for case in cases], dtype=np.int64),
            n_usable=np.array([case.n_usable for case in cases], dtype=np.int64),
            n_passed=np.array([case.n_passed for case in cases], dtype=np.int64),
            score_sum=np.array([case.score_sum for case in cases], dtype=np.float64),
            archetypes=archetypes,
            clusters=np.array([str(a) for a in archetypes]) if clustered else None,
        )


def gather(names: Sequence[str], options: Options, *, format: str | None, store: Path) -> list[Source]:
    """Return a source for each side that the names stand for, in their order.

    A name is ``NAME=PATH`` or a path of importable files, ``SUITE@ARM``, or the id of a run in the store. One path
    may hold several sides. Raises UsageError for a name that is none of these.
    """
    gc.disable()  # rows come and go in their ten thousands, none of them in a circle
    atexit.register(gc.freeze)  # nor is all that was loaded looked through for circles when the process ends
    sources: list[Source] = []
    for name in names:
        label, path = _path(name)
        if path is not None:
            sources += _of_files(path, label, options, format)
        elif "@" in name:
            sources.append(_of_arm(name, store))
        else:
            sources.append(_of_run(name, store))
    return _told_apart(sources)


def _path(name: str) -> tuple[str | None, Path | None]:
    if Path(name).exists():
        return None, Path(name)
    label, mark, rest = name.partition("=")
    if mark and Path(rest).exists():
        return label, Path(rest)
    return None, None


# --- from files -----------------------------------------------------------------------------------


def _of_files(path: Path, label: str | None, options: Options, format: str | None) -> list[Source]:
    from evalstats import importers

    reading = importers.read([path], options, format=format)
    found, retried = _counted(reading, label)
    if retried:  # their first attempts were counted too: once more, now that they are known
        reading = importers.read([path], options, format=format)
        found, _ = _counted(reading, label, retried)
    if not found:
        raise UsageError("holds no trials", path=path)
    if len(found) == 1 and label is None:
        found[0].name = path.stem
    for source in found:
        source.notes += _notes(reading.files)
    return found


def _counted(
    reading: Iterable[Found], label: str | None, retried: Collection[_Trial] = ()
) -> tuple[list[Source], set[_Trial]]:
    """Return the sides found, and the trials that were told again; of the ``retried``, the last attempt counts."""
    found: dict[tuple[str, str], Source] = {}
    of_run: dict[ImportedRun, Source] = {}
    told_again: set[_Trial] = set()
    last: dict[_Trial, tuple[Source, Found]] = {}
    for each in reading:
        source = of_run.get(each.run)
        if source is None:
            key = ("", label) if label is not None else _key(each.run)
            source = found.setdefault(key, Source(label or key[1], suite=each.run.suite_id))
            of_run[each.run] = source
            _note_run(source, each.run)
        if each.supersedes is not None:
            told_again.add(_trial(each))
        if retried and _trial(each) in retried:
            last[_trial(each)] = source, each
        else:
            _count(source, each)
    for source, each in last.values():
        _count(source, each)
    return list(found.values()), told_again


def _trial(found: Found) -> _Trial:
    return found.run.run_id, found.row.case_id, found.row.trial_index


def _key(run: ImportedRun) -> tuple[str, str]:
    """Return what tells the sides in one file apart: the suite, and model, label and arm where they say something."""
    parts = [run.logged.label or run.logged.model or "", "" if run.arm is Arm.CANDIDATE else str(run.arm)]
    return run.suite_id, " ".join(part for part in parts if part) or run.suite_id


def _note_run(source: Source, run: ImportedRun) -> None:
    source.runs.add(run.run_id)
    source.is_mock |= run.logged.is_mock


def _notes(files: Sequence[FileReport]) -> list[str]:
    notes = [f"{Path(file.path).name}: {note}" for file in files if file.format for note in file.warnings]
    wrong = [(file, d) for file in files for d in file.declared if not d.agrees]
    return notes + [f"{Path(f.path).name}: says {d.name} {d.declared:.6g}, its rows do not" for f, d in wrong]


def _count(source: Source, found: Found) -> None:
    row = found.row
    case = source.cases.get(row.case_id)
    if case is None:
        asks = found.run.cases.get(row.case_id)
        case = source.cases[row.case_id] = _Case(asks, row.archetype)
    case.n_trials += 1
    score = row.score
    if score is not None:
        case.n_usable += 1
        case.score_sum += score
        case.n_passed += row.passed if row.passed is not None else score == 1.0
        if case.first is None:
            case.first = score
        elif score != case.first:
            case.varies = True
    elif row.outcome is Outcome.INFRASTRUCTURE:
        source.n_infrastructure += 1


# --- from the store -------------------------------------------------------------------------------


def _of_arm(name: str, store: Path) -> Source:
    suite, _, arm = name.rpartition("@")
    if arm not in list(Arm):
        raise UsageError(f"is neither a path nor SUITE@ARM; arms: {', '.join(Arm)}", field=name)
    from evalstats import store as warehouse

    with warehouse.open(store, read_only=True) as opened:
        return _of_frame(name, opened.case_runs(suite, arm=arm), opened.case_hashes(suite))


def _of_run(name: str, store: Path) -> Source:
    from evalstats import store as warehouse

    if not store.exists():
        raise UsageError("is neither a path, nor SUITE@ARM, nor a run: there is no store here", field=name)
    with warehouse.open(store, read_only=True) as opened:
        runs = opened.runs()
        mine = runs[runs["run_id"] == name]
        if mine.empty:
            raise UsageError("is neither a path, nor SUITE@ARM, nor the id of a run in the store", field=name)
        suite = str(mine["suite_id"].iloc[0])
        return _of_frame(name, opened.case_runs(suite, run_ids=[name]), opened.case_hashes(suite))


def _of_frame(name: str, case_runs: Any, hashes: Any) -> Source:
    source = Source(name)
    asks = {(h["run_id"], h["case_id"]): h["case_hash"] for h in hashes.to_dict("records")}
    for row in _records(case_runs):
        source.suite = row["suite_id"]
        source.runs.add(row["run_id"])
        source.is_mock |= bool(row["is_mock"]) if row["is_mock"] == row["is_mock"] else False
        source.n_infrastructure += row["n_infrastructure"]
        archetype = row["archetype"] if isinstance(row["archetype"], str) else None
        case = source.cases.setdefault(
            row["case_id"], _Case(asks.get((row["run_id"], row["case_id"])), archetype)
        )
        _add(case, row)
    if not source.cases:
        raise UsageError("has no trials in the store", field=name)
    return source


def _records(frame: Any) -> Iterator[Mapping[str, Any]]:
    yield from frame.to_dict("records")


def _add(case: _Case, row: Mapping[str, Any]) -> None:
    case.n_trials += row["n_trials"]
    case.n_usable += row["n_usable"]
    case.n_passed += row["n_passed"]
    case.score_sum += row["score_sum"]
    if row["n_usable"]:
        mean = row["score_sum"] / row["n_usable"]
        spread = row["score_sumsq"] / row["n_usable"] - mean**2 > 1e-12
        case.first = mean if case.first is None else case.first
        case.varies |= spread or mean != case.first


# --- names ----------------------------------------------------------------------------------------


def _told_apart(sources: list[Source]) -> list[Source]:
    """Give sides of one name different ones, and leave out of each pair the cases that ask different things."""
    taken: dict[str, int] = {}
    for source in sources:
        taken[source.name] = taken.get(source.name, 0) + 1
        if taken[source.name] > 1:
            source.name = f"{source.name} ({taken[source.name]})"
    return sources


def asked_differently(sources: Sequence[Source]) -> list[str]:
    """Return the ids of the cases that do not ask the same wherever they stand."""
    asked: dict[str, set[str]] = {}
    for source in sources:
        for case_id, case in source.cases.items():
            if case.asks is not None:
                asked.setdefault(case_id, set()).add(case.asks)
    return sorted(case_id for case_id, digests in asked.items() if len(digests) > 1)
