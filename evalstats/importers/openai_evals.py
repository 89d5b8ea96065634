"""Logs of openai/evals: JSON lines of one run, its settings, its events and, unless it crashed, its report.

Lines come in any order. A sample that is scored more than once is either repeated or asked several things; the
log cannot tell, so the events are numbered and a warning says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.declared import Tally
from evalstats.importers.logs import Log, number
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row

NAME = "openai-evals"
_EVENT = {"run_id", "event_id", "sample_id", "type", "data"}
_SCORES = ("correct", "score", "accuracy", "metascore")


def sniff(log: Log) -> str | None:
    """Recognise the settings or an event on the first line."""
    first = log.first_object or {}
    spec = first.get("spec")
    if isinstance(spec, dict) and "eval_name" in spec:
        return "the settings of a run"
    if set(first) >= _EVENT or (set(first) <= {"final_report", "run_id"} and "final_report" in first):
        return "events of a run"
    return None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row for each scored or failed event, in the order of event ids within a sample."""
    cut: list[str] = []
    spec, report = _about(log, options, cut)
    run = _run(log, spec)
    run.warnings += cut
    if not report:
        run.warnings.append("no final report: the run did not end")
    choices = _mapping(_mapping(_mapping(spec.get("run_config")).get("eval_spec")).get("args")).get(
        "choice_scores"
    )
    tally, counted = Tally(), Counter[str]()
    run.declared = lambda: _declared(report, tally)
    yield run, None
    for line, event in log.json_lines([], allow_truncated=options.allow_truncated):
        row = _row(log, event, line, _mapping(choices), options)
        if row is None:
            continue
        counted[row.case_id] += 1
        row.trial_index = counted[row.case_id]
        if row.trial_index == 2 and "several events" not in " ".join(run.warnings):
            run.warnings.append("several events of one sample: repeats, or several things asked of it")
        tally.add(f"{row.case_id}/{row.trial_index}", row.score)
        yield run, row


def _about(log: Log, options: Options, cut: list[str]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the settings and the report, wherever they stand."""
    spec: Mapping[str, Any] = {}
    report: Mapping[str, Any] = {}
    for line, found in log.json_lines(cut, allow_truncated=options.allow_truncated):
        if not isinstance(found, dict):
            raise log.error("must be an object", line=line)
        spec = _mapping(found.get("spec")) or spec
        report = _mapping(found.get("final_report")) or report
    return spec, report


def _run(log: Log, spec: Mapping[str, Any]) -> LoggedRun:
    functions = spec.get("completion_fns")
    model = ", ".join(str(f) for f in functions) if isinstance(functions, list) else None
    return LoggedRun(
        suite=str(spec.get("base_eval") or spec.get("eval_name") or log.path.stem),
        key=("openai-evals", str(spec.get("run_id") or log.sha256)),
        model=model,
        tool="openai-evals",
        created_at=_text(spec.get("created_at")),
        is_mock=model == "dummy",
        facts={key: spec[key] for key in ("eval_name", "split", "run_id") if key in spec},
        warnings=[] if spec else ["the log has no settings: suite and model are unknown"],
    )


def _row(log: Log, event: Any, line: int, choices: Mapping[str, Any], options: Options) -> Row | None:
    kind, data = event.get("type"), _mapping(event.get("data"))
    if kind not in ("match", "metrics", "error"):
        return None
    if not isinstance(event.get("sample_id"), str):
        raise log.error("an event needs its sample_id", line=line)
    names = [options.metric] if options.metric else list(_SCORES)
    score = next((value for name in names if (value := number(data.get(name))) is not None), None)
    if score is None and "choice" in data:
        score = number(choices.get(str(data["choice"])))
    failed = kind == "error"
    return Row(
        case_id=event["sample_id"],
        trial_index=1,
        locator=f"line {line}",
        outcome=Outcome.INFRASTRUCTURE if failed else Outcome.OK,
        score=score,
        reason=str(data.get("type") or "error")[:200] if failed else None,
        scores={name: value for name, told in data.items() if (value := number(told)) is not None},
        about=data,
        started_at=_text(event.get("created_at")),
        error_class=str(data.get("type") or "error")[:100] if failed else None,
    )


def _declared(report: Mapping[str, Any], tally: Tally) -> list[Declared]:
    value, again = number(report.get("accuracy")), tally.statistic("mean")
    return [] if value is None else [Declared(name="accuracy", declared=value, recomputed=again)]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
