"""How much better is one arm on the same cases? Pairs of case means, and their mean difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalstats import stats
from evalstats.estimates.cases import SKILL_ARMS, case_table, groups, tidy
from evalstats.estimates.sides import Side, matched
from evalstats.stats.pairs import Pairs
from evalstats.stats.results import Estimate


class Matched(NamedTuple):
    """The cases that both arms have: their pairs for `stats`, and what stands behind them.

    ``cases`` holds one row per pair, in the order of the pairs, with ``archetype`` and the trials of both
    arms; ``table`` is the case table of the two arms, matched or not.
    """

    pairs: Pairs
    cases: pd.DataFrame
    table: pd.DataFrame

    @classmethod
    def of(cls, table: pd.DataFrame, arms: tuple[str, str], clusters: str | None = None) -> Matched:
        """Match the rows of a case table by ``arm`` and case; the first arm is the candidate."""
        table = table[table["arm"].isin(arms)]
        pairs, at_new, at_old = matched(*(side_of(table, arm, clusters) for arm in arms))
        new, old = (
            table[table["arm"] == arm].iloc[at] for arm, at in zip(arms, (at_new, at_old), strict=True)
        )
        trials = new["n_usable"].to_numpy() + old["n_usable"].to_numpy()
        return cls(pairs, new.assign(trials=trials).reset_index(drop=True), table)

    @property
    def n_trials(self) -> int:
        """Return how many usable trials stand behind the pairs."""
        return int(self.cases["trials"].sum())

    def counted(self, estimate: Estimate) -> Estimate:
        """Return the estimate with the trials as they are, where arms or cases differ in number."""
        return replace(estimate, n_trials=self.n_trials)


def side_of(table: pd.DataFrame, arm: str, clusters: str | None = None) -> Side:
    """Return one arm of a case table as a side of a comparison, its rows in their order."""
    rows = table[table["arm"] == arm]
    return Side(
        name=arm,
        cases=rows["case_id"].tolist(),
        n_trials=rows["n_trials"].to_numpy(),
        n_usable=rows["n_usable"].to_numpy(),
        n_passed=rows["n_passed"].to_numpy(),
        score_sum=rows["score_sum"].to_numpy(),
        archetypes=rows["archetype"].tolist() if "archetype" in rows else None,
        clusters=None if clusters is None else rows[clusters].to_numpy(),
    )


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
        The grouping keys and the fields of `Estimate`; groups in which an arm is missing are left out. Cases
        that one arm lacks are counted in a caveat; with more than a fifth of them nothing is estimated.
    """
    found = []
    for keys, group in groups(case_table(case_runs, by=("arm", *by), clusters=clusters), by):
        if set(arms) <= set(group["arm"]):
            matched = Matched.of(group, arms, clusters)
            estimate = stats.paired_difference(matched.pairs, rng=rng, level=level)
            found.append((keys, matched.counted(estimate)))
    return tidy(found, by)
