"""``evalstats quarantine``: which cases are not believed for now, and their way back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli.evidence import Level, Name, case_runs, public_suite
from evalstats.cli.options import (
    DEFAULT_DATA,
    DEFAULT_SUITES,
    Data,
    Json,
    StorePath,
    Suites,
    print_json,
    store_path,
)
from evalstats.cli.tables import print_table, say
from evalstats.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.governance.flakes import Criteria, Review, WayBack
    from evalstats.governance.quarantine import Entry, Reason
    from evalstats.suite import Suite

app = typer.Typer()
Names = Annotated[list[str], typer.Argument(help="Suite files, folders or names.", metavar="SUITE...")]
CaseId = Annotated[str, typer.Option("--case", help="The case.")]
By = Annotated[str, typer.Option("--by", help="Who decides.")]
Why = Annotated[str, typer.Option("--why", help="Why, in a sentence.")]
Until = Annotated[datetime, typer.Option("--until", formats=["%Y-%m-%d"], help="Last day of the stay (UTC).")]
MaxFlake = Annotated[
    float, typer.Option("--max-flake", help="Share of runs that may fail for a case to come back.")
]


@app.command("list")
def list_cases(
    names: Names,
    history: Annotated[bool, typer.Option("--history", help="Every line, also of cases let out.")] = False,
    suites: Suites = DEFAULT_SUITES,
    as_json: Json = False,
) -> None:
    """List the cases in quarantine, with who, why and until when.

    Example: evalstats quarantine list solver --history
    """
    from evalstats.governance import quarantine

    chosen: list[Entry] = []
    for suite in [public_suite(name, suites) for name in names]:
        chosen += quarantine.lines(suite) if history else quarantine.inside(suite).values()
    if as_json:
        print_json([entry.as_document() for entry in chosen])
    else:
        _show_entries(chosen)


@app.command()
def add(
    name: Name,
    case: CaseId,
    by: By,
    why: Why,
    until: Until,
    level: Level = 0.95,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
) -> None:
    """Put a flaky case into quarantine, with what its runs say.

    Example: evalstats quarantine add solver --case A1 --by me --why "races its server" --until 2030-01-31
    """
    from evalstats.governance import flakes, quarantine

    criteria = flakes.Criteria(level=level)
    desk = _desk(public_suite(name, suites), store_path(data, store), criteria)
    evidence = flakes.evidence(desk.rows, case, level=level)
    entry = quarantine.add(desk.suite, case, _reason(by, why, until), evidence)
    against = f"{evidence['n_against']} of {evidence['n_trials']} trials against the majority"
    bounds = f"[{evidence['conf_low']:.4f}, {evidence['conf_high']:.4f}] at {level:.0%}"
    say(f"{desk.suite.id}: {case} in quarantine until {entry.until}: {against}, {bounds}")


@app.command()
def release(
    name: Name,
    case: CaseId,
    by: By,
    why: Why,
    max_flake: MaxFlake = 0.05,
    level: Level = 0.95,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
) -> None:
    """Let a case out of quarantine, with what it has shown since.

    Example: evalstats quarantine release solver --case A1 --by me --why "clean since the fix"
    """
    from evalstats.governance import flakes, quarantine

    criteria = flakes.Criteria(max_flake=max_flake, level=level)
    desk = _desk(public_suite(name, suites), store_path(data, store), criteria)
    shown = flakes.way_back(desk.rows[desk.rows["case_id"] == case], desk.since(case), criteria)
    quarantine.release(desk.suite, case, _reason(by, why), flakes.as_evidence(shown))
    say(f"{desk.suite.id}: {case} is back; {_shown(shown)}")


@app.command()
def review(
    names: Names,
    max_flake: MaxFlake = 0.05,
    level: Level = 0.95,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Say which cases have earned their way back, and which others look flaky.

    Exit 1 when a stay is overdue or an active case looks flaky.

    Example: evalstats quarantine review solver --json
    """
    from evalstats.governance import flakes

    criteria, today = flakes.Criteria(max_flake=max_flake, level=level), datetime.now(UTC).date()
    loaded = [public_suite(name, suites) for name in names]
    desks = [_desk(suite, store_path(data, store), criteria) for suite in loaded]
    reviews = [flakes.review(d.suite, d.rows, d.inside, criteria, today=today) for d in desks]
    if as_json:
        print_json([found.as_document() for found in reviews])
    else:
        _show_reviews(reviews)
    return 1 if any(found.needs_action for found in reviews) else 0


# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """What is needed to decide about one suite: its cases in quarantine and the runs that count."""

    suite: Suite
    inside: dict[str, Entry]
    rows: pd.DataFrame

    def since(self, case: str) -> str:
        """Return when the case was put in. Raises UsageError when it is not in."""
        from evalstats.governance.quarantine import register_path

        if case not in self.inside:
            raise UsageError(
                f"case {case!r} is not in quarantine", path=register_path(self.suite), field="--case"
            )
        return self.inside[case].at


def _desk(suite: Suite, store: Path, criteria: Criteria) -> _Desk:
    from evalstats.governance import flakes, quarantine

    rows = flakes.judged_runs(case_runs(store, suite.id), suite, criteria.arm)
    return _Desk(suite=suite, inside=quarantine.inside(suite), rows=rows)


def _reason(by: str, why: str, until: datetime | None = None) -> Reason:
    """Return the reason without the credentials that the environment holds: the register is committed."""
    from evalstats.governance.quarantine import Reason
    from evalstats.redact import Redactor

    redactor = Redactor(os.environ)
    safe = [redactor(text.encode("utf-8", "replace")).decode() for text in (by, why)]
    return Reason(by=safe[0], why=safe[1], until=until and until.date())


def _show_entries(entries: list[Entry]) -> None:
    if not entries:
        say("no case in quarantine")
        return
    rows = [(e.suite_id, e.case_id, e.action, e.at[:10], e.until, e.by, e.why) for e in entries]
    print_table(("suite", "case", "action", "on", "until", "by", "why"), rows)


def _show_reviews(reviews: list[Review]) -> None:
    for found in reviews:
        criteria = found.criteria
        say(
            f"{found.suite_id}: back after {criteria.clean_runs_needed} clean runs: then at most "
            f"{criteria.max_flake:g} of them fail, at {criteria.level:.0%}"
        )
        for stay in found.stays:
            late = f"; overdue since {stay.entry.until}" if stay.overdue else ""
            gone = "" if stay.in_suite else "; no longer in the suite"
            say(f"  in  {stay.entry.case_id}: {_shown(stay.way_back)}{late}{gone}")
        for case_id, flake in found.flaky.items():
            bounds = f"[{flake.conf_low:.4f}, {flake.conf_high:.4f}]"
            trials = f"{flake.n_against} of {flake.n_trials} trials against the majority"
            say(f"  flaky?  {case_id}: {trials}, {bounds}, {flake.n_runs} runs")
        if found.note:
            say(f"  {found.note}")


def _shown(way_back: WayBack) -> str:
    if not way_back.n_runs:
        return f"no run since; {way_back.more_runs} clean ones needed"
    clean = f"{way_back.n_runs - way_back.n_failed} of {way_back.n_runs} runs clean since"
    bound = f"at most {way_back.failure_rate_high:.4f} of them fail"
    if way_back.earned:
        return f"{clean}, {bound}: earned"
    more = "a run has failed" if way_back.more_runs is None else f"{way_back.more_runs} more needed"
    return f"{clean}, {bound}: not yet, {more}"
