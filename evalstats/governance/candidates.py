"""Which cases wait outside the lock, what is known of them, and may they enter the next one?

A candidate enters no headline, but it runs with the others. It is proposed for the next lock when enough runs
have tried this very version of it, hardly a trial was lost, and it can show something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from evalstats import estimates, stats
from evalstats.contract import Tier
from evalstats.governance.lock_changes import outside
from evalstats.governance.locks import FrozenCase, Lock, today
from evalstats.governance.readings import as_json
from evalstats.stats.results import Estimate, undefined
from evalstats.suite import Suite

ADMIT, WAIT = "admit", "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What a candidate must have in every arm: three nights of three trials, of which hardly one was lost."""

    runs: int = 3
    trials: int = 9
    lost_share: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmEvidence:
    """What is known of a case in one arm, from runs of this version of it.

    ``lost`` counts trials without a score. ``pass_rate`` is of this case (FIXED). ``flips`` is the share of
    neighbouring runs between which the majority changed; NaN with its reason for a single run.
    """

    arm: str
    n_runs: int
    n_trials: int
    lost: int
    pass_rate: Estimate
    flips: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A case outside the lock, its evidence by arm, and the proposal: admit or wait, with the reasons."""

    suite_id: str
    case_id: str
    evidence: tuple[ArmEvidence, ...]
    proposal: str
    reasons: tuple[str, ...]


def proposals(
    lock: Lock,
    present: Sequence[Suite],
    case_runs: Mapping[str, pd.DataFrame],
    *,
    bar: Bar | None = None,
    level: float = 0.80,
) -> list[Candidate]:
    """Which cases are not in the lock, and should the next one hold them?

    Parameters
    ----------
    lock : Lock
        The lock in force.
    present : sequence of Suite
        The suites of today; private ones are passed over.
    case_runs : mapping of str to pandas.DataFrame
        Suite id -> its case table with ``case_hash``; a suite without runs may be missing.
    bar : Bar, optional
        What a candidate must have.
    level : float
        Level of the intervals.
    """
    now, tiers = today(present), {suite.id: suite.tier for suite in present}
    found = []
    for suite_id, case_id in outside(lock, now):
        runs = case_runs.get(suite_id)
        case = now[suite_id].cases[case_id]
        arms = [] if runs is None else sorted(runs["arm"].unique())
        evidence = tuple(_evidence(_rows(runs, case), arm, level) for arm in arms)
        reasons = _reasons(evidence, bar or Bar(), tiers[suite_id])
        found.append(
            Candidate(
                suite_id=suite_id,
                case_id=case_id,
                evidence=evidence,
                proposal=WAIT if reasons else ADMIT,
                reasons=tuple(reasons or ["enough trials in every arm, and it can show a change"]),
            )
        )
    return found


def _rows(case_runs: pd.DataFrame | None, case: FrozenCase) -> pd.DataFrame:
    """Return the rows of this very version of a case: trials of another one say nothing about it."""
    runs = pd.DataFrame() if case_runs is None else case_runs
    return runs[(runs["case_id"] == case.id) & runs["case_hash"].isin(list(case.any_pool))]


def _evidence(rows: pd.DataFrame, arm: str, level: float) -> ArmEvidence:
    of_arm = rows[rows["arm"] == arm]
    trials, usable, passed = (int(of_arm[name].sum()) for name in ("n_trials", "n_usable", "n_passed"))
    flakiness = estimates.only(estimates.flakiness(of_arm)) if usable else None
    runs = int(flakiness["n_runs"]) if flakiness else 0
    flips = round(flakiness["verdict_flips"] * (runs - 1)) if flakiness and runs > 1 else 0
    return ArmEvidence(
        arm=arm,
        n_runs=runs,
        n_trials=usable,
        lost=trials - usable,
        pass_rate=stats.wilson(passed, usable, level=level, population="FIXED"),
        flips=_flips(flips, runs - 1, level),
    )


def _flips(flips: int, neighbours: int, level: float) -> Estimate:
    known: dict[str, Any] = {"estimand": "verdict flips", "population": "FIXED", "level": level}
    if neighbours < 1:
        known |= {"n_cases": 0, "n_trials": 0, "method": "none"}
        return undefined("fewer than two runs: none that could differ from its neighbour", **known)
    return replace(stats.wilson(flips, neighbours, level=level, population="FIXED"), estimand="verdict flips")


def _reasons(evidence: tuple[ArmEvidence, ...], bar: Bar, tier: Tier) -> list[str]:
    """Return why a case must wait; nothing if it need not."""
    if not any(arm.n_trials for arm in evidence):
        return ["no usable trial of this version of it yet"]
    found = [reason for arm in evidence for reason in _lacks(arm, bar)]
    rates = [arm.pass_rate.estimate for arm in evidence if arm.n_trials]
    if len(rates) > 1 and not found and (min(rates) == 1 or max(rates) == 0):
        always = "passes" if min(rates) == 1 else "fails"
        found.append(f"{always} every trial in every arm: it cannot show a difference")
    if tier is Tier.DETERMINISTIC and any(0 < rate < 1 for rate in rates):
        found.append("its trials disagree, in a deterministic suite")
    return found


def _lacks(arm: ArmEvidence, bar: Bar) -> list[str]:
    made = arm.n_trials + arm.lost
    found = {
        f"{arm.n_trials} of {bar.trials} usable trials in {arm.arm}": arm.n_trials < bar.trials,
        f"{arm.n_runs} of {bar.runs} runs in {arm.arm}": arm.n_runs < bar.runs,
        f"{arm.lost} of {made} trials lost in {arm.arm}": arm.lost > bar.lost_share * made,
    }
    return [reason for reason, holds in found.items() if holds]


def as_record(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as JSON holds it; what is not known is null, and the caveats beside it say why."""
    arms = [
        {
            "arm": arm.arm,
            "n_runs": arm.n_runs,
            "n_trials": arm.n_trials,
            "lost": arm.lost,
            "pass_rate": as_json(arm.pass_rate.as_row()),
            "flips": as_json(arm.flips.as_row()),
        }
        for arm in candidate.evidence
    ]
    names = ("suite_id", "case_id", "proposal")
    return {
        **{name: getattr(candidate, name) for name in names},
        "reasons": list(candidate.reasons),
        "evidence": arms,
    }
