"""``evalstats ingest`` and ``evalstats db``: journals into the store, and the store's health."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli.options import DEFAULT_DATA, Data, Json, StorePath, print_json, store_path
from evalstats.cli.tables import say, say_findings

if TYPE_CHECKING:
    from evalstats.store import IngestReport

app = typer.Typer()


def ingest(data: Data = DEFAULT_DATA, store: StorePath = None, as_json: Json = False) -> None:
    """Load the journals into the store.

    Doing it twice adds nothing.

    Example: evalstats ingest --data data
    """
    from evalstats import store as warehouse

    done = warehouse.ingest(store_path(data, store), data / "runs")
    if as_json:
        print_json(asdict(done))
    else:
        say(_counted(done))


@app.command()
def rebuild(data: Data = DEFAULT_DATA, store: StorePath = None) -> None:
    """Make the store anew from the journals.

    Example: evalstats db rebuild
    """
    from evalstats import store as warehouse

    say(_counted(warehouse.rebuild(store_path(data, store), data / "runs")))


def _counted(done: IngestReport) -> str:
    torn = f"; torn last line in {', '.join(done.torn)}" if done.torn else ""
    files = f"{done.files} journal(s) read, {done.unchanged} unchanged"
    return f"{done.trials_added} trial(s) of {done.runs} run(s) added; {files}, {done.duplicates} duplicate(s){torn}"


@app.command()
def check(data: Data = DEFAULT_DATA, store: StorePath = None, as_json: Json = False) -> int:
    """Compare the store with journals and artifacts.

    Exit 1 when something is missing.

    Example: evalstats db check --json
    """
    from evalstats import store as warehouse

    findings = warehouse.check(store_path(data, store), data / "runs")
    if as_json:
        print_json([str(finding) for finding in findings])
    else:
        say_findings(findings, "store and journals agree")
    return 1 if findings else 0


@app.command()
def migrate(data: Data = DEFAULT_DATA, store: StorePath = None) -> None:
    """Bring the store to this version.

    Example: evalstats db migrate
    """
    from evalstats import store as warehouse

    path = store_path(data, store)
    with warehouse.open(path):
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

    Other commands read such a folder as they read the database: --store DIR.

    Example: evalstats db export --parquet lake
    """
    from evalstats import store as warehouse

    with warehouse.open(store_path(data, store), read_only=True) as opened:
        warehouse.export_parquet(opened, parquet)
    say(str(parquet))
