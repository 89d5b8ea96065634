"""A table of trials, as CSV, JSON lines or Parquet, for everyone whose tool is not known here.

Columns are found by their usual names, or named by ``--map case=qid,score=acc``. Our fields: ``case`` and
``score`` are needed; ``trial``, ``suite``, ``arm``, ``model``, ``run``, ``archetype``, ``outcome``, ``reason``,
``started_at``, ``duration_s``, ``tokens_in``, ``tokens_out``, ``cost``, ``cached`` are welcome. Without ``trial``
every further row of a case is its next trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from evalstats.contract import Outcome
from evalstats.errors import UsageError
from evalstats.importers.cells import columns_of, has_names_in_rows, lines_of
from evalstats.importers.logs import Log, number, whole
from evalstats.importers.rows import Item, LoggedRun, Options, Row, arm_of

NAME = "table"
# Our field -> what others call the column; the first that is there is taken.
NAMES: dict[str, tuple[str, ...]] = {
    "case": (
        "case", "case_id", "question_id", "qid", "task_id", "item_id", "instance_id", "doc_id", "id", "question",
        "task",
    ),
    "score": ("score", "passed", "pass", "correct", "acc", "accuracy", "success", "reward", "resolved", "value"),
    "trial": ("trial", "trial_index", "epoch", "sample", "repeat", "sample_id", "attempt", "seed"),
    "suite": ("suite", "suite_id", "eval", "benchmark", "dataset"),
    "arm": ("arm", "condition", "configuration"),
    "model": ("model", "model_id", "system", "variant", "agent", "provider"),
    "run": ("run", "run_id"),
    "archetype": ("archetype", "cluster", "cluster_id", "group", "category", "topic"),
    "outcome": ("outcome", "status"),
    "reason": ("reason", "error"),
    "started_at": ("started_at", "timestamp", "time", "date"),
    "duration_s": ("duration_s", "duration", "latency_s"),
    "tokens_in": ("tokens_in", "input_tokens", "prompt_tokens"),
    "tokens_out": ("tokens_out", "output_tokens", "completion_tokens"),
    "cost": ("cost", "cost_usd"),
    "cached": ("cached",),
}  # fmt: skip
_TRUTHS = {
    "true": 1.0, "yes": 1.0, "pass": 1.0, "passed": 1.0, "correct": 1.0, "success": 1.0,
    "false": 0.0, "no": 0.0, "fail": 0.0, "failed": 0.0, "incorrect": 0.0, "failure": 0.0,
}  # fmt: skip
_UNKNOWN = ("", "null", "none", "na", "n/a", "unknown", "-")
_OUTCOMES = {str(outcome): outcome for outcome in Outcome} | {
    "error": Outcome.INFRASTRUCTURE, "success": Outcome.OK, "completed": Outcome.OK, "pass": Outcome.OK,
    "fail": Outcome.OK, "passed": Outcome.OK, "failed": Outcome.OK,
}  # fmt: skip

Get = Callable[[Any], Any]


def sniff(log: Log) -> str | None:
    """Recognise a header line, or the first object, that has a case and a score by one of their usual names."""
    names = columns_of(log)
    found = {field: next((n for n in usual if n in names), None) for field, usual in NAMES.items()}
    if found["case"] is None or found["score"] is None:
        return None
    return f"a table with columns {found['case']} and {found['score']}"


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row a line."""
    runs: dict[tuple[str, ...], LoggedRun] = {}
    counted: Counter[tuple[LoggedRun, str]] = Counter()
    warnings: list[str] = []
    lines = lines_of(log, options, warnings)
    columns, numbered = next(lines)
    get = _getters(log, columns, options)
    keys = [get[name] for name in ("suite", "arm", "model", "run") if name in get]
    for line, values in numbered:
        named = tuple(str(key(values)) for key in keys)
        run = runs.get(named)
        if run is None:
            run = runs[named] = _run(log, values, get, named)
        row = _row(log, line, values, get)
        if not row.trial_index:
            counted[run, row.case_id] += 1
            row.trial_index = counted[run, row.case_id]
        if options.cluster_key is not None:
            row.about = values if isinstance(values, dict) else dict(zip(columns, values, strict=False))
        yield run, row
    for run in runs.values():
        run.warnings += warnings


def _getters(log: Log, columns: list[str], options: Options) -> dict[str, Get]:
    """Return for each of our fields that the table has how to take it from a line."""
    unknown = sorted(set(options.columns) - set(NAMES))
    if unknown:
        raise UsageError(f"unknown field {unknown[0]!r}; known: {', '.join(NAMES)}", field="--map")
    absent = sorted(set(options.columns.values()) - set(columns))
    if absent:
        raise log.error(f"has no column {absent[0]!r}; it has {', '.join(columns[:20])}", field="--map")
    taken = set(options.columns.values())
    found = dict(options.columns)
    for field, usual in NAMES.items():
        column = next((name for name in usual if name in columns and name not in taken), None)
        if field not in found and column is not None:
            found[field] = column
            taken.add(column)
    for needed in ("case", "score"):
        if needed not in found:
            raise log.error(f"has no column for the {needed}; name it with --map {needed}=COLUMN", line=1)
    as_objects = has_names_in_rows(log)
    get = {field: _getter(column if as_objects else columns.index(column)) for field, column in found.items()}
    first = int(found.get("trial") == "trial_index")  # our own, which counts from 1
    return get | {"first": lambda _: first}


def _getter(place: str | int) -> Get:
    if isinstance(place, int):
        return lambda cells: cells[place]
    return lambda found: found.get(place)


def _run(log: Log, values: Any, get: Mapping[str, Get], named: tuple[str, ...]) -> LoggedRun:
    told = {name: str(get[name](values)) for name in ("suite", "arm", "model", "run") if name in get}
    arm = arm_of(told.get("arm", ""))
    model = told.get("model")
    run = LoggedRun(
        suite=told.get("suite") or log.path.stem,
        key=("table", *named, "" if "run" in told else log.sha256),
        model=model if model else (told.get("arm") if arm is None else None),
        tool="table",
        created_at=_time(get["started_at"](values)) if "started_at" in get else None,
    )
    if arm is not None:
        run.arm = arm
        run.group = ("table", *(told.get(n, "") for n in ("suite", "model", "run")), log.sha256)
    return run


def _row(log: Log, line: int, values: Any, get: Mapping[str, Get]) -> Row:
    case = get["case"](values)
    row = Row(case_id="" if case is None else str(case), trial_index=0, locator=f"line {line}")
    told = get["score"](values)
    row.score = _score(told)
    if row.score is None and not _is_unknown(told):
        row.reason = "the score is not a number"
    if "trial" in get:
        row.trial_index = _trial(log, line, get["trial"](values), first=get["first"](values))
    for name in _OPTIONAL.keys() & get.keys():
        setattr(row, name, _OPTIONAL[name](get[name](values)))
    if "outcome" in get:
        row.outcome = _outcome(log, line, get["outcome"](values))
    return row


def _score(value: Any) -> float | None:
    found = number(value)
    return _TRUTHS.get(value.strip().lower()) if found is None and isinstance(value, str) else found


def _is_unknown(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in _UNKNOWN)


def _trial(log: Log, line: int, value: Any, first: int) -> int:
    """Return the trial's number from 1; others count from 0 or from anywhere, so one is added to be safe."""
    found = whole(value)
    if found is None:
        raise log.error("a trial is a whole number; leave the column out with --map", line=line)
    return found + 1 - first


def _outcome(log: Log, line: int, value: Any) -> Outcome:
    word = "ok" if _is_unknown(value) else str(value).strip().lower()
    if word not in _OUTCOMES:
        known = ", ".join(sorted(_OUTCOMES))
        raise log.error(f"unknown outcome; known: {known}", line=line)
    return _OUTCOMES[word]


def _known_text(value: Any) -> str | None:
    return None if _is_unknown(value) else str(value)


def _time(value: Any) -> str | None:
    """Return a time as text; one of our own Parquet is UTC without saying so."""
    return (
        f"{value.isoformat()}Z"
        if isinstance(value, datetime) and value.tzinfo is None
        else _known_text(value)
    )


def _flag(value: Any) -> bool | None:
    found = _score(value)
    return None if found is None else bool(found)


_OPTIONAL: dict[str, Callable[[Any], Any]] = {
    "archetype": _known_text,
    "reason": _known_text,
    "started_at": _time,
    "duration_s": number,
    "tokens_in": whole,
    "tokens_out": whole,
    "cost": number,
    "cached": _flag,
}
