"""What the gate of a suite decided, on which report and why, and how often a decision like each is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from evalstats.report import tables
from evalstats.site import decisions, pieces
from evalstats.site.decisions import Decision
from evalstats.site.known import RATCHET, Known
from evalstats.site.pieces import Cell, Section

_DECIDED = ["Decided", "Verdict", "Rule", "Report", "Why"]
_CHANCES = ["Decided", "Verdict", "#Drop", "#Margin", "#False block", "#Power", "#Sees from", "#Runs needed"]


def of_suite(known: Known, suite: str) -> Iterator[Section]:
    """Yield the decisions on a suite, newest first, and the curve of its gate where its readiness was examined."""
    every, ready = known.decisions.get(suite, ()), known.shelf.of(RATCHET, suite)
    if not every and ready is None:
        return
    shown = every[: decisions.SHOWN]
    why = pieces.table("Decisions, newest first", _DECIDED, [_reasons(known, one) for one in shown])
    chances = pieces.table("How often such a decision is wrong", _CHANCES, [_chances(one) for one in shown])
    yield Section(
        "gates",
        "What the gate decided",
        list(_counted(every)),
        tables=[why, chances] if every else [],
        figures=[] if ready is None else [ready.figure("curve")],
        sources=[] if ready is None else [ready],
    )


def _counted(every: Sequence[Decision]) -> Iterator[str]:
    if not every:
        yield "No gate has decided anything yet."
        return
    counted = Counter(pieces.verdict(decision) for decision in every)
    said = ", ".join(f"{tables.count(n)} {verdict}" for verdict, n in sorted(counted.items()))
    last = f" The last {decisions.SHOWN} are shown." if len(every) > decisions.SHOWN else ""
    yield f"{tables.some(len(every), 'decision')}: {said}.{last}"
    yield (
        "False block: how often such a gate blocks an unchanged suite. Power: how often it blocks after a drop of the"
        " margin. Sees from: the smallest drop that it sees with the power its policy promises."
    )


def _reasons(known: Known, decision: Decision) -> list[Cell]:
    rule = str(decision["rule"]).replace("_", " ")
    why = "; ".join(map(str, decision["reasons"]))
    return [_moment(decision), pieces.verdict(decision), rule, _judged(known, decision), why]


def _judged(known: Known, decision: Decision) -> Cell:
    """Return the report that was judged, with a link where it is there and intact."""
    address = decisions.reference(decision)
    if address is None:
        return "not published"
    notebook, subject, version = address.split("/")
    named = f"{notebook} {pieces.number(version)}"
    if known.shelf.at(address) is not None:
        return pieces.to_report(address, named)
    there = known.shelf.versions.get((notebook, subject), ())
    return f"{named}, {'damaged' if any(one.version == version for one in there) else 'gone'}"


def _chances(decision: Decision) -> list[Cell]:
    writers: dict[str, Callable[[float], str]] = {
        "drop": tables.signed,
        "margin": tables.number,
        "false_block": _chance,
        "power": _chance,
        "mde": tables.number,
        "runs_needed": tables.count,
    }
    told = [
        tables.missing() if decision[name] is None else write(decision[name])
        for name, write in writers.items()
    ]
    return [_moment(decision), pieces.verdict(decision), *told]


def _chance(value: float) -> str:
    """Return a chance in percent; a small one with digits, for 0% would say never."""
    if 0 < value < 0.001:
        return "< 0.1%"
    return tables.percent(value) if value >= 0.1 or value == 0 else f"{tables.number(100 * value, 2)}%"


def _moment(decision: Decision) -> str:
    return str(decision["decided_at"])[:16].replace("T", " ")
