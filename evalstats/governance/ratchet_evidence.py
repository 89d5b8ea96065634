"""What a suite has shown before it may block: its accepted runs, whether they stayed, and its canaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evalstats.stats.control_charts import STRONG_CORRELATION
from evalstats.stats.planning import zero_failure_runs
from evalstats.stats.proportions import clopper_pearson

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FLAKE_LEVEL = 0.95  # confidence of the zero-failure bound: 59 clean runs for a flake rate of 5%
TREND_ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One accepted run. ``unit`` is what it shares its independence with (its night, or itself), ``day`` a date.

    ``measured`` holds ``cost``, ``median_duration_s`` and ``timeout_rate``; None is unknown.
    """

    group_id: str
    started_at: str
    unit: str
    day: str
    value: float
    measured: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The accepted runs of one identity, oldest first, and what was left out, in words.

    ``watched`` are those that monitoring looks at: also the ones that the gate blocked. ``lost`` is the share of
    trials that infrastructure took, over all runs of the window; None without trials.
    """

    runs: Sequence[Run]
    watched: Sequence[Run]
    left_out: Sequence[str] = ()
    identity: Mapping[str, str | None] = field(default_factory=dict)
    lost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """The cases that may never fail: in how many runs all of them passed every trial, and who failed how often."""

    cases: tuple[str, ...]
    n_runs: int
    n_clean: int
    n_days: int
    failed: dict[str, tuple[int, int]]  # case -> failed trials, trials

    def flake_high(self) -> float | None:
        """Return the upper bound of the share of runs that fail; None without runs."""
        if not self.n_runs:
            return None
        two_sided = clopper_pearson(self.n_runs - self.n_clean, self.n_runs, level=2 * FLAKE_LEVEL - 1)
        return two_sided.conf_high

    def clean_runs_needed(self, alpha: float) -> int:
        """Return how many clean runs show that a canary flakes in at most ``alpha`` of the runs."""
        return zero_failure_runs(alpha, level=FLAKE_LEVEL)

    def as_record(self, alpha: float) -> dict[str, Any]:
        """Return it as plain data, with its bound: a bound, not an estimate."""
        failed = {case: {"failed": bad, "trials": n} for case, (bad, n) in self.failed.items()}
        bound = {"flake_high": self.flake_high(), "flake_level": FLAKE_LEVEL}
        needed = {"clean_runs_needed": self.clean_runs_needed(alpha)}
        return {**asdict(self), "cases": list(self.cases), "failed": failed, **bound, **needed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stationarity:
    """Did the runs stay where they were? Times of a confirmed alarm and of the latest dated change, if any."""

    confirmed_alarm: str | None
    changed_at: str | None
    trend_tau: float | None
    trend_p: float | None
    autocorrelation: float | None

    def objections(self) -> Iterator[str]:
        """Yield what speaks against a suite that stays the same, beside the confirmed alarm."""
        way_out = "if that was accepted, let the policy's history begin after it"
        if self.changed_at is not None:
            yield f"the level changed on {self.changed_at[:10]}; {way_out}"
        if self.trend_p is not None and self.trend_p < TREND_ALPHA:
            way = "falling" if (self.trend_tau or 0) < 0 else "rising"
            yield f"the runs drift: {way}, p = {self.trend_p:.3f}"

    def notes(self) -> Iterator[str]:
        """Yield what is to be known beside."""
        r = self.autocorrelation
        if r is not None and r > STRONG_CORRELATION:
            yield f"neighbouring runs are alike (r = {r:.2f}): the spread may be larger than it looks"


def units(runs: Sequence[Run]) -> list[tuple[str, float]]:
    """Return day and mean value of each independent unit, oldest first."""
    return [(same[0].day, fmean(run.value for run in same)) for same in _by_unit(runs).values()]


def _by_unit(runs: Sequence[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.unit, []).append(run)
    return found


def stationarity(runs: Sequence[Run], statistic: str, *, rng: np.random.Generator) -> Stationarity:
    """Did the runs stay where they were? Charts, dated changes, trend and likeness of neighbours."""
    import pandas as pd

    from evalstats import estimates

    rows = [
        {
            "group_id": unit,
            "arm": statistic,
            "started_at": same[0].started_at,
            "score": fmean(run.value for run in same),
        }
        for unit, same in _by_unit(runs).items()
    ]
    if not rows:
        return Stationarity(
            confirmed_alarm=None, changed_at=None, trend_tau=None, trend_p=None, autocorrelation=None
        )
    series = pd.DataFrame(rows)
    charts, trend = estimates.monitor(series, rng=rng), estimates.trend(series).iloc[0]
    confirmed = [at for at in charts["confirmed_alarm"] if not pd.isna(at)]
    changed = list(estimates.change_points(series)["changed_at"])
    return Stationarity(
        confirmed_alarm=min(confirmed) if confirmed else None,
        changed_at=changed[-1] if changed else None,
        trend_tau=known(trend["statistic"]),
        trend_p=known(trend["p_value"]),
        autocorrelation=known(charts["autocorrelation"].iloc[0]),
    )


def canary_runs(case_runs: pd.DataFrame, run_days: Mapping[str, str], cases: Sequence[str]) -> Canaries:
    """Return what the canaries have shown in some runs (run id -> day); a case without a usable trial is not clean."""
    rows = case_runs[case_runs["case_id"].isin(list(cases)) & case_runs["run_id"].isin(list(run_days))]
    rows = rows.assign(bad=rows["n_usable"] - rows["n_passed"])
    clean = rows[(rows["bad"] == 0) & (rows["n_usable"] > 0)].groupby("run_id").size()
    by_case = rows.groupby("case_id")[["bad", "n_usable"]].sum()
    failed = {
        str(case): (int(row["bad"]), int(row["n_usable"])) for case, row in by_case.iterrows() if row["bad"]
    }
    return Canaries(
        cases=tuple(cases),
        n_runs=len(run_days),
        n_clean=int((clean == len(cases)).sum()),
        n_days=len(set(run_days.values())),
        failed=failed,
    )


def known(value: float) -> float | None:
    """Return a number, None where it is not one: unknown is not zero."""
    return None if isnan(value) else float(value)
