"""Results of terminal-bench: ``results.json`` of a run, or a table of outcomes made from several.

A task that the verifier could not judge is blank there and counts as unresolved. Here the failure mode decides:
an agent that ran out of time failed; an agent that never worked is infrastructure; a verifier that could not read
or finish its tests leaves the trial unscored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.cells import has_names_in_rows, lines_of
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.importers.rules import seconds_between
from evalstats.importers.values import items, mapping, number, text, whole

NAME = "terminal-bench"
_MODES = {
    "agent_timeout": Outcome.TIMEOUT,
    "unknown_agent_error": Outcome.INFRASTRUCTURE,
    "agent_installation_failed": Outcome.INFRASTRUCTURE,
    "fatal_llm_parse_error": Outcome.LIMIT,
    "context_length_exceeded": Outcome.LIMIT,
    "output_length_exceeded": Outcome.LIMIT,
}
_KNOWN = {*_MODES, "unset", "none", "test_timeout", "parse_error"}
_TRIAL = re.compile(r"\.(\d+)-of-\d+\.")
_COLUMNS = {"task_id", "is_resolved", "failure_mode"}


def sniff(log: Log) -> str | None:
    """Recognise the document by its keys, the table by its header."""
    keys = set(log.top_keys)
    first = mapping(next(iter(items(log.first.get("results"))), None)) if keys else {}
    if keys >= {"results", "n_resolved", "accuracy"} or set(first) >= _COLUMNS:
        return "results of a run"
    header = set(log.head.partition(b"\n")[0].decode(errors="replace").strip().split(","))
    return "a table of outcomes" if header >= _COLUMNS else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row a trial."""
    runs: dict[tuple[str, ...], LoggedRun] = {}
    scores: dict[LoggedRun, list[float]] = {}
    cut: list[str] = []
    report, results = _results(log, options, cut)
    for locator, result in results:
        if not text(mapping(result).get("task_id")):
            raise log.error("a result needs its task_id", field=locator)
        named = _run_of(log, result)
        if named not in runs:
            runs[named] = run = _run(named, result)
            scores[run] = []
            run.declared = _declarer(report, scores[run])
        run = runs[named]
        row = _row(log, result, locator)
        if row.stop_reason not in _KNOWN:
            run.warn(f"a failure mode that is not known here: {row.stop_reason}")
        scores[run].append(1.0 if row.score == 1.0 else 0.0)
        yield run, row
    for run in runs.values():
        run.warnings += cut


def _results(
    log: Log, options: Options, cut: list[str]
) -> tuple[Mapping[str, Any], Iterator[tuple[str, Any]]]:
    if "results" not in log.top_keys:
        return {}, _table(log, options, cut)
    report = {pointer[1:]: value for pointer, value in log.members("/results") if pointer.count("/") == 1}
    if "results" in report:  # no array, or it would have been walked
        raise log.error("must be an array", field="/results")
    return report, (each for each in log.members("/results") if each[0].startswith("/results/"))


def _table(log: Log, options: Options, cut: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = lines_of(log, options, cut)
    header, numbered = next(lines)
    if not _COLUMNS <= set(header) or has_names_in_rows(log):
        raise log.error(f"is neither results nor a table with columns {', '.join(sorted(_COLUMNS))}")
    for line, cells in numbered:
        found: dict[str, Any] = dict(zip(header, cells, strict=True))
        yield f"line {line}", found | {"is_resolved": _truth(log, line, found["is_resolved"])}


def _truth(log: Log, line: int, told: str) -> bool | None:
    words = {"": None, "0": False, "1": True, "false": False, "true": True, "none": None, "null": None}
    if told.strip().lower() not in words:
        raise log.error("must be 0, 1 or blank", line=line, field="is_resolved")
    return words[told.strip().lower()]


def _run_of(log: Log, result: Mapping[str, Any]) -> tuple[str, ...]:
    if "submission" in result or "run" in result:
        return str(result.get("submission", "")), str(result.get("run", ""))
    name = str(result.get("trial_name", ""))
    return "", name.rpartition(".")[2] or log.sha256


def _run(named: tuple[str, ...], result: Mapping[str, Any]) -> LoggedRun:
    submission, run_id = named
    started = text(result.get("started_at")) or text(result.get("trial_started_at"))
    return LoggedRun(
        suite="terminal-bench",
        key=("terminal-bench", submission, run_id),
        model=submission or None,
        tool="terminal-bench",
        created_at=started,
        facts={"run": run_id},
    )


def _row(log: Log, result: Mapping[str, Any], locator: str) -> Row:
    mode, resolved = str(result.get("failure_mode") or "unset"), result.get("is_resolved")
    if not isinstance(resolved, (bool, type(None))):
        raise log.error("must be true, false or null", field=f"{locator}/is_resolved")
    outcome = _MODES.get(mode, Outcome.OK)
    if resolved is True and outcome is Outcome.INFRASTRUCTURE:
        outcome = Outcome.OK  # the task was done all the same
    elif resolved is None and outcome is Outcome.OK:
        outcome = Outcome.UNSCORED
    numbered = _TRIAL.search(str(result.get("trial_name", "")))
    started = text(result.get("started_at")) or text(result.get("trial_started_at"))
    return Row(
        case_id=str(result["task_id"]),
        trial_index=int(numbered[1]) if numbered else 1,
        locator=locator,
        outcome=outcome,
        score=float(resolved) if isinstance(resolved, bool) else None,
        reason=None if outcome is Outcome.OK else mode if mode != "unset" else "no verdict",
        started_at=started,
        duration_s=seconds_between(result.get("trial_started_at"), result.get("trial_ended_at")),
        tokens_in=whole(result.get("total_input_tokens")) or None,  # the tool writes 0 for unknown
        tokens_out=whole(result.get("total_output_tokens")) or None,
        stop_reason=mode,
        error_class=mode if outcome is Outcome.INFRASTRUCTURE else None,
    )


def _declarer(report: Mapping[str, Any], scores: Sequence[float]) -> Callable[[], list[Declared]]:
    def declared() -> list[Declared]:
        solved, total = sum(scores), len(scores)
        figures = {"n_resolved": solved, "accuracy": solved / total if total else None}
        return [
            Declared(name=name, declared=value, recomputed=again)
            for name, again in figures.items()
            if (value := number(report.get(name))) is not None
        ]

    return declared
