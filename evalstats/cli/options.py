"""Options that several commands share, each spelled once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from evalstats.cli.tables import say

Suites = Annotated[Path, typer.Option("--suites", help="Folder of suites, used for bare suite names.")]
Data = Annotated[Path, typer.Option("--data", help="Folder of runs, artifacts, store and reports.")]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", help="Database file or Parquet folder [default: DATA/evalstats.duckdb]."),
]
Reports = Annotated[
    Path | None, typer.Option("--reports", help="Folder of report versions [default: DATA/reports].")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

DEFAULT_SUITES = Path("evals")
DEFAULT_DATA = Path("data")


def store_path(data: Path, store: Path | None) -> Path:
    """Return the store to use: the one given, else the one in the data folder."""
    return store or data / "evalstats.duckdb"


def reports_path(data: Path, reports: Path | None) -> Path:
    """Return the folder of reports: the one given, else the one in the data folder."""
    return reports or data / "reports"


def suite_place(name: str, suites: Path) -> Path:
    """Return where the suite called ``name`` lies: a path as given, or a folder under ``suites``."""
    given = Path(name)
    return given if given.exists() or not (suites / name).exists() else suites / name


def print_json(document: Any) -> None:
    """Print ``document`` as JSON, for scripts."""
    for line in json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=str).splitlines():
        say(line)
