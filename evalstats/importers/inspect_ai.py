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
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.importers.rules import seconds_between
from evalstats.importers.values import items, mapping, number, text, whole

NAME = "inspect"
_HEADER, _START = "header.json", "_journal/start.json"
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
_TIMED = ("time", "working")
_FINISHED = ("success", "error", "cancelled")
_MOST_EPOCHS = 10_000
_GRADED = "model_graded"  # scorers so called ask a model; without one of their own, the subject


def sniff(log: Log) -> str | None:
    """Recognise an archive by its members, a document by its keys."""
    if log.is_zip:
        return "an archive of samples" if {_HEADER, _START} & set(Archive(log).names()) else None
    return "a log with eval and status" if {"version", "status", "eval"} <= set(log.top_keys) else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the samples of one log."""
    header, samples = _opened(log)
    spec = mapping(header.get("eval"))
    if not text(spec.get("task")):
        raise log.error("names no task; is it a whole log?", field="/eval/task")
    run = _run(header, spec)
    tallies: dict[str, Tally] = defaultdict(Tally)
    run.declared = lambda: _declared(header, tallies)
    yield run, None
    seen: dict[str, Any] = {}
    for locator, sample in samples:
        row = _row(log, locator, sample, header, options)
        if type(seen.setdefault(row.case_id, sample["id"])) is not type(sample["id"]):
            raise log.error("the number and the text of one id name two samples; rename one", field=locator)
        seen[f"{row.case_id}\0{row.trial_index}"] = None
        for name, score in row.scores.items():
            tallies[name].add(row.case_id, score, mapping(sample.get("metadata")))
        yield run, row
    if header.get("status", "started") in _FINISHED:
        for row in _missing(spec):
            if f"{row.case_id}\0{row.trial_index}" not in seen:
                yield run, row


def _opened(log: Log) -> tuple[dict[str, Any], Iterator[tuple[str, Any]]]:
    """Return the header and the samples with where each stands."""
    if not log.is_zip:
        members = log.members("/samples")
        header = {name[1:]: value for name, value in members if not name.startswith("/samples/")}
        if not isinstance(header.get("samples"), (list, type(None))):
            raise log.error("must be an array", field="/samples")
        return header, (each for each in log.members("/samples") if each[0].startswith("/samples/"))
    archive = Archive(log)
    names = [name for name in archive.names() if name.startswith("samples/")]
    if not all(name.endswith(".json") for name in names):
        raise log.error("keeps its samples in chunks, which is not read yet; convert it to .json")
    found = next((name for name in (_HEADER, _START) if name in archive), None)
    if found is None:
        raise log.error("holds neither a header nor a start")
    header = dict(mapping(archive.json(found)))
    if found == _START:
        header["status"] = "started"
    return header, ((name, archive.json(name)) for name in names)


def _run(header: Mapping[str, Any], spec: Mapping[str, Any]) -> LoggedRun:
    model = text(spec.get("model"))
    named = next((spec[name] for name in ("task_id", "eval_id") if text(spec.get(name))), None)
    run = LoggedRun(
        suite=spec["task"].rpartition("/")[2],
        key=("inspect", named or f"{spec.get('run_id')}/{spec.get('created')}", model or ""),
        model=model,
        judge_model=", ".join(_judges(spec)) or None,
        tool="inspect_ai",
        tool_version=text(mapping(spec.get("packages")).get("inspect_ai")),
        created_at=text(spec.get("created")),
        is_mock=(model or "").startswith("mockllm/"),
        scoring=spec.get("scorers"),
        facts={
            k: spec[k] for k in ("eval_id", "run_id", "task_id", "task_version", "revision") if spec.get(k)
        },
    )
    status = header.get("status", "started")
    if status != "success":
        said = status if status in (*_FINISHED, "started") else "of no known kind"
        run.warn(f"the log ended with status {said}" if said != "started" else "the log is not finished")
    if header.get("invalidated"):
        run.warn("the log is marked invalidated")
    return run


def _judges(spec: Mapping[str, Any]) -> list[str]:
    """Return the models that grade: the one with that role, else those of the scorers that ask a model."""
    role = mapping(spec.get("model_roles")).get("grader")
    found = [mapping(role).get("model") if isinstance(role, dict) else role]
    for scorer in items(spec.get("scorers")) if not found[0] else ():
        if str(mapping(scorer).get("name")).rpartition("/")[2].startswith(_GRADED):
            asked = mapping(mapping(scorer).get("options")).get("model")
            found += asked if isinstance(asked, list) else [asked or spec.get("model")]
    return list(dict.fromkeys(model for each in found if (model := text(each)) is not None))


def _row(log: Log, locator: str, sample: Any, header: Mapping[str, Any], options: Options) -> Row:
    known = mapping(sample).get("id")
    if not isinstance(known, (str, int)) or isinstance(known, bool):
        raise log.error("a sample needs an id that is text or a whole number", field=locator)
    config = mapping(header["eval"].get("config"))
    epoch = whole(sample.get("epoch", None if (whole(config.get("epochs")) or 1) > 1 else 1))
    if not epoch:
        raise log.error("an epoch counts from 1", field=f"{locator}/epoch")
    scores, reasons = _scores(log, locator, sample)
    chosen = _chosen(scores, header, options)
    outcome, reason, kind = _ending(sample, scores)
    usage = mapping(mapping(sample.get("model_usage")).get(text(header["eval"].get("model")) or ""))
    seconds = number(sample.get("total_time"))
    return Row(
        case_id=str(known),
        trial_index=epoch,
        locator=locator,
        outcome=outcome,
        score=scores.get(chosen) if chosen else None,
        reason=reason or (reasons.get(chosen) if chosen else "no scorer ran"),
        scores=scores if outcome.usable else {},
        content={"input": _said(sample.get("input")), "target": sample.get("target")},
        about=sample,
        started_at=text(sample.get("started_at")) or _first_event(sample),
        duration_s=seconds
        if seconds is not None
        else seconds_between(sample.get("started_at"), sample.get("completed_at")),
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
    return text(mapping(next(iter(items(sample.get("events"))), None)).get("timestamp"))


def _stop_reason(sample: Mapping[str, Any]) -> str | None:
    choices = items(mapping(sample.get("output")).get("choices"))
    return text(mapping(next(iter(choices), None)).get("stop_reason"))


def _ending(sample: Mapping[str, Any], scores: Mapping[str, Any]) -> tuple[Outcome, str | None, str | None]:
    """Return how the sample ended: the outcome, the reason and the class of an error.

    A sample that was scored in spite of its error counts with its score.
    """
    if sample.get("invalidation"):
        return Outcome.DEGRADED, "invalidated in the log", None
    error, limit = sample.get("error"), sample.get("limit")
    if error:
        message = str(error.get("message") if isinstance(error, dict) else error)
        kind = re.match(r"\w+(?=\()", message)
        name = kind.group() if kind else "error"
        if scores:
            return Outcome.OK, None, name
        return Outcome.INFRASTRUCTURE, message.split("\n", maxsplit=1)[0][:200], name
    if limit:
        kind_of = limit.get("type") if isinstance(limit, dict) else limit
        return (Outcome.TIMEOUT if kind_of in _TIMED else Outcome.LIMIT), f"limit: {kind_of}", None
    return Outcome.OK, None, None


def _scores(log: Log, locator: str, sample: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return each score by name, None where it is none, and why it is none. Old logs have one, without a name."""
    found = sample.get("scores", {"score": sample["score"]} if sample.get("score") is not None else None)
    if not isinstance(found, (dict, type(None))):
        raise log.error("must be an object", field=f"{locator}/scores")
    scores: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for scorer, score in (found or {}).items():
        for name, value in _parts(scorer, score.get("value") if isinstance(score, dict) else score):
            scores[name] = _LETTERS.get(value) if isinstance(value, str) else None
            scores[name] = number(value) if scores[name] is None else scores[name]
            if scores[name] is None:
                given = text(mapping(score).get("reason"))
                given = given or text(mapping(mapping(score).get("metadata")).get("unscored_reason"))
                reasons[name] = f"unscored: {given}" if given else "the scorer gave no number"
    return scores, reasons


def _parts(scorer: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{scorer}.{key}", part) for key, part in value.items()]
    if isinstance(value, list):
        return [(f"{scorer}.{index}", part) for index, part in enumerate(value)]
    return [(scorer, value)]


def _reported(header: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the figures of the log with the name of the score, as `_parts` calls it; old logs have one set."""
    results = mapping(header.get("results"))
    for score in items(results.get("scores")) or [results]:
        name, scorer = text(mapping(score).get("name")), mapping(score).get("scorer")
        scorer = mapping(scorer).get("name") if isinstance(scorer, dict) else scorer
        whole_name = name or text(scorer) or "score"
        yield whole_name, score
        if name and scorer and name != scorer:
            yield f"{scorer}.{name}", score


def _chosen(scores: Mapping[str, Any], header: Mapping[str, Any], options: Options) -> str | None:
    """Return the name of the score that counts: the one asked for, else the log's headline, else the first."""
    if options.metric is not None:
        return options.metric if options.metric in scores else None
    headline = text(mapping(mapping(header.get("results")).get("headline")).get("score"))
    named = [headline, *(name for name, _ in _reported(header))]
    return next((name for name in named if name in scores), next(iter(scores), None))


def _missing(spec: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the samples that were planned, as if none had come."""
    config = mapping(spec.get("config"))
    epochs = min(whole(config.get("epochs")) or 1, _MOST_EPOCHS)
    for case in _planned(spec, config):
        for epoch in range(1, epochs + 1):
            yield Row(
                case_id=str(case),
                trial_index=epoch,
                locator="/eval/dataset/sample_ids",
                outcome=Outcome.MISSING,
                reason="planned, but not in the log",
            )


def _planned(spec: Mapping[str, Any], config: Mapping[str, Any]) -> list[Any]:
    """Return the ids that were to be asked: all of the dataset, or those that a limit or a choice left."""
    planned = items(mapping(spec.get("dataset")).get("sample_ids"))
    chosen, limit = config.get("sample_id"), config.get("limit")
    if chosen is not None:
        wanted = {str(each) for each in (chosen if isinstance(chosen, list) else [chosen])}
        return [case for case in planned if str(case) in wanted]
    first, last = limit if isinstance(limit, list) and len(limit) == 2 else (0, limit)
    start, stop = whole(first) or 0, whole(last)
    if stop is None or len(planned) <= stop - start:  # no limit, or the ids are what it left
        return planned
    return planned[start:stop]


def _declared(header: Mapping[str, Any], tallies: Mapping[str, Tally]) -> list[Declared]:
    """Return the metrics that the log reports, recomputed where the reducer is the mean."""
    found = []
    for name, score in _reported(header):
        tally = tallies.get(name)
        if tally is not None and score.get("reducer") in (None, "mean"):
            for key, metric in mapping(score.get("metrics")).items():
                found += _recomputed(name, key, metric, tally)
    return found


def _recomputed(score: str, key: str, metric: Any, tally: Tally) -> list[Declared]:
    metric = metric if isinstance(metric, dict) else {"value": metric}  # old logs write the bare number
    cluster = mapping(metric.get("params", metric.get("options"))).get("cluster")
    name, value = text(metric.get("name")) or key, number(metric.get("value"))
    again = None if metric.get("group") else tally.statistic(name, text(cluster))
    if value is None or again is None:
        return []
    return [
        Declared(
            name=f"{score}/{name}({cluster})" if cluster else f"{score}/{name}",
            declared=value,
            recomputed=again,
        )
    ]
