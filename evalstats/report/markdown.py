"""A report as Markdown, for the summary page of a CI job: the same words and tables, without the drawings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstats.report import tables

LONG_TABLE = 30  # rows; a job page takes 1 MiB, and its reader a glance
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$@!&])")
_LIST = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s)")


def as_markdown(document: Mapping[str, Any]) -> str:
    """Return a ``report.v1`` document as Markdown. Texts of the report stay text: no markup, links or mentions."""
    return "\n".join(_lines(document)).strip() + "\n"


def escaped(text: object) -> str:
    """Return ``text`` on one line, as Markdown that shows just that."""
    line = _MARKUP.sub(r"\\\1", " ".join(tables.visible(text).split())).replace("://", ":&#47;/")
    return _LIST.sub(lambda found: f"{found[1]}{found[2][:-1]}\\{found[2][-1]}", line)


def table(head: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; numbers stand to the right."""
    rule = ["--:" if right else "---" for right in numeric]
    return [_row(map(escaped, head)), _row(rule), *(_row(map(escaped, row)) for row in rows)]


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {escaped(document['question'])}"
    yield f"\n{_data(document['data'])}"
    if document["data"].get("contains_mock"):
        yield "\n> **Mock runs.** These numbers show that the machine works, not how good anything is."
    yield f"\n**{escaped(document['finding'])}**\n"
    if document["headline"]:
        cards = [(h["label"], h["value"], h.get("detail", "")) for h in document["headline"]]
        yield from table(("", "", ""), (False, True, False), cards)
    for section in document["sections"]:
        yield from _section(section)
    yield from _method(document)


def _data(data: Mapping[str, Any]) -> str:
    parts = [tables.some(data["n_runs"], "run")]
    parts += [tables.some(data["n_cases"], "case")] if data["n_cases"] else []
    if data.get("n_trials"):
        parts += [tables.some(data["n_trials"], "trial"), f"{tables.count(data['usable'])} usable"]
    lost = [f"{escaped(why)} {tables.count(n)}" for why, n in sorted(data["excluded"].items()) if n]
    return ", ".join(parts) + (f" ({', '.join(lost)})" if lost else "") + "."


def _section(section: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n### {escaped(section['title'])}"
    for paragraph in section["text"]:
        yield f"\n{escaped(paragraph)}"
    for figure in section["figures"]:
        yield f"\n*{escaped(figure['title'])}.* {escaped(figure['reading'])}"
    for shown in section["tables"]:
        yield f"\n**{escaped(shown['title'])}**\n"
        columns, rows = shown["columns"], shown["cells"]
        yield from table([c["title"] for c in columns], [c["numeric"] for c in columns], rows[:LONG_TABLE])
        if len(rows) > LONG_TABLE:
            yield f"\n{len(rows) - LONG_TABLE} more rows in tables/{escaped(shown['name'])}.csv."


def _method(document: Mapping[str, Any]) -> Iterator[str]:
    yield "\n### Method and caveats\n"
    for method in document["methods"]:
        yield f"- **{escaped(method['title'])}**: {escaped(method['text'])}"
    for caveat in document["caveats"]:
        yield f"- Caveat: {escaped(caveat)}"
