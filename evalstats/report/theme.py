"""How a figure looks: one palette, one type, and a picture that is the same on every machine.

Specifications use the colours of :data:`LIGHT`. A figure's own file is therefore a plain light picture, and on
our page each of these colours is replaced by the CSS variable of its name, so that it follows the page into the
dark. No layout asks how wide a text is: sizes, margins and ticks are given, so the bytes do not depend on the
fonts of a machine.
"""

from __future__ import annotations

import re
from typing import Any

from evalstats.errors import ReportError
from evalstats.report import drawing

# One owner for the colours of page and figures. Blue and orange stay apart for every common kind of colour
# blindness; grey carries what is not the point. Each light colour must be unique: it names its variable.
LIGHT = {
    "ink": "#1b1f24",
    "soft": "#57606a",
    "line": "#d8dee4",
    "paper": "#ffffff",
    "panel": "#f6f8fa",
    "on": "#1f6feb",
    "off": "#bc4c00",
    "mute": "#8c959f",
    "amber": "#8a5d00",
    "amberbg": "#fff8c5",
}
DARK = {
    "ink": "#e6edf3",
    "soft": "#9aa4ae",
    "line": "#30363d",
    "paper": "#0d1117",
    "panel": "#161b22",
    "on": "#58a6ff",
    "off": "#f0883e",
    "mute": "#7d8590",
    "amber": "#e3b341",
    "amberbg": "#2e2410",
}
INK, SOFT, LINE, PAPER = LIGHT["ink"], LIGHT["soft"], LIGHT["line"], LIGHT["paper"]
ON, OFF, MUTE = LIGHT["on"], LIGHT["off"], LIGHT["mute"]

FONT = "Inter, system-ui, Liberation Sans, sans-serif"
FONT_SIZE = 12
WIDE, NARROW = 760, 360  # CSS pixels: a page's text column, and the width of a phone

_VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()}
_COLOUR = re.compile(r'(?<==")(?:' + "|".join(LIGHT.values()) + r')(?=")')


def config() -> dict[str, Any]:
    """Return the Vega-Lite configuration of every figure."""
    axis = {
        "domain": False,
        "ticks": False,
        "gridColor": LINE,
        "labelColor": SOFT,
        "labelFontSize": FONT_SIZE,
        "labelPadding": 8,
        "labelOverlap": False,
        "labelBound": False,
        "labelFlush": False,
        "labelLimit": 0,
        "title": None,
    }
    return {
        "aria": False,  # the page gives the figure one title and one reading instead of a name per mark
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": axis,
        "text": {"font": FONT, "fontSize": FONT_SIZE, "baseline": "middle", "fill": INK},
    }


def svg(spec: dict[str, Any], marks: dict[str, int]) -> str:
    """Return the drawing of a specification as SVG, after counting that every mark was drawn.

    ``marks`` is layer name -> number of rows. Vega drops what it cannot place without a word, so a different
    count is an error. Raises ReportError.
    """
    text = drawing.svg(spec)
    drawn = count_marks(text)
    for name, expected in marks.items():
        if drawn.get(name, 0) != expected:
            raise ReportError(f"figure layer {name!r} drew {drawn.get(name, 0)} of {expected} rows")
    return text


def count_marks(text: str) -> dict[str, int]:
    """Return layer name -> number of marks in an SVG made by Vega."""
    from xml.etree import ElementTree

    counts = {}
    for group in ElementTree.fromstring(text).iter():
        name = group.get("class", "").rpartition(" ")[2]
        if "role-mark" in group.get("class", "") and name.endswith("_marks"):
            counts[name.removesuffix("_marks")] = len(group)
    return counts


def themed(text: str) -> str:
    """Return an SVG whose colours are the CSS variables of the page, for inlining."""
    return _COLOUR.sub(lambda match: _VARIABLES[match.group()], text)


def painted(text: str) -> str:
    """Return a page whose drawings name light colours again, for readers that know no CSS variables there."""
    for colour, variable in _VARIABLES.items():
        text = text.replace(f'="{variable}"', f'="{colour}"')
    return text
