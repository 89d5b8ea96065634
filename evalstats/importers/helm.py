"""Runs of HELM: ``per_instance_stats.json``, with the settings of the run beside it.

A perturbed instance asks something else, so it does not stand in the main figure and is left out; a statistic
without observations is no score.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.errors import LogError
from evalstats.importers.logs import Log
from evalstats.importers.rows import Item, LoggedRun, Options, Row
from evalstats.importers.values import mapping, number, text, whole

NAME = "helm"
_SPEC = "run_spec.json"
_NOT_SCORES = ("num_", "inference_", "training_", "max_prob", "logprob", "batch_size", "finish_reason_")


def sniff(log: Log) -> str | None:
    """Recognise the keys of the first element."""
    return (
        "statistics of each instance" if log.is_array and {"instance_id", "stats"} <= set(log.first) else None
    )


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row for each instance and train trial."""
    spec = _spec(log)
    name = text(spec.get("name")) or log.path.resolve().parent.name
    run = LoggedRun(
        suite=name.partition(":")[0],
        key=("helm", name, log.identity),
        model=text(mapping(spec.get("adapter_spec")).get("model")),
        tool="helm",
        scoring=spec.get("metric_specs"),
    )
    yield run, None
    perturbed = 0
    for locator, instance in log.members(""):
        if not text(mapping(instance).get("instance_id")):
            raise log.error("needs its instance_id", field=locator)
        stats, other = _stats(log, instance, locator)
        if instance.get("perturbation") is not None or (other and not stats):
            perturbed += 1
        else:
            yield run, _row(log, instance, stats, locator, options)
    if perturbed:
        run.warn(f"{perturbed} perturbed instances were left out of the main figure")


def _row(
    log: Log, instance: Mapping[str, Any], stats: Mapping[str, float | None], locator: str, options: Options
) -> Row:
    scores = {name: value for name, value in stats.items() if not name.startswith(_NOT_SCORES)}
    chosen = options.metric or next(iter(scores), None)
    trial = whole(instance.get("train_trial_index", 0))
    if trial is None:
        raise log.error("a train trial counts from 0", field=f"{locator}/train_trial_index")
    return Row(
        case_id=instance["instance_id"],
        trial_index=trial + 1,
        locator=locator,
        score=scores.get(chosen) if chosen else None,
        reason=None if chosen else "no metric",
        scores=scores,
        about=instance,
        duration_s=stats.get("inference_runtime"),
        tokens_in=whole(stats.get("num_prompt_tokens")),
        tokens_out=whole(stats.get("num_output_tokens", stats.get("num_completion_tokens"))),
    )


def _stats(log: Log, instance: Mapping[str, Any], locator: str) -> tuple[dict[str, float | None], int]:
    """Return the mean of each statistic, and how many others are of a perturbed instance."""
    found: dict[str, float | None] = {}
    others = 0
    if not isinstance(instance.get("stats"), list):
        raise log.error("must be an array", field=f"{locator}/stats")
    for stat in instance["stats"]:
        named = mapping(mapping(stat).get("name"))
        name = text(named.get("name"))
        if name is None:
            raise log.error("a statistic needs its name", field=f"{locator}/stats")
        if named.get("perturbation") is not None:
            others += 1
        elif name not in found:
            count, total = number(stat.get("count")), number(stat.get("sum"))
            found[name] = total / count if count and total is not None else None
    return found, others


def _spec(log: Log) -> Mapping[str, Any]:
    beside = log.beside(_SPEC)
    with contextlib.suppress(LogError):
        return mapping(beside.json()) if beside.exists() else {}
    return {}
