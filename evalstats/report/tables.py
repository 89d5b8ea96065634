"""How a number is written, and tables made of such numbers. The only place where anything is rounded."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MINUS = "\N{MINUS SIGN}"
NOT_AVAILABLE = "n/a"
NOTHING = "There is nothing to draw."
_FORMULA = re.compile(r"\s*[=+\-@\t\r＝＋－＠]")

# --- text ----------------------------------------------------------------------------------------


def visible(text: object) -> str:
    """Return ``text`` with controls, direction marks and lone surrogates shown as escapes, so none can act."""
    return "".join(_shown(character) for character in str(text))


def _shown(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    return (
        character.encode("ascii", "backslashreplace").decode()
        if ord(character) > 127
        else repr(character)[1:-1]
    )


def shortened(text: object, length: int) -> str:
    """Return ``text`` on one line, cut to ``length`` characters with an ellipsis."""
    line = " ".join(visible(text).split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


# --- numbers -------------------------------------------------------------------------------------


def is_missing(value: object) -> bool:
    """Return whether ``value`` is None, NaN, NA or NaT."""
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def missing(reason: str = "") -> str:
    """Return what stands for an unknown number: ``n/a``, with its reason."""
    return f"{NOT_AVAILABLE} — {visible(reason)}" if reason else NOT_AVAILABLE


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits: 0.0213, 17.4, 1,234."""
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return _fixed(value, max(decimals, 0))


def rate(value: float) -> str:
    """Return a rate or score: 0.54."""
    return _fixed(value, 2)


def percent(value: float) -> str:
    """Return a share as a percentage: 54%."""
    return _fixed(100 * value, 0) + "%"


def signed(value: float) -> str:
    """Return a difference with its sign: +0.11, −0.05, and 0.00 without one."""
    return _fixed(value, 2, plus="+")


def points(value: float) -> str:
    """Return a difference of rates in percentage points: +8.2pp."""
    return _fixed(100 * value, 1, plus="+") + "pp"


def count(value: float) -> str:
    """Return a whole number with thousands apart: 3,600."""
    return _fixed(value, 0)


def some(number: int, what: str) -> str:
    """Return a number of things: 1 run, 1,200 runs."""
    return f"{count(number)} {what}{'' if number == 1 else 's'}"


def _fixed(value: float, decimals: int, plus: str = "") -> str:
    digits = f"{abs(value):,.{decimals}f}"
    if not digits.strip("0."):  # it rounds to nothing, and nothing has no sign
        return digits
    return (MINUS if value < 0 else plus) + digits


def p_value(value: float) -> str:
    """Return a p-value: 0.012, or < 0.001."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def interval(low: float, high: float, write: Callable[[float], str] = rate) -> str:
    """Return an interval: [0.58, 0.72], or with ``signed`` [+0.08, +0.15]."""
    return f"[{write(low)}, {write(high)}]"


def estimate(row: Mapping[str, Any], write: Callable[[float], str] = rate) -> str:
    """Return an estimate with its interval, or why there is none: 0.65 [0.58, 0.72]."""
    if is_missing(row["estimate"]):
        return missing(reason_of(row))
    return f"{write(row['estimate'])} {interval_of(row, write)}"


def interval_of(row: Mapping[str, Any], write: Callable[[float], str] = rate) -> str:
    """Return the interval of an estimate, or why there is none."""
    if is_missing(row["conf_low"]) or is_missing(row["conf_high"]):
        return missing(reason_of(row))
    return interval(row["conf_low"], row["conf_high"], write)


def reason_of(row: Mapping[str, Any]) -> str:
    """Return the first caveat of a row: the reason why its number is unknown."""
    caveats = row.get("caveats")
    texts = [caveats] if isinstance(caveats, str) else [] if is_missing(caveats) else list(caveats or ())
    return str(texts[0]) if texts else ""


def _yes_no(value: object) -> str:
    return "yes" if value else "no"


# --- tables --------------------------------------------------------------------------------------

FORMATS: dict[str, Callable[[Any], str]] = {
    "text": visible,
    "number": number,
    "rate": rate,
    "percent": percent,
    "signed": signed,
    "points": points,
    "count": count,
    "p": p_value,
    "yes-no": _yes_no,
}
# These read several fields of an estimate row; the name of their column is that of the estimate's field.
ROW_FORMATS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "estimate": estimate,
    "interval": interval_of,
    "signed-estimate": lambda row: estimate(row, signed),
    "signed-interval": lambda row: interval_of(row, signed),
}
_NOT_NUMERIC = ("text", "yes-no")
_ESTIMATE = set("estimand estimate conf_low conf_high level n_cases n_trials population method".split())


@dataclass(frozen=True, slots=True)
class Column:
    """One column as shown: the frame's column, its heading, and one of FORMATS or ROW_FORMATS."""

    name: str
    title: str
    format: str = ""

    def cell(self, row: Mapping[str, Any]) -> str:
        """Return the text of this column in ``row``."""
        if self.format in ROW_FORMATS:
            return ROW_FORMATS[self.format](row)
        value = row[self.name]
        return missing() if is_missing(value) else FORMATS[self.format](value)


class Table:
    """A frame with the columns to show. The page shows them formatted; the CSV keeps the whole frame, unrounded.

    Parameters
    ----------
    name : str
        Name of the file ``tables/<name>.csv``; unique in a report.
    title : str
        The caption.
    frame : pandas.DataFrame
        One row per line of the table.
    columns : sequence of Column or str, optional
        What to show, in order; a plain name gets a heading and a format from its kind. Default: every column,
        and of an estimate frame what a reader needs. An estimate is shown with its interval.
    """

    def __init__(
        self, name: str, title: str, frame: pd.DataFrame, columns: Sequence[Column | str] | None = None
    ) -> None:
        self.name, self.title, self.frame = name, title, frame
        asked = _usual_columns(frame) if columns is None else list(columns)
        self.columns = [self._column(column) for column in asked]

    def _column(self, asked: Column | str) -> Column:
        name, title, style = (
            (asked.name, asked.title, asked.format) if isinstance(asked, Column) else (asked, "", "")
        )
        if self.frame.columns.empty:  # nothing came of it: the heading stands alone
            return Column(name, title or _heading(name), "text")
        if name not in self.frame.columns:
            known = ", ".join(map(str, self.frame.columns))
            raise ValueError(f"table {self.name!r} has no column {name!r}; known: {known}")
        if style and style not in FORMATS and style not in ROW_FORMATS:
            raise ValueError(f"format must be one of {', '.join((*FORMATS, *ROW_FORMATS))}, got {style!r}")
        if not style and name == "estimate" and holds_estimates(self.frame):
            usual = _estimate_column(self.frame)
            return Column(name, title or usual.title, usual.format)
        return Column(name, title or _heading(name), style or _format_of(self.frame[name]))

    def cells(self) -> list[list[str]]:
        """Return the text of every cell as shown, row by row."""
        return [[column.cell(row) for column in self.columns] for row in rows(self.frame)]

    def as_document(self) -> dict[str, Any]:
        """Return the table as ``report.json`` holds it."""
        columns = [
            {"name": visible(c.name), "title": visible(c.title), "numeric": c.format not in _NOT_NUMERIC}
            for c in self.columns
        ]
        cells = self.cells()
        title = visible(self.title)
        return {"name": self.name, "title": title, "columns": columns, "rows": len(cells), "cells": cells}

    def csv(self) -> str:
        """Return the whole frame as CSV, unrounded; texts that a spreadsheet would run are quoted by ``'``."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_safe(name) for name in self.frame.columns)
        for row in rows(self.frame):
            writer.writerow(_csv_value(value) for value in row.values())
        return file.getvalue()

    def _repr_html_(self) -> str:
        from evalstats.report import page

        return page.fragment(self.as_document())


def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts of plain Python values, in order."""
    columns = [frame[name].tolist() for name in frame.columns]
    return [dict(zip(frame.columns, values, strict=True)) for values in zip(*columns, strict=True)]


def _usual_columns(frame: pd.DataFrame) -> list[Column | str]:
    """Return every column of a frame; of estimates, the grouping keys and then each number with its interval."""
    names = [str(name) for name in frame.columns]
    if not holds_estimates(frame):
        return list(names)
    keys = names[: names.index("estimand")]
    return [*keys, "estimand", "estimate", "n_cases", "n_trials", "population", "method"]


def holds_estimates(frame: pd.DataFrame) -> bool:
    """Return whether each row of a frame is an estimate, with or without grouping keys."""
    return set(frame.columns) >= _ESTIMATE


def _estimate_column(frame: pd.DataFrame) -> Column:
    """Return the column of an estimate: never a number without its interval."""
    difference = frame["estimand"].astype(str).str.contains("difference").any()
    levels = {percent(level) for level in frame["level"]}
    title = f"Estimate [{levels.pop()} interval]" if len(levels) == 1 else "Estimate [interval]"
    return Column("estimate", title, "signed-estimate" if difference else "estimate")


def _heading(name: str) -> str:
    words = name.removeprefix("n_").replace("_", " ")
    return words[:1].upper() + words[1:]


def _format_of(series: pd.Series[Any]) -> str:
    kind = series.dtype.kind
    if kind == "f":
        known = series.dropna()
        return "rate" if known.between(-1, 1).all() else "number"
    return "yes-no" if kind == "b" else "count" if kind in "iu" else "text"


def _csv_value(value: Any) -> Any:
    if is_missing(value):
        return ""
    if isinstance(value, (bool, int, float)):
        return repr(value) if isinstance(value, float) else value
    return _safe("; ".join(map(str, value)) if isinstance(value, (list, tuple)) else value)


def _safe(value: object) -> str:
    text = visible(value)
    return f"'{text}" if _FORMULA.match(text) else text
