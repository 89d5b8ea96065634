"""May this be released, as far as the suites can tell? One word over all suites, with every reason.

A suite blocks when its policy names a gate; the others advise. What is not known, a suite that never ran as it is
now or a file that cannot be read, is a reason like any other and never a pass. Private holdouts are counted and
left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import Arm, Status, Visibility
from evalstats.errors import DocumentError
from evalstats.governance import baselines
from evalstats.governance.audit_record import Audit, Finding, Kind, Severity
from evalstats.governance.evidence_kinds import unloadable_entry
from evalstats.governance.quarantine import Entry
from evalstats.suite import Suite
from evalstats.trials import timestamp

if TYPE_CHECKING:
    import pandas as pd

READY, ATTENTION, NOT_READY = "ready", "attention", "not_ready"
CONCERNS = "without_baseline", "stale", "uncovered", "not_passing", "quarantined", "policy_mismatch"
NO_BASELINE, STALE, UNCOVERED, NOT_PASSING, QUARANTINED, POLICY = CONCERNS
YARDSTICKS = (Arm.SKILL_OFF, Arm.CONTEXT_OFF, Arm.BASELINE)  # arms that are allowed to fail
_OF_AUDIT = {Kind.MISSING: NO_BASELINE, Kind.UNLOADABLE: NO_BASELINE, Kind.STALE: STALE}
_SAID = {
    Kind.MISSING: "its policy wants a baseline and there is none",
    Kind.UNLOADABLE: "its baseline cannot be read",
    Kind.UNEXPECTED: "it has a baseline that its policy does not want",
    Kind.ORPHAN: "a baseline belongs to no suite",
    Kind.MISNAMED: "its baseline speaks of another suite",
    Kind.SHADOWED: "a baseline lies where nothing looks for it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The newest run of a suite as it is now: whole if there is one, not a mock, not the yardstick arm."""

    run_id: str
    status: str | None
    cases: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One thing to look at. ``kind`` is one of `CONCERNS`; ``blocks`` says whether it holds a release back."""

    kind: str
    blocks: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where one suite stands. ``gate`` is the gate it blocks, None when it advises."""

    suite: Suite
    gate: str | None
    staleness: str | None
    last_run: LastRun | None
    quarantined: tuple[Entry, ...]
    concerns: tuple[Concern, ...]

    def has(self, kind: str) -> bool:
        """Return whether there is a concern of this kind."""
        return any(concern.kind == kind for concern in self.concerns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReadiness:
    """The word over all suites, what holds a release back, what else to look at, and where each suite stands."""

    word: str
    blocks: tuple[str, ...]
    looks: tuple[str, ...]
    standings: tuple[Standing, ...]
    n_private: int
    unloadable: tuple[DocumentError, ...]


def release_readiness(
    every: Sequence[Suite],
    audit: Audit,
    *,
    last: Mapping[str, LastRun],
    quarantined: Mapping[str, Mapping[str, Entry]],
    unloadable: Sequence[DocumentError] = (),
) -> ReleaseReadiness:
    """May this be released? ``not_ready``, ``attention`` or ``ready``, with every reason.

    Parameters
    ----------
    every : sequence of Suite
        The suites; private ones are counted and left out.
    audit : Audit
        What the audit of their baselines found.
    last : mapping
        Suite id to its `LastRun` (see `last_runs`); a suite without one is uncovered.
    quarantined : mapping
        Suite id to the cases in quarantine (`quarantine.inside`).
    unloadable : sequence of DocumentError
        Files that could not be read as suites.

    Notes
    -----
    not_ready: a suite that blocks is without its baseline, stale in more than its wording, uncovered, not
    passing or has a critical case in quarantine; or a suite cannot be read; or there is none. attention:
    anything else, also that no suite blocks. ready: nothing of all this.
    """
    public = [suite for suite in every if suite.visibility is not Visibility.PRIVATE_HOLDOUT]
    standings = tuple(
        _standing(suite, audit, last.get(suite.id), quarantined.get(suite.id, {})) for suite in public
    )
    blocks = tuple(_blocking_reasons(standings, unloadable))
    looks = tuple(_other_reasons(standings, audit))
    return ReleaseReadiness(
        word=NOT_READY if blocks else ATTENTION if looks else READY,
        blocks=blocks,
        looks=looks,
        standings=standings,
        n_private=len(every) - len(public),
        unloadable=tuple(unloadable),
    )


def last_runs(runs: pd.DataFrame, folder: Path, every: Sequence[Suite]) -> dict[str, LastRun]:
    """Return the `LastRun` of each suite that has one.

    ``runs`` is the table of runs of the store, ``folder`` holds the run folders with their records. A record
    that is missing or cannot be read leaves the status unknown.
    """
    judged = runs[~runs["arm"].isin(list(YARDSTICKS)) & ~runs["is_mock"].fillna(False).astype(bool)]
    found = {}
    for suite in every:
        now = judged["suite_scoring"] == _scoring(suite)
        mine = judged[now & (judged["suite_id"] == suite.id) & (judged["n_usable"] > 0)]
        whole = mine[mine["n_cases"] >= len(suite.cases)]
        if len(mine):
            run_id = str((whole if len(whole) else mine).iloc[-1]["run_id"])
            found[suite.id] = _recorded(run_id, folder)
    return found


def as_document(found: ReleaseReadiness) -> dict[str, Any]:
    """Return the summary as JSON (schema ``release-readiness.v1``)."""
    standings = found.standings
    document = {
        "schema_version": 1,
        "generated_at": timestamp(),
        "release_status": found.word,
        "reasons": [*found.blocks, *found.looks],
        "suite_count": len(standings),
        "blocking": [s.suite.id for s in standings if s.gate],
        "advisory": [s.suite.id for s in standings if not s.gate],
        **{kind: [s.suite.id for s in standings if s.has(kind)] for kind in CONCERNS},
        "quarantined_cases": [_quarantined(entry) for s in standings for entry in s.quarantined],
        "suites": [_suite_entry(standing) for standing in standings],
        "private_suites_left_out": found.n_private,
        "unloadable": [unloadable_entry(error) for error in found.unloadable],
    }
    contract.validate(document, "release-readiness.v1")
    return document


# --------------------------------------------------------------------------------------------------


def _standing(suite: Suite, audit: Audit, last: LastRun | None, quarantined: Mapping[str, Entry]) -> Standing:
    named = suite.document["baseline_policy"].get("blocking_gate", "none")
    gate = None if named == "none" else named
    findings = [f for f in audit.findings if f.suite_id == suite.id]
    concerns = [
        *_audit_concerns(findings, gate is not None),
        *_run_concerns(suite, last, gate is not None),
        *_quarantine_concerns(suite, quarantined, gate is not None),
    ]
    layers = [f.staleness.layer for f in findings if f.kind is Kind.STALE and f.staleness is not None]
    return Standing(
        suite=suite,
        gate=gate,
        staleness=str(layers[0]) if layers else None,
        last_run=last,
        quarantined=tuple(quarantined.values()),
        concerns=tuple(concerns),
    )


def _audit_concerns(findings: Sequence[Finding], blocks: bool) -> Iterator[Concern]:
    for finding in findings:
        kind = _OF_AUDIT.get(finding.kind, POLICY)
        if finding.severity is not Severity.INFO:
            yield Concern(kind=kind, blocks=blocks, text=_said(finding))


def _said(finding: Finding) -> str:
    if finding.staleness is not None:
        return f"it has changed since its baseline ({finding.staleness.layer})"
    return _SAID.get(finding.kind, finding.kind.replace("_", " "))


def _run_concerns(suite: Suite, last: LastRun | None, blocks: bool) -> Iterator[Concern]:
    if last is None:
        yield Concern(kind=UNCOVERED, blocks=blocks, text="no run of it as it is now")
        return
    decided = (Status.PASS, Status.FAIL)
    absent = [case.id for case in suite.cases if last.cases.get(case.id) not in decided]
    if last.status is not None and absent:
        text = f"{len(absent)} of {len(suite.cases)} cases undecided in {last.run_id}"
        yield Concern(kind=UNCOVERED, blocks=blocks, text=text)
    if last.status is None:
        yield Concern(kind=NOT_PASSING, blocks=blocks, text=f"{last.run_id} left no record that can be read")
    elif last.status != Status.PASS:
        text = f"{last.run_id} ended with {last.status}{_critical_failures(suite, last)}"
        yield Concern(kind=NOT_PASSING, blocks=blocks, text=text)


def _critical_failures(suite: Suite, last: LastRun) -> str:
    failed = [case.id for case in suite.cases if case.critical and last.cases.get(case.id) == Status.FAIL]
    return f"; critical: {', '.join(failed)}" if failed else ""


def _quarantine_concerns(suite: Suite, quarantined: Mapping[str, Entry], blocks: bool) -> Iterator[Concern]:
    critical = {case.id for case in suite.cases if case.critical}
    for case_id, entry in quarantined.items():
        which = "critical case" if case_id in critical else "case"
        text = f"{which} {case_id} in quarantine until {entry.until}"
        yield Concern(kind=QUARANTINED, blocks=blocks and case_id in critical, text=text)


def _blocking_reasons(standings: Sequence[Standing], unloadable: Sequence[DocumentError]) -> Iterator[str]:
    if not standings:
        yield "there is no suite to judge by"
    for error in unloadable:
        yield f"{error.path}: cannot be read as a suite"
    for suite_id, files in Counter(standing.suite.id for standing in standings).items():
        if files > 1:
            yield f"{suite_id}: {files} files claim this id"
    yield from _by_suite(standings, blocks=True)


def _other_reasons(standings: Sequence[Standing], audit: Audit) -> Iterator[str]:
    if not any(standing.gate for standing in standings):
        yield "no suite blocks, so none can hold a release back"
    yield from _by_suite(standings, blocks=False)
    ids = {standing.suite.id for standing in standings}
    for finding in audit.findings:
        if finding.suite_id not in ids and finding.kind is not Kind.INVALID_SUITE:
            yield f"{finding.baseline_path or finding.suite_path}: {_said(finding)}"


def _by_suite(standings: Sequence[Standing], *, blocks: bool) -> Iterator[str]:
    for standing in standings:
        texts = [concern.text for concern in standing.concerns if concern.blocks is blocks]
        if texts:
            yield f"{standing.suite.id}: {'; '.join(texts)}"


def _scoring(suite: Suite) -> str | None:
    """Return the scoring digest of a suite; None, which no run has, where a fixture of it cannot be read."""
    try:
        return suites.hashes(suite)["scoring"]
    except OSError:
        return None


def _recorded(run_id: str, folder: Path) -> LastRun:
    try:
        record = baselines.read(folder / run_id / "record.json").record
    except DocumentError:
        return LastRun(run_id=run_id, status=None, cases={})
    cases = {case["id"]: case["status"] for case in record["case_results"]}
    return LastRun(run_id=run_id, status=record["status"], cases=cases)


def _quarantined(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("suite_id", "case_id", "at", "by", "until")}


def _suite_entry(standing: Standing) -> dict[str, Any]:
    last = standing.last_run
    return {
        "suite_id": standing.suite.id,
        "path": str(standing.suite.path),
        "tier": str(standing.suite.tier),
        "blocking_gate": standing.gate,
        "baseline_mode": standing.suite.document["baseline_policy"]["mode"],
        "staleness": standing.staleness,
        "last_run": last and {"run_id": last.run_id, "status": last.status},
        "concerns": [{"kind": c.kind, "blocks": c.blocks, "text": c.text} for c in standing.concerns],
    }
