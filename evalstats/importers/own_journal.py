"""Our own journals, from another machine or another data folder: the run stays what it is, id and all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstats import journal
from evalstats.contract import Visibility
from evalstats.errors import JournalError
from evalstats.importers.logs import Log
from evalstats.importers.rows import AXES, Item, LoggedRun, Options, Row
from evalstats.importers.values import mapping, text
from evalstats.trials import Trial

NAME = "journal"
_SAME = tuple(name for name in Row.__slots__ if name not in ("locator", "scores", "content", "about", "ours"))


def sniff(log: Log) -> str | None:
    """Recognise the kind and the key on the first line."""
    first = {} if log.is_array else log.first
    return "a journal of trials" if first.get("kind") == "trial" and "key" in first else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield each trial of a journal; a torn last line needs ``--allow-truncated``, as everywhere."""
    runs: dict[str, LoggedRun] = {}
    cut: list[str] = []
    for line, raw in log.lines():
        if not raw.endswith(b"\n"):
            log.cut(line, cut, allow_truncated=options.allow_truncated, reason="has no line end")
            break
        try:
            trial = journal.parse_trial(raw, log.path, line)
        except JournalError as error:
            raise log.error(error.message, line=line, field=error.field) from None
        if type(trial.attempt) is not int:  # to a schema, 1.0 is an integer
            raise log.error("must be a whole number", line=line, field="/attempt")
        if trial.run_id not in runs:
            manifest = _manifest(log, trial)
            runs[trial.run_id] = run_of(log, trial, manifest, options)
        run = runs[trial.run_id]
        if (trial.suite_id, trial.arm) != (run.suite, run.arm):
            raise log.error("is of another suite or arm than its run", line=line)
        yield run, row_of(trial, f"line {line}", run)
    for run in runs.values():
        run.warnings += cut


def row_of(trial: Trial, locator: str, run: LoggedRun) -> Row:
    """Return a trial of our own as a row, with the trial itself."""
    row = Row(**{name: getattr(trial, name) for name in _SAME}, locator=locator, ours=trial)
    row.scores = trial.dimension_scores
    row.content = mapping(mapping(run.manifest).get("case_hashes")).get(trial.case_id)
    return row


def run_of(log: Log, trial: Trial, manifest: Mapping[str, Any], options: Options) -> LoggedRun:
    """Return the run of a trial of our own. Raises LogError for a private one, or to call it something else."""
    if options.suite is not None or options.arm is not None or options.score_range != (0.0, 1.0):
        way_out = "leave out --suite, --arm and --score-range"
        raise log.error(f"is a run of our own, which keeps its suite, its arm and its scores: {way_out}")
    if mapping(manifest.get("suite")).get("visibility") == Visibility.PRIVATE_HOLDOUT:
        raise log.refused("is a run of a private suite, which stays in its own tree")
    found = LoggedRun(
        suite=trial.suite_id,
        key=("journal", trial.run_id),
        arm=trial.arm,
        model=text(manifest.get("model")),
        judge_model=text(manifest.get("judge_model")),
        tool="evalstats",
        tool_version=text(manifest.get("cli_version")),
        created_at=text(manifest.get("created_at")),
        is_mock=bool(manifest.get("is_mock")),
        manifest=manifest,
    )
    if "created_at" not in manifest or manifest.get("mode") == "unknown":
        found.warn("no manifest beside it: suite hash, model and seed of the run are unknown")
    return found


def _manifest(log: Log, trial: Trial) -> Mapping[str, Any]:
    """Return the manifest of the run folder the journal lies in; without it, what the trial knows itself."""
    folder = log.path.resolve().parent.parent
    if (folder / "manifest.json").is_file():
        try:
            manifest = journal.read_manifest(folder)
        except JournalError as error:
            raise log.error(f"lies beside a manifest that cannot be read: {error.message}") from None
        if manifest["run_id"] == trial.run_id:
            return manifest
    return {
        "run_id": trial.run_id,
        "group_id": trial.run_id,
        "arm": trial.arm,
        "axis": AXES[trial.arm],
        "mode": "unknown",
        "suite": {"id": trial.suite_id},
        "created_at": trial.started_at or "1970-01-01T00:00:00Z",
    }
