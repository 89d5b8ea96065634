"""``evalstats gate``: a published report, a policy, a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli.options import DEFAULT_DATA, Data, Json, Reports, print_json, reports_path
from evalstats.cli.tables import say

app = typer.Typer()
Policy = Annotated[Path, typer.Option("--policy", help="The policy file (policy.v1).")]
Reruns = Annotated[int, typer.Option("--reruns", min=1, help="How many of the last runs are the candidate.")]


@app.command()
def decide(
    report: Annotated[str, typer.Argument(help="A report version: a path, or NOTEBOOK/SUBJECT[/VERSION].")],
    policy: Policy,
    reruns: Reruns = 1,
    data: Data = DEFAULT_DATA,
    reports: Reports = None,
    as_json: Json = False,
) -> int:
    """Judge the last run of a report against its history.

    Exit code: 0 pass, 1 regression, 3 cannot gate, 4 inconclusive.

    Example: evalstats gate variance_bands/solver --policy evals/solver/policy.json
    """
    from evalstats import gate

    result = gate.judge(reports_path(data, reports), report, policy, reruns=reruns)
    gate.append(result, data / "gates")
    if as_json:
        print_json(result.as_record())
    else:
        for line in gate.sentences(result):
            say(line)
    return result.exit_code
