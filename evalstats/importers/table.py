"""A table of trials, as CSV, JSON lines or Parquet, for everyone whose tool is not known here.

Columns are found by their usual names, or named by ``--map case=qid,score=acc``; ``--map trial=`` says that there
is none. Our fields are those of `NAMES`: ``case`` and ``score`` are needed, the others welcome. Without ``trial``
every further row of a case is its next trial.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from datetime import datetime
from operator import itemgetter, methodcaller
from typing import Any

from evalstats.contract import ExpectationType, Outcome
from evalstats.errors import UsageError
from evalstats.importers.cells import columns_of, has_names_in_rows, lines_of
from evalstats.importers.logs import Log
from evalstats.importers.rows import Item, LoggedRun, Options, Row, arm_of
from evalstats.importers.values import flag, items, mapping, number, text, whole
from evalstats.trials import ExpectationResult

NAME = "table"
# Our field -> what others call the column; the first that is there is taken.
NAMES: dict[str, tuple[str, ...]] = {
    "case": (
        "case", "case_id", "question_id", "qid", "item_id", "instance_id", "sample_id", "doc_id", "task_id",
        "question", "task", "id",
    ),
    "score": ("score", "passed", "pass", "correct", "acc", "accuracy", "success", "reward", "resolved", "value"),
    "trial": ("trial", "trial_index", "epoch", "repeat", "rep", "replicate", "seed"),
    "suite": ("suite", "suite_id", "eval", "benchmark", "dataset"),
    "arm": ("arm", "condition", "configuration"),
    "model": ("model", "model_id", "system", "variant", "agent", "provider"),
    "run": ("run", "run_id"),
    "archetype": ("archetype", "cluster", "cluster_id", "group", "category", "topic"),
    "outcome": ("outcome", "status"),
    "passed": ("passed",),
    "reason": ("reason", "error"),
    "started_at": ("started_at", "timestamp", "time", "date"),
    "duration_s": ("duration_s", "duration", "latency_s"),
    "tokens_in": ("tokens_in", "input_tokens", "prompt_tokens"),
    "tokens_out": ("tokens_out", "output_tokens", "completion_tokens"),
    "tokens_cache": ("tokens_cache", "cached_tokens"),
    "cost": ("cost", "cost_usd"),
    "cost_source": ("cost_source",),
    "tool_calls": ("tool_calls",),
    "stop_reason": ("stop_reason",),
    "error_class": ("error_class", "error_type"),
    "exit_code": ("exit_code",),
    "attempt": ("attempt",),
    "cached": ("cached",),
    "scores": ("scores",),
    "expectations": ("expectations",),
}  # fmt: skip
_TRUTHS = {
    "true": 1.0, "yes": 1.0, "pass": 1.0, "passed": 1.0, "correct": 1.0, "success": 1.0,
    "false": 0.0, "no": 0.0, "fail": 0.0, "failed": 0.0, "incorrect": 0.0, "failure": 0.0,
}  # fmt: skip
_UNKNOWN = ("", "null", "none", "na", "n/a", "nan", "unknown", "-")
_OUTCOMES = {str(outcome): outcome for outcome in Outcome} | {
    "error": Outcome.INFRASTRUCTURE, "success": Outcome.OK, "completed": Outcome.OK, "pass": Outcome.OK,
    "fail": Outcome.OK, "passed": Outcome.OK, "failed": Outcome.OK, "inconclusive": Outcome.UNSCORED,
}  # fmt: skip
_NAMING = ("suite", "arm", "model", "run")  # what tells the runs of one table apart

Get = Callable[[Any], Any]


def sniff(log: Log) -> str | None:
    """Recognise a header line, or the first object, that has a case and a score by one of their usual names."""
    names = columns_of(log)
    found = {field: next((n for n in usual if n in names), None) for field, usual in NAMES.items()}
    if found["case"] is None or found["score"] is None or log.is_array or not _is_flat(log.first):
        return None
    return f"a table with columns {found['case']} and {found['score']}"


def _is_flat(first: Mapping[str, Any]) -> bool:
    """Return whether an object could be a row of a table: a log with lists in it is some other tool's."""
    return not any(
        isinstance(value, list) or any(isinstance(part, (dict, list)) for part in mapping(value).values())
        for name, value in first.items()
        if name != "expectations"
    )


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row a line."""
    runs: dict[Hashable, LoggedRun] = {}
    counted: Counter[tuple[LoggedRun, str]] = Counter()
    warnings: list[str] = []
    lines = lines_of(log, options, warnings)
    columns, numbered = next(lines)
    get = _getters(log, columns, options)
    naming = _naming(log, get)
    trials = _Trials(log, get["trial"]) if "trial" in get else None
    fill = [(name, take, get[name]) for name, take in _OPTIONAL.items() if name in get]
    for line, values in numbered:
        named = naming(values)
        run = runs.get(named)
        if run is None:
            run = runs[named] = _run(log, values, get)
        row = _row(log, line, values, get, fill)
        if trials is not None:
            row.trial_index = trials.of(line, values)
        else:
            row.trial_index = counted[run, row.case_id] = counted[run, row.case_id] + 1
        if options.cluster_key is not None:
            row.about = values if isinstance(values, dict) else dict(zip(columns, values, strict=True))
        yield run, row
    for run in runs.values():
        run.warnings += warnings


class _Trials:
    """Trials as a table counts them: from 1, or from 0 where its first row says so."""

    def __init__(self, log: Log, get: Get) -> None:
        self._log, self._get = log, get
        self._first: int | None = None

    def of(self, line: int, values: Any) -> int:
        found = whole(self._get(values))
        if found is None:
            raise self._log.error(
                "a trial is a whole number; leave the column out with --map trial=", line=line
            )
        if self._first is None:
            self._first = int(found == 0)
        if found + self._first < 1:
            raise self._log.error("trial 0, although the first row counts from 1; sort the rows", line=line)
        return found + self._first


def _getters(log: Log, columns: list[str], options: Options) -> dict[str, Get]:
    """Return for each of our fields that the table has how to take it from a line."""
    unknown = sorted(set(options.columns) - set(NAMES))
    if unknown:
        raise UsageError(f"unknown field {unknown[0]!r}; known: {', '.join(NAMES)}", field="--map")
    absent = sorted(set(options.columns.values()) - {*columns, ""})
    if absent:
        raise log.error(f"has no column {absent[0]!r}; it has {', '.join(columns[:20])}", field="--map")
    found = dict(options.columns)
    taken = set(found.values())
    for field, usual in NAMES.items():
        column = next((name for name in usual if name in columns and name not in taken), None)
        if field not in found and column is not None:
            found[field] = column
            taken.add(column)
    for needed in ("case", "score"):
        if not found.get(needed):
            raise log.error(f"has no column for the {needed}; name it with --map {needed}=COLUMN", line=1)
    as_objects = has_names_in_rows(log)
    return {
        f: _getter(column if as_objects else columns.index(column)) for f, column in found.items() if column
    }


def _getter(place: str | int) -> Get:
    return itemgetter(place) if isinstance(place, int) else methodcaller("get", place)


def _naming(log: Log, get: Mapping[str, Get]) -> Callable[[Any], Hashable]:
    """Return what takes from a line the texts that tell the runs of the table apart."""
    keys = [get[name] for name in _NAMING if name in get]
    if len(keys) == 1 and not has_names_in_rows(log):
        return keys[0]  # a cell is text already
    return lambda values: tuple([str(key(values)) for key in keys])


def _run(log: Log, values: Any, get: Mapping[str, Get]) -> LoggedRun:
    named = [str(get[name](values)) for name in _NAMING if name in get]
    told = {name: _known_text(get[name](values)) for name in _NAMING if name in get}
    arm = arm_of(told.get("arm") or "")
    identity = "" if told.get("run") else log.identity
    run = LoggedRun(
        suite=told.get("suite") or log.path.stem,
        key=("table", *named, identity),
        label=told.get("arm") if arm is None else None,
        model=told.get("model"),
        tool="table",
        created_at=_time(get["started_at"](values)) if "started_at" in get else None,
    )
    if arm is not None:
        run.arm = arm
        run.group = ("table", *(told.get(n) or "" for n in ("suite", "model", "run")), identity)
    return run


def _row(log: Log, line: int, values: Any, get: Mapping[str, Get], fill: list[tuple[str, Get, Get]]) -> Row:
    case, told = get["case"](values), get["score"](values)
    row = Row("" if case is None else str(case), 0, f"line {line}", Outcome.OK, _score(told))
    if row.score is None and not _is_unknown(told):
        row.reason = "the score is not a number"
    for name, take, at in fill:
        if (found := take(at(values))) is not None:
            setattr(row, name, found)
    if "outcome" in get:
        row.outcome = _outcome(log, line, get["outcome"](values))
    return row


def _score(value: Any) -> float | None:
    found = number(value)
    return _TRUTHS.get(value.strip().lower()) if found is None and isinstance(value, str) else found


def _is_unknown(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in _UNKNOWN)


def _outcome(log: Log, line: int, value: Any) -> Outcome:
    word = "ok" if _is_unknown(value) else str(value).strip().lower()
    if word not in _OUTCOMES:
        raise log.error(f"unknown outcome; known: {', '.join(sorted(_OUTCOMES))}", line=line)
    return _OUTCOMES[word]


def _known_text(value: Any) -> str | None:
    """Return text; a word that says that a number is not known may be a word like any other here."""
    found = "" if value is None else str(value)
    return None if found.strip().lower() in ("", "null", "none", "nan") else found


def _time(value: Any) -> str | None:
    """Return a time as text; one of a Parquet file without a zone stays naive."""
    return value.isoformat() if isinstance(value, datetime) else _known_text(value)


def _truth(value: Any) -> bool | None:
    found = _score(value)
    return None if found is None else bool(found)


def _integer(value: Any) -> int | None:
    found = number(value)
    return int(found) if found is not None and found == int(found) and abs(found) < 2**53 else None


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _scores(value: Any) -> dict[str, float | None]:
    return {name: number(score) for name, score in mapping(_json(value)).items()}


def _expectations(value: Any) -> tuple[ExpectationResult, ...]:
    """Return expectations as our own tables write them; whatever else stands there is not read."""
    return tuple(
        ExpectationResult(
            index=index, type=ExpectationType(each["type"]), required=each.get("required") is not False,
            passed=flag(each.get("passed")), detail=text(each.get("detail")) or "",
        )
        for index, each in enumerate(map(mapping, items(_json(value))))
        if each.get("type") in list(ExpectationType)
    )  # fmt: skip


_OPTIONAL: dict[str, Get] = {
    "archetype": _known_text, "reason": _known_text, "started_at": _time, "duration_s": number, "tokens_in": whole,
    "tokens_out": whole, "tokens_cache": whole, "tool_calls": whole, "cost": number, "cost_source": _known_text,
    "stop_reason": _known_text, "error_class": _known_text, "exit_code": _integer, "passed": _truth, "attempt": whole,
    "cached": _truth, "scores": _scores, "expectations": _expectations,
}  # fmt: skip
