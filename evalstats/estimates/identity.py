"""Which runs may be looked at together? Those of one identity; the others are named and left out."""

from __future__ import annotations

from typing import Any

import pandas as pd

from evalstats.contract import IDENTITY


def comparable(case_runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Which runs may be looked at together? Those of the newest identity; a sentence for each left out.

    Identity is the scoring hash of the suite, model, judge, rubric, registry and command line version. A run
    of fewer cases is no run of the suite, and of runs that repeat a seed only the first is more than a replica.
    """
    runs = case_runs.groupby("run_id", sort=False).first().sort_values("created_at", kind="stable")
    runs["cases"] = case_runs.groupby("run_id")["case_id"].nunique()
    newest = runs.iloc[-1]
    changed = {
        run_id: [n for n in IDENTITY if not _same(run[n], newest[n])] for run_id, run in runs.iterrows()
    }
    whole = runs.loc[[run_id for run_id in runs.index if not changed[run_id]], "cases"].max()
    notes: dict[Any, str] = {}
    seeds: set[tuple[Any, Any]] = set()
    for run_id, run in runs.iterrows():
        if changed[run_id]:
            notes[run_id] = f"{', '.join(changed[run_id])} changed since"
        elif run["cases"] < whole:
            notes[run_id] = f"it ran {run['cases']} of {whole} cases"
        elif (run["seed"], run["arm"]) in seeds:
            notes[run_id] = "it repeats the seed of an earlier run, so it is a replica"
        else:
            seeds.add((run["seed"], run["arm"]))
    kept = case_runs[~case_runs["run_id"].isin(list(notes))].reset_index(drop=True)
    return kept, [f"{run_id} left out: {note}" for run_id, note in notes.items()]


def _same(a: Any, b: Any) -> bool:
    return bool((pd.isna(a) and pd.isna(b)) or a == b)
