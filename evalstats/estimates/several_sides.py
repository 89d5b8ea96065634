"""Several things compared at once: every pair with Holm's correction, and which cannot be told apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from evalstats import stats
from evalstats.estimates.records import noted
from evalstats.estimates.sides import Between, Side, compare_sides

HOLM = "p adjusted over all pairs (Holm)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two of the sides, and what came of comparing the second with the first."""

    old: Side
    new: Side
    found: Between


def pairwise(
    sides: Sequence[Side], *, rng: np.random.Generator, level: float, margin: float | None = None
) -> list[Pair]:
    """How does each side compare with each one before it? P-values are adjusted together where there are several."""
    pairs = [
        Pair(old=old, new=new, found=compare_sides(new, old, rng=rng, level=level, margin=margin))
        for old, new in itertools.combinations(sides, 2)
    ]
    return pairs if len(pairs) == 1 else _adjusted(pairs)


def _adjusted(pairs: list[Pair]) -> list[Pair]:
    """Adjust each kind of test within its own family: differences, equivalences, non-inferiorities."""
    tests = [dict(pair.found.tests) for pair in pairs]
    for name in tests[0]:
        known = [i for i, each in enumerate(tests) if not isnan(each[name].p_value)]
        adjusted = stats.holm([tests[i][name].p_value for i in known])
        for i, p_value in zip(known, adjusted, strict=True):
            tests[i][name] = noted(replace(tests[i][name], p_value=float(p_value)), HOLM)
    return [
        replace(pair, found=replace(pair.found, tests=found))
        for pair, found in zip(pairs, tests, strict=True)
    ]


def not_told_apart(pairs: Sequence[Pair], *, alpha: float = 0.05) -> list[list[str]]:
    """Which sides form groups whose members no test separates? The largest such groups, in the order of the sides.

    A pair without a p-value counts as not separated: what was not seen is not a difference.
    """
    names = list(dict.fromkeys(side.name for pair in pairs for side in (pair.old, pair.new)))
    apart = {
        frozenset((pair.old.name, pair.new.name))
        for pair in pairs
        if pair.found.tests["difference"].p_value < alpha
    }
    groups: list[set[str]] = []
    for size in range(len(names), 0, -1):
        for chosen in itertools.combinations(names, size):
            together = not any(frozenset(two) in apart for two in itertools.combinations(chosen, 2))
            if together and not any(set(chosen) <= group for group in groups):
                groups.append(set(chosen))
    return [[name for name in names if name in group] for group in groups]
