"""What a notebook reads: the case table of one suite, from a database or from a frozen snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.errors import UsageError
from evalstats.governance import lock_changes, locks

if TYPE_CHECKING:
    import pandas as pd


def find_store(place: str) -> Path:
    """Return the store at ``place``, looked for in the working folder and the folders above it.

    A notebook opened in JupyterLab runs inside ``notebooks/``, one run by papermill in the repository.
    """
    given = Path(place)
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / given).exists():
            return folder / given
    raise UsageError(
        "no store here or above; run `make demo`, or give another one", path=given, field="store"
    )


def find_file(place: str, field: str) -> Path:
    """Return the file at ``place``, looked for in the working folder and the folders above it."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / place).is_file():
            return folder / place
    raise UsageError("no such file here or above", path=place, field=field)


def case_runs(store: str, suite: str) -> pd.DataFrame:
    """Return one row per run and case of ``suite``: the table every estimate starts from.

    Beside the columns of the store stands ``case_hash``: which version of the case the run tried.

    Raises UsageError when no run of the suite has recorded a trial.
    """
    with warehouse.open(find_store(store), read_only=True) as opened:
        found = locks.case_runs(opened, suite)
    if found.empty:
        raise UsageError(
            f"no run of {suite} has recorded a trial; wait for one, or run it again", field="suite"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """The rows that may enter a headline; what was left out, in sentences; and the lock, for ``draft.data``."""

    runs: pd.DataFrame
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


def locked(case_runs: pd.DataFrame, lock: str) -> Locked:
    """Return the rows of the cases that ``lock`` holds, a name or a path; all rows when it is empty.

    Raises UsageError, naming the layer and the case, when a locked case is no longer what was locked.
    """
    if not lock:
        return Locked(runs=case_runs)
    suite = str(case_runs["suite_id"].iloc[0])
    held = check_lock(find_lock(lock), suite)
    runs = locks.locked_cases(case_runs, held)
    if runs.empty:
        raise UsageError(f"no locked case of {suite} has been tried", field="lock")
    tried, cases = set(case_runs["case_id"]), held.suite(suite).cases.keys()
    candidates, untried = sorted(tried - cases), sorted(cases - tried)
    said = f"Lock {held.name} ({held.sha256[:12]}) holds {len(cases)} cases of this suite"
    notes = [f"{said}; candidates left out: {', '.join(candidates) or 'none'}."]
    if untried:
        notes.append(f"Locked cases that no run has tried: {', '.join(untried)}.")
    named = {"name": held.name, "sha256": held.sha256, "candidates": candidates}
    return Locked(runs=runs, notes=tuple(notes), facts={"lock": named})


def find_lock(lock: str) -> Path:
    """Return the file of a lock, given by name or path, in the working folder or a folder above it."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        for place in (folder / lock, folder / "evals" / locks.FOLDER / f"{lock}.json"):
            if place.is_file():
                return place
    raise UsageError(
        "no such lock here or above; make one with `evalstats lock create`", path=lock, field="lock"
    )


def check_lock(path: Path, suite: str) -> locks.Lock:
    """Return the lock in ``path``; where it lies beside suites, hold the suite against it first."""
    from evalstats.suite import load_all

    held = locks.read(path)
    if path.parent.name == locks.FOLDER:
        lock_changes.check(held, suite, load_all(path.parent.parent)[0])
    return held


def facts(runs: pd.DataFrame) -> dict[str, Any]:
    """Return what a report says about its data: counts, what was excluded and why, and the rows' digest."""
    unusable = int((runs["n_trials"] - runs["n_usable"]).sum())
    infrastructure = int(runs["n_infrastructure"].sum())
    excluded = {"infrastructure": infrastructure, "other": unusable - infrastructure}
    return {
        "suite_id": str(runs["suite_id"].iloc[0]),
        "n_runs": int(runs["run_id"].nunique()),
        "n_cases": int(runs["case_id"].nunique()),
        "n_trials": int(runs["n_trials"].sum()),
        "usable": int(runs["n_usable"].sum()),
        "excluded": {reason: count for reason, count in excluded.items() if count},
        "case_ids": sorted(runs["case_id"].unique()),
        "input_sha256": warehouse.rows_digest(runs),
        "contains_mock": bool(runs["is_mock"].any()),
    }
