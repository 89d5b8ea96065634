"""From manifests and trials to the rows of the store, as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalstats import contract
from evalstats.contract import Arm, Axis, Tier, Visibility
from evalstats.errors import JournalError
from evalstats.trials import Judgement, Label, Trial

_TEXT, _WHOLE, _NUMBER, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_MOMENT, _WORDS = pa.timestamp("us"), pa.list_(pa.string())

_REQUIRED = ("run_id", "suite_id", "arm", "created_at")
# column, where the manifest has it, what it must be
_MANIFEST: tuple[tuple[str, str, type], ...] = (
    ("run_id", "/run_id", str),
    ("group_id", "/group_id", str),
    ("suite_id", "/suite/id", str),
    ("suite_path", "/suite/path", str),
    ("tier", "/suite/tier", Tier),
    ("visibility", "/suite/visibility", Visibility),
    ("axis", "/axis", Axis),
    ("arm", "/arm", Arm),
    ("mode", "/mode", str),
    ("seed", "/seed", int),
    ("created_at", "/created_at", datetime),
    ("suite_sha256", "/suite/sha256", str),
    ("suite_canonical", "/suite/hashes/canonical", str),
    ("suite_scoring", "/suite/hashes/scoring", str),
    ("suite_policy", "/suite/hashes/policy", str),
    ("registry_version", "/registry_version", str),
    ("cli_version", "/cli_version", str),
    ("model", "/model", str),
    ("judge_model", "/judge_model", str),
    ("judge_rubric_sha256", "/judge_rubric_sha256", str),
    ("runtime", "/runtime/name", str),
    ("is_mock", "/is_mock", bool),
    ("trials_per_case", "/trials_per_case", int),
)
_SAID = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    datetime: "a UTC time like 2026-01-31T12:00:00Z",
}
_ARROW = {int: _WHOLE, bool: _FLAG, datetime: _MOMENT}

_PLAIN_TRIAL = {
    "run_id": _TEXT, "suite_id": _TEXT, "case_id": _TEXT, "archetype": _TEXT, "arm": _TEXT,
    "trial_index": _WHOLE, "attempt": _WHOLE, "seed": _WHOLE, "status": _TEXT, "outcome": _TEXT,
    "reason": _TEXT, "score": _NUMBER, "passed": _FLAG, "duration_s": _NUMBER, "exit_code": _WHOLE,
    "tokens_in": _WHOLE, "tokens_out": _WHOLE, "tokens_cache": _WHOLE, "cost": _NUMBER, "cost_source": _TEXT,
    "tool_calls": _WHOLE, "stop_reason": _TEXT, "cited_cards": _WORDS, "cited_recipes": _WORDS,
    "error_class": _TEXT, "isolation": _TEXT, "leftover_processes": _WHOLE, "utc_offset": _TEXT,
    "cached": _FLAG, "source_path": _TEXT, "source_sha256": _TEXT, "source_locator": _TEXT,
}  # fmt: skip


_JUDGEMENT = {
    "trial_key": _TEXT, "run_id": _TEXT, "case_id": _TEXT, "arm": _TEXT, "trial_index": _WHOLE,
    "expectation": _WHOLE, "judge": _TEXT, "judge_sha256": _TEXT, "rubric_sha256": _TEXT, "family": _TEXT,
    "wording": _TEXT, "repeat": _WHOLE, "attempt": _WHOLE, "passed": _FLAG, "mark": _NUMBER, "error_class": _TEXT,
    "reason": _TEXT, "seed": _WHOLE, "graded_sha256": _TEXT, "answer_sha256": _TEXT, "model": _TEXT,
    "version": _TEXT, "duration_s": _NUMBER, "tokens_in": _WHOLE, "tokens_out": _WHOLE, "cost": _NUMBER,
    "cost_source": _TEXT,
}  # fmt: skip
_LABEL = {
    "trial_key": _TEXT, "run_id": _TEXT, "case_id": _TEXT, "arm": _TEXT, "trial_index": _WHOLE,
    "expectation": _WHOLE, "passed": _FLAG, "labeller": _TEXT,
}  # fmt: skip


def run_row(manifest: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the row of a run. Raises JournalError naming the manifest and the field that is wrong."""
    row: dict[str, Any] = {}
    for name, pointer, kind in _MANIFEST:
        value = _at(manifest, pointer)
        if value is None and name in _REQUIRED:
            raise JournalError("is missing, and a run needs it", path=path, field=pointer)
        try:
            row[name] = None if value is None else _typed(value, kind)
        except (ValueError, TypeError):
            said = _SAID.get(kind) or "one of " + ", ".join(kind)  # type: ignore[arg-type]
            raise JournalError(f"must be {said}", path=path, field=pointer) from None
    row["manifest"] = contract.canonical(dict(manifest)).decode()
    return row


def _at(document: Any, pointer: str) -> Any:
    for key in pointer[1:].split("/"):
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _typed(value: Any, kind: type) -> Any:
    if kind is datetime:
        return moment(value)
    if issubclass(kind, StrEnum):
        return kind(value).value
    if type(value) is not kind:
        raise TypeError
    return value


def moment(text: str) -> datetime:
    """Return a UTC time without its zone, as the store keeps times. Raises ValueError."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError("a time without zone")
    return when.astimezone(UTC).replace(tzinfo=None)


def run_table(row: Mapping[str, Any]) -> pa.Table:
    """Return one row of ``runs``."""
    kinds = {name: _ARROW.get(kind, _TEXT) for name, _, kind in _MANIFEST} | {"manifest": _TEXT}
    return _table({name: [row[name]] for name in kinds}, kinds)


def case_table(manifest: Mapping[str, Any], run_id: str, path: Path) -> pa.Table:
    """Return the rows of ``cases``: the digests that the manifest holds, or none."""
    hashes = manifest.get("case_hashes") or {}
    if not isinstance(hashes, Mapping) or not all(isinstance(digest, str) for digest in hashes.values()):
        raise JournalError("must map case ids to digests", path=path, field="/case_hashes")
    columns = {"run_id": [run_id] * len(hashes), "case_id": list(hashes), "case_hash": list(hashes.values())}
    return _table(columns, dict.fromkeys(columns, _TEXT))


def trial_table(trials: Mapping[str, Trial]) -> pa.Table:
    """Return the rows of ``trials``, one a trial; ``trials`` maps trial keys to trials."""
    each = trials.values()
    columns: dict[str, list[Any]] = {name: [getattr(t, name) for t in each] for name in _PLAIN_TRIAL}
    columns["trial_key"] = list(trials)
    columns["usable"] = [t.outcome.usable for t in each]
    columns["started_at"] = [None if t.started_at is None else moment(t.started_at) for t in each]
    for stream in ("stdout", "stderr", "transcript"):
        columns[f"{stream}_sha256"] = [t.artifacts.get(stream) for t in each]
    return _table(columns, _PLAIN_TRIAL | {"usable": _FLAG, "started_at": _MOMENT})


def expectation_table(trials: Mapping[str, Trial]) -> pa.Table:
    """Return the rows of ``expectations``: one per trial and expectation."""
    rows = [
        (key, t.run_id, t.case_id, e.index, e.type, e.required, e.passed, e.detail)
        for key, t in trials.items()
        for e in t.expectations
    ]
    names = ("trial_key", "run_id", "case_id", "idx", "type", "required", "passed", "detail")
    return _table(_columns(names, rows), {"idx": _WHOLE, "required": _FLAG, "passed": _FLAG})


def dimension_table(trials: Mapping[str, Trial]) -> pa.Table:
    """Return the rows of ``dimension_scores``: one per trial and dimension."""
    rows = [(key, t.run_id, *pair) for key, t in trials.items() for pair in t.dimension_scores.items()]
    names = ("trial_key", "run_id", "dimension", "score")
    return _table(_columns(names, rows), {"score": _NUMBER})


def judgement_table(judgements: Mapping[str, Judgement]) -> pa.Table:
    """Return the rows of ``judgements``; ``judgements`` maps their keys to them."""
    each = judgements.values()
    columns: dict[str, list[Any]] = {name: [getattr(j, name) for j in each] for name in _JUDGEMENT}
    columns |= {"judgement_key": list(judgements), "started_at": [moment(j.started_at) for j in each]}
    return _table(columns, _JUDGEMENT | {"started_at": _MOMENT})


def label_table(labels: Mapping[str, Label]) -> pa.Table:
    """Return the rows of ``labels``; ``labels`` maps their keys to them."""
    each = labels.values()
    columns: dict[str, list[Any]] = {name: [getattr(label, name) for label in each] for name in _LABEL}
    columns |= {"label_key": list(labels), "labelled_at": [moment(label.labelled_at) for label in each]}
    return _table(columns, _LABEL | {"labelled_at": _MOMENT})


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def _table(columns: Mapping[str, list[Any]], kinds: Mapping[str, pa.DataType]) -> pa.Table:
    return pa.table({name: pa.array(values, kinds.get(name, _TEXT)) for name, values in columns.items()})
