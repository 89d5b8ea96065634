"""Has something changed since those runs? Control charts on the series of runs, and the date of a change.

Centre and spread come from the oldest runs; the newer ones are charted. How wide the limits must be depends on
how few those were, so they are simulated. One alarm is a reason to look; the next run confirms it or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd

from evalstats import stats
from evalstats.estimates.cases import SKILL_ARMS, require, tidy
from evalstats.stats.change_points import e_divisive
from evalstats.stats.chart_limits import simulated_limit
from evalstats.stats.control_charts import (
    ENOUGH_RUNS,
    Chart,
    InControl,
    Kind,
    cusum,
    ewma,
    in_control,
    shewhart,
)
from evalstats.stats.results import Estimate, Test, agree
from evalstats.stats.run_lengths import average_spread

LONGEST_HISTORY, NIGHTS = 28, 28  # runs that make the normal; new runs over which false alarms are counted
FALSE_ALARM = 0.05
DIFFERENCE = "difference"
NEEDED = ["group_id", "arm", "started_at", "score"]
_CHARTS = {"shewhart": shewhart, "ewma": ewma}


class _Watched(NamedTuple):
    """One series: what it is, when its runs began, their groups, and their values, oldest first."""

    name: str
    times: pd.Series[pd.Timestamp]
    groups: list[str]
    values: np.ndarray


def monitor(
    series: pd.DataFrame,
    *,
    rng: np.random.Generator,
    history: int | None = None,
    arms: tuple[str, str] = SKILL_ARMS,
) -> pd.DataFrame:
    """Has a run, or the level of runs, left what is normal? Three charts for each arm and their difference.

    Parameters
    ----------
    series : pandas.DataFrame
        From `series`, of comparable runs.
    rng : numpy.random.Generator
        For the limits.
    history : int, optional
        Oldest runs that say what is normal; absent: half of them, at least 8 and at most 28.
    arms : tuple of two str
        Whose difference is watched too, run by run of one group.

    Returns
    -------
    pandas.DataFrame
        ``watched`` (an arm, or difference), ``chart`` (shewhart, ewma, cusum); ``n_history``, ``n_new``;
        ``centre``, ``sigma``, ``autocorrelation`` of the history; ``limit`` in sigmas, passed by 5% of
        unchanged series within 28 new runs; ``first_alarm``, ``confirmed_alarm`` (the start of the run, missing
        if none); ``direction`` of the first alarm (above, below); ``provisional`` (fewer than 8 runs of
        history); ``degenerate`` (no spread: no claim); ``changed_at`` (the latest dated change, see
        `change_points`); ``caveats``.
    """
    rows = []
    for watched in _watched(series, arms):
        n = len(watched.values)
        size = min(n, _history_of(n) if history is None else history)
        normal = in_control(watched.values[:size])
        changes = e_divisive(watched.values)
        known = {
            "watched": watched.name,
            **_normal(normal, n - size),
            "changed_at": watched.times.iloc[changes[-1].index] if changes else pd.NaT,
        }
        for kind in get_args(Kind):
            limit = _limit(normal, kind, max(n - size, NIGHTS), rng)
            chart = _chart(kind, watched.values[size:], normal, limit)
            rows.append({**known, "chart": kind, "limit": limit, **_alarms(chart, watched.times.iloc[size:])})
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = """watched chart n_history n_new centre sigma autocorrelation limit first_alarm confirmed_alarm
direction provisional degenerate changed_at caveats""".split()


def charted(
    series: pd.DataFrame, charts: pd.DataFrame, *, arms: tuple[str, str] = SKILL_ARMS
) -> pd.DataFrame:
    """What do the charts show, run by run, in the unit of the scores? Of the charts that have such a unit.

    Parameters
    ----------
    series : pandas.DataFrame
        The runs that were charted.
    charts : pandas.DataFrame
        From `monitor`, of these runs.
    arms : tuple of two str
        As given to `monitor`.

    Returns
    -------
    pandas.DataFrame
        One row per ``watched``, ``chart`` (shewhart, ewma) and new run: ``group_id``, ``value`` (of the run, or
        the moving average), ``low`` and ``high`` (its limits). None where the history has no spread.
    """
    by_name = {watched.name: watched for watched in _watched(series, arms)}
    rows = []
    for row in charts.to_dict("records"):
        watched, kind, n = by_name[row["watched"]], row["chart"], int(row["n_history"])
        if kind not in _UNITS or pd.isna(row["sigma"]):
            continue
        normal = InControl(
            centre=row["centre"], sigma=row["sigma"], autocorrelation=row["autocorrelation"], n_runs=n
        )
        unit = row["sigma"] * _UNITS[kind]
        shown = row["centre"] + unit * _chart(kind, watched.values[n:], normal, row["limit"]).upper
        low, high = (row["centre"] + side * row["limit"] * unit for side in (-1, 1))
        rows += [
            (watched.name, kind, group, float(value), low, high)
            for group, value in zip(watched.groups[n:], shown, strict=True)
        ]
    return pd.DataFrame(rows, columns=["watched", "chart", "group_id", "value", "low", "high"])


_UNITS = {
    "shewhart": 1.0,
    "ewma": average_spread(),
}  # standard deviations of what is charted, in those of a run


def against_history(
    series: pd.DataFrame,
    *,
    history: int | None = None,
    arms: tuple[str, str] = SKILL_ARMS,
    level: float = 0.80,
) -> pd.DataFrame:
    """How far is the newest run from the history that says what is normal (FIXED)?

    The history is that of `monitor`, without the newest run. The interval holds 0 where an unchanged run would
    land with probability ``level``; it is as much wider as neighbouring runs are alike.

    Returns
    -------
    pandas.DataFrame
        ``watched``, ``group_id`` (of the newest run), ``value`` (its score), ``centre`` (the mean of the history)
        and the fields of `Estimate`; ``n_cases`` counts the runs of the history.
    """
    found = []
    for watched in _watched(series, arms):
        n, newest = len(watched.values), float(watched.values[-1])
        size = min(n - 1, _history_of(n) if history is None else history)
        change = _change(newest, watched.values[:size], level)
        keys = {"watched": watched.name, "group_id": watched.groups[-1], "value": newest}
        found.append(({**keys, "centre": newest - change.estimate}, change))
    return tidy(found, ["watched", "group_id", "value", "centre"])


def _change(newest: float, history: np.ndarray, level: float) -> Estimate:
    band, normal = stats.prediction_band(history, level=level), in_control(history)
    spread = float(np.std(history, ddof=1)) if len(history) > 1 else float("nan")
    wider = normal.sigma / spread if normal.sigma > spread > 0 else 1.0
    low, high = ((band.estimate - end) * wider for end in (band.conf_high, band.conf_low))
    change = newest - band.estimate
    return Estimate(
        estimand="difference from the history",
        population="FIXED",
        estimate=change,
        std_error=band.std_error * wider,
        conf_low=change + low,
        conf_high=change + high,
        level=level,
        n_cases=len(history),
        n_trials=band.n_trials,
        method=band.method,
        caveats=tuple(dict.fromkeys([*band.caveats, *normal.caveats])),
    )


def change_points(series: pd.DataFrame, *, arms: tuple[str, str] = SKILL_ARMS) -> pd.DataFrame:
    """When did the level change, looking back? One row per dated change; never an alarm.

    Columns: ``watched``, ``changed_at`` (start of the first run after the change), ``before``, ``after`` (mean
    level) and ``p_value`` of the split, corrected for having been searched.
    """
    rows = [
        (watched.name, watched.times.iloc[c.index], c.before, c.after, c.p_value)
        for watched in _watched(series, arms)
        for c in e_divisive(watched.values)
    ]
    return pd.DataFrame(rows, columns=["watched", "changed_at", "before", "after", "p_value"])


def trend(series: pd.DataFrame, *, arms: tuple[str, str] = SKILL_ARMS) -> pd.DataFrame:
    """Do the runs drift? Whether later runs tend to lie higher or lower: Kendall's rank test against time.

    Returns
    -------
    pandas.DataFrame
        ``watched`` and the fields of `Test`; the statistic is tau, from -1 (falling) to 1 (rising).

    Notes
    -----
    Assumes independent runs. A jump is a trend too: `change_points` dates it.

    References
    ----------
    Mann (1945). Nonparametric tests against trend. Econometrica 13:245. doi:10.2307/1907187
    """
    found = [({"watched": watched.name}, _trend(watched.values)) for watched in _watched(series, arms)]
    return tidy(found, ["watched"], Test)


def _trend(values: np.ndarray) -> Test:
    from scipy.stats import kendalltau

    known = len(values) >= 3 and not agree(values)
    tau, p_value = kendalltau(np.arange(len(values)), values) if known else (np.nan, np.nan)
    return Test(
        null="the runs are in no order",
        alternative="two-sided",
        statistic=float(tau),
        p_value=float(p_value),
        method="Mann-Kendall",
        caveats=() if known else ("fewer than 3 runs, or all agree: no trend can be told",),
    )


def _watched(series: pd.DataFrame, arms: tuple[str, str]) -> Iterator[_Watched]:
    require(series, NEEDED, "series")
    known = series.dropna(subset=["score"]).sort_values("started_at", kind="stable")
    for arm, runs in known.groupby("arm", sort=True):
        yield _Watched(str(arm), runs["started_at"], list(runs["group_id"]), runs["score"].to_numpy(float))
    scores = known.pivot_table(index="group_id", columns="arm", values="score").reindex(columns=list(arms))
    times = known.groupby("group_id")["started_at"].max()
    paired = (scores[arms[0]] - scores[arms[1]]).dropna()
    if len(paired):
        times = times[paired.index].sort_values(kind="stable")
        yield _Watched(DIFFERENCE, times, list(times.index), paired[times.index].to_numpy(float))


def _history_of(n: int) -> int:
    return min(max(n // 2, ENOUGH_RUNS), LONGEST_HISTORY)


def _normal(normal: InControl, n_new: int) -> dict[str, Any]:
    caveats = normal.caveats if n_new else (*normal.caveats, "no run after the history: nothing is charted")
    return {
        "n_history": normal.n_runs,
        "n_new": n_new,
        "centre": normal.centre,
        "sigma": normal.sigma,
        "autocorrelation": normal.autocorrelation,
        "provisional": normal.n_runs < ENOUGH_RUNS,
        "degenerate": bool(np.isnan(normal.sigma)),
        "caveats": caveats,
    }


def _limit(normal: InControl, kind: Kind, nights: int, rng: np.random.Generator) -> float:
    if np.isnan(normal.sigma):
        return float("nan")
    return simulated_limit(normal.n_runs, kind=kind, nights=nights, false_alarm=FALSE_ALARM, rng=rng)


def _chart(kind: Kind, values: np.ndarray, normal: InControl, limit: float) -> Chart:
    return cusum(values, normal, h=limit) if kind == "cusum" else _CHARTS[kind](values, normal, limit=limit)


def _alarms(chart: Chart, times: pd.Series[pd.Timestamp]) -> dict[str, Any]:
    found = {"first_alarm": chart.first_alarm, "confirmed_alarm": chart.confirmed_alarm}
    alarms = {name: pd.NaT if at is None else times.iloc[at] for name, at in found.items()}
    first = chart.first_alarm
    side = None if first is None else "above" if chart.upper[first] > chart.limit else "below"
    return {**alarms, "direction": side}
