"""Logs of Inspect AI: ``.eval`` archives and ``.json`` documents, one run each, read alike.

An epoch is a trial. Reductions are views of the same samples and are never read. A log that was retried keeps
its task id, so both files are one run, and a sample repeated from the first counts once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.archives import Archive
from evalstats.importers.declared import Tally
from evalstats.importers.logs import Log, number, whole
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row

NAME = "inspect"
_HEADER, _START = "header.json", "_journal/start.json"
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
_TIMED = ("time", "working")
_FINISHED = ("success", "error", "cancelled")


def sniff(log: Log) -> str | None:
    """Recognise an archive by its members, a document by its keys."""
    if log.is_zip:
        names = Archive(log).names()
        return "an archive of samples" if {_HEADER, _START} & set(names) else None
    return "a log with eval and status" if {"version", "status", "eval"} <= set(log.top_keys) else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the samples of one log."""
    header, samples = _opened(log)
    spec = header.get("eval")
    if not isinstance(spec, dict) or not isinstance(spec.get("task"), str):
        raise log.error("names no task; is it a whole log?", field="/eval/task")
    run = _run(header, spec)
    tallies: dict[str, Tally] = defaultdict(Tally)
    run.declared = lambda: _declared(header, tallies)
    yield run, None
    seen: set[tuple[str, int]] = set()
    for locator, sample in samples:
        row = _row(log, locator, sample, header, options)
        seen.add((row.case_id, row.trial_index))
        for name, score in row.scores.items():
            tallies[name].add(row.case_id, score, _mapping(sample.get("metadata")))
        yield run, row
    if header.get("status", "started") in _FINISHED:
        for row in _missing(spec, seen):
            yield run, row


def _opened(log: Log) -> tuple[dict[str, Any], Iterator[tuple[str, Any]]]:
    """Return the header and the samples with where each stands."""
    if not log.is_zip:
        document = log.json()
        samples = document.get("samples") if isinstance(document, dict) else None
        if samples is not None and not isinstance(samples, list):
            raise log.error("must be an array", field="/samples")
        return document, ((f"/samples/{i}", sample) for i, sample in enumerate(samples or []))
    archive = Archive(log)
    names = [name for name in archive.names() if name.startswith("samples/") and name.endswith(".json")]
    if any(name.startswith("samples/") and not name.endswith(".json") for name in archive.names()):
        raise log.error("keeps its samples in chunks, which is not read yet; convert it to .json")
    if _HEADER not in archive and _START not in archive:
        raise log.error("holds neither a header nor a start")
    header = archive.json(_HEADER) if _HEADER in archive else archive.json(_START) | {"status": "started"}
    if not isinstance(header, dict):
        raise log.error("must be an object", field=_HEADER)
    return header, ((name, archive.json(name)) for name in names)


def _run(header: Mapping[str, Any], spec: Mapping[str, Any]) -> LoggedRun:
    model = _text(spec.get("model"))
    judges = _judges(spec)
    run = LoggedRun(
        suite=spec["task"].rpartition("/")[2],
        key=("inspect", _key(spec), model or ""),
        model=model,
        judge_model=", ".join(judges) or None,
        tool="inspect_ai",
        tool_version=_text(_mapping(spec.get("packages")).get("inspect_ai")),
        created_at=_text(spec.get("created")),
        is_mock=(model or "").startswith("mockllm/"),
        scoring=spec.get("scorers"),
        facts={
            k: spec[k] for k in ("eval_id", "run_id", "task_id", "task_version", "revision") if spec.get(k)
        },
    )
    status = header.get("status", "started")
    if status != "success":
        run.warnings.append(f"the log ended with status {status}")
    if header.get("invalidated"):
        run.warnings.append("the log is marked invalidated")
    return run


def _key(spec: Mapping[str, Any]) -> str:
    for name in ("task_id", "eval_id"):
        if isinstance(spec.get(name), str):
            return str(spec[name])
    return f"{spec.get('run_id')}/{spec.get('created')}"


def _judges(spec: Mapping[str, Any]) -> list[str]:
    graders = (role for name, role in _mapping(spec.get("model_roles")).items() if name == "grader")
    return [model for g in graders if isinstance(model := g.get("model") if isinstance(g, dict) else g, str)]


def _row(log: Log, locator: str, sample: Any, header: Mapping[str, Any], options: Options) -> Row:
    if not isinstance(sample, dict) or not isinstance(sample.get("id"), (str, int)):
        raise log.error("a sample needs an id that is text or a whole number", field=locator)
    epoch = whole(sample.get("epoch", 1))
    if not epoch:
        raise log.error("an epoch counts from 1", field=f"{locator}/epoch")
    spec = header["eval"]
    scores, reasons = _scores(sample)
    chosen = _chosen(scores, header, options)
    outcome, reason, kind = _ending(sample, _mapping(spec.get("config")))
    usage = _mapping(_mapping(sample.get("model_usage")).get(spec.get("model")))
    return Row(
        case_id=str(sample["id"]),
        trial_index=epoch,
        locator=locator,
        outcome=outcome,
        score=scores.get(chosen) if chosen else None,
        reason=reason or (reasons.get(chosen) if chosen else "no scorer ran"),
        scores=scores if outcome.usable else {},
        content={"input": _said(sample.get("input")), "target": sample.get("target")},
        about=sample,
        started_at=_text(sample.get("started_at")) or _first_event(sample),
        duration_s=number(sample.get("total_time")),
        tokens_in=whole(usage.get("input_tokens")),
        tokens_out=whole(usage.get("output_tokens")),
        tokens_cache=whole(usage.get("input_tokens_cache_read")),
        cost=number(usage.get("total_cost")),
        cost_source="inspect_ai" if number(usage.get("total_cost")) is not None else None,
        stop_reason=_stop_reason(sample),
        error_class=kind,
    )


def _said(given: Any) -> Any:
    """Return what the case asks, without the random ids that messages carry."""
    if isinstance(given, list):
        return [{k: m.get(k) for k in ("role", "content")} if isinstance(m, dict) else m for m in given]
    return given


def _first_event(sample: Mapping[str, Any]) -> str | None:
    events = sample.get("events")
    first = events[0] if isinstance(events, list) and events else None
    return _text(first.get("timestamp")) if isinstance(first, dict) else None


def _stop_reason(sample: Mapping[str, Any]) -> str | None:
    choices = _mapping(sample.get("output")).get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _text(first.get("stop_reason")) if isinstance(first, dict) else None


def _ending(sample: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[Outcome, str | None, str | None]:
    """Return how the sample ended: the outcome, the reason and the class of an error."""
    if sample.get("invalidation"):
        return Outcome.DEGRADED, "invalidated in the log", None
    error = sample.get("error")
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        kind = re.match(r"\w+(?=\()", str(message))
        name = kind.group() if kind else "error"
        if not config.get("score_on_error"):
            return Outcome.INFRASTRUCTURE, str(message).split("\n")[0][:200], name
        return Outcome.OK, None, name
    limit = sample.get("limit")
    if limit:
        kind_of = limit.get("type") if isinstance(limit, dict) else limit
        return (Outcome.TIMEOUT if kind_of in _TIMED else Outcome.LIMIT), f"limit: {kind_of}", None
    return Outcome.OK, None, None


def _scores(sample: Mapping[str, Any]) -> tuple[dict[str, float | None], dict[str, str]]:
    """Return each score by name, None where it is none, and why it is none."""
    found = sample.get("scores")
    if not isinstance(found, dict):
        found = {"score": sample["score"]} if isinstance(sample.get("score"), dict) else {}
    scores: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for scorer, score in found.items():
        for name, value in _parts(str(scorer), score.get("value") if isinstance(score, dict) else score):
            scores[name] = _value(value)
            if scores[name] is None:
                given = score.get("reason") or _mapping(score.get("metadata")).get("unscored_reason")
                reasons[name] = (
                    f"unscored: {given}" if isinstance(given, str) else "the scorer gave no number"
                )
    return scores, reasons


def _parts(scorer: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{scorer}.{key}", part) for key, part in value.items()]
    if isinstance(value, list):
        return [(f"{scorer}.{index}", part) for index, part in enumerate(value)]
    return [(scorer, value)]


def _value(value: Any) -> float | None:
    if isinstance(value, str) and value in _LETTERS:
        return _LETTERS[value]
    return number(value)


def _chosen(scores: Mapping[str, Any], header: Mapping[str, Any], options: Options) -> str | None:
    """Return the name of the score that counts: the one asked for, else the log's headline, else the first."""
    if options.metric is not None:
        return options.metric if options.metric in scores else None
    results = _mapping(header.get("results"))
    named = [_mapping(results.get("headline")).get("score")]
    named += [s.get("name") for s in results.get("scores") or [] if isinstance(s, dict)]
    return next((name for name in named if name in scores), next(iter(scores), None))


def _missing(spec: Mapping[str, Any], seen: set[tuple[str, int]]) -> Iterator[Row]:
    """Yield the samples that were planned and never came."""
    planned = _mapping(spec.get("dataset")).get("sample_ids")
    epochs = whole(_mapping(spec.get("config")).get("epochs")) or 1
    for case in planned if isinstance(planned, list) else []:
        for epoch in range(1, min(epochs, 10_000) + 1):
            if (str(case), epoch) not in seen:
                yield Row(
                    case_id=str(case),
                    trial_index=epoch,
                    locator="/eval/dataset/sample_ids",
                    outcome=Outcome.MISSING,
                    reason="planned, but not in the log",
                )


def _declared(header: Mapping[str, Any], tallies: Mapping[str, Tally]) -> list[Declared]:
    """Return the metrics that the log reports, recomputed where the reducer is the mean."""
    reported = _mapping(header.get("results")).get("scores")
    found = []
    for score in reported if isinstance(reported, list) else []:
        tally = tallies.get(str(_mapping(score).get("name")))
        if tally is None or score.get("reducer", "mean") != "mean":
            continue
        for metric in _mapping(score.get("metrics")).values():
            if isinstance(metric, dict) and not metric.get("group"):
                found += _recomputed(score["name"], metric, tally)
    return found


def _recomputed(scorer: str, metric: Mapping[str, Any], tally: Tally) -> list[Declared]:
    cluster = _mapping(metric.get("params", metric.get("options"))).get("cluster")
    value, again = number(metric.get("value")), tally.statistic(str(metric.get("name")), cluster)
    if value is None or again is None:
        return []
    label = f"{metric['name']}({cluster})" if cluster else str(metric["name"])
    return [Declared(name=f"{scorer}/{label}", declared=value, recomputed=again)]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
