"""The verdict: refusals first, then the rule of the policy, in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from evalstats import contract
from evalstats.contract import GateVerdict
from evalstats.errors import Problem, SuiteError, UsageError
from evalstats.gate.series import NO_VALUE, Point, history, points
from evalstats.report.bundle import resolve
from evalstats.report.integrity import read_verified
from evalstats.scoring import MAX_LOST
from evalstats.stats.decisions import Decision, Rule, three_verdict

EXIT_CODES = {
    GateVerdict.PASS: 0,
    GateVerdict.REGRESSION: 1,
    GateVerdict.CANNOT_GATE: 3,
    GateVerdict.INCONCLUSIVE: 4,
}
DEFAULT_RERUNS = 3
WIDEST_DETECTABLE = 2.0  # margins: a gate that sees no drop below this cannot gate (STATS, section 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What the gate concluded; rates and drops are in the unit of the policy's statistic."""

    verdict: GateVerdict
    reasons: list[str]
    suite: str
    statistic: str
    margin: float
    history: list[str] = field(default_factory=list)
    candidate: list[str] = field(default_factory=list)
    drop: float | None = None
    false_block: float | None = None
    power: float | None = None
    mde: float | None = None
    runs_needed: int | None = None
    report: str | None = None
    manifest_sha256: str | None = None
    policy_sha256: str | None = None

    @property
    def exit_code(self) -> int:
        """Return the exit code of the verdict: 0, 1, 3 or 4."""
        return EXIT_CODES[self.verdict]

    def as_record(self) -> dict[str, Any]:
        """Return the result as plain data, with its exit code."""
        return {**asdict(self), "verdict": str(self.verdict), "exit_code": self.exit_code}


def read_policy(path: Path) -> dict[str, Any]:
    """Return a valid policy. Raises SuiteError with every problem of the file."""
    return _policy_and_digest(path)[0]


def _policy_and_digest(path: Path) -> tuple[dict[str, Any], str]:
    raw = contract.read_bytes(path)
    document, text = contract.parse_bytes(raw, path)
    found = contract.problems(document, "policy.v1")
    if not found and document["history"]["window"] < document["history"]["minimum"]:
        found = [Problem("/history/window", "a window below the minimum can never be gated; widen it")]
    if found:
        raise SuiteError(path, contract.with_lines(found, text))
    return dict(document), contract.digest(raw)


def decide(report: dict[str, Any], policy: dict[str, Any], *, reruns: int = 1) -> GateResult:
    """Judge the last ``reruns`` runs of a report's series against the runs before them.

    Parameters
    ----------
    report : dict
        A document of schema ``report.v1``; its ``series`` is what is judged.
    policy : dict
        A document of schema ``policy.v1``.
    reruns : int
        How many of the last runs are the candidate (1 to ``policy.reruns``). Raises UsageError outside.
    """
    looks = policy.get("reruns", DEFAULT_RERUNS)
    if not 1 <= reruns <= looks:
        raise UsageError(f"{reruns} runs as the candidate; the policy allows 1 to {looks}", field="--reruns")
    name = report["data"]["suite_id"]
    base = {"suite": policy["suite"], "statistic": policy["statistic"], "margin": policy["margin"]}
    if name != policy["suite"]:
        return _cannot(base, [f"the report is of suite {name}, the policy of {policy['suite']}"])
    series = points(report["series"], policy)
    if not series:
        return _cannot(base, [f"nothing to compare: no run has the {policy['statistic']} of the policy"])
    candidate, earlier = series[-reruns:], series[:-reruns]
    past, cuts = history(earlier, candidate, policy, len(report["data"]["case_ids"]))
    base |= {"history": [p.group_id for p in past], "candidate": [p.group_id for p in candidate]}
    refusals = _refusals(candidate, past, report, policy)
    if refusals:
        return _cannot(base, refusals + cuts)
    return _judged(base, past, candidate, policy, cuts)


def _cannot(base: dict[str, Any], reasons: list[str]) -> GateResult:
    return GateResult(verdict=GateVerdict.CANNOT_GATE, reasons=reasons, **base)


def _refusals(
    candidate: list[Point], past: list[Point], report: dict[str, Any], policy: dict[str, Any]
) -> list[str]:
    """Return every reason why this candidate cannot be judged at all."""
    found = [reason for point in candidate for reason in _point_refusals(point, report, policy)]
    seeds = [point.seed for point in candidate if point.seed is not None]
    if len(set(seeds)) < len(seeds):
        found.append("the candidate's runs share a seed: a replica is not another look")
    if any(point.identity != candidate[0].identity for point in candidate):
        found.append("the candidate's runs differ in identity: they are not looks at one thing")
    unit, need = policy["history"].get("unit", "run"), policy["history"]["minimum"]
    have = len(_history_values(past, policy))
    if have < need:
        found.append(f"the history holds {have} {unit}(s) of the same identity, the policy asks for {need}")
    return found


def _point_refusals(point: Point, report: dict[str, Any], policy: dict[str, Any]) -> list[str]:
    limit = policy.get("max_infrastructure_rate", MAX_LOST)
    cases = len(report["data"]["case_ids"])
    checks = {
        "it is a mock run": point.is_mock,
        f"{point.infrastructure_rate:.0%} of its trials failed for infrastructure (limit {limit:.0%})": (
            point.infrastructure_rate > limit
        ),
        NO_VALUE: point.value is None,
        f"it has a score for {point.n_cases} of {cases} cases": point.n_cases < cases,
    }
    return [f"{point.group_id}: {reason}" for reason, refused in checks.items() if refused]


# --- the verdict ----------------------------------------------------------------------------------


def _judged(
    base: dict[str, Any],
    past: list[Point],
    candidate: list[Point],
    policy: dict[str, Any],
    cuts: list[str],
) -> GateResult:
    rule = Rule(
        margin=policy["margin"],
        alpha=policy["alpha"],
        power=policy.get("power", 0.80),
        looks=policy.get("reruns", DEFAULT_RERUNS),
    )
    before = _history_values(past, policy)
    if max(before) == min(before):
        return _cannot(
            base, ["the history does not vary at all: a repeated answer is not a measured noise", *cuts]
        )
    new = [p.value for p in candidate if p.value is not None]
    nights = len({p.night for p in candidate})
    decision = three_verdict(before, new, rule, independent=nights)
    best = three_verdict(before, new * rule.looks, rule, independent=rule.looks)
    verdict, reasons = _worded(decision, best, rule, len(new))
    return GateResult(
        verdict=verdict,
        reasons=reasons + cuts,
        drop=decision.drop,
        false_block=decision.false_block,
        power=decision.power,
        mde=decision.detectable,
        runs_needed=max(rule.looks - len(new), 0) if verdict is GateVerdict.INCONCLUSIVE else 0,
        **base,
    )


def _history_values(past: list[Point], policy: dict[str, Any]) -> list[float]:
    """Return one value per independent unit: a run, or the mean of the runs of one night, which share it."""
    by_unit: dict[str, list[float]] = {}
    for point in past:
        unit = point.night if policy["history"].get("unit") == "night" else point.group_id
        if point.value is not None:
            by_unit.setdefault(unit, []).append(point.value)
    return [fmean(values) for values in by_unit.values()]


def _worded(decision: Decision, best: Decision, rule: Rule, looks: int) -> tuple[GateVerdict, list[str]]:
    side = "below" if decision.drop > 0 else "above"
    moved = f"{abs(decision.drop):.3f} {side} the centre of {decision.n_history} runs"
    if best.detectable > WIDEST_DETECTABLE * rule.margin:
        blind = f"even {rule.looks} independent runs would see only a drop of {best.detectable:.3f} or more"
        return GateVerdict.CANNOT_GATE, [
            f"too noisy for a margin of {rule.margin:g}: {blind}; use more trials per case or a wider margin",
            f"the candidate lies {moved}",
        ]
    if decision.answer == "block":
        return GateVerdict.REGRESSION, [
            f"the candidate lies {moved}; blocked above {decision.block_above:.3f}"
        ]
    if decision.answer == "pass":
        return GateVerdict.PASS, [
            f"the candidate lies {moved}: a drop of {rule.margin:g} is ruled out at 90%"
        ]
    left = rule.looks - looks
    more = f"run it again, up to {left} more time(s), on another night" if left > 0 else "no rerun is left"
    return GateVerdict.INCONCLUSIVE, [f"the candidate lies {moved}: neither blocked nor cleared; {more}"]


def sentences(result: GateResult) -> list[str]:
    """Return the verdict as lines for a person: the word, the reasons, and how often it would be wrong."""
    word = result.verdict.replace("_", " ").upper()
    lines = [f"{word}: {result.suite}, {result.statistic}, margin {result.margin:g}"]
    lines += [f"  {reason}" for reason in result.reasons]
    if result.false_block is not None and result.power is not None and result.mde is not None:
        errors = f"blocks an unchanged suite {result.false_block:.1%} of the time, a drop of one margin"
        lines.append(f"  this look {errors} {result.power:.0%}; it sees drops from {result.mde:.3f} reliably")
    return lines


def judge(reports: Path, reference: str, policy: Path, *, reruns: int = 1) -> GateResult:
    """Read a report version and a policy, decide, and name the exact bytes the decision stands on."""
    bundle = resolve(reports, reference)
    report, manifest_sha256 = read_verified(bundle)
    rules, policy_sha256 = _policy_and_digest(policy)
    return replace(
        decide(report, rules, reruns=reruns),
        report=str(bundle.relative_to(reports)) if bundle.is_relative_to(reports) else str(bundle),
        manifest_sha256=manifest_sha256,
        policy_sha256=policy_sha256,
    )
