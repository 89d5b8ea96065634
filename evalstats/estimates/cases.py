"""Which trials belong together? From trials to cases, the sampling unit of every estimate.

The case table of the store (``case_runs``) has one row per run and case, with counts of trials and sums of
scores and of squared scores over the usable ones. No estimate needs more, so its cost does not grow with the
number of trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from evalstats.contract import Arm, Outcome
from evalstats.errors import UsageError
from evalstats.stats.results import Estimate, Test
from evalstats.trials import Trial

SKILL_ARMS = (Arm.SKILL_ON, Arm.SKILL_OFF)
ROUNDING = 1e-9  # sums of squares of scores in [0, 1] leave a remainder of either sign around 0

Keys = dict[str, Any]


class Grouping(TypedDict, total=False):
    """Which rows belong together, and which cases rise and fall together.

    ``by``: columns; each of their combinations is estimated by itself. ``clusters``: a column whose groups,
    not the cases, are taken as independent.
    """

    by: Sequence[str]
    clusters: str | None


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


def case_table(
    case_runs: pd.DataFrame, *, by: Sequence[str] = ("arm",), clusters: str | None = None
) -> pd.DataFrame:
    """How did each case do, over all runs? One row per group and case: trials, passes, mean score.

    Its archetype comes along, and the column that ``clusters`` names.
    """
    keys = list(dict.fromkeys([*by, "case_id"]))
    carried = [name for name in ("archetype", clusters) if name and name not in keys]
    counts = dict.fromkeys(["n_trials", "n_usable", "n_passed", "score_sum"], "sum")
    grouped = case_runs.groupby(keys, dropna=False, sort=True)
    table = grouped.agg(dict.fromkeys(carried, "first") | counts).reset_index()
    table["score"] = table["score_sum"] / table["n_usable"].where(table["n_usable"] > 0)
    return table


def squares_within(case_runs: pd.DataFrame) -> pd.Series[float]:
    """Return, for each row, the squared deviations of its trials from their mean; 0 without usable trials."""
    n = case_runs["n_usable"].where(case_runs["n_usable"] > 0, 1)
    squares = case_runs["score_sumsq"] - case_runs["score_sum"] ** 2 / n
    return squares.where(squares.abs() >= ROUNDING, 0.0)


def is_graded(case_runs: pd.DataFrame) -> bool:
    """Can a trial score between fail and pass? Seen from the sums: whole passes leave no remainder."""
    return bool((~np.isclose(case_runs["score_sum"], case_runs["n_passed"])).any())


def only(frame: pd.DataFrame) -> dict[str, Any] | None:
    """Return the one row of an estimate frame as a record; None where nothing could be estimated."""
    return None if frame.empty else {str(key): value for key, value in frame.to_dict("records")[0].items()}


def generator(seed: int) -> np.random.Generator:
    """Return the random numbers of a report: made once from its recorded seed, handed to whoever needs them."""
    return np.random.default_rng(seed)


def groups(frame: pd.DataFrame, by: Sequence[str]) -> list[tuple[Keys, pd.DataFrame]]:
    """Return each combination of the columns ``by`` with its rows, in order; all rows without columns."""
    if not by:
        return [({}, frame)]
    return [
        (dict(zip(by, keys, strict=True)), group)
        for keys, group in frame.groupby(list(by), dropna=False, sort=True)
    ]


def tidy(
    found: Iterable[tuple[Keys, Estimate] | tuple[Keys, Test]],
    keys: Sequence[str],
    kind: type[Estimate] | type[Test] = Estimate,
) -> pd.DataFrame:
    """Return records as a frame: the grouping keys, then the fields of the record, in that order."""
    columns = [*keys, *(field.name for field in fields(kind))]
    return pd.DataFrame([{**named, **record.as_row()} for named, record in found], columns=columns)


def require(frame: pd.DataFrame, columns: Sequence[str], what: str) -> None:
    """Raise UsageError, naming them, when ``frame`` lacks columns that ``what`` must have."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise UsageError(f"{what} lack {', '.join(missing)}; needed: {', '.join(columns)}", field=missing[0])
