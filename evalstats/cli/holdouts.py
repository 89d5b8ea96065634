"""``evalstats holdout``: what an evaluator sees of a private suite, and what everybody may."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli.options import DEFAULT_DATA, EVALUATOR, Data, Json, Role, data_tree, print_json
from evalstats.cli.tables import print_table, say
from evalstats.errors import UsageError

# The commands that may print private text, and only in the role of an evaluator: to show it is what they are for.
SHOWING = frozenset({"suite show", "suite hash", "runs", "baseline compare", "holdout show"})

app = typer.Typer()
Run = Annotated[str, typer.Argument(help="A run of a private suite.", metavar="RUN")]


@app.command()
def show(run: Run, role: Role = None, data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Show an evaluator how each case of a private run ended.

    Example: evalstats holdout show eval-20260701T020000Z-holdout-1a2b3c --role evaluator
    """
    from evalstats.governance.captures import Places

    _check_role(role, data)
    found = Places(data=data, suites=Path(), role=role).run(run)
    if as_json:
        print_json(found.record)
        return
    cases = found.record["case_results"]
    rows = [(c["id"], c["status"], c["score"], c["trials"], "; ".join(c["diagnostics"])) for c in cases]
    print_table(("case", "status", "score", "trials", "why"), rows)


@app.command()
def publish(
    run: Run,
    alias: Annotated[str, typer.Option("--alias", help="The public name of the suite; it has one for ever.")],
    out: Annotated[Path, typer.Option("--out", help="File for what may be published.")],
    role: Role = None,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Write what everybody may know of a private run.

    Counts, rates and words of closed lists; nothing that tells of fewer than five cases, not even when held
    against all that was published before.

    Example: evalstats holdout publish RUN --alias winter-set --out holdout.json --role evaluator
    """
    from evalstats import contract
    from evalstats.governance import holdouts
    from evalstats.journal import write_synced

    _check_role(role, data)
    if out.is_dir():
        raise UsageError("is a folder; name a file", path=out, field="--out")
    out.parent.mkdir(parents=True, exist_ok=True)
    document = holdouts.publish(run, alias, data)
    write_synced(out, contract.readable(document).encode())
    if as_json:
        print_json(document)
    else:
        band = document["pass_percent_band"]
        share = f"{band['from']} to {band['to']} % of {document['cases']} cases passed"
        say(f"{out}: {alias}, {share}")


def _check_role(role: str | None, data: Path) -> None:
    data_tree(data, role)
    if role is None:
        raise UsageError(f"private suites are for --role {EVALUATOR}", field="--role")
