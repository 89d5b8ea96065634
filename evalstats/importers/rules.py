"""The rules that every row is held to: ids, times, scores and counts, each known or NULL with a reason."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from evalstats.contract import Arm, Outcome, Status
from evalstats.importers.rows import Options, Row
from evalstats.importers.values import number
from evalstats.trials import Trial, timestamp

NAIVE = "naive"
MAX_TEXT = 500  # characters of an id or a reason
_AS_TOLD = (
    "trial_index", "outcome", "score", "archetype", "exit_code", "stop_reason", "cost_source", "cited_cards",
    "cited_recipes", "error_class", "expectations", "cached", "reason",
)  # fmt: skip
_COUNTS = ("tokens_in", "tokens_out", "tokens_cache", "tool_calls")
_COMPARED = (*_AS_TOLD, *_COUNTS, "passed", "duration_s", "cost", "started_at")
_SAID = attrgetter(*_COMPARED)  # a good deal faster than asking for each
_TEXTS = ("stop_reason", "cost_source", "error_class")


def hold(row: Row, options: Options) -> None:
    """Hold a row to the rules, in place: its texts can be kept, its score is known or NULL with a reason."""
    if not row.case_id.isascii() or len(row.case_id) > MAX_TEXT:
        row.case_id = bounded(row.case_id)
    if options.cluster_key is not None:
        row.archetype = _found(row.about, options.cluster_key)
    if row.archetype is not None:
        row.archetype = bounded(row.archetype)
    if row.reason is not None:
        row.reason = text(row.reason)[:MAX_TEXT]
    _hold_score(row, options)


def trial_of(row: Row, *, run_id: str, suite_id: str, arm: Arm, source: tuple[str, str]) -> Trial:
    """Return a row that was held to the rules as a trial of a run; ``source`` is path and digest of its file."""
    if row.ours is not None:
        return row.ours if row.attempt == row.ours.attempt else replace(row.ours, attempt=row.attempt)
    started, offset = moment(row.started_at)
    known: dict[str, Any] = {name: getattr(row, name) for name in _AS_TOLD}
    known |= {name: value if value is None else text(value)[:MAX_TEXT] for name, value in _texts(row)}
    known |= {name: _count(getattr(row, name)) for name in _COUNTS}
    known |= {name: _not_negative(getattr(row, name)) for name in ("duration_s", "cost")}
    return Trial(
        run_id=run_id,
        suite_id=suite_id,
        case_id=row.case_id,
        arm=arm,
        attempt=row.attempt,
        status=_status(row),
        passed=row.passed,
        started_at=started,
        utc_offset=offset,
        dimension_scores={text(name): number(value) for name, value in row.scores.items()},
        source_path=source[0],
        source_sha256=source[1],
        source_locator=text(row.locator),
        **known,
    )


def _texts(row: Row) -> Iterator[tuple[str, str | None]]:
    return ((name, getattr(row, name)) for name in _TEXTS)


def slug(name: str) -> str:
    """Return ``name`` as the id of a suite: lower case, without what an id cannot hold."""
    found = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:100]
    return found or f"suite-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def text(value: str) -> str:
    """Return text that UTF-8 can hold: half of a surrogate pair becomes its escape."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def bounded(value: str) -> str:
    """Return a name of bearable length; one that was cut ends in a digest, so that two cut names stay two."""
    value = text(value)
    if len(value) <= MAX_TEXT:
        return value
    return f"{value[: MAX_TEXT - 13]}~{hashlib.sha256(value.encode()).hexdigest()[:12]}"


def moment(written: str | None) -> tuple[str | None, str | None]:
    """Return a time in UTC and the offset it was written with: ``naive`` without one, None when it is no time."""
    when = _parsed(written)
    if when is None:
        return None, None
    try:
        if when.tzinfo is None:
            return timestamp(when.replace(tzinfo=UTC)), NAIVE
        offset = when.strftime("%z")
        return timestamp(when), f"{offset[:3]}:{offset[3:5]}"
    except OverflowError:  # near the year 1 or 9999
        return None, None


def seconds_between(start: Any, end: Any) -> float | None:
    """Return how long something took; None where an end is no time, or only one of the two names a zone."""
    first, last = _parsed(start), _parsed(end)
    if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None):
        return None
    seconds = (last - first).total_seconds()
    return seconds if seconds >= 0 else None


def _parsed(written: Any) -> datetime | None:
    if not isinstance(written, str) or "-" not in written:  # 20260131 may be anything
        return None
    try:
        return datetime.fromisoformat(written.strip())
    except ValueError:
        return None


def _found(about: Any, path: str) -> str | None:
    """Return what stands at a dotted path; a key that holds dots itself is found whole."""
    if isinstance(about, dict) and path in about:
        found = about[path]
        return None if found is None else str(found)
    head, dot, rest = path.partition(".")
    return _found(about.get(head), rest) if dot and isinstance(about, dict) else None


def _hold_score(row: Row, options: Options) -> None:
    """Bring the score between 0 and 1, or leave the row without one and say why."""
    outcome, told = row.outcome, row.score
    if not outcome.usable:
        withdraw(row, outcome, row.reason or f"{outcome} in the log")
    elif told is not None:
        value, (low, high) = told if type(told) is float else number(told), options.score_range
        if value is None or not low <= value <= high:
            withdraw(row, Outcome.UNSCORED, _why_unscored(value, low, high))
            return
        row.score = (value - low) / (high - low)
        if row.passed is None:
            row.passed = row.score == 1.0
    elif outcome is not Outcome.OK:
        row.score, row.passed = 0.0, False  # a subject that ran into its limit
    else:
        withdraw(row, Outcome.UNSCORED, row.reason or "no score in the log")


def _why_unscored(value: float | None, low: float, high: float) -> str:
    if value is None or not math.isfinite(value):
        return "the score is not a finite number"
    return f"the score lies outside {low:g} to {high:g}; see --score-range"


def withdraw(row: Row, outcome: Outcome, reason: str) -> None:
    """Make a row one that carries no score, with the reason."""
    row.outcome, row.reason, row.score, row.passed = outcome, reason, None, None


def _status(row: Row) -> Status:
    if row.outcome.usable:
        return Status.PASS if row.passed else Status.FAIL
    words = {Outcome.INFRASTRUCTURE: Status.ERROR, Outcome.SKIPPED: Status.SKIPPED}
    return words.get(row.outcome, Status.INCONCLUSIVE)


def _not_negative(value: float | None) -> float | None:
    found = number(value)
    return found if found is not None and found >= 0 else None


def _count(value: int | None) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None


# --- sameness -------------------------------------------------------------------------------------

_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)


def canonical(content: Any) -> bytes:
    """Return one text for one meaning, also of what strict JSON cannot hold, such as NaN."""
    return _CANONICAL.encode(content).encode()


def plain(content: Any) -> Any:
    """Return JSON that a strict reader takes: no NaN, no half of a surrogate pair, no integer beyond 2^53."""
    if isinstance(content, dict):
        return {text(str(key)): plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    if isinstance(content, str):
        return text(content)
    if isinstance(content, float):
        return content if math.isfinite(content) else str(content)
    return str(content) if isinstance(content, int) and abs(content) >= 2**53 else content


def content_digest(trial: Trial) -> bytes:
    """Return a digest of what a trial says, wherever it was read and however often it was tried."""
    record = trial.as_record()
    for name in ("source_path", "source_sha256", "source_locator", "attempt"):
        del record[name]
    return hashlib.sha256(canonical(record)).digest()[:16]


def fingerprint(row: Row) -> int:
    """Return what tells two tellings of one trial apart, within this process."""
    said = _SAID(row)
    return hash((said, *row.scores.items()) if row.scores else said)


def takes_over(*, usable: tuple[bool, bool], attempts: tuple[int, int], on_conflict: str) -> bool | None:
    """Return whether a telling of a trial takes the place of an earlier, different one; None for a conflict.

    Both tuples are (earlier, now). A later attempt counts; what was lost gives way to what was not, for that is
    a retry; of two losses the first stays.
    """
    if attempts[0] != attempts[1]:
        return attempts[1] > attempts[0]
    if not all(usable):
        return usable[1] and not usable[0]
    return None if on_conflict == "error" else on_conflict == "last"
