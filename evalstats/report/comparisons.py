"""How do two sides compare, case by case? What the comparison notebook reads and estimates.

A side is an arm (all runs of the newest identity) or one run. With more than two, every pair is compared. The
difference is always the later side minus the earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.contract import Arm
from evalstats.errors import UsageError
from evalstats.report import inputs, material, tables

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from evalstats.estimates.several_sides import Pair
    from evalstats.estimates.sides import Side
    from evalstats.stats.results import Estimate

MOST_SIDES = 8
SIDE = "side"  # the column that says on which side a row stands


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The runs to compare, and what stands behind them.

    ``runs`` is the case table of all sides, with the column ``side``; ``names`` their order, the yardstick first;
    ``full`` says which arm or run each is. ``dimensions`` are those of each case, ``expectations`` of each side.
    """

    suite: str
    names: tuple[str, ...]
    full: Mapping[str, str]
    runs: pd.DataFrame
    dimensions: Mapping[str, tuple[str, ...]]
    expectations: Mapping[str, pd.DataFrame]
    notes: tuple[str, ...] = ()
    lock: dict[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame:
        """Return what each side is: runs, cases, trials and those lost."""
        rows = [
            {
                "side": name,
                "is": self.full[name],
                "n_runs": some["run_id"].nunique(),
                "n_cases": some["case_id"].nunique(),
                "n_trials": int(some["n_trials"].sum()),
                "lost": int((some["n_trials"] - some["n_usable"]).sum()),
                "infrastructure": int(some["n_infrastructure"].sum()),
                "is_mock": bool(some["is_mock"].fillna(False).any()),
            }
            for name, some in ((name, self.of(name)) for name in self.names)
        ]
        return material.frame_of(rows, list(rows[0]))

    def of(self, name: str) -> pd.DataFrame:
        """Return the rows of one side."""
        return self.runs[self.runs[SIDE] == name]

    @property
    def facts(self) -> dict[str, Any]:
        """Return the fields of ``draft.data``."""
        return {**inputs.facts(self.runs), **self.lock}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What came of it: every pair of sides, and the mean of each.

    ``independent`` is the difference of the last two if cases were independent, ``by_dimension`` the same
    difference over the cases of each dimension. ``clusters`` is the column that was used, empty for none.
    """

    sides: Sides
    pairs: tuple[Pair, ...]
    means: pd.DataFrame
    independent: Estimate | None
    by_dimension: pd.DataFrame
    clusters: str
    level: float
    margin: float
    notes: tuple[str, ...]

    @property
    def last(self) -> Pair:
        """Return the pair that leads: the last side against the first."""
        first, last = self.sides.names[0], self.sides.names[-1]
        return next(p for p in self.pairs if (p.old.name, p.new.name) == (first, last))

    @property
    def groups(self) -> list[list[str]]:
        """Return the groups of sides that no test tells apart; none for a single pair."""
        from evalstats.estimates.several_sides import not_told_apart

        return not_told_apart(self.pairs) if len(self.pairs) > 1 else []

    @property
    def estimates(self) -> pd.DataFrame:
        """Return difference and detectable difference of each pair, as estimates."""
        rows = [
            {"side": p.new.name, "minus": p.old.name, "quantity": quantity, **estimate.as_row()}
            for p in self.pairs
            for quantity, estimate in p.found.estimates.items()
        ]
        return material.frame_of(rows, list(rows[0]))

    @property
    def tests(self) -> pd.DataFrame:
        """Return the tests of each pair: difference, equivalence, non-inferiority."""
        rows = [
            {"side": p.new.name, "minus": p.old.name, "test": name, **test.as_row()}
            for p in self.pairs
            for name, test in p.found.tests.items()
        ]
        return material.frame_of(rows, list(rows[0]))

    @property
    def attrition(self) -> pd.DataFrame:
        """Return the cases that enter no pair of the leading sides, and why."""
        rows = [alone._asdict() for alone in self.last.found.alone]
        return material.frame_of(rows, ["case_id", "archetype", "arm", "reason"])


# --- reading -------------------------------------------------------------------------------------


def read(store: str, suite: str, a: str, b: str, *, lock: str = "") -> Sides:
    """Read the sides that ``a`` (the yardstick) and ``b`` name: arms or run ids, in ``b`` several with commas.

    Both empty: the two arms of the suite. Raises UsageError when a side is unknown, or stands twice, or when there
    are not two, or too many.
    """
    every_run = inputs.case_runs(store, suite)
    locked = inputs.locked(every_run, lock)
    named = [name.strip() for name in f"{a},{b}".split(",") if name.strip()]
    wanted = named or list(reversed(material.arms_of(locked.runs)))
    _check(wanted, locked.runs)
    named = [name for name in wanted if name not in list(Arm)]
    parts, notes = [], list(locked.notes)
    for name in wanted:
        rows, said = _rows(locked.runs, name, named)
        parts.append(rows.assign(**{SIDE: alias(name, suite)}))
        notes += said
    runs, said = _same_question(parts)
    with warehouse.open(inputs.find_store(store), read_only=True) as opened:
        dimensions = _dimensions(opened, suite)
        ids = {str(side): sorted(set(some["run_id"])) for side, some in runs.groupby(SIDE)}
        rates = {side: opened.expectation_rates(suite, run_ids=of_side) for side, of_side in ids.items()}
    names = tuple(alias(name, suite) for name in wanted)
    kept = runs["case_id"].unique()
    return Sides(
        suite=suite,
        names=names,
        full=dict(zip(names, wanted, strict=True)),
        runs=runs,
        dimensions=dimensions,
        expectations={side: rate[rate["case_id"].isin(kept)] for side, rate in rates.items()},
        notes=tuple(dict.fromkeys([*notes, *said])),
        lock=locked.facts,
    )


def alias(name: str, suite: str) -> str:
    """Return a side's short name: of a run id what follows its suite, which is what differs."""
    return name.rpartition(f"-{suite}-")[2] or name


def _check(wanted: Sequence[str], runs: pd.DataFrame) -> None:
    """Raise UsageError unless these are names that can be compared."""
    if not 2 <= len(wanted) <= MOST_SIDES:
        raise UsageError(f"2 to {MOST_SIDES} sides can be compared, got {len(wanted)}", field="b")
    twice = next((name for name in wanted if wanted.count(name) > 1), None)
    if twice:
        raise UsageError(f"{twice!r} stands twice; a side compared with itself says nothing", field="b")
    arms, ids = sorted(set(runs["arm"])), list(dict.fromkeys(runs["run_id"]))
    unknown = next((name for name in wanted if name not in arms and name not in ids), None)
    if unknown:
        known = f"arms {', '.join(arms)}; runs {', '.join(ids[-5:])}"
        raise UsageError(f"no arm or run {unknown!r} of this suite; known: {known}", field="a")


def _rows(runs: pd.DataFrame, name: str, named: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of one side: of an arm those of the newest identity, without runs that are a side."""
    from evalstats import estimates

    if name in named:
        return runs[runs["run_id"] == name], []
    rows, notes = estimates.comparable(runs[runs["arm"] == name])
    apart = sorted(set(rows["run_id"]) & set(named))
    rows = rows[~rows["run_id"].isin(apart)]
    if rows.empty:
        raise UsageError(f"nothing is left of {name}: its runs are sides of their own", field="a")
    return rows, [*notes, *(f"{run_id} is a side of its own, and left out of {name}." for run_id in apart)]


def _same_question(parts: Sequence[pd.DataFrame]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of cases that ask the same on every side, and which do not."""
    import pandas as pd

    runs = pd.concat(parts, ignore_index=True)
    changed = sorted(runs.groupby("case_id")["case_hash"].nunique().loc[lambda versions: versions > 1].index)
    if not changed:
        return runs, []
    kept = runs[~runs["case_id"].isin(changed)].reset_index(drop=True)
    if kept.empty:
        raise UsageError("no case asks the same on every side", field="b")
    told = f"{tables.some(len(changed), 'case')} ask something else on another side and are left out"
    return kept, [f"{told}: {material.joined(changed)}."]


def _dimensions(opened: warehouse.Store, suite: str) -> dict[str, tuple[str, ...]]:
    rows = tables.rows(opened.case_evidence(suite))
    return {str(row["case_id"]): tuple(map(str, row["dimensions"])) for row in rows}


# --- estimating ----------------------------------------------------------------------------------


def compare(
    sides: Sides, *, rng: np.random.Generator, margin: float, clusters: str, level: float
) -> Compared:
    """Compare every pair of sides: difference, tests against the margin, what would have been seen."""
    from evalstats.estimates.several_sides import pairwise

    used, notes = _clusters(sides.runs, clusters)
    pairs = pairwise([_side(sides.of(n), n, used) for n in sides.names], rng=rng, level=level, margin=margin)
    ends = sides.names[0], sides.names[-1]
    independent = None
    if used:
        old, new = (_side(sides.of(name), name, None) for name in ends)
        independent = pairwise([old, new], rng=rng, level=level)[0].found.estimates["difference"]
    return Compared(
        sides=sides,
        pairs=tuple(pairs),
        means=_means(sides, used, level),
        independent=independent,
        by_dimension=_by_dimension(sides, ends, rng, level),
        clusters=used or "",
        level=level,
        margin=margin,
        notes=tuple(notes),
    )


def _clusters(runs: pd.DataFrame, clusters: str) -> tuple[str | None, list[str]]:
    """Return the column of clusters to use, or none with the reason."""
    if not clusters:
        return None, []
    if clusters not in runs.columns:
        raise UsageError("no such column; use archetype, or leave it empty for none", field="clusters")
    known = runs.groupby("case_id")[clusters].first()
    if known.isna().any() or known.nunique() < 2:
        why = "not every case has one" if known.isna().any() else "there is only one"
        return None, [f"Cases are taken as independent: of {clusters} {why}."]
    return clusters, []


def _side(rows: pd.DataFrame, name: str, clusters: str | None) -> Side:
    from evalstats.estimates.cases import case_table
    from evalstats.estimates.differences import side_of

    table = case_table(rows.assign(arm=name), clusters=clusters)
    return side_of(table, name, clusters)


def _means(sides: Sides, clusters: str | None, level: float) -> pd.DataFrame:
    from evalstats.estimates.sides import is_graded, mean_of

    every = [_side(sides.of(name), name, clusters) for name in sides.names]
    graded = is_graded(*every)
    rows = [{SIDE: s.name, **mean_of(s, graded=graded, level=level).as_row()} for s in every]
    return material.frame_of(rows, list(rows[0]))


def _by_dimension(
    sides: Sides, ends: tuple[str, str], rng: np.random.Generator, level: float
) -> pd.DataFrame:
    """Return the difference of the leading sides over the cases that carry each dimension."""
    from evalstats.estimates.sides import compare_sides

    rows = []
    for name in sorted({dimension for some in sides.dimensions.values() for dimension in some}):
        carrying = [case for case, some in sides.dimensions.items() if name in some]
        old, new = (
            _side(some[some["case_id"].isin(carrying)], side, None)
            for side, some in ((side, sides.of(side)) for side in ends)
        )
        found = compare_sides(new, old, rng=rng, level=level)
        rows.append({"dimension": name, **found.estimates["difference"].as_row()})
    columns = ["dimension", *(rows[0] if rows else {})]
    return material.frame_of(rows, list(dict.fromkeys(columns)))
