"""The series a gate follows: one value a run, the accepted history, and where it was cut."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from statistics import fmean, stdev
from typing import Any, TypeAlias

from evalstats.contract import Arm, GateStatistic, Outcome
from evalstats.errors import UsageError
from evalstats.gate.policies import Policy

NO_VALUE = "an arm is missing, has no usable trial or, for lift, leaves no headroom"
SAME_NIGHT = timedelta(hours=12)  # whatever the clocks do in spring and autumn, nights begin further apart

Rows: TypeAlias = dict[str, dict[str, Any]]  # arm -> row of the report's series, within one group


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run (or pair of runs) of a suite.

    ``value`` is None when an arm has no usable trial; ``step`` is what one trial moves it by. ``night`` is when
    the first run of its night began. ``rows`` are the rows of the report behind it, by arm.
    """

    group_id: str
    started_at: str
    night: str
    value: float | None
    step: float
    identity: dict[str, str | None]
    n_cases: int
    n_trials: int
    lost: int
    seed: int | None
    git_ref: str | None
    is_mock: bool
    headroom: float
    rows: Rows

    @property
    def infrastructure_rate(self) -> float:
        """Return the share of its trials that failed for infrastructure; a run without trials is all lost."""
        return self.lost / self.n_trials if self.n_trials else 1.0


def points(
    series: list[dict[str, Any]], policy: Policy, cases: Collection[str] | None = None
) -> tuple[list[Point], list[str]]:
    """Return one point per run group, oldest first, and a sentence for each row that stands twice.

    One that lacks an arm has no value. ``cases`` are those that count; all unless given.
    """
    groups: dict[str, Rows] = {}
    twice: dict[str, None] = {}
    for row in sorted(series, key=lambda row: (moment(row["started_at"]), row["group_id"])):
        if row["arm"] in groups.setdefault(row["group_id"], {}):
            twice.setdefault(row["group_id"])
        groups[row["group_id"]].setdefault(row["arm"], row)
    arms = followed_arms(policy)
    followed = [used for rows in groups.values() if (used := {a: rows[a] for a in sorted(arms) if a in rows})]
    headroom = _headroom(followed, policy, cases)
    found = [_point(rows, policy, headroom, cases) for rows in followed]
    return _with_nights(found, policy), [
        f"{group} stands twice in the report and counts once" for group in twice
    ]


def rows_of(runs: Iterable[Point]) -> list[dict[str, Any]]:
    """Return the rows of the report behind some runs."""
    return [row for point in runs for row in point.rows.values()]


def up_to(series: Sequence[Point], last: int, policy: Policy) -> list[Point]:
    """Return the first runs of a series as they are without those after them, whose off arm counts no more."""
    return points(rows_of(series[:last]), policy)[0]


def followed_arms(policy: Policy) -> set[str]:
    """Return the arms whose scores make up the policy's statistic."""
    alone = policy.statistic is GateStatistic.PASS_RATE
    return {policy.arm} if alone else {Arm.SKILL_ON, Arm.SKILL_OFF}


def score(row: dict[str, Any], cases: Collection[str] | None) -> float | None:
    """Return the mean score of a run over the cases that count; None unless each of them has one."""
    if cases is None:
        known: float | None = row["score"]
        return known
    told = row.get("cases", {})
    return fmean(told[case]["score"] for case in cases) if cases and all(c in told for c in cases) else None


def moment(timestamp: str) -> datetime:
    """Return the time that a timestamp of a document names. Raises UsageError."""
    try:
        when = datetime.fromisoformat(timestamp)
        return when if when.tzinfo else when.replace(tzinfo=UTC)
    except ValueError:
        raise UsageError(f"{timestamp} is no time; write 2026-01-31T02:00:00Z") from None


def line_of(point: Point, policy: Policy) -> tuple[bool, str | None]:
    """Return whether a run is of the main line, and else of which branch."""
    main = _on_main_line(point.git_ref, policy.history.refs)
    return main, None if main else point.git_ref


def _with_nights(ordered: list[Point], policy: Policy) -> list[Point]:
    """Say of each run which night it belongs to: one begins 12 hours after the last began, or later.

    Each branch has nights of its own, and mocks have too: a run in the afternoon must not part the next night.
    """
    begun: dict[Any, str] = {}
    found = []
    for point in ordered:
        line = point.is_mock, line_of(point, policy)
        if line not in begun or moment(point.started_at) - moment(begun[line]) >= SAME_NIGHT:
            begun[line] = point.started_at
        found.append(replace(point, night=begun[line]))
    return found


def _headroom(followed: list[Rows], policy: Policy, cases: Collection[str] | None) -> float:
    """Return the failure rate of the off arm, pooled over the real runs of the newest identity.

    Lift divides by it: a single run's own would add its noise.
    """
    off = [rows[Arm.SKILL_OFF] for rows in followed if Arm.SKILL_OFF in rows]
    same = [r for r in off if not r["is_mock"] and _identity(r, policy) == _identity(off[-1], policy)]
    scores = [value for row in same if (value := score(row, cases)) is not None]
    return 1 - fmean(scores or [1.0])


def _identity(row: dict[str, Any], policy: Policy) -> dict[str, str | None]:
    return {key: row["identity"].get(key) for key in policy.identity}


def statistic(by_arm: dict[str, float | None], policy: Policy, headroom: float) -> float | None:
    """Return the policy's statistic of the scores of the arms; None where an arm is missing or unknown."""
    if set(by_arm) != followed_arms(policy) or None in by_arm.values():
        return None
    known = {arm: value for arm, value in by_arm.items() if value is not None}
    if policy.statistic is GateStatistic.PASS_RATE:
        return known[policy.arm]
    if policy.statistic is GateStatistic.DIFFERENCE:
        return known[Arm.SKILL_ON] - known[Arm.SKILL_OFF]
    return 1 - (1 - known[Arm.SKILL_ON]) / headroom if headroom > 0 else None


def _point(rows: Rows, policy: Policy, headroom: float, cases: Collection[str] | None) -> Point:
    used = list(rows.values())
    usable = min(row["usable"] if cases is None else _usable(row, cases) for row in used)
    unit = headroom if policy.statistic is GateStatistic.LIFT else 1.0
    return Point(
        group_id=used[0]["group_id"],
        started_at=used[0]["started_at"],
        night="",
        value=statistic({arm: score(row, cases) for arm, row in rows.items()}, policy, headroom),
        step=1 / (usable * unit) if usable and unit > 0 else 0.0,
        identity=_identity(used[0], policy),
        n_cases=min(row["n_cases"] if cases is None else len(_told(row, cases)) for row in used),
        n_trials=sum(row["n_trials"] for row in used),
        lost=sum(lost(row, policy) for row in used),
        seed=used[0].get("seed"),
        git_ref=used[0].get("git_ref"),
        is_mock=any(row["is_mock"] for row in used),
        headroom=headroom,
        rows=rows,
    )


def _told(row: dict[str, Any], cases: Collection[str]) -> list[dict[str, Any]]:
    return [told for case, told in row.get("cases", {}).items() if case in cases]


def _usable(row: dict[str, Any], cases: Collection[str]) -> int:
    return sum(told["usable"] for told in _told(row, cases))


def lost(row: dict[str, Any], policy: Policy) -> int:
    """Return how many trials of a run count as infrastructure failures; older reports count one kind only."""
    told = row.get("outcomes", {Outcome.INFRASTRUCTURE: row["infrastructure"]})
    return sum(n for outcome, n in told.items() if outcome in policy.infrastructure)


# --- the history ----------------------------------------------------------------------------------


def history(
    earlier: Sequence[Point],
    candidate: Sequence[Point],
    policy: Policy,
    cases: int,
    blocked: Collection[str] = (),
) -> tuple[list[Point], list[str]]:
    """Return the accepted main-line runs before the candidate, oldest first, and what was left out, in words.

    ``cases`` is how many the suite has; ``blocked`` are groups that this gate blocked. The history ends at the
    last change of identity: a run of another suite, model or judge is no yardstick.
    """
    kept: list[Point] = []
    refused: dict[str, list[str]] = {}
    cut: list[str] = []
    full = [point for point in earlier if _counts(point, policy, cases)]
    first, unsettled = candidate[0], _unsettled(full, blocked)
    seeds = {point.seed for point in candidate} - {None}
    for point in reversed(earlier):
        if _full(kept, point, policy):
            break
        refusal = _not_main_line(point, policy, unsettled)
        changed = [key for key, value in first.identity.items() if point.identity[key] != value]
        if changed and not refusal:
            cut = [f"the history begins after {point.group_id}: {', '.join(changed)} changed"]
            break
        refusal = refusal or _no_yardstick(point, policy, cases, seeds)
        if refusal:
            refused.setdefault(refusal, []).append(point.group_id)
        else:
            kept.append(point)
            seeds |= {point.seed} - {None}
    return list(reversed(kept)), [_left_out(runs, reason) for reason, runs in refused.items()] + cut


def unit_values(past: Iterable[Point], policy: Policy) -> list[float]:
    """Return one value per independent unit: a run, or the mean of the runs of one night, which share it."""
    by_unit: dict[str, list[float]] = {}
    for point in past:
        if point.value is not None:
            by_unit.setdefault(unit_of(point, policy), []).append(point.value)
    return [fmean(values) for values in by_unit.values()]


def spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation; None where fewer than 2 are known, or all agree: no noise was measured."""
    from evalstats.stats.results import agree

    return None if len(values) < 2 or agree(values) else stdev(values)


def unit_of(point: Point, policy: Policy) -> str:
    """Return what a run shares its independence with: its night, or only itself."""
    return point.night if policy.history.unit == "night" else point.group_id


def _full(kept: list[Point], point: Point, policy: Policy) -> bool:
    units = {unit_of(each, policy) for each in kept}
    return len(units) == policy.history.window and unit_of(point, policy) not in units


def _left_out(runs: list[str], reason: str) -> str:
    """Return one sentence for all runs with one reason; they come newest first."""
    which = f"{runs[0]} is" if len(runs) == 1 else f"{len(runs)} runs ({runs[-1]} to {runs[0]}) are"
    return f"{which} left out of the history: {reason}"


def _counts(point: Point, policy: Policy, cases: int) -> bool:
    """Return whether a run speaks of the main line at all, blocked or not."""
    return _not_main_line(point, policy, ()) is None and _no_yardstick(point, policy, cases, set()) is None


def _unsettled(earlier: Sequence[Point], blocked: Collection[str]) -> set[str]:
    """Return the blocked runs that were not accepted since; ``earlier`` are the full runs of the main line.

    A lone blocked run comes back once a later one passes, or the gate's own false alarms would make its history
    look steadier than it is; two in a row stay out.
    """
    out, streak = set(), list[str]()
    for point in earlier:
        if point.group_id in blocked:
            streak.append(point.group_id)
        else:
            out |= set(streak) if len(streak) > 1 else set()
            streak = []
    return out | set(streak)


def _not_main_line(point: Point, policy: Policy, unsettled: Collection[str]) -> str | None:
    ids = {point.group_id, *(row["run_id"] for row in point.rows.values())}
    since = policy.history.since
    checks = {
        "answered by a mock": point.is_mock,
        "not made on the main line": not _on_main_line(point.git_ref, policy.history.refs),
        "excluded by the policy": bool(ids & policy.history.exclude),
        "before the day the policy begins with": since is not None
        and moment(point.started_at) < moment(since),
        "blocked by this gate": point.group_id in unsettled,
    }
    return next((reason for reason, refused in checks.items() if refused), None)


def _on_main_line(ref: str | None, refs: Iterable[str | None]) -> bool:
    return any(
        ref is None if wanted is None else ref is not None and fnmatchcase(ref, wanted) for wanted in refs
    )


def _no_yardstick(point: Point, policy: Policy, cases: int, seeds: set[int | None]) -> str | None:
    """Return why a run is no yardstick, in words that hold for one run and for several."""
    limit = policy.max_infrastructure_rate
    checks = {
        NO_VALUE: point.value is None,
        f"more than {limit:.0%} of the trials failed for infrastructure": point.infrastructure_rate > limit,
        f"the cases with a score are not {cases}": point.n_cases != cases,
        "the seed is that of a later run": point.seed in seeds,
    }
    return next((reason for reason, refused in checks.items() if refused), None)
