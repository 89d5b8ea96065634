"""What a control chart shows, as numbers and in words: series with their limits, and the axis they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evalstats.report import tables
from evalstats.report.history import Panel

WRITTEN = 3  # changes whose words stand above the panels, the newest ones; the others are lines alone

Point = tuple[int, float]  # which night, from 1, and its value
Limits = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One series as charted.

    Parameters
    ----------
    watched : str
        What it is: an arm, or difference.
    points : tuple of (night, value)
        Every night that has a value.
    centre, limits : float, (low, high), optional
        Of the history; the limits are of a single night. None where there are none.
    begins : int
        The first night of the history: where the identity last changed.
    charted : int
        The first night that is held against the limits; one behind the last when there is none.
    average, average_limits : tuple of (night, value), (low, high), optional
        The moving average of the charted nights.
    changes : tuple of (night, before, after)
        Dated changes of the level.
    signed : bool
        Whether the values are differences.
    note : str
        What keeps the chart from claiming anything, or from claiming much.
    """

    watched: str
    points: tuple[Point, ...]
    centre: float | None
    limits: Limits | None
    begins: int
    charted: int
    average: tuple[Point, ...] = ()
    average_limits: Limits | None = None
    changes: tuple[tuple[int, float, float], ...] = ()
    signed: bool = False
    note: str = ""

    @property
    def paint(self) -> str:
        """Return the colour of the series."""
        return Panel(self.watched, "", (), (), None).paint

    @property
    def outside(self) -> list[Point]:
        """Return the charted nights beyond the limits of a single night."""
        if self.limits is None:
            return []
        low, high = self.limits
        return [(at, v) for at, v in self.points if at >= self.charted and not low <= v <= high]

    @property
    def drifted(self) -> list[Point]:
        """Return the nights on which the moving average is beyond its limits."""
        if self.average_limits is None:
            return []
        low, high = self.average_limits
        return [(at, v) for at, v in self.average if not low <= v <= high]

    @property
    def write(self) -> Callable[[float], str]:
        """Return how a value is written."""
        return tables.signed if self.signed else tables.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The axis that all series share.

    ``labels`` name the nights; ``changes`` are (night, who changed what); ``lost`` the nights without a usable run.
    """

    labels: tuple[str, ...]
    changes: tuple[tuple[int, str], ...] = ()
    lost: tuple[tuple[int, str], ...] = ()
    unit: str = "night"


def reading(track: Track, timeline: Timeline) -> str:
    """Say of a series what its limits are, and how often it was outside."""
    n = tables.some(len(track.points), timeline.unit)
    if track.centre is None or track.limits is None:
        return f"{track.watched}: {n}, no limits ({track.note or 'nothing to chart'})."
    limits = tables.interval(*track.limits, track.write)
    said = f"{track.watched}: {n}, centre {track.write(track.centre)}, limits {limits}"
    new = sum(at >= track.charted for at, _ in track.points)
    if not new:
        return f"{said}; none is charted yet{f' ({track.note})' if track.note else ''}."
    out = len(track.outside)
    of = f"{out} of {tables.some(new, f'charted {timeline.unit}')}"
    return f"{said}; {of} outside{_averaged(track, timeline.unit)}."


def _averaged(track: Track, unit: str) -> str:
    if not track.average or track.average_limits is None:
        return ""
    limits = tables.interval(*track.average_limits, track.write)
    out = len(track.drifted)
    often = f"outside {limits} on {tables.some(out, unit)}" if out else f"never outside {limits}"
    return f", the moving average, now {track.write(track.average[-1][1])}, {often}"


def happened(timeline: Timeline) -> Iterator[str]:
    """Say who changed what, and which nights are not charted."""

    def at(entries: Sequence[tuple[int, str]]) -> str:
        return "; ".join(f"{timeline.labels[place - 1]} {text}" for place, text in entries[-WRITTEN:])

    if timeline.changes:
        yield f"Changed: {at(timeline.changes)}."
    if timeline.lost:
        yield f"Not charted: {at(timeline.lost)}."
