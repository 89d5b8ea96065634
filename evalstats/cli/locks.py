"""``evalstats lock``: which cases make the headlines of a quarter, and what a change of them does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli import lock_results
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
from evalstats.cli.tables import complain, say
from evalstats.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.governance.locks import Lock
    from evalstats.suite import Suite

CANNOT = 3
EVALUATOR = "evaluator"
app = typer.Typer()
Role = Annotated[str | None, typer.Option(help="evaluator: the role that may read a private holdout.")]
Level = Annotated[float, typer.Option(help="Level of the intervals, between 0 and 1.")]
Name = Annotated[
    str | None, typer.Argument(help="A lock, by name or path [default: the last].", metavar="LOCK")
]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the new lock, e.g. 2026Q4.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Suites to lock [default: all].", metavar="SUITE...")
    ] = None,
    role: Role = None,
    suites: Suites = DEFAULT_SUITES,
    as_json: Json = False,
) -> None:
    """Freeze the locked cases of suites.

    A lock is never overwritten: the next quarter has its own.

    Example: evalstats lock create 2026Q4
    """
    from evalstats.governance import locks

    chosen = _chosen(names or [], suites, evaluator=_is_evaluator(role))
    made = locks.create(name, chosen, evaluator=_is_evaluator(role))
    path = locks.write(made, suites / locks.FOLDER)
    if as_json:
        print_json({"path": str(path), **made})
    else:
        cases = sum(len(suite["cases"]) for suite in made["suites"])
        private = f" and {len(made['private'])} private" if made["private"] else ""
        say(f"{path}: {cases} case(s) of {len(made['suites'])} suite(s){private}, {made['sha256']}")


@app.command()
def verify(
    name: Name = None, role: Role = None, suites: Suites = DEFAULT_SUITES, as_json: Json = False
) -> int:
    """Name every layer and case that changed.

    Exit 1 if anything did since the lock was made. New cases are candidates, which are listed and no error.

    Example: evalstats lock verify 2026Q4 --json
    """
    from evalstats.governance import lock_changes, locks

    lock = locks.read(locks.find(name, suites))
    present = _present(suites)
    found = lock_changes.verify(lock, present, evaluator=_is_evaluator(role))
    if as_json:
        print_json({"lock": lock.name, "sha256": lock.sha256, **lock_results.verified(found)})
    else:
        lock_results.say_verified(lock, found)
    return 1 if found.findings else 0


@app.command()
def candidates(
    name: Name = None,
    level: Level = 0.80,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """List the cases outside the lock.

    With what is known of them so far, and whether the next lock should admit them.

    Example: evalstats lock candidates 2026Q4
    """
    from evalstats.governance import locks
    from evalstats.governance.candidates import as_record, proposals

    lock = locks.read(locks.find(name, suites))
    present = _present(suites)
    runs = _case_runs(store_path(data, store), [suite.id for suite in present])
    found = proposals(lock, present, runs, level=_checked(level))
    if as_json:
        print_json({"lock": lock.name, "sha256": lock.sha256, "candidates": [as_record(c) for c in found]})
    else:
        lock_results.show_candidates(lock, found)


@app.command()
def bridge(
    old: Annotated[str, typer.Argument(help="The lock that was, by name or path.")],
    new: Annotated[str, typer.Argument(help="The lock that is to be.")],
    level: Level = 0.80,
    out: Annotated[Path | None, typer.Option(help="Also write the bridge, as JSON, here.")] = None,
    suites: Suites = DEFAULT_SUITES,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Say what a change of lock does to headlines.

    Reads the same trials under both locks, from runs that tried the cases of both. Exit 3 when a suite has none.

    Example: evalstats lock bridge 2026Q4 2027Q1
    """
    from evalstats import contract
    from evalstats.governance import locks
    from evalstats.journal import write_synced

    held = [locks.read(locks.find(name, suites)) for name in (old, new)]
    document = _bridged(held[0], held[1], store_path(data, store), _checked(level))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_synced(out, contract.canonical(document) + b"\n")
    if as_json:
        print_json(document)
    else:
        lock_results.show_bridge(document)
    return CANNOT if document["refused"] else 0


# --- what there is -------------------------------------------------------------------------------


def _is_evaluator(role: str | None) -> bool:
    if role not in (None, EVALUATOR):
        raise UsageError(f"unknown role {role!r}; known: {EVALUATOR}", field="--role")
    return role == EVALUATOR


def _checked(level: float) -> float:
    if not 0 < level < 1:
        raise UsageError(f"must lie between 0 and 1; got {level:g}", field="--level")
    return level


def _present(suites: Path) -> list[Suite]:
    """Return the suites of a folder; one that cannot be read is named, and will be missing from its lock."""
    from evalstats import suite

    found, failures = suite.load_all(suites)
    for line in (line for failure in failures for line in failure.lines()):
        complain(line)
    return found


def _chosen(names: Sequence[str], suites: Path, *, evaluator: bool) -> list[Suite]:
    """Return the suites to lock: those named; else all of the folder, without private ones unless for an evaluator."""
    from evalstats import suite
    from evalstats.governance.locks import is_private

    if names:
        return [suite.load(suite_place(name, suites)) for name in names]
    found, failures = suite.load_all(suites)
    if failures:
        raise failures[0]
    kept = [each for each in found if evaluator or not is_private(each)]
    if len(kept) < len(found):
        complain(f"{len(found) - len(kept)} private suite(s) left out; they need --role evaluator")
    return kept


def _case_runs(store: Path, suite_ids: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return the case table of each of these suites that the store knows; nothing without a store."""
    from evalstats import store as warehouse
    from evalstats.governance import locks

    if not store.exists():
        complain(f"no store at {store}: nothing is known of any trial")
        return {}
    with warehouse.open(store, read_only=True) as opened:
        known = [suite_id for suite_id in suite_ids if suite_id in opened.suites()]
        return {suite_id: locks.case_runs(opened, suite_id) for suite_id in known}


def _bridged(old: Lock, new: Lock, store: Path, level: float) -> dict[str, Any]:
    """Return the bridge of every suite that both locks hold; one that has none is refused with its reason."""
    from evalstats.governance import bridge

    moved = bridge.moved(old, new)
    tables, made, refused = _case_runs(store, moved) if moved else {}, [], {}
    for suite_id in moved:
        try:
            if suite_id not in tables:
                raise UsageError("no run of it is in the store")
            made.append(
                bridge.shift(tables[suite_id], old.suites[suite_id], new.suites[suite_id], level=level)
            )
        except UsageError as error:
            refused[suite_id] = error.message
    return bridge.document(old, new, made, refused)
