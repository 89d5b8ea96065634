"""How often would a gate block at each true drop? Its operating characteristic, with what was promised beside it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import Canvas, Drawing, Figure, Row, colour, line, word, x, y
from evalstats.report.forest import tick_labels, ticks
from evalstats.report.history import apart

_PLOT = 250.0
Curve: TypeAlias = Sequence[tuple[float, float]]  # true drop, chance to block


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the gate promises: at no drop it blocks with chance ``alpha`` at most, at ``margin`` with ``power``."""

    margin: float
    alpha: float
    power: float


def operating_curve(
    curves: Mapping[str, Curve],
    *,
    margin: float,
    alpha: float,
    power: float,
    name: str = "operating",
    title: str = "How often the gate would block, by the true drop",
) -> Figure:
    """How often does a gate block an unchanged suite, and how often one that dropped by the margin?

    Parameters
    ----------
    curves : mapping of str to sequence of (drop, chance)
        By name, in the order of importance; the first is drawn in blue. Drops ascend from 0.
    margin : float
        The drop that matters.
    alpha, power : float
        The chance of a false block that is allowed, and that of a true one that is promised.
    name, title : str
        File name and title of the figure.
    """
    promise = Promise(margin=margin, alpha=alpha, power=power)
    known = {label: list(curve) for label, curve in curves.items() if curve}
    return Figure(name, title, _reading(known, promise), lambda width: _draw(known, promise, width))


def _reading(curves: Mapping[str, Curve], promise: Promise) -> str:
    if not curves:
        return tables.NOTHING
    said = [
        f"{label}, it blocks an unchanged suite {tables.percent(_at(curve, 0.0))} of the time and one that dropped by"
        f" {promise.margin:g} {tables.percent(_at(curve, promise.margin))} of the time"
        for label, curve in curves.items()
    ]
    text = "; ".join(said)
    asked = (
        f"asked for are at most {tables.percent(promise.alpha)} and at least {tables.percent(promise.power)}"
    )
    return f"{text[:1].upper()}{text[1:]}; {asked}."


def _at(curve: Curve, drop: float) -> float:
    return min(curve, key=lambda point: abs(point[0] - drop))[1]


def _draw(curves: Mapping[str, Curve], promise: Promise, width: int) -> Drawing:
    left, right = 40.0, 92.0
    canvas = Canvas(width - left - right, _PLOT, left=left, right=right, top=18, bottom=44)
    if not curves:
        return canvas.drawing()
    last = max(drop for curve in curves.values() for drop, _ in curve)
    scales = canvas.across(0, last), canvas.upwards(0, 1, 0, _PLOT)
    _grid(canvas, promise, last)
    for index, (label, curve) in enumerate(curves.items()):
        first = index == 0
        rule = alt.MarkDef(
            type="rule",
            strokeWidth=2.5 if first else 1.5,
            strokeCap="round",
            strokeDash=[1, 0] if first else [4, 4],
        )
        _line(canvas, f"curve-{label}", rule, (curve, theme.ON if first else theme.OFF), scales)
    _dots(canvas, curves, promise, scales)
    _names(canvas, curves)
    return canvas.drawing()


def _grid(canvas: Canvas, promise: Promise, last: float) -> None:
    values = ticks(0, 1, 4)
    places = [_PLOT * (1 - value) for value in values]
    canvas.lines("grid", [line((0, at), (canvas.width, at)) for at in places])
    labels = zip(tick_labels(values), places, strict=True)
    canvas.words("ticks", [word(text, (-8, at), theme.SOFT) for text, at in labels], align="right")
    margin = promise.margin / last * canvas.width
    lines = [line((margin, 0), (margin, _PLOT), theme.INK)]
    for share in (promise.alpha, promise.power):
        at = _PLOT * (1 - share)
        lines.append(line((0, at), (canvas.width, at), theme.INK))
    canvas.lines("promised", lines, dash=[3, 3])
    told = [
        word(f"margin {promise.margin:g}", (margin + 5, -8), theme.SOFT),
        word(f"power {tables.percent(promise.power)}", (4, _PLOT * (1 - promise.power) - 9), theme.SOFT),
        word(
            f"alpha {tables.percent(promise.alpha)}",
            (canvas.width * 0.6, _PLOT * (1 - promise.alpha) - 9),
            theme.SOFT,
        ),
    ]
    canvas.words("promised-words", told)
    drops = ticks(0, last, 6 if canvas.width > 400 else 3)
    shown = [
        word(text, (drop / last * canvas.width, _PLOT + 14), theme.SOFT)
        for text, drop in zip(tick_labels(drops), drops, strict=True)
    ]
    canvas.words("drops", shown, align="center")
    canvas.words("axis", [word("true drop", (canvas.width / 2, _PLOT + 34), theme.SOFT)], align="center")


def _line(
    canvas: Canvas,
    name: str,
    rule: alt.MarkDef,
    drawn: tuple[Curve, str],
    scales: tuple[alt.Scale, alt.Scale],
) -> None:
    curve, paint = drawn
    pieces: list[Row] = [
        {"drop": a[0], "chance": a[1], "drop2": b[0], "chance2": b[1], "colour": paint}
        for a, b in itertools.pairwise(curve)
    ]
    ends = {"x2": alt.X2("drop2"), "y2": alt.Y2("chance2"), "color": colour()}
    canvas.add(name, rule, pieces, x=x("drop", scales[0]), y=y("chance", scales[1]), **ends)


def _dots(
    canvas: Canvas, curves: Mapping[str, Curve], promise: Promise, scales: tuple[alt.Scale, alt.Scale]
) -> None:
    """Mark each curve where nothing changed and at the margin."""
    rows: list[Row] = [
        {"drop": drop, "chance": _at(curve, drop), "colour": theme.OFF if index else theme.ON}
        for index, curve in enumerate(curves.values())
        for drop in (0.0, promise.margin)
    ]
    dot = alt.MarkDef(type="point", shape="circle", filled=True, size=48, opacity=1)
    canvas.add("dots", dot, rows, x=x("drop", scales[0]), y=y("chance", scales[1]), color=colour())


def _names(canvas: Canvas, curves: Mapping[str, Curve]) -> None:
    """Name each curve at its right end, none on another."""
    ends = sorted(((curve[-1][1], label) for label, curve in curves.items()), reverse=True)
    heights = apart([_PLOT * (1 - chance) for chance, _ in ends], 15)
    first = next(iter(curves))
    told = [
        word(label, (canvas.width + 8, height), theme.ON if label == first else theme.OFF)
        for (_, label), height in zip(ends, heights, strict=True)
    ]
    canvas.words("names", told)
