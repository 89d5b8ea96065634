"""Which few cases stand for the suite in a quick check, and what drop can they see?

Some cases of each archetype, drawn by a recorded seed. They are compared with the history of the same cases,
never with that of the whole suite: other cases are as hard as they are. Few cases see only large drops, so the
smallest drop they see stands beside them, and they gate alone only if that is within the margin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalstats.errors import UsageError
from evalstats.stats.decisions import Noise, Rule, detectable_drop
from evalstats.stats.results import agree

if TYPE_CHECKING:
    from evalstats.suite import Suite

Archetypes = dict[str, tuple[str, ...]]


class Values(NamedTuple):
    """The history of some cases: one value per independent unit, and what one trial moves a value by.

    ``trial_sd`` is the standard deviation of a run by the luck of its trials alone, over all of the history; 0 where
    it is unknown.
    """

    values: Sequence[float]
    step: float
    trial_sd: float = 0.0


History = Callable[[Collection[str]], Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Larger:
    """A subset that would see the margin."""

    per_archetype: int
    n_cases: int
    mde: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """Some cases of each archetype, and what one run of them sees. ``mde`` is None where the noise is unknown."""

    suite: str
    seed: int
    per_archetype: int
    archetypes: Archetypes
    margin: float
    mde: float | None
    n_units: int
    why: str
    larger: Larger | None

    @property
    def case_ids(self) -> list[str]:
        """Return the cases, by archetype."""
        return [case for cases in self.archetypes.values() for case in cases]

    @property
    def sees_margin(self) -> bool:
        """Return whether the subset may gate alone."""
        return self.mde is not None and self.mde <= self.margin

    def as_record(self) -> dict[str, Any]:
        """Return it as plain data, without what it stands on (see schema ``smoke-subset.v1``)."""
        larger = self.larger
        return {
            "schema": "smoke-subset.v1",
            "suite": self.suite,
            "seed": self.seed,
            "per_archetype": self.per_archetype,
            "archetypes": {name: list(cases) for name, cases in self.archetypes.items()},
            "case_ids": self.case_ids,
            "margin": self.margin,
            "mde": self.mde,
            "n_units": self.n_units,
            "sees_margin": self.sees_margin,
            "why": self.why,
            "larger": larger
            and {"per_archetype": larger.per_archetype, "n_cases": larger.n_cases, "mde": larger.mde},
        }


def by_archetype(suite: Suite, wanted: Sequence[str] = ()) -> Archetypes:
    """Return the cases of each archetype, all or those wanted. Raises UsageError naming what the suite lacks."""
    found: dict[str, list[str]] = {}
    for case in suite.cases:
        if case.archetype is not None:
            found.setdefault(case.archetype, []).append(case.id)
    missing = [name for name in wanted if name not in found]
    if missing or not found:
        what = (
            f"has no case of {', '.join(missing)}"
            if missing
            else "names no archetypes, so nothing to draw from"
        )
        raise UsageError(f"{what}; it has: {', '.join(found) or 'none'}", path=suite.path, field="archetype")
    return {name: tuple(found[name]) for name in (wanted or sorted(found))}


def draw(archetypes: Mapping[str, Sequence[str]], per_archetype: int, seed: int) -> Archetypes:
    """Return some cases of each archetype, drawn by a seed; a larger draw of one seed holds the smaller."""
    rng = np.random.default_rng(seed)
    orders = {name: rng.permutation(len(archetypes[name])) for name in sorted(archetypes)}
    return {
        name: tuple(cases[at] for at in sorted(orders[name][:per_archetype]))
        for name, cases in archetypes.items()
    }


def choose(
    suite: str,
    archetypes: Mapping[str, Sequence[str]],
    history: History,
    rule: Rule,
    *,
    seed: int,
    per_archetype: int = 1,
) -> Subset:
    """Return the subset of a seed, what it sees, and the smallest larger one that would see the margin.

    Parameters
    ----------
    suite : str
        Its id.
    archetypes : mapping
        The cases of each archetype that must be in.
    history : callable
        The accepted history over the cases that it is given.
    rule : Rule
        Margin, error rates and power of the gate.
    seed : int
        Of the draw.
    per_archetype : int
        Cases of each archetype.
    """
    drawn = draw(archetypes, per_archetype, seed)
    n_units, mde, why = _seen(_cases(drawn), history, rule)
    larger = None
    if mde is None or mde > rule.margin:
        larger = _larger(archetypes, history, rule, seed=seed, above=per_archetype)
        if larger is None and mde is not None:
            why = f"{why}; even all cases of these archetypes would not do: more trials a case, or a wider margin"
    return Subset(
        suite=suite,
        seed=seed,
        per_archetype=per_archetype,
        archetypes=drawn,
        margin=rule.margin,
        mde=mde,
        n_units=n_units,
        why=why,
        larger=larger,
    )


def _larger(
    archetypes: Mapping[str, Sequence[str]], history: History, rule: Rule, *, seed: int, above: int
) -> Larger | None:
    found = None
    for size in range(max(map(len, archetypes.values())), above, -1):  # all that are larger must see it too
        cases = _cases(draw(archetypes, size, seed))
        mde = _seen(cases, history, rule)[1]
        if mde is None or mde > rule.margin:
            break
        found = Larger(per_archetype=size, n_cases=len(cases), mde=mde)
    return found


def _seen(cases: Sequence[str], history: History, rule: Rule) -> tuple[int, float | None, str]:
    """Return the units behind it, the smallest drop that one run of these cases shows, and the reason.

    A few nights may lie close together by luck, and among many subsets some do. No run is steadier than its own
    trials, which are many: the noise is at least theirs.
    """
    values, step, trial_sd = history(cases)
    n = len(values)
    if n < 2 or agree(np.asarray(values)):
        why = f"{n} of the 2 runs needed" if n < 2 else f"all {n} runs agree: no noise was measured"
        return n, None, f"the noise of these {len(cases)} cases is unknown: {why}"
    error = max(float(np.std(values, ddof=1)), trial_sd) * sqrt(1 + 1 / n)
    mde = detectable_drop(Noise(std_error=error, df=n - 1, step=step), rule)
    ends = "within" if mde <= rule.margin else "beyond"
    return n, mde, f"one run sees drops from {mde:.3f}, {ends} the margin of {rule.margin:g}"


def _cases(archetypes: Mapping[str, Sequence[str]]) -> list[str]:
    return [case for cases in archetypes.values() for case in cases]
