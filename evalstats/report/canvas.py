"""What a figure is: a name, a reading in words, and a drawing for a page and for a phone.

A drawing is a stack of layers on a canvas of fixed size. Marks stand on real scales in the units of the data;
words stand at pixels, so nothing moves with the fonts of a machine.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import altair as alt

from evalstats.report import theme

Row: TypeAlias = Mapping[str, Any]
Align: TypeAlias = Literal["left", "center", "right"]
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_]")
CHARACTER = 7.3  # pixels a character is given; what a text really takes is not asked (see theme)
PIXELS = None  # the scale of things that are placed, not measured


@dataclass(frozen=True)
class Drawing:
    """An Altair chart, and how many marks each of its layers must draw."""

    chart: alt.LayerChart
    marks: dict[str, int]

    def spec(self) -> dict[str, Any]:
        """Return the Vega-Lite specification, data inside."""
        return self._spec

    @functools.cached_property
    def _spec(self) -> dict[str, Any]:
        # Altair would hold every chart of ours against its schema, which takes longer than drawing it. The tests
        # do that once; here what counts is that every row was drawn, and `svg` counts.
        spec: dict[str, Any] = self.chart.to_dict(validate=False)
        return spec | {"config": theme.config()}

    @functools.cached_property
    def svg(self) -> str:
        """Return the drawing as SVG. Raises ReportError when a row was not drawn."""
        return theme.svg(self.spec(), self.marks)


@dataclass(frozen=True)
class Figure:
    """One picture of a report. ``reading`` says in one sentence what it shows; ``draw`` draws it to a width."""

    name: str
    title: str
    reading: str
    draw: Callable[[int], Drawing]

    @functools.cached_property
    def wide(self) -> Drawing:
        """Return the drawing for a page."""
        return self.draw(theme.WIDE)

    @functools.cached_property
    def narrow(self) -> Drawing:
        """Return the drawing for a phone."""
        return self.draw(theme.NARROW)

    @property
    def chart(self) -> alt.LayerChart:
        """Return the Altair chart, to look into or to change."""
        return self.wide.chart

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {
            "application/vnd.vegalite.v5+json": self.wide.spec(),
            "image/svg+xml": self.wide.svg,
            "text/plain": f"{self.title}. {self.reading}",
        }


@dataclass
class Canvas:
    """A drawing in the making: a plot of ``width`` x ``height`` pixels with margins around it."""

    width: float
    height: float
    left: float = 0
    right: float = 0
    top: float = 8
    bottom: float = 8
    layers: list[alt.Chart] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, mark: alt.MarkDef, rows: Sequence[Row], **channels: Any) -> None:
        """Add one mark per row. The name must be new on this canvas; no rows, no layer."""
        if not rows:
            return
        name = "m_" + _NOT_A_NAME.sub("_", name)  # Vega would rename it, and the marks could not be counted
        if name in self.marks:
            raise ValueError(f"layer {name!r} stands twice")
        self.marks[name] = len(rows)
        data = alt.InlineData(values=[dict(row) for row in rows])
        self.layers.append(alt.Chart(data, mark=mark, name=name).encode(**channels))

    def drawing(self) -> Drawing:
        """Return the finished drawing."""
        chart = alt.LayerChart(  # all at once: each of Altair's methods would copy every row again
            layer=self.layers,
            resolve=alt.Resolve(scale=alt.ScaleResolveMap(x="independent", y="independent")),
            width=self.width,
            height=self.height,
            autosize=alt.AutoSizeParams(type="none"),
            padding={"left": self.left, "right": self.right, "top": self.top, "bottom": self.bottom},
        )
        return Drawing(chart, self.marks)

    def across(self, low: float, high: float) -> alt.Scale:
        """Return the scale that lays ``low`` to ``high`` from left to right."""
        return alt.Scale(domain=[low, high], range=[0, self.width], nice=False, zero=False)

    def upwards(self, low: float, high: float, top: float, bottom: float) -> alt.Scale:
        """Return the scale that lays ``low`` to ``high`` from pixel ``bottom`` up to pixel ``top``."""
        return alt.Scale(domain=[low, high], range=[bottom, top], nice=False, zero=False)

    def words(self, name: str, rows: Sequence[Row], *, align: Align = "left", bold: bool = False) -> None:
        """Write each row's ``text`` at its pixels ``x``, ``y``, in its ``colour``."""
        mark = alt.MarkDef(type="text", align=align, fontWeight=600 if bold else "normal", clip=False)
        shown = {"text": alt.Text("text", type="nominal"), "color": colour()}
        self.add(name, mark, rows, x=x("x", PIXELS), y=y("y", PIXELS), **shown)

    def lines(self, name: str, rows: Sequence[Row], *, dash: Sequence[int] = (), width: float = 1) -> None:
        """Draw thin straight lines between pixels ``x``, ``y`` and ``x2``, ``y2``, each in its ``colour``."""
        mark = alt.MarkDef(type="rule", strokeWidth=width, strokeDash=list(dash), clip=False)
        ends = {"x2": alt.X2("x2"), "y2": alt.Y2("y2")}
        self.add(name, mark, rows, x=x("x", PIXELS), y=y("y", PIXELS), color=colour(), **ends)


def x(field_name: str, scale: alt.Scale | None) -> alt.X:
    """Return a horizontal channel without an axis."""
    return alt.X(field_name, type="quantitative", scale=scale, axis=None)


def y(field_name: str, scale: alt.Scale | None) -> alt.Y:
    """Return a vertical channel without an axis."""
    return alt.Y(field_name, type="quantitative", scale=scale, axis=None)


def colour() -> alt.Color:
    """Return the channel that paints each row in the colour it names."""
    return alt.Color("colour", type="nominal", scale=None, legend=None)


def word(text: str, at: tuple[float, float], paint: str = theme.INK) -> dict[str, Any]:
    """Return one row for :meth:`Canvas.words`."""
    return {"x": at[0], "y": at[1], "text": text, "colour": paint}


def line(start: tuple[float, float], end: tuple[float, float], paint: str = theme.LINE) -> dict[str, Any]:
    """Return one row for :meth:`Canvas.lines`."""
    return {"x": start[0], "y": start[1], "x2": end[0], "y2": end[1], "colour": paint}


def register_renderer() -> None:
    """Make Altair show charts so that JupyterLab draws them live and papermill can store them, offline."""
    alt.renderers.register("evalstats", _render)
    alt.renderers.enable("evalstats")


def _render(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    # Altair's own types carry no "+json", which nbformat refuses, and a version JupyterLab cannot draw.
    return {
        "application/vnd.vegalite.v5+json": spec,
        "image/svg+xml": theme.svg(spec, {}),
        "text/plain": "<chart>",
    }
