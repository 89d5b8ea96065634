"""Options that several commands share, each spelled once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from evalstats.cli.tables import say
from evalstats.errors import UsageError

EVALUATOR = "evaluator"


def _public(context: typer.Context, data: Path) -> Path:
    """Return the data folder. Raises UsageError for a private tree where a command knows no role."""
    from evalstats.journal import is_private_tree

    if is_private_tree(data) and "role" not in {parameter.name for parameter in context.command.params}:
        raise UsageError(
            "this is for private suites, and nothing of them leaves by this command", field="--data"
        )
    return data


Suites = Annotated[Path, typer.Option("--suites", help="Folder of suites, used for bare suite names.")]
Data = Annotated[
    Path, typer.Option("--data", help="Folder of runs, artifacts, store and reports.", callback=_public)
]
Role = Annotated[str | None, typer.Option("--role", help="evaluator: the role that may read private suites.")]
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


def data_tree(data: Path, role: str | None) -> Path:
    """Return the folder that a command reads: in the role of an evaluator the private tree, else the public one.

    Raises UsageError for an unknown role, and for the private tree without the role.
    """
    from evalstats.journal import is_private_tree, private_tree

    if role not in (None, EVALUATOR):
        raise UsageError(f"unknown role {role!r}; known: {EVALUATOR}", field="--role")
    if role == EVALUATOR:
        return private_tree(data)
    if is_private_tree(data):
        raise UsageError(
            f"this is for private suites, which are read only with --role {EVALUATOR}", field="--data"
        )
    return data


def private_store(tree: Path, store: Path | None) -> Path:
    """Return the store of private suites. Raises UsageError for one outside their tree."""
    from evalstats.journal import is_private_tree

    if store is not None and not is_private_tree(store):
        raise UsageError(f"private suites have a store of their own, in {tree}", field="--store")
    return store or tree / "evalstats.duckdb"


def store_path(data: Path, store: Path | None) -> Path:
    """Return the store to use: the one given, else the one in the data folder. Raises UsageError for a private one."""
    from evalstats.journal import is_private_tree

    if store is not None and is_private_tree(store):
        raise UsageError(
            f"this is for private suites; see which commands take --role {EVALUATOR}", field="--store"
        )
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
