"""The lift on a page: whether it is a headline, how it stood at each publication, over which units and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalstats.report import tables
from evalstats.site import headline, pieces
from evalstats.site.known import LIFT, VARIANCE, Known
from evalstats.site.pieces import Cell, Section
from evalstats.site.published import Published
from evalstats.site.standing import Standing


def headlines(known: Known) -> dict[str, Published]:
    """Return the suites whose newest lift is a headline, with its report."""
    found = {suite: known.shelf.of(LIFT, suite) for suite in known.suites}
    return {
        suite: report
        for suite, report in found.items()
        if report is not None and not headline.refusals(report, known.standings.get(suite))
    }


def of_all(known: Known) -> Iterator[Section]:
    """Yield the headline lift of every suite that has one; else why there is none."""
    good = headlines(known)
    for suite, report in good.items():
        worthy = [one for one in known.lifts[suite] if not headline.refusals(one, known.standings.get(suite))]
        told = [f"{_runs(report)}, up to {report.last_day}."]
        figures = [rolling(worthy, suite) or report.figure("averages")]
        title = f"Headline lift of {suite}"
        yield Section(f"headline-{suite}", title, told, figures=figures, sources=[report])
    if not good and known.suites:
        yield _none(known)


def _none(known: Known) -> Section:
    told = [
        "No lift is a headline. A headline stands on live runs, none of them mock, on several trials a case, and on"
        " cases that a lock holds. What was measured otherwise is shown with its suite."
    ]
    rows: list[list[Cell]] = []
    for suite in known.suites:
        report = known.shelf.of(LIFT, suite)
        why = (
            [_missing(known, suite)]
            if report is None
            else headline.refusals(report, known.standings.get(suite))
        )
        measured = tables.missing() if report is None else headline.written(headline.lift(report))
        rows.append([pieces.to_suite(suite), measured, "; ".join(why)])
    shown = [pieces.table("Lift as measured", ["Suite", "Lift [interval]", "Why it is no headline"], rows)]
    return Section("headline", "Headline lift", told, tables=shown)


def _missing(known: Known, suite: str) -> str:
    if known.shelf.versions.get((LIFT, suite)):
        return "no report of its lift can be shown"
    return f"no report of its lift; `evalstats report lift -p suite={suite}` makes one"


def of_suite(known: Known, suite: str) -> Iterator[Section]:
    """Yield the lift of a suite, and the difference that the treatment makes on each archetype."""
    report = known.shelf.of(LIFT, suite)
    if report is not None:
        yield Section(
            "lift",
            "Lift",
            list(_told(report, known.standings.get(suite))),
            figures=[rolling(known.lifts.get(suite, ()), suite), report.figure("averages")],
            sources=[report],
        )
    yield from _archetypes(known, suite)


def _told(report: Published, standing: Standing | None) -> Iterator[str]:
    yield f"{_runs(report)}, up to {report.last_day}."
    why = headline.refusals(report, standing)
    yield f"It is no headline: {'; '.join(why)}." if why else "It counts as a headline."


def _runs(report: Published) -> str:
    groups = {row["group_id"] for row in report.document["series"]}
    trials = tables.count(report.document["data"]["n_trials"])
    return f"Over {tables.some(len(groups), 'run')} of both arms with one identity, {trials} trials in all"


def _archetypes(known: Known, suite: str) -> Iterator[Section]:
    for notebook in (LIFT, VARIANCE):
        found = known.shelf.of(notebook, suite)
        if found is not None and (figure := found.figure("archetypes")) is not None:
            shown = [found.table("archetypes")]
            title = "What does it add, and where?"
            yield Section("archetypes", title, figures=[figure], tables=shown, sources=[found])
            return


def citations(known: Known, suite: str) -> Iterator[Section]:
    """Yield how often an expected card and recipe were cited; where none was expected, that is said."""
    report = known.shelf.of(LIFT, suite)
    shown = report.table("citations") if report is not None else None
    if report is None or shown is None:
        return
    asked = [row for row in report.document["estimates"] if "cited" in row["estimand"] and row["n_cases"]]
    told, rest = (
        "How often an expected card or recipe was cited; n/a where none was expected, which is not 0.",
        [shown],
    )
    if not asked:
        told, rest = "No case expects a card or a recipe, so whether one was cited is not known.", []
    yield Section("citations", "Citations", [told], tables=rest, sources=[report])


def rolling(versions: Sequence[Published], suite: str) -> dict[str, Any] | None:
    """Return the figure of a lift as it stood at each of its publications; None where there are not two."""
    known = [
        {**row, "published": f"{found.last_day} · {pieces.number(found.version.version)}"}
        for found in versions
        if (row := headline.lift(found)) is not None and not tables.is_missing(row["estimate"])
    ]
    if len(known) < 2:
        return None
    import pandas as pd

    from evalstats.report import charts

    drawn = charts.forest(
        pd.DataFrame(known),
        label="published",
        name="rolling",
        title="The lift at each publication",
        signed=False,
    )
    wide, narrow = drawn.wide.svg, drawn.narrow.svg
    named = {"name": f"{suite}-rolling", "title": f"{drawn.title}, by the last run in it"}
    return {**named, "reading": tables.visible(drawn.reading), "wide": wide, "narrow": narrow}
