"""Logs of openai/evals: JSON lines of one run, its settings, its events and, unless it crashed, its report.

Lines come in any order. A sample that is scored more than once is either repeated or asked several things; the
log cannot tell, so the events are numbered and a warning says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.declared import Tally
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.importers.values import mapping, number, text, whole

NAME = "openai-evals"
_EVENT = {"run_id", "event_id", "sample_id", "type", "data"}
_SCORED = ("match", "metrics", "error")
_SCORES = ("correct", "score", "accuracy", "metascore")


def sniff(log: Log) -> str | None:
    """Recognise the settings or an event on the first line."""
    first = {} if log.is_array else log.first
    if "eval_name" in mapping(first.get("spec")):
        return "the settings of a run"
    if set(first) >= _EVENT or (set(first) <= {"final_report", "run_id"} and "final_report" in first):
        return "events of a run"
    return None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row for each scored or failed event, in the order of event ids within a sample."""
    cut: list[str] = []
    spec, report, events = _about(log, options, cut)
    run = _run(log, spec)
    run.warnings += cut
    if any(len(ids) > 1 for ids in events.values()):
        run.warn("several events of one sample: repeats, or several things asked of it")
    if not report:
        run.warn("no final report: the run did not end")
    arguments = mapping(mapping(mapping(spec.get("run_config")).get("eval_spec")).get("args"))
    choices = mapping(arguments.get("choice_scores"))
    tally = Tally()
    run.declared = lambda: _declared(report, tally)
    yield run, None
    for line, event in log.json_lines([], allow_truncated=options.allow_truncated):
        row = _row(event, line, choices, options)
        if row is None:
            continue
        row.trial_index = sorted(events[row.case_id]).index(event["event_id"]) + 1
        tally.add(f"{row.case_id}/{row.trial_index}", row.score)
        yield run, row
    for sample in (sample for sample, ids in events.items() if not ids):
        reason = "asked, and neither scored nor failed"
        yield (
            run,
            Row(case_id=sample, trial_index=1, locator="events", outcome=Outcome.MISSING, reason=reason),
        )


_About = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, set[int]]]


def _about(log: Log, options: Options, cut: list[str]) -> _About:
    """Return the settings, the report and the ids of each sample's events, wherever they stand."""
    spec: Mapping[str, Any] = {}
    report: Mapping[str, Any] = {}
    events: dict[str, set[int]] = defaultdict(set)
    for line, found in log.json_lines(cut, allow_truncated=options.allow_truncated):
        spec = mapping(found.get("spec")) or spec
        report = mapping(found.get("final_report")) or report
        if found.get("type") in _SCORED:
            sample, event = text(found.get("sample_id")), whole(found.get("event_id"))
            if sample is None or event is None or not isinstance(found["event_id"], int):
                raise log.error("an event needs its sample_id and its event_id", line=line)
            events[sample].add(event)
        elif text(found.get("sample_id")):
            events[found["sample_id"]].update()  # asked; whether it was scored, other events tell
    return spec, report, events


def _run(log: Log, spec: Mapping[str, Any]) -> LoggedRun:
    functions = spec.get("completion_fns")
    model = ", ".join(str(f) for f in functions) if isinstance(functions, list) else None
    return LoggedRun(
        suite=str(spec.get("base_eval") or spec.get("eval_name") or log.path.stem),
        key=("openai-evals", str(spec.get("run_id") or log.identity)),
        model=model,
        tool="openai-evals",
        created_at=text(spec.get("created_at")),
        is_mock=model == "dummy",
        facts={key: spec[key] for key in ("eval_name", "split", "run_id") if key in spec},
        warnings=[] if spec else ["the log has no settings: suite and model are unknown"],
    )


def _row(event: Mapping[str, Any], line: int, choices: Mapping[str, Any], options: Options) -> Row | None:
    kind, data = event.get("type"), mapping(event.get("data"))
    if kind not in _SCORED:
        return None
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
        started_at=text(event.get("created_at")),
        error_class=str(data.get("type") or "error")[:100] if failed else None,
    )


def _declared(report: Mapping[str, Any], tally: Tally) -> list[Declared]:
    value, again = number(report.get("accuracy")), tally.statistic("mean")
    return [] if value is None else [Declared(name="accuracy", declared=value, recomputed=again)]
