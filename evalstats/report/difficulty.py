"""Where does each case stand? How hard it is, how far it tells the arms apart, and how sure both are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import CHARACTER, Canvas, Drawing, Figure, colour, line, word, x, y
from evalstats.report.forest import tick_labels, ticks

if TYPE_CHECKING:
    import pandas as pd

_PLOT, _LISTED = 340.0, 12
_ROOM = 0.02  # of the scale of difficulty, on either side
_AXES = ("difficulty", "discrimination")
_PAINTS = {"retire": theme.OFF, "admit": theme.ON, "keep": theme.INK, "wait": theme.MUTE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One case: its two numbers with their intervals, its colour, and how much it matters to name it."""

    name: str
    at: tuple[float, float]
    across: tuple[float, float]
    upwards: tuple[float, float]
    paint: str
    rank: float


def difficulty_map(
    cases: pd.DataFrame,
    *,
    arms: tuple[str, str],
    level: float,
    name: str = "map",
    title: str = "Every case by difficulty and discrimination",
) -> Figure:
    """Which cases are too easy, too hard, or tell nothing? One cross a case, the arms of a cross its intervals.

    Parameters
    ----------
    cases : pandas.DataFrame
        One row per case: ``case_id``, ``proposal``, and of both ``difficulty`` and ``discrimination`` the number
        and its interval (``difficulty_low``, ``difficulty_high``, ...); missing where unknown.
    arms : tuple of two str
        The treated arm and the yardstick.
    level : float
        Level of the intervals.
    name, title : str
        File name and title of the figure.
    """
    rows = tables.rows(cases)
    known = [row for row in rows if not any(tables.is_missing(row[axis]) for axis in _AXES)]
    points = sorted((_point(row) for row in known), key=lambda point: (-point.rank, point.name))
    reading = _reading(points, len(rows) - len(known), arms, level)
    return Figure(name, title, reading, lambda width: _draw(points, arms, width))


def _point(row: Mapping[str, Any]) -> Point:
    difficulty, discrimination = (float(row[axis]) for axis in _AXES)
    spans = [(float(row[f"{axis}_low"]), float(row[f"{axis}_high"])) for axis in _AXES]
    proposal = str(row["proposal"])
    named = 2.0 if proposal in ("retire", "admit") else 0.0
    return Point(
        name=tables.visible(row["case_id"]),
        at=(difficulty, discrimination),
        across=spans[0],
        upwards=spans[1],
        paint=_PAINTS.get(proposal, theme.MUTE),
        rank=named + abs(discrimination),
    )


def _reading(points: Sequence[Point], unknown: int, arms: tuple[str, str], level: float) -> str:
    if not points:
        lost = f" Of {tables.some(unknown, 'case')} not both numbers are known." if unknown else ""
        return tables.NOTHING + lost
    above = sum(point.upwards[0] > 0 for point in points)
    below = sum(point.upwards[1] < 0 for point in points)
    hardest = max(points, key=lambda point: (point.at[0], point.name))
    told = (
        f"Of {tables.some(len(points), 'case')}, {above} pass more often in {arms[0]} than in {arms[1]} and {below}"
        f" less often, beyond their {tables.percent(level)} intervals; the hardest is"
        f" {tables.shortened(hardest.name, 40)}, which fails {tables.percent(hardest.at[0])} of its trials in"
        f" {arms[1]}."
    )
    return told + (f" {unknown} could not be placed." if unknown else "")


# --- drawing -------------------------------------------------------------------------------------


def _draw(points: Sequence[Point], arms: tuple[str, str], width: int) -> Drawing:
    left, right = 44.0, 16.0
    canvas = Canvas(width - left - right, _PLOT, left=left, right=right, top=30, bottom=46)
    if not points:
        return canvas.drawing()
    low = min(-0.1, *(point.upwards[0] for point in points)) - 0.03
    high = max(0.1, *(point.upwards[1] for point in points)) + 0.03
    _grid(canvas, (low, high), arms)
    _marks(canvas, points, canvas.across(-_ROOM, 1 + _ROOM), canvas.upwards(low, high, 0, _PLOT))
    _names(canvas, points, (low, high))
    return canvas.drawing()


def _across(canvas: Canvas, value: float) -> float:
    return (value + _ROOM) / (1 + 2 * _ROOM) * canvas.width


def _upwards(value: float, limits: tuple[float, float]) -> float:
    return _PLOT * (limits[1] - value) / (limits[1] - limits[0])


def _grid(canvas: Canvas, limits: tuple[float, float], arms: tuple[str, str]) -> None:
    values, across = ticks(*limits, 5), ticks(0, 1, 5)
    heights = [_upwards(value, limits) for value in values]
    paints = [theme.INK if value == 0 else theme.LINE for value in values]
    canvas.lines("grid", [line((0, h), (canvas.width, h), p) for h, p in zip(heights, paints, strict=True)])
    labels = zip(tick_labels(values, signed=True), heights, strict=True)
    canvas.words("ticks", [word(text, (-8, at), theme.SOFT) for text, at in labels], align="right")
    places = [_across(canvas, value) for value in across]
    canvas.lines("uprights", [line((at, 0), (at, _PLOT)) for at in places])
    below = zip(tick_labels(across), places, strict=True)
    canvas.words("difficulty", [word(t, (at, _PLOT + 14), theme.SOFT) for t, at in below], align="center")
    wide = canvas.width > 400
    said = f"difficulty: share of failing trials, {arms[1]}" if wide else f"difficulty (fails, {arms[1]})"
    canvas.words("axis", [word(said, (canvas.width / 2, _PLOT + 34), theme.SOFT)], align="center")
    said = f"discrimination: pass rate {arms[0]} minus {arms[1]}" if wide else f"{arms[0]} minus {arms[1]}"
    canvas.words("rise", [word(said, (8 - canvas.left, -18), theme.SOFT)])
    _edges(canvas, limits)


def _edges(canvas: Canvas, limits: tuple[float, float]) -> None:
    """Draw how much there is to gain on a case so hard, and how much to lose: no case can lie beyond."""
    low, high = limits
    gain, lose = min(high, 1.0), max(low, -1.0)
    ends = [((0.0, 0.0), (gain, gain)), ((1 + lose, lose), (1.0, 0.0))]
    places = [[(_across(canvas, at), _upwards(up, limits)) for at, up in end] for end in ends]
    edges = [line(start, end, theme.MUTE) for start, end in places]
    canvas.lines("edges", edges, dash=[3, 3])


def _marks(canvas: Canvas, points: Sequence[Point], across: alt.Scale, upwards: alt.Scale) -> None:
    rows = [
        {"x": p.at[0], "y": p.at[1], "x1": p.across[0], "x2": p.across[1], "y1": p.upwards[0],
         "y2": p.upwards[1], "colour": p.paint}
        for p in points
    ]  # fmt: skip
    bar = alt.MarkDef(type="rule", strokeWidth=1.25, opacity=0.3, strokeCap="round")
    wide = {"x2": alt.X2("x2"), "color": colour()}
    canvas.add("across", bar, rows, x=x("x1", across), y=y("y", upwards), **wide)
    tall = {"y2": alt.Y2("y2"), "color": colour()}
    canvas.add("upwards", bar, rows, x=x("x", across), y=y("y1", upwards), **tall)
    dot = alt.MarkDef(type="point", shape="circle", filled=True, size=46, opacity=1)
    canvas.add("cases", dot, rows, x=x("x", across), y=y("y", upwards), color=colour())


def _names(canvas: Canvas, points: Sequence[Point], limits: tuple[float, float]) -> None:
    """Name the cases that matter most, above their crosses, as far as no name lies on another or on a case."""
    dots = [(_across(canvas, p.at[0]), _upwards(p.at[1], limits)) for p in points]
    taken = [(at - 5, up - 5, at + 5, up + 5) for at, up in dots]
    shown: list[dict[str, Any]] = []
    for point, (at, up) in zip(points, dots, strict=True):
        text, above = tables.shortened(point.name, 22), up - 10
        long = len(text) * CHARACTER
        boxes = [(start, above - 7, start + long, above + 7) for start in (at + 5, at - 5 - long)]
        box = next((box for box in boxes if _is_free(box, canvas, taken)), None)
        if box is not None and len(shown) < _LISTED:
            taken.append(box)
            shown.append(word(text, (box[0], above), point.paint))
    canvas.words("names", shown)
    size = word(f"n={tables.count(len(points))} cases", (canvas.width, -18), theme.SOFT)
    canvas.words("n", [size], align="right")


Box = tuple[float, float, float, float]


def _is_free(box: Box, canvas: Canvas, taken: Sequence[Box]) -> bool:
    if box[0] < 0 or box[2] > canvas.width + canvas.right:
        return False
    return not any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken
    )
