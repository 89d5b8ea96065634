"""``evalstats labels``: human verdicts, out as a table and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli.judge_choices import Output, found, ingest
from evalstats.cli.options import DEFAULT_DATA, Data, Json, StorePath, print_json
from evalstats.cli.tables import say

app = typer.Typer()
Runs = Annotated[list[str], typer.Argument(help="Runs, or groups of both arms.", metavar="RUN...")]


@app.command("export")
def export_labels(
    names: Runs,
    out: Annotated[Path | None, typer.Option("--out", help="File to write [default: print it].")] = None,
    texts: Annotated[bool, typer.Option(help="With the texts to be judged.")] = True,
    data: Data = DEFAULT_DATA,
) -> None:
    """Write what a judge is asked as CSV, to be labelled by people.

    One row per expectation of a trial, with the label it has. Fill in `label` (yes or no) and `labeller`.

    Example: evalstats labels export my-run --out labels.csv
    """
    from evalstats.journal import write_synced
    from evalstats.judging import labels

    table = labels.table([run for name in names for run in found(data, name)], texts=texts)
    if out is None:
        for line in table.splitlines():
            say(line)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    write_synced(out, table.encode("utf-8", "replace"))
    say(str(out))


@app.command("import")
def import_labels(
    file: Annotated[
        Path, typer.Argument(help="CSV: run, case, arm, trial, expectation, label, labeller, time.")
    ],
    names: Runs,
    labeller: Annotated[
        str | None, typer.Option("--labeller", help="Who labelled, where no row says it.")
    ] = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """Read labels back: all of them, or none and every fault with its line.

    Reading a file twice adds nothing. Of one person the last label counts, of several the majority.

    Example: evalstats labels import labels.csv my-run --labeller ada
    """
    from dataclasses import asdict

    from evalstats.judging import labels

    runs = {run.run_id: run for name in names for run in found(data, name)}
    done = labels.read(file, runs, labeller=labeller)
    ingest(Output(data, None, store, as_json))
    if as_json:
        print_json(asdict(done))
    else:
        say(f"{done.added} label(s) added, {done.known} known before, {done.empty} row(s) without one")
