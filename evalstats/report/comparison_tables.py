"""What the comparison notebook shows: cases and expectations that moved, differences, groups, verdict inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstats.report import material, tables
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.estimates.several_sides import Pair
    from evalstats.governance.between import Circumstances
    from evalstats.report.canvas import Figure
    from evalstats.report.comparisons import Compared

_LISTED = 10  # cases in the figure of those that moved most
_MOVED = "old_passed new_passed estimate conf_low conf_high".split()
_CASE = [*"case_id archetype old new change old_passes new_passes".split(), *_MOVED]
_EXPECTATION = [*"case_id idx type required flipped".split(), *_MOVED]


def cases(found: Compared) -> pd.DataFrame:
    """Return one row per case that both leading sides have, the one whose pass rate moved most first.

    ``old`` and ``new`` are mean scores; ``estimate`` is the difference of the pass rates with its interval
    (Newcombe, of this very case: FIXED); a side passes a case where more than half of its usable trials do.
    """
    old, new = (_counts(found, name) for name in (found.last.old.name, found.last.new.name))
    shared = _side_by_side(old, new)
    rows = [_case(row, found.level) for row in tables.rows(shared.reset_index())]
    rows.sort(key=lambda row: (-abs(row["estimate"]), row["case_id"]))
    return material.frame_of(rows, _CASE)


def _side_by_side(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    return old.merge(new, left_index=True, right_index=True, suffixes=("_old", "_new"))


def _counts(found: Compared, name: str) -> pd.DataFrame:
    """Return the usable trials of each case on one side."""
    from evalstats.estimates.cases import case_table

    table = case_table(found.sides.of(name), by=())
    return table[table["n_usable"] > 0].set_index("case_id")


def _case(row: dict[str, Any], level: float) -> dict[str, Any]:
    new, old = ((int(row[f"n_passed_{s}"]), int(row[f"n_usable_{s}"])) for s in ("new", "old"))
    return {
        "case_id": str(row["case_id"]),
        "archetype": row["archetype_new"],
        "old": row["score_old"],
        "new": row["score_new"],
        "change": row["score_new"] - row["score_old"],
        **_moved(old, new, level),
        "old_passes": 2 * old[0] > old[1],
        "new_passes": 2 * new[0] > new[1],
    }


def _moved(old: tuple[int, int], new: tuple[int, int], level: float) -> dict[str, Any]:
    """Return the passes of both sides, and the difference of their rates with its interval."""
    from evalstats import stats

    moved = stats.newcombe(new, old, level=level, population="FIXED").as_row()
    passed = {f"{side}_passed": f"{k} / {n}" for side, (k, n) in (("old", old), ("new", new))}
    return {**passed, **{name: moved[name] for name in ("estimate", "conf_low", "conf_high")}}


def expectations(found: Compared) -> pd.DataFrame:
    """Return one row per expectation that both leading sides decided, the one that moved most first."""
    keys = ["case_id", "idx", "type", "required"]
    sides = []
    for name in (found.last.old.name, found.last.new.name):
        rates = found.sides.expectations[name]
        decided = rates.assign(decided=rates["n"] - rates["undecided"])
        sides.append(decided[decided["decided"] > 0].groupby(keys)[["passed", "decided"]].sum())
    shared = _side_by_side(*sides)
    rows = []
    for key, row in shared.iterrows():
        old, new = ((int(row[f"passed_{s}"]), int(row[f"decided_{s}"])) for s in ("old", "new"))
        flipped = (2 * old[0] > old[1]) != (2 * new[0] > new[1])
        named = dict(zip(keys, key, strict=True))  # type: ignore[call-overload]
        rows.append({**named, "flipped": flipped, **_moved(old, new, found.level)})
    rows.sort(key=lambda row: (-abs(row["estimate"]), str(row["case_id"]), row["idx"]))
    return material.frame_of(rows, _EXPECTATION)


# --- figures -------------------------------------------------------------------------------------


def slopes(found: Compared, moved: pd.DataFrame) -> Figure:
    """Draw every case from the first side to the last."""
    from evalstats.report.slopes import paired_slopes

    ends = [found.last.old.name, found.last.new.name]
    means = found.means.set_index("side", drop=False).loc[ends]
    return paired_slopes(moved, means)


def flips(found: Compared, moved: pd.DataFrame) -> Figure:
    """Draw the verdicts of the cases on both sides."""
    from evalstats.report.flips import flip_matrix

    return flip_matrix(moved, sides=(found.last.old.name, found.last.new.name), level=found.level)


def most_moved(found: Compared, moved: pd.DataFrame) -> Figure:
    """Draw the cases whose pass rate moved most, each with its interval."""
    from evalstats.report.forest import forest

    n = [_total(row["old_passed"]) + _total(row["new_passed"]) for row in tables.rows(moved)]
    shown = moved.assign(estimand="difference of pass rates", level=found.level, n_cases=n, caveats="")
    most = f"The {_LISTED} cases" if len(moved) > _LISTED else "The cases"
    title = f"{most} whose pass rate moved most (n is trials)"
    return forest(shown.head(_LISTED), label="case_id", name="moved", title=title, signed=True)


def _total(passed: str) -> int:
    return int(passed.rpartition("/")[2])


def difference_figures(found: Compared) -> list[Figure]:
    """Draw the difference of the leading sides, whole and by dimension; of several sides, every pair too."""
    from evalstats.report.forest import forest

    rows = list(_differences(found))
    title = f"{found.last.new.name} minus {found.last.old.name}"
    frame = material.frame_of(rows, list(rows[0]))
    figures = [forest(frame, label="what", name="differences", title=title, signed=True)]
    if len(found.pairs) > 1:
        pairs = [{"pair": _pair(p), **p.found.estimates["difference"].as_row()} for p in found.pairs]
        frame = material.frame_of(pairs, list(pairs[0]))
        figures.append(forest(frame, label="pair", name="pairs", title="Every pair of sides", signed=True))
    return figures


def _differences(found: Compared) -> Iterator[dict[str, Any]]:
    head = f"all, clusters of {found.clusters}" if found.clusters else "all cases"
    yield {"what": head, **found.last.found.estimates["difference"].as_row()}
    if found.independent is not None:
        yield {"what": "all, as if independent", **found.independent.as_row()}
    for row in tables.rows(found.by_dimension):
        yield {"what": row["dimension"], **row}


def _pair(pair: Pair) -> str:
    return f"{tables.shortened(pair.new.name, 13)} − {tables.shortened(pair.old.name, 13)}"


# --- tables --------------------------------------------------------------------------------------


def sides_table(found: Compared) -> Table:
    """Return what each side is, and its mean score."""
    said = [material.estimate(row, tables.rate) for row in tables.rows(found.means)]
    shown = found.sides.table.assign(mean=said)
    columns: list[Column | str] = [
        Column("side", "Side"),
        Column("mean", f"Mean score [{tables.percent(found.level)} interval]"),
        Column("n_runs", "Runs", "count"),
        Column("n_cases", "Cases", "count"),
        Column("n_trials", "Trials", "count"),
        Column("lost", "Without a score", "count"),
    ]
    return Table("sides", "What is compared", shown, columns)


def cases_table(found: Compared, moved: pd.DataFrame) -> Table:
    """Return every case, the one that moved most first."""
    shown = moved.assign(moved=[tables.estimate(row, tables.signed) for row in tables.rows(moved)])
    old, new = (tables.shortened(name, 24) for name in (found.last.old.name, found.last.new.name))
    columns: list[Column | str] = [
        Column("case_id", "Case"),
        "archetype",
        Column("old_passed", f"Passed, {old}"),
        Column("new_passed", f"Passed, {new}"),
        Column("moved", f"Change of pass rate [{tables.percent(found.level)}]"),
        Column("change", "Change of score", "signed"),
    ]
    return Table("cases", "Every case, the one that moved most first", shown, columns)


def expectations_table(found: Compared, moved: pd.DataFrame) -> Table:
    """Return the expectations whose majority changed, or that moved beyond their interval."""
    away = (moved["conf_low"] > 0) | (moved["conf_high"] < 0) | moved["flipped"].astype(bool)
    kept = moved[away]
    shown = kept.assign(moved=[tables.estimate(row, tables.signed) for row in tables.rows(kept)])
    old, new = (tables.shortened(name, 24) for name in (found.last.old.name, found.last.new.name))
    columns: list[Column | str] = [
        Column("case_id", "Case"),
        Column("idx", "No.", "count"),
        "type",
        Column("old_passed", f"Held, {old}"),
        Column("new_passed", f"Held, {new}"),
        Column("moved", f"Change [{tables.percent(found.level)}]"),
        Column("flipped", "Flipped", "yes-no"),
    ]
    title = f"Expectations that flipped or moved beyond their interval: {len(kept)} of {len(moved)}"
    return Table("expectations", title, shown, columns)


def attrition_table(found: Compared) -> Table:
    """Return the cases that enter no pair, and why."""
    columns: list[Column | str] = [Column("case_id", "Case"), "archetype", Column("reason", "Why")]
    return Table("attrition", "Cases that enter no pair", found.attrition, columns)


def verdict_table(found: Compared) -> Table:
    """Return what a policy would read of each pair; a verdict is its matter, not the report's."""
    rows = [
        {
            "pair": f"{p.new.name} − {p.old.name}",
            "difference": material.estimate(p.found.estimates["difference"].as_row(), tables.signed),
            "detectable": p.found.estimates["detectable"].estimate,
            **{f"p_{name}": test.p_value for name, test in p.found.tests.items()},
            "margin": found.margin,
        }
        for p in found.pairs
    ]
    columns: list[Column | str] = [
        Column("pair", "Pair"),
        Column("difference", f"Difference [{tables.percent(found.level)}]"),
        Column("p_difference", "p, none", "p"),
        Column("p_equivalence", f"p, ±{found.margin:g} or more", "p"),
        Column("p_non-inferiority", f"p, worse by {found.margin:g}", "p"),
        Column("detectable", "Detectable", "rate"),
    ]
    frame = material.frame_of(rows, list(rows[0]))
    return Table("verdict-inputs", "What a policy would read", frame, columns)


def circumstances(found: Compared) -> Circumstances:
    """Return what speaks against any conclusion: lost trials, mocks, and sides that are copies."""
    from evalstats.governance.between import Circumstances

    sides = {row["side"]: row for row in tables.rows(found.sides.table)}
    ends = [found.last.old.name, found.last.new.name]
    old, new = (_counts(found, name) for name in ends)
    columns = ["n_usable", "score_sum"]
    return Circumstances(
        lost=tuple((name, sides[name]["infrastructure"] / max(sides[name]["n_trials"], 1)) for name in ends),
        mocks=tuple(name for name in ends if sides[name]["is_mock"]),
        identical=len(old) > 1 and old[columns].equals(new[columns]),
    )
