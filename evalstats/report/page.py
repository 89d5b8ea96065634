"""The page: a report.json and its drawings, as one file that asks nothing of anyone.

The page needs no network, and says the same without its one small script. Everything a notebook says is text and
is escaped as text; the only markup that enters is a drawing, and of that only the shapes that a drawing is made of.
The policy of the page names the digests of our script and our style sheet, so nothing else can run or style it.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from evalstats.errors import ReportError
from evalstats.report import tables, theme

if TYPE_CHECKING:
    import jinja2

    from evalstats.report.differences import Change, Difference
    from evalstats.stats import Estimate, Test

TEMPLATES = Path(__file__).parent / "templates"
LONG_TABLE = 60  # rows; a longer one is folded
_SVG = "http://www.w3.org/2000/svg"
_SHAPES = frozenset("svg g path rect line circle ellipse polyline polygon text tspan defs clipPath".split())
_ATTRIBUTES = frozenset(
    "d x y x1 x2 y1 y2 cx cy r rx ry points transform width height viewBox fill fill-opacity stroke stroke-width"
    " stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit opacity"
    " text-anchor font-size font-weight font-style display".split()
)

Fact = tuple[str, str | Sequence[str]]


def render(document: Mapping[str, Any], drawings: Mapping[str, str], origin: Sequence[Fact]) -> str:
    """Return the page of a report.

    Parameters
    ----------
    document : mapping
        A valid ``report.v1`` document.
    drawings : mapping of str to str
        Figure name -> SVG, and ``<name>-narrow`` -> SVG for a phone.
    origin : sequence of (label, text or list of texts)
        The provenance, as rows.
    """
    return _template("report.html.j2").render(report=document, drawings=drawings, origin=origin, **_COMMON)


def render_site(page: Mapping[str, Any], root: str) -> str:
    """Return a page of the dashboard.

    Parameters
    ----------
    page : mapping
        ``title, kicker, question, soft, mock, notes, finding, headline, sections, caveats``, as
        ``evalstats.site`` makes it; a figure carries its drawings ``wide`` and ``narrow``, a link its ``href``
        from the root of the dashboard and its ``text``.
    root : str
        The way from the page to the root.
    """
    return _template("site.html.j2").render(page=page, root=root, **_COMMON)


def render_failure(facts: Mapping[str, str], traceback: str, origin: Sequence[Fact]) -> str:
    """Return the page of a notebook that did not end well: what stopped it, and where."""
    return _template("failed.html.j2").render(facts=facts, traceback=traceback, origin=origin, **_COMMON)


def fragment(table: Mapping[str, Any]) -> str:
    """Return one table as HTML, for a cell of a notebook."""
    return _template("one_table.html.j2").render(t=table, long_table=LONG_TABLE)


def render_diff(difference: Difference) -> str:
    """Return the page of a difference between two reports."""
    shown = [
        _table_of(f"group-{n}", title, changes)
        for n, (title, changes) in enumerate(difference.groups().items(), 1)
    ]
    parts = [f"{t['heading'].lower()} {t['rows']}" for t in shown]
    finding = (
        f"{tables.some(len(difference.changes), 'change')}: {', '.join(parts)}." if parts else "Nothing."
    )
    told = {"before": difference.before, "after": difference.after, "finding": finding, "shown": shown}
    return _template("diff.html.j2").render(**told, **_COMMON)


def _table_of(name: str, heading: str, changes: Sequence[Change]) -> dict[str, Any]:
    columns = [{"name": n, "title": n.capitalize(), "numeric": False} for n in ("what", "before", "after")]
    cells = [[change.what, change.before, change.after] for change in changes]
    title = tables.some(len(cells), "change")
    told = {"name": name, "heading": heading, "title": title, "columns": columns}
    return {**told, "rows": len(cells), "cells": cells}


def estimate(result: Estimate) -> str:
    """Return an estimate as HTML, for a cell of a notebook."""
    row = result.as_row()
    signed = "difference" in str(row["estimand"])
    shown = tables.estimate(row, tables.signed if signed else tables.rate)
    told = {"percent": tables.percent, "some": tables.some}
    return _template("estimate.html.j2").render(row=row, shown=shown, **told)


def test(result: Test) -> str:
    """Return a test as HTML, for a cell of a notebook."""
    row = result.as_row()
    shown, statistic = (
        tables.missing() if tables.is_missing(row[name]) else write(row[name])
        for name, write in (("p_value", tables.p_value), ("statistic", tables.number))
    )
    return _template("test.html.j2").render(row=row, shown=shown, statistic=statistic)


def summary(document: Mapping[str, Any]) -> str:
    """Return the finding and the headline as HTML, for a cell of a notebook."""
    return _template("summary.html.j2").render(report=document)


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


def _style() -> Any:
    """Return the style sheet with the palette of :mod:`theme` in front. Ours alone, so it is markup."""
    from markupsafe import Markup

    def variables(palette: Mapping[str, str]) -> str:
        return "".join(f"--{name}:{colour};" for name, colour in palette.items())

    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(theme.DARK)}}}}}"
    return Markup(f":root{{{variables(theme.LIGHT)}}}\n{dark}\n") + Markup(
        (TEMPLATES / "style.css").read_text("utf-8")
    )


def _script() -> Any:
    """Return the script of the page. Ours alone, so it is markup."""
    from markupsafe import Markup

    return Markup((TEMPLATES / "report.js").read_text("utf-8"))


def hash_of(text: str) -> Any:
    """Return the source that a Content-Security-Policy allows by the digest of its text."""
    from markupsafe import Markup

    return Markup(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")


def drawing(svg: str, name: str, title: str, reading: str) -> Any:
    """Return an SVG as markup for the page: its shapes in the page's colours, with a title and a description."""
    from markupsafe import Markup

    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ReportError(f"a drawing is no SVG: {error}") from None
    clean = ElementTree.Element("svg", {"role": "img", "aria-labelledby": f"{name}-t {name}-d"})
    for tag, text in (("title", title), ("desc", reading)):
        ElementTree.SubElement(clean, tag, {"id": f"{name}-{tag[0]}"}).text = text
    clean.set("viewBox", root.get("viewBox", ""))
    for child in root:
        _copy(child, clean)
    return Markup(theme.themed(ElementTree.tostring(clean, encoding="unicode")))


def _copy(source: ElementTree.Element, parent: ElementTree.Element) -> None:
    tag = source.tag.removeprefix(f"{{{_SVG}}}")
    if tag not in _SHAPES:
        raise ReportError(f"a drawing holds <{tables.shortened(tag, 40)}>, which is no shape")
    if source.get("display") == "none" or (tag in ("path", "g") and not len(source) and not source.get("d")):
        return  # Vega leaves empty frames everywhere
    kept = {
        name: value
        for name, value in source.items()
        if name in _ATTRIBUTES and "(" not in value.partition("translate")[0]
    }
    copy = ElementTree.SubElement(parent, tag, kept)
    copy.text = source.text
    for child in source:
        _copy(child, copy)


_COMMON: dict[str, Any] = {
    "style": functools.cache(_style),
    "script": functools.cache(_script),
    "hash_of": hash_of,
    "drawing": drawing,
    "count": tables.count,
    "long_table": LONG_TABLE,
}
