"""``evalstats baseline``: from a finished run to what later runs are held against."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from evalstats.cli.options import (
    DEFAULT_DATA,
    DEFAULT_SUITES,
    Data,
    Json,
    Role,
    Suites,
    print_json,
)
from evalstats.cli.tables import complain, print_table, say
from evalstats.errors import UsageError

if TYPE_CHECKING:
    from evalstats.governance.baselines import Baseline
    from evalstats.governance.comparing import Comparison
    from evalstats.governance.promotion import Request
    from evalstats.governance.provenance import Origin
    from evalstats.governance.verdicts import Quantity

app = typer.Typer()
Folder = Annotated[
    Path | None,
    typer.Option("--baselines", help="Flat folder of baselines [default: beside each suite]."),
]


Word = TypeVar("Word", bound=StrEnum)


def one_of(words: type[Word], given: str, option: str) -> Word:
    """Return the word that was given. Raises UsageError naming those there are."""
    if given not in list(words):
        raise UsageError(f"{given!r} is none of {', '.join(words)}", field=option)
    return words(given)


@app.command()
def capture(run: str, role: Role = None, data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Keep a finished run as something to compare with; it stays in the data folder.

    Example: evalstats baseline capture eval-20260701T020000Z-solver-1a2b3c
    """
    from evalstats.governance.captures import Places
    from evalstats.governance.captures import capture as keep

    found = Places(data=data, suites=DEFAULT_SUITES, role=role).run(run)
    path = keep(found, data)
    document = {"run_id": found.run_id, "suite_id": found.suite_id, "path": str(path)}
    tell([f"{found.run_id}: captured in {path}"], document, as_json, run=found)


@app.command()
def compare(
    candidate: str,
    baseline: Annotated[str | None, typer.Argument(help="[default: the suite's promoted baseline]")] = None,
    role: Role = None,
    suites: Suites = DEFAULT_SUITES,
    baselines: Folder = None,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> int:
    """Hold a run against a baseline; each is a run id, a file or a suite name.

    Exit code: 0 pass or improvement, 1 fail or regression, 3 advisory (no verdict can be given),
    4 inconclusive.

    Example: evalstats baseline compare eval-20260702T020000Z-solver-4d5e6f solver
    """
    from evalstats import trials
    from evalstats.estimates import generator
    from evalstats.governance.captures import Places
    from evalstats.governance.comparing import compare as held_against
    from evalstats.governance.verdicts import EXIT_CODES

    places = Places(data=data, suites=suites, baselines=baselines, role=role)
    new = places.find(candidate)
    old = places.find(baseline) if baseline else places.baseline_of(new)
    rng = generator(trials.run_seed(new.run_id))
    found = held_against(new, old, places.rules(new), rng=rng)
    if as_json:
        print_json(found.as_record())
    else:
        _show(found)
    return EXIT_CODES[found.verdict]


def _show(found: Comparison) -> None:
    say(f"{found.suite_id}: {found.candidate.run_id} held against {found.baseline.run_id}")
    say(f"{found.verdict.upper()}")
    for line in (*found.reasons, *found.scope.notes):
        say(f"  {line}")
    say()
    from evalstats.governance.verdicts import LEVEL

    header = ("", "before", "now", f"difference [{LEVEL:.0%}]", "finding")
    print_table(header, [_row(quantity) for quantity in found.facts.quantities])
    for line in _tolerances(found):
        say(line)
    changes = [case.change for case in found.facts.critical]
    counts = ", ".join(f"{changes.count(change)} {change}" for change in dict.fromkeys(changes))
    say(f"critical cases: {counts or 'none'}")
    for case_id, reason in found.scope.left_out.items():
        say(f"left out: {case_id}, {reason}")


def _tolerances(found: Comparison) -> list[str]:
    """Return what may be lost, in words, and how the findings of several dimensions are to be read."""
    others = [q for q in found.facts.dimensions if not q.protected]
    protected = ", ".join(q.name for q in found.facts.dimensions if q.protected)
    more = f", a dimension {others[0].tolerance:g}" if others else ""
    together = sum(q.difference_p is not None for q in others) > 1
    return [
        f"may drop: the aggregate {found.facts.aggregate.tolerance:g}{more}",
        *([f"must not drop: {protected}"] if protected else []),
        *(["each interval stands alone; the findings allow for several dimensions"] if together else []),
    ]


def _row(q: Quantity) -> tuple[str, ...]:
    words = "missing" if q.delta is None else "–" if q.finding is None else q.finding.replace("_", " ")
    return q.name, _four(q.baseline), _four(q.candidate), _difference(q), words


def _difference(q: Quantity) -> str:
    if q.delta is None:
        return "–"
    if q.conf_low is None or q.conf_high is None:
        return f"{q.delta:+.3f}, no interval"
    return f"{q.delta:+.3f}" + (
        " exactly" if q.method == "exact" else f" [{q.conf_low:+.3f}, {q.conf_high:+.3f}]"
    )


def _four(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


@app.command()
def review(
    run: str,
    by: Annotated[str, typer.Option("--by", help="Who has looked.")],
    looked_at: Annotated[
        list[str],
        typer.Option(
            "--looked-at", help="cases, transcripts, artifacts, comparison or holdouts; may be repeated."
        ),
    ],
    reject: Annotated[bool, typer.Option("--reject", help="The run must not become the baseline.")] = False,
    notes: Annotated[str, typer.Option(help="For your own team; never published.")] = "",
    role: Role = None,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Record who has looked at a run, and at what.

    Example: evalstats baseline review RUN --by ada --looked-at cases --looked-at holdouts
    """
    from evalstats.governance import reviews
    from evalstats.governance.captures import Places

    outcome = reviews.Outcome.REJECTED if reject else reviews.Outcome.ACCEPTED
    seen = [one_of(reviews.LookedAt, word, "--looked-at") for word in looked_at]
    opinion = reviews.Opinion(reviewer=by, outcome=outcome, looked_at=seen, notes=notes)
    found = Places(data=data, suites=suites, role=role).run(run)
    entry = reviews.review(found, opinion, data)
    said = f"{entry['run_id']}: {entry['outcome']} by {entry['reviewer']}, who looked at {', '.join(seen)}"
    tell([said], entry, as_json, run=found)


@app.command()
def promote(
    run: str,
    rationale: Annotated[str, typer.Option(help="Why this run, in your own words.")] = "",
    by: Annotated[str, typer.Option("--by", help="Who promotes.")] = "",
    variance_notes: Annotated[
        str | None, typer.Option(help="What is known of the variance; a live suite needs it.")
    ] = None,
    skipped: Annotated[
        list[str] | None, typer.Option(help="A skipped case, or none; a live suite needs it.")
    ] = None,
    standing: Annotated[
        str | None, typer.Option(help="advisory or blocking [default: as the suite's policy says].")
    ] = None,
    role: Role = None,
    suites: Suites = DEFAULT_SUITES,
    baselines: Folder = None,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> int:
    """Make a finished run the baseline of its suite, or say everything that speaks against it.

    Exit code: 0 promoted, 1 refused.

    Example: evalstats baseline promote RUN --by ada --rationale "new retrieval, reviewed on Tuesday"
    """
    from evalstats.governance.captures import Places
    from evalstats.governance.promotion import PromotionRefused
    from evalstats.governance.promotion import promote as make_baseline

    request = _request(rationale, by, variance_notes, skipped, standing)
    try:
        places = Places(data=data, suites=suites, baselines=baselines, role=role)
        entry = make_baseline(run, request, places)
    except PromotionRefused as refused:
        tell(refused.lines(), refused.as_record(), as_json)
        return refused.exit_code
    said = f"{entry['suite_id']}: {entry['run_id']} is the baseline now ({entry['baseline_path']})"
    tell([said], entry, as_json, run=places.run(run))
    return 0


def _request(
    rationale: str, by: str, variance_notes: str | None, skipped: list[str] | None, standing: str | None
) -> Request:
    from evalstats.governance.promotion import Request
    from evalstats.governance.refusals import Standing

    return Request(
        rationale=rationale,
        promoter=by,
        variance_notes=variance_notes,
        skipped_cases=None if not skipped else tuple(case for case in skipped if case != "none"),
        standing=None if standing is None else one_of(Standing, standing, "--standing"),
    )


def tell(lines: Iterable[str], document: Any, as_json: bool, *, run: Baseline | None = None) -> None:
    """Print the lines for a person, or the document for a script; of a private run only that it was done."""
    if run is not None and run.is_private:
        lines, document = [f"{run.run_id}: done"], {"run_id": run.run_id, "done": True}
    if as_json:
        print_json(document)
        return
    for line in lines:
        say(line)


@app.command("list")
def list_baselines(
    verify: Annotated[
        bool, typer.Option("--verify", help="Say what does not fit; exit 1 if anything.")
    ] = False,
    suites: Suites = DEFAULT_SUITES,
    baselines: Folder = None,
    as_json: Json = False,
) -> int:
    """List the suites, the run that each is held against, and who made it the baseline.

    Example: evalstats baseline list --verify
    """
    from evalstats.governance.audit_inputs import read_suites
    from evalstats.governance.provenance import broken, origins

    if not suites.is_dir():
        raise UsageError("no such folder", path=suites, field="--suites")
    entries = [entry for entry in read_suites(suites, baselines) if not entry.private]
    for entry in entries:
        if entry.problem:
            complain(f"left out: {entry.path}: {entry.problem}")
    sound = [entry.suite for entry in entries if entry.suite is not None and not entry.problem]
    found = origins(sound, baselines)
    problems = [*broken(found), *(f"{o.suite_id}: {problem}" for o in found for problem in o.problems)]
    if as_json:
        print_json({"baselines": [origin.as_record() for origin in found], "problems": problems})
    else:
        print_table(("suite", "mode", "baseline", "promoted", "by", "standing"), [_origin(o) for o in found])
        tell(problems if verify else [], None, as_json)
    return int(verify and bool(problems))


def _origin(origin: Origin) -> tuple[str | None, ...]:
    last = origin.promotion
    if last is None or origin.run_id is None:
        return origin.suite_id, origin.mode, origin.run_id, None, None, None
    day, standing = last["promoted_at"][:10], last["conditions"]["standing"]
    return origin.suite_id, origin.mode, origin.run_id, day, last["promoter"], standing
