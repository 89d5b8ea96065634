"""How many of each kind: one bar a kind, its count beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import CHARACTER, Canvas, Drawing, Figure, colour, word, x, y

_ROW, _COUNT = 26, 48  # pixels of a row and for the figures on the right


def count_bars(
    counts: Mapping[str, int], *, apart: Collection[str] = (), name: str, title: str, reading: str
) -> Figure:
    """How many of each kind are there? One bar a kind, in the order given, with none left out.

    Parameters
    ----------
    counts : mapping of str to int
        Kind -> how many.
    apart : collection of str
        Kinds that are not the point; their bars are grey.
    name, title, reading : str
        File name and title of the figure, and the sentence that reads it.
    """
    rows = [
        (tables.visible(kind), count, theme.MUTE if kind in apart else theme.OFF)
        for kind, count in counts.items()
    ]
    return Figure(name, title, reading, lambda width: _draw(rows, width))


def _draw(rows: list[tuple[str, int, str]], width: int) -> Drawing:
    left = max((len(kind) for kind, _, _ in rows), default=0) * CHARACTER + 16
    canvas = Canvas(width - left - _COUNT, _ROW * len(rows), left=left, right=_COUNT)
    most = max((count for _, count, _ in rows), default=0) or 1
    middles = [_ROW * (i + 0.5) for i in range(len(rows))]
    bars = [
        {"from": 0, "to": count, "y": at, "colour": paint}
        for (_, count, paint), at in zip(rows, middles, strict=True)
        if count
    ]
    bar = alt.MarkDef(type="rule", strokeWidth=14)
    scale = canvas.across(0, most)
    canvas.add("bars", bar, bars, x=x("from", scale), x2=alt.X2("to"), y=y("y", None), color=colour())
    kinds = [word(kind, (-12, at)) for (kind, _, _), at in zip(rows, middles, strict=True)]
    canvas.words("kinds", kinds, align="right")
    ends = [
        word(tables.count(count), (count / most * canvas.width + 10, at), theme.INK if count else theme.SOFT)
        for (_, count, _), at in zip(rows, middles, strict=True)
    ]
    canvas.words("counts", ends)
    return canvas.drawing()
