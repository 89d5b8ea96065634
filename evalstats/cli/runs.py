"""``evalstats run`` and ``evalstats runs``: run suites, and list what has run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli import results
from evalstats.cli.judge_choices import AfterRun
from evalstats.cli.options import (
    DEFAULT_DATA,
    DEFAULT_SUITES,
    Data,
    Json,
    Role,
    StorePath,
    Suites,
    data_tree,
    print_json,
    private_store,
    store_path,
    suite_place,
)
from evalstats.cli.progress import Progress, Style
from evalstats.cli.tables import complain, print_table, say
from evalstats.errors import JournalError, StoreError, UsageError

if TYPE_CHECKING:
    from evalstats.runner import Options, Plan, Result

SIGNALLED = 128
_UNITS = ("", "K", "M", "G")


def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Suite files, folders or names.", metavar="SUITE...")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option("--mode", "--baseline-mode", help="skill-on, skill-off or both [default: skill-on]."),
    ] = None,
    context_mode: Annotated[
        str | None, typer.Option(help="context-on, context-off or ab: what a context changes, hooks on.")
    ] = None,
    candidate: Annotated[
        str | None,
        typer.Option(metavar="REF", help="Compare the files of this git ref with the working tree."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials per case and arm [default: the suite's].")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of plan and trials [default: from the run id].")
    ] = None,
    archetype: Annotated[str | None, typer.Option(help="Only the cases of this archetype (exact).")] = None,
    case: Annotated[list[str] | None, typer.Option(help="Only this case; may be repeated.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, help="Trials at once [default: a CPU each; on a cluster, all its room]."
        ),
    ] = None,
    executor: Annotated[
        str, typer.Option(metavar="WHERE", help="local, dask, dask:tcp://HOST:PORT or dask:SCHEDULER-FILE.")
    ] = "local",
    out: Annotated[
        Path | None, typer.Option(help="Also write the run record (two arms: the scorecard) here.")
    ] = None,
    role: Role = None,
    runtime: Annotated[
        str | None, typer.Option(help="Who answers prompts: mock, claude, codex, openai, inspect ...")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model of the runtime.")] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="USD", help="Stop, in balance, before more is spent.")
    ] = None,
    max_rpm: Annotated[
        float | None, typer.Option(metavar="N", help="Requests a minute; of an agent, trials a minute.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="Price table, for runtimes that tell no cost [default: the suite's].")
    ] = None,
    require_isolation: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="At least bwrap, cgroup, subreaper or killpg; else do not run."),
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of a trial, such as 512M or 2G.")
    ] = None,
    process_limit: Annotated[
        int | None, typer.Option(metavar="N", help="Processes of a trial, where the machine can count them.")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option(help="Name of the run [default: from time and suite].")
    ] = None,
    judge_repeats: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Judge each transcript so often, afterwards.")
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option(help="Judge afterwards, by this model [default: the suite's].")
    ] = None,
    judge_url: Annotated[
        str | None,
        typer.Option(envvar="EVALSTATS_JUDGE_URL", help="OpenAI-compatible endpoint of the judge."),
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

    Exit code: 0 all passed; 1 a case failed or is undecided, or a threshold was missed; 3 skipped, trials lost to
    infrastructure or degraded, or a machine that cannot hold them as asked; 130 interrupted. The trials of two arms
    (--mode both, --context-mode ab, --candidate REF) are interleaved; skill-off, context-off or the working tree is
    the yardstick and may fail. A budget pays for both arms of a trial or for none. --dry-run tells what earlier runs
    say of time and cost. With --executor dask trials run on the workers of a cluster, or of one made here for the run.

    Example: evalstats run evals/ab-demo --mode both --out scorecard.json
    """
    from evalstats import runner

    asked: dict[str, Any] = {
        "mode": mode,
        "context_mode": context_mode,
        "candidate": candidate,
        "trials": trials,
        "seed": seed,
        "run_id": run_id,
        "archetype": archetype,
        "case_ids": tuple(case or ()),
        "runtime": runtime,
        "model": model,
        "budget": budget,
        "max_rpm": max_rpm,
        "prices": prices,
        "require_isolation": require_isolation,
        "memory_limit": None if memory_limit is None else _bytes(memory_limit),
        "process_limit": process_limit,
    }
    output, after = Output(out, as_json, summary), AfterRun(judge_repeats, judge_model, judge_url)
    _check(names or [], {name for name, value in asked.items() if value not in (None, ())}, resume, output)
    options = runner.Options(role=role, **{name: value for name, value in asked.items() if value is not None})
    plans = _plans(names or [], options, suites=suites, data=data, resume=resume)
    if dry_run:
        return _show_plans(plans, data, jobs or os.cpu_count() or 1, as_json=as_json)
    code = 0
    for plan in plans:
        _check_private(plan, data, output, store)
        after.check(plan)
        finished, unjudged = after.judged(
            _execute(plan, data, Crew(jobs, executor), progress), plan, _tree(plan, data)
        )
        _ingest(plan, data, store)
        if finished.stopped_by:
            complain(f"stopped; go on with: evalstats run --resume {plan.group_id}")
            return SIGNALLED + finished.stopped_by
        code = max(code, unjudged, _show(finished, output, private=plan.is_private))
    return code


def _bytes(size: str) -> int:
    """Return how many bytes a size is; K, M and G are powers of 1024."""
    number, unit = (size[:-1], size[-1:].upper()) if size[-1:].isalpha() else (size, "")
    if unit not in _UNITS or not (number.isascii() and number.isdigit()):
        raise UsageError(f"{size!r} is no size; write it as 512M or 2G", field="--memory-limit")
    return int(number) << 10 * _UNITS.index(unit)


@dataclass(frozen=True, slots=True)
class Crew:
    """How many trials run at once, None as many as there is room for, and where."""

    jobs: int | None
    executor: str


@dataclass(frozen=True, slots=True)
class Output:
    """Where and how results are shown."""

    out: Path | None
    as_json: bool
    summary: bool


def _check(names: list[str], asked: set[str], resume: str | None, output: Output) -> None:
    """Refuse combinations of which one part would be dropped in silence."""
    if bool(names) == bool(resume):
        raise UsageError("give suites to run, or --resume RUN")
    if resume and asked:
        option = sorted(asked)[0].replace("_", "-")
        raise UsageError(f"a resumed run keeps its plan; leave out --{option}", field="--resume")
    if len(names) > 1 and ("run_id" in asked or output.out or output.as_json):
        raise UsageError("--run-id, --out and --json are for one suite at a time")
    if output.out and output.out.is_dir():
        raise UsageError("is a folder; name a file", path=output.out, field="--out")


def _check_private(plan: Plan, data: Path, output: Output, store: Path | None) -> None:
    """Refuse what would take the record of a private suite out of its tree."""
    from evalstats.journal import private_tree

    if not plan.is_private:
        return
    private_store(private_tree(data), store)
    if output.out or output.as_json:
        kept = "the record of a private suite stays in its tree; see evalstats holdout publish"
        raise UsageError(kept, field="--out" if output.out else "--json")


def _plans(
    names: list[str], options: Options, *, suites: Path, data: Path, resume: str | None
) -> Iterator[Plan]:
    """Yield one plan per suite; each is made when the one before has run, so that its run id has its own time."""
    from evalstats import runner, suite

    if resume:
        yield runner.resume_plan(data, resume, role=options.role)
    for name in names:
        yield runner.plan(suite.load(suite_place(name, suites)), options)


def _show_plans(plans: Iterable[Plan], data: Path, jobs: int, *, as_json: bool) -> int:
    from evalstats.runner import history

    for plan in plans:
        runs = [run.run_id for run in plan.runs]
        rows = [(spec.case.id, spec.arm, spec.trial_index, spec.seed) for spec in plan.specs]
        header = ("case", "arm", "trial", "seed")
        expected = history.forecast(plan, data)
        if as_json and not plan.is_private:
            trials = [dict(zip(header, row, strict=True)) for row in rows]
            print_json({"suite": plan.suite.id, "runs": runs, "trials": trials, "forecast": asdict(expected)})
            continue
        say(f"{'' if plan.is_private else plan.suite.id + ': '}{len(rows)} trials, {', '.join(runs)}")
        say(results.forecast(expected, jobs, plan.terms.budget))
        if not plan.is_private:
            print_table(header, rows)
    return 0


def _execute(plan: Plan, data: Path, crew: Crew, progress: Style) -> Result:
    from evalstats import runner

    terminal = sys.stderr.isatty()
    with Progress(len(plan.specs), progress, terminal=terminal, private=plan.is_private) as shown:
        done = runner.run(plan, data=data, jobs=crew.jobs, executor=crew.executor, on_event=shown.tell)
    if done.lost:
        trials = len({one.key for one in done.lost})
        complain(
            f"{len(done.lost)} more attempts at {trials} trials were lost or doubled; lost.jsonl lists them"
        )
    return done


def _show(finished: Result, output: Output, *, private: bool) -> int:
    """Show what came of a run and return its exit code; of a private suite no more than how it ended."""
    if private:
        for record in finished.records:
            say(f"{record['run_id']}: {record['status']}")
        return results.exit_code(finished.records)
    document = results.written(finished.records, finished.trials, output.out)
    if output.as_json:
        print_json(document)
    else:
        results.show(finished.records, document, cases=not output.summary)
    return results.exit_code(finished.records)


def _tree(plan: Plan, data: Path) -> Path:
    from evalstats.journal import private_tree

    return private_tree(data) if plan.is_private else data


def _ingest(plan: Plan, data: Path, store: Path | None) -> None:
    """Load the journals; a locked store, or a bad journal of another run, is no failure of this run."""
    from evalstats import store as warehouse

    tree = _tree(plan, data)
    try:
        place = private_store if plan.is_private else store_path
        warehouse.ingest(place(tree, store), tree / "runs", private=plan.is_private)
    except (StoreError, JournalError) as error:
        complain(f"not ingested: {error}; run `evalstats ingest` later")


def list_runs(
    suite: Annotated[str | None, typer.Option("--suite", help="Only the runs of this suite.")] = None,
    role: Role = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """List the runs in the store, oldest first; for an evaluator those of private suites.

    Example: evalstats runs --suite solver
    """
    from evalstats import store as warehouse

    tree, private = data_tree(data, role), role is not None
    path = private_store(tree, store) if private else store_path(tree, store)
    with warehouse.open(path, read_only=True, private=private) as opened:
        frame = opened.runs(suite)
    if as_json:
        print_json(json.loads(frame.to_json(orient="records", date_format="iso")))
        return
    shown = ["run_id", "suite_id", "arm", "n_cases", "n_trials", "n_usable"]
    print_table([name.removeprefix("n_") for name in shown], frame[shown].itertuples(index=False))
