"""Runs in their order, per arm, with the band in which the next should fall."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from evalstats.contract import Arm
from evalstats.report import tables, theme
from evalstats.report.canvas import CHARACTER, Canvas, Drawing, Figure, colour, line, word, x, y
from evalstats.report.forest import tick_labels, ticks

if TYPE_CHECKING:
    import pandas as pd

PANEL, HEAD, GAP, _FOOT = 150.0, 30.0, 14.0, 26.0
_TREATED = (Arm.SKILL_ON, Arm.CONTEXT_ON, Arm.CANDIDATE)  # drawn first, in blue


@dataclass(frozen=True, slots=True)
class Panel:
    """One arm: its values in order (x from 1), and what is known of its band."""

    arm: str
    head: str
    values: tuple[float, ...]
    labels: tuple[str, ...]
    band: tuple[float, float, float] | None  # low, centre, high

    @property
    def paint(self) -> str:
        """Return the colour of the arm."""
        return theme.ON if self.arm in _TREATED else theme.SOFT

    def outside(self, value: float) -> bool:
        """Return whether a value lies outside the band."""
        return self.band is not None and not self.band[0] <= value <= self.band[2]


def run_chart(
    series: pd.DataFrame,
    bands: pd.DataFrame,
    *,
    value: str = "score",
    name: str = "runs",
    title: str = "Runs in order, with the band for the next one",
) -> Figure:
    """Is the latest run unusual? Every run in its order, per arm, with the prediction band and its centre.

    Parameters
    ----------
    series : pandas.DataFrame
        One row per run and arm: ``arm``, ``started_at``, ``n_cases`` and the column ``value``.
    bands : pandas.DataFrame
        An estimate frame with one row per ``arm``: centre and limits of the band.
    value : str
        The number of a run that is drawn. Runs where it is unknown are counted in the reading.
    name, title : str
        File name and title of the figure.
    """
    by_arm = {str(row["arm"]): row for row in tables.rows(bands)}
    if len(by_arm) != len(bands):
        raise ValueError("bands must have one row per arm")
    runs = sorted(tables.rows(series), key=lambda row: (str(row["started_at"]), str(row["run_id"])))
    panels = [
        _run_panel(arm, runs, by_arm.get(arm), value) for arm in in_order({str(r["arm"]) for r in runs})
    ]
    lost = sum(tables.is_missing(row[value]) for row in runs)
    reading = " ".join(_run_reading(panel, by_arm.get(panel.arm)) for panel in panels) or tables.NOTHING
    if lost:
        reading += f" {lost} without a usable trial {'is' if lost == 1 else 'are'} not drawn."
    return Figure(name, title, reading, lambda width: _draw_runs(panels, width))


def in_order(arms: set[str]) -> list[str]:
    """Return the arms in the order they are drawn: the treated one first."""
    return sorted(arms, key=lambda arm: (arm not in _TREATED, arm))


def _run_panel(
    arm: str, runs: Sequence[Mapping[str, Any]], band: Mapping[str, Any] | None, value: str
) -> Panel:
    mine = [row for row in runs if row["arm"] == arm and not tables.is_missing(row[value])]
    dates = [day(str(row["started_at"])) for row in mine]
    by_date = len(set(dates)) == len(dates)
    labels = dates if by_date else [str(index) for index in range(1, len(mine) + 1)]
    known = band is not None and not tables.is_missing(band["conf_low"])
    limits = (
        (float(band["conf_low"]), float(band["estimate"]), float(band["conf_high"]))
        if known and band
        else None
    )
    cases = sorted({int(row["n_cases"]) for row in mine if not tables.is_missing(row["n_cases"])})
    size = f"{cases[0]} to {cases[-1]} cases" if len(cases) > 1 else tables.some(sum(cases), "case")
    head = f"{tables.some(len(mine), 'run')}{f' of {size}' if cases else ''}"
    return Panel(arm, head, tuple(float(row[value]) for row in mine), tuple(labels), limits)


def day(started_at: str) -> str:
    """Return the day of a time as an axis names it: 3 Nov."""
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    return f"{int(started_at[8:10])} {months[int(started_at[5:7]) - 1]}"


def _run_reading(panel: Panel, band: Mapping[str, Any] | None) -> str:
    if panel.band is None:
        reason = tables.reason_of(band) if band is not None else "no band was estimated"
        return f"{panel.arm}: {tables.some(len(panel.values), 'run')}, no band ({tables.visible(reason)})."
    low, centre, high = panel.band
    level = tables.percent(band["level"]) if band is not None else ""
    out = sum(panel.outside(value) for value in panel.values)
    limits = tables.interval(low, high)
    outside = (
        "none of the runs lies"
        if not out
        else f"{out} of {tables.some(len(panel.values), 'run')} lie{'s' if out == 1 else ''}"
    )
    return f"{panel.arm}: centre {tables.rate(centre)}, {level} band {limits}; {outside} outside it."


def _draw_runs(panels: Sequence[Panel], width: int) -> Drawing:
    canvas = panels_canvas(len(panels), width, right=104.0)
    last = max((len(panel.values) for panel in panels), default=0) or 1
    span = max((high - low for low, high in map(_reach, panels)), default=0.0) * 1.16 or 0.1
    for index, panel in enumerate(panels):
        top = index * (HEAD + PANEL + GAP) + HEAD
        # Every arm in the same span, around its own middle: a step of one arm looks as large as one of the other.
        middle = sum(_reach(panel)) / 2
        low, high = middle - span / 2, middle + span / 2
        panel_frame(canvas, panel, (low, high), top)
        _panel_runs(
            canvas, panel, canvas.upwards(low, high, top, top + PANEL), canvas.across(0.5, last + 0.5)
        )
        _panel_side(canvas, panel, lambda v, t=top, h=high: t + PANEL * (h - v) / span)
    run_ticks(canvas, max((panel.labels for panel in panels), key=len, default=()), last)
    return canvas.drawing()


def _reach(panel: Panel) -> tuple[float, float]:
    ends = (*panel.values, *(panel.band or ()))
    return min(ends, default=0.0), max(ends, default=0.0)


def panels_canvas(count: int, width: int, right: float) -> Canvas:
    """Return a canvas for so many panels, one below the other."""
    left = 36.0
    height = max(count * (HEAD + PANEL + GAP) - GAP, GAP)
    return Canvas(width - left - right, height, left=left, right=right, top=0, bottom=_FOOT)


def panel_frame(canvas: Canvas, panel: Panel, limits: tuple[float, float], top: float) -> None:
    """Write the head of a panel and its horizontal grid."""
    low, high = limits
    canvas.words(f"{panel.arm}-head", [word(panel.arm, (-canvas.left, top - 15), panel.paint)], bold=True)
    beside = 7.4 * len(panel.arm) + 8 - canvas.left
    room = int((canvas.width + canvas.right - beside) / CHARACTER)
    head = word(tables.shortened(panel.head, max(room, 2)), (beside, top - 15), theme.SOFT)
    canvas.words(f"{panel.arm}-size", [head])
    values = ticks(low, high, 4)
    places = [top + PANEL * (high - value) / (high - low) for value in values]
    canvas.lines(f"{panel.arm}-grid", [line((0, at), (canvas.width, at)) for at in places])
    labels = zip(tick_labels(values), places, strict=True)
    canvas.words(
        f"{panel.arm}-ticks", [word(text, (-8, at), theme.SOFT) for text, at in labels], align="right"
    )


def _panel_runs(canvas: Canvas, panel: Panel, vertical: alt.Scale, across: alt.Scale) -> None:
    name = panel.arm
    if panel.band is not None:
        low, centre, high = panel.band
        row = {
            "low": low,
            "centre": centre,
            "high": high,
            "from": 0,
            "to": canvas.width,
            "colour": panel.paint,
        }
        sides = {"x": x("from", None), "x2": alt.X2("to"), "color": colour()}
        fill = alt.MarkDef(type="rect", opacity=0.12)
        canvas.add(f"{name}-band", fill, [row], y=y("low", vertical), y2=alt.Y2("high"), **sides)
        dashed = alt.MarkDef(type="rule", strokeDash=[3, 3])
        canvas.add(f"{name}-centre", dashed, [row], y=y("centre", vertical), **sides)
    points = [
        {"run": i, "value": v, "colour": theme.OFF if panel.outside(v) else panel.paint, "label": text}
        for i, (v, text) in enumerate(zip(panel.values, panel.labels, strict=True), 1)
    ]
    place = {"x": x("run", across), "y": y("value", vertical)}
    steps = [
        {**a, "run2": b["run"], "value2": b["value"], "colour": theme.MUTE}
        for a, b in itertools.pairwise(points)
    ]
    step = alt.MarkDef(type="rule", strokeWidth=1.25)
    canvas.add(f"{name}-steps", step, steps, x2=alt.X2("run2"), y2=alt.Y2("value2"), color=colour(), **place)
    dot = alt.MarkDef(type="point", shape="circle", filled=True, size=36, opacity=1)
    canvas.add(f"{name}-points", dot, points, color=colour(), **place)
    latest = alt.MarkDef(type="point", shape="circle", filled=True, size=95, opacity=1)
    canvas.add(f"{name}-latest", latest, points[-1:], color=colour(), **place)


def _panel_side(canvas: Canvas, panel: Panel, place: Any) -> None:
    """Write the limits and the latest value at the right edge."""
    texts = [
        (value, f"{what} {tables.rate(value)}", theme.SOFT)
        for what, value in zip(("lower", "centre", "upper"), panel.band or (), strict=False)
    ]
    if panel.values:
        latest = panel.values[-1]
        paint = theme.OFF if panel.outside(latest) else theme.INK
        texts.append((latest, f"latest {tables.rate(latest)}", paint))
    side_words(canvas, panel.arm, texts, place)


def side_words(
    canvas: Canvas, name: str, texts: Sequence[tuple[float, str, str]], place: Callable[[float], float]
) -> None:
    """Write (value, text, colour) at the right edge, each at its height, none on another, the latest value bold."""
    ordered = sorted(texts, key=lambda entry: -entry[0])
    heights = apart([place(value) for value, _, _ in ordered], 15)
    rows = [
        word(text, (canvas.width + 10, at), paint)
        for (_, text, paint), at in zip(ordered, heights, strict=True)
    ]
    canvas.words(f"{name}-side", [row for row in rows if not row["text"].startswith("latest")])
    canvas.words(f"{name}-side-latest", [row for row in rows if row["text"].startswith("latest")], bold=True)


def apart(heights: Sequence[float], least: float) -> list[float]:
    """Return ascending heights moved so that neighbours are ``least`` apart, each group around its middle."""
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _top(groups[-1], least) - _bottom(groups[-2], least) < least:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_top(group, least) + least * index for group in groups for index in range(len(group))]


def _top(group: Sequence[float], least: float) -> float:
    return sum(group) / len(group) - least * (len(group) - 1) / 2


def _bottom(group: Sequence[float], least: float) -> float:
    return _top(group, least) + least * (len(group) - 1)


def run_ticks(canvas: Canvas, labels: Sequence[str], last: int) -> None:
    """Write as many of the labels of the runs below the canvas as have room, the last one always."""
    widest = max((len(label) for label in labels), default=1) * 7 + 16
    every = max(1, -(-widest * last // max(int(canvas.width), 1)))
    shown = [index for index in range(len(labels) - 1, -1, -1) if (last - 1 - index) % every == 0]
    rows = [
        word(labels[i], ((i + 0.5) / last * canvas.width, canvas.height + 14), theme.SOFT)
        for i in reversed(shown)
    ]
    canvas.words("run-ticks", rows, align="center")
