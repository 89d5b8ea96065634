"""What the nightly notebook says beside its first sentence, in words computed from last night's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstats.governance.watching import SAID
from evalstats.report import inputs, material, tables
from evalstats.report.history import day
from evalstats.report.night_looks import first_look
from evalstats.report.night_numbers import DIFFERENCE

if TYPE_CHECKING:
    from evalstats.report.draft import Draft
    from evalstats.report.nights import Morning


def question(found: Morning) -> str:
    """Return what is asked."""
    return f"What did the {found.unit} of {day(found.date)} {found.date[:4]} say about {found.line.suite}?"


def say_night(draft: Draft, found: Morning) -> None:
    """Put the finding, the headline, the methods, the caveats, the numbers and the data into the draft."""
    from evalstats import estimates

    draft.finding(first_look(found))
    for card in _cards(found):
        draft.headline(*card)
    for title, text in METHODS.items():
        draft.method(title, text)
    draft.caveat(*found.notes)
    draft.estimates(found.rates, found.changes)
    if len(found.line.current):
        draft.tests(estimates.trend(found.line.current))
    draft.series(estimates.series(found.line.cases))
    draft.data(**inputs.facts(found.line.cases))


# --- the headline ----------------------------------------------------------------------------------


def _cards(found: Morning) -> Iterator[tuple[str, str, str]]:
    yield f"Monitor of {found.line.suite}", found.found.word.replace("_", " "), SAID[found.found.word]
    changes = {row["watched"]: row for row in tables.rows(found.changes)}
    for row in tables.rows(found.rates):
        name = row["watched"]
        write = tables.signed if name == DIFFERENCE else tables.rate
        label = (
            f"What the skill adds, last {found.unit}" if name == DIFFERENCE else f"{name}, last {found.unit}"
        )
        if tables.is_missing(row["estimate"]):
            yield label, tables.missing(), tables.reason_of(row)
            continue
        level = tables.percent(row["level"])
        yield (
            label,
            write(row["estimate"]),
            f"{level} interval {tables.interval_of(row, write)}; {_moved(changes[name])}",
        )


def _moved(change: dict[str, Any]) -> str:
    if tables.is_missing(change["estimate"]):
        return "no history yet"
    return f"{tables.signed(change['estimate'])} against its history"


# --- the sections ----------------------------------------------------------------------------------


def last_text(found: Morning) -> list[str]:
    """Return the paragraphs above the table of last night."""
    level = tables.percent(found.level)
    said = [
        f"The interval of a rate asks whether it would hold on other cases (SUPER). That of a change asks whether"
        f" an unchanged suite would land here (FIXED): it holds zero {level} of the time when nothing changed."
    ]
    outside = [
        str(row["watched"])
        for row in tables.rows(found.changes)
        if not tables.is_missing(row["conf_low"]) and not row["conf_low"] <= 0 <= row["conf_high"]
    ]
    if outside:
        verb = "lies" if len(outside) == 1 else "lie"
        said.append(
            f"In the last {found.unit} {material.joined(outside)} {verb} outside that interval. By itself that is no"
            f" alarm: one unchanged {found.unit} in {_one_in(found.level)} does."
        )
    return said


def _one_in(level: float) -> str:
    return tables.count(round(1 / (1 - level)))


def nights_text(found: Morning) -> list[str]:
    """Return the paragraphs above the chart of the nights."""
    said = [
        f"Grey {found.unit}s say what is normal; coloured ones are held against it. The shaded band is for a single"
        f" {found.unit} (Shewhart), the dotted lines for the moving average (EWMA), which sees a small shift that"
        " stays. The limits are as wide as so short a history demands: an unchanged series passes each of them in"
        f" 5% of cases within 28 {found.unit}s."
    ]
    told: dict[str, list[str]] = {}
    for chart in found.found.charts:
        for caveat in chart["caveats"]:
            names = told.setdefault(str(caveat), [])
            names += [str(chart["watched"])] * (str(chart["watched"]) not in names)
    said += [f"{', '.join(names)}: {caveat}." for caveat, names in told.items()]
    return said


def events_text(found: Morning) -> str:
    """Say how often the identity changed, and how many runs were lost."""
    changes, lost = len(found.found.identity_changes), len(found.found.incidents)
    what = (
        f"{tables.some(changes, 'change')} of identity" if changes else "What identifies a run never changed"
    )
    gone = (
        f"{tables.some(lost, 'run')} lost to infrastructure" if lost else "no run was lost to infrastructure"
    )
    return (
        f"{what}; {gone}. After a change of identity the charts begin anew, since it is another subject; a lost run"
        " says nothing about quality and enters no chart."
    )


def cases_text(found: Morning) -> list[str]:
    """Return the paragraphs above the cases."""
    if found.moved.empty:
        return [
            "No case has both a history and a value of the last night, so none can be seen to have moved."
        ]
    beyond = int(((found.moved["conf_low"] > 0) | (found.moved["conf_high"] < 0)).sum())
    n, chance = len(found.moved), tables.percent(1 - found.level)
    said = f"{beyond} of {n} intervals exclude zero; about {chance} would when nothing changed."
    fell = int((found.moved["conf_high"] < 0).sum())
    return [f"{said} {fell} of them lie below zero. One case alone is an anecdote: read its transcripts."]


def costs_text(found: Morning) -> str:
    """Say whether a trial took longer than usual, and what is known of its price."""
    slower = [
        f"{row['arm']} {row['seconds'] / row['usual_seconds']:.1f} times as long"
        for row in tables.rows(found.costs)
        if not tables.is_missing(row["seconds"]) and row["usual_seconds"]
    ]
    took = (
        f"A trial took, against the median of before: {', '.join(slower)}."
        if slower
        else "No time to compare with."
    )
    unknown = all(tables.is_missing(row["cost"]) for row in tables.rows(found.costs))
    return f"{took} {'The price of the trials is not recorded.' if unknown else 'Prices are in US dollars.'}"


METHODS = {
    "What is watched": (
        "Real runs of the main line over all cases, as in `evalstats monitor`. Runs of one night are one value. A"
        " run that lost more than a tenth of its trials, or a case altogether, is an incident and no drop."
    ),
    "The history": (
        "The oldest half of the nights since the identity last changed, at least 8 and at most 28. Below 8 it is"
        " provisional. A history in which all nights agree has no spread, and then nothing is claimed (degenerate)."
    ),
    "An alarm": (
        "A chart that leaves its limits once is unconfirmed; when the next night leaves them too, it is an alarm."
        " Neither is a verdict: that is given by a gate, by its policy. CUSUM is charted too, and listed in the"
        " table; it has no limits in the unit of the scores."
    ),
    "Change against the history": (
        "Last night minus the mean of the history, with the prediction interval of one more night around it. It is"
        " wider where neighbouring nights are alike."
    ),
    "What would change the conclusion": (
        "The next night: it confirms an alarm or not. More trials narrow the interval of a case; more cases that of"
        " a rate."
    ),
}
