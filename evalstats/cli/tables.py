"""Plain tables for the terminal: aligned, no colour, safe for any text, at most as wide as the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from typing import Any

GAP = "  "
SHORTEST = 8


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under a header; numbers are set to the right, the widest text columns are cut to fit."""
    raw = [list(row) for row in rows]
    cells = [[clean(value) for value in row] for row in raw]
    right = [all(isinstance(row[i], (int, float)) for row in raw) and bool(raw) for i in range(len(header))]
    widths = _fit([max(len(row[i]) for row in (list(header), *cells)) for i in range(len(header))])
    for row in (list(header), *cells):
        print(GAP.join(_cell(*entry) for entry in zip(row, widths, right, strict=True)).rstrip())


def clean(value: Any) -> str:
    """Return text without control characters, which could move the cursor or hide a line."""
    text = "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _fit(widths: list[int]) -> list[int]:
    room = shutil.get_terminal_size((100, 24)).columns - len(GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > SHORTEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cell(text: str, width: int, right: bool) -> str:
    short = text if len(text) <= width else text[: width - 1] + "…"
    return short.rjust(width) if right else short.ljust(width)
