"""The verdict: refusals first, then the rule of the policy and what else it asks, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from evalstats.contract import GateRule, GateStatistic, GateVerdict
from evalstats.errors import UsageError
from evalstats.gate.checks import WORST_FIRST, Check, Look, cannot, listed, worst
from evalstats.gate.guards import guards
from evalstats.gate.policies import LEGACY_MARGIN, Policy, policy_of
from evalstats.gate.rules import RULES
from evalstats.gate.series import (
    NO_VALUE,
    Point,
    history,
    line_of,
    moment,
    points,
    rows_of,
    unit_values,
    up_to,
)
from evalstats.trials import timestamp

EXIT_CODES = {
    GateVerdict.PASS: 0,
    GateVerdict.REGRESSION: 1,
    GateVerdict.CANNOT_GATE: 3,
    GateVerdict.INCONCLUSIVE: 4,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be judged, beside report and policy.

    Parameters
    ----------
    reruns : int
        How many of the last runs are the candidate (1 to ``policy.reruns``).
    candidate : str, optional
        The last run of the candidate, by id; by default the newest one.
    smoke : bool
        Whether the candidate ran some of the cases only; then the history is told over the same cases.
    rule : GateRule, optional
        Another rule than that of the policy.
    as_of : str, optional
        The time of asking, UTC: what is dated later is not there. By default now, and then a run dated later
        stops the gate, since a clock is wrong.
    blocked : frozenset of str
        Groups that this gate blocked before: they are no yardstick.
    """

    reruns: int = 1
    candidate: str | None = None
    smoke: bool = False
    rule: GateRule | None = None
    as_of: str | None = None
    blocked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What the gate concluded (schema ``gate-result.v1``); rates and drops are in the unit of the statistic."""

    verdict: GateVerdict
    reasons: list[str]
    suite: str
    statistic: str
    margin: float | None
    rule: GateRule = GateRule.THREE_VERDICT
    alpha: float | None = None
    history: list[str] = field(default_factory=list)
    candidate: list[str] = field(default_factory=list)
    drop: float | None = None
    false_block: float | None = None
    power: float | None = None
    mde: float | None = None
    runs_needed: int | None = None
    checks: tuple[Check, ...] = ()
    report: str | None = None
    manifest_sha256: str | None = None
    policy_sha256: str | None = None

    @property
    def exit_code(self) -> int:
        """Return the exit code of the verdict: 0, 1, 3 or 4."""
        return EXIT_CODES[self.verdict]

    def as_record(self) -> dict[str, Any]:
        """Return the result as plain data, with its exit code."""
        words = {name: str(getattr(self, name)) for name in ("verdict", "rule", "statistic")}
        checks = [check.as_record() for check in self.checks]
        made = {"schema": "gate-result.v1", "exit_code": self.exit_code, "checks": checks}
        return {**asdict(self), **words, **made}


def decide(report: dict[str, Any], policy: dict[str, Any], asked: Asked | None = None) -> GateResult:
    """Judge the last run or runs of a report's series against the accepted runs before them.

    Parameters
    ----------
    report : dict
        A document of schema ``report.v1``; its ``series`` is what is judged.
    policy : dict
        A document of schema ``policy.v1``.
    asked : Asked, optional
        Which run is judged, and how; by default the newest, by the rule of the policy.

    Raises
    ------
    UsageError
        More runs than the policy allows, or a candidate that is not in the report.
    """
    asked, rules = asked or Asked(), with_rule(policy_of(policy), asked or Asked())
    if not 1 <= asked.reruns <= rules.reruns:
        allowed = f"the policy allows 1 to {rules.reruns}"
        raise UsageError(f"{asked.reruns} runs as the candidate; {allowed}", field="--reruns")
    name = report["data"]["suite_id"]
    if name != rules.suite:
        return _told(
            rules, [cannot(rules.rule, f"the report is of suite {name}, the policy of {rules.suite}")]
        )
    series, notes = points(report["series"], rules)
    if not series:
        nothing = f"nothing to compare: no run has the {rules.statistic} of the policy"
        return _told(rules, [cannot(rules.rule, nothing)])
    try:
        series, later = _until(series, asked, rules)
    except _ClockError as error:
        return _told(rules, [cannot(rules.rule, str(error))])
    return _decided(report, rules, asked, series, notes + later)


def look_of(report: dict[str, Any], policy: dict[str, Any], asked: Asked) -> Look | None:
    """Return the look at a report that `decide` takes, whatever there is to refuse; None without any run."""
    rules = with_rule(policy_of(policy), asked)
    series, _ = points(report["series"], rules)
    series, _ = _until(
        series, replace(asked, as_of=timestamp() if asked.as_of is None else asked.as_of), rules
    )
    return _look(report, rules, asked, series)[0] if series else None


def with_rule(policy: Policy, asked: Asked) -> Policy:
    """Return the policy with the rule that is asked for; two rules follow a number of their own."""
    rule = asked.rule or policy.rule
    missing = policy.lacks(rule)
    if missing:
        raise UsageError(f"the policy has no {missing}, which the rule {rule} asks for", field="--rule")
    if rule is GateRule.LEGACY:
        return replace(policy, rule=rule, statistic=GateStatistic.LIFT, margin=LEGACY_MARGIN)
    if rule is GateRule.MINIMUM_DELTA:
        return replace(policy, rule=rule, statistic=GateStatistic.DIFFERENCE)
    return replace(policy, rule=rule)


# --- which runs -----------------------------------------------------------------------------------


class _ClockError(Exception):
    """A run is dated later than now, and nobody said which run is meant."""


def _until(series: list[Point], asked: Asked, policy: Policy) -> tuple[list[Point], list[str]]:
    """Return the runs up to the candidate, and a sentence on those after it."""
    now = datetime.now(UTC) if asked.as_of is None else moment(asked.as_of)
    there = [point for point in series if moment(point.started_at) <= now]
    if len(there) < len(series) and asked.as_of is None and asked.candidate is None:
        ahead = [f"{point.group_id} ({point.started_at})" for point in series[len(there) :]]
        cure = "set the clock right, or name the run that is meant with --candidate"
        raise _ClockError(f"dated in the future: {listed(ahead)}; {cure}")
    last = len(there) if asked.candidate is None else _place(there, asked.candidate) + 1
    after = [point.group_id for point in series[last:]]
    return up_to(there, last, policy), [
        f"not looked at, as dated after the candidate: {listed(after)}"
    ] if after else []


def _place(series: Sequence[Point], name: str) -> int:
    for index, point in enumerate(series):
        if name in {point.group_id, *(row["run_id"] for row in point.rows.values())}:
            return index
    known = listed([point.group_id for point in reversed(series)]) or "none"
    raise UsageError(f"no such run in the report; the newest: {known}", field="--candidate")


def _decided(
    report: dict[str, Any], policy: Policy, asked: Asked, series: list[Point], notes: list[str]
) -> GateResult:
    if not series:
        nothing = "nothing to compare: no run is dated before the time of asking"
        return _told(policy, [cannot(policy.rule, nothing, *notes)])
    look, cuts = _look(report, policy, asked, series)
    checks = _checks(look, list(_smoke_refusals(look)) if asked.smoke else [])
    if asked.smoke:
        checks[0] = _not_alone(checks[0], len(look.cases), policy)
    return _told(policy, checks, look, notes + cuts)


def _look(
    report: dict[str, Any], policy: Policy, asked: Asked, series: list[Point]
) -> tuple[Look, list[str]]:
    """Return the look at the last runs of a series, and what was left out of its history, in words."""
    ids = list(report["data"]["case_ids"])
    if asked.smoke:
        ids = sorted(set.intersection(*(_cases_of(point) for point in series[-asked.reruns :])))
        by_group = {p.group_id: p for p in points(rows_of(series), policy, frozenset(ids))[0]}
        series = [replace(by_group[point.group_id], night=point.night) for point in series]
    candidate, earlier = series[-asked.reruns :], series[: -asked.reruns]
    past, cuts = history(earlier, candidate, policy, len(ids), asked.blocked)
    facts = report["data"].get("cases", {})
    unknown: dict[str, Any] = {"archetype": None, "dimensions": []}
    cases = {case: facts.get(case, unknown) for case in ids}
    return Look(policy=policy, candidate=candidate, past=past, earlier=earlier, cases=cases), cuts


def _cases_of(point: Point) -> set[str]:
    """Return the cases that a run tells of, in each of its arms."""
    return set.intersection(*(set(row.get("cases", {})) for row in point.rows.values()))


def _smoke_refusals(look: Look) -> Iterator[str]:
    there = {told["archetype"] for told in look.cases.values()}
    missing = [archetype for archetype in look.policy.smoke if archetype not in there]
    if not look.policy.smoke:
        yield "the policy names no archetypes for a smoke run"
    if missing:
        yield f"the smoke run has no case of {listed(missing)}"


def _not_alone(check: Check, cases: int, policy: Policy) -> Check:
    """Return the check of some of the cases; they clear nothing when they cannot see the margin."""
    if check.verdict is not GateVerdict.PASS or check.mde is None or check.mde <= policy.margin:
        return check
    seen = f"these {cases} cases see only drops from {check.mde:.3f}, beyond the margin of {policy.margin:g}"
    larger = f"{seen}, and clear nothing alone; `evalstats smoke` names a larger subset"
    return replace(check, verdict=GateVerdict.CANNOT_GATE, reasons=(larger, *check.reasons))


# --- the checks -----------------------------------------------------------------------------------


def _checks(look: Look, refusals: list[str]) -> list[Check]:
    """Return the check of the rule and those beside it, or the one that says why nothing can be judged."""
    policy, kind = look.policy, RULES[look.policy.rule]
    refusals = refusals + _refusals(look)
    if refusals:
        return [cannot(policy.rule, *refusals, *_history_refusals(look) * kind.needs_history)]
    short = _history_refusals(look)
    if short and kind.needs_history:
        missing = policy.history.minimum - len(unit_values(look.past, policy))
        return [cannot(policy.rule, *short, runs_needed=missing), *guards(look, short=True)]
    return [kind.judge(look), *guards(look, short=bool(short))]


def _refusals(look: Look) -> list[str]:
    """Return every reason why this candidate cannot be judged at all."""
    candidate = look.candidate
    found = [reason for point in candidate for reason in _point_refusals(point, look)]
    seeds = [point.seed for point in candidate if point.seed is not None]
    if len(set(seeds)) < len(seeds):
        found.append("the candidate's runs share a seed: a replica is not another look")
    if any(point.identity != candidate[0].identity for point in candidate):
        found.append("the candidate's runs differ in identity: they are not looks at one thing")
    if len({line_of(point, look.policy) for point in candidate}) > 1:
        found.append("the candidate's runs are of several branches: they are not looks at one thing")
    return found


def _point_refusals(point: Point, look: Look) -> list[str]:
    limit, cases = look.policy.max_infrastructure_rate, len(look.cases)
    rate = f"{point.infrastructure_rate:.0%}, limit {limit:.0%}"
    checks = {
        "it is a mock run": point.is_mock,
        f"{point.lost} of its {point.n_trials} trials failed for infrastructure ({rate})": (
            point.infrastructure_rate > limit
        ),
        NO_VALUE: point.value is None,
        f"it has a score for {point.n_cases} of {cases} cases": point.n_cases < cases,
    }
    return [f"{point.group_id}: {reason}" for reason, refused in checks.items() if refused]


def _history_refusals(look: Look) -> list[str]:
    unit, need = look.policy.history.unit, look.policy.history.minimum
    have = len(unit_values(look.past, look.policy))
    if have >= need:
        return []
    told = f"the history holds {have} {unit}(s) of the same identity, the policy asks for {need}"
    return [told] if look.earlier else ["there is no baseline: no run before the candidate", told]


# --- the result -----------------------------------------------------------------------------------


def _told(
    policy: Policy, checks: Sequence[Check], look: Look | None = None, notes: Sequence[str] = ()
) -> GateResult:
    """Return the result of all checks: the numbers are those of the rule, the false blocks of all together."""
    first = checks[0]
    blocks = [check.false_block for check in checks if check.false_block is not None]
    by_weight = sorted(checks, key=lambda check: WORST_FIRST.index(check.verdict))
    telling = [c for c in by_weight if c is first or c.verdict is not GateVerdict.PASS]
    return GateResult(
        verdict=worst(checks),
        reasons=[*(reason for check in telling for reason in check.reasons), *notes],
        suite=policy.suite,
        rule=policy.rule,
        statistic=policy.statistic,
        margin=policy.margin,
        alpha=policy.alpha,
        history=[point.group_id for point in look.past] if look else [],
        candidate=[point.group_id for point in look.candidate] if look else [],
        drop=first.drop,
        false_block=min(sum(blocks), 1.0) if blocks else None,
        power=first.power,
        mde=first.mde,
        runs_needed=first.runs_needed,
        checks=tuple(checks),
    )
