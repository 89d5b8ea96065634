"""What a policy asks, with every default spelled once. ``schemas/policy.v1.json`` explains each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import contract
from evalstats.contract import IDENTITY, Arm, GateRule, GateStatistic, Outcome
from evalstats.errors import Problem, SuiteError
from evalstats.scoring import MAX_LOST

if TYPE_CHECKING:
    from evalstats.stats.decisions import Rule

LEGACY_MARGIN = 0.05  # five points of lift, as the methodology prescribes


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """Which runs make the history: ``minimum`` and ``window`` count units; a ref of None stands for none recorded."""

    minimum: int = 8
    window: int = 28
    unit: str = "night"
    refs: tuple[str | None, ...] = ("main", None)
    since: str | None = None
    exclude: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may cost, whatever its quality; None where the policy says nothing."""

    cost: float | None = None
    median_duration_s: float | None = None
    timeout_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerCase:
    """Each case must pass k of n trials; ``cases`` of None are all."""

    k: int
    n: int
    cases: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy with its defaults. Rates are shares; margins are in the unit of the statistic."""

    suite: str
    rule: GateRule = GateRule.THREE_VERDICT
    statistic: GateStatistic = GateStatistic.PASS_RATE
    margin: float
    alpha: float = 0.05
    power: float = 0.80
    level: float = 0.90
    arm: Arm = Arm.SKILL_ON
    reruns: int = 3
    history: Yardstick = field(default_factory=Yardstick)
    identity: tuple[str, ...] = IDENTITY
    threshold: float | None = None
    minimum_delta: float | None = None
    per_case: PerCase | None = None
    critical_cases: tuple[str, ...] = ()
    dimensions: Mapping[str, float] = field(default_factory=dict)
    archetypes_alpha: float | None = None
    archetypes_block: bool = False
    max_infrastructure_rate: float = MAX_LOST
    infrastructure: tuple[str, ...] = (Outcome.INFRASTRUCTURE,)
    error_budget: float | None = None
    limits: Limits = field(default_factory=Limits)
    smoke: tuple[str, ...] = ()

    def lacks(self, rule: GateRule) -> str | None:
        """Return the field that a rule asks for and this policy does not have."""
        own = {
            GateRule.ABSOLUTE: "threshold",
            GateRule.PER_CASE: "per_case",
            GateRule.CRITICAL: "critical_cases",
            GateRule.MINIMUM_DELTA: "minimum_delta",
        }.get(rule)
        return own if own and getattr(self, own) in (None, ()) else None

    def shared_alpha(self) -> float:
        """Return the error rate of the whole and of each dimension: the policy's, shared out (Bonferroni)."""
        return self.alpha / (1 + len(self.dimensions))

    def three_verdict(self, margin: float | None = None) -> Rule:
        """Return the three-verdict rule that the policy asks for, with its own margin or that of a dimension."""
        from evalstats.stats.decisions import Rule

        return Rule(
            margin=self.margin if margin is None else margin,
            alpha=self.shared_alpha(),
            power=self.power,
            looks=self.reruns,
            level=self.level,
        )


def policy_of(document: Mapping[str, Any]) -> Policy:
    """Return the policy that a valid document (schema ``policy.v1``) states."""
    known = _whole({name: document[name] for name in Policy.__slots__ if name in document}, "reruns")
    history = _whole(document["history"], "minimum", "window")
    for name, kind in (("refs", tuple), ("exclude", frozenset)):
        if name in history:
            history[name] = kind(history[name])
    per_case = _whole(document.get("per_case", {}), "k", "n")
    if "cases" in per_case:
        per_case["cases"] = tuple(per_case["cases"])
    flags, lost = document.get("archetypes"), document.get("infrastructure", {})
    return Policy(
        **{
            **known,
            "rule": GateRule(document["rule"]),
            "statistic": GateStatistic(document["statistic"]),
            "arm": Arm(document.get("arm", Arm.SKILL_ON)),
            "history": Yardstick(**history),
            "identity": tuple(document.get("identity", IDENTITY)),
            "per_case": PerCase(**per_case) if per_case else None,
            "critical_cases": tuple(document.get("critical_cases", ())),
            "infrastructure": tuple(lost.get("outcomes", (Outcome.INFRASTRUCTURE,))),
            "error_budget": lost.get("error_budget"),
            "limits": Limits(**document.get("limits", {})),
            "smoke": tuple(document.get("smoke", {}).get("archetypes", ())),
            "archetypes_alpha": None if flags is None else flags.get("alpha", document["alpha"]),
            "archetypes_block": bool(flags and flags.get("blocks", False)),
        }
    )


def _whole(table: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a table with some of its numbers as int: to JSON 3.0 is as whole as 3."""
    return {name: int(value) if name in names else value for name, value in table.items()}


def read_policy(path: Path) -> dict[str, Any]:
    """Return a valid policy document. Raises SuiteError with every problem of the file at once."""
    return policy_and_digest(path)[0]


def policy_and_digest(path: Path) -> tuple[dict[str, Any], str]:
    """Return a valid policy document and the digest of the very bytes it was read from."""
    raw = contract.read_bytes(path)
    document, text = contract.parse_bytes(raw, path)
    found = contract.problems(document, "policy.v1") + _contradictions(document)
    if found:
        ordered = sorted(found, key=lambda problem: (problem.pointer, problem.message))
        raise SuiteError(path, contract.with_lines(ordered, text))
    return dict(document), contract.digest(raw)


def _contradictions(document: Any) -> list[Problem]:
    """Return what no schema can say: two fields that cannot both hold."""
    found = []
    if _exceeds(document, "history", "minimum", "window"):
        found.append(Problem("/history/window", "a window below the minimum can never be gated; widen it"))
    if _exceeds(document, "per_case", "k", "n"):
        found.append(Problem("/per_case/k", "more passes than trials can never be had; lower it"))
    return found


def _exceeds(document: Any, table: str, less: str, more: str) -> bool:
    given = document.get(table) if isinstance(document, dict) else None
    low, high = (given.get(less), given.get(more)) if isinstance(given, dict) else (None, None)
    return isinstance(low, int | float) and isinstance(high, int | float) and low > high
