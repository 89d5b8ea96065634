"""Our own journals, from another machine or another data folder: the run keeps its id, every field is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from evalstats import journal
from evalstats.errors import JournalError, LogError
from evalstats.importers.logs import Log
from evalstats.importers.rows import Item, LoggedRun, Options, Row

NAME = "journal"
_SAME = tuple({field.name for field in fields(Row)} - {"locator", "scores", "content", "about"})


def sniff(log: Log) -> str | None:
    """Recognise the kind and the key on the first line."""
    first = log.first_object or {}
    return "a journal of trials" if first.get("kind") == "trial" and "key" in first else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield each trial of a journal; a torn last line needs ``--allow-truncated``, as everywhere."""
    manifest = _manifest(log)
    runs: dict[str, LoggedRun] = {}
    for line, raw in log.lines():
        if not raw.endswith(b"\n"):
            if not options.allow_truncated:
                raise log.error(
                    "the last line is cut off: use --allow-truncated to import the others", line=line
                )
            for run in runs.values():
                run.warnings.append(f"line {line} is cut off and was left out")
            return
        try:
            trial = journal.parse_trial(raw, log.path, line)
        except JournalError as error:
            raise log.error(error.message, line=line, field=error.field) from None
        run_id = trial.run_id
        if run_id not in runs:
            runs[run_id] = _run(run_id, trial.suite_id, manifest)
            runs[run_id].arm = trial.arm
        row = Row(**{name: getattr(trial, name) for name in _SAME}, locator=f"line {line}")
        row.scores = dict(trial.dimension_scores)
        row.content = _mapping(manifest.get("case_hashes")).get(trial.case_id)
        yield runs[run_id], row


def _manifest(log: Log) -> Mapping[str, Any]:
    """Return the manifest of the run folder the journal lies in, if it still does."""
    path = log.path.resolve().parent.parent / "manifest.json"
    try:
        return _mapping(Log(path).json()) if path.is_file() else {}
    except (LogError, json.JSONDecodeError):
        return {}


def _run(run_id: str, suite_id: str, manifest: Mapping[str, Any]) -> LoggedRun:
    known = manifest if manifest.get("run_id") == run_id else {}
    group = known.get("group_id")
    return LoggedRun(
        suite=suite_id,
        key=("journal", run_id),
        run_id=run_id,
        group=("journal", group) if isinstance(group, str) else None,
        model=_text(known.get("model")),
        judge_model=_text(known.get("judge_model")),
        tool="evalstats",
        tool_version=_text(known.get("cli_version")),
        created_at=_text(known.get("created_at")),
        is_mock=bool(known.get("is_mock")),
        scoring=_mapping(_mapping(known.get("suite")).get("hashes")).get("scoring"),
        facts={"seed": known.get("seed")},
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
