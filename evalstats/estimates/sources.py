"""Where does the variance come from: cases, days, trials?"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from evalstats.estimates.cases import groups, squares_within, tidy
from evalstats.stats.components import variance_components

DATE = "date"


def components(
    case_runs: pd.DataFrame,
    *,
    days: str | None = DATE,
    by: Sequence[str] = ("arm",),
    level: float = 0.95,
) -> pd.DataFrame:
    """Where does the variance come from? Between cases, days, case x day, and trials, in each group.

    Parameters
    ----------
    case_runs : pandas.DataFrame
        The case table: counts, sums and sums of squares are all that the method needs of the trials.
    days : str or None
        What is repeated over time: ``date``, the UTC date of the run; or a column, such as ``run_id``. None:
        all trials of a case are alike, whenever they were made.
    by : sequence of str
        Groups that are looked at by themselves. Without ``arm``, arms are fixed effects.
    level : float
        Level of the intervals.

    Returns
    -------
    pandas.DataFrame
        The columns of ``by``, ``component`` (case, day, case_day, trial, judge) and the fields of `Estimate`:
        variances, raw, hence at times below 0. NaN where the design cannot tell, with the level that it is
        confounded with; judgements need `noise_floor`.
    """
    found = []
    for keys, group in groups(case_runs[case_runs["n_usable"] > 0], by):
        rows = like_trials(group)
        variances = variance_components(
            rows["score"].to_numpy(),
            cases=codes(rows["case_id"]),
            days=None if days is None else _days(rows, days),
            arms=None if "arm" in by else codes(rows["arm"]),
            level=level,
        )
        names = type(variances).__dataclass_fields__
        found += [({**keys, "component": n}, v) for n, v in zip(names, variances, strict=True)]
    return tidy(found, [*by, "component"])


def like_trials(case_runs: pd.DataFrame) -> pd.DataFrame:
    """Return rows, one a usable trial, with the mean and the squares about it that each case table row has.

    Moments see nothing else of the trials: in each row one stands above the mean, the others alike below it.
    """
    n = case_runs["n_usable"].to_numpy()
    mean = case_runs["score_sum"].to_numpy() / n
    off = np.sqrt(squares_within(case_runs).clip(lower=0).to_numpy() / n / np.maximum(n - 1, 1))
    rows = case_runs.loc[case_runs.index.repeat(n)]
    first = np.r_[0, np.cumsum(n)[:-1]].astype(int)
    scores = np.repeat(mean - off, n)
    scores[first] = mean + off * (n - 1)
    return rows.assign(score=scores)


def _days(rows: pd.DataFrame, days: str) -> np.ndarray:
    return codes(rows["created_at"].dt.floor("D") if days == DATE else rows[days])


def codes(labels: pd.Series[Any]) -> np.ndarray:
    """Return labels as numbers from 0: sorting 100,000 words takes longer than all the moments do."""
    return np.asarray(pd.factorize(labels)[0])


def shares(components: pd.DataFrame) -> pd.DataFrame:
    """Return each variance of `components`, not below 0, and its share of the known ones of its group.

    Columns: those of ``by``, ``component``, ``variance``, ``share``; both missing where unknown.
    """
    keys = list(components.columns[: components.columns.get_loc("component")])
    table = components[[*keys, "component"]].assign(variance=components["estimate"].clip(lower=0))
    total = table.groupby(keys)["variance"].transform("sum") if keys else table["variance"].sum()
    return table.assign(share=table["variance"] / np.where(total > 0, total, nan))
