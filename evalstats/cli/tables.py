"""Lines and tables for the terminal: no colour, safe for any text, tables at most as wide as the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

GAP = "  "
SHORTEST = 8


def say(text: str = "") -> None:
    """Print one line on stdout. A reader that has gone, as ``| head`` does, is no reason to stop the work."""
    try:
        print(clean(text), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_findings(findings: Iterable[object], otherwise: str) -> None:
    """Print one line a finding, or one that says that there is none."""
    for finding in [*findings] or [otherwise]:
        say(str(finding))


def complain(text: str) -> None:
    """Print one line on stderr."""
    print(f"evalstats: {clean(text)}", file=sys.stderr, flush=True)


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under a header; numbers are set to the right, the widest text columns are cut to fit."""
    raw = [list(row) for row in rows]
    cells = [[clean(value) for value in row] for row in raw]
    right = [all(isinstance(row[i], (int, float)) for row in raw) and bool(raw) for i in range(len(header))]
    widths = _fit([max(len(row[i]) for row in (list(header), *cells)) for i in range(len(header))])
    for row in (list(header), *cells):
        say(GAP.join(_cell(*entry) for entry in zip(row, widths, right, strict=True)).rstrip())


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
