"""What the lift notebook concludes, in words computed from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalstats.report import material, tables

if TYPE_CHECKING:
    from evalstats.report.draft import Draft
    from evalstats.report.lifts import Lifts
    from evalstats.report.material import Material


def say_lift(draft: Draft, found: Material, measured: Lifts) -> None:
    """Put the finding, the headline, the methods, the caveats, the numbers and the data into the draft."""
    draft.finding(finding(measured, found.pair))
    for card in _cards(measured, found):
        draft.headline(*card)
    for title, text in METHODS.items():
        draft.method(title, text)
    draft.caveat(*found.notes, *measured.degeneracy)
    draft.estimates(
        measured.averages.drop(columns="unit"), measured.difference, measured.archetypes, measured.citations
    )
    from evalstats import estimates

    draft.series(estimates.series(found.runs))
    draft.data(**found.facts)


def finding(measured: Lifts, pair: Sequence[str]) -> str:
    """Say what the skill adds, how much of the headroom that is, and where."""
    total, lift = measured.total, measured.lift
    if tables.is_missing(total["estimate"]):
        return f"What {pair[0]} adds is not known ({tables.reason_of(total)})."
    said = [
        f"On the same {tables.some(total['n_cases'], 'case')}, {pair[0]} scores {_moved(total)} than {pair[1]}"
        f" ({_sure(total)})."
    ]
    if measured.degeneracy:
        said.append(f"As a lift this means little: {measured.degeneracy[0].removeprefix('greyed: ')}.")
    else:
        said.append(
            f"That is {tables.percent(lift['estimate'])} of the failures that were left {tables.interval_of(lift)}."
        )
    return " ".join([*said, *_where(measured)])


def _moved(row: Mapping[str, Any]) -> str:
    return f"{tables.rate(abs(row['estimate']))} {'higher' if row['estimate'] >= 0 else 'lower'}"


def _sure(row: Mapping[str, Any]) -> str:
    if tables.is_missing(row["conf_low"]):
        return f"no interval: {tables.reason_of(row)}"
    return f"{tables.percent(row['level'])} interval {tables.interval_of(row, tables.signed)}"


def _where(measured: Lifts) -> Iterator[str]:
    rows = tables.rows(measured.archetypes[measured.archetypes["quantity"] == "difference"])
    gains = [row["archetype"] for row in rows if row["conf_low"] > 0]
    losses = [row["archetype"] for row in rows if row["conf_high"] < 0]
    if gains:
        yield f"Beyond the interval of the archetype it gains on {material.joined(gains)}."
    if losses:
        yield f"Beyond the interval of the archetype it loses on {material.joined(losses)}."
    elif not all(tables.is_missing(row["conf_high"]) for row in rows):
        yield "On no archetype is it seen to lose."


def _cards(measured: Lifts, found: Material) -> Iterator[tuple[str, str, str]]:
    lift, total = measured.lift, measured.total
    chance = tables.percent(lift["level"])
    difference = ("Difference of mean scores", *_value(total, tables.signed, f"{chance} interval"))
    headline = ("Lift, share of the failures taken away", *_value(lift, tables.rate, f"{chance} interval"))
    yield from (difference, headline) if measured.degeneracy else (headline, difference)
    for row in _rates(found, lift["level"]):
        yield (f"Mean score, {row['arm']}", *_value(row, tables.rate, f"{chance} interval"))


def _rates(found: Material, level: float) -> list[dict[str, Any]]:
    from evalstats import estimates

    rates = {row["arm"]: row for row in tables.rows(estimates.rate(found.runs, level=level))}
    return [rates[arm] for arm in reversed(found.pair) if arm in rates]


def _value(row: Mapping[str, Any], write: Any, what: str) -> tuple[str, str]:
    if tables.is_missing(row["estimate"]):
        return tables.missing(), tables.reason_of(row)
    return write(row["estimate"]), f"{what} {tables.interval_of(row, write)}"


def archetype_text(measured: Lifts) -> list[str]:
    """Return the paragraphs above the archetypes."""
    sizes = measured.archetypes.loc[measured.archetypes["quantity"] == "difference", "n_cases"]
    lifts = measured.archetypes.loc[measured.archetypes["quantity"] == "lift", "estimate"]
    few, many = int(sizes.min()), int(sizes.max())
    size = tables.some(many, "case") if few == many else f"{few} to {tables.some(many, 'case')}"
    said = [
        f"With {size} an archetype, a single bar is weak evidence. All bars share one variance, pooled over the"
        " archetypes. Blue excludes zero, before any correction."
    ]
    if refused := int(lifts.isna().sum()):
        said.append(
            f"A lift of its own is refused for {refused} of {tables.some(len(lifts), 'archetype')}: a ratio of a"
            " handful of prompts has no interval that holds its level."
        )
    return said


def averages_text(measured: Lifts) -> str:
    """Say how far the averages lie apart, and what that means."""
    known = [row for row in tables.rows(measured.averages) if not tables.is_missing(row["estimate"])]
    ours = [row for row in known if not str(row["over"]).startswith("medians")]
    if not ours:
        return "No average of the lift is known."
    low, high = (end(ours, key=lambda row: row["estimate"]) for end in (min, max))
    ends = [f"{tables.rate(row['estimate'])} ({row['unit']})" for row in (low, high)]
    spread = f"The averages run from {ends[0]} to {ends[1]}."
    return f"{spread} Each answers another question, so none is a check of another; the headline is the one over cases."


def headroom_text(measured: Lifts) -> str:
    """Say how many cases leave no room, and what would make that sure."""
    from evalstats.governance.headroom import FLOOR, SATURATED

    shut = [row for row in tables.rows(measured.headroom) if row["word"] in (SATURATED, FLOOR)]
    if not shut:
        return "No case passes always, or never, in both arms: each can still show a difference."
    sure = sum(row["more_trials"] == 0 for row in shut)
    return (
        f"{tables.some(len(shut), 'case')} passed always, or never, in both arms; for {sure} of them that is sure at"
        " 95%. Such cases pull the difference towards zero."
    )


def citation_text(measured: Lifts) -> str:
    """Return what is known of citations."""
    known = [row for row in tables.rows(measured.citations) if not tables.is_missing(row["estimate"])]
    if not known:
        return (
            "No case of this suite asks for a card or a recipe, so whether any was cited is not known. That is"
            " not a rate of 0."
        )
    told = "; ".join(_cited(row) for row in known)
    return f"{told}. Citing is not solving: only the score says whether it helped."


def _cited(row: Mapping[str, Any]) -> str:
    return f"{row['what'].capitalize()} in {row['arm']}: {tables.estimate(row)}"


METHODS = {
    "What lift is": (
        "One minus the ratio of two mean failure rates, with the skill and without, over the same cases: the share"
        " of failures that the skill takes away. It is never a mean of the lifts of single cases. It is at most 1,"
        " has no lower limit, and is undefined where nothing fails without the skill."
    ),
    "Four units, four estimands": (
        "Over cases, each case counts alike: the headline. Over expectations (micro), a case counts as often as it"
        " has required expectations. The mean and the median of archetype lifts count archetypes alike, and have no"
        " interval that holds its level. Where they disagree, the gain lies on cases of many expectations, or in"
        " few archetypes."
    ),
    "The rule of older reports": (
        "It keeps the median of the first three trials of a case. For yes/no trials that is a majority vote, which"
        " lies further from one half than the pass rate: another estimand, shown to be compared with older reports"
        " only."
    ),
    "Whom it holds for": (
        "SUPER: cases like these. Trials are averaged within a case and never counted as independent. Arms are"
        " compared case by case, which takes the difficulty of the cases out."
    ),
    "What suppression cannot reach": (
        "Without the skill, hooks are off and a prompt asks for base capabilities. Skills that the calling runtime"
        " loads outside of our reach would shrink the lift; a trial in which one was seen is contaminated and left"
        " out."
    ),
    "What would change the conclusion": (
        "More cases narrow every interval here; more trials of the same cases hardly do. Cases without room"
        " (saturated, floor) pull the difference towards zero: harder cases would show more."
    ),
}
