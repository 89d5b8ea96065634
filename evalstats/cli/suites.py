"""``evalstats suite``: check and describe a suite."""

from __future__ import annotations

from typing import Annotated

import typer

from evalstats.cli.options import DEFAULT_SUITES, Json, Suites, print_json, suite_place
from evalstats.cli.tables import print_table, say

app = typer.Typer()
Names = Annotated[list[str], typer.Argument(help="Suite files, folders or names.", metavar="SUITE...")]


@app.command()
def validate(names: Names, suites: Suites = DEFAULT_SUITES) -> int:
    """Check suites and their fixtures; print every problem with its line.

    Example: evalstats suite validate evals/ab-demo
    """
    from evalstats import runner, suite
    from evalstats.errors import EvalstatsError

    worst = 0
    for name in names:
        try:
            loaded = suite.load(suite_place(name, suites))
            runner.check(loaded)
            say(f"{loaded.path}: valid, {len(loaded.cases)} cases")
        except EvalstatsError as error:
            for line in error.lines():
                say(line)
            worst = error.exit_code
    return worst


@app.command("hash")
def show_hashes(name: str, suites: Suites = DEFAULT_SUITES, as_json: Json = False) -> None:
    """Print the five digests of a suite and one for each case.

    Example: evalstats suite hash solver --json
    """
    from evalstats import suite

    loaded = suite.load(suite_place(name, suites))
    layers, cases = suite.hashes(loaded), suite.case_hashes(loaded)
    if as_json:
        print_json({"suite": loaded.id, "path": str(loaded.path), "hashes": layers, "cases": cases})
    else:
        print_table(("layer", "sha256"), [*layers.items(), *((f"case {c}", h) for c, h in cases.items())])


@app.command()
def show(name: str, suites: Suites = DEFAULT_SUITES, as_json: Json = False) -> None:
    """Print what a suite asks, case by case.

    Example: evalstats suite show solver
    """
    from evalstats import suite

    loaded = suite.load(suite_place(name, suites))
    if as_json:
        print_json(loaded.document)
        return
    trials = f"{loaded.trials_per_case} trial(s) a case"
    say(f"{loaded.id}: {loaded.name} ({loaded.tier}, {loaded.visibility}, {trials})")
    rows = [
        (c.id, c.archetype or "–", c.kind, len(c.expectations), "yes" if c.critical else "")
        for c in loaded.cases
    ]
    print_table(("case", "archetype", "kind", "expectations", "critical"), rows)
