"""What moves when one judge takes the place of another? Both on the same transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evalstats.errors import UsageError
from evalstats.estimates.cases import tidy
from evalstats.estimates.records import noted
from evalstats.judging.verdicts import UNIT, known_judge, majorities
from evalstats.stats.paired_counts import PairedTable, mcnemar_exact, newcombe_paired
from evalstats.stats.repeated_trials import pass_rate
from evalstats.stats.resampling import bootstrap
from evalstats.stats.results import Estimate, Test

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.stats.results import FloatArray

SAME_CASE = "several expectations or trials of a case are taken as independent"
REPS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What a change from judge ``old`` to ``new`` does, on the transcripts that both have judged.

    ``estimates`` has the columns ``measure`` and the fields of `Estimate`; ``moved`` is one row per verdict that
    changed; ``left_out`` counts the verdicts of one judge without one of the other.
    """

    old: str
    new: str
    table: PairedTable
    test: Test
    estimates: pd.DataFrame
    moved: pd.DataFrame
    left_out: int


def migrate(
    judgements: pd.DataFrame,
    old: str,
    new: str,
    *,
    pass_mark: float,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Migration:
    """Return what moves between two judges, and what a pass mark on the old one is worth on the new one.

    Parameters
    ----------
    judgements : pandas.DataFrame
        As the store gives them. A verdict is the majority of the repeats of a judge; a tie is no.
    old, new : str
        The judges, by model or as tables name them.
    pass_mark : float
        A pass rate on the old judge, in [0, 1].
    rng : numpy.random.Generator
        For the interval of what the mark is worth.
    level : float
        Level of the intervals.

    Raises
    ------
    UsageError
        A judge is not known, or no transcript was judged by both.
    """
    names = known_judge(judgements, old), known_judge(judgements, new)
    pairs, left_out = _pairs(judgements, names)
    table = PairedTable.of(pairs["new"].to_numpy() == 1, pairs["old"].to_numpy() == 1)
    note = SAME_CASE if pairs["case_id"].nunique() < len(pairs) else ""
    found = [*_measures(pairs, table, level), ("worth", _worth(pairs, pass_mark, rng, level))]
    return Migration(
        old=names[0],
        new=names[1],
        table=table,
        test=noted(replace(mcnemar_exact(table), null="both judges say yes equally often"), note),
        estimates=tidy([({"measure": name}, record) for name, record in found], ["measure"]),
        moved=pairs.loc[pairs["old"] != pairs["new"], [*UNIT, "old", "new"]].reset_index(drop=True),
        left_out=left_out,
    )


def _pairs(judgements: pd.DataFrame, names: tuple[str, str]) -> tuple[pd.DataFrame, int]:
    """Return one row per verdict of both judges, ``old`` and ``new``, and how many have one of a single judge."""
    if names[0] == names[1]:
        raise UsageError("is compared with itself; name two judges", field="JUDGE")
    verdicts = majorities(judgements[judgements["judge"].isin(names)], "judge")
    both = verdicts.dropna()
    if both.empty:
        raise UsageError("no transcript has a verdict of both; judge one run with both", field="JUDGE")
    pairs = both.reset_index().rename(columns={names[0]: "old", names[1]: "new"})
    return pairs, len(verdicts) - len(both)


def _measures(pairs: pd.DataFrame, table: PairedTable, level: float) -> Iterator[tuple[str, Estimate]]:
    note = SAME_CASE if pairs["case_id"].nunique() < len(pairs) else ""
    yield "difference", noted(newcombe_paired(table, level=level), note)
    yield "agreement", _rate(pairs, pairs["old"] == pairs["new"], level)
    for name, said in (("new yes, old yes", 1), ("new yes, old no", 0)):
        part = pairs[pairs["old"] == said]
        yield name, _rate(part, part["new"] == 1, level)


def _rate(pairs: pd.DataFrame, holds: pd.Series[bool], level: float) -> Estimate:
    counts = holds.groupby(pairs["case_id"]).agg(["sum", "size"])
    found = pass_rate(counts["sum"].to_numpy(int), counts["size"].to_numpy(int), level=level)
    return replace(found, estimand="share of verdicts")


def _worth(pairs: pd.DataFrame, pass_mark: float, rng: np.random.Generator, level: float) -> Estimate:
    """Return the pass rate on the new judge of a subject that has just the pass mark on the old one.

    As far as verdicts turn as they did here: of what the old judge passed, the share that the new one passes too, and
    of what it failed, the share that the new one passes.
    """
    columns = pairs.assign(
        kept=pairs["old"] * pairs["new"], failed=1 - pairs["old"], won=(1 - pairs["old"]) * pairs["new"]
    )
    means = columns.groupby("case_id", sort=True)[["kept", "old", "won", "failed"]].mean().to_numpy(float)

    def worth(m: FloatArray) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            kept, won = m[..., 0] / m[..., 1], m[..., 2] / m[..., 3]
        share = (kept, pass_mark), (won, 1 - pass_mark)
        return sum(rate * weight for rate, weight in share if weight)

    found = bootstrap(means, worth, rng=rng, reps=REPS, level=level)
    return replace(
        found, estimand=f"pass rate on the new judge at {pass_mark:g} on the old", n_trials=len(pairs)
    )
