"""What a page of the dashboard is made of: sections, tables with links in their cells, and facts.

A link is a mapping with ``text`` and ``href``, the way from the root of the dashboard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

from evalstats.report import tables
from evalstats.site.published import Published

SUITES, REPORTS = "suites", "reports"
Link: TypeAlias = dict[str, str]
Cell: TypeAlias = str | Link
Page: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: paragraphs, and what is shown below them. What is None among figures and tables is left out.

    ``facts`` stand in two columns; ``sources`` are the reports that all of it was taken from.
    """

    id: str
    title: str
    text: Sequence[str] = ()
    figures: Sequence[Mapping[str, Any] | None] = ()
    tables: Sequence[Mapping[str, Any] | None] = ()
    facts: Sequence[tuple[str, str]] = ()
    sources: Sequence[Published] = ()

    @property
    def links(self) -> list[Link]:
        """Return the ways to the sources."""
        return [to_report(found.address) for found in self.sources]


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> dict[str, Any]:
    """Return a table. A column whose title begins with ``#`` holds numbers."""
    named = [
        {"name": column, "title": column.removeprefix("#"), "numeric": column.startswith("#")}
        for column in columns
    ]
    cells = [[_visible(cell) for cell in row] for row in rows]
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return {"name": name, "title": title, "columns": named, "rows": len(rows), "cells": cells}


def _visible(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return tables.visible(cell)
    return {**cell, "text": tables.visible(cell["text"])}


def to_suite(suite: str) -> Link:
    """Return the way to the page of a suite."""
    return {"text": suite, "href": f"{SUITES}/{quote(suite)}.html"}


def to_report(address: str, text: str = "") -> Link:
    """Return the way to the copy of a report version."""
    notebook, subject, version = address.split("/")
    named = text or f"{notebook} of {subject}, version {number(version)}"
    return {"text": named, "href": f"{REPORTS}/{quote(address)}/report.html"}


def number(version: str) -> str:
    """Return the number of a version, for example 0004."""
    return version.partition("-")[0]


def verdict(decision: Mapping[str, Any]) -> str:
    """Return the verdict of a decision in words."""
    return str(decision["verdict"]).replace("_", " ")


def day(decision: Mapping[str, Any]) -> str:
    """Return the date of a decision."""
    return str(decision["decided_at"])[:10]
