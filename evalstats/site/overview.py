"""The first page: is there a headline, where does every suite stand, what did gates decide, what needs a look?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstats.report import tables
from evalstats.site import headline, lift_sections, pieces, suite_page
from evalstats.site.known import AUDIT, LIFT, Known
from evalstats.site.pieces import Cell, Page, Section

EMPTY = (
    "Nothing has been published yet. `evalstats run SUITE --mode both` makes runs,"
    " `evalstats report lift -p suite=SUITE` the first report."
)


def page(known: Known) -> Page:
    """Return the page of all suites."""
    empty = not known.suites and not known.shelf.newest and not known.holdouts
    return {
        "title": "Dashboard",
        "kicker": [],
        "question": "Where do the suites stand?",
        "notes": [],
        "soft": "",
        "mock": False,
        "finding": " ".join(_finding(known, empty)),
        "headline": [] if empty else list(_cards(known)),
        "sections": list(_sections(known)),
        "caveats": [],
    }


def _finding(known: Known, empty: bool) -> Iterator[str]:
    if empty:
        yield EMPTY
    else:
        yield _of_lift(known)
        yield _of_gates(known)
    if known.problems:
        yield f"{tables.some(len(known.problems), 'thing')} could not be read or failed; see below."


def _of_lift(known: Known) -> str:
    good = lift_sections.headlines(known)
    if not good:
        return f"There is no headline lift{_why_not(known)}."
    said = [f"{suite} {headline.written(headline.lift(found))}" for suite, found in good.items()]
    return f"Headline lift: {'; '.join(said)}."


def _why_not(known: Known) -> str:
    """Return why the only suite with a lift has no headline; with several, the reasons stand in their table."""
    lifts = [(suite, found) for suite in known.suites if (found := known.shelf.of(LIFT, suite)) is not None]
    if len(lifts) != 1:
        return ""
    suite, found = lifts[0]
    return f" ({suite}: {'; '.join(headline.refusals(found, known.standings.get(suite)))})"


def _of_gates(known: Known) -> str:
    names = known.suites
    newest = {suite: last for suite in names if (last := known.last_decision(suite)) is not None}
    if not newest:
        return "No gate has decided anything yet."
    blocked = [suite for suite, decision in newest.items() if decision["verdict"] == "regression"]
    rest = Counter(pieces.verdict(d) for d in newest.values() if d["verdict"] not in ("regression", "pass"))
    said = (
        f"Blocked at its last gate: {', '.join(blocked)}."
        if blocked
        else "No suite was blocked at its last gate."
    )
    if rest:
        said += f" Not answered: {', '.join(f'{n} {verdict}' for verdict, n in sorted(rest.items()))}."
    if len(newest) < len(names):
        said += f" {tables.some(len(names) - len(newest), 'suite')} never met a gate."
    return said


def _cards(known: Known) -> Iterator[dict[str, str]]:
    good = lift_sections.headlines(known)
    for suite, report in list(good.items())[:2]:
        row = headline.lift(report) or {}
        detail = f"{tables.percent(row['level'])} interval {tables.interval_of(row)}, {suite}"
        yield {"label": "Headline lift", "value": tables.rate(row["estimate"]), "detail": detail}
    if not good:
        yield {"label": "Headline lift", "value": "none", "detail": "why stands below"}
    runs = [run for suite in known.suites if (run := known.last_run(suite)) is not None]
    days = [str(run["started_at"])[:10] for run in runs]
    newest = f"last run {max(days)}" if days else "no run"
    yield {"label": "Suites", "value": str(len(known.suites)), "detail": newest}
    yield _gate_card(known)
    wrong = len(known.problems)
    yield {
        "label": "Problems",
        "value": str(wrong),
        "detail": "named below" if wrong else "everything could be read",
    }


def _gate_card(known: Known) -> dict[str, str]:
    decided = [(known.decisions[suite][0], suite) for suite in known.suites if known.decisions.get(suite)]
    if not decided:
        return {"label": "Last gate", "value": "never", "detail": ""}
    last, suite = max(decided, key=lambda pair: str(pair[0]["decided_at"]))
    return {"label": "Last gate", "value": pieces.verdict(last), "detail": f"{suite}, {pieces.day(last)}"}


# --- sections --------------------------------------------------------------------------------------


def _sections(known: Known) -> Iterator[Section]:
    if known.suites:
        yield _suites(known)
        yield _findings(known)
    yield from lift_sections.of_all(known)
    if known.holdouts:
        yield _holdouts(known.holdouts)
    yield from _audits(known)
    yield from _other_reports(known)
    if known.problems:
        told = ["None of this is counted as fine, and none of it is shown as if it were."]
        rows = [[problem.text] for problem in known.problems]
        shown = [pieces.table("Problems", ["Problem"], rows)]
        yield Section("problems", "What could not be read, or failed", told, tables=shown)


def _suites(known: Known) -> Section:
    columns = ["Suite", "Marked", "Last run", "#Difference [80%]", "#Lift [80%]", "Last gate"]
    rows = [_line(known, suite) for suite in known.suites]
    levels = {row["level"] for suite in known.suites for row in _estimates(known, suite) if row is not None}
    if levels - {0.8}:
        columns = [column.replace("[80%]", "[interval]") for column in columns]
    return Section("suites", "Suites", tables=[pieces.table("Every suite", columns, rows)])


def _findings(known: Known) -> Section:
    rows: list[list[Cell]] = [
        [pieces.to_suite(suite), suite_page.finding(known, suite)] for suite in known.suites
    ]
    return Section(
        "findings",
        "What the newest reports say",
        tables=[pieces.table("In words", ["Suite", "Finding"], rows)],
    )


def _estimates(known: Known, suite: str) -> Sequence[Mapping[str, Any] | None]:
    found = known.shelf.of(LIFT, suite)
    return (None, None) if found is None else (headline.difference(found), headline.lift(found))


def _line(known: Known, suite: str) -> list[Cell]:
    added, lift = _estimates(known, suite)
    last, decision = known.last_run(suite), known.last_decision(suite)
    tier = headline.tier_of(known.shelf.of(LIFT, suite), known.standings.get(suite))
    return [
        pieces.to_suite(suite),
        ", ".join(["tier unknown" if tier is None else str(tier), *known.marks(suite)]),
        tables.missing() if last is None else str(last["started_at"])[:10],
        headline.written(added, signed=True),
        headline.written(lift),
        "never" if decision is None else pieces.verdict(decision),
    ]


def _holdouts(aggregates: Sequence[Mapping[str, Any]]) -> Section:
    told = [
        "What the keeper of private suites has published of them: counts, and shares in bands at least five cases wide."
        " Counts that would tell of fewer than five cases are withheld."
    ]
    columns = ["Suite, by its alias", "Ran on", "Arm", "Tier", "#Cases", "#Passed", "#Failed", "#Share passed",
               "Against the one before", "Marked"]  # fmt: skip
    rows = [_aggregate(one) for one in aggregates]
    return Section(
        "holdouts", "Private holdouts", told, tables=[pieces.table("Published aggregates", columns, rows)]
    )


def _aggregate(one: Mapping[str, Any]) -> list[Cell]:
    band, before = one["pass_percent_band"], one["previous"]
    counts = ["withheld" if one[name] is None else str(one[name]) for name in ("passed", "failed")]
    against = (
        "the first" if before is None else "other cases" if not before["same_cases"] else before["verdict"]
    )
    texts = [one["alias"], one["ran_on"], one["arm"], one["tier"], str(one["cases"]), *counts]
    mark = "mock" if one["is_mock"] else "none"
    return [*texts, f"{band['from']} to {band['to']}%", str(against or "withheld"), mark]


def _audits(known: Known) -> Iterator[Section]:
    for (notebook, subject), audit in known.shelf.newest.items():
        if notebook == AUDIT:
            lists = audit.table("lists")
            found = [lists] if lists and any(row[1] != "0" for row in lists["cells"]) else []
            title, told = f"Baselines of {subject}", [audit.document["finding"]]
            yield Section(f"audit-{subject}", title, told, tables=found, sources=[audit])


def _other_reports(known: Known) -> Iterator[Section]:
    """Yield the reports that are about no one suite, or about one that no report of runs tells of."""
    shown = {AUDIT}
    rows: list[list[Cell]] = [
        [pieces.to_report(found.address), str(found.document["finding"])]
        for (notebook, subject), found in known.shelf.newest.items()
        if notebook not in shown and subject not in known.suites
    ]
    if rows:
        every = [pieces.table("Reports on more than a suite", ["Report", "What it found"], rows)]
        yield Section("reports", "Other reports", tables=every)
