"""Each case from one side of a comparison to the other, with the mean of both and its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import Canvas, Drawing, Figure, colour, line, word, x, y
from evalstats.report.forest import tick_labels, ticks
from evalstats.report.history import apart

if TYPE_CHECKING:
    import pandas as pd

_PLOT, _LISTED = 260.0, 8  # pixels of height, and cases named beside the lines
_FROM, _TO = 0.0, 1.0  # where the two sides stand
DUST = 1e-9  # a smaller change of a score is floating point


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One side: its name, and the mean of its cases with the interval, None where unknown."""

    name: str
    mean: float | None
    low: float | None
    high: float | None
    value: str


def paired_slopes(
    cases: pd.DataFrame,
    means: pd.DataFrame,
    *,
    name: str = "slopes",
    title: str = "Mean score of every case on both sides",
) -> Figure:
    """Did all cases move together, or a few? One line a case, from the first side to the second.

    Parameters
    ----------
    cases : pandas.DataFrame
        One row per case that both sides have: ``case_id``, ``old`` and ``new``, mean scores.
    means : pandas.DataFrame
        An estimate frame of two rows, ``side`` and the mean score: the old side, then the new one.
    name, title : str
        File name and title of the figure.
    """
    rows = sorted(tables.rows(cases), key=lambda row: (-abs(_change(row)), str(row["case_id"])))
    ends = [_end(row) for row in tables.rows(means)]
    return Figure(name, title, _reading(rows, ends), lambda width: _draw(rows, ends, width))


def _change(row: Mapping[str, Any]) -> float:
    return float(row["new"] - row["old"])


def _end(row: Mapping[str, Any]) -> End:
    known = {
        field: None if tables.is_missing(row[field]) else float(row[field])
        for field in ("estimate", "conf_low", "conf_high")
    }
    return End(
        name=tables.visible(row["side"]),
        mean=known["estimate"],
        low=known["conf_low"],
        high=known["conf_high"],
        value=tables.estimate(row),
    )


def _paint(row: Mapping[str, Any]) -> str:
    change = _change(row)
    return theme.ON if change > DUST else theme.OFF if change < -DUST else theme.MUTE


def _reading(rows: Sequence[Mapping[str, Any]], ends: Sequence[End]) -> str:
    if not rows:
        return tables.NOTHING
    rose, fell = (sum(_paint(row) == paint for row in rows) for paint in (theme.ON, theme.OFF))
    first = rows[0]
    most = f"{tables.shortened(first['case_id'], 40)} ({tables.signed(_change(first))})"
    counts = f"{rose} rose, {fell} fell, {len(rows) - rose - fell} stayed"
    told = f"Of {tables.some(len(rows), 'case')} {counts}"
    if rose + fell:
        told += f"; {most} moved most"
    return f"{told}. Means: {ends[0].name} {ends[0].value}, {ends[1].name} {ends[1].value}."


# --- drawing -------------------------------------------------------------------------------------


def _draw(rows: Sequence[Mapping[str, Any]], ends: Sequence[End], width: int) -> Drawing:
    narrow = width < 500
    left, right = (44.0, 132.0) if narrow else (72.0, 236.0)
    canvas = Canvas(width - left - right, _PLOT, left=left, right=right, top=52, bottom=30)
    scales = canvas.across(_FROM, _TO), canvas.upwards(0, 1, 0, _PLOT)
    _grid(canvas)
    _cases(canvas, rows, scales)
    _means(canvas, ends, scales)
    _heads(canvas, ends, len(rows), narrow)
    _names(canvas, rows)
    return canvas.drawing()


def _grid(canvas: Canvas) -> None:
    values = ticks(0, 1, 4)
    places = [_PLOT * (1 - value) for value in values]
    canvas.lines("grid", [line((0, at), (canvas.width, at)) for at in places])
    canvas.lines("sides", [line((at, 0), (at, _PLOT), theme.MUTE) for at in (0, canvas.width)])
    labels = zip(tick_labels(values), places, strict=True)
    canvas.words("ticks", [word(text, (-16, at), theme.SOFT) for text, at in labels], align="right")


def _cases(canvas: Canvas, rows: Sequence[Mapping[str, Any]], scales: tuple[alt.Scale, alt.Scale]) -> None:
    across, upwards = scales
    drawn = [
        {"from": _FROM, "to": _TO, "old": float(r["old"]), "new": float(r["new"]), "colour": _paint(r)}
        for r in rows
    ]
    rule = alt.MarkDef(type="rule", strokeWidth=1.25, opacity=0.55)
    ends = {"x2": alt.X2("to"), "y2": alt.Y2("new"), "color": colour()}
    canvas.add("cases", rule, drawn, x=x("from", across), y=y("old", upwards), **ends)
    dot = alt.MarkDef(type="point", shape="circle", filled=True, size=16, opacity=0.8)
    for name, place, value in (("old", "from", "old"), ("new", "to", "new")):
        canvas.add(f"{name}-dots", dot, drawn, x=x(place, across), y=y(value, upwards), color=colour())


def _means(canvas: Canvas, ends: Sequence[End], scales: tuple[alt.Scale, alt.Scale]) -> None:
    """Draw the two means, joined, each with its interval a little outside of the cases."""
    across, upwards = scales
    aside = 7 / canvas.width
    rows = [
        {"x": place, "mean": end.mean, "low": end.low, "high": end.high, "colour": theme.INK}
        for place, end in zip((_FROM - aside, _TO + aside), ends, strict=True)
        if end.mean is not None
    ]
    bounded = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if len(rows) == len(ends):
        joined = {**rows[0], "x2": rows[1]["x"], "mean2": rows[1]["mean"]}
        rule = alt.MarkDef(type="rule", strokeWidth=2.5, clip=False)
        sides = {"x2": alt.X2("x2"), "y2": alt.Y2("mean2"), "color": colour()}
        canvas.add("mean-line", rule, [joined], x=x("x", across), y=y("mean", upwards), **sides)
    bar = alt.MarkDef(type="rule", strokeWidth=4, strokeCap="round", clip=False)
    channels = {"x": x("x", across), "color": colour()}
    canvas.add("mean-intervals", bar, bounded, y=y("low", upwards), y2=alt.Y2("high"), **channels)
    point = alt.MarkDef(type="point", shape="diamond", filled=True, size=110, opacity=1, clip=False)
    canvas.add("mean-points", point, rows, y=y("mean", upwards), **channels)


def _heads(canvas: Canvas, ends: Sequence[End], n: int, narrow: bool) -> None:
    """Write above each line which side it is and its mean, and below them how many cases there are."""
    longest = 17 if narrow else 30
    starts = (8 - canvas.left, canvas.width - (70 if narrow else 40))
    placed = list(zip(starts, ends, strict=True))
    heads = [word(tables.shortened(end.name, longest), (at, -36)) for at, end in placed]
    canvas.words("heads", heads, bold=True)
    canvas.words("values", [word(tables.shortened(end.value, longest), (at, -18)) for at, end in placed])
    size = f"each line a case, n={tables.count(n)}"
    canvas.words("n", [word(size, (canvas.width / 2, _PLOT + 16), theme.SOFT)] if n else [], align="center")


def _names(canvas: Canvas, rows: Sequence[Mapping[str, Any]]) -> None:
    """Name the cases that moved most, beside their new scores, none on another."""
    moved = [row for row in rows[:_LISTED] if abs(_change(row)) > DUST]
    most = sorted(moved, key=lambda row: (-row["new"], str(row["case_id"])))
    heights = apart([_PLOT * (1 - float(row["new"])) for row in most], 16)
    lower = max(8 - min(heights, default=8), 0.0)  # the highest name stays clear of the heads
    narrow = canvas.width < 300
    at = canvas.width + 30
    placed = [(row, height + lower) for row, height in zip(most, heights, strict=True)]
    leads = [
        line((canvas.width + 15, _PLOT * (1 - float(row["new"]))), (at - 3, height), theme.MUTE)
        for row, height in placed
    ]
    canvas.lines("leads", leads)
    changes = [word(tables.signed(_change(row)), (at, height), _paint(row)) for row, height in placed]
    canvas.words("changes", changes, bold=True)
    longest = 8 if narrow else 22
    names = [word(tables.shortened(row["case_id"], longest), (at + 42, height)) for row, height in placed]
    canvas.words("names", names)
