"""What kinds of evidence do the suites give, and what is missing? Counts by kind, domain, dimension, runtime.

A kind is taken from the case, else from its suite, else inferred from their words, and each case says which.
Private holdouts are left out and counted: what is published about them comes from their own aggregate only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import CaseKind, Visibility
from evalstats.errors import DocumentError, UsageError
from evalstats.suite import Suite

DECLARED_BY_CASE, DECLARED_BY_SUITE, INFERRED = "case", "suite", "inferred"
UNSTATED = "unstated"
LIVE_RUNTIMES = ("claude", "codex", "manual")
AXES = {"kind": "evidence_kinds", "domain": "domains", "dimension": "dimensions", "runtime": "runtimes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredCase:
    """One case as evidence: its kind, who said so (``case``, ``suite`` or ``inferred``), and what it touches."""

    suite_path: Path
    case_id: str
    critical: bool
    evidence_kind: str
    source: str
    domain: str
    dimensions: tuple[str, ...]
    runtime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many suites, cases and critical cases."""

    suite_count: int
    case_count: int
    critical_case_count: int

    def as_document(self) -> dict[str, int]:
        """Return the counts as they stand in ``coverage.v1``."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What the suites cover. ``tallies`` and the two lists of names are by axis, for example ``domains``."""

    suites: tuple[Suite, ...]
    cases: tuple[CoveredCase, ...]
    tallies: dict[str, dict[str, Tally]]
    required: dict[str, tuple[str, ...]]
    n_private: int
    unloadable: tuple[DocumentError, ...]

    @property
    def total(self) -> Tally:
        """Return the counts over all suites; a suite counts even when it has no case."""
        critical = sum(case.critical for case in self.cases)
        return Tally(suite_count=len(self.suites), case_count=len(self.cases), critical_case_count=critical)

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """Return, by axis, what is required and has no case."""
        return {
            axis: tuple(name for name in names if not self._has(axis, name))
            for axis, names in self.required.items()
        }

    @property
    def complete(self) -> bool:
        """Return whether nothing required is missing and every suite could be read."""
        return not self.unloadable and not any(self.missing.values())

    def kinds(self, *sources: str) -> Counter[str]:
        """Return the cases by kind, of those whose kind comes from one of ``sources``."""
        return Counter(case.evidence_kind for case in self.cases if case.source in sources)

    def _has(self, axis: str, name: str) -> bool:
        found = self.tallies[axis].get(name)
        return found is not None and found.case_count > 0


def coverage(
    suites: Iterable[Suite], *, required: Sequence[str] = (), unloadable: Sequence[DocumentError] = ()
) -> Coverage:
    """What kinds of evidence do the suites give, and which of those ``required`` are missing?

    Parameters
    ----------
    suites : iterable of Suite
        Suites by any names; two files of one id are two suites.
    required : sequence of str
        An evidence kind each; or ``domain=NAME``, ``dimension=NAME``, ``runtime=NAME``.
    unloadable : sequence of DocumentError
        Files that could not be read as suites: named, and never a reason to stop.

    Raises UsageError for a requirement that names no kind.
    """
    wanted = _requirements(required)
    every = list(suites)
    public = tuple(suite for suite in every if suite.visibility is not Visibility.PRIVATE_HOLDOUT)
    cases = tuple(case for suite in public for case in _cases(suite))
    return Coverage(
        suites=public,
        cases=cases,
        tallies={
            "domains": _tallies(cases, lambda case: (case.domain,)),
            "evidence_kinds": _by_kind(cases),
            "dimensions": _tallies(cases, lambda case: case.dimensions),
            "runtimes": _tallies(cases, lambda case: (case.runtime,)),
        },
        required=wanted,
        n_private=len(every) - len(public),
        unloadable=tuple(unloadable),
    )


def evidence_kinds() -> list[str]:
    """Return the kinds of evidence there are, in the order of the schema that owns them."""
    kinds: list[str] = contract.schema("words.v1")["$defs"]["evidence_kind"]["enum"]
    return kinds


def inferred_kind(suite: dict[str, Any], case: dict[str, Any]) -> str:
    """Return the kind of evidence that the words of a case and its suite suggest; the first match holds."""
    text = _words(suite, case)
    kind = case["kind"]
    rules = (
        ("baseline_regression", "baseline-regression" in text or "baseline regression" in text),
        ("holdout", "holdout" in text),
        ("scorecard_fixture", "scorecard" in text),
        ("live_runtime", _is_live(text, case.get("runtime"))),
        ("behavior_fixture", kind in (CaseKind.SCENARIO, CaseKind.RPI_FLOW) or "behavior" in text),
        ("gate_wrapper", kind in (CaseKind.COMMAND, CaseKind.HOOK_EVENT, CaseKind.RETRIEVAL_QUERY)),
    )
    return next((name for name, holds in rules if holds), "contract_canary")


def as_document(found: Coverage) -> dict[str, Any]:
    """Return the coverage as JSON (schema ``coverage.v1``)."""
    document = {
        "schema_version": 1,
        **found.total.as_document(),
        "suites": [_suite_entry(suite, found) for suite in found.suites],
        **{axis: {n: t.as_document() for n, t in by_name.items()} for axis, by_name in found.tallies.items()},
        "declared_evidence_kinds": dict(found.kinds(DECLARED_BY_CASE, DECLARED_BY_SUITE)),
        "inferred_evidence_kinds": dict(found.kinds(INFERRED)),
        **{f"required_{axis}": list(names) for axis, names in found.required.items()},
        **{f"missing_required_{axis}": list(names) for axis, names in found.missing.items()},
        "private_suites_left_out": found.n_private,
        "unloadable": [unloadable_entry(error) for error in found.unloadable],
    }
    contract.validate(document, "coverage.v1")
    return document


def unloadable_entry(error: DocumentError) -> dict[str, Any]:
    """Return where a suite cannot be read and in how many ways; what it says there may be private."""
    return {"path": str(error.path), "line": error.line, "problem_count": len(error.problems)}


# --------------------------------------------------------------------------------------------------


def _requirements(required: Sequence[str]) -> dict[str, tuple[str, ...]]:
    wanted: dict[str, list[str]] = {axis: [] for axis in AXES.values()}
    for text in dict.fromkeys(required):
        axis, _, name = text.rpartition("=") if "=" in text else ("kind", "", text)
        if axis not in AXES or not name:
            raise UsageError(
                "asks for no kind; write KIND, domain=NAME, dimension=NAME or runtime=NAME", field="--require"
            )
        if axis == "kind" and name not in evidence_kinds():
            known = ", ".join(evidence_kinds())
            raise UsageError(f"unknown evidence kind {name!r}; known: {known}", field="--require")
        wanted[AXES[axis]].append(name)
    return {axis: tuple(dict.fromkeys(names)) for axis, names in wanted.items()}


def _cases(suite: Suite) -> list[CoveredCase]:
    document = suite.document
    return [
        CoveredCase(
            suite_path=suite.path,
            case_id=case["id"],
            critical=case.get("critical", False),
            evidence_kind=kind,
            source=source,
            domain=document["domain"],
            dimensions=tuple(dict.fromkeys(case.get("dimensions", ()))),
            runtime=case.get("runtime", UNSTATED),
        )
        for case in document["cases"]
        for kind, source in [_kind(document, case)]
    ]


def _kind(suite: dict[str, Any], case: dict[str, Any]) -> tuple[str, str]:
    if "evidence_kind" in case:
        return case["evidence_kind"], DECLARED_BY_CASE
    if "evidence_kind" in suite:
        return suite["evidence_kind"], DECLARED_BY_SUITE
    return inferred_kind(suite, case), INFERRED


def _words(suite: dict[str, Any], case: dict[str, Any]) -> str:
    # One text, so that the tags "baseline" and "regression" side by side are a phrase.
    about_suite = suite["id"], suite["name"], suite.get("description", ""), *suite.get("tags", ())
    about_case = case["id"], case["title"], case["kind"], case["objective"], *case.get("tags", ())
    return " ".join((*about_suite, *about_case)).lower()


def _is_live(text: str, runtime: str | None) -> bool:
    return "live-runtime" in text or "live runtime" in text or runtime in LIVE_RUNTIMES


def _tallies(cases: Sequence[CoveredCase], names: Callable[[CoveredCase], Iterable[str]]) -> dict[str, Tally]:
    found: defaultdict[str, list[CoveredCase]] = defaultdict(list)
    for case in cases:
        for name in names(case):
            found[name].append(case)
    return {name: _tally(found[name]) for name in sorted(found)}


def _by_kind(cases: Sequence[CoveredCase]) -> dict[str, Tally]:
    """Return the tally of every kind there is: one without a case is what a reader looks for."""
    found = _tallies(cases, lambda case: (case.evidence_kind,))
    return {kind: found.get(kind, _tally(())) for kind in evidence_kinds()}


def _tally(cases: Sequence[CoveredCase]) -> Tally:
    return Tally(
        suite_count=len({case.suite_path for case in cases}),
        case_count=len(cases),
        critical_case_count=sum(case.critical for case in cases),
    )


def _suite_entry(suite: Suite, found: Coverage) -> dict[str, Any]:
    cases = [case for case in found.cases if case.suite_path == suite.path]
    return {
        "suite_id": suite.id,
        "path": str(suite.path),
        "domain": suite.document["domain"],
        "tier": str(suite.tier),
        "case_count": len(cases),
        "critical_case_count": sum(case.critical for case in cases),
        "evidence_kinds": sorted({case.evidence_kind for case in cases}),
        "cases": [
            {"case_id": case.case_id, "evidence_kind": case.evidence_kind, "source": case.source}
            for case in cases
        ],
    }
