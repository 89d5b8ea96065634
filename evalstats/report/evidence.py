"""What a gate asks beyond the numbers of a notebook: each case of each run, where it ran, what it cost.

The builder adds it to the series of every report that reads a store, so that a gate can judge the published
report alone, whatever its notebook says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalstats.report.draft import plain
from evalstats.report.tables import rows

if TYPE_CHECKING:
    from evalstats.store import Store

DETAILED = 60  # runs of each arm whose cases are told one by one: two windows of four weeks, in a small file


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of the runs of a suite: run id -> further fields of its row in the series."""

    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def gather(store: Store, suite: str) -> Evidence:
    """Return the evidence that a store holds on a suite; cases one by one for the newest runs only."""
    outcomes: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows(store.outcomes(suite)):
        outcomes[str(row["run_id"])][str(row["outcome"])] = int(row["n_trials"])
    cases: dict[str, dict[str, Any]] = defaultdict(dict)
    facts: dict[str, dict[str, Any]] = {}
    detailed = set(_newest(store, suite))
    for row in rows(store.case_evidence(suite)):
        if row["run_id"] in detailed:
            cases[str(row["run_id"])][str(row["case_id"])] = _case(row)
            known = plain(row["archetype"], "archetype")
            facts[str(row["case_id"])] = {
                "archetype": known,
                "dimensions": [str(d) for d in row["dimensions"]],
            }
    runs = {}
    for row in rows(store.run_evidence(suite)):
        run_id = str(row["run_id"])
        beside = {name: row[name] for name in ("git_ref", "cost", "median_duration_s")}
        told = {"cases": cases[run_id]} if run_id in detailed else {}
        runs[run_id] = {**plain(beside, "series"), "outcomes": outcomes[run_id], **told}
    return Evidence(runs=runs, cases=facts)


def add(document: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    """Return the report with the evidence beside each run of its series."""
    outside = set(document["data"].get("lock", {}).get("candidates", ()))
    runs = {run_id: _without(told, outside) for run_id, told in evidence.runs.items()}
    series = [{**runs.get(row["run_id"], {}), **row} for row in document["series"]]
    known = _without({"cases": evidence.cases}, outside) if evidence.cases and series else {}
    return {**document, "series": series, "data": {**document["data"], **known}}


def _without(told: Mapping[str, Any], outside: set[str]) -> dict[str, Any]:
    """Return what is told without the cases outside the lock of a report: they count for nothing."""
    kept = {case_id: case for case_id, case in told.get("cases", {}).items() if case_id not in outside}
    return {**told, **({"cases": kept} if "cases" in told else {})}


def _newest(store: Store, suite: str) -> list[str]:
    by_arm = store.runs(suite).groupby("arm")["run_id"]
    return [str(run_id) for _, ids in by_arm for run_id in ids.tail(DETAILED)]


def _case(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "usable": int(row["n_usable"]),
        "passed": int(row["n_passed"]),
        "score": min(float(row["score_sum"]) / int(row["n_usable"]), 1.0),
        "median_score": float(row["median_score"]),
    }
