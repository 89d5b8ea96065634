"""Imported runs into run folders: a manifest and a journal each, as the runner would have left them.

Nothing is put in place before everything has been read: an import that fails leaves nothing behind. Importing
again adds only what is new.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats.contract import Visibility
from evalstats.errors import JournalError, LogError
from evalstats.importers.reading import Found, ImportedRun
from evalstats.importers.rows import AXES
from evalstats.importers.rules import content_digest
from evalstats.trials import Trial

_BATCH = 1_000  # lines held per run before they are written


def pour(found: Iterable[Found], data: Path) -> dict[str, int]:
    """Write trials into the run folders under ``data``; return run id -> how many were new.

    Raises LogError when a trial says something else than the one recorded before, and JournalError when the
    disk refuses; in both cases nothing of this import stays.
    """
    runs = data / "runs"
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=runs) as temporary:
            return _settled(_spooled(found, Path(temporary)), runs)
    except OSError as error:
        raise JournalError(f"cannot be written: {error.strerror or error}", path=runs) from None


class _Spool:
    """The journal of one run while it is being read: lines on disk, few in memory."""

    def __init__(self, run: ImportedRun, folder: Path, data_runs: Path) -> None:
        self.run = run
        self.path = folder / f"{run.run_id}.jsonl"
        self.recorded = {t.key: content_digest(t) for t in _recorded(data_runs / run.run_id)}
        self.superseded = False
        self.lines: list[bytes] = []

    def add(self, found: Found) -> None:
        trial = found.trial
        known = self.recorded.get(trial.key)
        if known is not None:
            if known != content_digest(trial):
                raise _contradiction(trial)
            return
        self.superseded |= found.supersedes
        self.lines.append(journal.encode(trial.as_record()))
        if len(self.lines) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        with self.path.open("ab") as file:
            file.writelines(self.lines)
        self.lines = []


def _recorded(folder: Path) -> Iterator[Trial]:
    return journal.read_trials(folder) if folder.is_dir() else iter(())


def _contradiction(trial: Trial) -> LogError:
    what = f"trial {trial.trial_index} of case {trial.case_id!r} was imported before and said something else"
    return LogError(
        f"{what} (run {trial.run_id}); import into another --data folder",
        path=trial.source_path,
        field=trial.source_locator,
    )


def _spooled(found: Iterable[Found], temporary: Path) -> list[_Spool]:
    spools: dict[str, _Spool] = {}
    for each in found:
        spool = spools.get(each.run.run_id)
        if spool is None:
            spool = spools[each.run.run_id] = _Spool(each.run, temporary, temporary.parent)
        spool.add(each)
    for spool in spools.values():
        spool.flush()
    return list(spools.values())


def _settled(spools: list[_Spool], runs: Path) -> dict[str, int]:
    """Put each journal in its place, the manifest first, as a run does."""
    added = {}
    for spool in spools:
        lines = _last_of_each(spool) if spool.superseded else spool.path
        with lines.open("rb") as file:
            added[spool.run.run_id] = sum(1 for _ in file)
        if not added[spool.run.run_id]:
            continue
        folder = runs / spool.run.run_id
        (folder / "journal").mkdir(parents=True, exist_ok=True)
        if not (folder / "manifest.json").exists():
            journal.write_synced(folder / "manifest.json", journal.encode(manifest(spool.run)))
        number = len(journal.journals(folder)) + 1
        target = folder / "journal" / f"import-{number:04d}.jsonl"
        shutil.move(lines, target)
        journal.sync_file(target)
    return added


def _last_of_each(spool: _Spool) -> Path:
    """Return the spool with only the last line of each trial."""
    last: dict[str, int] = {}
    with spool.path.open("rb") as file:
        for number, line in enumerate(file):
            last[contract.parse_json(line.decode())["key"]] = number
    kept, target = set(last.values()), spool.path.with_suffix(".kept")
    with spool.path.open("rb") as file, target.open("wb") as out:
        out.writelines(line for number, line in enumerate(file) if number in kept)
    return target


def manifest(run: ImportedRun) -> dict[str, Any]:
    """Return the manifest of an imported run (schema ``import-manifest.v1``)."""
    logged = run.logged
    document = {
        "run_id": run.run_id,
        "group_id": run.group_id,
        "arm": run.arm,
        "axis": AXES[run.arm],
        "mode": "import",
        "suite": {
            "id": run.suite_id,
            "visibility": Visibility.PUBLIC_CANARY,
            "hashes": {"scoring": run.scoring_digest},
        },
        "cases": list(run.cases),
        "case_hashes": run.cases,
        "trials_per_case": run.trials_per_case,
        "runtime": {"name": logged.tool, "version": logged.tool_version},
        "model": logged.model,
        "judge_model": logged.judge_model,
        "is_mock": logged.is_mock,
        "cli_version": _version(),
        "created_at": run.created_at,
        "imported": {
            "created_at": logged.created_at,
            "suite": logged.suite,
            "files": [{"path": path, "sha256": digest} for path, digest in run.files.items()],
            "facts": logged.facts,
            "warnings": logged.warnings,
        },
    }
    contract.validate(document, "import-manifest.v1", path=f"run {run.run_id}")
    return document


def _version() -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("evalstats-notebooks")
    return None
