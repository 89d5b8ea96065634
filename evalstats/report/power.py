"""How often would a study of so many cases see the effect? One curve for each number of trials a case."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import Canvas, Drawing, Figure, Row, colour, line, word, x, y
from evalstats.report.forest import tick_labels, ticks
from evalstats.report.history import apart

if TYPE_CHECKING:
    import pandas as pd

_PLOT = 250.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """All that is drawn: points of the curves, the chosen number of trials, what is promised, and simulations."""

    by_trials: Mapping[int, Sequence[Mapping[str, Any]]]
    chosen: int
    power: float
    needed: Mapping[int, int]
    simulated: Sequence[Mapping[str, Any]]

    @property
    def last(self) -> float:
        """Return where the scale of cases ends."""
        return max((row["cases"] for rows in self.by_trials.values() for row in rows), default=1)


def power_curves(
    curves: pd.DataFrame,
    simulated: pd.DataFrame,
    *,
    chosen: int,
    power: float,
    name: str = "power",
    title: str = "Chance to see the effect, by cases and trials",
) -> Figure:
    """How many cases does it take, for each number of trials? Curves, and below 30 cases also simulations.

    Parameters
    ----------
    curves : pandas.DataFrame
        One row per ``trials`` and ``cases``: ``power``, and ``low`` and ``high``, what it would be if the
        variances lay at the ends of their intervals.
    simulated : pandas.DataFrame
        An estimate frame with ``trials`` and ``cases``: power by trying it.
    chosen : int
        The number of trials whose curve is drawn in blue, with its band.
    power : float
        The chance that is asked for.
    name, title : str
        File name and title of the figure.
    """
    rows = sorted(tables.rows(curves), key=lambda row: (row["trials"], row["cases"]))
    by_trials = {int(t): list(some) for t, some in itertools.groupby(rows, key=lambda row: row["trials"])}
    needed = {
        t: min(int(r["cases"]) for r in some if r["power"] >= power)
        for t, some in by_trials.items()
        if any(r["power"] >= power for r in some)
    }
    drawn = Curves(
        by_trials=by_trials, chosen=chosen, power=power, needed=needed, simulated=tables.rows(simulated)
    )
    return Figure(name, title, _reading(drawn), lambda width: _draw(drawn, width))


def _reading(drawn: Curves) -> str:
    if not drawn.by_trials:
        return tables.NOTHING
    asked = tables.percent(drawn.power)
    told = [
        f"{tables.count(cases)} cases with {tables.some(trials, 'trial')}"
        for trials, cases in drawn.needed.items()
    ]
    said = [
        f"A chance of {asked} takes {', '.join(told)} a case and arm." if told else "No curve reaches it."
    ]
    if drawn.simulated:
        row = max(drawn.simulated, key=lambda each: each["cases"])
        size = f"{tables.count(row['cases'])} cases of {tables.some(row['trials'], 'trial')}"
        said.append(f"Tried out, {size} see it with a chance of {tables.estimate(row)}.")
    return " ".join(said)


# --- drawing -------------------------------------------------------------------------------------


def _draw(drawn: Curves, width: int) -> Drawing:
    left, right = 36.0, 78.0
    canvas = Canvas(width - left - right, _PLOT, left=left, right=right, top=16, bottom=44)
    if not drawn.by_trials:
        return canvas.drawing()
    scales = canvas.across(0, drawn.last), canvas.upwards(0, 1, 0, _PLOT)
    _grid(canvas, drawn)
    _band(canvas, drawn, scales)
    for trials, rows in drawn.by_trials.items():
        chosen = trials == drawn.chosen
        rule = alt.MarkDef(type="rule", strokeWidth=2.5 if chosen else 1.5, strokeCap="round")
        _segments(canvas, f"curve-{trials}", rule, (rows, theme.ON if chosen else theme.MUTE), scales)
    _needed(canvas, drawn, scales)
    _simulated(canvas, drawn, scales)
    _names(canvas, drawn)
    return canvas.drawing()


def _grid(canvas: Canvas, drawn: Curves) -> None:
    values = ticks(0, 1, 4)
    places = [_PLOT * (1 - value) for value in values]
    canvas.lines("grid", [line((0, at), (canvas.width, at)) for at in places])
    labels = zip(tick_labels(values), places, strict=True)
    canvas.words("ticks", [word(text, (-8, at), theme.SOFT) for text, at in labels], align="right")
    asked = _PLOT * (1 - drawn.power)
    canvas.lines("asked", [line((0, asked), (canvas.width, asked), theme.INK)], dash=[3, 3])
    canvas.words(
        "asked-word",
        [word(f"asked: {tables.percent(drawn.power)}", (canvas.width * 0.62, asked - 9), theme.SOFT)],
    )
    sizes = [value for value in ticks(0, drawn.last, 6 if canvas.width > 400 else 3) if value == int(value)]
    at = [value / drawn.last * canvas.width for value in sizes]
    shown = [
        word(tables.count(value), (place, _PLOT + 14), theme.SOFT)
        for value, place in zip(sizes, at, strict=True)
    ]
    canvas.words("sizes", shown, align="center")
    canvas.words("axis", [word("cases", (canvas.width / 2, _PLOT + 34), theme.SOFT)], align="center")


def _band(canvas: Canvas, drawn: Curves, scales: tuple[alt.Scale, alt.Scale]) -> None:
    """Draw what the chosen curve would be at either end of the variances' intervals."""
    for end in ("low", "high"):
        rows = [
            {"cases": r["cases"], "power": r[end]}
            for r in drawn.by_trials.get(drawn.chosen, ())
            if not tables.is_missing(r[end])
        ]
        rule = alt.MarkDef(type="rule", strokeWidth=1, strokeDash=[2, 3])
        _segments(canvas, f"band-{end}", rule, (rows, theme.ON), scales)


def _segments(
    canvas: Canvas,
    name: str,
    rule: alt.MarkDef,
    curve: tuple[Sequence[Mapping[str, Any]], str],
    scales: tuple[alt.Scale, alt.Scale],
) -> None:
    """Draw a curve as one straight piece between neighbouring points, so that its pieces can be counted."""
    rows, paint = curve
    pieces: list[Row] = [
        {
            "cases": a["cases"],
            "power": a["power"],
            "cases2": b["cases"],
            "power2": b["power"],
            "colour": paint,
        }
        for a, b in itertools.pairwise(rows)
    ]
    ends = {"x2": alt.X2("cases2"), "y2": alt.Y2("power2"), "color": colour()}
    canvas.add(name, rule, pieces, x=x("cases", scales[0]), y=y("power", scales[1]), **ends)


def _needed(canvas: Canvas, drawn: Curves, scales: tuple[alt.Scale, alt.Scale]) -> None:
    """Mark where each curve reaches the chance that is asked for, and how many cases that is."""
    paints = {t: theme.ON if t == drawn.chosen else theme.MUTE for t in drawn.needed}
    rows = [{"cases": n, "power": drawn.power, "colour": paints[t]} for t, n in drawn.needed.items()]
    dot = alt.MarkDef(type="point", shape="circle", filled=True, size=48, opacity=1)
    place = {"x": x("cases", scales[0]), "y": y("power", scales[1]), "color": colour()}
    canvas.add("needed", dot, rows, **place)
    at = {t: n / drawn.last * canvas.width for t, n in drawn.needed.items()}
    free = [t for t in at if t == drawn.chosen or all(abs(at[t] - at[o]) > 30 for o in at if o != t)]
    low = _PLOT * (1 - drawn.power) + 15
    told = [word(tables.count(drawn.needed[t]), (at[t] + 4, low), theme.INK) for t in free]
    canvas.words("needed-words", told)


def _simulated(canvas: Canvas, drawn: Curves, scales: tuple[alt.Scale, alt.Scale]) -> None:
    rows = [
        {"cases": r["cases"], "power": r["estimate"], "low": r["conf_low"], "high": r["conf_high"],
         "colour": theme.OFF}
        for r in drawn.simulated
        if r["cases"] <= drawn.last and not tables.is_missing(r["estimate"])
    ]  # fmt: skip
    bar = alt.MarkDef(type="rule", strokeWidth=2, strokeCap="round")
    channels = {"x": x("cases", scales[0]), "color": colour()}
    canvas.add("simulated-intervals", bar, rows, y=y("low", scales[1]), y2=alt.Y2("high"), **channels)
    dot = alt.MarkDef(type="point", shape="diamond", filled=True, size=52, opacity=1)
    canvas.add("simulated", dot, rows, y=y("power", scales[1]), **channels)
    beside = [
        word(
            "tried out",
            (row["cases"] / drawn.last * canvas.width + 8, _PLOT * (1 - row["low"]) + 6),
            theme.OFF,
        )
        for row in rows[-1:]
    ]
    canvas.words("simulated-word", beside)


def _names(canvas: Canvas, drawn: Curves) -> None:
    """Name each curve at its right end, none on another."""
    ends = sorted(((rows[-1]["power"], t) for t, rows in drawn.by_trials.items()), reverse=True)
    heights = apart([_PLOT * (1 - power) for power, _ in ends], 15)
    lower = max(-min(heights, default=0.0), 0.0)  # the highest name stays on the plot
    paints = [theme.ON if t == drawn.chosen else theme.SOFT for _, t in ends]
    told = [
        word(tables.some(t, "trial"), (canvas.width + 8, height + lower), paint)
        for (_, t), height, paint in zip(ends, heights, paints, strict=True)
    ]
    canvas.words("names", told)


def grid_of(last: int, points: int = 60) -> list[int]:
    """Return whole numbers of cases from 2 to ``last``, evenly spread, about so many of them."""
    step = max(1, ceil(last / points))
    return [*range(2, last, step), last] if last > 2 else [2]
