"""What does it cost to see the effect? One plan for each number of trials a case, the cheapest in blue."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import CHARACTER, Canvas, Drawing, Figure, colour, line, word, x, y
from evalstats.report.forest import ticks

if TYPE_CHECKING:
    import pandas as pd

_PLOT, _LABEL = 210.0, 44.0  # pixels of height, and of width that the label of a plan takes


def cost_curve(
    plans: pd.DataFrame,
    *,
    name: str = "costs",
    title: str = "Cost of the cases that see the effect, by trials a case",
) -> Figure:
    """Are more trials worth their price? The cost of the plan that sees the effect, for each number of trials.

    Parameters
    ----------
    plans : pandas.DataFrame
        One row per ``trials``: ``cases`` that see the effect, their ``cost``, and ``low`` and ``high``, the cost
        if the variances lay at the ends of their intervals.
    name, title : str
        File name and title of the figure.
    """
    rows = sorted(tables.rows(plans), key=lambda row: row["trials"])
    return Figure(name, title, _reading(rows), lambda width: _draw(rows, width))


def _cheapest(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return min(rows, key=lambda row: (row["cost"], row["trials"]))


def _reading(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return tables.NOTHING
    best, single = _cheapest(rows), rows[0]
    size = f"{tables.count(best['cases'])} cases of {tables.some(best['trials'], 'trial')}"
    told = f"The cheapest plan drawn is {size} in each arm, at a cost of {_price(best)}"
    if single["trials"] == best["trials"]:
        return f"{told}: more trials a case do not pay."
    other = f"{tables.count(single['cases'])} cases of {tables.some(single['trials'], 'trial')} cost"
    return f"{told}; {other} {tables.number(single['cost'] / best['cost'])} times as much."


def _price(row: Mapping[str, Any]) -> str:
    if tables.is_missing(row["low"]) or tables.is_missing(row["high"]):
        return tables.count(row["cost"])
    return f"{tables.count(row['cost'])} {tables.interval(row['low'], row['high'], tables.count)}"


# --- drawing -------------------------------------------------------------------------------------


def _draw(rows: Sequence[Mapping[str, Any]], width: int) -> Drawing:
    left, right = 52.0, 20.0
    canvas = Canvas(width - left - right, _PLOT, left=left, right=right, top=24, bottom=44)
    if not rows:
        return canvas.drawing()
    top = max(value for row in rows for value in (row["cost"], row["high"]) if not tables.is_missing(value))
    last = len(rows)
    scales = canvas.across(0.5, last + 0.5), canvas.upwards(0, top * 1.08, 0, _PLOT)
    _grid(canvas, rows, top * 1.08)
    _points(canvas, rows, scales)
    _labels(canvas, rows, top * 1.08)
    return canvas.drawing()


def _grid(canvas: Canvas, rows: Sequence[Mapping[str, Any]], top: float) -> None:
    values = ticks(0, top, 4)
    places = [_PLOT * (1 - value / top) for value in values]
    canvas.lines("grid", [line((0, at), (canvas.width, at)) for at in places])
    labels = zip(values, places, strict=True)
    canvas.words("ticks", [word(_short(v), (-8, at), theme.SOFT) for v, at in labels], align="right")
    trials = [
        word(tables.count(row["trials"]), ((i + 0.5) / len(rows) * canvas.width, _PLOT + 14), theme.SOFT)
        for i, row in enumerate(rows)
        if i % _every(canvas, len(rows), 26) == 0
    ]
    canvas.words("trials", trials, align="center")
    said = "trials of a case in each arm"
    canvas.words("axis", [word(said, (canvas.width / 2, _PLOT + 34), theme.SOFT)], align="center")
    canvas.words("cost", [word("cost", (8 - canvas.left, -14), theme.SOFT)])


def _every(canvas: Canvas, count: int, width: float) -> int:
    """Return each how many of so many labels of this width has room."""
    return max(1, -(-int(width * count) // max(int(canvas.width), 1)))


def _short(value: float) -> str:
    return tables.count(value) if value < 100_000 else f"{value:.0e}".replace("e+0", "e")


def _points(canvas: Canvas, rows: Sequence[Mapping[str, Any]], scales: tuple[alt.Scale, alt.Scale]) -> None:
    best = _cheapest(rows)
    points = [
        {"place": i, "cost": row["cost"], "low": _known(row["low"]), "high": _known(row["high"]),
         "colour": theme.ON if row is best else theme.MUTE}
        for i, row in enumerate(rows, 1)
    ]  # fmt: skip
    bounded = [p for p in points if p["low"] is not None and p["high"] is not None]
    place = {"x": x("place", scales[0]), "color": colour()}
    bar = alt.MarkDef(type="rule", strokeWidth=2.5, strokeCap="round", opacity=0.6)
    canvas.add("intervals", bar, bounded, y=y("low", scales[1]), y2=alt.Y2("high"), **place)
    steps = [
        {
            "place": a["place"],
            "cost": a["cost"],
            "place2": b["place"],
            "cost2": b["cost"],
            "colour": theme.MUTE,
        }
        for a, b in itertools.pairwise(points)
    ]
    rule = alt.MarkDef(type="rule", strokeWidth=1.25)
    ends = {"x2": alt.X2("place2"), "y2": alt.Y2("cost2")}
    canvas.add("steps", rule, steps, y=y("cost", scales[1]), **ends, **place)
    dot = alt.MarkDef(type="point", shape="circle", filled=True, size=60, opacity=1)
    canvas.add("points", dot, points, y=y("cost", scales[1]), **place)


def _known(value: float) -> float | None:
    return None if tables.is_missing(value) else float(value)


def _labels(canvas: Canvas, rows: Sequence[Mapping[str, Any]], top: float) -> None:
    """Write how many cases each plan has; the cheapest always, of the others those that have room."""
    best = _cheapest(rows)
    every = _every(canvas, len(rows), _LABEL)
    keep = rows.index(best) % every
    shown = [(i, row) for i, row in enumerate(rows) if i % every == keep]
    for name, some in (
        ("best", [e for e in shown if e[1] is best]),
        ("others", [e for e in shown if e[1] is not best]),
    ):
        words = []
        for i, row in some:
            text = tables.count(row["cases"]) + (" cases" if row is best and canvas.width > 400 else "")
            last = (
                canvas.width + canvas.right - len(text) * CHARACTER
            )  # from where it still ends in the figure
            across = min((i + 0.5) / len(rows) * canvas.width + 7, last)
            paint = theme.ON if row is best else theme.SOFT
            words.append(word(text, (across, _PLOT * (1 - row["cost"] / top) - 11), paint))
        canvas.words(f"{name}-cases", words, bold=name == "best")
