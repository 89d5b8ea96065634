"""How many cases and trials does the next study need? What the planning notebook reads and estimates.

A pilot in the store says what makes scores vary. From there on it is arithmetic: what each design would see, what
it costs, and, where cases are few and arithmetic flatters, how often a study tried out in a like world sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

from evalstats.errors import UsageError
from evalstats.report import material, tables
from evalstats.report.material import Material

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from evalstats.stats.allocation import Costs
    from evalstats.stats.planning import Spread, Study
    from evalstats.stats.worlds import World

CURVES = (1, 3, 5, 10)  # trials whose curves are always drawn
TRIED_OUT = (10, 15, 20, 25)  # cases whose power is found by trying, where they are few
FEW_CASES, STUDIES = 30, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """What a pilot says: its runs, the study asked for, and the variances with those at their interval's ends.

    ``spread`` is None where nothing can be planned, and then ``refusal`` says why.
    """

    found: Material
    study: Study
    costs: Costs
    effect: float
    level: float
    spread: Spread | None
    refusal: str
    ends: tuple[Spread | None, Spread | None]

    @property
    def arms(self) -> tuple[str, ...]:
        """Return the arms that the study has."""
        return self.found.arms

    @property
    def plans(self) -> pd.DataFrame:
        """Return the designs that see the effect, the pilot as it was run first; one row if refused."""
        from evalstats import estimates

        how: dict[str, Any] = {"effect": self.effect, "study": self.study, "costs": self.costs}
        return estimates.plan(self.found.runs, arms=self.arms, **how)

    @property
    def cheapest(self) -> dict[str, Any] | None:
        """Return the design that sees the effect at the lowest cost; None if refused."""
        return next((row for row in tables.rows(self.plans) if row["design"] == "cheapest"), None)


def read(
    store: str,
    suite: str,
    *,
    effect: float,
    prices: tuple[float, float],
    promise: tuple[float, float],
    level: float,
) -> Pilot:
    """Read a pilot: two arms if the suite was run in both, else one.

    Parameters
    ----------
    store, suite : str
        The store and the suite whose runs are the pilot.
    effect : float
        Smallest effect that matters, above 0, in the unit of the score.
    prices : tuple of two float
        Price of one more case, and of one more trial of it in one arm.
    promise : tuple of two float
        Chance of a finding where there is none (alpha), and where there is the effect (power).
    level : float
        Level of the intervals of the variances.
    """
    from evalstats import estimates

    found = material.read(store, suite)
    if not 0 < effect < 1:
        raise UsageError(
            f"must lie between 0 and 1, in the unit of the score; got {effect:g}", field="effect"
        )
    study, costs = _asked(found, promise, prices)
    spread, note = estimates.spread(found.runs, arms=found.arms)
    return Pilot(
        found=found,
        study=study,
        costs=costs,
        effect=effect,
        level=level,
        spread=spread,
        refusal=note.removeprefix("the pilot plans nothing: ") if spread is None else "",
        ends=(None, None) if spread is None else _ends(found, level),
    )


def _asked(found: Material, promise: tuple[float, float], prices: tuple[float, float]) -> tuple[Study, Costs]:
    """Return the study and its prices. Raises UsageError when they are none."""
    from evalstats.stats.allocation import Costs
    from evalstats.stats.planning import Study

    try:
        study = Study(paired=found.is_paired, alpha=promise[0], power=promise[1])
        return study, Costs(case=prices[0], trial=prices[1])
    except ValueError as error:
        raise UsageError(str(error), field="alpha, power or costs") from None


def _ends(found: Material, level: float) -> tuple[Spread | None, Spread | None]:
    """Return the variances at the lower, and at the upper ends of their intervals; None where there are none."""
    from evalstats.estimates.sources import codes, like_trials
    from evalstats.stats.components import variance_components
    from evalstats.stats.planning import Spread

    rows = like_trials(found.runs[found.runs["n_usable"] > 0])
    days = codes(rows["arm"]) if found.is_paired else None  # the two arms of a case cross as days would
    parts = variance_components(
        rows["score"].to_numpy(), cases=codes(rows["case_id"]), days=days, level=level
    )
    case, times = (parts.case_day, 2) if found.is_paired else (parts.case, 1)
    ends = []
    for name in ("conf_low", "conf_high"):
        variances = times * getattr(case, name), getattr(parts.trial, name)
        known = not any(map(isnan, variances)) and any(v > 0 for v in variances)
        ends.append(Spread(case=max(variances[0], 0.0), trial=max(variances[1], 0.0)) if known else None)
    return ends[0], ends[1]


# --- power ---------------------------------------------------------------------------------------


def power(pilot: Pilot, spread: Spread, cases: float, trials: float) -> float:
    """Return the chance that a study of this size sees the effect, by the normal approximation."""
    from scipy.special import ndtr, ndtri

    error = sqrt(pilot.study.variance_of_case(spread, trials, 1) / cases)
    if error == 0:
        return 1.0
    threshold = float(ndtri(1 - pilot.study.alpha / pilot.study.sides))
    other_side = float(ndtr(-pilot.effect / error - threshold)) if pilot.study.sides == 2 else 0.0
    return float(ndtr(pilot.effect / error - threshold)) + other_side


def curves(pilot: Pilot) -> pd.DataFrame:
    """Return power by ``trials`` and ``cases``, and what it would be at the ends of the variances' intervals."""
    from evalstats.report.power import grid_of

    rows = []
    if pilot.spread is not None and pilot.cheapest is not None:
        designs = {row["design"]: row for row in tables.rows(pilot.plans)}
        last = max(int(designs["1 trial"]["cases"] * 1.1) + 1, 2 * FEW_CASES)
        single = isnan(designs["best split"]["trials"]) and pilot.spread.trial == 0
        chosen = int(pilot.cheapest["trials"])
        needed = {
            int(r["cases"]) for r in designs.values() if r["design"] != "pilot" and not isnan(r["cases"])
        }
        sizes = sorted({*grid_of(last), *(n for n in needed if n <= last)})
        for trials in (1,) if single else sorted({*CURVES, chosen}):
            rows += [_at(pilot, cases, trials) for cases in sizes]
    return material.frame_of(rows, "trials cases power low high".split())


def _at(pilot: Pilot, cases: int, trials: int) -> dict[str, Any]:
    # The largest variances give the smallest power.
    spreads = (pilot.spread, *reversed(pilot.ends))
    found = [nan if spread is None else power(pilot, spread, cases, trials) for spread in spreads]
    return {"trials": trials, "cases": cases, **dict(zip(("power", "low", "high"), found, strict=True))}


def simulate(pilot: Pilot, rng: np.random.Generator) -> pd.DataFrame:
    """Return power by trying it, for studies of few cases in a world like the pilot's; no row where there is none."""
    from evalstats import stats

    best = pilot.cheapest
    rows = []
    if best is not None and pilot.study.paired:
        trials = int(best["trials"])
        for cases in TRIED_OUT:
            world = world_of(pilot, cases, trials)
            if world is None:
                break
            found = stats.simulated_power(world, rng=rng, reps=STUDIES, alpha=pilot.study.alpha)
            rows.append({"trials": trials, "cases": cases, **found.as_row()})
    from evalstats.estimates.cases import tidy

    columns = ["trials", "cases", *tidy([], []).columns]
    return material.frame_of(rows, columns)


def world_of(pilot: Pilot, cases: int, trials: int) -> World | None:
    """Return a world that varies as the pilot did, with the effect asked for; None where the pilot leaves no room.

    The yardstick's pass rate and the likeness of its trials are the pilot's. The arms share as much of the
    difficulty of a case as leaves the variance of the case differences that the pilot had. Graded trials are
    means of as many questions as give their variance.
    """
    from evalstats import estimates
    from evalstats.stats.worlds import World

    base = pilot.found.pair[1]
    own, _ = estimates.spread(pilot.found.runs, arms=[base])
    mean = float(
        tables.rows(estimates.rate(pilot.found.runs, by=("arm",)).query("arm == @base"))[0]["estimate"]
    )
    if own is None or pilot.spread is None or not 0 < mean < 1 - pilot.effect:
        return None
    binary = max(
        mean * (1 - mean) - own.case, 0.0
    )  # the variance that yes/no trials of such cases would have
    questions = round(binary / own.trial) if own.trial > 0 else 1
    return World(
        cases=cases,
        trials=trials,
        mean=mean,
        effect=pilot.effect,
        correlation=min(own.case / (mean * (1 - mean)), 0.95),
        pairing=max(min(1 - pilot.spread.case / (2 * own.case), 1.0), -1.0) if own.case > 0 else 0.0,
        expectations=max(questions, 1),
    )
