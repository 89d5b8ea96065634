"""May the lift of a report stand as a headline? Every reason against it; none means it may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstats.contract import Tier
from evalstats.report import tables
from evalstats.report.lifts import GREYED
from evalstats.site.published import Published
from evalstats.site.standing import Standing

BY_HAND = "simulated-"  # begins the names of runs whose night was dated by hand
_LIVE = (Tier.LIVE, Tier.RELEASE)


def lift(found: Published) -> Mapping[str, Any] | None:
    """Return the lift over cases, the primary one."""
    rows = found.estimates(estimand="lift", over="cases")
    return rows[0] if rows else None


def difference(found: Published) -> Mapping[str, Any] | None:
    """Return the difference of mean scores over all cases."""
    rows = [row for row in found.estimates(estimand="difference of mean scores") if "archetype" not in row]
    return rows[0] if rows else None


def written(row: Mapping[str, Any] | None, signed: bool = False) -> str:
    """Return an estimate with its interval, or that there is none; its reason stands in the report."""
    if row is None or tables.is_missing(row["estimate"]):
        return tables.missing()
    return tables.estimate(row, tables.signed if signed else tables.rate)


def is_dated_by_hand(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether some run belongs to a night whose date was set by hand: a rehearsal, not history."""
    return any(str(row["group_id"]).startswith(BY_HAND) for row in rows)


def tier_of(found: Published | None, standing: Standing | None) -> Tier | None:
    """Return the tier of a suite as its file says, else as the report recorded it; None where neither does."""
    if standing is not None:
        return standing.tier
    recorded = None if found is None else found.document["data"].get("tier")
    return None if recorded is None else Tier(recorded)


def refusals(found: Published, standing: Standing | None) -> list[str]:
    """Return why a lift is no headline: it needs live runs, several trials a case, and a lock that holds."""
    return [*_of_runs(found, standing), *_of_lock(found, standing), *_of_number(found)]


def _of_runs(found: Published, standing: Standing | None) -> Iterator[str]:
    rows, tier = found.document["series"], tier_of(found, standing)
    if found.document["data"]["contains_mock"]:
        yield "mock runs are among its runs"
    if tier is None:
        yield "whether its suite is live is not known"
    elif tier not in _LIVE:
        yield f"its suite is {tier}, not live"
    if is_dated_by_hand(rows):
        yield "its nights were dated by hand"
    if any(row["n_trials"] <= row["n_cases"] for row in rows):
        yield "a run with one trial a case is advisory"


def _of_lock(found: Published, standing: Standing | None) -> Iterator[str]:
    lock = found.document["data"].get("lock")
    if lock is None:
        yield "no lock holds its cases"
        return
    now = next((held for held in standing.locks if held.sha256 == lock["sha256"]), None) if standing else None
    if now is None:
        yield f"lock {tables.visible(lock['name'])} is not there to check it against"
    elif now.broken:
        yield f"lock {now.name} no longer holds: {now.broken}"


def _of_number(found: Published) -> Iterator[str]:
    row = lift(found)
    if row is None or tables.is_missing(row["estimate"]):
        yield f"it could not be computed{f' ({tables.reason_of(row)})' if row else ''}"
    elif tables.is_missing(row["conf_low"]):
        yield f"it has no interval ({tables.reason_of(row)})"
    elif row["estimate"] >= 1:
        yield "nothing fails with the treatment, so it is 1 however much that adds (degenerate)"
    else:
        greyed = (str(caveat) for caveat in row["caveats"] if str(caveat).startswith(GREYED))
        yield from (caveat.removeprefix(f"{GREYED}: ") for caveat in greyed)
