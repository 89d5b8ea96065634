"""How much of the headroom does the skill take? What the lift notebook reads, shows and concludes.

The difference by archetype is the primary view. The lift is shown over four units, each an estimand of its own,
beside the median rule of older reports. Where the lift means nothing, that is said and the difference leads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evalstats.contract import ExpectationType
from evalstats.errors import UsageError
from evalstats.report import forest, material, tables
from evalstats.report.material import Material
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from evalstats.report.canvas import Figure

_OVER = {
    "cases": "cases · headline",
    "expectations": "expectations · micro",
    "archetype mean": "archetypes · mean",
    "archetype median": "archetypes · median",
    "medians of 3": "medians of 3 · legacy",
}
_CITED = {
    "expected card cited": ExpectationType.CITES_CARD,
    "expected recipe cited": ExpectationType.CITES_RECIPE,
}
GREYED = "greyed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifts:
    """Every number of the lift notebook.

    ``averages`` has one row for each unit that the lift is taken over, ``difference`` one row, ``archetypes`` the
    difference, the shrunken difference and the lift of each archetype. ``headroom`` has one row a case,
    ``citations`` one per arm and kind.
    """

    averages: pd.DataFrame
    difference: pd.DataFrame
    archetypes: pd.DataFrame
    headroom: pd.DataFrame
    citations: pd.DataFrame

    @property
    def lift(self) -> dict[str, Any]:
        """Return the lift over cases."""
        return tables.rows(self.averages)[0]

    @property
    def total(self) -> dict[str, Any]:
        """Return the difference over all cases."""
        return tables.rows(self.difference)[0]

    @property
    def degeneracy(self) -> list[str]:
        """Return why the lift is not to be read as a number, or nothing."""
        return list(_degeneracy(self.lift, self.total))


def read(store: str, suite: str, lock: str = "") -> Material:
    """Read a suite whose runs have both arms. Raises UsageError when they have not."""
    found = material.read(store, suite, lock)
    if not found.is_paired:
        only = f"runs of {suite} have the arm {found.arms[0]} alone"
        raise UsageError(f"{only}; a lift needs both: `evalstats run {suite} --mode both`", field="suite")
    return found


def measure(found: Material, *, rng: np.random.Generator, level: float) -> Lifts:
    """Estimate the lift over each unit, the differences, the headroom of each case and the citations."""
    import pandas as pd

    from evalstats import estimates

    arms, runs = found.pair, found.runs
    asked = None if found.expectations.empty else found.expectations  # not every log tells them one by one
    lifts = estimates.lift(runs, rng=rng, level=level, arms=arms, expectations=asked)
    legacy = estimates.legacy_lift(found.trials, rng=rng, level=level, arms=arms)
    averages = pd.concat([lifts.astype(object), legacy.astype(object)], ignore_index=True)
    return Lifts(
        averages=averages.assign(unit=averages["over"].map(_OVER)),
        difference=estimates.difference(runs, rng=rng, level=level, arms=arms),
        archetypes=estimates.by_archetype(runs, rng=rng, level=level, arms=arms),
        headroom=headroom(found),
        citations=citations(found, level),
    )


def headroom(found: Material) -> pd.DataFrame:
    """Return what each case can still show: ``case_id, archetype, word, why, more_trials`` and the passes."""
    from evalstats.governance.headroom import ARMS, screen

    axis = next(axis for axis, pair in ARMS.items() if tuple(pair) == found.pair)
    archetypes = dict(zip(found.runs["case_id"], found.runs["archetype"], strict=True))
    rows = [
        {
            "case_id": case.case_id,
            "archetype": archetypes[case.case_id],
            "passed_on": f"{case.arms[0].n_passed} / {case.arms[0].n_usable}",
            "passed_off": f"{case.arms[1].n_passed} / {case.arms[1].n_usable}",
            "word": case.word,
            "why": case.why,
            "more_trials": case.more_trials,
        }
        for case in screen(found.runs, axis=axis)
    ]  # fmt: skip
    columns = "case_id archetype passed_on passed_off word why more_trials".split()
    return material.frame_of(rows, columns).astype({"more_trials": "Int64"})


def citations(found: Material, level: float) -> pd.DataFrame:
    """How often was what was expected cited? An estimate for each kind and arm; unknown where none was asked for."""
    asked = found.expectations
    rows = [
        {
            "what": what,
            "arm": arm,
            **_cited(asked[(asked["type"] == kind) & (asked["arm"] == arm)], what, level),
        }
        for what, kind in _CITED.items()
        for arm in found.pair
    ]
    return material.frame_of(rows, list(rows[0]))


def _cited(asked: pd.DataFrame, what: str, level: float) -> dict[str, Any]:
    """Return the share of trials that cited, as the fields of an estimate over the cases that ask for it."""
    from evalstats import stats
    from evalstats.stats.results import undefined

    by_case = asked.assign(decided=asked["n"] - asked["undecided"]).groupby("case_id")
    counts = by_case[["passed", "decided"]].sum()
    counts = counts[counts["decided"] > 0]
    if counts.empty:
        unknown = "no case asks for one: whether any was cited is not known"
        none: dict[str, Any] = {"population": "SUPER", "level": level, "n_cases": 0, "n_trials": 0}
        return undefined(unknown, estimand=what, method="none", **none).as_row()
    rate = stats.pass_rate(counts["passed"].to_numpy(), counts["decided"].to_numpy(), level=level)
    return replace(rate, estimand=what).as_row()


def _degeneracy(lift: Mapping[str, Any], total: Mapping[str, Any]) -> Iterator[str]:
    if tables.is_missing(lift["estimate"]):
        yield tables.reason_of(lift)
        return
    if lift["estimate"] == 1 and total["estimate"] > 0:
        yield "nothing fails with the skill, so the lift is 1 however much it adds (degenerate)"
    if total["estimate"] == 0 and total["std_error"] == 0:
        yield "both arms score the same on every case (degenerate)"
    yield from (str(caveat) for caveat in lift["caveats"] if str(caveat).startswith(GREYED))


# --- what is shown -------------------------------------------------------------------------------


def archetype_bars(found: Lifts) -> Figure:
    """Draw the differences by archetype, with those over all cases below."""
    differences = found.archetypes[found.archetypes["quantity"] == "difference"]
    total = {**found.total, "estimand": "difference of mean scores"}
    return forest.archetype_bars(
        differences.assign(estimand="difference of mean scores"),
        total=total,
        title="What the skill adds, by archetype",
    )


def averages_forest(found: Lifts) -> Figure:
    """Draw the lift over each unit, and that of the median rule."""
    shown = found.averages.assign(estimand="lift")
    return forest.forest(
        shown, label="unit", name="averages", title="The lift, over four units and by the old rule"
    )


def averages_table(found: Lifts) -> Table:
    """Return the lifts side by side, each with what must be known of it."""
    rows = tables.rows(found.averages)
    shown = found.averages.assign(
        said=[material.estimate(row, tables.rate) for row in rows],
        note=["; ".join(map(str, row["caveats"])) or str(row["method"]) for row in rows],
    )
    columns: list[Column | str] = [
        Column("unit", "Lift over"),
        Column("said", f"Estimate [{tables.percent(found.lift['level'])} interval]"),
        Column("note", "What to know"),
    ]
    return Table("averages", "Averages of the lift, side by side", shown, columns)


def archetypes_table(found: Lifts) -> Table:
    """Return each archetype: its difference, the same shrunken for ranking, and its lift or why there is none."""
    by = {str(quantity): tables.rows(some) for quantity, some in found.archetypes.groupby("quantity")}
    rows = [
        {
            "archetype": difference["archetype"],
            "n_cases": difference["n_cases"],
            "difference": material.estimate(difference, tables.signed),
            "shrunken": material.estimate(shrunken, tables.signed),
            "lift": material.estimate(lift, tables.rate, unknown="refused"),
        }
        for difference, shrunken, lift in zip(by["difference"], by["shrunken"], by["lift"], strict=True)
    ]
    columns: list[Column | str] = [
        "archetype",
        Column("n_cases", "Cases", "count"),
        Column("difference", "Difference"),
        Column("shrunken", "Shrunken, for ranking"),
        Column("lift", "Lift of its own"),
    ]
    frame = material.frame_of(rows, "archetype n_cases difference shrunken lift".split())
    return Table("archetypes", "Every archetype", frame, columns)


def citations_table(found: Lifts) -> Table:
    """Return how often what was expected was cited; ``n/a`` where nothing was expected, which is not 0."""
    said = [material.estimate(row, tables.rate) for row in tables.rows(found.citations)]
    level = tables.percent(found.lift["level"])
    columns: list[Column | str] = [
        Column("what", "What"),
        "arm",
        Column("said", f"Rate [{level} interval]"),
        Column("n_cases", "Cases that ask", "count"),
        Column("n_trials", "Trials", "count"),
    ]
    return Table("citations", "Citations of what was expected", found.citations.assign(said=said), columns)


def headroom_bars(found: Lifts) -> Figure:
    """Draw how many cases can still show a difference, by what is known of each."""
    from evalstats.governance.headroom import OPEN, SEPARATED, WORDS
    from evalstats.report.counts import count_bars

    counts = {word: int((found.headroom["word"] == word).sum()) for word in WORDS}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"
    return count_bars(
        counts,
        apart=(OPEN, SEPARATED),
        name="headroom",
        title="Cases, by the room they leave",
        reading=f"Of {tables.some(len(found.headroom), 'case')}: {told}.",
    )


def headroom_table(found: Lifts, pair: Sequence[str]) -> Table:
    """Return what each case can still show, and what speaks for it."""
    columns: list[Column | str] = [
        Column("case_id", "Case"),
        "archetype",
        Column("passed_off", f"Passed, {pair[1]}"),
        Column("passed_on", f"Passed, {pair[0]}"),
        Column("word", "Room"),
        Column("why", "Why"),
        Column("more_trials", "More trials", "count"),
    ]
    return Table("headroom", "Every case, and the room it leaves", found.headroom, columns)
