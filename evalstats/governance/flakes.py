"""Which cases look flaky, and which have earned their way out of quarantine?

Only runs of the suite as it is now count, in the arm that is judged, and no mock. A clean run that repeats the
seed of another is a replica and proves nothing twice; one that failed where its twin was clean is kept.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, datetime
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Any

from evalstats import suite as suites
from evalstats.contract import Arm, Tier
from evalstats.errors import UsageError
from evalstats.governance.quarantine import Entry
from evalstats.suite import Suite

if TYPE_CHECKING:
    import pandas as pd

NO_RUNS = {
    "run_id": "str",
    "case_id": "str",
    "created_at": "datetime64[us]",
    "n_usable": "int64",
    "n_passed": "int64",
    "clean": "bool",
}
MEANT_TO_VARY = "trials of this tier are meant to vary, so none is called flaky for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """What a case must show to come back.

    Parameters
    ----------
    max_flake : float
        Share of runs that may fail, inside (0, 1).
    level : float
        Confidence with which the share must be shown to be at most that; above 0.5.
    arm : str
        The arm that is judged.
    """

    max_flake: float = 0.05
    level: float = 0.95
    arm: str = Arm.SKILL_ON

    def __post_init__(self) -> None:
        if not (0 < self.max_flake < 1 and 0.5 < self.level < 1):
            numbers = f"got {self.max_flake:g} and {self.level:g}"
            raise UsageError(f"max flake must lie in (0, 1) and level in (0.5, 1), {numbers}")

    @property
    def clean_runs_needed(self) -> int:
        """Return how many runs without a failure are enough (the exact zero-failure bound)."""
        from evalstats import stats

        return stats.zero_failure_runs(self.max_flake, level=self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flake:
    """How often does a case contradict itself? Trials against its own majority, with an exact interval.

    ``verdict_flips`` is the share of neighbouring runs between which the majority changed; None with one run.
    """

    arm: str
    run_ids: tuple[str, ...]
    n_runs: int
    n_trials: int
    n_against: int
    flake_rate: float
    conf_low: float
    conf_high: float
    level: float
    verdict_flips: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """What a case has shown since it was put in: its runs, those that failed, and what that proves.

    ``failure_rate_high`` is the one-sided Clopper-Pearson bound of the share of runs that fail; None without
    runs. ``more_runs`` are the clean ones still needed: 0 when earned, None when a run has failed.
    """

    arm: str
    run_ids: tuple[str, ...]
    n_runs: int
    n_failed: int
    failure_rate_high: float | None
    max_flake: float
    level: float
    earned: bool
    more_runs: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """One case in quarantine: why it is there, whether its time is over, and its way back."""

    entry: Entry
    overdue: bool
    in_suite: bool
    way_back: WayBack


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The quarantine of one suite, looked at: who may come back, and who should perhaps go in."""

    suite_id: str
    criteria: Criteria
    stays: tuple[Stay, ...]
    flaky: dict[str, Flake]
    note: str | None

    @property
    def needs_action(self) -> bool:
        """Return whether a stay is overdue or an active case looks flaky."""
        return bool(self.flaky) or any(stay.overdue for stay in self.stays)

    def as_document(self) -> dict[str, Any]:
        """Return the review as JSON, with the criteria it went by."""
        return {
            "suite": self.suite_id,
            "criteria": {**asdict(self.criteria), "clean_runs_needed": self.criteria.clean_runs_needed},
            "quarantined": [
                {
                    "case_id": stay.entry.case_id,
                    "entry": stay.entry.as_document(),
                    "overdue": stay.overdue,
                    "in_suite": stay.in_suite,
                    "way_back": as_evidence(stay.way_back),
                }
                for stay in self.stays
            ],
            "flaky": [{"case_id": case_id, **as_evidence(found)} for case_id, found in self.flaky.items()],
            "note": self.note,
        }


def judged_runs(case_runs: pd.DataFrame | None, suite: Suite, arm: str) -> pd.DataFrame:
    """Return the rows of the case table that say something about the suite as it is now, oldest first.

    None is a suite that never ran.
    """
    if case_runs is None:
        import pandas as pd

        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in NO_RUNS.items()})
    scoring = suites.hashes(suite)["scoring"]
    mock = case_runs["is_mock"].fillna(False).astype(bool)
    kept = (case_runs["arm"] == arm) & (case_runs["suite_scoring"] == scoring) & ~mock
    rows = case_runs[kept & (case_runs["n_usable"] > 0)].sort_values(["created_at", "run_id"], kind="stable")
    rows = rows.assign(clean=rows["n_passed"] == rows["n_usable"])
    replica = rows["seed"].notna() & rows.duplicated(["case_id", "seed", "clean"])
    return rows[~replica]


def flake(rows: pd.DataFrame, *, level: float) -> Flake | None:
    """Return how often one case contradicts itself, from its rows of `judged_runs`; None without any."""
    from evalstats import estimates, stats

    if rows.empty:
        return None
    found = estimates.flakiness(rows).to_dict("records")[0]
    trials, passed = int(found["n_trials"]), int(rows["n_passed"].sum())
    rate = stats.clopper_pearson(min(passed, trials - passed), trials, level=level, population="FIXED")
    return Flake(
        arm=str(found["arm"]),
        run_ids=tuple(rows["run_id"]),
        n_runs=int(found["n_runs"]),
        n_trials=trials,
        n_against=min(passed, trials - passed),
        flake_rate=rate.estimate,
        conf_low=rate.conf_low,
        conf_high=rate.conf_high,
        level=level,
        verdict_flips=_known(found["verdict_flips"]),
    )


def evidence(rows: pd.DataFrame, case_id: str, *, level: float) -> dict[str, Any]:
    """Return what speaks for putting a case in, from the rows of `judged_runs`.

    Raises UsageError when nothing does: a case without trials, or one that always does the same. A case that
    always fails is broken, and quarantine would hide it.
    """
    found = flake(rows[rows["case_id"] == case_id], level=level)
    if found is None:
        raise UsageError(
            f"no usable trial of case {case_id!r} of the suite as it is now; run it, then ingest",
            field="--case",
        )
    if not found.n_against:
        raise UsageError(
            f"case {case_id!r} is not flaky: all {found.n_trials} trials agree; mend or retire it instead",
            field="--case",
        )
    return as_evidence(found)


def as_evidence(found: Flake | WayBack) -> dict[str, Any]:
    """Return an estimate as the register keeps it."""
    return {**asdict(found), "run_ids": list(found.run_ids)}


def way_back(rows: pd.DataFrame, since: str, criteria: Criteria) -> WayBack:
    """Return what one case has shown since the time ``since``, from its rows of `judged_runs`."""
    from evalstats import stats

    start = datetime.fromisoformat(since).replace(tzinfo=None)  # the store keeps UTC without saying so
    rows = rows[rows["created_at"] > start]
    runs, failed = len(rows), int((~rows["clean"].astype(bool)).sum())
    high = _known(stats.clopper_pearson(failed, runs, level=2 * criteria.level - 1).conf_high)
    earned = high is not None and high <= criteria.max_flake
    return WayBack(
        arm=criteria.arm,
        run_ids=tuple(rows["run_id"]),
        n_runs=runs,
        n_failed=failed,
        failure_rate_high=high,
        max_flake=criteria.max_flake,
        level=criteria.level,
        earned=earned,
        more_runs=0 if earned else None if failed else criteria.clean_runs_needed - runs,
    )


def review(
    suite: Suite, rows: pd.DataFrame, inside: dict[str, Entry], criteria: Criteria, *, today: date
) -> Review:
    """Which cases in quarantine have earned their way back, and which others look flaky?

    Parameters
    ----------
    suite : Suite
        The suite as it is now.
    rows : pandas.DataFrame
        Its rows of `judged_runs`.
    inside : dict
        The entry of each case in quarantine (`quarantine.inside`).
    criteria : Criteria
        What a case must show.
    today : date
        The UTC day on which stays are looked at.

    Notes
    -----
    A case comes back when its runs since the entry show, at ``level``, that at most ``max_flake`` of them
    fail; a run is clean when all its usable trials passed. Runs are the unit: trials of one run share their
    weather. In a deterministic suite a case looks flaky when trials of one run contradict each other, or when
    its verdict went there and back between runs; a single change that stayed is a change, not a flake.
    """
    ids = [case.id for case in suite.cases]
    of_case = {case_id: rows[rows["case_id"] == case_id] for case_id in {*ids, *inside}}
    stays = tuple(
        Stay(
            entry=entry,
            overdue=entry.overdue(today),
            in_suite=case_id in ids,
            way_back=way_back(of_case[case_id], entry.at, criteria),
        )
        for case_id, entry in inside.items()
    )
    steady = suite.tier is Tier.DETERMINISTIC
    suspects = [case_id for case_id in ids if case_id not in inside and looks_flaky(of_case[case_id])]
    flaky = {case_id: flake(of_case[case_id], level=criteria.level) for case_id in suspects if steady}
    return Review(
        suite_id=suite.id,
        criteria=criteria,
        stays=stays,
        flaky={case_id: found for case_id, found in flaky.items() if found is not None},
        note=None if steady else f"{suite.tier}: {MEANT_TO_VARY}",
    )


def looks_flaky(rows: pd.DataFrame) -> bool:
    """Return whether one case contradicts itself: within a run, or there and back between runs."""
    if ((rows["n_passed"] > 0) & ~rows["clean"].astype(bool)).any():
        return True
    return sum(before != after for before, after in pairwise(map(bool, rows["clean"]))) >= 2


def _known(value: Any) -> float | None:
    return None if isnan(value) else float(value)
