"""What a notebook reads: the case table of one suite, from a database or from a frozen snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.errors import UsageError

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


def case_runs(store: str, suite: str) -> pd.DataFrame:
    """Return one row per run and case of ``suite``: the table every estimate starts from.

    Raises UsageError when no run of the suite has recorded a trial.
    """
    with warehouse.open(find_store(store), read_only=True) as opened:
        found = opened.case_runs(suite)
    if found.empty:
        raise UsageError(
            f"no run of {suite} has recorded a trial; wait for one, or run it again", field="suite"
        )
    return found


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
