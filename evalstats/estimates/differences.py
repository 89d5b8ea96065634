"""How much better is one arm on the same cases? Pairs of case means, and their mean difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalstats import stats
from evalstats.estimates.cases import SKILL_ARMS, case_table, groups, is_graded, tidy
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
        sides = [table[table["arm"] == arm].set_index("case_id") for arm in arms]
        usable = [side[side["n_usable"] > 0] for side in sides]
        shared = usable[0].index.intersection(usable[1].index).sort_values()
        new, old = (side.loc[shared] for side in usable)
        trials = np.r_[new["n_usable"].to_numpy(), old["n_usable"].to_numpy()]
        pairs = Pairs(
            candidate=new["score"].to_numpy(),
            baseline=old["score"].to_numpy(),
            trials=_trials(trials),
            graded=is_graded(table),
            clusters=None if clusters is None else new.reset_index()[clusters].to_numpy(),
            unmatched=table["case_id"].nunique() - len(shared),
        )
        cases = new.assign(trials=new["n_usable"] + old["n_usable"]).reset_index()
        return cls(pairs, cases, table)

    @property
    def n_trials(self) -> int:
        """Return how many usable trials stand behind the pairs."""
        return int(self.cases["trials"].sum())

    def counted(self, estimate: Estimate) -> Estimate:
        """Return the estimate with the trials as they are, where arms or cases differ in number."""
        return replace(estimate, n_trials=self.n_trials)


def _trials(trials: np.ndarray) -> int:
    """Return the smallest number; 1 only if every case was tried once, since then scores are 0 or 1."""
    if not trials.size:
        return 0
    return int(trials.min()) if trials.min() > 1 else int(min(trials.max(), 2))


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
