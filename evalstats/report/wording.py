"""Numbers into sentences: what the variance notebook concludes, in words computed from its frames.

A sentence says what was seen, for whom it holds and how sure it is. It never says "significant", and it never
says that nothing changed: that takes an equivalence test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalstats.contract import Arm
from evalstats.report import tables

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.draft import Draft

_YARDSTICKS = {Arm.SKILL_OFF, Arm.CONTEXT_OFF, Arm.BASELINE}
FEWEST_DAYS = 5  # below this no day effect can be told (STATS, row 4)
NOTABLE = 0.05  # p below which an F test is worth a sentence of its own; the value itself is always shown


def variance_finding(bands: pd.DataFrame, excess: pd.DataFrame) -> str:
    """Where should the next run land, and do runs vary more than their trials explain?"""
    return " ".join([*(_band_sentence(row) for row in _in_order(bands)), _excess_sentence(excess)])


def _in_order(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows with the arm that readers ask about first."""
    return sorted(tables.rows(frame), key=lambda row: str(row["arm"]) in _YARDSTICKS)


def _band_sentence(row: dict[str, Any]) -> str:
    if tables.is_missing(row["conf_low"]):
        return f"Where the next {row['arm']} run should land is not known: {tables.reason_of(row)}."
    chance, band = tables.percent(row["level"]), tables.interval_of(row)
    return f"If nothing changes, the next {row['arm']} run lands in {band} with {chance} probability."


def _excess_sentence(excess: pd.DataFrame) -> str:
    known = excess.dropna(subset=["p_value"])
    if known.empty:
        return "Whether runs vary more than their trials explain cannot be told yet."
    beyond = known[known["p_value"] < NOTABLE]
    if beyond.empty:
        return "Trial noise alone would explain how far runs spread; a day or infrastructure effect was not seen."
    arms = " and ".join(beyond["arm"])
    return f"Runs of {arms} spread more than their trials explain: look for day or infrastructure effects."


def say_variance(
    draft: Draft,
    *,
    rates: pd.DataFrame,
    difference: pd.DataFrame,
    band: pd.DataFrame,
    excess: pd.DataFrame,
    left_out: Sequence[str] = (),
) -> None:
    """Put the finding, the headline, the methods and the runs left out into the variance notebook's draft."""
    draft.finding(variance_finding(band, excess))
    for note in left_out:
        draft.caveat(note)
    for card in variance_cards(rates, difference, band):
        draft.headline(**card)
    for title, text in METHODS.items():
        draft.method(title, text)


def variance_cards(
    rates: pd.DataFrame, difference: pd.DataFrame, bands: pd.DataFrame
) -> list[dict[str, str]]:
    """Return the headline: the score of each arm, the difference, and how far a run strays by itself."""
    cards = [_difference_card(row) for row in tables.rows(difference)]
    cards += [_rate_card(row) for row in _in_order(rates)]
    return cards + [_band_card(row) for row in _in_order(bands)[:1]]


def _rate_card(row: dict[str, Any]) -> dict[str, str]:
    detail = f"{tables.percent(row['level'])} interval {tables.interval_of(row)}, {row['n_cases']} cases"
    return {"label": f"Mean score, {row['arm']}", "value": _value(row, tables.rate), "detail": detail}


def _difference_card(row: dict[str, Any]) -> dict[str, str]:
    detail = (
        f"{tables.percent(row['level'])} interval {tables.interval_of(row, tables.signed)} ({row['method']})"
    )
    return {"label": "What the skill adds", "value": _value(row, tables.signed), "detail": detail}


def _band_card(row: dict[str, Any]) -> dict[str, str]:
    known = not tables.is_missing(row["conf_low"])
    width = tables.points((row["conf_high"] - row["conf_low"]) / 2).lstrip("+") if known else tables.missing()
    return {
        "label": f"How far one {row['arm']} run strays",
        "value": f"±{width}" if known else width,
        "detail": _kind(row),
    }


def _kind(row: dict[str, Any]) -> str:
    runs = (
        f"from the spread of {row['n_cases']} runs" if row["band"] == "observed" else "from trial noise alone"
    )
    return f"{tables.percent(row['level'])} band, {runs}"


def _value(row: dict[str, Any], write: Any) -> str:
    return (
        tables.missing(tables.reason_of(row))
        if tables.is_missing(row["estimate"])
        else write(row["estimate"])
    )


def band_text(case_runs: pd.DataFrame, level: float) -> list[str]:
    """Return the paragraphs above the run chart."""
    runs, nights = case_runs["group_id"].nunique(), case_runs["created_at"].dt.date.nunique()
    texts = [
        "The band is a prediction for these very cases, run again. A run outside it is a reason to look, not yet"
        f" a regression: {tables.percent(1 - level)} of unchanged runs fall outside by themselves.",
        f"It rests on {_some(runs, 'run')} from {_some(nights, 'day')}.",
    ]
    if nights < FEWEST_DAYS:
        texts.append(
            "With fewer than five days nothing is known about how much days differ: runs of other days may stray"
            " further than this band says."
        )
    return texts


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def case_text(cases: pd.DataFrame) -> list[str]:
    """Return the paragraphs above the case strip."""
    stuck = cases.groupby("case_id")["pass_rate"].agg(["min", "max"])
    floor, ceiling = int((stuck["max"] == 0).sum()), int((stuck["min"] == 1).sum())
    flipping = int((cases.groupby("case_id")["verdict_flips"].max() >= 0.5).sum())
    return [
        f"Of {len(stuck)} cases, {ceiling} always pass and {floor} never pass in any arm: these cannot move, and"
        f" carry no information about a change. {_some(flipping, 'case')} changed the majority verdict in at least"
        " half of the steps from one run to the next."
    ]


def difference_text(difference: pd.DataFrame) -> list[str]:
    """Return the paragraphs above the per-archetype differences."""
    if difference.empty:
        return ["Only one arm has run; nothing can be compared."]
    row = tables.rows(difference)[0]
    return [
        f"Over all cases the skill adds {tables.estimate(row, tables.signed)} to the mean score, compared case by"
        " case. The interval asks whether that would hold on other cases like these. With a handful of cases an"
        " archetype is weak evidence by itself."
    ]


METHODS = {
    "What is a score": (
        "The score of a trial is the share of its required expectations that passed; a timeout scores 0. A case's"
        " score is the mean over its usable trials, a run's score the mean over its cases. Trials that failed"
        " for infrastructure are left out and counted."
    ),
    "Which intervals": (
        "SUPER intervals treat cases as drawn from a population of cases like them. FIXED intervals hold these"
        " cases fixed and ask about another run. Trials inside a case are averaged, never pooled as if"
        " independent."
    ),
    "Which band": (
        "From five runs on the band is a prediction interval from the spread of run means. Below five runs it"
        " comes from the variance between trials of the same case, and assumes that nothing else varies."
    ),
    "What would change the conclusion": (
        "More days (a day effect widens the band), a change of suite, model or judge (the history starts anew),"
        " or many more trials per case (trial noise shrinks, day effects do not)."
    ),
}
