"""The rules that every row is held to: ids, times, scores and counts, each known or NULL with a reason."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from evalstats.contract import Arm, Outcome, Status
from evalstats.importers.logs import number
from evalstats.importers.rows import Options, Row
from evalstats.trials import Trial, timestamp

NAIVE = "naive"
MAX_TEXT = 500  # characters of an id or a reason
_AS_TOLD = (
    "trial_index", "outcome", "score", "archetype", "attempt", "exit_code", "stop_reason", "cost_source",
    "cited_cards", "cited_recipes", "error_class", "expectations", "cached", "reason",
)  # fmt: skip
_COUNTS = ("tokens_in", "tokens_out", "tokens_cache", "tool_calls")


def kept(row: Row, options: Options) -> Row:
    """Return the row as the rules allow it to be kept."""
    row = replace(
        row,
        case_id=text(row.case_id)[:MAX_TEXT],
        archetype=_archetype(row, options.cluster_key),
        reason=None if row.reason is None else text(row.reason)[:MAX_TEXT],
    )
    return _in_range(row, options)


def trial_of(row: Row, *, run_id: str, suite_id: str, arm: Arm) -> Trial:
    """Return a kept row as a trial of a run; where it was read is for the reader to add."""
    started, offset = moment(row.started_at)
    known: dict[str, Any] = {name: getattr(row, name) for name in _AS_TOLD}
    known |= {name: _count(getattr(row, name)) for name in _COUNTS}
    known |= {name: _not_negative(getattr(row, name)) for name in ("duration_s", "cost")}
    return Trial(
        run_id=run_id,
        suite_id=suite_id,
        case_id=row.case_id,
        arm=arm,
        status=_status(row),
        passed=_passed(row),
        started_at=started,
        utc_offset=offset,
        dimension_scores={text(name): number(value) for name, value in row.scores.items()},
        source_locator=row.locator,
        **known,
    )


def slug(name: str) -> str:
    """Return ``name`` as the id of a suite: lower case, without what an id cannot hold."""
    found = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:100]
    return found or f"suite-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def text(value: str) -> str:
    """Return text that UTF-8 can hold: half of a surrogate pair becomes its escape."""
    return value.encode("utf-8", "backslashreplace").decode()


def moment(written: str | None) -> tuple[str | None, str | None]:
    """Return a time in UTC and the offset it was written with: ``naive`` without one, None when it is no time."""
    if not written:
        return None, None
    try:
        when = datetime.fromisoformat(written.strip().replace("Z", "+00:00"))
        if when.tzinfo is None:
            return timestamp(when.replace(tzinfo=UTC)), NAIVE
        return timestamp(when), when.strftime("%z")[:3] + ":" + when.strftime("%z")[3:5]
    except (ValueError, OverflowError):
        return None, None


def _archetype(row: Row, cluster_key: str | None) -> str | None:
    value: Any = row.archetype
    if cluster_key is not None:
        value = row.about
        for step in cluster_key.split("."):
            value = value.get(step) if isinstance(value, dict) else None
    return None if value is None else text(str(value))[:MAX_TEXT]


def _in_range(row: Row, options: Options) -> Row:
    """Return the row with a score between 0 and 1, or without one and with the reason."""
    if row.outcome in (Outcome.TIMEOUT, Outcome.LIMIT) and row.score is None:
        return replace(row, score=0.0)
    if not row.outcome.usable:
        return replace(row, score=None, passed=None, reason=row.reason or f"{row.outcome} in the log")
    if row.score is None:
        return _unscored(row, row.reason or "no score in the log")
    value = number(row.score)
    if value is None:
        return _unscored(row, "the score is not a finite number")
    low, high = options.score_range
    if not low <= value <= high:
        return _unscored(row, f"the score lies outside {low:g} to {high:g}; see --score-range")
    return replace(row, score=(value - low) / (high - low))


def _unscored(row: Row, reason: str) -> Row:
    return replace(row, outcome=Outcome.UNSCORED, reason=reason, score=None, passed=None)


def _passed(row: Row) -> bool | None:
    if row.score is None:
        return None
    return row.score == 1.0 if row.passed is None else row.passed


def _status(row: Row) -> Status:
    if row.outcome.usable:
        return Status.PASS if _passed(row) else Status.FAIL
    words = {Outcome.INFRASTRUCTURE: Status.ERROR, Outcome.SKIPPED: Status.SKIPPED}
    return words.get(row.outcome, Status.INCONCLUSIVE)


def _not_negative(value: float | None) -> float | None:
    found = number(value)
    return found if found is not None and found >= 0 else None


def _count(value: int | None) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None


def canonical(content: Any) -> bytes:
    """Return one text for one meaning, also of what strict JSON cannot hold, such as NaN."""
    return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str).encode()


def content_digest(trial: Trial) -> bytes:
    """Return a digest of what a trial says, wherever it was read."""
    record = trial.as_record()
    for name in ("source_path", "source_sha256", "source_locator"):
        del record[name]
    return hashlib.sha256(canonical(record)).digest()[:16]
