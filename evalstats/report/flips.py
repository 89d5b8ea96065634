"""Which cases changed sides? Verdicts of two sides against each other, and the shares gained and lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import CHARACTER, Canvas, Drawing, Figure, colour, line, word, x, y

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.stats.results import Estimate

_CELL, _LEVEL, _LISTED = 84.0, 0.80, 4  # pixels of a cell, level of the intervals, cases named a side
GAINED, LOST = "gained", "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """The cases that changed one way, and the share of all cases that they are."""

    what: str
    paint: str
    cases: tuple[str, ...]
    share: Estimate

    @property
    def value(self) -> str:
        """Return the count with the share and its interval."""
        told = tables.estimate(self.share.as_row())
        return f"{self.what} {len(self.cases)} of {self.share.n_cases}: {told}"

    @property
    def names(self) -> str:
        """Return the first of the cases by name."""
        more = len(self.cases) - _LISTED
        listed = ", ".join(tables.shortened(case, 24) for case in self.cases[:_LISTED])
        return f"{listed} and {more} more" if more > 0 else listed


def flip_matrix(
    cases: pd.DataFrame,
    *,
    sides: tuple[str, str],
    level: float = _LEVEL,
    name: str = "flips",
    title: str = "Cases by their verdict on both sides",
) -> Figure:
    """Which cases passed on one side only? A table of four, and the shares gained and lost with intervals.

    Parameters
    ----------
    cases : pandas.DataFrame
        One row per case that both sides have: ``case_id``, ``old_passes`` and ``new_passes``, whether more than
        half of its usable trials passed.
    sides : tuple of two str
        Names of the old side and of the new one.
    level : float
        Level of the intervals of the shares (Wilson).
    name, title : str
        File name and title of the figure.
    """
    rows = tables.rows(cases)
    counts = {
        (old, new): sum((bool(r["old_passes"]), bool(r["new_passes"])) == (old, new) for r in rows)
        for old in (True, False)
        for new in (True, False)
    }
    flips = [_flip(rows, what, level) for what in (GAINED, LOST)] if rows else []
    reading = _reading(flips, counts, sides, level)
    return Figure(name, title, reading, lambda width: _draw(counts, flips, sides, width))


def _flip(rows: Sequence[Mapping[str, Any]], what: str, level: float) -> Flip:
    from evalstats import stats

    gained = what == GAINED
    cases = sorted(
        tables.visible(row["case_id"])
        for row in rows
        if bool(row["new_passes"]) == gained and bool(row["old_passes"]) != gained
    )
    share = stats.wilson(len(cases), len(rows), level=level)
    return Flip(what=what, paint=theme.ON if gained else theme.OFF, cases=tuple(cases), share=share)


def _reading(
    flips: Sequence[Flip], counts: Mapping[tuple[bool, bool], int], sides: tuple[str, str], level: float
) -> str:
    if not flips:
        return tables.NOTHING
    old, new = sides
    kept = f"{counts[True, True]} pass on both sides and {counts[False, False]} on neither"
    told = [f"{new} {flip.value}" for flip in flips]
    return (
        f"From {old} to {new}, {kept}; {told[0]}; {told[1]} ({tables.percent(level)} intervals of the share)."
    )


# --- drawing -------------------------------------------------------------------------------------


def _draw(
    counts: Mapping[tuple[bool, bool], int], flips: Sequence[Flip], sides: tuple[str, str], width: int
) -> Drawing:
    narrow = width < 500
    matrix = 2 * _CELL
    left, top = 84.0, 46.0
    height = matrix + (30 + 74 * len(flips) if narrow else 0)
    canvas = Canvas(width - left - 8, height, left=left, right=8, top=top, bottom=28)
    if not flips:
        return canvas.drawing()
    _cells(canvas, counts)
    _sides(canvas, sides, 12 if narrow else 26)
    start = (-left + 8, matrix + 34) if narrow else (matrix + 60, 18)
    _shares(canvas, flips, start, canvas.width - start[0] - 12)
    return canvas.drawing()


def _cells(canvas: Canvas, counts: Mapping[tuple[bool, bool], int]) -> None:
    for number, ((old, new), count) in enumerate(counts.items()):
        left, top = (0 if new else _CELL), (0 if old else _CELL)
        paint = theme.MUTE if old == new else theme.ON if new else theme.OFF
        square = {"x": left + 1, "x2": left + _CELL - 1, "y": top + 1, "y2": top + _CELL - 1, "colour": paint}
        mark = alt.MarkDef(type="rect", opacity=0.16 if old == new else 0.26, cornerRadius=4)
        sides = {"x2": alt.X2("x2"), "y2": alt.Y2("y2"), "color": colour()}
        canvas.add(f"cell-{number}", mark, [square], x=x("x", None), y=y("y", None), **sides)
        middle = (left + _CELL / 2, top + _CELL / 2)
        canvas.words(f"count-{number}", [word(tables.count(count), middle)], align="center", bold=True)


def _sides(canvas: Canvas, sides: tuple[str, str], longest: int) -> None:
    """Write which side stands in the rows and which in the columns, and what each row and column is."""
    old, new = (tables.shortened(side, longest) for side in sides)
    canvas.words("new", [word(new, (_CELL, -34))], align="center", bold=True)
    canvas.words("old", [word(tables.shortened(old, 11), (-14, _CELL))], align="right", bold=True)
    columns = [word(text, (_CELL * (i + 0.5), -12), theme.SOFT) for i, text in enumerate(("passes", "fails"))]
    canvas.words("columns", columns, align="center")
    rows = [word(text, (-14, _CELL * (i + 0.5)), theme.SOFT) for i, text in enumerate(("passes", "fails"))]
    canvas.words("rows", rows, align="right")


def _shares(canvas: Canvas, flips: Sequence[Flip], start: tuple[float, float], width: float) -> None:
    """Draw the share of cases that changed each way, with its interval, on one scale from 0 to 1."""
    at, top = start
    pitch = 74
    ends = [(flip, top + index * pitch) for index, flip in enumerate(flips)]
    canvas.words("values", [word(f.value, (at, h - 16), f.paint) for f, h in ends], bold=True)
    canvas.lines("axes", [line((at, h + 2), (at + width, h + 2)) for _, h in ends])
    points = [
        {"share": at + f.share.estimate * width, "low": at + f.share.conf_low * width,
         "high": at + f.share.conf_high * width, "y": h + 2, "colour": f.paint}
        for f, h in ends
    ]  # fmt: skip
    bar = alt.MarkDef(type="rule", strokeWidth=3, strokeCap="round")
    channels = {"y": y("y", None), "color": colour()}
    canvas.add("intervals", bar, points, x=x("low", None), x2=alt.X2("high"), **channels)
    point = alt.MarkDef(type="point", shape="circle", filled=True, size=60, opacity=1)
    canvas.add("points", point, points, x=x("share", None), **channels)
    longest = int((width + 8) / CHARACTER)
    names = [word(tables.shortened(f.names, longest), (at, h + 22), theme.SOFT) for f, h in ends if f.cases]
    canvas.words("names", names)
    low = ends[-1][1] + 42
    canvas.words("none", [word("no case", (at, low), theme.SOFT)])
    canvas.words("all", [word("every case", (at + width, low), theme.SOFT)], align="right")
