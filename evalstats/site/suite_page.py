"""The page of one suite: its finding, its lift, its nights, what fails, what its gate decided, what it stands on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import IDENTITY, Arm
from evalstats.report import tables
from evalstats.site import gate_section, headline, lift_sections, pieces
from evalstats.site.known import LIFT, NIGHTLY, RATCHET, VARIANCE, Known
from evalstats.site.pieces import Cell, Page, Section
from evalstats.site.standing import Standing

EXEMPLARS = 5  # cases that fail most
RECENT = 5  # runs of the treated arm that they are counted over
DIGITS = 12  # of a digest, as in the name of a report version
_NAMES = {"cli_version": "CLI version", "judge_rubric_sha256": "Judge rubric"}
_TREATED = (Arm.SKILL_ON, Arm.CONTEXT_ON, Arm.CANDIDATE)


def page(known: Known, suite: str) -> Page:
    """Return the page of one suite."""
    marks = known.marks(suite)
    return {
        "title": suite,
        "kicker": [suite],
        "question": f"How is {suite}?",
        "notes": [tables.visible(problem) for problem in known.trouble(suite)],
        "soft": "; ".join(said for word, said in marks.items() if word not in ("mock", "damaged")),
        "mock": "mock" in marks,
        "finding": finding(known, suite),
        "headline": list(_cards(known, suite)),
        "sections": [
            *lift_sections.of_suite(known, suite),
            *_nights(known, suite),
            *lift_sections.citations(known, suite),
            *_failures(known, suite),
            *gate_section.of_suite(known, suite),
            *_state(known, suite),
            *_reports(known, suite),
        ],
        "caveats": list(
            dict.fromkeys(
                caveat for found in known.shelf.about(suite) for caveat in found.document["caveats"]
            )
        ),
    }


def finding(known: Known, suite: str) -> str:
    """Return what the newest report on a suite found: that of the morning, else that of its lift, else its runs."""
    for notebook in (NIGHTLY, LIFT, VARIANCE):
        found = known.shelf.of(notebook, suite)
        if found is not None:
            return str(found.document["finding"])
    decided = "; its gates decided all the same" if known.decisions.get(suite) else ""
    return f"There is no report on {suite} that can be shown{decided}."


def _cards(known: Known, suite: str) -> Iterator[Mapping[str, str]]:
    measured = known.shelf.of(LIFT, suite) or known.shelf.of(VARIANCE, suite)
    if measured is not None:
        yield from ({"detail": "", **card} for card in measured.document["headline"][:2])
    decision = known.last_decision(suite)
    if decision is not None:
        yield {"label": "Last gate", "value": pieces.verdict(decision), "detail": pieces.day(decision)}
    standing = known.standings.get(suite)
    if standing is not None:
        may = "may block" if standing.blocks else "advisory"
        yield {"label": "Its gate", "value": may, "detail": f"tier {standing.tier}, {standing.ratchet}"}


def _nights(known: Known, suite: str) -> Iterator[Section]:
    for notebook, figure in ((NIGHTLY, "nights"), (VARIANCE, "runs")):
        found = known.shelf.of(notebook, suite)
        if found is not None and (drawn := found.figure(figure)) is not None:
            yield Section("nights", "Night after night", figures=[drawn], sources=[found])
            return


# --- what fails ------------------------------------------------------------------------------------


def _failures(known: Known, suite: str) -> Iterator[Section]:
    """Yield the cases that fail most, without their names and texts. Cases that are a holdout are not looked at."""
    standing = known.standings.get(suite)
    hidden = standing.holdouts if standing is not None else frozenset()
    rows = [row for row in known.series(suite) if row["arm"] in _TREATED and row.get("cases")]
    recent = sorted(rows, key=lambda each: str(each["started_at"]))[-RECENT:]
    passed, usable = Counter[str](), Counter[str]()
    for row in recent:
        for case, told in row["cases"].items():
            if case not in hidden:
                passed[case] += told["passed"]
                usable[case] += told["usable"]
    failing = [case for case in usable if passed[case] < usable[case]]
    if not usable:
        return
    if not failing:
        told = f"Nothing failed with the treatment in its last {tables.some(len(recent), 'run')}."
        yield Section("failures", "What fails", [told])
        return
    worst = sorted(failing, key=lambda case: (passed[case] / usable[case], case))[:EXEMPLARS]
    about = _about(known, suite)
    cells: list[list[Cell]] = [
        [
            str(about.get(case, {}).get("archetype") or "none"),
            ", ".join(about.get(case, {}).get("dimensions", [])) or "none",
            f"{passed[case]} of {usable[case]}",
        ]
        for case in worst
    ]
    told = (
        f"{tables.count(len(failing))} of {tables.some(len(usable), 'case')} failed at least once with the treatment"
        f" in its last {tables.some(len(recent), 'run')}. Those that passed least, unnamed:"
    )
    shown = pieces.table("Cases that fail most", ["Archetype", "Dimensions", "#Trials passed"], cells)
    yield Section("failures", "What fails", [told], tables=[shown])


def _about(known: Known, suite: str) -> Mapping[str, Any]:
    found = known.shelf.of(VARIANCE, suite) or known.shelf.of(LIFT, suite) or known.shelf.of(NIGHTLY, suite)
    return found.document["data"].get("cases", {}) if found is not None else {}


# --- what it stands on -----------------------------------------------------------------------------


def _state(known: Known, suite: str) -> Iterator[Section]:
    """Yield lock, baseline, ratchet, and the identity of the newest run."""
    facts = [*_of_suite(known.standings.get(suite)), *_of_run(known, suite)]
    ready = known.shelf.of(RATCHET, suite)
    told = [] if ready is None else [str(ready.document["finding"])]
    if facts:
        yield Section("state", "What this stands on", told, facts=facts)


def _of_suite(standing: Standing | None) -> Iterator[tuple[str, str]]:
    if standing is None:
        return
    yield "Tier", str(standing.tier)
    yield "Its gate", f"{'may block' if standing.blocks else 'advisory'}; {standing.ratchet}"
    locks = [f"{held.name} ({held.sha256[:DIGITS]}): {held.broken or 'holds'}" for held in standing.locks]
    yield "Lock", "; ".join(locks) or "none"
    yield "Baseline", standing.baseline
    yield (
        "Suite file today",
        f"{standing.hashes['raw'][:DIGITS]}, scoring {standing.hashes['scoring'][:DIGITS]}",
    )


def _of_run(known: Known, suite: str) -> Iterator[tuple[str, str]]:
    newest, lift = known.last_run(suite), known.shelf.of(LIFT, suite)
    if newest is None:
        return
    yield "Last run", str(newest["started_at"])
    for name in IDENTITY:
        value = newest["identity"].get(name)
        digest = name in ("suite_scoring", "judge_rubric_sha256")
        said = tables.missing() if value is None else str(value)[:DIGITS] if digest else str(value)
        yield _NAMES.get(name, name.replace("_", " ").capitalize()), said
    seed = newest.get("seed")
    yield "Runner seed", tables.missing() if seed is None else str(seed)
    each = newest["n_trials"] / newest["n_cases"] if newest["n_cases"] else 0
    yield "Trials", f"{tables.count(newest['n_trials'])} of its last run, {tables.number(each)} a case"
    lock = None if lift is None else lift.document["data"].get("lock")
    if lock is not None:
        left = tables.some(len(lock["candidates"]), "candidate")
        yield "Lock of the lift", f"{lock['name']} ({lock['sha256'][:DIGITS]}), {left} left out"
    yield "Mock", "yes" if newest["is_mock"] else "no"
    yield "Nights", "dated by hand" if headline.is_dated_by_hand(known.series(suite)) else "by the clock"


def _reports(known: Known, suite: str) -> Iterator[Section]:
    rows: list[list[Cell]] = []
    for found in known.shelf.about(suite):
        key = (found.version.notebook, found.version.subject)
        of = tables.count(len(known.shelf.versions[key]))
        named = pieces.to_report(found.address, found.version.notebook)
        rows.append(
            [named, f"{pieces.number(found.version.version)} of {of}", str(found.document["finding"])]
        )
    if rows:
        columns = ["Report", "Version", "What it found"]
        shown = [pieces.table("The newest of every report", columns, rows)]
        yield Section("reports", "Reports", tables=shown)
