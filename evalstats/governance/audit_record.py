"""What an audit of baselines says: its lists, their severities, the way out of each, and the document."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evalstats import contract
from evalstats.governance.staleness import Layer, Staleness


class Severity(StrEnum):
    """How much a finding matters: may it wait, must someone look, does a gate stand on it?"""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Kind(StrEnum):
    """The lists of an audit, by their names in ``schemas/baseline-audit.v1.json``."""

    MISSING = "missing_compare_baselines"
    UNEXPECTED = "unexpected_baselines_for_none"
    ORPHAN = "orphan_baselines"
    STALE = "stale_suite_hashes"
    UNLOADABLE = "unloadable_baselines"
    MISNAMED = "filename_mismatch"
    SHADOWED = "shadowed_promotions"
    INVALID_SUITE = "schema_invalid_suites"


POLICY_MISMATCHES = (Kind.MISSING, Kind.UNEXPECTED, Kind.ORPHAN)
WAYS_OUT = {
    Kind.MISSING: "promote a run of the suite, or set its baseline mode to none",
    Kind.UNEXPECTED: "set the suite's baseline mode to compare, or delete the baseline",
    Kind.ORPHAN: "delete the baseline, or bring its suite back",
    Kind.STALE: "run the suite as it is now and promote that run, or take the change back",
    Kind.UNLOADABLE: "bring the file back from the git history, or promote a run again",
    Kind.MISNAMED: "rename the file after its record's suite, or promote a run of the right one",
    Kind.SHADOWED: "move the file to where its suite looks for it, or delete it",
    Kind.INVALID_SUITE: "see every problem with evalstats suite validate, and mend them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One entry of one list; what does not apply is None."""

    kind: Kind
    severity: Severity
    suite_id: str | None = None
    suite_path: str | None = None
    baseline_path: str | None = None
    mode: str | None = None
    problem: str | None = None
    expected_sha: str | None = None
    actual_sha: str | None = None
    staleness: Staleness | None = None

    def as_record(self) -> dict[str, Any]:
        """Return what is known, as JSON holds it."""
        names = ("suite_id", "suite_path", "baseline_path", "mode", "problem", "expected_sha", "actual_sha")
        known = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.staleness is not None:
            known["staleness"] = self.staleness.layer
            known |= {"changed": list(self.staleness.changed), "evidence": self.staleness.evidence}
        return {**known, "severity": self.severity}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """A suite without a baseline; whether that is a finding depends on its mode."""

    suite_id: str
    suite_path: str
    mode: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found. Paths are relative to the repository; ``layers`` counts the baselines compared."""

    suites: str
    suite_count: int
    case_count: int
    baseline_count: int
    mock_count: int
    private_count: int
    findings: tuple[Finding, ...]
    without_baseline: tuple[Bare, ...]
    layers: dict[Layer, int]
    inputs: dict[str, str]
    notes: tuple[str, ...] = ()

    def of(self, *kinds: Kind) -> tuple[Finding, ...]:
        """Return the findings of these lists."""
        return tuple(finding for finding in self.findings if finding.kind in kinds)

    def worst(self, *kinds: Kind) -> Severity | None:
        """Return the highest severity in these lists; None where they are empty."""
        found = {finding.severity for finding in self.of(*kinds)}
        return next((severity for severity in reversed(Severity) if severity in found), None)

    def as_record(self) -> dict[str, Any]:
        """Return the audit as a document (schema ``baseline-audit.v1``)."""
        others = [kind for kind in Kind if kind not in (*POLICY_MISMATCHES, Kind.STALE)]
        document: dict[str, Any] = {
            "schema": "baseline-audit.v1",
            "suites": self.suites,
            "suite_count": self.suite_count,
            "case_count": self.case_count,
            "baseline_count": self.baseline_count,
            "mock_count": self.mock_count,
            "private_count": self.private_count,
            "policy_mismatch_count": len(self.of(*POLICY_MISMATCHES)),
            "severity": {
                "policy": self.worst(*POLICY_MISMATCHES),
                "staleness": self.worst(Kind.STALE),
                "files": self.worst(*others),
            },
            "staleness_counts": {layer: self.layers.get(layer, 0) for layer in Layer},
            **{kind: [finding.as_record() for finding in self.of(kind)] for kind in Kind},
            "suites_without_baseline": [
                {"suite_id": b.suite_id, "suite_path": b.suite_path, "mode": b.mode}
                for b in self.without_baseline
            ],
            "inputs": self.inputs,
            "notes": list(self.notes),
        }
        contract.validate(document, "baseline-audit.v1")
        return document
