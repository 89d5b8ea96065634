"""Do suites and their baselines still belong together?

The audit reads every suite below one folder and every baseline, and is never stopped by one bad file. It answers
in lists, one for each kind of finding; a file may stand in several. A suite may lack its baseline, have one that
its policy does not want, or have changed since (:mod:`evalstats.governance.staleness`); a baseline may belong to
no suite, speak of another suite than its name does, or lie where nothing looks for it.

Private suites and their baselines are counted and passed over: nothing of them is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import UsageError
from evalstats.governance.audit_inputs import Entry, File, Names, read_baselines, read_suites
from evalstats.governance.audit_record import Audit, Bare, Finding, Kind, Severity
from evalstats.governance.git_history import old_files
from evalstats.governance.staleness import SAME_FILE, Layer, Staleness, needs_history, staleness_of

_HARMLESS = (Layer.FORMATTING, Layer.METADATA)  # nothing that a score or a verdict depends on has changed


def audit_baselines(folder: Path, baselines: Path | None = None, *, git: bool = False) -> Audit:
    """Hold every suite below ``folder`` against its baseline, and every baseline against its suite.

    Parameters
    ----------
    folder : Path
        Folder of suites.
    baselines : Path, optional
        Flat folder of baselines; without it each suite says where its own lies.
    git : bool
        Look the old suite file up in the git history where a baseline records nothing but its digest.

    Raises UsageError when a folder is not there, or holds no suite at all.
    """
    for place in (folder, *([baselines] if baselines else [])):
        if not place.is_dir():
            raise UsageError("no such folder", path=place)
    every = read_suites(folder, baselines)
    if not every:
        raise UsageError("no suite below this folder", path=folder)
    entries = [entry for entry in every if not entry.private]
    hidden = {entry.id for entry in every if entry.private}
    found = read_baselines(folder, baselines, every)
    files = {file.path: file for file in found if not file.concerns(hidden)}
    pairs, notes = _pairs(entries, files, folder if git else None)
    return _audit(
        folder, pairs, files.values(), Names.of(folder, baselines), len(every) - len(entries), notes
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A suite and the baseline that lies where the suite looks for it; ``staleness`` where both can be read."""

    entry: Entry
    file: File | None
    staleness: Staleness | None = None

    @property
    def misnamed(self) -> bool:
        baseline = self.file.baseline if self.file else None
        return baseline is not None and baseline.suite_id != self.entry.id


# --- suites and what lies where they look -----------------------------------------------------------


def _pairs(
    entries: Iterable[Entry], files: Mapping[Path, File], history: Path | None
) -> tuple[list[_Pair], tuple[str, ...]]:
    """Return each suite with its baseline, and what must be said of the search of the ``history``."""
    bare = [_Pair(entry=e, file=files.get(e.location) if e.location else None) for e in entries]
    old, notes = _old_files(bare, history) if history else ({}, ())
    return [_Pair(entry=p.entry, file=p.file, staleness=_staleness(p, old)) for p in bare], notes


def _old_files(pairs: Iterable[_Pair], folder: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    wanted, names = set(), set()
    for pair in pairs:
        suite, baseline = pair.entry.suite, pair.file.baseline if pair.file else None
        if suite and baseline and needs_history(suite, baseline):
            wanted.add(baseline.raw)
            names.add(suite.path.name)
    try:
        return (old_files(folder, wanted, names) if wanted else {}), ()
    except UsageError as error:
        return {}, (error.message,)


def _staleness(pair: _Pair, old: Mapping[str, bytes]) -> Staleness | None:
    baseline = pair.file.baseline if pair.file else None
    if baseline is None or pair.misnamed:
        return None
    suite = pair.entry.suite
    if suite is None:
        same = baseline.raw == contract.digest(pair.entry.raw)
        return SAME_FILE if same else Staleness(Layer.UNKNOWN, (), "the suite breaks its schema")
    try:
        return staleness_of(suite, baseline, old.get(baseline.raw))
    except OSError:
        return Staleness(Layer.UNKNOWN, (), "a fixture cannot be read")


# --- findings --------------------------------------------------------------------------------------


def _audit(
    folder: Path,
    pairs: Collection[_Pair],
    files: Collection[File],
    name: Names,
    private_count: int,
    notes: tuple[str, ...],
) -> Audit:
    entries = [pair.entry for pair in pairs]
    looked_at = {entry.location for entry in entries}
    strays = [file for file in files if file.path not in looked_at]
    findings = [
        *(finding for pair in pairs for finding in _of_pair(pair, name)),
        *(finding for file in strays for finding in _of_stray(file, entries, name)),
        *(finding for file in files for finding in _of_file(file, name)),
        *_of_documents(entries, name),
    ]
    return Audit(
        suites=name(folder),
        suite_count=len(entries),
        case_count=sum(len(entry.suite.cases) for entry in entries if entry.suite),
        baseline_count=sum(file.named is not None or file.path in looked_at for file in files),
        mock_count=sum(file.is_mock for file in files),
        private_count=private_count,
        findings=tuple(sorted(findings, key=_in_order)),
        without_baseline=tuple(Bare(**_about(pair.entry, name)) for pair in pairs if pair.file is None),
        layers=Counter(pair.staleness.layer for pair in pairs if pair.staleness),
        inputs={
            "suites": contract.canonical_digest([[name(e.path), contract.digest(e.raw)] for e in entries]),
            "baselines": contract.canonical_digest([[name(file.path), file.sha256] for file in files]),
        },
        notes=notes,
    )


def _in_order(finding: Finding) -> tuple[int, str, str]:
    return list(Kind).index(finding.kind), finding.suite_id or "", finding.baseline_path or ""


def _about(entry: Entry, name: Names) -> dict[str, Any]:
    return {"suite_id": entry.id, "suite_path": name(entry.path), "mode": entry.mode}


def _of_pair(pair: _Pair, name: Names) -> Iterator[Finding]:
    """Yield what is wrong with a suite and what lies, or does not lie, where it looks for its baseline."""
    entry, file = pair.entry, pair.file
    about = _about(entry, name)
    if file is None:
        if entry.mode == "compare":
            severity = Severity.ERROR if entry.blocks else Severity.WARNING
            yield Finding(kind=Kind.MISSING, severity=severity, problem=_expected(entry, name), **about)
        return
    about["baseline_path"] = name(file.path)
    if entry.mode == "none":
        yield Finding(kind=Kind.UNEXPECTED, severity=Severity.WARNING, **about)
    if file.baseline is None:
        return
    if pair.misnamed:
        problem = f"its record is of {file.baseline.suite_id}"
        yield Finding(kind=Kind.MISNAMED, severity=Severity.ERROR, problem=problem, **about)
    if pair.staleness is not None and pair.staleness.layer is not Layer.FRESH:
        yield Finding(
            kind=Kind.STALE,
            severity=_stale_severity(pair.staleness.layer, blocks=entry.blocks),
            expected_sha=file.baseline.raw,
            actual_sha=contract.digest(entry.raw),
            staleness=pair.staleness,
            **about,
        )


def _expected(entry: Entry, name: Names) -> str:
    return f"no file {name(entry.location)}" if entry.location else "its policy names no usable path"


def _stale_severity(layer: Layer, *, blocks: bool) -> Severity:
    """Return how bad it is that this layer changed: a gate must not stand on runs of another suite."""
    if layer in _HARMLESS:
        return Severity.INFO
    return Severity.ERROR if blocks and layer is not Layer.POLICY else Severity.WARNING


def _of_stray(file: File, entries: Iterable[Entry], name: Names) -> Iterator[Finding]:
    """Yield what is wrong with a baseline that lies where no suite looks."""
    known = {entry.id: entry for entry in entries}
    recorded = file.baseline.suite_id if file.baseline else None
    path = name(file.path)
    if file.named is not None and file.named not in known:
        yield Finding(kind=Kind.ORPHAN, severity=Severity.WARNING, suite_id=file.named, baseline_path=path)
    if file.named is not None and recorded not in (None, file.named):
        yield Finding(
            kind=Kind.MISNAMED,
            severity=Severity.ERROR,
            suite_id=file.named,
            baseline_path=path,
            problem=f"its record is of {recorded}",
        )
    owner = known.get(recorded) or known.get(file.named)
    if owner is not None:
        yield Finding(
            kind=Kind.SHADOWED,
            severity=Severity.WARNING,
            baseline_path=path,
            problem=_looks(owner, name),
            **_about(owner, name),
        )


def _looks(owner: Entry, name: Names) -> str:
    return f"its suite looks at {name(owner.location)}" if owner.location else "its suite looks nowhere"


def _of_file(file: File, name: Names) -> Iterator[Finding]:
    if file.problem is not None:
        yield Finding(
            kind=Kind.UNLOADABLE,
            severity=Severity.ERROR,
            suite_id=file.named,
            baseline_path=name(file.path),
            problem=file.problem,
        )


def _of_documents(entries: Iterable[Entry], name: Names) -> Iterator[Finding]:
    """Yield the suites that break their schema, and those that share their id with an earlier one."""
    first: dict[str, Entry] = {}
    for entry in entries:
        earlier = first.setdefault(entry.id, entry) if entry.id is not None else entry
        problem = entry.problem
        if problem is None and earlier is not entry:
            problem = f"its id is also that of {name(earlier.path)}"
        if problem is not None:
            about = _about(entry, name)
            yield Finding(kind=Kind.INVALID_SUITE, severity=Severity.ERROR, problem=problem, **about)
