"""Rules that follow a number of each run: the drop against its history, or the distance to a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from evalstats.contract import Arm, GateRule, GateVerdict
from evalstats.errors import UsageError
from evalstats.gate.checks import Check, Look, cannot
from evalstats.gate.policies import LEGACY_MARGIN
from evalstats.gate.series import Point, moment, spread, statistic

if TYPE_CHECKING:
    from evalstats.stats.decisions import Decision, Noise, Rule

WIDEST_DETECTABLE = 2.0  # margins: a gate that sees no drop below this cannot gate
FOUR_WEEKS = timedelta(days=28)
FEWEST_CASES = 3  # of non-inferiority: the scatter of two says next to nothing
NO_MARGIN = 1e-12  # a threshold is met or not: the noise alone decides
STUCK = "the history does not vary at all: a repeated answer is not a measured noise"
VERDICTS = {
    "block": GateVerdict.REGRESSION,
    "pass": GateVerdict.PASS,
    "inconclusive": GateVerdict.INCONCLUSIVE,
}


def three_verdict(look: Look, *, name: str = GateRule.THREE_VERDICT, margin: float | None = None) -> Check:
    """Block, pass or stay open: the candidate's mean against the centre and the scatter of its history."""
    from evalstats.stats import decisions

    rule = look.policy.three_verdict(margin)
    before, new = look.before, look.new
    if spread(before) is None:
        return cannot(name, STUCK)
    found = decisions.three_verdict(before, new, rule, independent=look.nights, step=look.step)
    best = decisions.three_verdict(before, new * rule.looks, rule, independent=rule.looks, step=look.step)
    where = f"{moved(found.drop)} the centre of {len(before)} {units(look)}"
    check = _checked(name, found, rule, look, where)
    if best.detectable <= WIDEST_DETECTABLE * rule.margin:
        return check
    blind = f"even {rule.looks} independent runs would see only a drop of {best.detectable:.3f} or more"
    first = f"too noisy for a margin of {rule.margin:g}: {blind}; use more trials per case or a wider margin"
    reasons = (first, f"the candidate lies {where}")
    return replace(check, verdict=GateVerdict.CANNOT_GATE, reasons=reasons, runs_needed=None)


def non_inferiority(look: Look) -> Check:
    """Is it shown, case by case, that the candidate is not worse than its history by the margin?"""
    from evalstats.stats.decisions import decide

    name, policy = GateRule.NON_INFERIORITY, look.policy
    pairs = [(_case_value(look.past, c, look), _case_value(look.candidate, c, look)) for c in look.cases]
    drops = [old - new for old, new in pairs if old is not None and new is not None]
    if len(drops) < max(len(look.cases), FEWEST_CASES):
        told = f"{len(drops)} of {len(look.cases)} cases have a score on both sides"
        return cannot(
            name, f"{told}; all are needed, and {FEWEST_CASES} at least (is the report an old one?)"
        )
    noise, which = _wider_noise(drops, look)
    if noise is None:
        return cannot(name, which)
    rule = replace(policy.three_verdict(), level=1 - policy.shared_alpha())
    found = decide(fmean(drops), noise, rule)
    where = f"{moved(found.drop)} its history over {len(drops)} paired cases ({which})"
    return _checked(name, found, rule, look, where)


def _case_value(runs: Sequence[Point], case: str, look: Look) -> float | None:
    """Return the statistic of one case over several runs; None unless each of them has it."""
    values = []
    for point in runs:
        told = {arm: row.get("cases", {}).get(case, {}).get("score") for arm, row in point.rows.items()}
        values.append(statistic(told, look.policy, look.candidate[0].headroom))
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _wider_noise(drops: list[float], look: Look) -> tuple[Noise | None, str]:
    """Return the noise between cases or that between runs, whichever is wider: nights move all cases at once."""
    from evalstats.stats.decisions import Noise

    before = look.before
    of_cases = (spread(drops) or 0.0) / sqrt(len(drops))
    of_runs = (spread(before) or 0.0) * sqrt(1 / look.nights + 1 / max(len(before), 1))
    if max(of_cases, of_runs) == 0:
        return None, "no case and no run differs: a repeated answer is not a measured noise"
    step = look.step / len(look.candidate)
    if of_runs > of_cases:
        told = f"noise between {units(look)}, wider than between cases"
        return Noise(std_error=of_runs, df=len(before) - 1, step=step), told
    unknown = "; that of nights is unknown" * (len(before) < 2)
    return Noise(std_error=of_cases, df=len(drops) - 1, step=step), f"noise between cases{unknown}"


def absolute(look: Look) -> Check:
    """Does the lower bound of the candidate's value reach the threshold?"""
    from evalstats.stats.decisions import blocking_probability, decide

    name, policy, threshold = GateRule.ABSOLUTE, look.policy, look.policy.threshold
    if threshold is None:
        return cannot(name, "the policy names no threshold")
    noise, source = _own_noise(look)
    if noise is None:
        return cannot(name, source)
    value = fmean(look.new)
    rule = policy.three_verdict(NO_MARGIN)
    found = decide(threshold - value, noise, rule)
    usual = min(threshold - fmean(look.before), 0.0) if look.before else 0.0
    low = f"{value:.3f}, at least {value + found.pass_below:.3f} at {policy.level:.0%}"
    check = _checked(name, found, rule, look, "")
    return replace(
        check,
        reasons=(f"the candidate has {low}, for a threshold of {threshold:g} ({source})",),
        false_block=blocking_probability(usual, noise, rule),
        power=blocking_probability(policy.margin, noise, rule),
    )


def _own_noise(look: Look) -> tuple[Noise | None, str]:
    """Return the noise of the candidate's own mean: that of past runs, else what its trials explain."""
    from evalstats.stats.decisions import Noise

    runs, before = look.nights, look.before
    step = look.step / len(look.candidate)
    if len(before) >= look.policy.history.minimum:
        scatter = spread(before)
        if scatter is None:
            return None, STUCK
        noise = Noise(std_error=scatter / sqrt(runs), df=len(before) - 1, step=step)
        return noise, f"noise of {len(before)} {units(look)}"
    rows = [row for point in look.candidate for row in point.rows.values()]
    within = [row.get("within_variance") for row in rows]
    if None in within or not sum(v for v in within if v is not None):
        return None, "neither a history nor repeated trials say how noisy it is"
    unit = look.candidate[0].headroom if look.policy.statistic == "lift" else 1.0
    error = sqrt(sum(v for v in within if v is not None)) / len(look.candidate) / unit
    df = sum(row["usable"] - row["n_cases"] for row in rows)
    return Noise(std_error=error, df=df, step=step), "noise of its trials alone; that of nights is unknown"


def legacy(look: Look) -> Check:
    """Does the prescribed rule block? Lift of medians, more than 5 points below the median of four weeks."""
    from evalstats.stats.legacy import legacy_errors, legacy_gate

    name = GateRule.LEGACY
    if len(look.candidate) > 1:
        raise UsageError("the prescribed rule looks at one run", field="--reruns")
    lift, before = median_lift(look.candidate[0]), legacy_values(look)
    if lift is None:
        return cannot(name, "no lift of medians: an arm or its cases are missing, or there is no headroom")
    if len(before) < 2:
        return cannot(name, f"{len(before)} runs of the last four weeks have a lift of medians; 2 are needed")
    found = legacy_gate(before, lift, margin=LEGACY_MARGIN, window=len(before))
    where = f"{moved(found.drop)} the median of the last four weeks ({len(before)} runs)"
    flips, known = f"how often it is wrong is unknown: {STUCK}", {}
    if scatter := spread(before):
        errors = legacy_errors(scatter, len(before), margin=LEGACY_MARGIN, power=look.policy.power)
        flips = f"this rule blocks {errors.false_block:.0%} of the unchanged nights of this suite"
        known = {"false_block": errors.false_block, "power": errors.power, "mde": errors.detectable}
    return Check(
        name=name,
        verdict=GateVerdict.REGRESSION if found.blocks else GateVerdict.PASS,
        reasons=(f"the lift of medians lies {where}; blocked above {LEGACY_MARGIN:g}", flips),
        drop=found.drop,
        runs_needed=0,
        **known,
    )


def legacy_values(look: Look) -> list[float]:
    """Return the lifts of medians of the accepted runs of the four weeks before the candidate."""
    now = moment(look.candidate[0].started_at)
    recent = [p for p in look.past if now - moment(p.started_at) <= FOUR_WEEKS]
    return [lift for point in recent if (lift := median_lift(point)) is not None]


def median_lift(point: Point) -> float | None:
    """Return the lift of one night as prescribed: over the cases, the mean of the median of the trials."""
    medians = {}
    for arm in (Arm.SKILL_ON, Arm.SKILL_OFF):
        told = point.rows.get(arm, {}).get("cases")
        if not told:
            return None
        medians[arm] = fmean(case["median_score"] for case in told.values())
    on, off = medians[Arm.SKILL_ON], medians[Arm.SKILL_OFF]
    return (on - off) / (1 - off) if off < 1 else None


# --- words ----------------------------------------------------------------------------------------


def moved(drop: float) -> str:
    """Return how far, and to which side."""
    return f"{abs(drop):.3f} {'below' if drop > 0 else 'above'}"


def units(look: Look) -> str:
    """Return what the history counts."""
    return f"{look.policy.history.unit}s"


def _checked(name: str, found: Decision, rule: Rule, look: Look, where: str) -> Check:
    verdict, left = VERDICTS[found.answer], look.left
    more = f"run it again, up to {left} more time(s), on another night" if left else "no rerun is left"
    ends = {
        GateVerdict.REGRESSION: f"; blocked above {found.block_above:.3f}",
        GateVerdict.PASS: f": a drop of {rule.margin:g} is ruled out at {rule.level:.0%}",
        GateVerdict.INCONCLUSIVE: f": neither blocked nor cleared; {more}",
    }
    return Check(
        name=name,
        verdict=verdict,
        reasons=(f"the candidate lies {where}{ends[verdict]}",),
        drop=found.drop,
        false_block=found.false_block,
        power=found.power,
        mde=found.detectable,
        runs_needed=left if verdict is GateVerdict.INCONCLUSIVE else 0,
    )
