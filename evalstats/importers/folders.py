"""Imported runs into run folders: a manifest and a journal each, as the runner would have left them.

Nothing is put in place before everything has been read: an import that fails leaves nothing behind, and one that
is killed leaves what the next one completes. Importing again adds only what is new.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats.contract import Visibility
from evalstats.errors import DocumentError, JournalError, LogError
from evalstats.importers.finding import ASIDE
from evalstats.importers.found import Found, ImportedRun
from evalstats.importers.logs import Imported
from evalstats.importers.marks import Marks
from evalstats.importers.reading import Reading
from evalstats.importers.rows import AXES
from evalstats.importers.rules import content_digest, plain, takes_over
from evalstats.importers.values import items, mapping
from evalstats.trials import Trial

WAIT_SECONDS = 30.0
_HELD = 20_000  # lines held in memory, of all runs together, before they are written


def pour(reading: Reading, data: Path, *, write: bool = True) -> dict[str, int]:
    """Write trials into the run folders under ``data``; return run id -> how many were new.

    With ``write`` off, only count. Raises LogError when a trial says something else than the one recorded
    before, unless the options of the reading choose one; JournalError when the disk refuses, or another import
    is at work in this folder for long. In every case nothing of this import stays.
    """
    runs, on_conflict = data / "runs", reading.options.on_conflict
    if not write:
        return {spool.run.run_id: spool.added for spool in _spooled(reading, runs, None, on_conflict)}
    try:
        with _made(runs), _alone(runs), tempfile.TemporaryDirectory(prefix=ASIDE, dir=runs) as aside:
            spools = _spooled(reading, runs, Path(aside), on_conflict)
            for spool in spools:
                if spool.pieces:
                    _settle(spool, runs / spool.run.run_id)
            return {spool.run.run_id: spool.added for spool in spools}
    except OSError as error:
        raise JournalError(f"cannot be written: {error.strerror or error}", path=runs) from None


def imported_before(data: Path) -> list[Imported]:
    """Return the files whose trials are in the run folders under ``data``."""
    found = []
    for path in sorted((data / "runs").glob("*/manifest.json")):
        with contextlib.suppress(DocumentError):  # whoever reads the run will name it
            manifest, _ = contract.read_json(path)
            files = items(mapping(mapping(manifest).get("imported")).get("files"))
            found += [Imported(f["bytes"], f["sha256"], f["identity"]) for f in files if "identity" in f]
    return found


@contextlib.contextmanager
def _made(runs: Path) -> Iterator[None]:
    """Make the folder of runs; when what follows fails, take away the folders that were made for it."""
    new = [folder for folder in (runs, *runs.parents) if not folder.exists()]
    runs.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # not empty: somebody else is at work in it
            for folder in new:
                folder.rmdir()
        raise


@contextlib.contextmanager
def _alone(runs: Path) -> Iterator[None]:
    """Be the only import in a folder of runs, and clear away what killed ones have left."""
    fd, deadline = os.open(runs, os.O_RDONLY | os.O_DIRECTORY), time.monotonic() + WAIT_SECONDS
    try:
        while not _locked(fd):
            if time.monotonic() > deadline:
                raise JournalError("another import is at work here; wait for it", path=runs)
            time.sleep(0.05)
        for left in runs.glob(f"{ASIDE}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# --- reading everything, aside --------------------------------------------------------------------


class _Spool:
    """The new trials of one run while it is being read: lines on disk, few in memory."""

    def __init__(self, run: ImportedRun, folder: Path, aside: Path | None) -> None:
        self.run, self.folder, self.added = run, folder, 0
        self.aside = None if aside is None else aside / run.run_id
        self.pieces: list[Path] = []
        self.in_piece = 0
        self.lines: list[bytes] = []
        self.old = journal.read_manifest(folder) if (folder / "manifest.json").exists() else None
        if self.old is not None:
            _check_same(run, self.old, folder)
        self.recorded = Marks()
        for trial in journal.read_trials(folder) if folder.is_dir() else ():
            self.recorded.set(trial.key, _mark(trial))
        self._replaced: set[str] = set()

    def add(self, found: Found, on_conflict: str) -> None:
        """Take a trial, unless it is there already."""
        trial = found.trial
        known = self.recorded.get(trial.key)
        if known is not None:
            if known >> 16 == _mark(trial) >> 16 or not self._replaces(trial, known, on_conflict):
                return
            trial = replace(trial, attempt=max(trial.attempt, (known >> 1 & 0x7FFF) + 1))
            self.recorded.set(trial.key, _mark(trial))
            self.added += trial.key not in self._replaced
            self._replaced.add(trial.key)
        else:
            self.added += found.supersedes is None
        self.lines.append(journal.encode(trial.as_record()))

    def _replaces(self, trial: Trial, known: int, on_conflict: str) -> bool:
        """Return whether a trial takes the place of the recorded one. Raises LogError for a conflict."""
        found = takes_over(
            usable=(bool(known & 1), trial.outcome.usable),
            attempts=(known >> 1 & 0x7FFF, trial.attempt) if self.run.logged.manifest is not None else (1, 1),
            on_conflict=on_conflict,
        )
        if found is None:
            raise _contradiction(trial, self.folder)
        return found

    def flush(self) -> None:
        """Write the lines held so far. Each journal is bounded, for the store takes one in at one go."""
        if self.aside is not None and self.lines:
            self.aside.mkdir(exist_ok=True)
            if not self.pieces or self.in_piece >= _HELD:
                self.pieces.append(self.aside / f"{len(self.pieces):06d}.jsonl")
                self.in_piece = 0
            with self.pieces[-1].open("ab") as file:
                file.writelines(self.lines)
            self.in_piece += len(self.lines)
        self.lines = []


def _mark(trial: Trial) -> int:
    """Return what a recorded trial says, in one number: 48 bits of its digest, its attempt, whether it counts."""
    said = int.from_bytes(content_digest(trial)[:6], "big")
    return said << 16 | min(trial.attempt, 0x7FFF) << 1 | trial.outcome.usable


def _check_same(run: ImportedRun, old: Mapping[str, Any], folder: Path) -> None:
    """Raise LogError when the run is there already as something else."""
    suite, arm = mapping(old.get("suite")).get("id"), old.get("arm")
    if (suite, arm) != (run.suite_id, run.arm):
        path = next(iter(run.files))
        raise LogError(f"run {run.run_id} is in {folder} as arm {arm} of suite {suite}", path=path)


def _contradiction(trial: Trial, folder: Path) -> LogError:
    old = next(each for each in journal.read_trials(folder) if each.key == trial.key)
    there = f"{old.source_path} ({old.source_locator})" if old.source_path else f"run {trial.run_id}"
    what = (
        f"trial {trial.trial_index} of case {trial.case_id!r} was imported before, from {there}, and differs"
    )
    return LogError(
        f"{what}; choose with --on-conflict first or last, or import into another --data folder",
        path=trial.source_path,
        field=trial.source_locator,
    )


def _spooled(reading: Reading, runs: Path, aside: Path | None, on_conflict: str) -> list[_Spool]:
    spools: dict[str, _Spool] = {}
    held = 0
    for found in reading:
        run_id = found.run.run_id
        if run_id not in spools:
            spools[run_id] = _Spool(found.run, runs / run_id, aside)
        spools[run_id].add(found, on_conflict)
        held += 1
        if held >= _HELD:
            held = 0
            for spool in spools.values():
                spool.flush()
    for spool in spools.values():
        spool.flush()
    return list(spools.values())


# --- putting it in place --------------------------------------------------------------------------


def _settle(spool: _Spool, folder: Path) -> None:
    """Put a run in its place: the manifest first, as a run does, then each journal in one move.

    Journals are not forced to disk: should the machine lose one, importing the log again brings it back.
    """
    document = manifest(spool.run, spool.old)
    folder.mkdir(exist_ok=True)
    if document != spool.old:
        journal.write_synced(folder / "manifest.json", journal.encode(document))
    (folder / "journal").mkdir(exist_ok=True)
    names = [path.stem.removeprefix("import-") for path in journal.journals(folder)]
    taken = max([int(name) for name in names if name.isdecimal()], default=0)
    for number, piece in enumerate(spool.pieces, taken + 1):
        piece.rename(folder / "journal" / f"import-{number:04d}.jsonl")


def manifest(run: ImportedRun, old: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the manifest of an imported run (schema ``import-manifest.v1``), with what ``old`` knew already."""
    if run.logged.manifest is not None:  # our own run, which stays what it was
        return dict(old or run.logged.manifest)
    logged, before = run.logged, old or {}
    cases = {
        **before.get("case_hashes", {}),
        **{case: found.hex() for case, found in run.cases.listed.items()},
    }
    asked = cases if run.cases.all_listed else run.cases.digest
    cases = cases if run.cases.all_listed else {}
    hashes = {"scoring": _digest({"cases": asked, "scoring": logged.scoring})}
    document = plain({
        "run_id": run.run_id,
        "group_id": run.group_id,
        "arm": run.arm,
        "axis": AXES[run.arm],
        "mode": "import",
        "suite": {"id": run.suite_id, "visibility": Visibility.PUBLIC_CANARY, "hashes": hashes},
        "cases": list(cases),
        "case_hashes": cases,
        "trials_per_case": max(run.trials_per_case, before.get("trials_per_case", 1)),
        "runtime": {"name": logged.tool, "version": logged.tool_version},
        "model": logged.model,
        "judge_model": logged.judge_model,
        "is_mock": logged.is_mock,
        "cli_version": _version(),
        "created_at": before.get("created_at", run.created_at),
        "imported": _imported(run, before.get("imported", {})),
    })  # fmt: skip
    contract.validate(document, "import-manifest.v1", path=f"run {run.run_id}")
    return dict(document)


def _imported(run: ImportedRun, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return where a run comes from: every file, by path and content, and what was said of them."""
    logged = run.logged
    files = {(file["path"], file["sha256"]): file for file in (*before.get("files", ()), *_files(run))}
    return {
        "created_at": logged.created_at,
        "suite": logged.suite,
        "label": logged.label,
        "files": list(files.values()),
        "facts": logged.facts,
        "warnings": list(dict.fromkeys([*before.get("warnings", ()), *logged.warnings])),
    }


def _digest(content: Any) -> str:
    return contract.canonical_digest(plain(content))


def _files(run: ImportedRun) -> Iterator[dict[str, Any]]:
    for path, log in run.files.items():
        yield {"path": path, "sha256": log.sha256, "bytes": log.size, "identity": log.identity}


def _version() -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("evalstats-notebooks")
    return None
