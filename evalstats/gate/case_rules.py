"""Rules that look at single cases: k of n trials of each, and canaries that may never fail."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, TypeAlias

from evalstats.contract import GateRule, GateVerdict
from evalstats.gate.checks import Check, Look, cannot, listed

Counts: TypeAlias = dict[str, tuple[int, int]]  # case -> passed, usable trials
EXACT = 40  # halvings of an interval of pass rates: as exact as anybody asks


def per_case(look: Look) -> Check:
    """Did each case pass k of n trials? More trials than n are held to the same share."""
    name, asked = GateRule.PER_CASE, look.policy.per_case
    if asked is None:
        return cannot(name, "the policy does not say how many trials must pass")
    wanted = list(look.cases) if asked.cases is None else list(asked.cases)
    seen = counts(look.candidate, look)
    short = [case for case in wanted if seen.get(case, (0, 0))[1] < asked.n]
    if short or not wanted:
        fewest = min((seen.get(case, (0, 0))[1] for case in short), default=0)
        more = ceil(asked.n * len(look.candidate) / fewest) - len(look.candidate) if fewest else None
        told = f"{asked.n} usable trials of each case are needed, and these have fewer: {listed(short)}"
        return cannot(name, told if wanted else "no case is named and none is known", runs_needed=more)
    required = {case: (ceil(asked.k * seen[case][1] / asked.n), seen[case][1]) for case in wanted}
    return _held(name, look, seen, required)


def critical(look: Look, *, name: str = GateRule.CRITICAL) -> Check:
    """Did every trial of the critical cases pass? One failure blocks: such a canary never fails by chance."""
    wanted, seen = look.policy.critical_cases, counts(look.candidate, look)
    unseen = [case for case in wanted if case not in seen]
    if unseen:
        return cannot(name, f"no usable trial of the critical {listed(unseen)}")
    return _held(name, look, seen, {case: (seen[case][1], seen[case][1]) for case in wanted})


def counts(runs: Any, look: Look) -> Counts:
    """Return passed and usable trials of each case over several runs, in the arm that the policy follows."""
    found: Counts = {}
    for point in runs:
        for case, told in point.rows.get(look.policy.arm, {}).get("cases", {}).items():
            passed, usable = found.get(case, (0, 0))
            found[case] = (passed + told["passed"], usable + told["usable"])
    return found


def _held(name: str, look: Look, seen: Counts, required: Counts) -> Check:
    """Return the check that each case has its required passes; ``required`` maps to (passes, of trials)."""
    failed = [
        f"{case} passed {seen[case][0]} of {seen[case][1]} trials, {k} needed"
        for case, (k, _) in required.items()
        if seen[case][0] < k
    ]
    calm, chance = chances(counts(look.past, look), required)
    fine = f"all of {len(required)} case(s) passed as many trials as they must"
    return Check(
        name=name,
        verdict=GateVerdict.REGRESSION if failed else GateVerdict.PASS,
        reasons=(listed(failed, "; ") if failed else fine,),
        false_block=calm,
        power=chance(look.policy.margin),
        mde=smallest(chance, look.policy.power),
        runs_needed=0,
    )


def chances(past: Counts, required: Counts) -> tuple[float, Callable[[float], float]]:
    """Return how often unchanged cases are blocked, and a function: drop of every pass rate -> how often then.

    From what the cases did before; one without a past may have any pass rate.
    """
    import numpy as np

    from evalstats.stats.k_of_n import chance_of_k, predicted_chance_of_k

    before = np.array([past.get(case, (0, 0)) for case in required], dtype=float).reshape(-1, 2)
    k, n = np.array(list(required.values()), dtype=int).reshape(-1, 2).T
    rates = (before[:, 0] + 0.5) / (before[:, 1] + 1)
    calm = predicted_chance_of_k(before[:, 0], before[:, 1], k, n)

    def chance(drop: float) -> float:
        return float(1 - chance_of_k(np.clip(rates - drop, 0, 1), k, n).prod())

    return float(1 - calm.prod()), chance


def smallest(chance: Callable[[float], float], power: float) -> float | None:
    """Return the smallest drop with so large a chance; None when there is none."""
    if chance(1.0) < power:
        return None
    low, high = 0.0, 1.0
    for _ in range(EXACT):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    return high
