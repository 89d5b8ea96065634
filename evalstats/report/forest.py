"""One line a row: a label, its n, a point with its interval, and the same in figures.

On a phone the label and the figures move above the interval, which then has the whole width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import CHARACTER, Canvas, Drawing, Figure, colour, line, word, x, y

if TYPE_CHECKING:
    import pandas as pd

_ROW, _ROW_NARROW = 24, 42
_EDGE = 20.0  # pixels beside a narrow plot: half the word of a tick at its end
_VALUES = 176  # pixels for the figures on the right


@dataclass(frozen=True, slots=True)
class Line:
    """One row as drawn. ``estimate`` is None when unknown, and then ``value`` says why."""

    label: str
    n: str
    estimate: float | None
    low: float | None
    high: float | None
    value: str
    paint: str
    total: bool = False


def forest(
    frame: pd.DataFrame,
    *,
    label: str,
    name: str = "forest",
    title: str = "Estimates with their intervals",
    signed: bool | None = None,
) -> Figure:
    """How large is each, and how far off may it be? One row per estimate, in the order of the frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        An estimate frame: ``label`` and the fields of ``evalstats.stats.Estimate``.
    label : str
        The column that names a row.
    name, title : str
        File name and title of the figure.
    signed : bool, optional
        Whether the numbers are differences, drawn around zero with signs; by default read from the estimand.
    """
    rows = tables.rows(frame)
    about_zero = _is_difference(rows) if signed is None else signed
    lines = [_line(row, label, about_zero, theme.ON) for row in rows]
    return Figure(
        name, title, _reading(rows, label, about_zero), lambda width: _draw(lines, about_zero, width)
    )


def archetype_bars(
    frame: pd.DataFrame,
    *,
    total: Mapping[str, Any] | None = None,
    name: str = "archetypes",
    title: str = "Difference by archetype",
) -> Figure:
    """Where does it help? Paired differences by archetype, the largest first; blue excludes zero.

    Parameters
    ----------
    frame : pandas.DataFrame
        An estimate frame with a column ``archetype``.
    total : mapping, optional
        The estimate over all cases (``Estimate.as_row()``), drawn below a rule.
    name, title : str
        File name and title of the figure.
    """
    rows = sorted(tables.rows(frame), key=_largest_first)
    lines = [_line(row, "archetype", True, theme.ON if _excludes_zero(row) else theme.MUTE) for row in rows]
    reading = _reading(rows, "archetype", True)
    if total is not None:
        row = {**total, "archetype": "All cases"}
        lines.append(
            _line(row, "archetype", True, theme.ON if _excludes_zero(row) else theme.MUTE, total=True)
        )
        reading += f" All cases: {tables.estimate(row, tables.signed)}."
    return Figure(name, title, reading, lambda width: _draw(lines, True, width))


# --- from rows to lines and words ----------------------------------------------------------------


def _is_difference(rows: Sequence[Mapping[str, Any]]) -> bool:
    return any("difference" in str(row["estimand"]) or (row["conf_low"] or 0) < 0 for row in rows)


def _excludes_zero(row: Mapping[str, Any]) -> bool:
    return bool(row["conf_low"] > 0 or row["conf_high"] < 0)  # false when unknown: NaN compares false


def _largest_first(row: Mapping[str, Any]) -> tuple[float, str]:
    unknown = tables.is_missing(row["estimate"])
    return (math.inf if unknown else -row["estimate"], str(row["archetype"]))


def _line(row: Mapping[str, Any], label: str, signed: bool, paint: str, total: bool = False) -> Line:
    def known(field: str) -> float | None:
        return None if tables.is_missing(row[field]) else float(row[field])

    write = tables.signed if signed else tables.rate
    value = tables.estimate(row, write)
    if known("estimate") is not None and known("conf_low") is None:
        value = f"{write(row['estimate'])}, no interval"
    ends = known("conf_low"), known("conf_high")
    return Line(
        tables.visible(row[label]),
        f"n={tables.count(row['n_cases'])}",
        known("estimate"),
        *ends,
        value,
        paint,
        total,
    )


def _reading(rows: Sequence[Mapping[str, Any]], label: str, signed: bool) -> str:
    """Return what the rows say, in a sentence computed from them."""
    if not rows:
        return tables.NOTHING
    first = rows[0]
    subject = f"{_capital(tables.visible(first['estimand']))} with {tables.percent(first['level'])} intervals"
    known = [row for row in rows if not tables.is_missing(row["estimate"])]
    if not known:
        return f"{subject}: none could be computed ({tables.visible(tables.reason_of(first))})."
    sentence = _about_zero(rows, label) if signed else _range(known, label)
    unknown = len(rows) - len(known)
    return f"{subject}: {sentence}" + (f"; {unknown} could not be computed." if unknown else ".")


def _about_zero(rows: Sequence[Mapping[str, Any]], label: str) -> str:
    above = [tables.shortened(row[label], 40) for row in rows if row["conf_low"] > 0]
    below = [tables.shortened(row[label], 40) for row in rows if row["conf_high"] < 0]
    total = len(rows)
    return f"{_some(above, total, 'above')}, {_some(below, total, 'below')}"


def _some(names: Sequence[str], total: int, side: str) -> str:
    if not names:
        return f"none lies wholly {side} zero"
    listed = f" ({', '.join(names)})" if len(names) <= 4 else ""
    return f"{len(names)} of {total} lie{'s' if len(names) == 1 else ''} wholly {side} zero{listed}"


def _range(known: Sequence[Mapping[str, Any]], label: str) -> str:
    ordered = sorted(known, key=lambda row: row["estimate"])
    ends = [f"{tables.shortened(row[label], 40)} {tables.estimate(row)}" for row in (ordered[0], ordered[-1])]
    return ends[0] if len(known) == 1 else f"from {ends[0]} to {ends[1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- drawing -------------------------------------------------------------------------------------


def _draw(lines: Sequence[Line], signed: bool, width: int) -> Drawing:
    narrow = width < 500
    pitch = _ROW_NARROW if narrow else _ROW
    labels = min(max((len(entry.label) for entry in lines), default=0), 30)
    left = _EDGE if narrow else labels * CHARACTER + _sizes(lines) + 8
    right = _EDGE if narrow else float(_VALUES)
    canvas = Canvas(width - left - right, pitch * len(lines) + 6, left=left, right=right, bottom=24)
    low, high = _domain(lines, signed)
    middle = 0.72 if narrow else 0.5
    placed = [(entry, pitch * (i + middle) + (4 if entry.total else 0)) for i, entry in enumerate(lines)]
    # On a phone the grid stands behind the intervals only, so that no line runs through the words between them.
    spans = [(at - 9, at + 9) for _, at in placed] if narrow else [(0.0, canvas.height)]
    _grid(canvas, (low, high), signed, spans)
    _marks(canvas, placed, canvas.across(low, high))
    (_words_above if narrow else _words_beside)(canvas, placed)
    return canvas.drawing()


def _domain(lines: Sequence[Line], signed: bool) -> tuple[float, float]:
    ends = [end for entry in lines for end in (entry.low, entry.high, entry.estimate) if end is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if signed:
        low, high = min(low, 0.0), max(high, 0.0)
    room = (high - low) * 0.04 or 0.05
    return low - room, high + room


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers inside [low, high], about so many."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
    return [
        round(i * step, 10) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def tick_labels(values: Sequence[float], signed: bool = False) -> list[str]:
    """Return the labels of ticks, with as many digits as their step needs."""
    fine = any(abs(value * 10 - round(value * 10)) > 1e-6 for value in values)
    write: Callable[[float], str] = tables.signed if signed else tables.rate
    return [write(value) if fine else write(value)[:-1] for value in values]


def _grid(
    canvas: Canvas, limits: tuple[float, float], signed: bool, spans: Sequence[tuple[float, float]]
) -> None:
    low, high = limits
    values = ticks(low, high)
    places = [(value - low) / (high - low) * canvas.width for value in values]
    paints = [theme.INK if signed and value == 0 else theme.LINE for value in values]
    verticals = list(zip(places, paints, strict=True))
    canvas.lines("grid", [line((at, a), (at, b), paint) for at, paint in verticals for a, b in spans])
    labels = zip(tick_labels(values, signed), places, strict=True)
    canvas.words(
        "ticks", [word(text, (at, canvas.height + 14), theme.SOFT) for text, at in labels], align="center"
    )


def _marks(canvas: Canvas, placed: Sequence[tuple[Line, float]], scale: alt.Scale) -> None:
    styles = {"row": (2.5, "circle", 55), "total": (4, "diamond", 110)}
    for kind, some in _by_total(placed):
        thick, shape, size = styles[kind]
        points = [_place(entry, at) for entry, at in some if entry.estimate is not None]
        bounded = [row for row in points if row["low"] is not None and row["high"] is not None]
        channels = {"y": y("y", None), "color": colour()}
        rule = alt.MarkDef(type="rule", strokeWidth=thick, strokeCap="round")
        canvas.add(f"{kind}-intervals", rule, bounded, x=x("low", scale), x2=alt.X2("high"), **channels)
        point = alt.MarkDef(type="point", shape=shape, filled=True, size=size, opacity=1)
        canvas.add(f"{kind}-points", point, points, x=x("estimate", scale), **channels)


def _place(entry: Line, at: float) -> dict[str, Any]:
    ends = {"low": entry.low, "high": entry.high}
    return {"estimate": entry.estimate, "y": at, "colour": entry.paint, **ends}


def _words_beside(canvas: Canvas, placed: Sequence[tuple[Line, float]]) -> None:
    """Write label and n to the left of each interval, the figures to its right."""
    beside = -_sizes([entry for entry, _ in placed])
    for kind, some in _by_total(placed):
        bold = kind == "total"
        labels = [word(tables.shortened(entry.label, 30), (beside, at)) for entry, at in some]
        canvas.words(f"{kind}-labels", labels, align="right", bold=bold)
        sizes = [word(entry.n, (-12, at), theme.SOFT) for entry, at in some]
        canvas.words(f"{kind}-n", sizes, align="right")
        values = [word(tables.shortened(entry.value, 22), (canvas.width + 22, at)) for entry, at in some]
        canvas.words(f"{kind}-values", values, bold=bold)
    edges = (8 - canvas.left, canvas.width + canvas.right - 8)
    above = [at - 15 for entry, at in placed if entry.total]
    canvas.lines("total-rule", [line((edges[0], at), (edges[1], at)) for at in above])


def _sizes(lines: Sequence[Line]) -> float:
    """Return the pixels that the widest n takes, with room on both sides."""
    return max((len(entry.n) for entry in lines), default=0) * CHARACTER + 22


def _words_above(canvas: Canvas, placed: Sequence[tuple[Line, float]]) -> None:
    """Write label, n and figures above each interval, which has the whole width."""
    for kind, some in _by_total(placed):
        bold = kind == "total"
        labels = [
            word(f"{tables.shortened(entry.label, 20)} · {entry.n}", (0, at - 17)) for entry, at in some
        ]
        canvas.words(f"{kind}-labels", labels, bold=bold)
        values = [word(tables.shortened(entry.value, 22), (canvas.width, at - 17)) for entry, at in some]
        canvas.words(f"{kind}-values", values, align="right", bold=bold)


def _by_total(placed: Sequence[tuple[Line, float]]) -> list[tuple[str, list[tuple[Line, float]]]]:
    rows = [entry for entry in placed if not entry[0].total]
    return [("row", rows), ("total", [entry for entry in placed if entry[0].total])]
