"""``evalstats nightly``: run, ingest, report, judge; one summary and one exit code for a scheduler."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli.options import (
    DEFAULT_DATA,
    DEFAULT_SUITES,
    Data,
    Json,
    Reports,
    StorePath,
    Suites,
    print_json,
    reports_path,
    store_path,
    suite_place,
)
from evalstats.cli.outputs import check_files, write_files
from evalstats.cli.progress import Progress, Style
from evalstats.cli.tables import complain, print_table, say
from evalstats.errors import UsageError
from evalstats.nightly.record import Step

if TYPE_CHECKING:
    from evalstats.nightly.order import Outcome
    from evalstats.nightly.steps import Watch
    from evalstats.runner import Plan
    from evalstats.runner.events import Listener
    from evalstats.suite import Suite

DEMO = ("contract-canaries", "ab-demo", "weights-demo", "solver")
DEMO_FOLDER = "nightly-demo"  # in the data folder: a demonstration leaves the history of the suites alone


def nightly(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Suite files, folders or names [default: all of --suites].", metavar="SUITE..."),
    ] = None,
    policy: Annotated[
        list[Path] | None,
        typer.Option("--policy", help="A policy; may be repeated [default: policy.json beside each suite]."),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(help="The date of the night [default: today, UTC].", metavar="DATE")
    ] = None,
    skip: Annotated[list[Step] | None, typer.Option(help="Leave out this step; may be repeated.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="The bundled suites, in a data folder apart.")] = False,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials per case [default: the suite's].")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Trials at once.")] = os.cpu_count() or 1,
    summary: Annotated[Path | None, typer.Option(help="Add the night to this Markdown file.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the night to this JUnit XML file.")] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="Folder that outlives the machine: nights, decisions, runs as Parquet."),
    ] = None,
    baselines: Annotated[
        Path | None, typer.Option(help="Flat folder of baselines [default: beside each suite].")
    ] = None,
    progress: Annotated[Style, typer.Option(help="How to show progress on stderr.")] = Style.AUTO,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    reports: Reports = None,
    as_json: Json = False,
) -> int:
    """Make the night of a date: run, ingest, reports, gate, site.

    The same command goes on with a night that was stopped, and does nothing for one that is done. A date other
    than today is set by hand, and its runs say so; they need a data folder (--data) of their own.

    Exit code: the worst of 0 pass, 1 regression, 3 cannot gate, 4 inconclusive; 2 bad input. A live suite counts
    once it is ratcheted.

    Example: evalstats nightly solver --summary night.md
    """
    from evalstats.nightly import Asked, Places, pages, run

    check_files(summary, junit)
    data = data / DEMO_FOLDER if demo else data
    asked = Asked(
        suites=_suites(names or [], suites, demo=demo),
        policies=policy or (),
        as_of=as_of,
        skip=frozenset(skip or ()),
        trials=trials,
        jobs=jobs,
        baselines=baselines,
    )
    places = Places(
        data=data,
        store=store_path(data, store),
        reports=reports_path(data, reports),
        suites=suites,
        history=history,
    )
    outcome = run(asked, places, watch=_watching(progress), tell=_told)
    write_files(summary, pages.summary(outcome.night), junit, pages.junit(outcome.night))
    _show(outcome, as_json)
    return int(outcome.night.exit_code)


def _suites(names: list[str], folder: Path, *, demo: bool) -> list[Suite]:
    """Return the suites of tonight. Raises SuiteError for one that is not as it must be: a night leaves none out."""
    from evalstats import suite

    if demo and names:
        raise UsageError("runs the bundled suites; name none beside it", field="--demo")
    if demo or names:
        return [suite.load(suite_place(name, folder)) for name in (DEMO if demo else names)]
    found, faults = suite.load_all(folder)
    if faults:
        raise faults[0]
    return [each for each in found if not each.is_private]


def _watching(style: Style) -> Watch:
    @contextlib.contextmanager
    def watching(plan: Plan) -> Iterator[Listener]:
        with Progress(len(plan.specs), style, terminal=sys.stderr.isatty()) as shown:
            yield shown.tell

    return watching


def _told(suite: str, step: Step, seconds: float) -> None:
    complain(f"{suite}: {step} {seconds:.1f} s")


# --- what is said -----------------------------------------------------------------------------------


def _show(outcome: Outcome, as_json: bool) -> None:
    from evalstats.nightly import pages

    if not outcome.is_new:
        complain(f"the night of {outcome.night.date} was done before; nothing new")
    if outcome.no_site:
        complain(f"site: {outcome.no_site}")
    for problem in outcome.site.problems if outcome.site is not None else ():
        complain(f"site: {problem}")
    if as_json:
        print_json(outcome.night.as_record())
        return
    for line in pages.sentences(outcome.night):
        say(line)
    print_table(pages.HEADER, pages.rows(outcome.night))
    _show_times(outcome)
    if outcome.site is not None:
        say(f"dashboard: {outcome.site.path}/index.html")


def _show_times(outcome: Outcome) -> None:
    spent = [part.seconds for part in outcome.night.parts.values()]
    told = [
        f"{step} {sum(times.get(step, 0.0) for times in spent):.1f}" for step in Step if step is not Step.SITE
    ]
    total = sum(sum(times.values()) for times in spent)
    say(f"seconds: {', '.join(told)}; {total:.1f} in all")
