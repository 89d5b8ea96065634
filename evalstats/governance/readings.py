"""What does a list of cases read, and how far off may that be? Headlines of the same trials over several lists.

The population is FIXED: these very lists, run again. From five runs on the error comes from the readings of the
single runs (paired by run, Student's t); below, from the noise between trials of a case (Satterthwaite), which
knows nothing of days. A lift is no sum over cases: its error is that of its tangent at the estimate (delta
method).

References
----------
.. [Satterthwaite] Satterthwaite (1946). An approximate distribution of estimates of variance components.
   Biometrics Bull. 2:110. doi:10.2307/3002019
.. [HM] Hahn, Meeker (1991). Statistical Intervals, chapter 3. Wiley. doi:10.1002/9780470316771
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, isnan, nan, sqrt
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from evalstats import estimates
from evalstats.contract import Arm
from evalstats.errors import UsageError
from evalstats.estimates.cases import Keys, squares_within
from evalstats.estimates.lifts import NO_ARCHETYPE
from evalstats.stats.lifts import FEW_FAILURES
from evalstats.stats.results import BoolArray, Estimate, FloatArray, agree, around, t_quantile, undefined
from evalstats.stats.trial_noise import WithinCases

PAIRS = (
    (Arm.SKILL_ON, Arm.SKILL_OFF),
    (Arm.CONTEXT_ON, Arm.CONTEXT_OFF),
    (Arm.CANDIDATE, Arm.BASELINE),
)
SCORE, DIFFERENCE, LIFT = "score", "difference", "lift"
CASES, ARCHETYPES = "cases", "archetypes"
NO_HEADROOM = "no headroom: the baseline never fails in these cases, or in an archetype of them: no lift"
NO_COMMON_CASE = "no case is in both locks"
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The trials behind both readings. Arrays have shape (n_arms, n_cases); ``runs`` (n_runs, n_arms, n_cases).

    ``scores``: mean over all usable trials of a case in an arm; ``trials``: how many; ``variances``: of a single
    trial about that mean, NaN with one trial; ``runs``: the same means run by run, of runs without a gap.
    """

    arms: tuple[str, ...]
    case_ids: np.ndarray
    archetypes: np.ndarray
    scores: FloatArray
    trials: FloatArray
    variances: FloatArray
    runs: FloatArray

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Self:
        """Collect it from case table rows. Raises UsageError where a case has no usable trial in an arm."""
        sums = ["n_usable", "score_sum", "score_sumsq"]
        table = rows.groupby(["arm", "case_id"], sort=True)[sums].sum().reset_index()
        lost = table[table["n_usable"] == 0]
        if len(lost):
            where = [f"{case_id} in {arm}" for arm, case_id in zip(lost["arm"], lost["case_id"], strict=True)]
            raise UsageError(f"no usable trial of {few(where)}; run these cases again")
        table["score"] = table["score_sum"] / table["n_usable"]
        more = table["n_usable"] > 1
        table["variance"] = squares_within(table).clip(lower=0) / (table["n_usable"] - 1).where(more)
        names = rows.groupby("case_id", sort=True)["archetype"].first().fillna(NO_ARCHETYPE)
        scores = _wide(table, "score")
        return cls(
            arms=tuple(str(arm) for arm in scores.index),
            case_ids=scores.columns.to_numpy(str),
            archetypes=names.to_numpy(str),
            scores=scores.to_numpy(float),
            trials=_wide(table, "n_usable").to_numpy(float),
            variances=_wide(table, "variance").to_numpy(float),
            runs=_by_run(rows, scores),
        )

    def error(self, weights: FloatArray) -> Error:
        """How far off may this weighted sum of case means be, for these very cases?"""
        if not weights.any():
            return Error(0.0, inf, "identity", "the same cases on both sides: nothing can differ")
        if len(self.runs) >= estimates.MIN_RUNS_FOR_BAND:
            sums = (self.runs * weights).sum(axis=(1, 2))
            spread = nan if agree(sums) else float(sums.std(ddof=1))
            caveat = "all runs agree: no spread to scale" if isnan(spread) else ""
            return Error(
                spread / sqrt(len(sums)), len(sums) - 1, f"paired by run over {len(sums)} runs", caveat
            )
        used = weights != 0
        within = WithinCases(
            variances=(int(used.sum()) * weights[used]) ** 2 * self.variances[used],
            trials=self.trials[used],
            dfs=self.trials[used] - 1,
        )
        problem = within.problem()
        variance, df = (nan, nan) if problem else within.run_variance()
        note = f"fewer than {estimates.MIN_RUNS_FOR_BAND} whole runs: what moves a whole run is not in the interval"
        return Error(sqrt(variance), df, "trial noise inside cases", problem or note)


class Error(NamedTuple):
    """A standard error, its degrees of freedom, and where it comes from."""

    std_error: float
    df: float
    method: str
    caveat: str


def _wide(table: pd.DataFrame, column: str) -> pd.DataFrame:
    return table.groupby(["arm", "case_id"], sort=True)[column].mean().unstack("case_id")


def _by_run(rows: pd.DataFrame, scores: pd.DataFrame) -> FloatArray:
    """Return the case means of every group of runs in which no arm and case is without a usable trial."""
    usable = rows[rows["n_usable"] > 0]
    usable = usable.assign(
        score=usable["score_sum"] / usable["n_usable"], group=usable["group_id"].fillna(usable["run_id"])
    )
    found = [
        _wide(run, "score").reindex(index=scores.index, columns=scores.columns).to_numpy(float)
        for _, run in usable.groupby("group", sort=True)
    ]
    return np.array([run for run in found if not np.isnan(run).any()]).reshape(-1, *scores.shape)


# --- headlines -----------------------------------------------------------------------------------


class Reading(NamedTuple):
    """A headline: its value, and how much each case mean moves it (shape of the scores). NaN where undefined.

    ``which`` marks the cases it is over, ``failing`` counts the baseline failures under a lift, ``problem`` says
    why it is undefined.
    """

    value: float
    weights: FloatArray
    which: BoolArray
    failing: float
    problem: str

    def minus(self, other: Reading) -> Reading:
        """Return how much higher this headline is than another of the same trials."""
        return Reading(
            self.value - other.value,
            self.weights - other.weights,
            self.which | other.which,
            min(self.failing, other.failing),
            self.problem or other.problem,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """Which number of a list of cases: a score of one arm, or the difference or lift between two; averaged how."""

    quantity: str
    arms: tuple[str, ...]
    average: str

    def keys(self) -> Keys:
        """Return what names the headline in a table."""
        arm = self.arms[0] if self.quantity == SCORE else None
        return {"quantity": self.quantity, "arm": arm, "average": self.average}

    def of(self, evidence: Evidence, which: BoolArray) -> Reading:
        """Return what the headline reads over the cases marked in ``which``."""
        groups = _groups(evidence, which, self.average)
        weights = np.zeros_like(evidence.scores)
        rows = [evidence.arms.index(arm) for arm in self.arms]
        value = 0.0 if groups else nan
        for group in groups:
            means = evidence.scores[:, group].mean(axis=1)[rows]
            part, slopes = _value(self.quantity, means)
            value += part / len(groups)
            for row, slope in zip(rows, slopes, strict=True):
                weights[row, group] += slope / (len(groups) * group.sum())
        failing = float((1 - evidence.scores[rows[-1], which]).sum()) if self.quantity == LIFT else inf
        problem = "" if not isnan(value) else NO_HEADROOM if groups else NO_COMMON_CASE
        return Reading(value, weights, which, failing, problem)


def headlines(arms: tuple[str, ...]) -> Iterator[Headline]:
    """Yield the headlines that runs of these arms have: of each arm, and of a pair if both of it are there."""
    pair = next((pair for pair in PAIRS if set(pair) <= set(arms)), None)
    for average in (CASES, ARCHETYPES):
        for arm in arms:
            yield Headline(quantity=SCORE, arms=(arm,), average=average)
        for quantity in (DIFFERENCE, LIFT) if pair else ():
            yield Headline(quantity=quantity, arms=pair or (), average=average)


def _groups(evidence: Evidence, which: BoolArray, average: str) -> list[BoolArray]:
    """Return the cases that are averaged first: all at once, or archetype by archetype."""
    if average == CASES:
        return [which] if which.any() else []
    return [which & (evidence.archetypes == name) for name in np.unique(evidence.archetypes[which])]


def _value(quantity: str, means: FloatArray) -> tuple[float, tuple[float, ...]]:
    """Return a headline of the means of its arms, and how much each mean moves it."""
    if quantity == SCORE:
        return float(means[0]), (1.0,)
    if quantity == DIFFERENCE:
        return float(means[0] - means[1]), (1.0, -1.0)
    new, old = 1 - means
    if old <= 0:
        return nan, (nan, nan)
    return float(1 - new / old), (1 / old, -new / old**2)


def parts(headline: Headline, evidence: Evidence, old: BoolArray, new: BoolArray) -> Mapping[str, Reading]:
    """Return the readings over the old cases, the common and the new ones, and what lies between them."""
    before, both, after = (headline.of(evidence, which) for which in (old, old & new, new))
    return {
        "old": before,
        "common": both,
        "new": after,
        "retired": both.minus(before),
        "admitted": after.minus(both),
        "shift": after.minus(before),
    }


def estimate(reading: Reading, headline: Headline, evidence: Evidence, level: float) -> Estimate:
    """Return a reading with its interval (FIXED)."""
    known: dict[str, Any] = {
        "estimand": f"{headline.quantity} over {headline.average}",
        "population": "FIXED",
        "level": level,
        "n_cases": int(reading.which.sum()),
        "n_trials": int(
            sum(evidence.trials[evidence.arms.index(a), reading.which].sum() for a in headline.arms)
        ),
    }
    if isnan(reading.value):
        return undefined(reading.problem, method="none", **known)
    error = evidence.error(reading.weights)
    greyed = f"greyed: {reading.failing:.3g} of {FEW_FAILURES} failing baseline cases; see the difference"
    caveats = (error.caveat, greyed if reading.failing < FEW_FAILURES else "")
    quantile = 0.0 if error.std_error == 0 else nan if isnan(error.std_error) else t_quantile(level, error.df)
    return around(
        reading.value,
        error.std_error,
        quantile,
        method=error.method,
        caveats=tuple(filter(None, caveats)),
        **known,
    )


def few(names: list[str]) -> str:
    """Return the first of many names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def as_json(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return an estimate as JSON holds it: what is not known is null, and its caveats say why."""
    return {
        str(name): list(value)
        if isinstance(value, tuple)
        else None
        if isinstance(value, float) and isnan(value)
        else value
        for name, value in row.items()
    }
