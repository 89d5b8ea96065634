"""What the suite review shows: the map of cases, their leverage, the proposals, and what lint found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstats.report import material, reviews, tables
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.canvas import Figure
    from evalstats.report.reviews import Review

_ORDER = {reviews.RETIRE: 0, reviews.ADMIT: 1, reviews.WAIT: 2, reviews.KEEP: 3}


def map_figure(review: Review, shown: pd.DataFrame) -> Figure:
    """Draw every case by difficulty and discrimination."""
    from evalstats.report.difficulty import difficulty_map

    return difficulty_map(shown, arms=review.found.pair, level=review.level)


def proposal_bars(review: Review, shown: pd.DataFrame) -> Figure:
    """Draw how many cases each proposal has."""
    from evalstats.report.counts import count_bars

    counts = {
        word: n for word, n in reviews.counts(shown).items() if n or word in (reviews.KEEP, reviews.RETIRE)
    }
    told = ", ".join(f"{word} {n}" for word, n in counts.items())
    return count_bars(
        counts,
        apart=(reviews.KEEP, reviews.WAIT),
        name="proposals",
        title="What is proposed",
        reading=f"Of {tables.some(len(shown), 'case')}: {told}.",
    )


def proposals_table(shown: pd.DataFrame) -> Table:
    """Return the proposals with their reasons, those that change something first."""
    ranks = shown["proposal"].map(_ORDER)
    ordered = shown.assign(rank=ranks).sort_values(["rank", "case_id"], kind="stable").drop(columns="rank")
    columns: list[Column | str] = [
        Column("case_id", "Case"),
        "archetype",
        "pool",
        "proposal",
        Column("reasons", "Why"),
    ]
    return Table("proposals", "Every case, and what is proposed", ordered, columns)


def cases_table(review: Review, shown: pd.DataFrame) -> Table:
    """Return the numbers of every case; a number is missing where nothing is known."""
    rows = tables.rows(shown)
    level = tables.percent(review.level)
    said = shown.assign(
        difficult=[_between(row, "difficulty") for row in rows],
        telling=[_between(row, "discrimination", signed=True) for row in rows],
    )
    columns: list[Column | str] = [
        Column("case_id", "Case"),
        Column("difficult", f"Difficulty [{level}]"),
        Column("telling", f"Discrimination [{level}]"),
        Column("flips", "Flips", "percent"),
        Column("word", "Room"),
        Column("leverage", "Leverage", "points"),
        Column("n_trials", "Trials", "count"),
    ]
    if shown["disagreement"].notna().any():
        columns.append(Column("disagreement", "Judge disagrees", "percent"))
    return Table("cases", "Every case in numbers", said, columns)


def _between(row: dict[str, object], name: str, *, signed: bool = False) -> str:
    """Return a number of a row with its interval."""
    ends = {"estimate": row[name], "conf_low": row[f"{name}_low"], "conf_high": row[f"{name}_high"]}
    return material.estimate(ends, tables.signed if signed else tables.rate)


def lint_table(review: Review) -> Table:
    """Return what lint found in the suite's file, the gravest first."""
    rows = [
        {
            "severity": str(f.severity),
            "code": str(f.code),
            "case": f.case or "(the suite)",
            "what": f.what,
            "way_out": f.code.way_out,
        }
        for f in review.findings
    ]
    columns: list[Column | str] = ["severity", "code", "case", "what", Column("way_out", "What to do")]
    frame = material.frame_of(rows, "severity code case what way_out".split())
    return Table("lint", "What lint found", frame, columns)
