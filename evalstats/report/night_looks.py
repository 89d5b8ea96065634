"""What to look at first in the morning, in words computed from last night's numbers.

The words alarm, unconfirmed, in control and unknown are those of ``evalstats monitor``. No verdict is given here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evalstats.governance.watching import QUIET, SAID, UNKNOWN
from evalstats.report import material, tables
from evalstats.report.night_numbers import DIFFERENCE

if TYPE_CHECKING:
    from evalstats.report.nights import Morning

_FEW = 3  # cases named in a sentence


def first_look(found: Morning) -> str:
    """Say what to look at first, and why: the machine, then a confirmed change, then what is open."""
    if found.lost:
        rest = "The scores of that night enter no chart"
        return f"Look at the machine first: of the last {found.unit} {_joined(found.lost)}. {rest}. {_state(found)}"
    confirmed = _alarmed(found, "confirmed_alarm")
    if confirmed:
        return " ".join(_alarm(found, confirmed, "confirmed_alarm"))
    if open_ := _alarmed(found, "first_alarm"):
        if str(open_["first_alarm"])[:10] != found.date:
            return " ".join([f"Nothing is confirmed: {_passing(found, open_)}", *_flakiest(found)])
        return " ".join(
            [*_alarm(found, open_, "first_alarm"), f"The next {found.unit} tells whether it stays."]
        )
    if fresh := _fresh(found):
        return f"{fresh} {_state(found)}"
    calm = "Nothing calls for a look" if found.found.word == QUIET else "Nothing can be told yet"
    state = _state(found)
    return " ".join([f"{calm}: {state[0].lower()}{state[1:]}", *_why_unknown(found), *_flakiest(found)])


def _why_unknown(found: Morning) -> Iterator[str]:
    """Say what the charts of the leading arm lack."""
    caveats = [str(c) for chart in found.charts(found.watched[0])[:1] for c in chart["caveats"]]
    if found.found.word == UNKNOWN and caveats:
        yield f"{found.watched[0]}: {'; '.join(caveats)}."


def _state(found: Morning) -> str:
    """Say what the watch says of all charts together."""
    word = found.found.word
    n = sum(1 for night in found.found.nights if night.era == found.found.nights[-1].era)
    of = f"{tables.some(n, found.unit)} of one identity"
    said = SAID[word] if word in (QUIET, UNKNOWN) else f"{word}, {SAID[word]}"
    return f"{said[0].upper()}{said[1:]}, over {of}."


def _alarmed(found: Morning, name: str) -> dict[str, Any]:
    """Return the earliest alarm of a kind, of an arm before their difference; empty when there is none."""
    charts = [chart for chart in found.found.charts if chart[name]]
    return min(charts, key=lambda c: (c["watched"] == DIFFERENCE, c[name], str(c["watched"])), default={})


def _passing(found: Morning, chart: dict[str, Any]) -> str:
    """Say that an earlier night left the limits, and the one after it did not."""
    at, names = str(chart["first_alarm"])[:10], _named(found, str(chart["watched"]), "first_alarm")
    said = f"{chart['watched']} was {chart['direction']} its limits on {at} ({names})"
    return f"{said}, and the next {found.unit} was not."


def _named(found: Morning, watched: str, name: str) -> str:
    """Return the charts of a series that have an alarm of a kind."""
    return ", ".join(str(chart["chart"]) for chart in found.charts(watched) if chart[name])


def _alarm(found: Morning, chart: dict[str, Any], name: str) -> Iterator[str]:
    watched, since = str(chart["watched"]), str(chart[name])[:10]
    names = _named(found, watched, name)
    still = "has been" if name == "confirmed_alarm" else "was"
    when = f"since {since}" if name == "confirmed_alarm" else f"on {since}"
    yield f"Look at {watched} first: it {still} {chart['direction']} its limits {when} ({names})."
    yield from _dated(found, watched)
    yield from _cases(found, watched, str(chart["direction"]))


def _dated(found: Morning, watched: str) -> Iterator[str]:
    """Say when the level changed, and who changed what on that night."""
    mine = [change for change in found.found.changes if change["watched"] == watched]
    if not mine:
        return
    at, before, after = (mine[-1][name] for name in ("changed_at", "before", "after"))
    level = f"{tables.rate(before)} to {tables.rate(after)}"
    same = [str(c) for c in found.found.identity_changes if c.started_at[:10] == at[:10]]
    told = f"that {found.unit} {_joined(same)}" if same else "nothing that identifies a run changed then"
    yield f"Its level is dated to have gone from {level} on {at[:10]}; {told}."


def _cases(found: Morning, watched: str, direction: str) -> Iterator[str]:
    """Name the cases that moved most in the direction of the alarm, beyond their intervals."""
    side = 1 if direction == "above" else -1
    rows = [
        str(row["case_id"])
        for row in (tables.rows(found.moved) if len(found.moved) else [])
        if row["arm"] == watched and min(side * row["conf_low"], side * row["conf_high"]) > 0
    ]
    if rows:
        way = "rose" if side > 0 else "fell"
        more = f" of {tables.some(len(rows), 'case')} that {way}" if len(rows) > _FEW else ""
        yield f"Begin with {material.joined(rows[:_FEW])}{more}."


def _fresh(found: Morning) -> str:
    """Say that what identifies a run changed last night, so that a history is being made anew."""
    last = found.found.nights[-1].started_at[:10]
    same = [str(c) for c in found.found.identity_changes if c.started_at[:10] == last]
    if not same:
        return ""
    return f"Look at what changed first: {_joined(same)}. The charts begin anew with this {found.unit}."


def _flakiest(found: Morning) -> Iterator[str]:
    """Name the case that changed its verdict most often; nothing where one run cannot show it."""
    rows = [row for row in tables.rows(found.flaky) if not tables.is_missing(row["verdict_flips"])]
    worst = max(rows, key=lambda row: (row["verdict_flips"], str(row["case_id"])), default=None)
    if worst is None:
        return
    if not worst["verdict_flips"]:
        yield "No case changed its verdict from one run to the next."
        return
    share = tables.percent(worst["verdict_flips"])
    yield (
        f"With time to spare, look at {worst['case_id']}: under {worst['arm']} its verdict changed in {share} of the"
        " steps from one run to the next."
    )


def _joined(texts: Sequence[str]) -> str:
    return " and ".join(dict.fromkeys(texts))
