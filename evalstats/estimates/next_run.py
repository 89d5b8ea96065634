"""Where should the next run of these very cases land? The series of runs, and bands around it (FIXED)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from evalstats import stats
from evalstats.contract import IDENTITY
from evalstats.estimates.cases import groups, squares_within, tidy
from evalstats.stats.results import Test
from evalstats.stats.trial_noise import WithinCases

MIN_RUNS_FOR_BAND = 5  # below this the band comes from within-case variance (STATS, row 5)


def series(case_runs: pd.DataFrame) -> pd.DataFrame:
    """What did each run say? One row per run: counts, mean score, and its variance by trial noise alone.

    Returns
    -------
    pandas.DataFrame
        Columns of ``series`` in schema report.v1, identity spread over columns; oldest run first.
    """
    rows = [_run_row(run) for _, run in case_runs.groupby("run_id", sort=False)]
    return pd.DataFrame(rows).sort_values(["started_at", "run_id"], ignore_index=True)


def _run_row(run: pd.DataFrame) -> dict[str, Any]:
    head, usable = run.iloc[0], run[run["n_usable"] > 0]
    scores = usable["score_sum"] / usable["n_usable"]
    rates = usable["n_passed"] / usable["n_usable"]
    within = within_cases(usable)
    return {
        "run_id": head["run_id"],
        "group_id": head["group_id"],
        "arm": head["arm"],
        "started_at": pd.Timestamp(head["created_at"]),
        "seed": head["seed"],
        "n_cases": len(usable),
        "n_trials": int(run["n_trials"].sum()),
        "usable": int(run["n_usable"].sum()),
        "infrastructure": int(run["n_infrastructure"].sum()),
        "pass_rate": float(rates.mean()) if len(usable) else None,
        "score": float(scores.mean()) if len(usable) else None,
        "within_variance": None if within.problem() else within.run_variance()[0],
        "is_mock": bool(head["is_mock"]),
        **{name: None if pd.isna(head[name]) else head[name] for name in IDENTITY},
    }


def within_cases(case_runs: pd.DataFrame) -> WithinCases:
    """Return the variance inside each case, pooled over the runs: squares about each run's own case mean."""
    n = case_runs["n_usable"]
    parts = pd.DataFrame({"squares": squares_within(case_runs), "df": n - 1, "n": n})
    parts = parts.set_axis(pd.Index(case_runs["case_id"], name="case_id"), axis=0)
    if parts.index.is_unique:  # one run: nothing to pool, and a series asks for hundreds of them
        pooled = parts.sort_index()
    else:
        pooled = parts.groupby("case_id", sort=True).agg({"squares": "sum", "df": "sum", "n": "mean"})
    variances = pooled["squares"] / pooled["df"].where(pooled["df"] > 0)
    return WithinCases(
        variances=variances.to_numpy(float),
        trials=pooled["n"].to_numpy(float),
        dfs=pooled["df"].to_numpy(float),
    )


def bands(case_runs: pd.DataFrame, *, level: float = 0.80) -> pd.DataFrame:
    """Where should the next run of these very cases land (FIXED)? One row per arm and kind of band.

    Returns
    -------
    pandas.DataFrame
        Columns ``arm``, ``band`` (observed, model, confidence, tolerance) and the fields of `Estimate`. The
        band to use is ``observed`` from 5 runs on, ``model`` below: `which_band` says so for each arm.
    """
    rows = []
    for keys, group in groups(case_runs, ("arm",)):
        means = _run_means(group)
        centre = float(means.mean()) if len(means) else float("nan")
        within = within_cases(group[group["n_usable"] > 0])
        found = {
            "observed": stats.prediction_band(means, level=level),
            "model": stats.model_band(centre, within, history=max(len(means), 1), level=level),
            "confidence": stats.confidence_band(means, level=level),
            "tolerance": stats.tolerance_band(means),
        }
        rows += [({**keys, "band": name}, estimate) for name, estimate in found.items()]
    return tidy(rows, ["arm", "band"])


def _run_means(case_runs: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    return series(case_runs)["score"].dropna().to_numpy(float)


def which_band(bands: pd.DataFrame) -> pd.DataFrame:
    """Return the one band per arm that the number of runs supports: observed from 5 runs on, else model."""
    enough = bands.loc[bands["band"] == "observed"].set_index("arm")["n_cases"] >= MIN_RUNS_FOR_BAND
    wanted = bands["arm"].map(enough).map({True: "observed", False: "model"})
    return bands[bands["band"] == wanted].reset_index(drop=True)


def excess_variance(case_runs: pd.DataFrame) -> pd.DataFrame:
    """Do runs vary more than their trials explain? One F test per arm, observed against model."""
    found = [
        (keys, stats.variance_ratio(_run_means(group), within_cases(group[group["n_usable"] > 0])))
        for keys, group in groups(case_runs, ("arm",))
    ]
    return tidy(found, ["arm"], Test)
