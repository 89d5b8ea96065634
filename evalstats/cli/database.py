"""``evalstats ingest`` and ``evalstats db``: journals into the store, and the store's health."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli.options import (
    DEFAULT_DATA,
    Data,
    Json,
    Role,
    StorePath,
    data_tree,
    print_json,
    private_store,
    store_path,
)
from evalstats.cli.tables import say, say_findings

if TYPE_CHECKING:
    from evalstats.store import IngestReport

app = typer.Typer()


def ingest(
    role: Role = None, data: Data = DEFAULT_DATA, store: StorePath = None, as_json: Json = False
) -> None:
    """Load the journals into the store.

    Doing it twice adds nothing. Runs of private suites are for an evaluator, and have a store of their own.

    Example: evalstats ingest --data data
    """
    from evalstats import store as warehouse

    tree, path = _places(data, store, role)
    done = warehouse.ingest(path, tree / "runs", private=role is not None)
    if as_json:
        print_json(asdict(done))
    else:
        say(_counted(done))


@app.command()
def rebuild(role: Role = None, data: Data = DEFAULT_DATA, store: StorePath = None) -> None:
    """Make the store anew from the journals.

    Example: evalstats db rebuild
    """
    from evalstats import store as warehouse

    tree, path = _places(data, store, role)
    say(_counted(warehouse.rebuild(path, tree / "runs", private=role is not None)))


def _places(data: Path, store: Path | None, role: str | None) -> tuple[Path, Path]:
    """Return the data folder and the store of public suites or, for an evaluator, of private ones."""
    tree = data_tree(data, role)
    return tree, store_path(tree, store) if role is None else private_store(tree, store)


def _counted(done: IngestReport) -> str:
    torn = f"; torn last line in {', '.join(done.torn)}" if done.torn else ""
    torn += f"; left out: {done.left_out} run(s) that belong to another store" if done.left_out else ""
    files = f"{done.files} journal(s) read, {done.unchanged} unchanged"
    said = f", {done.judgements_added} judgement(s)" if done.judgements_added else ""
    said += f", {done.labels_added} label(s)" if done.labels_added else ""
    added = f"{done.trials_added} trial(s){said} of {done.runs} run(s) added"
    return f"{added}; {files}, {done.duplicates} duplicate(s){torn}"


@app.command()
def check(
    role: Role = None, data: Data = DEFAULT_DATA, store: StorePath = None, as_json: Json = False
) -> int:
    """Compare the store with journals and artifacts.

    Exit 1 when something is missing.

    Example: evalstats db check --json
    """
    from evalstats import store as warehouse

    tree, path = _places(data, store, role)
    findings = warehouse.check(path, tree / "runs", private=role is not None)
    if as_json:
        print_json([str(finding) for finding in findings])
    else:
        say_findings(findings, "store and journals agree")
    return 1 if findings else 0


@app.command()
def migrate(role: Role = None, data: Data = DEFAULT_DATA, store: StorePath = None) -> None:
    """Bring the store to this version.

    Example: evalstats db migrate
    """
    from evalstats import store as warehouse

    _, path = _places(data, store, role)
    with warehouse.open(path, private=role is not None):
        say(f"{path}: up to date")


@app.command()
def export(
    parquet: Annotated[
        Path, typer.Option("--parquet", help="Folder to write; runs already there are replaced.")
    ],
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
) -> None:
    """Write the store as a folder of Parquet.

    Other commands read such a folder as they read the database: --store DIR. Private suites are never exported.

    Example: evalstats db export --parquet lake
    """
    from evalstats import store as warehouse

    with warehouse.open(store_path(data, store), read_only=True) as opened:
        warehouse.export_parquet(opened, parquet)
    say(str(parquet))
