"""Numbers into sentences: what the variance notebook concludes, in words computed from its frames.

A sentence says what was seen, for whom it holds and how sure it is. It never says "significant", and it never
says that nothing changed: that takes an equivalence test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from evalstats.contract import Arm
from evalstats.report import tables

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.draft import Draft

_YARDSTICKS = {Arm.SKILL_OFF, Arm.CONTEXT_OFF, Arm.BASELINE}
FEWEST_DAYS = 5  # below this no day effect can be told (STATS, row 4)
NOTABLE = 0.05  # p below which an F test is worth a sentence of its own; the value itself is always shown


def say_variance(
    draft: Draft,
    runs: pd.DataFrame,
    *,
    rates: pd.DataFrame,
    difference: pd.DataFrame,
    band: pd.DataFrame,
    excess: pd.DataFrame,
) -> None:
    """Put the finding, the headline and the methods into the variance notebook's draft.

    ``runs`` is the case table, the others are the estimates from it; each of them may be empty.
    """
    draft.finding(variance_finding(runs, band, excess))
    for card in variance_cards(rates, difference, band):
        draft.headline(**card)
    for title, text in METHODS.items():
        draft.method(title, text)


# --- the finding -----------------------------------------------------------------------------------


def variance_finding(runs: pd.DataFrame, bands: pd.DataFrame, excess: pd.DataFrame) -> str:
    """Where should the next run land, and do runs vary more than their trials explain?"""
    lost = _scoreless(runs)
    landing = [_band_sentence(row) for row in _in_order(bands) if row["arm"] not in lost]
    nothing = [f"Nothing is known of {arm}: {reason}." for arm, reason in lost.items()]
    return " ".join([*landing, *nothing, *_excess_sentences(excess, _days(runs))])


def _scoreless(runs: pd.DataFrame) -> dict[str, str]:
    """Return, for each arm that has no usable trial at all, what became of its trials."""
    counts = runs.groupby("arm", sort=True)[["n_trials", "n_usable", "n_infrastructure"]].sum()
    return {
        str(arm): f"of {tables.some(trials, 'trial')} none carries a score"
        + (f", {tables.count(broken)} failed for infrastructure" if broken else "")
        for arm, trials, usable, broken in counts.itertuples()
        if not usable
    }


def _in_order(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows with the arm that readers ask about first."""
    return sorted(tables.rows(frame), key=lambda row: str(row["arm"]) in _YARDSTICKS)


def _band_sentence(row: dict[str, Any]) -> str:
    if tables.is_missing(row["conf_low"]):
        return f"Where the next {row['arm']} run should land is not known ({tables.reason_of(row)})."
    chance, band = tables.percent(row["level"]), tables.interval_of(row)
    return f"If nothing changes, the next {row['arm']} run lands in {band} with {chance} probability."


def _excess_sentences(excess: pd.DataFrame, days: int) -> list[str]:
    known = [row for row in tables.rows(excess) if not tables.is_missing(row["p_value"])]
    beyond = _arms(row for row in known if row["p_value"] < NOTABLE)
    within = _arms(row for row in known if row["p_value"] >= NOTABLE)
    said = []
    if beyond:
        said.append(
            f"Runs of {beyond} spread more than their trials explain: look for day or infrastructure effects."
        )
    if within:
        said.append(f"Trial noise alone would explain how far runs of {within} spread{_no_day_effect(days)}.")
    return said or ["Whether runs vary more than their trials explain cannot be told yet."]


def _no_day_effect(days: int) -> str:
    if days >= FEWEST_DAYS:
        return "; a day or infrastructure effect was not seen"
    seen = "within this day" if days == 1 else f"within these {days} days"
    return f" {seen}; a day effect cannot be told from {tables.some(days, 'day')}"


def _arms(rows: Iterable[dict[str, Any]]) -> str:
    return " and ".join(str(row["arm"]) for row in rows)


def _usable(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["n_usable"] > 0]


def _days(runs: pd.DataFrame) -> int:
    return int(_usable(runs)["created_at"].dt.date.nunique())


# --- the headline ----------------------------------------------------------------------------------


def variance_cards(
    rates: pd.DataFrame, difference: pd.DataFrame, bands: pd.DataFrame
) -> list[dict[str, str]]:
    """Return the headline: the score of each arm, the difference, and how far a run strays by itself."""
    cards = [_difference_card(row) for row in tables.rows(difference)]
    cards += [_rate_card(row) for row in _in_order(rates)]
    return cards + [_band_card(row) for row in _in_order(bands)[:1]]


def _rate_card(row: dict[str, Any]) -> dict[str, str]:
    size = tables.some(row["n_cases"], "case")
    return _card(f"Mean score, {row['arm']}", row, tables.rate, f"{_interval(row, tables.rate)}, {size}")


def _difference_card(row: dict[str, Any]) -> dict[str, str]:
    detail = f"{_interval(row, tables.signed)} ({row['method']})"
    return _card("What the skill adds", row, tables.signed, detail)


def _card(label: str, row: dict[str, Any], write: Callable[[float], str], detail: str) -> dict[str, str]:
    """Return a number with what stands below it: its interval, or why there is no number."""
    if tables.is_missing(row["estimate"]):
        reason = tables.reason_of(row) if row["n_trials"] else "no trial carries a score"
        return {"label": label, "value": tables.missing(), "detail": reason}
    return {"label": label, "value": write(row["estimate"]), "detail": detail}


def _interval(row: dict[str, Any], write: Callable[[float], str]) -> str:
    if tables.is_missing(row["conf_low"]):
        return f"no interval: {tables.reason_of(row)}"
    return f"{tables.percent(row['level'])} interval {tables.interval_of(row, write)}"


def _band_card(row: dict[str, Any]) -> dict[str, str]:
    label = f"How far one {row['arm']} run strays"
    if tables.is_missing(row["conf_low"]):
        return {"label": label, "value": tables.missing(), "detail": f"no band: {tables.reason_of(row)}"}
    width = tables.points((row["conf_high"] - row["conf_low"]) / 2).lstrip("+")
    return {"label": label, "value": f"±{width}", "detail": _kind(row)}


def _kind(row: dict[str, Any]) -> str:
    observed = f"from the spread of {tables.some(row['n_cases'], 'run')}"
    return f"{tables.percent(row['level'])} band, {observed if row['band'] == 'observed' else 'from trial noise alone'}"


# --- the sections ----------------------------------------------------------------------------------


def band_text(case_runs: pd.DataFrame, level: float) -> list[str]:
    """Return the paragraphs above the run chart."""
    runs, days = int(_usable(case_runs)["group_id"].nunique()), _days(case_runs)
    if not runs:
        return ["No run has a trial with a score, so there is no band."]
    texts = [
        "The band is a prediction for these very cases, run again. A run outside it is a reason to look, not yet"
        f" a regression: {tables.percent(1 - level)} of unchanged runs fall outside by themselves.",
        f"It rests on {tables.some(runs, 'run')} from {tables.some(days, 'day')}.",
    ]
    if days < FEWEST_DAYS:
        texts.append(
            "With fewer than five days nothing is known about how much days differ: runs of other days may stray"
            " further than this band says."
        )
    return texts


def case_text(cases: pd.DataFrame) -> list[str]:
    """Return the paragraphs above the case strip."""
    if cases.empty:
        return ["No case has a trial with a score."]
    by_case = cases.groupby("case_id")
    scores, flips = by_case["pass_rate"].agg(["min", "max"]), by_case["verdict_flips"].max().dropna()
    floor, ceiling = int((scores["max"] == 0).sum()), int((scores["min"] == 1).sum())
    settled = (
        f"Of {tables.some(len(scores), 'case')}, {ceiling} always passed and {floor} never passed in any arm: such"
        " cases cannot move, and carry no information about a change."
    )
    if flips.empty:
        return [f"{settled} Whether a case changes from run to run cannot be told from one run."]
    flipping = tables.some(int((flips >= 0.5).sum()), "case")
    return [
        f"{settled} {flipping} changed the majority verdict in at least half of the steps from one run to the next."
    ]


def difference_text(difference: pd.DataFrame) -> list[str]:
    """Return the paragraphs above the per-archetype differences."""
    if difference.empty:
        return ["The arms to compare did not both run; nothing can be compared."]
    row = tables.rows(difference)[0]
    if tables.is_missing(row["estimate"]):
        return [f"What the skill adds is not known ({tables.reason_of(row)})."]
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
