"""What a policy asks beside its rule: canaries, dimensions, archetypes, an error budget, cost and latency."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from math import sqrt
from statistics import fmean

from evalstats.contract import GateRule, GateVerdict, Outcome
from evalstats.gate import case_rules, series_rules
from evalstats.gate.checks import Check, Look, cannot, listed
from evalstats.gate.series import Point, points, rows_of, spread


def guards(look: Look, *, short: bool) -> Iterator[Check]:
    """Yield every further check that the policy asks for; ``short``: the history is, so nothing is held to it."""
    policy = look.policy
    if policy.critical_cases and policy.rule is not GateRule.CRITICAL:
        yield case_rules.critical(look, name="critical cases")
    yield from _limits(look)
    if policy.error_budget is not None:
        yield _error_budget(look, policy.error_budget)
    if not short:
        for dimension, margin in policy.dimensions.items():
            yield _dimension(look, dimension, margin)
        if policy.archetypes_alpha is not None:
            yield _archetypes(look, policy.archetypes_alpha)


def over(look: Look, cases: Collection[str]) -> Look:
    """Return the same look at some of the cases only: candidate and history over just these."""
    rows = rows_of([*look.past, *look.candidate])
    found = {point.group_id: point for point in points(rows, look.policy, frozenset(cases))[0]}

    def of(runs: Collection[Point]) -> list[Point]:
        # The night is that of all runs of the report, not of these alone.
        return [replace(found[point.group_id], night=point.night) for point in runs]

    some = {case: look.cases[case] for case in cases}
    return replace(look, candidate=of(look.candidate), past=of(look.past), cases=some)


def _dimension(look: Look, dimension: str, margin: float) -> Check:
    name = f"dimension {dimension}"
    carried = [case for case, told in look.cases.items() if dimension in told["dimensions"]]
    part = over(look, carried)
    if not carried or None in [point.value for point in (*part.past, *part.candidate)]:
        missing = "no case carries it" if not carried else "not every run tells of its cases"
        return cannot(name, f"{dimension}: {missing}; a missing dimension is missing, not 0")
    check = series_rules.three_verdict(part, name=name, margin=margin)
    return replace(check, reasons=tuple(f"{dimension}: {reason}" for reason in check.reasons))


def _archetypes(look: Look, alpha: float) -> Check:
    """Flag the archetypes that dropped, by Holm over all of them; they block only if the policy says so."""
    from evalstats.stats import holm

    name, blocks = "archetypes", look.policy.archetypes_block
    p_values = {}
    for archetype in sorted({told["archetype"] for told in look.cases.values() if told["archetype"]}):
        cases = [case for case, told in look.cases.items() if told["archetype"] == archetype]
        p_value = _drop_p(over(look, cases))
        if p_value is not None:
            p_values[archetype] = p_value
    if not p_values:
        return cannot(name, "no archetype can be told") if blocks else _fine(name, "no archetype can be told")
    adjusted = holm(list(p_values.values()))
    flagged = [name for name, p in zip(p_values, adjusted, strict=True) if p <= alpha]
    told = f"of {len(p_values)} archetypes {len(flagged)} dropped (Holm, {alpha:g}): {listed(flagged)}"
    return Check(
        name=name,
        verdict=GateVerdict.REGRESSION if flagged and blocks else GateVerdict.PASS,
        reasons=(told if flagged else f"none of {len(p_values)} archetypes dropped (Holm, {alpha:g})",),
        false_block=alpha if blocks else 0.0,
    )


def _drop_p(part: Look) -> float | None:
    """Return the chance of so large a drop in an unchanged archetype; None where its runs never vary."""
    from scipy.special import stdtr

    before = part.before
    scatter = spread(before)
    if len(part.new) < len(part.candidate) or scatter is None:
        return None
    error = scatter * sqrt(1 / part.nights + 1 / len(before))
    drop = fmean(before) - fmean(part.new) - part.step / len(part.candidate) / 2
    return float(stdtr(len(before) - 1, -drop / error))


def _error_budget(look: Look, budget: float) -> Check:
    """Was too much of the window lost to infrastructure? Then quality cannot be told from incidents."""
    window = [*look.earlier[-look.policy.history.window :], *look.candidate]
    trials = sum(point.n_trials for point in window)
    share = sum(point.lost for point in window) / trials if trials else 1.0
    told = f"{share:.1%} of the trials of {len(window)} runs failed for infrastructure, the budget is {budget:.1%}"
    return cannot("error budget", f"spent: {told}") if share > budget else _fine("error budget", told)


def _limits(look: Look) -> Iterator[Check]:
    asked = look.policy.limits
    measured: dict[str, tuple[float | None, Callable[[Point], float | None], str]] = {
        "cost": (asked.cost, _cost, "US dollars a run"),
        "median duration": (asked.median_duration_s, _duration, "seconds a trial"),
        "timeouts": (asked.timeout_rate, _timeouts, "of the trials"),
    }
    for name, (limit, of, unit) in measured.items():
        if limit is not None:
            yield _limit(name, [of(point) for point in look.candidate], limit, unit)


def _limit(name: str, values: list[float | None], limit: float, unit: str) -> Check:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return cannot(name, f"{name}: not recorded for every run; unknown is not zero")
    told = f"{name}: {max(known):.4g} {unit}, the limit is {limit:g}"
    if max(known) > limit:
        return Check(name=name, verdict=GateVerdict.REGRESSION, reasons=(told,))
    return _fine(name, told)


def _cost(point: Point) -> float | None:
    costs: list[float | None] = [row.get("cost") for row in point.rows.values()]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _duration(point: Point) -> float | None:
    durations: list[float | None] = [row.get("median_duration_s") for row in point.rows.values()]
    return None if None in durations else max(d for d in durations if d is not None)


def _timeouts(point: Point) -> float | None:
    told: list[dict[str, int] | None] = [row.get("outcomes") for row in point.rows.values()]
    if None in told or not point.n_trials:
        return None
    return sum(outcomes.get(Outcome.TIMEOUT, 0) for outcomes in told if outcomes) / point.n_trials


def _fine(name: str, reason: str) -> Check:
    return Check(name=name, verdict=GateVerdict.PASS, reasons=(reason,))
