"""The bridge: tidy trials x statistics -> tidy results.

Every function takes the case table of the store (``case_runs``: one row per run and case) and returns a
frame whose columns are the grouping keys followed by the fields of `Estimate` (or `Test`), in that order.
A case is the sampling unit; its score is the mean over its usable trials; arms are compared case by case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from evalstats import stats
from evalstats.contract import Arm, Outcome
from evalstats.stats.pairs import Pairs
from evalstats.stats.results import Estimate, Test
from evalstats.stats.trial_noise import WithinCases
from evalstats.trials import Trial

IDENTITY = ["suite_scoring", "model", "judge_model", "judge_rubric_sha256", "registry_version", "cli_version"]
SKILL_ARMS = (Arm.SKILL_ON, Arm.SKILL_OFF)
MIN_RUNS_FOR_BAND = 5  # below this the band comes from within-case variance (STATS, row 5)


def case_runs_of(trials: Iterable[Trial]) -> pd.DataFrame:
    """Return trials in memory as the case table the store would give, without the columns of the run."""
    rows = [
        {
            "run_id": t.run_id,
            "arm": str(t.arm),
            "case_id": t.case_id,
            "archetype": t.archetype,
            "n_trials": 1,
            "n_usable": int(t.outcome.usable),
            "n_passed": int(t.passed is True),
            "score_sum": t.score or 0.0,
            "score_sumsq": (t.score or 0.0) ** 2,
            "n_infrastructure": int(t.outcome is Outcome.INFRASTRUCTURE),
        }
        for t in trials
    ]
    keys = ["run_id", "arm", "case_id", "archetype"]
    return pd.DataFrame(rows).groupby(keys, dropna=False, sort=True).sum().reset_index()


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


def generator(seed: int) -> np.random.Generator:
    """Return the random numbers of a report: made once from its recorded seed, handed to whoever needs them."""
    return np.random.default_rng(seed)


def case_table(case_runs: pd.DataFrame, *, by: Sequence[str] = ("arm",)) -> pd.DataFrame:
    """How did each case do, over all runs? One row per group and case: trials, passes, mean score."""
    keys = list(dict.fromkeys([*by, "case_id", "archetype"]))
    counts = ["n_trials", "n_usable", "n_passed", "score_sum"]
    table = case_runs.groupby(keys, dropna=False, sort=True)[counts].sum().reset_index()
    table["score"] = table["score_sum"] / table["n_usable"].where(table["n_usable"] > 0)
    return table


def is_graded(case_runs: pd.DataFrame) -> bool:
    """Can a trial score between fail and pass? Seen from the sums: whole passes leave no remainder."""
    return bool((~np.isclose(case_runs["score_sum"], case_runs["n_passed"])).any())


def rate(
    case_runs: pd.DataFrame, *, level: float = 0.80, by: Sequence[str] = ("arm",), clusters: str | None = None
) -> pd.DataFrame:
    """How high is the mean score, and would it hold on cases like these (SUPER)?

    Graded scores use t on case means; yes/no trials use the method that holds its level at this size.
    ``clusters`` names a column whose groups, not the cases, are taken as independent.
    """
    graded = is_graded(case_runs)
    rows = []
    for keys, group in _groups(case_table(case_runs, by=by), by):
        usable = group[group["n_usable"] > 0]
        estimate = _mean_score(usable, graded=graded, clusters=clusters, level=level)
        rows.append({**keys, **_with_lost(estimate, len(group) - len(usable)).as_row()})
    return pd.DataFrame(rows)


def _mean_score(table: pd.DataFrame, *, graded: bool, clusters: str | None, level: float) -> Estimate:
    labels = None if clusters is None else table[clusters].to_numpy()
    trials = table["n_usable"].to_numpy()
    if graded:
        return stats.case_mean(table["score"].to_numpy(), clusters=labels, trials=trials, level=level)
    return stats.pass_rate(table["n_passed"].to_numpy(), trials, clusters=labels, level=level)


def _with_lost(estimate: Estimate, lost: int) -> Estimate:
    note = f"{lost} case(s) without a usable trial left out"
    return replace(estimate, caveats=(*estimate.caveats, note)) if lost else estimate


def difference(
    case_runs: pd.DataFrame,
    *,
    rng: np.random.Generator,
    level: float = 0.80,
    arms: tuple[str, str] = SKILL_ARMS,
    by: Sequence[str] = (),
    clusters: str | None = None,
) -> pd.DataFrame:
    """How much better is the first arm on the same cases (SUPER)? One row per group of ``by``.

    Returns
    -------
    pandas.DataFrame
        The grouping keys and the fields of `Estimate`; groups in which an arm is missing are left out.
    """
    rows = []
    for keys, group in _groups(case_table(case_runs, by=("arm", *by)), by):
        wide = group[group["arm"].isin(arms)].pivot(index="case_id", columns="arm", values="score")
        if set(arms) <= set(wide.columns):
            pairs = _pairs(group, wide, arms, graded=is_graded(case_runs), clusters=clusters)
            rows.append({**keys, **stats.paired_difference(pairs, rng=rng, level=level).as_row()})
    return pd.DataFrame(rows)


def _pairs(
    table: pd.DataFrame, wide: pd.DataFrame, arms: tuple[str, str], *, graded: bool, clusters: str | None
) -> Pairs:
    both = wide.dropna(subset=list(arms))
    labels = None
    if clusters is not None:
        labels = table.drop_duplicates("case_id").set_index("case_id").loc[both.index, clusters].to_numpy()
    trials = table.loc[table["case_id"].isin(both.index), "n_usable"]
    return Pairs(
        candidate=both[arms[0]].to_numpy(),
        baseline=both[arms[1]].to_numpy(),
        trials=int(trials.min()) if len(trials) else 0,
        graded=graded,
        clusters=labels,
        unmatched=len(wide) - len(both),
    )


def only(frame: pd.DataFrame) -> dict[str, Any] | None:
    """Return the one row of an estimate frame as a record; None where nothing could be estimated."""
    return None if frame.empty else {str(key): value for key, value in frame.to_dict("records")[0].items()}


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
    within = _within(usable)
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


def _within(case_runs: pd.DataFrame) -> WithinCases:
    """Return the variance inside each case, pooled over the runs: squares about each run's own case mean."""
    n = case_runs["n_usable"].to_numpy(float)
    squares = case_runs["score_sumsq"].to_numpy(float) - case_runs["score_sum"].to_numpy(float) ** 2 / n
    # Sums of squares of scores in [0, 1] may leave a rounding remainder of either sign around 0.
    squares = np.where(np.abs(squares) < 1e-9, 0.0, squares)
    pooled = (
        pd.DataFrame({"case_id": case_runs["case_id"].to_numpy(), "squares": squares, "df": n - 1, "n": n})
        .groupby("case_id", sort=True)
        .agg(squares=("squares", "sum"), df=("df", "sum"), n=("n", "mean"))
    )
    with np.errstate(invalid="ignore"):
        variances = np.where(
            pooled["df"] > 0, pooled["squares"] / pooled["df"].where(pooled["df"] > 0), np.nan
        )
    return WithinCases(variances=variances, trials=pooled["n"].to_numpy(), dfs=pooled["df"].to_numpy())


def bands(case_runs: pd.DataFrame, *, level: float = 0.80) -> pd.DataFrame:
    """Where should the next run of these very cases land (FIXED)? One row per arm and kind of band.

    Returns
    -------
    pandas.DataFrame
        Columns ``arm``, ``band`` (observed, model, confidence, tolerance) and the fields of `Estimate`. The
        band to use is ``observed`` from 5 runs on, ``model`` below: `which_band` says so for each arm.
    """
    rows = []
    for keys, group in _groups(case_runs, ("arm",)):
        means = series(group)["score"].dropna().to_numpy(float)
        within = _within(group[group["n_usable"] > 0])
        found = {
            "observed": stats.prediction_band(means, level=level),
            "model": stats.model_band(_centre(means), within, history=max(len(means), 1), level=level),
            "confidence": stats.confidence_band(means, level=level),
            "tolerance": stats.tolerance_band(means),
        }
        rows += [{**keys, "band": name, **estimate.as_row()} for name, estimate in found.items()]
    return pd.DataFrame(rows)


def _centre(means: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    return float(means.mean()) if len(means) else float("nan")


def which_band(bands: pd.DataFrame) -> pd.DataFrame:
    """Return the one band per arm that the number of runs supports: observed from 5 runs on, else model."""
    enough = bands.loc[bands["band"] == "observed"].set_index("arm")["n_cases"] >= MIN_RUNS_FOR_BAND
    wanted = bands["arm"].map(enough).map({True: "observed", False: "model"})
    return bands[bands["band"] == wanted].reset_index(drop=True)


def excess_variance(case_runs: pd.DataFrame) -> pd.DataFrame:
    """Do runs vary more than their trials explain? One F test per arm, observed against model."""
    rows = []
    for keys, group in _groups(case_runs, ("arm",)):
        means = series(group)["score"].dropna().to_numpy(float)
        test: Test = stats.variance_ratio(means, _within(group[group["n_usable"] > 0]))
        rows.append({**keys, **test.as_row()})
    return pd.DataFrame(rows)


def flakiness(case_runs: pd.DataFrame) -> pd.DataFrame:
    """Which cases vary from trial to trial, and which from run to run? One row per arm and case.

    Returns
    -------
    pandas.DataFrame
        ``arm, archetype, case_id, n_runs, n_trials, pass_rate, score, run_sd`` (spread of the case's score
        over runs; missing with a single run) and ``verdict_flips`` (share of neighbouring runs in which the
        majority changed between pass and fail; missing with a single run).
    """
    rows = []
    for (arm, case_id), case in case_runs[case_runs["n_usable"] > 0].groupby(["arm", "case_id"], sort=True):
        ordered = case.sort_values(["created_at", "run_id"])
        scores = (ordered["score_sum"] / ordered["n_usable"]).to_numpy(float)
        passes = (2 * ordered["n_passed"] > ordered["n_usable"]).to_numpy()
        several = len(ordered) > 1
        rows.append(
            {
                "arm": arm,
                "archetype": ordered["archetype"].iloc[0],
                "case_id": case_id,
                "n_runs": len(ordered),
                "n_trials": int(ordered["n_usable"].sum()),
                "pass_rate": ordered["n_passed"].sum() / ordered["n_usable"].sum(),
                "score": float(scores.mean()),
                "run_sd": float(scores.std(ddof=1)) if several else np.nan,
                "verdict_flips": float((passes[1:] != passes[:-1]).mean()) if several else np.nan,
            }
        )
    return pd.DataFrame(rows)


def _groups(frame: pd.DataFrame, by: Sequence[str]) -> Iterable[tuple[dict[str, Any], pd.DataFrame]]:
    if not by:
        return [({}, frame)]
    return [
        (dict(zip(by, keys, strict=True)), group)
        for keys, group in frame.groupby(list(by), dropna=False, sort=True)
    ]
