"""The rule of a DeltaScorecard: the aggregate of skill-on less skill-off must reach a minimum."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from evalstats.contract import GateRule, GateVerdict, Verdict
from evalstats.gate.checks import Check, Look, cannot
from evalstats.gate.series import spread

NAME = GateRule.MINIMUM_DELTA
ROUNDED = 1e-3  # a scorecard may round its aggregates


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a scorecard: the minimum, and the margin and power at which its errors are told."""

    minimum: float
    margin: float | None = None
    power: float = 0.80


def on_report(look: Look) -> Check:
    """Does the difference of the candidate reach the minimum? Its noise is that of the history, if there is one."""
    policy, before = look.policy, look.before
    if policy.minimum_delta is None:
        return cannot(NAME, "the policy names no minimum")
    asked = Asked(minimum=policy.minimum_delta, margin=policy.margin, power=policy.power)
    scatter = spread(before)
    error = scatter and scatter / len(look.candidate) ** 0.5
    return _judged(fmean(look.new), error, asked, "the mean difference over the cases")


def on_scorecard(scorecard: dict[str, Any], asked: Asked) -> Check:
    """Does the aggregate of a DeltaScorecard reach the minimum? A mock or lone live trial decides nothing."""
    reasons = []
    if scorecard.get("verdict") == Verdict.ADVISORY:
        reasons = list(scorecard.get("reasons") or ["the scorecard is advisory"])
    comparable = [case for case in scorecard["per_case"] if case.get("comparable", True)]
    if not comparable:
        reasons.append("an empty comparison: no case ran in both arms")
    if scorecard["aggregate_delta"] is None:
        reasons.append("an arm has no aggregate: nothing could be scored")
    reasons += _contradiction(scorecard)
    if reasons:
        return cannot(NAME, *reasons)
    error = (scorecard.get("difference") or {}).get("std_error")
    return _judged(scorecard["aggregate_delta"], error, asked, "the aggregate of skill-on less skill-off")


def _contradiction(scorecard: dict[str, Any]) -> list[str]:
    """Return in words that the aggregate is not what the arms say, where both are told."""
    on, off = scorecard.get("skill_on_aggregate"), scorecard.get("skill_off_aggregate")
    delta = scorecard["aggregate_delta"]
    if on is None or off is None or delta is None or abs(on - off - delta) <= ROUNDED:
        return []
    return [f"the scorecard contradicts itself: {on:g} less {off:g} is {on - off:+.4f}, it says {delta:+g}"]


def _judged(delta: float, error: float | None, asked: Asked, what: str) -> Check:
    enough = delta >= asked.minimum
    told = f"{what} is {delta:+.4f}, the minimum {asked.minimum:+g}"
    known = _errors(delta, error, asked) if error else {}
    unknown = "its noise is unknown, and with it how often this would be wrong"
    near = error is not None and abs(delta - asked.minimum) < 2 * error
    reasons = [told] + [unknown] * (not error) + ["so near that a rerun could fall on the other side"] * near
    return Check(
        name=NAME,
        verdict=GateVerdict.PASS if enough else GateVerdict.REGRESSION,
        reasons=tuple(reasons),
        drop=asked.minimum - delta,
        runs_needed=0,
        **known,
    )


def _errors(delta: float, error: float, asked: Asked) -> dict[str, float]:
    """Return the error rates: a false block is one of a suite whose true delta is as measured, or the minimum."""
    from scipy.special import ndtr, ndtri

    found = {
        "false_block": float(ndtr(-max(delta - asked.minimum, 0.0) / error)),
        "mde": float(ndtri(asked.power)) * error,
    }
    return found if asked.margin is None else {**found, "power": float(ndtr(asked.margin / error))}
