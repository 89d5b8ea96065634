"""``evalstats site``: the dashboard, made and shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli.options import (
    DEFAULT_DATA,
    DEFAULT_SUITES,
    Data,
    Json,
    Reports,
    Suites,
    print_json,
    reports_path,
)
from evalstats.cli.tables import complain, say

app = typer.Typer()
Out = Annotated[Path | None, typer.Option("--out", help="Folder of the dashboard [default: DATA/site].")]

Baselines = Annotated[
    Path | None, typer.Option("--baselines", help="Flat folder of baselines [default: beside each suite].")
]
Holdouts = Annotated[
    Path | None,
    typer.Option(
        "--holdouts", help="Folder of what `evalstats holdout publish` wrote [default: DATA/holdouts]."
    ),
]


@app.command()
def build(
    out: Out = None,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
    baselines: Baselines = None,
    holdouts: Holdouts = None,
    as_json: Json = False,
) -> int:
    """Make the dashboard from published reports and decisions of gates: static pages that work alone.

    Exit 1 when something could not be read, or the newest version of a report failed; the pages name it.

    Example: evalstats site build --out public
    """
    from evalstats import site

    places = site.Places(
        reports=reports_path(data, reports),
        gates=data / "gates",
        suites=suites,
        baselines=baselines,
        holdouts=holdouts or data / "holdouts",
    )
    built = site.build(places, out or data / "site")
    for problem in built.problems:
        complain(problem)
    if as_json:
        print_json(built.as_record())
    else:
        say(f"{built.path}/index.html ({built.pages} page(s), {built.bytes / 1000:.0f} kB)")
    return int(bool(built.problems))


@app.command()
def serve(
    out: Out = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on loopback; 0 takes a free one.")
    ] = 8008,
    data: Data = DEFAULT_DATA,
) -> None:
    """Show the dashboard in a browser of this machine, until Ctrl-C.

    Example: evalstats site serve --port 8008
    """
    from evalstats import site

    def told(address: str) -> None:
        say(address)
        sys.stdout.flush()  # whoever started it through a pipe waits for the address

    site.serve(out or data / "site", port, told)
