"""``evalstats run`` and ``evalstats runs``: run suites, and list what has run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from evalstats.cli.options import (
    DEFAULT_DATA,
    DEFAULT_SUITES,
    Data,
    Json,
    StorePath,
    Suites,
    print_json,
    store_path,
    suite_place,
)
from evalstats.cli.progress import Progress, Style
from evalstats.cli.tables import print_table
from evalstats.errors import StoreError, UsageError

FAILED, INFRASTRUCTURE, INTERRUPTED = 1, 3, 130
STATUS_CODES = {"pass": 0, "fail": FAILED, "inconclusive": FAILED, "error": INFRASTRUCTURE, "skipped": INFRASTRUCTURE}


def run(
    names: Annotated[list[str] | None, typer.Argument(help="Suite files, folders or names.", metavar="SUITE...")] = None,
    mode: Annotated[
        str, typer.Option("--mode", "--baseline-mode", help="skill-on, skill-off or both.")
    ] = "skill-on",
    trials: Annotated[int | None, typer.Option(min=1, help="Trials per case and arm [default: the suite's].")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of plan and trials [default: from the run id].")] = None,
    archetype: Annotated[str | None, typer.Option(help="Only the cases of this archetype (exact).")] = None,
    case: Annotated[list[str] | None, typer.Option(help="Only this case; may be repeated.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Trials at once.")] = os.cpu_count() or 1,
    out: Annotated[Path | None, typer.Option(help="Also write the run record (both: the scorecard) here.")] = None,
    run_id: Annotated[str | None, typer.Option(help="Name of the run [default: from time and suite].")] = None,
    resume: Annotated[str | None, typer.Option(help="Finish this run instead of starting one.")] = None,
    dry_run: Annotated[bool, typer.Option(help="Print the plan and stop.")] = False,
    progress: Annotated[Style, typer.Option(help="How to show progress on stderr.")] = Style.AUTO,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Run suites and keep every trial; exit 0 all passed, 1 failed, 3 skipped or infrastructure.

    With --mode both, trials of the two arms are interleaved and the exit code is that of the skill-on arm.

    Example: evalstats run evals/ab-demo --mode both --out scorecard.json
    """
    from evalstats import runner

    if not names and not resume:
        raise UsageError("give a suite to run, or --resume RUN")
    choice = runner.Choice(
        mode=mode, trials=trials, seed=seed, archetype=archetype, case_ids=tuple(case or ()), run_id=run_id
    )
    codes = [0]
    for plan in _plans(names or [], choice, suites, data, resume):
        codes.append(_show_plan(plan) if dry_run else _execute(plan, jobs, progress, data, out, as_json))
    if not dry_run:
        _ingest(store_path(data, store), data)
    return max(codes)
