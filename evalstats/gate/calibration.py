"""How often does a rule block nights on which nothing changed? Each accepted night judged against those before.

Two ways to ask. *Replay*: every night of the history in its turn is the candidate. *Split*: the trials of each
night are dealt at random to two halves; one half is the history, the other the candidate, so that both are of
the same subject by construction. Nights share their histories, so the replays are not quite independent, and
the interval is a little too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isclose
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evalstats.contract import GateRule, GateVerdict
from evalstats.gate.checks import Check, Look
from evalstats.gate.policies import policy_of
from evalstats.gate.rules import RULES
from evalstats.gate.series import Point, points, unit_of
from evalstats.gate.verdict import Asked, look_of, with_rule

if TYPE_CHECKING:
    import numpy as np

SPLITS = 20
LEVEL = 0.95
REPLAY, SPLIT = "replay", "split"
_NOTHING = {
    REPLAY: "no night has enough accepted ones before it",
    SPLIT: "it takes two trials of each case, each a plain pass or fail",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """How often one rule blocked unchanged nights, with the exact 95% interval; None when none could be judged."""

    rule: GateRule
    way: str
    nights: int = 0
    inconclusive: float | None = None
    flip_rate: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    blessed: bool | None = None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What an A/A test of the rules found. ``exit_code``: 0 blessed, 1 not, 3 when nothing could be judged."""

    suite: str
    rule: GateRule
    alpha: float
    seed: int
    flips: tuple[Flips, ...]

    @property
    def exit_code(self) -> int:
        """Return what the policy's own rule earns: it is blessed unless any way of asking refutes it."""
        mine = [flips.blessed for flips in self.flips if flips.rule is self.rule]
        return 1 if False in mine else 0 if True in mine else 3

    def as_record(self) -> dict[str, Any]:
        """Return the calibration as plain data."""
        return {**asdict(self), "rule": str(self.rule), "exit_code": self.exit_code}


def calibrate(
    report: dict[str, Any], policy: dict[str, Any], *, seed: int, rules: Iterable[GateRule] | None = None
) -> Calibration:
    """Ask each rule about nights on which nothing changed.

    Parameters
    ----------
    report : dict
        A document of schema ``report.v1``.
    policy : dict
        A document of schema ``policy.v1``: which runs are accepted, and what the rules need.
    seed : int
        Of the random halves; recorded in the result.
    rules : iterable of GateRule, optional
        Which rules; by default that of the policy, and the three-verdict and the prescribed one beside it.
    """
    import numpy as np

    asked = [GateRule(policy["rule"])] if rules is None else list(rules)
    if rules is None:
        asked += [r for r in (GateRule.THREE_VERDICT, GateRule.LEGACY) if r not in asked]
    flips: list[Flips] = []
    for rule in asked:
        look = _every_night(report, policy, Asked(rule=rule))
        flips.append(_replayed(rule, look))
        if look is not None and rule in _OF_THE_SERIES:
            flips.append(_split(rule, look, np.random.default_rng(seed)))
    own = GateRule(policy["rule"])
    return Calibration(suite=policy["suite"], rule=own, alpha=policy["alpha"], seed=seed, flips=tuple(flips))


def _every_night(report: dict[str, Any], policy: dict[str, Any], asked: Asked) -> Look | None:
    """Return the look at all accepted nights of a report, not only those of one window."""
    wide = {**policy, "history": {**policy["history"], "window": len(report["series"]) + 1}}
    look = look_of(report, wide, asked)
    return look and replace(look, policy=with_rule(policy_of(policy), asked))


_OF_THE_SERIES = (GateRule.THREE_VERDICT, GateRule.ABSOLUTE)


def _replayed(rule: GateRule, look: Look | None) -> Flips:
    if look is None:
        return _counted(rule, REPLAY, [], 0.05, 0)
    nights = [*look.past, *look.candidate]
    said = [check for index in range(len(nights)) if (check := _judged(rule, look, nights, index))]
    return _counted(rule, REPLAY, said, look.policy.alpha, len(said))


def _judged(
    rule: GateRule, look: Look, nights: Sequence[Point], index: int, twin: Point | None = None
) -> Check | None:
    """Return what the rule says of one night against those before it; None when they are too few."""
    candidate = twin or nights[index]
    policy, own = look.policy, unit_of(nights[index], look.policy)
    before = [point for point in nights[:index] if unit_of(point, policy) != own]
    one = replace(look, candidate=[candidate], past=before, earlier=before)
    if candidate.value is None or len(one.before) < policy.history.minimum:
        return None
    window = before[-policy.history.window :]
    check = RULES[rule].judge(replace(one, past=window))
    return None if check.verdict is GateVerdict.CANNOT_GATE and check.drop is None else check


def _split(rule: GateRule, look: Look, rng: np.random.Generator) -> Flips:
    """Judge one half of the trials of each night against the other halves of the nights before, many times."""
    nights = [*look.past, *look.candidate]
    said: list[Check] = []
    judged = 0
    for _ in range(SPLITS):
        halves = _halves(nights, look, rng)
        if halves is None:
            break
        first, second = halves
        checks = [_judged(rule, look, first, index, second[index]) for index in range(len(nights))]
        said += [check for check in checks if check is not None]
        judged = max(judged, sum(check is not None for check in checks))
    return _counted(rule, SPLIT, said, look.policy.alpha, judged)


def _halves(
    nights: Sequence[Point], look: Look, rng: np.random.Generator
) -> tuple[list[Point], list[Point]] | None:
    """Return two halves of the trials of each night; None where a night has no pairs of yes/no trials."""
    dealt: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for row in (row for point in nights for row in point.rows.values()):
        told = row.get("cases", {})
        if any(case["usable"] < 2 or _graded(case) for case in told.values()) or not told:
            return None
        first, second = {}, {}
        for name, case in told.items():
            size = case["usable"] // 2
            passed = int(rng.hypergeometric(case["passed"], case["usable"] - case["passed"], size))
            first[name] = _case(passed, size)
            second[name] = _case(case["passed"] - passed, case["usable"] - size)
        for half, cases in zip(dealt, (first, second), strict=True):
            half.append({**row, "cases": cases, "score": fmean(c["score"] for c in cases.values())})
    made = [points(rows, look.policy, frozenset(look.cases))[0] for rows in dealt]
    return made[0], made[1]


def _graded(case: dict[str, Any]) -> bool:
    """Return whether a trial scored between fail and pass: whole passes leave no remainder."""
    return not isclose(case["score"] * case["usable"], case["passed"], abs_tol=1e-6)


def _case(passed: int, usable: int) -> dict[str, Any]:
    share = passed / usable
    return {"passed": passed, "usable": usable, "score": share, "median_score": float(2 * passed > usable)}


def _counted(rule: GateRule, way: str, said: Sequence[Check], alpha: float, nights: int) -> Flips:
    """Return the flip rate of all answers; ``nights`` of them are independent, or nearly."""
    from evalstats.stats import clopper_pearson

    if not nights:
        return Flips(rule=rule, way=way, reason=f"cannot tell: {_NOTHING[way]}")
    blocked, still_open = (
        sum(check.verdict is verdict for check in said) / len(said)
        for verdict in (GateVerdict.REGRESSION, GateVerdict.INCONCLUSIVE)
    )
    found = clopper_pearson(round(blocked * nights), nights, level=LEVEL)
    told = f"{blocked:.1%} of {nights} unchanged nights blocked [{found.conf_low:.1%}, {found.conf_high:.1%}]"
    return Flips(
        rule=rule,
        way=way,
        nights=nights,
        inconclusive=still_open,
        flip_rate=blocked,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        blessed=found.conf_low <= alpha,
        reason=f"{told}: {_word(found.conf_low, found.conf_high, alpha)}",
    )


def _word(low: float, high: float, alpha: float) -> str:
    from evalstats.stats import zero_failure_runs

    if low > alpha:
        return f"more than the {alpha:.1%} declared"
    more = "" if high <= alpha else f"; {zero_failure_runs(alpha)} clean nights would show it"
    return f"{alpha:.1%} declared, not refuted{more}"
