"""``evalstats run`` and ``evalstats runs``: run suites, and list what has run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli import results
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

if TYPE_CHECKING:
    from evalstats.runner import Options, Plan

FAILED, INFRASTRUCTURE, SIGNALLED = 1, 3, 128
STATUS_CODES = {
    "pass": 0,
    "fail": FAILED,
    "inconclusive": FAILED,
    "error": INFRASTRUCTURE,
    "skipped": INFRASTRUCTURE,
}


def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Suite files, folders or names.", metavar="SUITE...")
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", "--baseline-mode", help="skill-on, skill-off or both.")
    ] = "skill-on",
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials per case and arm [default: the suite's].")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of plan and trials [default: from the run id].")
    ] = None,
    archetype: Annotated[str | None, typer.Option(help="Only the cases of this archetype (exact).")] = None,
    case: Annotated[list[str] | None, typer.Option(help="Only this case; may be repeated.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Trials at once.")] = os.cpu_count() or 1,
    out: Annotated[
        Path | None, typer.Option(help="Also write the run record (both: the scorecard) here.")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option(help="Name of the run [default: from time and suite].")
    ] = None,
    resume: Annotated[str | None, typer.Option(help="Finish this run instead of starting one.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
    progress: Annotated[Style, typer.Option(help="How to show progress on stderr.")] = Style.AUTO,
    summary: Annotated[bool, typer.Option("--summary", help="One line a run, no table of cases.")] = False,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Run suites and keep every trial.

    Exit code: 0 all passed, 1 a case or threshold failed, 3 skipped or infrastructure, 130 interrupted. With
    --mode both the trials of the two arms are interleaved, and the exit code is that of the skill-on arm.

    Example: evalstats run evals/ab-demo --mode both --out scorecard.json
    """
    from evalstats import runner

    options = runner.Options(
        mode=mode, trials=trials, seed=seed, run_id=run_id, archetype=archetype, case_ids=tuple(case or ())
    )
    plans = _plans(names or [], options, suites=suites, data=data, resume=resume)
    if dry_run:
        return _show_plans(plans)
    codes = [_execute(plan, data, jobs, progress, Output(out, as_json, summary)) for plan in plans]
    _ingest(store_path(data, store), data)
    return max(codes)


@dataclass(frozen=True, slots=True)
class Output:
    """Where and how results are shown."""

    out: Path | None
    as_json: bool
    summary: bool


def _plans(
    names: list[str], options: Options, *, suites: Path, data: Path, resume: str | None
) -> Iterator[Plan]:
    """Yield one plan per suite; each is made when the one before has run, so that its run id has its own time."""
    from evalstats import runner, suite

    if bool(names) == bool(resume):
        raise UsageError("give suites to run, or --resume RUN")
    if len(names) > 1 and options.run_id:
        raise UsageError("one run id cannot name several suites", field="--run-id")
    if resume:
        yield runner.resume_plan(data, resume)
    for name in names:
        yield runner.plan(suite.load(suite_place(name, suites)), options)


def _show_plans(plans: Iterable[Plan]) -> int:
    for plan in plans:
        print(f"{plan.suite.id}: {len(plan.specs)} trials, {', '.join(run.run_id for run in plan.runs)}")
        print_table(
            ("case", "arm", "trial", "seed"), [(s.case.id, s.arm, s.trial_index, s.seed) for s in plan.specs]
        )
    return 0


def _execute(plan: Plan, data: Path, jobs: int, progress: Style, output: Output) -> int:
    """Run one plan, show what came of it, and return its exit code."""
    from evalstats import runner

    with Progress(len(plan.specs), progress, terminal=sys.stderr.isatty()) as shown:
        finished = runner.run(plan, data=data, jobs=jobs, on_event=shown.tell)
    if finished.stopped_by:
        print(f"evalstats: stopped; go on with: evalstats run --resume {plan.group_id}", file=sys.stderr)
        return SIGNALLED + finished.stopped_by
    document = results.written(finished.records, data / "runs", output.out)
    if output.as_json:
        print_json(document)
    else:
        results.show(finished.records, document, cases=not output.summary)
    return STATUS_CODES[finished.records[0]["status"]]


def _ingest(store: Path, data: Path) -> None:
    """Load the journals; a locked store is no failure of the run."""
    from evalstats import store as warehouse

    try:
        warehouse.ingest(store, data / "runs")
    except StoreError as error:
        print(f"evalstats: not ingested: {error}; run `evalstats ingest` later", file=sys.stderr)


def list_runs(
    suite: Annotated[str | None, typer.Option("--suite", help="Only the runs of this suite.")] = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """List the runs in the store, oldest first.

    Example: evalstats runs --suite solver
    """
    from evalstats import store as warehouse

    with warehouse.open(store_path(data, store), read_only=True) as opened:
        frame = opened.runs(suite)
    if as_json:
        print(frame.to_json(orient="records", date_format="iso", indent=2))
        return
    shown = ["run_id", "suite_id", "arm", "n_cases", "n_trials", "n_usable"]
    print_table([name.removeprefix("n_") for name in shown], frame[shown].itertuples(index=False))
