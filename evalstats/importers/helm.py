"""Runs of HELM: ``per_instance_stats.json``, with the settings of the run beside it.

A perturbed instance asks something else, so it does not stand in the main figure and is left out; a statistic
without observations is no score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.errors import LogError
from evalstats.importers.logs import Log, number, whole
from evalstats.importers.rows import Item, LoggedRun, Options, Row

NAME = "helm"
_SPEC = "run_spec.json"
_NOT_SCORES = ("num_", "inference_", "training_", "max_prob", "logprob", "batch_size", "finish_reason_")


def sniff(log: Log) -> str | None:
    """Recognise the keys of the first element."""
    if not log.head.lstrip().startswith(b"["):
        return None
    return "statistics of each instance" if {"instance_id", "stats"} <= set(log.first_element or {}) else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row for each instance and train trial."""
    spec = _spec(log)
    adapter = _mapping(spec.get("adapter_spec"))
    name = spec.get("name")
    run = LoggedRun(
        suite=str(name).partition(":")[0] if isinstance(name, str) else log.path.parent.name,
        key=("helm", str(name or log.path.parent.name), log.sha256),
        model=adapter["model"] if isinstance(adapter.get("model"), str) else None,
        tool="helm",
        scoring=spec.get("metric_specs"),
    )
    perturbed = 0
    for index, instance in enumerate(log.items("item")):
        if not isinstance(instance, dict) or not isinstance(instance.get("instance_id"), str):
            raise log.error("needs its instance_id", field=f"/{index}")
        if instance.get("perturbation") is not None:
            perturbed += 1
            continue
        yield run, _row(log, instance, f"/{index}", options)
    if perturbed:
        run.warnings.append(f"{perturbed} perturbed instances were left out of the main figure")


def _row(log: Log, instance: Mapping[str, Any], locator: str, options: Options) -> Row:
    stats = {name: value for name, value in _stats(log, instance, locator)}
    scores = {name: value for name, value in stats.items() if not name.startswith(_NOT_SCORES)}
    chosen = options.metric or next(iter(scores), None)
    return Row(
        case_id=instance["instance_id"],
        trial_index=(whole(instance.get("train_trial_index")) or 0) + 1,
        locator=locator,
        score=scores.get(chosen) if chosen else None,
        reason=None if chosen else "no metric",
        scores=scores,
        about=instance,
        duration_s=stats.get("inference_runtime"),
        tokens_in=whole(stats.get("num_prompt_tokens")),
        tokens_out=whole(stats.get("num_output_tokens", stats.get("num_completion_tokens"))),
    )


def _stats(log: Log, instance: Mapping[str, Any], locator: str) -> Iterator[tuple[str, float | None]]:
    stats = instance.get("stats")
    if not isinstance(stats, list):
        raise log.error("must be an array", field=f"{locator}/stats")
    for stat in stats:
        named = _mapping(_mapping(stat).get("name"))
        if named.get("perturbation") is None and isinstance(named.get("name"), str):
            count, total = number(stat.get("count")), number(stat.get("sum"))
            yield named["name"], total / count if count and total is not None else None


def _spec(log: Log) -> Mapping[str, Any]:
    beside = log.beside(_SPEC)
    try:
        return _mapping(beside.json()) if beside.exists() else {}
    except LogError:
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
