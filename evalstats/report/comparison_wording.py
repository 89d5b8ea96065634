"""What the comparison notebook concludes, in words computed from its numbers. It gives no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstats.report import comparison_tables, material, tables

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.comparisons import Compared, Sides
    from evalstats.report.draft import Draft

_LONGEST = 128  # characters of a subject


def subject(sides: Sides) -> str:
    """Return the address of the report: the suite for its two arms, otherwise the suite and the sides."""
    from evalstats.governance.headroom import ARMS

    if sides.names[::-1] in [tuple(map(str, pair)) for pair in ARMS.values()]:
        return sides.suite
    text = ".".join([sides.suite, *reversed(sides.names)]).lower()
    return re.sub(r"[^a-z0-9._-]+", "-", text).strip("-._")[:_LONGEST]


def question(sides: Sides) -> str:
    """Return the question of the report."""
    names = sides.names
    if len(names) == 2:
        return f"Is {names[1]} better than {names[0]} on {sides.suite}?"
    return f"Which of {material.joined(names)} can be told apart on {sides.suite}?"


def say_comparison(draft: Draft, found: Compared) -> None:
    """Put the finding, the headline, the methods, the caveats, the numbers and the data into the draft."""
    from evalstats import estimates
    from evalstats.governance import between

    lead = found.last.found
    draft.finding(finding(found))
    for card in _cards(found):
        draft.headline(*card)
    for title, text in METHODS.items():
        draft.method(title, text)
    draft.caveat(*found.sides.notes, *found.notes)
    against = between.against(lead, comparison_tables.circumstances(found))
    draft.caveat(*(f"Against any conclusion: {reason}" for reason in against))
    draft.caveat(*between.underpowered(lead, found.margin))
    draft.estimates(found.estimates, found.means, found.by_dimension)
    draft.tests(found.tests)
    draft.series(estimates.series(found.sides.runs.drop(columns="side")))
    draft.data(**found.sides.facts)


# --- the finding ---------------------------------------------------------------------------------


def finding(found: Compared) -> str:
    """Say how the sides differ, against the margin, and what would have been missed."""
    return " ".join([*_difference(found), *_margin(found), *_groups(found)])


def _difference(found: Compared) -> Iterator[str]:
    pair, row = found.last, found.last.found.estimates["difference"].as_row()
    if tables.is_missing(row["estimate"]):
        yield f"How far {pair.new.name} is from {pair.old.name} is not known ({tables.reason_of(row)})."
        return
    side = "higher" if row["estimate"] >= 0 else "lower"
    moved = f"{pair.new.name} scores {tables.rate(abs(row['estimate']))} {side} than {pair.old.name}"
    cases = tables.some(row["n_cases"], "shared case")
    if tables.is_missing(row["conf_low"]):
        yield f"On {cases}, {moved}; no interval can be given ({tables.reason_of(row)})."
        return
    held = f"{tables.percent(row['level'])} interval {tables.interval_of(row, tables.signed)}"
    of = f", {tables.some(row['n_clusters'], 'cluster')} of {found.clusters}" if row["n_clusters"] else ""
    yield f"On {cases}, {moved} ({held}{of})."


def _margin(found: Compared) -> Iterator[str]:
    seen = found.last.found.estimates["detectable"].estimate
    if tables.is_missing(seen):
        yield "What would have been seen is not known."
        return
    yield f"Differences below {tables.rate(seen)} would often have been missed (80% power)."
    tests = found.last.found.tests
    if "equivalence" not in tests:
        return
    against, worse = tests["equivalence"].p_value, tests["non-inferiority"].p_value
    if not (tables.is_missing(against) or tables.is_missing(worse)):
        yield (
            f"Against a margin of {found.margin:g}: being worse by as much has p {_p(worse)}, differing by as much"
            f" either way p {_p(against)}."
        )


def _p(value: float) -> str:
    text = tables.p_value(value)
    return text if text.startswith("<") else f"= {text}"


def _groups(found: Compared) -> Iterator[str]:
    groups = [group for group in found.groups if len(group) > 1]
    alone = [group[0] for group in found.groups if len(group) == 1]
    yield from (f"Not told apart: {material.joined(group, 8)}." for group in groups)
    if alone and len(found.pairs) > 1:
        yield f"Apart from every other: {material.joined(alone, 8)}."


def _cards(found: Compared) -> Iterator[tuple[str, str, str]]:
    pair, estimates = found.last, found.last.found.estimates
    row = estimates["difference"].as_row()
    label = f"{pair.new.name} minus {pair.old.name}"
    yield (label, *_value(row, tables.signed))
    for mean in tables.rows(found.means):
        if mean["side"] in (pair.old.name, pair.new.name):
            yield (f"Mean score, {mean['side']}", *_value(mean, tables.rate))
    seen = estimates["detectable"].estimate
    unknown = tables.is_missing(seen)
    told = tables.missing() if unknown else tables.rate(seen)
    why = estimates["detectable"].caveats[0] if unknown else "80% power, two-sided 5%"
    yield ("Smallest visible difference", told, why)


def _value(row: dict[str, Any], write: Any) -> tuple[str, str]:
    if tables.is_missing(row["estimate"]):
        return tables.missing(), tables.reason_of(row)
    return write(row["estimate"]), f"{tables.percent(row['level'])} interval {tables.interval_of(row, write)}"


# --- the sections --------------------------------------------------------------------------------


def difference_text(found: Compared) -> list[str]:
    """Return the paragraphs above the differences."""
    said = [
        "Each case is compared with itself, which takes its difficulty out. A dimension counts the cases that carry it."
    ]
    if found.clusters and found.independent is not None:
        said.append(
            f"The first line takes the groups of {found.clusters} as what was sampled: cases of one group rise and"
            " fall together. The second takes every case as independent. If they disagree, believe the first."
        )
    if len(found.pairs) > 1:
        said.append(
            "With several sides every pair is compared; p-values are corrected over all pairs (Holm)."
        )
    return said


def margin_text(found: Compared) -> str:
    """Say what the margin is for, and whether this comparison could have used it."""
    tests = found.last.found.tests
    doubt = next((c for t in tests.values() for c in t.caveats if c.startswith("underpowered")), "")
    said = (
        f"A difference below {found.margin:g} is taken not to matter; that is to be chosen before looking, and is a"
        " parameter of this report."
    )
    if doubt:
        return f"{said} The comparison is {doubt}: that nothing changed cannot be claimed from it."
    return f"{said} No verdict is given here: that is the matter of a policy, which reads these numbers."


def case_text(found: Compared, moved: pd.DataFrame) -> str:
    """Say how many cases moved beyond what their own trials explain."""
    up, down = int((moved["conf_low"] > 0).sum()), int((moved["conf_high"] < 0).sum())
    chance = tables.percent(1 - found.level)
    return (
        f"Of {tables.some(len(moved), 'case')}, {up} rose and {down} fell by more than their own trials explain."
        f" Without any change about {chance} of them would, so a few such cases are no finding by themselves."
    )


def flip_text(found: Compared, asked: pd.DataFrame) -> str:
    """Say how many expectations changed sides, and where to look."""
    flipped = asked[asked["flipped"].astype(bool)]
    cases = list(dict.fromkeys(flipped["case_id"]))
    said = (
        "A case passes where more than half of its trials do. Of"
        f" {tables.some(len(asked), 'expectation')}, {len(flipped)} changed sides likewise"
    )
    return f"{said}, in {material.joined(cases)}." if cases else f"{said}."


METHODS = {
    "How sides are compared": (
        "The score of a case is the mean over its usable trials; sides are compared case by case, and the mean of"
        " the differences is reported (SUPER: would it hold on cases like these). Trials are never counted as"
        " independent. A case that one side lacks enters nothing and is listed. Cases that ask something else on"
        " another side are left out."
    ),
    "What the tests ask": (
        "The first: could the difference be zero? Equivalence (two one-sided tests): could it be as large as the"
        " margin, either way? Non-inferiority: could the later side be worse by the margin? A large p-value of the"
        " first never shows that nothing changed; a small one of the second shows that it is less than the margin."
    ),
    "What would have been missed": (
        "The smallest difference that a comparison with this error sees with 80% power at a two-sided 5%. Where it"
        " exceeds the margin the comparison is underpowered, whatever was observed."
    ),
    "Which cases moved": (
        "Pass rates of one case are compared by Newcombe's interval over its own trials (FIXED: this very case, run"
        " again). No correction for the number of cases: the list is for looking, not for claiming."
    ),
    "What would change the conclusion": (
        "More cases, or more groups of cases, narrow the interval; more trials of the same cases narrow it only as"
        " far as trial noise goes. Another margin changes what counts as a change, not what was measured."
    ),
}
