"""What will a plan take? From the records of earlier runs of its cases by the same runtime and model."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats.contract import Arm
from evalstats.errors import DocumentError
from evalstats.runner import records
from evalstats.runner.planning import Plan

RECENT_RUNS = 20  # of each arm; older ones tell of another machine, model or network


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a plan is expected to take: seconds of one trial after the other, US dollars; None where unknown.

    ``runs`` is how many earlier runs it rests on, ``reason`` why something is not known.
    """

    trials: int
    runs: int
    seconds: float | None
    cost: float | None
    reason: str | None


def forecast(plan: Plan, data: Path) -> Forecast:
    """Return what a plan is expected to take, from the runs in a data folder."""
    tree = journal.private_tree(data) if plan.is_private else data
    found = {run.arm: list(_alike(plan, run.arm, tree / "runs"))[:RECENT_RUNS] for run in plan.runs}
    arms = [spec.arm for spec in plan.specs]
    costs = {arm: _mean([_cost(record) for record in earlier]) for arm, earlier in found.items()}
    times = [_seconds(found[spec.arm], spec.case.id) for spec in plan.specs]
    runs = sum(len(earlier) for earlier in found.values())
    is_timed = bool(times) and None not in times
    is_priced = bool(arms) and all(costs[arm] is not None for arm in arms)
    return Forecast(
        trials=len(arms),
        runs=runs,
        seconds=sum(t for t in times if t is not None) if is_timed else None,
        cost=sum(costs[arm] or 0.0 for arm in arms) if is_priced else None,
        reason=None if is_timed and is_priced else _why(runs, is_timed=is_timed),
    )


def _why(runs: int, *, is_timed: bool) -> str:
    if not runs:
        return "no earlier run of this suite by this runtime and model"
    return "the earlier runs tell no cost" if is_timed else "not all of these cases have run before"


def _alike(plan: Plan, arm: Arm, runs: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of runs that did the same, the latest first."""
    wanted = records.runtime(plan, arm)
    for path in sorted(runs.glob("*/record.json"), key=lambda p: p.stat().st_mtime, reverse=True):
        try:
            record, _ = contract.read_json(path)
        except DocumentError:
            continue
        about = record.get("runtime", {})
        same = about.get("name") == wanted["name"] and record.get("model") == wanted["model"]
        if same and record.get("arm") == arm and record.get("suite", {}).get("id") == plan.suite.id:
            yield record


def _seconds(earlier: list[dict[str, Any]], case_id: str) -> float | None:
    found = [c for record in earlier for c in record["case_results"] if c["id"] == case_id]
    mean = _mean([case.get("duration_ms") for case in found])
    return None if mean is None else mean / 1000


def _cost(record: dict[str, Any]) -> float | None:
    """Return the mean cost of a trial of a run."""
    cost, count = record.get("cost"), record.get("trials", {}).get("recorded")
    return cost / count if cost is not None and count else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None
