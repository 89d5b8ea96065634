"""What the commands of ``evalstats lock`` say: findings, candidates with their evidence, and bridges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from evalstats.cli.tables import complain, print_table, say, say_findings

if TYPE_CHECKING:
    from evalstats.governance.candidates import Candidate
    from evalstats.governance.lock_changes import Verification
    from evalstats.governance.locks import Lock


def verified(found: Verification) -> dict[str, Any]:
    """Return what was verified as JSON."""
    return {
        "findings": [{**asdict(finding), "says": str(finding)} for finding in found.findings],
        "candidates": [{"suite_id": suite_id, "case_id": case_id} for suite_id, case_id in found.candidates],
        "unchecked_private": found.unchecked_private,
    }


def say_verified(lock: Lock, found: Verification) -> None:
    """Print each finding, the candidates of each suite, and how many private suites nobody looked at."""
    say_findings(found.findings, f"lock {lock.name}: nothing locked has changed")
    for suite_id, group in groupby(found.candidates, key=lambda pair: pair[0]):
        say(f"{suite_id}: not in the lock, so in no headline: {', '.join(case_id for _, case_id in group)}")
    if found.unchecked_private:
        complain(f"{found.unchecked_private} private suite(s) not looked at; they need --role evaluator")


def show_candidates(lock: Lock, found: Sequence[Candidate]) -> None:
    """Print the evidence and the proposal for each case outside the lock."""
    if not found:
        say(f"lock {lock.name}: holds every case there is")
    for suite_id, group in groupby(found, key=lambda candidate: candidate.suite_id):
        cases = list(group)
        say(f"{suite_id}: {len(cases)} case(s) outside lock {lock.name}")
        if rows := [row for case in cases for row in _evidence_rows(case)]:
            print_table(("case", "arm", "runs", "trials", "lost", "pass rate", "flips"), rows)
        for case in cases:
            say(f"  {case.case_id}: {case.proposal}: {'; '.join(case.reasons)}")


def _evidence_rows(case: Candidate) -> list[tuple[object, ...]]:
    from evalstats.governance.readings import as_json

    return [
        (
            case.case_id,
            a.arm,
            a.n_runs,
            a.n_trials,
            a.lost,
            _interval(as_json(a.pass_rate.as_row())),
            _interval(as_json(a.flips.as_row())),
        )
        for a in case.evidence
        if a.n_trials + a.lost
    ]


def _interval(row: dict[str, Any], sign: str = "") -> str:
    """Return a number with its interval, ``0.58 [0.41, 0.73]``; what is not known is a dash or question marks."""
    if row["estimate"] is None:
        return "–"
    bounds = ("?" if row[name] is None else _two(row[name], sign) for name in ("conf_low", "conf_high"))
    return f"{_two(row['estimate'], sign)} [{', '.join(bounds)}]"


def _two(value: float, sign: str) -> str:
    return f"{round(value, 2) + 0.0:{sign}.2f}"  # adding 0 takes the sign off a rounded -0.00


def show_bridge(document: dict[str, Any]) -> None:
    """Print what each headline reads under both locks, and what lies between them."""
    names = f"{document['old']['name']} to {document['new']['name']}"
    for suite in document["suites"]:
        counts = ", ".join(f"{len(suite[part])} {part}" for part in ("common", "retired", "admitted"))
        rows = suite["estimates"]
        say(f"{suite['suite_id']}, {names}: {counts}; {len(suite['runs'])} run(s)")
        say(f"{rows[0]['level']:.0%} intervals, for these two lists of cases run again (FIXED)")
        for average in ("cases", "archetypes"):
            averaged = [row for row in rows if row["average"] == average]
            say(f"averaged over {average}:")
            _print_parts(averaged, ("old", "new", "shift"))
            _print_parts(averaged, ("common", "retired", "admitted"))
        caveats = (caveat for row in rows for caveat in row["caveats"])
        for caveat in dict.fromkeys((*suite["caveats"], *caveats)):
            say(f"- {caveat}")
    for suite_id in document["unchanged"]:
        say(f"{suite_id}, {names}: the same cases, so no shift")
    for refused in document["refused"]:
        complain(f"{refused['suite_id']}: no bridge: {refused['reason']}")


def _print_parts(rows: Sequence[dict[str, Any]], parts: Sequence[str]) -> None:
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        sign = "" if row["part"] in ("old", "new", "common") and row["quantity"] == "score" else "+"
        found.setdefault(row["arm"] or row["quantity"], {})[row["part"]] = _interval(row, sign)
    print_table(("", *parts), [(name, *(cells[part] for part in parts)) for name, cells in found.items()])
