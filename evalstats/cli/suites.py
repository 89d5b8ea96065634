"""``evalstats suite``: check and describe a suite."""

from __future__ import annotations

import shutil
import textwrap
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli.options import DEFAULT_SUITES, Json, Role, Suites, print_json, suite_place
from evalstats.cli.tables import print_table, say

if TYPE_CHECKING:
    from evalstats.governance.headline import Headline
    from evalstats.governance.lift_counts import Count
    from evalstats.governance.lint import Code, Finding, SuiteLint
    from evalstats.runner.answers import Rule
    from evalstats.suite import Suite

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
def show_hashes(name: str, role: Role = None, suites: Suites = DEFAULT_SUITES, as_json: Json = False) -> None:
    """Print the five digests of a suite and one for each case; of a private one for an evaluator alone.

    Example: evalstats suite hash solver --json
    """
    from evalstats import suite

    loaded = _readable(suite.load(suite_place(name, suites)), role)
    layers, cases = suite.hashes(loaded), suite.case_hashes(loaded)
    if as_json:
        print_json({"suite": loaded.id, "path": str(loaded.path), "hashes": layers, "cases": cases})
    else:
        print_table(("layer", "sha256"), [*layers.items(), *((f"case {c}", h) for c, h in cases.items())])


@app.command()
def show(name: str, role: Role = None, suites: Suites = DEFAULT_SUITES, as_json: Json = False) -> None:
    """Print what a suite asks, case by case; of a private one for an evaluator alone.

    Example: evalstats suite show solver
    """
    from evalstats import suite

    loaded = _readable(suite.load(suite_place(name, suites)), role)
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


@app.command()
def lint(
    names: Names,
    report: Annotated[Path | None, typer.Option("--report", help="Lift report with results.")] = None,
    store: Annotated[Path | None, typer.Option("--store", help="Database or Parquet with trials.")] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option("--fail-on", help="Code or severity for exit code 1, or never [default: warning]."),
    ] = None,
    suites: Suites = DEFAULT_SUITES,
    as_json: Json = False,
) -> int:
    """Say what is weak, wrong or hidden in suites, each with its place and a way out.

    Goes on where a suite breaks its schema. Results, from a report or a store, show more.

    Example: evalstats suite lint solver --store data/evalstats.duckdb --fail-on error
    """
    from evalstats.governance import lint as linting

    words = fail_on or [linting.Severity.WARNING]
    linting.fails((), words)
    found = _linted([suite_place(name, suites) for name in names], report, store)
    if as_json:
        print_json(linting.document(found))
    else:
        _show_findings(found)
    if any(one.n_cases == 0 for one in found):
        return 2
    return 1 if linting.fails(found, words) else 0


@app.command()
def headline(
    report: Annotated[Path, typer.Argument(help="Lift report, of either shape.")],
    scoring: Annotated[
        str, typer.Option("--scoring", help="ours, or source: manifest checks without a manifest pass.")
    ] = "ours",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the intervals.")] = 1,
    as_json: Json = False,
) -> int:
    """Recompute the lift of a report over four units; exit 1 where it is no headline.

    Example: evalstats suite headline report.json --scoring source
    """
    from evalstats.governance import headline as headlines
    from evalstats.importers.lift_reports import read_report

    rule, told = _rule(scoring), read_report(report)
    from evalstats import estimates  # only now: it is slow to import, and may not be needed

    found = headlines.headline(told, rng=estimates.generator(seed), scoring=rule)
    if as_json:
        print_json(headlines.document(found))
    else:
        _show_headline(found)
    return 1 if found.refusals else 0


def _readable(loaded: Suite, role: str | None) -> Suite:
    from evalstats.runner.planning import check_role

    check_role(loaded, role)
    return loaded


def _linted(places: list[Path], report: Path | None, store: Path | None) -> list[SuiteLint]:
    from evalstats.governance.lint import lint
    from evalstats.importers.lift_reports import read_report

    told = None if report is None else read_report(report)
    if store is None:
        return [lint(place, report=told) for place in places]
    from evalstats import store as warehouse

    with warehouse.open(store, read_only=True) as opened:
        return [lint(place, report=told, store=opened) for place in places]


def _show_findings(found: list[SuiteLint]) -> None:
    for one in found:
        say(f"{one.path}: {one.n_cases} cases, {one.n_expectations} expectations")
        if one.blank_answer is not None and one.blank_answer.earned["source"]:
            blank, all_of = one.blank_answer, one.blank_answer.expectations
            say(
                f"  a blank answer earns {blank.earned['source']} of {all_of}: {blank.vacuous} vacuous,"
                f" {blank.by_construction} by construction"
            )
        for code, several in groupby(one.findings, key=lambda finding: finding.code):
            _show_code(code, list(several))
    counts = [f.severity for one in found for f in one.findings]
    said = [f"{counts.count(severity)} {severity}(s)" for severity in dict.fromkeys(counts)]
    say(f"{len(found)} suite(s): {', '.join(said) or 'nothing found'}")


def _show_code(code: Code, findings: list[Finding]) -> None:
    """Print what was found, each sentence once, and under it the places."""
    _say_wrapped(f"  {code.severity} {code} ({len(findings)}): {code.way_out}", indent=4)
    for what in dict.fromkeys(finding.what for finding in findings):
        _say_wrapped(f"    {what}:", indent=6)
        for f in findings:
            if f.what == what:
                line = "" if f.line is None else f"line {f.line}"
                say(f"      {line:<9} {f.pointer or '(document)'}  {f.case or ''}".rstrip())


def _say_wrapped(text: str, indent: int) -> None:
    width = max(40, shutil.get_terminal_size((100, 24)).columns)
    for line in textwrap.wrap(text, width, subsequent_indent=" " * indent, break_long_words=False):
        say(line)


def _rule(word: str) -> Rule:
    from evalstats.errors import UsageError
    from evalstats.runner.answers import Rule

    if word not in list(Rule):
        raise UsageError(f"unknown rule {word!r}; known: {', '.join(Rule)}", field="--scoring")
    return Rule(word)


def _show_headline(found: Headline) -> None:
    say(f"{found.report.path}: {found.prompts} prompts, scoring {found.scoring}")
    for refusal in found.refusals:
        _say_wrapped(f"  no headline: {refusal}", indent=4)
    say(f"  without the skill {_share(found.baseline)}, with it {_share(found.with_skill)}")
    rows = [
        (one.over, one.estimate, _interval(one.conf_low, one.conf_high), one.method) for one in found.lifts
    ]
    if rows:
        print_table(("lift over", "lift", "80% interval", "method"), rows)
    print_table(
        ("archetype", "prompts", "without", "with", "lift"),
        [
            (a.archetype, a.prompts, _share(a.baseline), _share(a.with_skill), a.lift)
            for a in found.archetypes
        ],
    )
    notes: dict[str, list[str]] = {caveat: [] for caveat in found.caveats}
    for one in found.lifts:
        for caveat in one.caveats:
            notes.setdefault(caveat, []).append(one.over)
    for caveat, over in notes.items():
        _say_wrapped(f"  {caveat}{_over(over)}", indent=4)


def _over(units: list[str]) -> str:
    return f" (over {', '.join(units)})" if units else ""


def _share(count: Count) -> str:
    return "–" if count.rate is None else f"{count.met}/{count.total} ({count.rate:.4f})"


def _interval(low: float | None, high: float | None) -> str:
    return "none" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"
