"""How much of the headroom does the skill take? The lift, its cousins side by side, and archetypes."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from evalstats.estimates.cases import SKILL_ARMS, case_table, require, tidy
from evalstats.estimates.differences import Matched
from evalstats.estimates.records import noted
from evalstats.stats.archetypes import archetype_differences, archetype_lifts, macro_lift
from evalstats.stats.lifts import lift as lift_of
from evalstats.stats.lifts import lift_of_medians
from evalstats.stats.results import Estimate, counted, undefined

NO_ARCHETYPE = "(none)"
TRIALS_OF_A_MEDIAN = 3


def lift(
    case_runs: pd.DataFrame,
    *,
    rng: np.random.Generator,
    level: float = 0.80,
    arms: tuple[str, str] = SKILL_ARMS,
    expectations: pd.DataFrame | None = None,
    clusters: str | None = None,
) -> pd.DataFrame:
    """How much of the headroom does the first arm take, 1 - F_w / F_b, on the same cases (SUPER)?

    Parameters
    ----------
    case_runs : pandas.DataFrame
        The case table.
    rng : numpy.random.Generator
        For the resampling.
    level : float
        Level of the interval.
    arms : tuple of two str
        With the skill, and without.
    expectations : pandas.DataFrame, optional
        ``expectation_rates`` of the store: a case's number of required expectations is its weight in the
        lift over expectations, and inside archetypes.
    clusters : str, optional
        A column whose groups, not the cases, are taken as independent.

    Returns
    -------
    pandas.DataFrame
        ``over`` (cases, the primary one; expectations; archetype mean; archetype median) and the fields of
        `Estimate`. The last two are descriptions, without an interval. A caveat that begins with "greyed"
        says that the difference is the headline.
    """
    matched = Matched.of(case_table(case_runs, clusters=clusters), arms, clusters)
    found = {"cases": matched.counted(lift_of(matched.pairs, rng=rng, level=level))}
    weights = None if expectations is None else _required(expectations, matched.cases["case_id"])
    if weights is None:
        found["expectations"] = _unweighted(found["cases"])
    else:
        kept = _kept(matched, np.flatnonzero(weights))
        over_expectations = lift_of(kept.pairs, rng=rng, level=level, weights=weights[weights > 0])
        none = int((weights == 0).sum())
        note = f"{counted(none, 'case')} without a required expectation left out" if none else ""
        found["expectations"] = noted(kept.counted(over_expectations), note)
    for average in ("mean", "median"):
        found[f"archetype {average}"] = matched.counted(_macro(matched, weights, average, level))
    return tidy([({"over": over}, estimate) for over, estimate in found.items()], ["over"])


def _required(expectations: pd.DataFrame, case_ids: pd.Series[str]) -> np.ndarray:
    """Return how many required expectations each case has, 0 if none."""
    require(expectations, ["case_id", "idx", "required"], "expectations")
    required = expectations[expectations["required"].astype(bool)]
    counts = required.groupby("case_id")["idx"].nunique()
    return case_ids.map(counts).fillna(0).to_numpy(int)


def _unweighted(over_cases: Estimate) -> Estimate:
    known = {name: getattr(over_cases, name) for name in ("population", "level", "n_cases", "n_clusters")}
    unknown = "the expectations of the cases were not given"
    return undefined(unknown, estimand="weighted lift", n_trials=0, method="none", **known)


def _kept(matched: Matched, which: np.ndarray) -> Matched:
    """Return the pairs at these places; a place named twice is there twice."""
    pairs = matched.pairs
    kept = replace(
        pairs,
        candidate=np.asarray(pairs.candidate)[which],
        baseline=np.asarray(pairs.baseline)[which],
        clusters=None if pairs.clusters is None else np.asarray(pairs.clusters)[which],
    )
    return Matched(kept, matched.cases.iloc[which], matched.table)


def _macro(
    matched: Matched, weights: np.ndarray | None, average: Literal["mean", "median"], level: float
) -> Estimate:
    """Return the average of archetype lifts; a case of k expectations counts k times inside its archetype."""
    times = np.ones(len(matched.cases), dtype=int) if weights is None else weights
    repeated = _kept(matched, np.repeat(np.arange(times.size), times))
    labels = repeated.cases["archetype"].fillna(NO_ARCHETYPE).to_numpy(str)
    found = macro_lift(repeated.pairs, archetypes=labels, average=average, level=level)
    note = "" if weights is None else "cases count by their expectations inside an archetype"
    return noted(replace(found, n_cases=len(matched.cases)), note)


def by_archetype(
    case_runs: pd.DataFrame,
    *,
    rng: np.random.Generator,
    level: float = 0.80,
    arms: tuple[str, str] = SKILL_ARMS,
) -> pd.DataFrame:
    """On which archetypes does the first arm gain or lose (SUPER)?

    Returns
    -------
    pandas.DataFrame
        ``archetype``, ``quantity`` and the fields of `Estimate`. ``difference`` has one variance pooled over
        all archetypes; ``shrunken`` is pulled towards the common difference, for ranking only; ``lift`` is
        refused for an archetype of a few prompts.
    """
    matched = Matched.of(case_table(case_runs), arms)
    labels = matched.cases["archetype"].fillna(NO_ARCHETYPE).to_numpy(str)
    pairs, trials = matched.pairs, matched.cases.groupby(labels)["trials"].sum()
    found = {
        "difference": archetype_differences(pairs, archetypes=labels, level=level),
        "shrunken": archetype_differences(pairs, archetypes=labels, shrunken=True, level=level),
        "lift": archetype_lifts(pairs, archetypes=labels, rng=rng, level=level),
    }
    rows = [
        ({"archetype": name, "quantity": quantity}, replace(groups[name], n_trials=int(trials[name])))
        for name in sorted(trials.index)
        for quantity, groups in found.items()
    ]
    return tidy(rows, ["archetype", "quantity"])


def legacy_lift(
    trials: pd.DataFrame,
    *,
    rng: np.random.Generator,
    level: float = 0.80,
    arms: tuple[str, str] = SKILL_ARMS,
) -> pd.DataFrame:
    """What would the older rule read, which keeps the median of three trials? Another estimand (SUPER).

    Takes the trials of the store; of each case and arm the first three usable ones count, oldest first. One
    row: ``over`` (medians of 3) and the fields of `Estimate`. Cases with fewer are left out and counted.
    """
    require(trials, ["case_id", "arm", "usable", "score", "started_at", "trial_index"], "trials")
    usable = trials[trials["usable"].fillna(False).astype(bool) & trials["arm"].isin(arms)]
    usable = usable.sort_values(["started_at", "run_id", "trial_index"], kind="stable")
    place = usable.groupby(["arm", "case_id"]).cumcount()
    wide = usable.assign(place=place)[place < TRIALS_OF_A_MEDIAN].pivot(
        index="case_id", columns=["arm", "place"], values="score"
    )
    columns = pd.MultiIndex.from_product([arms, range(TRIALS_OF_A_MEDIAN)])
    whole = wide.reindex(columns=columns).dropna()
    new, old = (whole[arm].to_numpy(float) for arm in arms)
    lost = trials["case_id"].nunique() - len(whole)
    extra = int((place >= TRIALS_OF_A_MEDIAN).sum())
    estimate = noted(
        lift_of_medians(new, old, rng=rng, level=level),
        f"{counted(lost, 'case')} without three usable trials in both arms left out" if lost else "",
        f"{counted(extra, 'trial')} beyond the first three of a case not used" if extra else "",
    )
    return tidy([({"over": "medians of 3"}, estimate)], ["over"])
