"""Which cases vary, from trial to trial and from run to run?"""

from __future__ import annotations

import pandas as pd

COLUMNS = [
    "arm",
    "archetype",
    "case_id",
    "n_runs",
    "n_trials",
    "pass_rate",
    "score",
    "run_sd",
    "verdict_flips",
]


def flakiness(case_runs: pd.DataFrame) -> pd.DataFrame:
    """Which cases vary from trial to trial, and which from run to run? One row per arm and case.

    Returns
    -------
    pandas.DataFrame
        ``arm, archetype, case_id, n_runs, n_trials, pass_rate, score, run_sd`` (spread of the case's score
        over runs; missing with a single run) and ``verdict_flips`` (share of neighbouring runs in which the
        majority changed between pass and fail; missing with a single run).
    """
    usable = case_runs[case_runs["n_usable"] > 0].sort_values(["arm", "case_id", "created_at", "run_id"])
    usable = usable.assign(
        score=usable["score_sum"] / usable["n_usable"], passes=2 * usable["n_passed"] > usable["n_usable"]
    )
    keys = ["arm", "case_id"]
    before = usable.groupby(keys)["passes"].shift()  # missing in a case's first run
    usable["flips"] = (usable["passes"] != before).where(before.notna()).astype("float64")
    table = (
        usable.groupby(keys, sort=True)
        .agg(
            archetype=("archetype", "first"),
            n_runs=("run_id", "size"),
            n_trials=("n_usable", "sum"),
            n_passed=("n_passed", "sum"),
            score=("score", "mean"),
            run_sd=("score", "std"),
            verdict_flips=("flips", "mean"),
        )
        .reset_index()
    )
    table["pass_rate"] = table["n_passed"] / table["n_trials"]
    return table[COLUMNS]
