"""What the planning notebook shows: power curves, costs, designs, variances, and studies tried out."""

from __future__ import annotations

from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

from evalstats.report import material, tables
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.canvas import Figure
    from evalstats.report.pilots import Pilot
    from evalstats.stats.planning import Spread

_DUST = 1e-9  # a harmonic mean of whole numbers may miss one by this
_DRAWN_TRIALS = 10  # plans of up to so many trials are always priced


def power_figure(pilot: Pilot, drawn: pd.DataFrame, simulated: pd.DataFrame) -> Figure:
    """Draw the power curves, with what was tried out."""
    from evalstats.report.power import power_curves

    chosen = int(pilot.cheapest["trials"]) if pilot.cheapest else 1
    title = f"Chance to see {_effect(pilot)} of {tables.rate(pilot.effect)}, by cases and trials"
    return power_curves(drawn, simulated, chosen=chosen, power=pilot.study.power, title=title)


def _effect(pilot: Pilot) -> str:
    return "a difference" if pilot.study.paired else "a change"


def cost_figure(pilot: Pilot) -> Figure:
    """Draw what it costs to see the effect, by trials a case."""
    from evalstats.report.plan_costs import cost_curve

    rows = []
    if pilot.spread is not None and pilot.cheapest is not None:
        most = max(_DRAWN_TRIALS, int(pilot.cheapest["trials"]) + 2)
        rows = [_priced(pilot, pilot.spread, trials) for trials in range(1, most + 1)]
    return cost_curve(material.frame_of(rows, "trials cases cost low high".split()))


def _priced(pilot: Pilot, spread: Spread, trials: int) -> dict[str, Any]:
    from evalstats.stats.planning import cases_needed

    price = pilot.costs.of_case(len(pilot.arms), trials, 1)
    cases, low, high = (
        nan if each is None else cases_needed(pilot.effect, each, pilot.study, trials=trials)
        for each in (spread, *pilot.ends)
    )
    return {"trials": trials, "cases": cases, "cost": cases * price, "low": low * price, "high": high * price}


def plans_table(pilot: Pilot) -> Table:
    """Return the designs side by side."""
    shown = pilot.plans.assign(tries=[whole(trials) for trials in pilot.plans["trials"]])
    columns: list[Column | str] = [
        "design",
        Column("cases", "Cases", "count"),
        Column("tries", "Trials a case and arm"),
        Column("cost", "Cost", "count"),
        Column(
            "detectable", "Sees differences from" if pilot.study.paired else "Sees changes from", "number"
        ),
    ]
    return Table("plans", "Designs, and what each sees", shown, columns)


def whole(value: float) -> str:
    """Return a number without digits where it has none: 30, and 4.08."""
    if isnan(value):
        return tables.NOT_AVAILABLE
    return tables.count(value) if abs(value - round(value)) < _DUST else tables.number(value)


def simulated_table(simulated: pd.DataFrame) -> Table:
    """Return what was tried out."""
    columns: list[Column | str] = [
        Column("cases", "Cases", "count"),
        Column("trials", "Trials a case and arm", "count"),
        Column("estimate", "Chance to see it [95% interval]", "estimate"),
        Column("n_cases", "Studies tried", "count"),
    ]
    return Table("tried-out", "Small studies, tried out", simulated, columns)


def variances_table(pilot: Pilot) -> Table:
    """Return what makes scores vary: each variance with its interval, and its standard deviation."""
    between = "between cases, true differences" if pilot.study.paired else "between cases"
    rows = []
    for name, what in (("case", between), ("trial", "between trials of a case")):
        values = [nan if s is None else getattr(s, name) for s in (pilot.spread, *pilot.ends)]
        if not isnan(values[0]):
            rows.append(
                {
                    "source": what,
                    **dict(zip(("variance", "low", "high"), values, strict=True)),
                    "sd": sqrt(values[0]),
                }
            )
    frame = material.frame_of(rows, "source variance low high sd".split())
    columns: list[Column | str] = [
        Column("source", "Source"),
        Column("sd", "Standard deviation", "number"),
        Column("variance", "Variance", "number"),
        Column("low", f"{tables.percent(pilot.level)} from", "number"),
        Column("high", "to", "number"),
    ]
    return Table("variances", "What makes scores vary", frame, columns)
