"""Nights in order, charted: what is normal, what left it, and who changed what on the same axis.

One panel for each series. The band is Shewhart's: a single night outside it is far off. The line is the moving
average (EWMA), with its own dotted limits: it sees a small shift that stays. What happened to the suite, and nights
that were lost to the infrastructure, stand above and below the panels, apart from quality.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import CHARACTER, Canvas, Drawing, Figure, colour, line, word, x, y
from evalstats.report.history import (
    GAP,
    HEAD,
    PANEL,
    Panel,
    panel_frame,
    run_ticks,
    side_words,
)
from evalstats.report.tracks import WRITTEN, Limits, Timeline, Track, happened, reading

_SIDE, _LEFT, _FOOT, _STRIP = 104.0, 36.0, 26.0, 18.0
AMBER = theme.LIGHT["amber"]


def control_chart(
    timeline: Timeline,
    tracks: Sequence[Track],
    *,
    name: str = "nights",
    title: str = "Every night, with the limits of an unchanged suite",
) -> Figure:
    """Has a night, or the level, left what is normal, and what happened then?

    Parameters
    ----------
    timeline : Timeline
        The nights, and what happened in them.
    tracks : sequence of Track
        What is charted, one panel each.
    name, title : str
        File name and title of the figure.
    """
    said = " ".join([*(reading(track, timeline) for track in tracks), *happened(timeline)])
    return Figure(name, title, said or tables.NOTHING, lambda width: _draw(timeline, tracks, width))


def _draw(timeline: Timeline, tracks: Sequence[Track], width: int) -> Drawing:
    last = max(len(timeline.labels), 1)
    written = timeline.changes[-WRITTEN:]
    head = len(written) * _STRIP
    foot = _STRIP if timeline.lost else 0.0
    body = max(len(tracks) * (HEAD + PANEL + GAP) - GAP, GAP)
    canvas = Canvas(width - _LEFT - _SIDE, head + body + foot, left=_LEFT, right=_SIDE, top=0, bottom=_FOOT)
    across = canvas.across(0.5, last + 0.5)
    tops = [head + index * (HEAD + PANEL + GAP) + HEAD for index in range(len(tracks))]
    _changes(canvas, timeline, last, tops)
    span = max((high - low for low, high in map(_reach, tracks)), default=0.0) * 1.16 or 0.1
    for track, top in zip(tracks, tops, strict=True):
        _panel(canvas, track, (across, span, top), last)
    _lost(canvas, timeline, across, canvas.height - _STRIP / 2)
    run_ticks(canvas, timeline.labels, last)
    return canvas.drawing()


def _reach(track: Track) -> Limits:
    values = [value for _, value in (*track.points, *track.average)]
    values += [*(track.limits or ()), *(track.average_limits or ())]
    return min(values, default=0.0), max(values, default=0.0)


def _at(canvas: Canvas, night: float, last: int) -> float:
    """Return the pixel of a night."""
    return (night - 0.5) / last * canvas.width


def _panel(canvas: Canvas, track: Track, place: tuple[alt.Scale, float, float], last: int) -> None:
    across, span, top = place
    middle = sum(_reach(track)) / 2  # every series in the same span, around its own middle
    low, high = middle - span / 2, middle + span / 2
    panel_frame(canvas, Panel(track.watched, _panel_head(track), (), (), None), (low, high), top)
    vertical = canvas.upwards(low, high, top, top + PANEL)
    _band(canvas, track, vertical, last)
    _average(canvas, track, (across, vertical), last)
    _nights(canvas, track, (across, vertical))
    _steps(canvas, track, top, last)
    side_words(canvas, track.watched, _beside(track), lambda v: top + PANEL * (high - v) / span)


def _panel_head(track: Track) -> str:
    history = sum(track.begins <= at < track.charted for at, _ in track.points)
    return track.note or f"history of {history}"


def _beside(track: Track) -> list[tuple[float, str, str]]:
    said = []
    if track.limits is not None:
        said += [(track.limits[0], "lower"), (track.limits[1], "upper")]
    if track.centre is not None:
        said.append((track.centre, "centre"))
    texts = [(value, f"{what} {track.write(value)}", theme.SOFT) for value, what in said]
    if track.average:
        value = track.average[-1][1]
        texts.append((value, f"EWMA {track.write(value)}", track.paint))
    if track.points:
        at, value = track.points[-1]
        paint = theme.OFF if (at, value) in track.outside else theme.INK
        texts.append((value, f"latest {track.write(value)}", paint))
    return texts


def _band(canvas: Canvas, track: Track, vertical: alt.Scale, last: int) -> None:
    """Draw the limits of a single night and the centre, from where the identity last changed."""
    if track.centre is None:
        return
    start = canvas.width * (track.begins - 1) / last
    low, high = track.limits or (track.centre, track.centre)
    row = {"low": low, "centre": track.centre, "high": high, "from": start, "to": canvas.width}
    rows = [row | {"colour": track.paint}]
    sides = {"x": x("from", None), "x2": alt.X2("to"), "color": colour()}
    if track.limits is not None:
        fill = alt.MarkDef(type="rect", opacity=0.12)
        canvas.add(f"{track.watched}-band", fill, rows, y=y("low", vertical), y2=alt.Y2("high"), **sides)
    dashed = alt.MarkDef(type="rule", strokeDash=[3, 3])
    canvas.add(f"{track.watched}-centre", dashed, rows, y=y("centre", vertical), **sides)


def _average(canvas: Canvas, track: Track, scales: tuple[alt.Scale, alt.Scale], last: int) -> None:
    across, vertical = scales
    if not track.average:
        return
    joined = [
        {"night": a, "value": v, "night2": b, "value2": w, "colour": track.paint}
        for (a, v), (b, w) in itertools.pairwise(track.average)
    ]
    step = alt.MarkDef(type="rule", strokeWidth=2.5, strokeCap="round", opacity=0.9)
    ends = {"x": x("night", across), "x2": alt.X2("night2"), "color": colour()}
    canvas.add(f"{track.watched}-average", step, joined, y=y("value", vertical), y2=alt.Y2("value2"), **ends)
    beyond = [{"night": at, "value": v, "colour": theme.OFF} for at, v in track.drifted]
    dot = alt.MarkDef(type="point", shape="diamond", filled=True, size=60, opacity=1)
    place = {"x": x("night", across), "y": y("value", vertical), "color": colour()}
    canvas.add(f"{track.watched}-drifted", dot, beyond, **place)
    start = canvas.width * (track.average[0][0] - 1) / last
    limits = [
        {"value": value, "from": start, "to": canvas.width, "colour": track.paint}
        for value in track.average_limits or ()
    ]
    dotted = alt.MarkDef(type="rule", strokeDash=[1, 3])
    sides = {"x": x("from", None), "x2": alt.X2("to"), "color": colour()}
    canvas.add(f"{track.watched}-average-limits", dotted, limits, y=y("value", vertical), **sides)


def _nights(canvas: Canvas, track: Track, scales: tuple[alt.Scale, alt.Scale]) -> None:
    """Draw every night: in grey those of the history and of other identities, large the latest."""
    across, vertical = scales
    outside = set(track.outside)
    points = [
        {
            "night": at,
            "value": value,
            "colour": theme.OFF
            if (at, value) in outside
            else (track.paint if at >= track.charted else theme.MUTE),
        }
        for at, value in track.points
    ]
    place = {"x": x("night", across), "y": y("value", vertical), "color": colour()}
    dot = alt.MarkDef(type="point", shape="circle", filled=True, size=30, opacity=1)
    canvas.add(f"{track.watched}-nights", dot, points, **place)
    latest = alt.MarkDef(type="point", shape="circle", filled=True, size=95, opacity=1)
    canvas.add(f"{track.watched}-latest", latest, points[-1:], **place)


def _steps(canvas: Canvas, track: Track, top: float, last: int) -> None:
    """Mark where the level changed, with the levels before and after; the newest one in words."""
    places = [_at(canvas, night - 0.5, last) for night, _, _ in track.changes]
    rows = [line((at, top), (at, top + PANEL), theme.OFF) for at in places]
    canvas.lines(f"{track.watched}-steps", rows, width=1.5)
    if track.changes:
        _, before, after = track.changes[-1]
        text = f"level {track.write(before)} → {track.write(after)}"
        to_left = places[-1] > canvas.width / 2
        at = (places[-1] - 6 if to_left else places[-1] + 6, top + 7)
        align: Any = "right" if to_left else "left"
        canvas.words(f"{track.watched}-step", [word(text, at, theme.OFF)], align=align)


def _changes(canvas: Canvas, timeline: Timeline, last: int, tops: Sequence[float]) -> None:
    """Draw who changed what: a line through each panel, none through its head; the newest ones in words above."""
    written = timeline.changes[-WRITTEN:]
    places = [_at(canvas, night - 0.5, last) for night, _ in timeline.changes]
    rows = [line((at, top), (at, top + PANEL), theme.SOFT) for at in places for top in tops]
    ticks = [
        line((at, level * _STRIP + 2), (at, (level + 1) * _STRIP - 2), theme.SOFT)
        for level, at in enumerate(places[-WRITTEN:])
    ]
    canvas.lines("changes", [*rows, *ticks], dash=(4, 3))
    for level, (night, text) in enumerate(written):
        at, height = _at(canvas, night - 0.5, last), (level + 0.5) * _STRIP
        to_left = at > canvas.width / 2
        room = at + canvas.left if to_left else canvas.width + canvas.right - at
        shown = tables.shortened(text, max(int((room - 8) / CHARACTER), 2))
        align: Any = "right" if to_left else "left"
        row = word(shown, (at - 5 if to_left else at + 5, height), theme.SOFT)
        canvas.words(f"change-{level}", [row], align=align)


def _lost(canvas: Canvas, timeline: Timeline, across: alt.Scale, height: float) -> None:
    rows = [{"night": night, "height": height, "colour": AMBER} for night, _ in timeline.lost]
    mark = alt.MarkDef(type="point", shape="triangle-up", filled=True, size=60, opacity=1)
    place = {"x": x("night", across), "y": y("height", None), "color": colour()}
    canvas.add("lost", mark, rows, **place)
    canvas.words("lost-label", [word("lost", (-8, height), AMBER)] if rows else [], align="right")
