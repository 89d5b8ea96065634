"""``evalstats coverage | readiness | headroom``: what the suites cover, and whether they let a release go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from evalstats.cli.tables import print_table, say
from evalstats.contract import Axis
from evalstats.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.errors import DocumentError
    from evalstats.governance.evidence_kinds import Coverage
    from evalstats.governance.headroom import Headroom
    from evalstats.governance.readiness import LastRun, ReleaseReadiness
    from evalstats.suite import Suite

Name = Annotated[str, typer.Argument(help="Suite file, folder or name.", metavar="SUITE")]
Level = Annotated[float, typer.Option("--level", help="Confidence of each bound.")]
Baselines = Annotated[
    Path | None,
    typer.Option("--baselines", help="Flat folder of baselines [default: beside each suite]."),
]
Required = Annotated[
    list[str] | None,
    typer.Option("--require", metavar="KIND", help="A kind, or domain=, dimension=, runtime=NAME."),
]


def coverage(suites: Suites = DEFAULT_SUITES, require: Required = None, as_json: Json = False) -> int:
    """Count what kinds of evidence the suites give.

    Exit 1 when something required is missing, or a suite cannot be read.

    Example: evalstats coverage --require holdout --require dimension=safety
    """
    from evalstats.governance import evidence_kinds as covering

    loaded, unloadable = _suites(suites)
    found = covering.coverage(loaded, required=require or (), unloadable=unloadable)
    if as_json:
        print_json(covering.as_document(found))
    else:
        _show_coverage(found)
    return 0 if found.complete else 1


def readiness(
    suites: Suites = DEFAULT_SUITES,
    baselines: Baselines = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Sum up whether the suites let a release go.

    Exit 1 when they do not.

    Example: evalstats readiness --data data
    """
    from evalstats.governance import audit, quarantine
    from evalstats.governance import readiness as releasing

    loaded, unloadable = _suites(suites)
    found = releasing.release_readiness(
        loaded,
        audit.audit_baselines(suites, baselines),
        last=_last_runs(store_path(data, store), data / "runs", loaded),
        quarantined={suite.id: quarantine.inside(suite) for suite in loaded},
        unloadable=unloadable,
    )
    if as_json:
        print_json(releasing.as_document(found))
    else:
        _show_readiness(found)
    return 1 if found.word == releasing.NOT_READY else 0


def headroom(
    name: Name,
    room: Annotated[float, typer.Option("--room", help="Pass rates this near to 0 or 1 leave none.")] = 0.05,
    level: Level = 0.95,
    axis: Annotated[Axis, typer.Option("--axis", help="Which pair of arms.")] = Axis.SKILL,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """Say for each case whether it can still show a difference.

    Example: evalstats headroom solver
    """
    from evalstats.governance import headroom as screening

    suite = public_suite(name, suites)
    rows, notes = screening.believable(case_runs(store_path(data, store), suite.id), suite)
    ids = [case.id for case in suite.cases]
    cases = screening.screen(rows, cases=ids, axis=axis, room=room, level=level)
    if as_json:
        shown = {"suite": suite.id, "axis": axis, "room": room, "level": level, "notes": notes}
        print_json({**shown, "cases": [asdict(case) for case in cases]})
    else:
        _show_headroom(cases, notes, level)


# --------------------------------------------------------------------------------------------------


def public_suite(name: str, suites: Path) -> Suite:
    """Return the suite called ``name``. Raises UsageError for a private holdout: nothing here may name its cases."""
    from evalstats import suite
    from evalstats.contract import Visibility

    loaded = suite.load(suite_place(name, suites))
    if loaded.visibility is Visibility.PRIVATE_HOLDOUT:
        raise UsageError("is a private holdout, whose cases are named nowhere", path=loaded.path)
    return loaded


def case_runs(store: Path, suite_id: str) -> pd.DataFrame | None:
    """Return the case table of a suite; None where there is no store, or nothing of the suite in it."""
    from evalstats import store as warehouse

    if not store.exists():
        return None
    with warehouse.open(store, read_only=True) as opened:
        return opened.case_runs(suite_id) if suite_id in opened.suites() else None


def _suites(folder: Path) -> tuple[list[Suite], list[DocumentError]]:
    from evalstats import suite

    if not folder.is_dir():
        raise UsageError("no such folder; name the folder of the suites with --suites", path=folder)
    return suite.load_all(folder)


def _last_runs(store: Path, runs: Path, loaded: list[Suite]) -> dict[str, LastRun]:
    from evalstats import store as warehouse
    from evalstats.governance.readiness import last_runs

    if not store.exists():
        return {}
    with warehouse.open(store, read_only=True) as opened:
        return last_runs(opened.runs(), runs, loaded)


def _show_coverage(found: Coverage) -> None:
    total = found.total
    say(f"{total.suite_count} suites, {total.case_count} cases, {total.critical_case_count} critical")
    for error in found.unloadable:
        say(f"{error.path}: cannot be read as a suite; see evalstats suite validate")
    if found.n_private:
        say(f"{found.n_private} private suite(s) left out")
    for axis, by_name in found.tallies.items() if found.cases else ():
        say()
        rows = [(name, t.suite_count, t.case_count, t.critical_case_count) for name, t in by_name.items()]
        print_table((axis.replace("_", " "), "suites", "cases", "critical"), rows)
    say()
    inferred = sum(found.kinds("inferred").values())
    say(f"evidence kinds: {total.case_count - inferred} cases declared, {inferred} inferred from their words")
    for axis, names in found.missing.items():
        for name in names:
            say(f"missing: {axis.removesuffix('s').replace('_', ' ')} {name}")


def _show_readiness(found: ReleaseReadiness) -> None:
    say(found.word.replace("_", " "))
    for reason in found.blocks:
        say(f"  blocks: {reason}")
    for reason in found.looks:
        say(f"  look at: {reason}")
    if found.n_private:
        say(f"{found.n_private} private suite(s) left out")
    rows = [
        (
            standing.suite.id,
            standing.gate or "advisory",
            standing.last_run and (standing.last_run.status or "unknown"),
            standing.staleness,
            len(standing.quarantined),
        )
        for standing in found.standings
    ]
    if rows:
        print_table(("suite", "gate", "last run", "stale", "quarantined"), rows)


def _show_headroom(cases: Sequence[Headroom], notes: Sequence[str], level: float) -> None:
    for note in notes:
        say(note)
    words = [
        f"{word} {sum(case.word == word for case in cases)}" for word in dict.fromkeys(c.word for c in cases)
    ]
    say(f"{', '.join(words)}; bounds at {level:.0%}")
    on, off = (count.arm for count in cases[0].arms)
    rows = [
        (
            case.case_id,
            case.word + "?" * bool(case.more_trials),
            *(f"{count.n_passed}/{count.n_usable}" for count in case.arms),
            case.why,
            case.more_trials,
        )
        for case in cases
    ]
    print_table(("case", "headroom", on, off, "why", "needs"), rows)
    if any(case.more_trials for case in cases):
        say("? so it looks; it needs so many more trials an arm, all alike, to be sure")
