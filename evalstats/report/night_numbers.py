"""Last night in numbers: the rates, how far each lies from its history, which cases moved, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalstats.report import material, tables
from evalstats.report.history import in_order

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from evalstats.governance.main_line import Line

DIFFERENCE = "difference"


def rates(line: Line, charted: Sequence[str], rng: np.random.Generator, level: float) -> pd.DataFrame:
    """Return the rate of each arm last night, and their difference: the fields of an estimate for each."""
    from evalstats import estimates

    cases = line.cases_of(line.last)
    known: dict[str, dict[str, Any]] = {}
    if len(cases):
        for row in tables.rows(estimates.rate(cases, level=level)):
            known[str(row.pop("arm"))] = row
        for row in tables.rows(estimates.difference(cases, rng=rng, level=level)):
            known[DIFFERENCE] = row
    why = "nothing usable was recorded last night"
    rows = [
        {"watched": name, **(known.get(name) or _unknown(why, "mean score", level))}
        for name in _named(line, charted)
    ]
    return material.frame_of(rows, list(rows[0]))


def _named(line: Line, charted: Sequence[str]) -> list[str]:
    """Return the arms, the treated one first, then what else is charted: their difference."""
    arms = in_order(set(map(str, line.runs["arm"])))
    return [*arms, *(name for name in charted if name not in arms)]


def changes(line: Line, charted: Sequence[str], level: float) -> pd.DataFrame:
    """Return how far last night lies from its history; unknown where it has no value of its own."""
    from evalstats import estimates
    from evalstats.governance.main_line import night_keys

    last = night_keys(line.last)[-1]
    known = {
        str(row["watched"]): row for row in tables.rows(estimates.against_history(line.current, level=level))
    }
    rows = []
    for name in _named(line, charted):
        row = known.get(name)
        if row is None or row["group_id"] != last:
            none = {"watched": name, "group_id": last, "value": None, "centre": None}
            row = {
                **none,
                **_unknown("last night has no value to compare", "difference from the history", level),
            }
        rows.append(row)
    return material.frame_of(rows, list(rows[0]))


def _unknown(why: str, estimand: str, level: float) -> dict[str, Any]:
    from evalstats.stats.results import undefined

    none: dict[str, Any] = {"population": "FIXED", "level": level, "n_cases": 0, "n_trials": 0}
    return undefined(why, estimand=estimand, method="none", **none).as_row()


def _history(line: Line, size: int, arm: str) -> pd.DataFrame:
    """Return the runs of an arm on the ``size`` nights that say what is normal, without the last night."""
    from evalstats.governance.main_line import night_keys

    scores = line.current
    normal = list(scores.loc[scores["arm"] == arm, "group_id"])[:size]
    wanted = set(normal) - set(night_keys(line.last))
    mine = line.runs[line.runs["arm"] == arm]
    return mine[[key in wanted for key in night_keys(mine)]].reset_index(drop=True)


def moved(line: Line, normal: Mapping[str, int], level: float) -> pd.DataFrame:
    """Return each case and arm: its passes in the history and last night, and the difference with its interval."""
    rows: list[dict[str, Any]] = []
    last = line.last
    for arm in in_order(set(map(str, last["arm"]))):
        before = _passes(line.cases_of(_history(line, normal.get(arm, 0), arm)))
        now = _passes(line.cases_of(last[last["arm"] == arm]))
        rows += [
            {
                "arm": arm,
                "case_id": case,
                "archetype": archetypes,
                **_difference(now[case], before[case], level),
            }
            for case, archetypes in _archetypes(line).items()
            if case in now and case in before
        ]
    rows.sort(key=lambda row: (-abs(row["estimate"]), str(row["case_id"]), str(row["arm"])))
    columns = "arm case_id archetype before now".split()
    return material.frame_of(rows, list(rows[0]) if rows else columns)


def _passes(cases: pd.DataFrame) -> dict[str, tuple[int, int]]:
    counts = cases.groupby("case_id")[["n_passed", "n_usable"]].sum().reset_index()
    return {
        str(row["case_id"]): (row["n_passed"], row["n_usable"])
        for row in tables.rows(counts)
        if row["n_usable"]
    }


def _archetypes(line: Line) -> dict[str, str]:
    return dict(zip(map(str, line.cases["case_id"]), map(str, line.cases["archetype"]), strict=True))


def _difference(now: tuple[int, int], before: tuple[int, int], level: float) -> dict[str, Any]:
    from evalstats import stats

    passed = {name: f"{k} / {n}" for name, (k, n) in (("before", before), ("now", now))}
    return {**passed, **stats.newcombe(now, before, level=level, population="FIXED").as_row()}


# --- costs -----------------------------------------------------------------------------------------


def costs(line: Line, evidence: pd.DataFrame) -> pd.DataFrame:
    """Return for each arm of last night: trials, those lost, seconds of a trial and dollars, and what is usual."""
    from evalstats.governance.main_line import night_keys

    known = {str(row["run_id"]): row for row in tables.rows(evidence)}
    last = line.last
    earlier = line.runs[~line.runs["run_id"].isin(last["run_id"])]
    rows = []
    for arm in in_order(set(map(str, last["arm"]))):
        mine, before = (runs[runs["arm"] == arm] for runs in (last, earlier))
        seconds, usual = (_of(known, runs, "median_duration_s") for runs in (mine, before))
        dollars = _of(known, mine, "cost")
        by_night = [_of(known, runs, "cost") for _, runs in before.groupby(night_keys(before))]
        rows.append(
            {
                "arm": arm,
                "n_trials": int(mine["n_trials"].sum()),
                "lost": int(mine["infrastructure"].sum()),
                "seconds": _median(seconds),
                "usual_seconds": _median(usual),
                "cost": _total(dollars),
                "usual_cost": _median([_total(costs) for costs in by_night]),
            }
        )
    return material.frame_of(rows, list(rows[0]))


def _of(known: Mapping[str, Mapping[str, Any]], runs: pd.DataFrame, name: str) -> list[float | None]:
    values = [known.get(str(run_id), {}).get(name) for run_id in runs["run_id"]]
    return [None if tables.is_missing(value) else float(value) for value in values]  # type: ignore[arg-type]


def _median(values: Sequence[float | None]) -> float | None:
    from statistics import median

    known = [value for value in values if value is not None]
    return median(known) if known else None


def _total(values: Sequence[float | None]) -> float | None:
    """Return the sum; unknown where one of them is."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
