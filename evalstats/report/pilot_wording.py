"""What the planning notebook concludes, in words computed from its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, Any

from evalstats.report import tables
from evalstats.report.pilot_tables import whole
from evalstats.report.pilots import FEW_CASES

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.draft import Draft
    from evalstats.report.pilots import Pilot


def say_plan(draft: Draft, pilot: Pilot, simulated: pd.DataFrame) -> None:
    """Put the finding, the headline, the methods, the caveats, the numbers and the data into the draft."""
    from evalstats import estimates

    draft.finding(finding(pilot))
    for card in _cards(pilot):
        draft.headline(*card)
    for title, text in METHODS.items():
        draft.method(title, text)
    draft.caveat(*pilot.found.notes)
    if pilot.spread is not None:
        draft.caveat(*(caveat for row in tables.rows(pilot.plans) for caveat in row["caveats"]))
    draft.estimates(simulated)
    draft.series(estimates.series(pilot.found.runs))
    draft.data(**pilot.found.facts)


def finding(pilot: Pilot) -> str:
    """Say which design sees the effect at the lowest cost, and what the pilot itself would have seen."""
    best = pilot.cheapest
    if pilot.spread is None or best is None:
        return f"Nothing can be planned from this pilot: {pilot.refusal}."
    what = "a difference" if pilot.study.paired else "a change"
    said = [
        f"To see {what} of {tables.rate(pilot.effect)} with {tables.percent(pilot.study.power)} power,"
        f" the cheapest design is {_size(best)}, at a cost of {tables.count(best['cost'])}."
    ]
    return " ".join([*said, *_seen(pilot), *_doubt(pilot)])


def _size(row: dict[str, Any]) -> str:
    return (
        f"{tables.count(row['cases'])} cases of {tables.some(int(row['trials']), 'trial')} each in every arm"
    )


def _seen(pilot: Pilot) -> Iterator[str]:
    run = next(row for row in tables.rows(pilot.plans) if row["design"] == "pilot")
    seen = f"the pilot as it was run sees {tables.rate(run['detectable'])}"
    enough = "is enough for it" if run["detectable"] <= pilot.effect else "is not enough for it"
    yield f"{seen[:1].upper()}{seen[1:]} or more, which {enough}."


def _doubt(pilot: Pilot) -> Iterator[str]:
    """Say where the arithmetic flatters, and how many cases it would take if the pilot was lucky."""
    from evalstats.stats.planning import cases_needed

    best, upper = pilot.cheapest, pilot.ends[1]
    if best is not None and best["cases"] < FEW_CASES:
        yield f"Below {FEW_CASES} cases that flatters."
    if best is None or upper is None:
        yield "How far off this may be is not known: the pilot is too small to say."
        return
    trials = int(best["trials"])
    worst = cases_needed(pilot.effect, upper, pilot.study, trials=trials)
    chance = tables.percent(pilot.level)
    upper_end = f"Were all variances at the upper end of their {chance} intervals"
    yield f"{upper_end}, it would take {tables.some(worst, 'case')}."


def _cards(pilot: Pilot) -> Iterator[tuple[str, str, str]]:
    best = pilot.cheapest
    if pilot.spread is None or best is None:
        yield ("Cases needed", tables.missing(), pilot.refusal)
        return
    plans = {row["design"]: row for row in tables.rows(pilot.plans)}
    asked = f"cheapest to see {tables.rate(pilot.effect)}"
    yield ("Cases × trials", f"{tables.count(best['cases'])} × {tables.count(best['trials'])}", asked)
    arms = "both arms" if pilot.study.paired else "one arm"
    yield ("Cost", tables.count(best["cost"]), f"of {arms}, in the unit of the prices")
    seen = plans["pilot"]["detectable"]
    yield (
        "The pilot sees",
        tables.rate(seen),
        f"{_pilot_size(plans['pilot'])}, {tables.percent(pilot.study.power)} power",
    )
    split = plans["best split"]["trials"]
    told = tables.missing() if isnan(split) else tables.number(split)
    why = "; ".join(plans["best split"]["caveats"][:1]) if isnan(split) else "as a real number"
    yield ("Trials that buy most", told, why)


def _pilot_size(row: dict[str, Any]) -> str:
    return f"{tables.count(row['cases'])} cases × {whole(row['trials'])} trials"


# --- the sections --------------------------------------------------------------------------------


def variance_text(pilot: Pilot) -> str:
    """Say what makes scores vary, and so what helps."""
    if pilot.spread is None:
        return f"Nothing can be planned: {pilot.refusal}."
    arms = 2 if pilot.study.paired else 1
    case, trial = pilot.spread.case, arms * pilot.spread.trial
    share = trial / (case + trial)
    helps = (
        "more trials help as long as they are cheap"
        if share > 0.5
        else "more cases help, more trials hardly do"
    )
    return (
        f"With one trial a case, {tables.percent(share)} of the variance is trial noise and the rest is that cases"
        f" differ: {helps}. More trials never make up for too few cases."
    )


def power_text(pilot: Pilot, simulated: pd.DataFrame) -> list[str]:
    """Return the paragraphs above the power curves."""
    if pilot.spread is None:
        return ["Without a plan there are no curves."]
    said = [
        "A curve is the chance that a study of so many cases finds the effect, if it is there. The dotted lines belong"
        " to the blue curve: the chance if the variances lay at either end of their"
        f" {tables.percent(pilot.level)} intervals."
    ]
    if simulated.empty:
        return [*said, f"Below {FEW_CASES} cases the curves flatter, and no like world could be tried out."]
    few = f"Below {FEW_CASES} cases the curves flatter: there, studies were tried out in a world like the pilot's"
    return [*said, f"{few}, {tables.count(simulated['n_cases'].iloc[0])} of each size."]


def cost_text(pilot: Pilot) -> str:
    """Say what the prices are."""
    case, trial = pilot.costs.case, pilot.costs.trial
    return (
        f"A case costs {whole(case)} and a trial of it in one arm {whole(trial)}, in any one unit. What"
        " counts is their ratio: where cases are dear, more trials of each pay."
    )


METHODS = {
    "What is planned": (
        "The variance of a mean difference is the variance of the true case differences, divided by the cases, plus"
        " twice that of the trials of a case, divided by cases times trials. With one arm it is the variance of"
        " case means and that of the trials. From it follow the smallest effect that a design sees, the cases that"
        " see a given effect, and the power in between."
    ),
    "Whom it holds for": (
        "SUPER: the study draws other cases like these. For these very cases run again (FIXED) cases add no"
        " variance, and cases and trials can be exchanged one for one."
    ),
    "What is in the trial noise": (
        "All trials of a case count alike, whenever they were made, so days and the judge are part of it. How many"
        " judgements a trial needs is not planned here: the notebook on judge noise measures that."
    ),
    "What is tried out": (
        "Pass rates of cases are drawn as a Beta whose spread is the pilot's, shared between the arms as far as the"
        " pilot's were, with the effect asked for; each study is tested by a paired t test. The interval is that"
        " of the number of studies tried, not of the pilot."
    ),
    "How sure the plan is": (
        "Variances from a pilot are rough. Dotted lines and cost intervals take all of them at the lower, or at the"
        " upper, end of their intervals at once, which is wider than the level says."
    ),
    "What is refused": (
        "A pilot in which every trial passes, or every one fails, has no variance: it plans nothing. A formula that"
        " gives a handful of cases there would be wrong. Harder cases would help."
    ),
    "What would change the conclusion": (
        "Another effect: half the effect takes four times the cases. Other prices move the split between cases and"
        " trials, not the power. A change of model or suite makes this pilot speak of something else."
    ),
}
