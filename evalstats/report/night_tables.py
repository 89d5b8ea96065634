"""Last night as tables and figures: what the nightly notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstats.report import material, tables
from evalstats.report.night_numbers import DIFFERENCE
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.canvas import Figure
    from evalstats.report.nights import Morning
    from evalstats.report.tracks import Timeline, Track

LISTED = 10  # cases that are named


def last_table(found: Morning) -> Table:
    """Return last night in one table: each rate, how far it lies from its history, and the word of the watch."""
    rates = {row["watched"]: row for row in tables.rows(found.rates)}
    changes = {row["watched"]: row for row in tables.rows(found.changes)}
    rows = [
        {
            "suite": found.line.suite,
            "watched": name,
            "last": material.estimate(rates[name], _writer(name)),
            "history": _history(changes[name], _writer(name)),
            "change": material.estimate(changes[name], tables.signed),
            "word": found.word(name),
        }
        for name in found.watched
    ]
    level = tables.percent(found.level)
    columns: list[Column | str] = [
        "suite",
        Column("watched", "Arm"),
        Column("last", f"Last {found.unit} [{level}]"),
        Column("history", f"History ({found.unit}s)"),
        Column("change", f"Change [{level}]"),
        Column("word", "Monitor says"),
    ]
    frame = material.frame_of(rows, list(rows[0]))
    return Table("last", f"The last {found.unit}, with {level} intervals", frame, columns)


def _history(change: dict[str, Any], write: Any) -> str:
    """Return the mean of a history, and of how many nights it is."""
    known = not tables.is_missing(change["centre"])
    return f"{write(change['centre'])} ({change['n_cases']})" if known else tables.NOT_AVAILABLE


def _writer(watched: str) -> Any:
    return tables.signed if watched == DIFFERENCE else tables.rate


def charts_table(found: Morning) -> Table:
    """Return every chart, as ``evalstats monitor`` prints it."""
    rows = [
        {**chart, "alarm": _day(chart["first_alarm"]), "confirmed": _day(chart["confirmed_alarm"])}
        for name in found.watched
        for chart in found.charts(name)
    ]
    columns: list[Column | str] = [
        Column("watched", "Watched"),
        Column("chart", "Chart"),
        Column("n_history", "History", "count"),
        Column("n_new", "Charted", "count"),
        Column("centre", "Centre", "number"),
        Column("sigma", "Sigma", "number"),
        Column("limit", "Limit", "number"),
        Column("alarm", "Alarm"),
        Column("confirmed", "Confirmed"),
    ]
    names = list(rows[0]) if rows else [column.name for column in columns if isinstance(column, Column)]
    return Table("charts", "Every chart; the limit is in sigmas", material.frame_of(rows, names), columns)


def _day(at: str | None) -> str:
    return "–" if at is None else at[:10]


def events_table(found: Morning) -> Table:
    """Return what happened, the newest first: who changed what, alarms and dated changes of the level."""
    incidents = {str(incident) for incident in found.found.incidents}
    rows = [
        {"night": night.started_at[:10], "event": event}
        for night in reversed(found.found.nights)
        for event in night.events
        if event not in incidents
    ]
    columns: list[Column | str] = [Column("night", found.unit.capitalize()), Column("event", "What happened")]
    frame = material.frame_of(rows, ["night", "event"])
    return Table("events", "Changes of identity, alarms and dated changes", frame, columns)


def incidents_table(found: Morning) -> Table:
    """Return the runs that infrastructure kept from speaking of quality, the newest first."""
    rows = [
        {
            "night": incident.started_at[:10],
            "group_id": incident.group_id,
            "lost": incident.lost,
            "n_trials": incident.n_trials,
            "why": incident.why,
        }
        for incident in reversed(found.found.incidents)
    ]
    columns: list[Column | str] = [
        Column("night", "Night"),
        Column("group_id", "Run"),
        Column("lost", "Lost", "count"),
        Column("n_trials", "Trials", "count"),
        Column("why", "Why it does not count"),
    ]
    frame = material.frame_of(rows, "night group_id lost n_trials why".split())
    return Table("incidents", "Runs lost to infrastructure: in no chart", frame, columns)


def moved_table(found: Morning) -> Table:
    """Return the cases whose interval excludes zero: passes in the history and last night."""
    names = "case_id arm archetype before now moved".split()
    frame = material.frame_of([], names)
    if len(found.moved):
        beyond = found.moved[(found.moved["conf_low"] > 0) | (found.moved["conf_high"] < 0)]
        frame = beyond.assign(moved=[tables.estimate(row, tables.signed) for row in tables.rows(beyond)])
    columns: list[Column | str] = [
        Column("case_id", "Case"),
        "arm",
        "archetype",
        Column("before", "Passed, history"),
        Column("now", f"Passed, last {found.unit}"),
        Column("moved", f"Change [{tables.percent(found.level)}]"),
    ]
    return Table("moved", "Cases that moved beyond their interval", frame, columns)


def flaky_table(found: Morning) -> Table:
    """Return the cases that changed verdict most often from one run to the next."""
    flips = found.flaky["verdict_flips"].fillna(0.0)
    shown = found.flaky.assign(order=-flips)[flips > 0].sort_values(
        ["order", "case_id", "arm"], kind="stable"
    )
    columns: list[Column | str] = [
        Column("case_id", "Case"),
        "arm",
        Column("verdict_flips", "Changed verdict", "percent"),
        Column("pass_rate", "Pass rate", "percent"),
        Column("run_sd", "Spread between runs", "rate"),
        Column("n_trials", "Trials", "count"),
        Column("n_runs", "Runs", "count"),
    ]
    frame = shown.drop(columns="order").head(LISTED)
    return Table("flaky", "The cases that changed verdict most often", frame, columns)


def costs_table(found: Morning) -> Table:
    """Return what last night took, beside what is usual; unknown is not 0."""
    columns: list[Column | str] = [
        "arm",
        Column("n_trials", "Trials", "count"),
        Column("lost", "Lost", "count"),
        Column("seconds", "Seconds a trial, median", "number"),
        Column("usual_seconds", "Usual", "number"),
        Column("cost", "US dollars", "number"),
        Column("usual_cost", "Usual cost", "number"),
    ]
    return Table("costs", f"What the last {found.unit} took", found.costs, columns)


def filled(*several: Table) -> list[Table]:
    """Return the tables that have a row: an empty one is said in words."""
    return [table for table in several if len(table.frame)]


# --- figures ---------------------------------------------------------------------------------------


def moved_forest(found: Morning) -> Figure:
    """Draw the cases whose pass rate moved most last night, each with its interval."""
    from evalstats.report.forest import forest

    names = [f"{row['case_id']} · {row['arm']}" for row in tables.rows(found.moved)]
    shown = found.moved.assign(case=names) if names else found.moved
    most = f"The {LISTED} cases" if len(shown) > LISTED else "The cases"
    title = f"{most} whose pass rate moved most (n is trials)"
    return forest(shown.head(LISTED), label="case", name="moved", title=title, signed=True)


def nights_chart(found: Morning) -> Figure:
    """Draw every night of every arm, and of their difference, with what happened."""
    from evalstats.report.control import control_chart

    charted = _charted(found)
    tracks = [_track(found, name, charted) for name in found.watched]
    plural = "Every night" if found.unit == "night" else "Every run"
    title = f"{plural}, with the limits of an unchanged suite"
    return control_chart(timeline(found), tracks, title=title)


def timeline(found: Morning) -> Timeline:
    """Return the axis: the nights, who changed what, and which nights were lost."""
    from evalstats.report.history import day
    from evalstats.report.tracks import Timeline

    days = [day(night.started_at) for night in found.found.nights]
    labels = days if len(set(days)) == len(days) else [str(n) for n in range(1, len(days) + 1)]
    changes: dict[int, list[str]] = {}
    for change in found.found.identity_changes:
        changes.setdefault(_place(found, change.started_at), []).append(str(change))
    lost = {_place(found, each.started_at): each.why for each in found.found.incidents}
    return Timeline(
        labels=tuple(labels),
        changes=tuple((at, ", ".join(texts)) for at, texts in sorted(changes.items())),
        lost=tuple(sorted(lost.items())),
        unit=found.unit,
    )


def _place(found: Morning, time: str) -> int:
    """Return which night, from 1, holds a run that began at ``time``."""
    from evalstats.governance.main_line import night_keys

    runs = found.line.runs
    for key, begun in zip(night_keys(runs), runs["started_at"], strict=True):
        if begun.isoformat() == time:
            return found.keys.index(key) + 1
    raise ValueError(f"no run began at {time}")


def _charted(found: Morning) -> pd.DataFrame:
    import pandas as pd

    from evalstats import estimates

    charts = pd.DataFrame(list(found.found.charts))
    return estimates.charted(found.line.current, charts) if len(charts) else charts


def _track(found: Morning, name: str, charted: pd.DataFrame) -> Track:
    from evalstats.report.tracks import Track

    charts = {str(chart["chart"]): chart for chart in found.charts(name)}
    one = charts.get("shewhart")
    points = tuple(_points(found, name))
    era = [at for at, _ in points if found.found.nights[at - 1].era == found.found.nights[-1].era]
    size = int(one["n_history"]) if one else 0
    rows = [] if charted.empty else tables.rows(charted[charted["watched"] == name])
    average = [row for row in rows if row["chart"] == "ewma"]
    limits = None
    if one and not one["degenerate"]:
        half = one["limit"] * one["sigma"]
        limits = (one["centre"] - half, one["centre"] + half)
    return Track(
        watched=name,
        points=points,
        centre=one["centre"] if one else None,
        limits=limits,
        begins=era[0] if era else 1,
        charted=era[size] if len(era) > size else len(found.keys) + 1,
        average=tuple((found.keys.index(row["group_id"]) + 1, row["value"]) for row in average),
        average_limits=(average[0]["low"], average[0]["high"]) if average else None,
        changes=tuple(
            (_place(found, change["changed_at"]), change["before"], change["after"])
            for change in found.found.changes
            if change["watched"] == name
        ),
        signed=name == DIFFERENCE,
        note=_note(one),
    )


def _points(found: Morning, name: str) -> list[tuple[int, float]]:
    """Return every night that has a value, across the changes of identity."""
    from evalstats.contract import Arm

    both = (str(Arm.SKILL_ON), str(Arm.SKILL_OFF))
    points = []
    for at, night in enumerate(found.found.nights, 1):
        if name == DIFFERENCE and set(both) <= set(night.scores):
            points.append((at, night.scores[both[0]] - night.scores[both[1]]))
        elif name in night.scores:
            points.append((at, night.scores[name]))
    return points


def _note(chart: dict[str, Any] | None) -> str:
    """Return what keeps a chart from claiming anything, or from claiming much."""
    if chart is None:
        return "no night of this identity has a value"
    said = [c for c in chart["caveats"] if str(c).startswith(("degenerate", "provisional"))]
    return "; ".join(map(str, said))
