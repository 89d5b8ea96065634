"""What stands on which page of the dashboard: one page of all suites, and one page a suite.

A page is a mapping that the template of :mod:`evalstats.report.page` draws: a finding, cards, and sections of
paragraphs, figures, tables and links. Figures and tables are those of published reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalstats.contract import IDENTITY, Arm, Tier
from evalstats.report import tables
from evalstats.site import decisions
from evalstats.site.published import Published, Shelf
from evalstats.site.standing import Standing

INDEX, SUITES, REPORTS = "index.html", "suites", "reports"
LIFT, NIGHTLY, VARIANCE, RATCHET, AUDIT = "lift", "nightly", "variance_bands", "ratchet", "baseline_audit"
EXEMPLARS = 5  # cases that fail most
RECENT = 5  # runs of each arm that they are counted over
Page = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that the dashboard stands on."""

    shelf: Shelf
    decisions: Mapping[str, Sequence[Mapping[str, Any]]]
    standings: Mapping[str, Standing]
    problems: Sequence[str] = field(default_factory=tuple)

    @property
    def suites(self) -> list[str]:
        """Return every suite that there is anything to tell of."""
        return sorted({*self.shelf.suites, *self.decisions})


# --- all suites ------------------------------------------------------------------------------------


def overview(known: Known) -> Page:
    """Return the first page: every suite in one line, what gates decided, and what needs a look."""
    names = known.suites
    return {
        "title": "Dashboard",
        "kicker": ["evalstats", "dashboard"],
        "question": "Where do the suites stand?",
        "finding": _overall(known, names),
        "marks": [],
        "headline": [],
        "suites": [_line(known, suite) for suite in names],
        "sections": list(_overall_sections(known)),
    }


def _overall(known: Known, names: Sequence[str]) -> str:
    if not names:
        return (
            "Nothing has been published yet. `evalstats run SUITE --mode both` makes runs,"
            " `evalstats report lift -p suite=SUITE` the first report."
        )
    newest = [(suite, known.decisions[suite][0]) for suite in names if known.decisions.get(suite)]
    blocked = [suite for suite, decision in newest if decision["verdict"] == "regression"]
    said = [f"{tables.some(len(names), 'suite')} with something to tell."]
    said.append(f"Blocked at its last gate: {', '.join(blocked)}." if blocked else "No last gate blocked.")
    if len(newest) < len(names):
        said.append(f"{tables.some(len(names) - len(newest), 'suite')} never met a gate.")
    if known.problems:
        said.append(f"{tables.some(len(known.problems), 'thing')} could not be read or failed; see below.")
    return " ".join(said)


def _line(known: Known, suite: str) -> dict[str, Any]:
    decision = next(iter(known.decisions.get(suite, ())), None)
    verdict = "never" if decision is None else f"{decision['verdict']}, {decision['decided_at'][:10]}"
    lift = known.shelf.of(LIFT, suite)
    cards = lift.document["headline"] if lift is not None else []
    arms = {card["label"]: card for card in cards}
    shown = [
        _card(arms.get(name))
        for name in ("Lift, share of the failures taken away", "Difference of mean scores")
    ]
    cells = [_last_run(known, suite), *shown, verdict, ", ".join(_marks(known, suite)) or "none"]
    return {"name": suite, "href": f"{SUITES}/{suite}.html", "cells": cells}


def _card(card: Mapping[str, Any] | None) -> str:
    if card is None:
        return tables.missing()
    interval = card["detail"].rpartition(" interval ")[2] if "interval" in card["detail"] else ""
    return f"{card['value']} {interval}".strip()


def _last_run(known: Known, suite: str) -> str:
    rows = _series(known, suite)
    return str(max(row["started_at"] for row in rows))[:10] if rows else tables.missing()


def _overall_sections(known: Known) -> Iterator[dict[str, Any]]:
    for (notebook, subject), audit in known.shelf.newest.items():
        if notebook == AUDIT:
            found = [t for t in (audit.table("lists"),) if t and any(row[1] != "0" for row in t["cells"])]
            yield _section(
                f"audit-{subject}",
                f"Baselines of {subject}",
                [audit.document["finding"]],
                shown=found,
                links=[_link(audit)],
            )
    if known.problems:
        told = ["Nothing of this is counted as fine, and none of it is shown as if it were."]
        rows = [[problem] for problem in known.problems]
        yield _section(
            "problems",
            "What could not be read, or failed",
            told,
            shown=[_table("Problems", ["Problem"], rows)],
        )


# --- one suite -------------------------------------------------------------------------------------


def suite_page(known: Known, suite: str) -> Page:
    """Return the page of one suite."""
    reports = known.shelf.about(suite)
    return {
        "title": suite,
        "kicker": ["evalstats", "dashboard", suite],
        "question": f"How is {suite}?",
        "finding": _finding(known, suite),
        "marks": _marks(known, suite),
        "headline": list(_cards(known, suite)),
        "suites": [],
        "sections": [
            *_headline(known, suite),
            *_archetypes(known, suite),
            *_nights(known, suite),
            *_citations(known, suite),
            *_failures(known, suite),
            *_gates(known, suite),
            *_state(known, suite),
            _section("reports", "Reports", [], links=[_link(one) for one in reports]),
        ],
    }


def _finding(known: Known, suite: str) -> str:
    for notebook in (NIGHTLY, LIFT, VARIANCE):
        found = known.shelf.of(notebook, suite)
        if found is not None:
            return str(found.document["finding"])
    return f"No report on {suite} has been published; its gates decided all the same."


def _marks(known: Known, suite: str) -> list[str]:
    """Return what must be known before any number is believed."""
    standing = known.standings.get(suite)
    marks = []
    if any(found.document["data"]["contains_mock"] for found in known.shelf.about(suite)):
        marks.append("mock")
    if standing is not None:
        marks.append("blocking" if standing.standing == "blocking" else "advisory")
        if standing.tier not in (Tier.LIVE, Tier.RELEASE):
            marks.append(f"{standing.tier}, not live")
    return marks


def _cards(known: Known, suite: str) -> Iterator[dict[str, str]]:
    lift = known.shelf.of(LIFT, suite) or known.shelf.of(VARIANCE, suite)
    if lift is not None:
        yield from lift.document["headline"][:2]
    decision = next(iter(known.decisions.get(suite, ())), None)
    if decision is not None:
        yield {
            "label": "Last gate",
            "value": str(decision["verdict"]).replace("_", " "),
            "detail": decision["decided_at"][:10],
        }
    standing = known.standings.get(suite)
    if standing is not None:
        yield {"label": "It is", "value": standing.standing, "detail": f"tier {standing.tier}"}


def _headline(known: Known, suite: str) -> Iterator[dict[str, Any]]:
    lift = known.shelf.of(LIFT, suite)
    if lift is None:
        return
    data, why = lift.document["data"], list(_no_headline(known, suite, lift))
    rolling = f"Over {tables.some(data['n_runs'], 'run')} of one identity, up to {_last_run(known, suite)}."
    told = [
        rolling,
        "As a headline it does not count: " + "; ".join(why) + "." if why else "It counts as a headline.",
    ]
    yield _section(
        "lift",
        "Lift",
        told,
        figures=[lift.figure("averages")],
        shown=[lift.table("averages")],
        links=[_link(lift)],
    )


def _no_headline(known: Known, suite: str, lift: Published) -> Iterator[str]:
    standing = known.standings.get(suite)
    if lift.document["data"]["contains_mock"]:
        yield "mock runs are among its runs"
    if standing is None or standing.tier not in (Tier.LIVE, Tier.RELEASE):
        yield "the suite is not live"
    if "lock" not in lift.document["data"]:
        yield "no lock holds its cases"


def _archetypes(known: Known, suite: str) -> Iterator[dict[str, Any]]:
    for notebook in (LIFT, VARIANCE):
        found = known.shelf.of(notebook, suite)
        if found is not None and found.figure("archetypes") is not None:
            title = "What does it add, and where?"
            yield _section(
                "archetypes",
                title,
                [],
                figures=[found.figure("archetypes")],
                shown=[found.table("archetypes")],
            )
            return


def _nights(known: Known, suite: str) -> Iterator[dict[str, Any]]:
    for notebook, figure, shown in ((NIGHTLY, "nights", "events"), (VARIANCE, "runs", "bands")):
        found = known.shelf.of(notebook, suite)
        if found is not None and found.figure(figure) is not None:
            yield _section(
                "nights",
                "Night after night",
                [],
                figures=[found.figure(figure)],
                shown=[found.table(shown)],
                links=[_link(found)],
            )
            return


def _citations(known: Known, suite: str) -> Iterator[dict[str, Any]]:
    lift = known.shelf.of(LIFT, suite)
    if lift is not None and lift.table("citations") is not None:
        told = [
            "How often an expected card or recipe was cited; n/a where none was expected, which is not 0."
        ]
        yield _section("citations", "Citations", told, shown=[lift.table("citations")])


def _failures(known: Known, suite: str) -> Iterator[dict[str, Any]]:
    """Yield the cases that fail most, without their names and texts."""
    passed, usable = Counter[str](), Counter[str]()
    rows = [
        row for row in _series(known, suite) if row["arm"] in (Arm.SKILL_ON, Arm.CONTEXT_ON, Arm.CANDIDATE)
    ]
    for row in sorted(rows, key=lambda each: str(each["started_at"]))[-RECENT:]:
        for case, told in row.get("cases", {}).items():
            passed[case] += told["passed"]
            usable[case] += told["usable"]
    worst = sorted(
        (case for case in usable if usable[case]), key=lambda case: (passed[case] / usable[case], case)
    )
    failing = [case for case in worst if passed[case] < usable[case]][:EXEMPLARS]
    if failing:
        about = _about(known, suite)
        cells = [
            [str(about.get(case, {}).get("archetype") or "none"), f"{passed[case]} of {usable[case]}"]
            for case in failing
        ]
        told = [
            f"The cases that pass least with the treatment, over its last {min(len(rows), RECENT)} run(s), unnamed."
        ]
        yield _section(
            "failures",
            "What fails",
            told,
            shown=[_table("Cases that fail most", ["Archetype", "Trials passed"], cells)],
        )


def _gates(known: Known, suite: str) -> Iterator[dict[str, Any]]:
    every = known.decisions.get(suite, ())
    if not every:
        return
    counted = Counter(str(decision["verdict"]).replace("_", " ") for decision in every)
    said = ", ".join(f"{tables.count(n)} {verdict}" for verdict, n in sorted(counted.items()))
    told = [
        f"{tables.some(len(every), 'decision')}: {said}. Beside each stands how often such a gate blocks an unchanged"
        " suite, how often it sees a drop of the margin, and the smallest drop it sees with the promised power."
    ]
    columns = ["Decided", "Verdict", "Drop", "Margin", "False block", "Power", "Sees", "Why"]
    cells = [_decision(decision) for decision in every[: decisions.SHOWN]]
    judged = dict.fromkeys(filter(None, map(decisions.reference, every[: decisions.SHOWN])))
    links = [_href(address) for address in judged if address in _addresses(known)]
    yield _section(
        "gates",
        "What the gate decided",
        told,
        shown=[_table("Decisions, newest first", columns, cells)],
        links=links,
    )


def _decision(decision: Mapping[str, Any]) -> list[str]:
    def share(name: str, write: Any) -> str:
        value = decision[name]
        return tables.missing() if value is None else str(write(value))

    verdict = str(decision["verdict"]).replace("_", " ")
    numbers = [
        share("drop", tables.signed),
        share("margin", tables.number),
        share("false_block", tables.percent),
    ]
    rest = [
        share("power", tables.percent),
        share("mde", tables.number),
        "; ".join(map(str, decision["reasons"])),
    ]
    return [str(decision["decided_at"])[:16].replace("T", " "), verdict, *numbers, *rest]


def _state(known: Known, suite: str) -> Iterator[dict[str, Any]]:
    """Yield what the numbers stand on: lock, baseline, ratchet, and the identity of the newest run."""
    standing, rows = known.standings.get(suite), _series(known, suite)
    facts: list[tuple[str, object]] = []
    if standing is not None:
        held = "; ".join(standing.locks) or "none"
        facts += [
            ("Tier", standing.tier),
            ("Ratchet", standing.standing),
            ("Lock", held),
            ("Baseline", standing.baseline),
        ]
    if rows:
        newest = max(rows, key=lambda row: str(row["started_at"]))
        facts += [(name.replace("_", " ").capitalize(), newest["identity"].get(name)) for name in IDENTITY]
        facts += [("Runner seed", newest.get("seed")), ("Trials of its last run", newest.get("n_trials"))]
        facts.append(("Mock", "yes" if newest.get("is_mock") else "no"))
    ready = known.shelf.of(RATCHET, suite)
    told = [] if ready is None else [str(ready.document["finding"])]
    if facts:
        cells = [[name, tables.missing() if value is None else str(value)] for name, value in facts]
        yield _section(
            "state", "What this stands on", told, shown=[_table("Identity and state", ["What", "Is"], cells)]
        )


# --- pieces ----------------------------------------------------------------------------------------


def _series(known: Known, suite: str) -> Sequence[Mapping[str, Any]]:
    for notebook in (VARIANCE, LIFT, NIGHTLY):
        found = known.shelf.of(notebook, suite)
        if found is not None and found.document["series"]:
            rows: Sequence[Mapping[str, Any]] = found.document["series"]
            return rows
    return ()


def _about(known: Known, suite: str) -> Mapping[str, Any]:
    found = known.shelf.of(VARIANCE, suite) or known.shelf.of(LIFT, suite)
    return found.document["data"].get("cases", {}) if found is not None else {}


def _addresses(known: Known) -> set[str]:
    every = (version for versions in known.shelf.versions.values() for version in versions)
    return {f"{version.notebook}/{version.subject}/{version.version}" for version in every}


def linked(known: Known) -> set[str]:
    """Return every report version that some page links to, as ``NOTEBOOK/SUBJECT/VERSION``."""
    shown = (d for every in known.decisions.values() for d in every[: decisions.SHOWN])
    judged = {address for address in map(decisions.reference, shown) if address in _addresses(known)}
    return {one.address for one in known.shelf.newest.values()} | {address for address in judged if address}


def _section(
    id: str,
    title: str,
    text: Sequence[str],
    *,
    figures: Sequence[Mapping[str, Any] | None] = (),
    shown: Sequence[Mapping[str, Any] | None] = (),
    links: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    kept = {"figures": [f for f in figures if f is not None], "tables": [t for t in shown if t is not None]}
    return {"id": id, "title": title, "text": list(text), **kept, "links": list(links)}


def _table(title: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> dict[str, Any]:
    named = [{"name": column, "title": column, "numeric": False} for column in columns]
    rows = [[tables.visible(cell) for cell in row] for row in cells]
    return {
        "name": title.lower().replace(" ", "-"),
        "title": title,
        "columns": named,
        "rows": len(rows),
        "cells": rows,
    }


def _link(one: Published) -> dict[str, str]:
    return _href(one.address)


def _href(address: str) -> dict[str, str]:
    notebook, subject, version = address.split("/")
    return {
        "href": f"{REPORTS}/{address}/report.html",
        "text": f"{notebook} of {subject}, version {version[:4]}",
    }
