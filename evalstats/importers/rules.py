"""The rules that every row is held to: ids, times, scores and counts, each known or NULL with a reason."""

from __future__ import annotations

import hashlib
import json
import re
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


def hold(row: Row, options: Options) -> None:
    """Hold a row to the rules, in place: its texts can be kept, its score is known or NULL with a reason."""
    row.case_id = _short(row.case_id)
    row.archetype = _archetype(row, options.cluster_key)
    if row.reason is not None:
        row.reason = _short(row.reason)
    _hold_score(row, options)


def trial_of(row: Row, *, run_id: str, suite_id: str, arm: Arm, source: tuple[str, str]) -> Trial:
    """Return a row that was held to the rules as a trial of a run; ``source`` is path and digest of its file."""
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
        passed=passed(row),
        started_at=started,
        utc_offset=offset,
        dimension_scores={text(name): number(value) for name, value in row.scores.items()},
        source_path=source[0],
        source_sha256=source[1],
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


def _short(value: str) -> str:
    return value if value.isascii() and len(value) <= MAX_TEXT else text(value)[:MAX_TEXT]


def _archetype(row: Row, cluster_key: str | None) -> str | None:
    value: Any = row.archetype
    if cluster_key is not None:
        value = row.about
        for step in cluster_key.split("."):
            value = value.get(step) if isinstance(value, dict) else None
    return None if value is None else _short(str(value))


def _hold_score(row: Row, options: Options) -> None:
    """Bring the score between 0 and 1, or leave the row without one and say why."""
    if not row.outcome.usable:
        withdraw(row, row.outcome, row.reason or f"{row.outcome} in the log")
    elif row.score is None and row.outcome is not Outcome.OK:
        row.score = 0.0  # a subject that ran into its limit
    elif row.score is None:
        withdraw(row, Outcome.UNSCORED, row.reason or "no score in the log")
    elif (value := number(row.score)) is None:
        withdraw(row, Outcome.UNSCORED, "the score is not a finite number")
    else:
        low, high = options.score_range
        if low <= value <= high:
            row.score = (value - low) / (high - low)
        else:
            withdraw(row, Outcome.UNSCORED, f"the score lies outside {low:g} to {high:g}; see --score-range")


def withdraw(row: Row, outcome: Outcome, reason: str) -> None:
    """Make a row one that carries no score, with the reason."""
    row.outcome, row.reason, row.score, row.passed = outcome, reason, None, None


def passed(row: Row) -> bool | None:
    """Return whether a row passed: as its log says, else whether it has the full score."""
    if row.score is None:
        return None
    return row.score == 1.0 if row.passed is None else row.passed


def _status(row: Row) -> Status:
    if row.outcome.usable:
        return Status.PASS if passed(row) else Status.FAIL
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


def fingerprint(row: Row) -> int:
    """Return what tells two tellings of one attempt apart, within this process."""
    named = tuple(row.scores.items()) if row.scores else ()
    return hash((*(getattr(row, name) for name in _COMPARED), named))


_COMPARED = (*_AS_TOLD, *_COUNTS, "passed", "duration_s", "cost", "started_at")
