"""Results of terminal-bench: ``results.json`` of a run, or a table of outcomes made from several.

A task that the verifier could not judge is blank there and counts as unresolved. Here the failure mode decides:
an agent that ran out of time failed; an agent that never worked is infrastructure; a verifier that could not read
or finish its tests leaves the trial unscored.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.logs import Log, number, whole
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row

NAME = "terminal-bench"
_MODES = {
    "agent_timeout": Outcome.TIMEOUT,
    "unknown_agent_error": Outcome.INFRASTRUCTURE,
    "agent_installation_failed": Outcome.INFRASTRUCTURE,
    "fatal_llm_parse_error": Outcome.LIMIT,
    "context_length_exceeded": Outcome.LIMIT,
    "output_length_exceeded": Outcome.LIMIT,
}
_TRIAL = re.compile(r"\.(\d+)-of-\d+\.")
_COLUMNS = {"task_id", "is_resolved", "failure_mode"}


def sniff(log: Log) -> str | None:
    """Recognise the document by its keys, the table by its header."""
    if {"results", "n_resolved", "accuracy"} <= set(log.top_keys) or (
        "results" in log.top_keys and _is_results(log)
    ):
        return "results of a run"
    header = set(log.head.partition(b"\n")[0].decode(errors="replace").strip().split(","))
    return "a table of outcomes" if header >= _COLUMNS else None


def _is_results(log: Log) -> bool:
    results = (log.first_object or {}).get("results")
    first = results[0] if isinstance(results, list) and results else None
    return isinstance(first, dict) and set(first) >= _COLUMNS


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row a trial."""
    runs: dict[tuple[str, ...], LoggedRun] = {}
    scores: dict[LoggedRun, list[float]] = {}
    report, results = _results(log)
    for locator, result in results:
        if not isinstance(result, dict) or not result.get("task_id"):
            raise log.error("a result needs its task_id", field=locator)
        named = _run_of(log, result)
        if named not in runs:
            runs[named] = run = _run(named, result)
            scores[run] = []
            run.declared = _declarer(report, scores[run])
        run = runs[named]
        row = _row(result, locator)
        if not row.trial_index:
            row.trial_index = 1
        scores[run].append(1.0 if row.score == 1.0 else 0.0)
        yield run, row


def _results(log: Log) -> tuple[Mapping[str, Any], Iterator[tuple[str, Any]]]:
    if "results" not in log.top_keys:
        return {}, _table(log)
    report = log.json()
    results = report.get("results")
    if not isinstance(results, list):
        raise log.error("must be an array", field="/results")
    return report, ((f"/results/{i}", result) for i, result in enumerate(results))


def _table(log: Log) -> Iterator[tuple[str, dict[str, Any]]]:
    header: list[str] = []
    for line, raw in log.lines():
        try:
            cells = next(csv.reader([raw.decode().rstrip("\r\n")], strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise log.error(f"is not a line of CSV in UTF-8: {error}", line=line) from None
        if not header:
            header = cells
        elif len(cells) != len(header):
            raise log.error(f"has {len(cells)} cells, the header has {len(header)}", line=line)
        else:
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
    started = result.get("started_at") or result.get("trial_started_at")
    return LoggedRun(
        suite="terminal-bench",
        key=("terminal-bench", submission, run_id),
        model=submission or None,
        tool="terminal-bench",
        created_at=started if isinstance(started, str) else None,
        facts={"run": run_id},
    )


def _row(result: Mapping[str, Any], locator: str) -> Row:
    mode, resolved = str(result.get("failure_mode") or "unset"), result.get("is_resolved")
    outcome = _MODES.get(mode, Outcome.OK)
    if resolved is True and outcome is Outcome.INFRASTRUCTURE:
        outcome = Outcome.OK  # the task was done all the same
    elif resolved is None and outcome is Outcome.OK:
        outcome = Outcome.UNSCORED
    numbered = _TRIAL.search(str(result.get("trial_name", "")))
    started = result.get("started_at") or result.get("trial_started_at")
    return Row(
        case_id=str(result["task_id"]),
        trial_index=int(numbered[1]) if numbered else 0,
        locator=locator,
        outcome=outcome,
        score=float(resolved) if isinstance(resolved, bool) else None,
        reason=None if outcome is Outcome.OK else mode if mode != "unset" else "no verdict",
        started_at=started if isinstance(started, str) else None,
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
