"""Results of Harbor: ``result.json`` in the folder of each trial. The folder above is the run."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import Outcome
from evalstats.importers.logs import Log
from evalstats.importers.rows import Item, LoggedRun, Options, Row
from evalstats.importers.rules import seconds_between
from evalstats.importers.values import mapping, number, text, whole

NAME = "harbor"


def sniff(log: Log) -> str | None:
    """Recognise a trial by its keys, and the summary of a run by its own."""
    keys = set(log.top_keys)
    if {"task_name", "trial_name"} <= keys:
        return "the result of a trial"
    return "the summary of a run" if {"n_total_trials", "id"} <= keys else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the one row of a trial; a summary holds none."""
    result = log.object()
    if "n_total_trials" in result:
        key, when = ("harbor-summary", log.sha256), text(result.get("started_at"))
        yield LoggedRun(suite="harbor", key=key, tool="harbor", created_at=when), None
        return
    agent = mapping(result.get("agent_info"))
    model = mapping(agent.get("model_info"))
    name = text(model.get("name"))
    run = LoggedRun(
        suite=text(mapping(mapping(result.get("config")).get("task")).get("source")) or "harbor",
        key=("harbor", log.path.resolve().parent.parent.name, text(agent.get("name")) or "", name or ""),
        model=name,
        tool=text(agent.get("name")),
        tool_version=text(agent.get("version")),
        created_at=text(result.get("started_at")),
    )
    yield run, _row(log, result)


def _row(log: Log, result: Mapping[str, Any]) -> Row:
    case, trial = text(result.get("task_name")), text(result.get("trial_name"))
    if case is None or trial is None:
        raise log.error("a trial needs its task_name and trial_name")
    used, error = mapping(result.get("agent_result")), mapping(result.get("exception_info"))
    rewards = mapping(mapping(result.get("verifier_result")).get("rewards"))
    scores = {str(name): number(value) for name, value in rewards.items()}
    outcome, kind = _ending(error, scores)
    return Row(
        case_id=case,
        trial_index=_index(log, trial),
        locator=trial,
        outcome=outcome,
        score=next(iter(scores.values()), None),
        reason=kind if outcome is not Outcome.OK else None,
        scores=scores,
        content=result.get("task_checksum"),
        about=result,
        started_at=text(result.get("started_at")),
        duration_s=seconds_between(result.get("started_at"), result.get("finished_at")),
        tokens_in=whole(used.get("n_input_tokens")),
        tokens_out=whole(used.get("n_output_tokens")),
        tokens_cache=whole(used.get("n_cache_tokens")),
        cost=number(used.get("cost_usd")),
        cost_source="harbor" if number(used.get("cost_usd")) is not None else None,
        error_class=kind,
    )


def _ending(error: Mapping[str, Any], scores: Mapping[str, Any]) -> tuple[Outcome, str | None]:
    """Return how the trial ended; one that was verified counts, whatever was raised on the way."""
    kind = text(error.get("exception_type"))
    if kind is None or scores:
        return Outcome.OK, kind
    return (Outcome.TIMEOUT if kind == "AgentTimeoutError" else Outcome.INFRASTRUCTURE), kind


def _index(log: Log, trial: str) -> int:
    """Return the rank of a trial among those of its task, by when they began.

    Their names end in random letters; ranked by time, a trial that is added later leaves the others as they were.
    """
    mine, task = log.path.resolve().parent, trial.rpartition("__")[0] or trial
    begun = [
        (text(Log(path).first.get("started_at")) or "", path.parent.name)
        for path in mine.parent.glob(f"{glob.escape(task)}__*/{log.path.name}")
    ]
    names = [name for _, name in sorted(begun)]
    return names.index(mine.name) + 1 if mine.name in names else 1
