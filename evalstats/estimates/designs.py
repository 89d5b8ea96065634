"""How many cases and trials does the next study need? Designs from a pilot, with what each would see."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan, sqrt
from typing import Any

import pandas as pd

from evalstats.estimates.cases import SKILL_ARMS
from evalstats.estimates.sources import codes, like_trials
from evalstats.stats.allocation import Costs, Plan, best_allocation, cheapest_plan
from evalstats.stats.components import variance_components
from evalstats.stats.planning import Spread, Study, cases_needed, detectable_effect

PAIRED = Study(paired=True)
TRIALS = (1, 2, 3, 5, 10)
COLUMNS = ["design", *Plan._fields, "caveats"]
SINGLE = "one trial a case: all variance is counted as between cases, so more trials may help more than said"
FEW_CASES = 30
FLATTERS = f"fewer than {FEW_CASES} cases: the truth is larger"


def spread(case_runs: pd.DataFrame, *, arms: Sequence[str] = SKILL_ARMS) -> tuple[Spread | None, str]:
    """What makes scores vary? Variances for a plan, from a pilot; None, and why, where it plans nothing.

    Of two arms, the variance between cases is that of the true case differences; of one arm, of case means.
    All trials of a case count alike, whenever they were made, so that days are part of the trial noise. The
    text may also be a caveat on a spread that is there.
    """
    rows = like_trials(case_runs[(case_runs["n_usable"] > 0) & case_runs["arm"].isin(list(arms))])
    paired = len(arms) > 1
    found = variance_components(
        rows["score"].to_numpy(),
        cases=codes(rows["case_id"]),
        days=codes(rows["arm"]) if paired else None,  # the two arms of a case cross as days would
    )
    if isnan(found.case.estimate):
        return None, f"the pilot plans nothing: {found.case.caveats[0]}"
    between = 2 * found.case_day.estimate if paired else found.case.estimate
    if isnan(between):
        return None, f"the pilot plans nothing: {found.case_day.caveats[0]}"
    single = isnan(found.trial.estimate)
    try:
        known = Spread(case=max(between, 0.0), trial=0.0 if single else max(found.trial.estimate, 0.0))
    except ValueError as error:
        return None, str(error)
    return known, SINGLE if single else ""


def plan(
    case_runs: pd.DataFrame,
    *,
    effect: float,
    study: Study = PAIRED,
    costs: Costs | None = None,
    arms: Sequence[str] = SKILL_ARMS,
) -> pd.DataFrame:
    """How many cases does it take to see the effect, and what would the pilot have seen?

    Parameters
    ----------
    case_runs : pandas.DataFrame
        The case table of the pilot.
    effect : float
        Smallest effect that matters, above 0, in the unit of the score.
    study : Study
        Whether two arms are compared or one is measured, for which population, and how surely.
    costs : Costs, optional
        Price of a case, a trial and a judgement: adds the cheapest design and the best split.
    arms : sequence of str
        The two arms of a paired study; otherwise the first is meant.

    Returns
    -------
    pandas.DataFrame
        ``design, cases, trials, judge_repeats, cost, detectable, caveats``. ``pilot``: as it was run, with
        the smallest effect it sees; ``T trials``: the cases that see the effect; ``cheapest``; ``best split``:
        the trials and judgements that buy most, as real numbers. A saturated pilot gives one row, refused.
    """
    compared = list(arms) if study.paired else list(arms[:1])
    known, note = spread(case_runs, arms=compared)
    caveats = (note,) if note else ()
    if known is None:
        return pd.DataFrame([_row("refused", [nan] * len(Plan._fields), *caveats)], columns=COLUMNS)
    rows = [_pilot(case_runs[case_runs["arm"].isin(compared)], known, study)]
    for trials in TRIALS[:1] if note == SINGLE else TRIALS:
        cases = cases_needed(effect, known, study, trials=trials)
        cost = cases * costs.of_case(len(compared), trials, 1) if costs else nan
        seen = detectable_effect(known, study, cases=cases, trials=trials)
        rows.append(
            _row("1 trial" if trials == 1 else f"{trials} trials", Plan(cases, trials, 1, cost, seen))
        )
    if costs is not None:
        rows.append(_row("cheapest", cheapest_plan(effect, known, costs, study)))
        best = best_allocation(known, costs, study)
        split = nan if note == SINGLE else best.trials, best.judge_repeats
        rows.append(_row("best split", (nan, *split, nan, nan), *best.caveats))
    return pd.DataFrame([{**row, "caveats": caveats + row["caveats"]} for row in rows], columns=COLUMNS)


def _pilot(case_runs: pd.DataFrame, known: Spread, study: Study) -> dict[str, Any]:
    """Return the pilot as a design: its cases, and the harmonic mean of trials of a case in an arm."""
    usable = case_runs[case_runs["n_usable"] > 0].groupby(["arm", "case_id"])["n_usable"].sum()
    arms = usable.index.get_level_values("arm").nunique()
    cases = int((usable.groupby("case_id").size() == arms).sum())
    trials = len(usable) / float((1 / usable).sum())
    seen = study.multiplier * sqrt(study.variance_of_case(known, trials, 1) / max(cases, 1))
    few = (FLATTERS,) if cases < FEW_CASES else ()
    return _row("pilot", (cases, trials, 1, nan, seen), *few)


def _row(design: str, plan: Sequence[float], *caveats: str) -> dict[str, Any]:
    return dict(zip(COLUMNS, [design, *plan, caveats], strict=True))
