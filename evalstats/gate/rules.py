"""The table of rules: how each judges, what of each run it follows, and how often it would block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evalstats.contract import GateRule
from evalstats.gate import case_rules, curves, delta_rule, series_rules
from evalstats.gate.checks import Check, Look


@dataclass(frozen=True, slots=True)
class GateRuleKind:
    """One rule: ``judge`` looks once, ``curve`` tells how often it would answer what, at true drops.

    ``needs_history``: without enough of it there is nothing to hold the candidate against.
    """

    judge: Callable[[Look], Check]
    curve: curves.Curve
    needs_history: bool


RULES: Mapping[GateRule, GateRuleKind] = {
    GateRule.THREE_VERDICT: GateRuleKind(series_rules.three_verdict, curves.three_verdict, True),
    GateRule.LEGACY: GateRuleKind(series_rules.legacy, curves.legacy, True),
    GateRule.NON_INFERIORITY: GateRuleKind(series_rules.non_inferiority, curves.non_inferiority, True),
    GateRule.ABSOLUTE: GateRuleKind(series_rules.absolute, curves.absolute, False),
    GateRule.PER_CASE: GateRuleKind(case_rules.per_case, curves.per_case, False),
    GateRule.CRITICAL: GateRuleKind(case_rules.critical, curves.critical, False),
    GateRule.MINIMUM_DELTA: GateRuleKind(delta_rule.on_report, curves.minimum_delta, False),
}
