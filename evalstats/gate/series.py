"""The series a gate follows: one value a run, the accepted history, and where it was cut."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from evalstats.contract import IDENTITY, Arm
from evalstats.scoring import MAX_LOST

NO_VALUE = "an arm is missing, has no usable trial or, for lift, leaves no headroom"

Rows = dict[str, dict[str, Any]]  # arm -> row of the report's series, within one group


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run (or pair of runs) of a suite; ``value`` is None when an arm has no usable trial."""

    group_id: str
    started_at: str
    value: float | None
    identity: dict[str, str | None]
    n_cases: int
    seed: int | None
    is_mock: bool
    infrastructure_rate: float

    @property
    def night(self) -> str:
        """Return the UTC date of the run."""
        return self.started_at[:10]


def points(series: list[dict[str, Any]], policy: dict[str, Any]) -> list[Point]:
    """Return one point per run group, oldest first; one that lacks an arm has no value."""
    groups: dict[str, Rows] = {}
    for row in sorted(series, key=lambda row: (row["started_at"].removesuffix("Z"), row["group_id"])):
        groups.setdefault(row["group_id"], {})[row["arm"]] = row
    arms = followed_arms(policy)
    followed = [used for rows in groups.values() if (used := {a: rows[a] for a in sorted(arms) if a in rows})]
    keys = policy.get("identity", IDENTITY)
    headroom = _headroom(followed, keys)
    return [_point(rows, _value(rows, policy, headroom), keys) for rows in followed]


def _headroom(followed: list[Rows], keys: tuple[str, ...]) -> float:
    """Return the failure rate of the off arm, pooled over the real runs of the newest identity.

    Lift divides by it: a single run's own would add its noise.
    """
    off = [rows[Arm.SKILL_OFF] for rows in followed if Arm.SKILL_OFF in rows]
    scores = [
        row["score"]
        for row in off
        if row["score"] is not None
        and not row["is_mock"]
        and _identity(row, keys) == _identity(off[-1], keys)
    ]
    return 1 - fmean(scores or [1.0])


def _identity(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, str | None]:
    return {key: row["identity"].get(key) for key in keys}


def followed_arms(policy: dict[str, Any]) -> set[str]:
    """Return the arms whose scores make up the policy's statistic."""
    one = {policy.get("arm", Arm.SKILL_ON)}
    return one if policy["statistic"] == "pass_rate" else {Arm.SKILL_ON, Arm.SKILL_OFF}


def _value(rows: Rows, policy: dict[str, Any], headroom: float) -> float | None:
    scores = {arm: row["score"] for arm, row in rows.items()}
    if set(scores) != followed_arms(policy) or None in scores.values():
        return None
    if policy["statistic"] == "pass_rate":
        return float(*scores.values())
    if policy["statistic"] == "difference":
        return float(scores[Arm.SKILL_ON] - scores[Arm.SKILL_OFF])
    return 1 - (1 - scores[Arm.SKILL_ON]) / headroom if headroom > 0 else None


def _point(rows: Rows, value: float | None, keys: tuple[str, ...]) -> Point:
    used = list(rows.values())
    trials = sum(row["n_trials"] for row in used)
    return Point(
        group_id=used[0]["group_id"],
        started_at=used[0]["started_at"],
        value=value,
        identity=_identity(used[0], keys),
        n_cases=min(row["n_cases"] for row in used),
        seed=used[0]["seed"],
        is_mock=any(row["is_mock"] for row in used),
        infrastructure_rate=sum(row["infrastructure"] for row in used) / trials if trials else 1.0,
    )


def history(
    earlier: list[Point], candidate: list[Point], policy: dict[str, Any], cases: int
) -> tuple[list[Point], list[str]]:
    """Return the accepted runs before the candidate, oldest first, and a sentence for each thing left out.

    ``cases`` is how many the suite has. The history ends at the last change of identity: a run of another suite,
    model or judge is no yardstick.
    """
    kept: list[Point] = []
    refused: dict[str, list[str]] = {}
    cut: list[str] = []
    first = candidate[0]
    seeds = {point.seed for point in candidate} - {None}
    for point in reversed(earlier):
        if len(kept) == policy["history"]["window"]:
            break
        changed = [key for key, value in first.identity.items() if point.identity[key] != value]
        if changed:
            cut = [f"the history begins after {point.group_id}: {', '.join(changed)} changed"]
            break
        refusal = _refusal(point, policy, cases, seeds)
        if refusal:
            refused.setdefault(refusal, []).append(point.group_id)
        else:
            kept.append(point)
            seeds |= {point.seed} - {None}
    return list(reversed(kept)), [_left_out(runs, reason) for reason, runs in refused.items()] + cut


def _left_out(runs: list[str], reason: str) -> str:
    """Return one sentence for all runs with one reason; they come newest first."""
    which = f"{runs[0]} is" if len(runs) == 1 else f"{len(runs)} runs ({runs[-1]} to {runs[0]}) are"
    return f"{which} left out of the history: {reason}"


def _refusal(point: Point, policy: dict[str, Any], cases: int, seeds: set[int | None]) -> str | None:
    """Return why a run is no yardstick, in words that hold for one run and for several."""
    limit = policy.get("max_infrastructure_rate", MAX_LOST)
    checks = {
        NO_VALUE: point.value is None,
        "answered by a mock": point.is_mock,
        f"more than {limit:.0%} of the trials failed for infrastructure": point.infrastructure_rate > limit,
        f"the cases with a score are not {cases}": point.n_cases != cases,
        "the seed is that of a later run": point.seed in seeds,
    }
    return next((reason for reason, refused in checks.items() if refused), None)
