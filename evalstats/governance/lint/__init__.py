"""What would a reviewer want told about a suite? Weak, wrong and hidden parts, each with its place and way out.

:func:`lint` reads one suite file and returns a `SuiteLint`. It goes on where the suite breaks its schema. Upwards,
each file uses only those above it: ``findings`` (what can be said), ``reading`` (what can be understood of a
file), ``answers`` (expectations that tell nothing), ``design`` (how the suite is put together), ``data`` (what
results show). Lint runs no case and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import contract, runner
from evalstats.errors import DocumentError, Problem, SuiteError, UsageError
from evalstats.governance.lint import answers, data, design, reading
from evalstats.governance.lint.answers import BlankAnswer
from evalstats.governance.lint.data import Held
from evalstats.governance.lint.design import ArchetypeWeight
from evalstats.governance.lint.findings import Code, Finding, Severity
from evalstats.governance.lint.reading import Reading

if TYPE_CHECKING:
    from evalstats.importers.lift_reports import LiftReport
    from evalstats.store.questions import Store

NEVER = "never"

__all__ = [
    "NEVER",
    "ArchetypeWeight",
    "BlankAnswer",
    "Code",
    "Finding",
    "Severity",
    "SuiteLint",
    "document",
    "fails",
    "lint",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteLint:
    """What lint says of one suite file. Without ``suite_id`` nothing of it could be understood.

    ``n_data`` counts the expectations that results speak of; None where no results were given.
    """

    path: Path
    suite_id: str | None
    n_cases: int
    n_expectations: int
    blank_answer: BlankAnswer | None
    archetypes: tuple[ArchetypeWeight, ...]
    findings: tuple[Finding, ...]
    n_data: int | None = None


def lint(
    path: Path, *, report: LiftReport | None = None, store: Store | None = None, root: Path | None = None
) -> SuiteLint:
    """Read a suite file and say what is weak, wrong or hidden in it.

    Parameters
    ----------
    path : Path
        A suite file of either shape, or a folder with ``suite.json``. It may break its schema.
    report, store : optional
        Results: what they show about expectations and headroom is said too.
    root : Path, optional
        The folder that fixtures are relative to; by default that of the repository.

    Raises UsageError when there is no file.
    """
    try:
        found = reading.read(path, root=root)
    except DocumentError as error:
        return _unreadable(path, error.problems)
    held, notes = _results(found, report, store)
    faults = _faults(found)
    blank, on_blank = answers.blank_answer(found, {_expectation_of(problem.pointer) for problem in faults})
    said = (found.finding(_code(p), _shown(found, p, "cannot be carried out"), p.pointer) for p in faults)
    findings = [
        *_breaches(found),
        *said,
        *on_blank,
        *_by_rule(found),
        *data.from_data(found, held or ()),
        *notes,
    ]
    order = list(Code)
    return SuiteLint(
        path=found.suite.path,
        suite_id=None if found.is_private else found.suite.id,
        n_cases=len(found.suite.cases),
        n_expectations=sum(len(case.expectations) for case in found.suite.cases),
        blank_answer=blank if blank.expectations else None,
        archetypes=() if found.is_private else design.weights(found),
        findings=tuple(sorted(findings, key=lambda f: order.index(f.code))),
        n_data=None if held is None else len({(h.case, h.expectation) for h in held}),
    )


def fails(found: Sequence[SuiteLint], on: Sequence[str]) -> bool:
    """Return whether any finding is one of ``on``: codes, and severities, which stand for all that are as grave.

    ``never`` stands for none. Raises UsageError for a word that is neither.
    """
    known = [*Severity, *Code, NEVER]
    for word in on:
        if word not in known:
            raise UsageError(f"unknown {word!r}; known: {', '.join(known)}", field="--fail-on")
    order = list(Severity)
    least = max((order.index(Severity(word)) for word in on if word in order), default=-1)
    return any(f.code in on or order.index(f.severity) <= least for one in found for f in one.findings)


def document(found: Sequence[SuiteLint]) -> dict[str, Any]:
    """Return what lint found as a JSON document (schema ``lint-findings.v1``)."""
    every = [finding for one in found for finding in one.findings]
    counts = Counter(finding.severity for finding in every)
    result = {
        "schema_version": 1,
        "suites": [_as_record(one) for one in found],
        "totals": {severity.value: counts[severity] for severity in Severity},
    }
    contract.validate(result, "lint-findings.v1")
    return result


# --- parts ----------------------------------------------------------------------------------------

_RULES = (
    design.tiers,
    answers.key_only,
    answers.arm_impossible,
    design.duplicates,
    design.words,
    design.hidden_weights,
    design.unused,
)


def _by_rule(found: Reading) -> Iterator[Finding]:
    for rule in _RULES:
        yield from rule(found)


def _unreadable(path: Path, problems: Iterable[Problem]) -> SuiteLint:
    found = (Finding(code=Code.UNREADABLE, what=p.message, pointer=p.pointer, line=p.line) for p in problems)
    return SuiteLint(
        path=path,
        suite_id=None,
        n_cases=0,
        n_expectations=0,
        blank_answer=None,
        archetypes=(),
        findings=tuple(found),
    )


def _breaches(found: Reading) -> list[Finding]:
    """Return what breaks the schema. What a rule of lint says better is left to it."""
    said = {f.pointer for f in design.tiers(found)}
    return [
        Finding(code=Code.SCHEMA, what=_shown(found, p, "breaks the schema"), pointer=p.pointer, line=p.line)
        for p in found.problems
        if p.pointer not in said
    ]


def _faults(found: Reading) -> tuple[Problem, ...]:
    """Return what would keep the suite from being run, with pointers of the suite as it was understood."""
    try:
        runner.check(found.suite)
    except SuiteError as error:
        return error.problems
    return ()


def _code(problem: Problem) -> Code:
    about_file = "/fixtures/" in problem.pointer or "/files/" in problem.pointer
    return Code.FIXTURE if about_file or problem.pointer == "/judge/rubric" else Code.UNCHECKABLE


def _expectation_of(pointer: str) -> str:
    """Return the pointer of the expectation that a deeper pointer is about; else the pointer itself."""
    return "/".join(pointer.split("/")[:5])


def _shown(found: Reading, problem: Problem, private: str) -> str:
    return f"{private}; more is not shown of a private suite" if found.is_private else problem.message


def _results(
    found: Reading, report: LiftReport | None, store: Store | None
) -> tuple[list[Held] | None, list[Finding]]:
    """Return what results show, None if none were given, and a note where they are of something else."""
    if report is None and store is None:
        return None, []
    held, notes = list[Held](), list[Finding]()
    if report is not None:
        held += data.held_in_report(found.suite, report)
        if not held:
            notes.append(found.finding(Code.OTHER_DATA, "the report speaks of none of its expectations"))
    if store is not None:
        stored, left_out = data.held_in_store(found.suite, store)
        held += stored
        if left_out:
            what = f"{left_out} run(s) in the store are mock or of another version, and were not used"
            notes.append(found.finding(Code.OTHER_DATA, what))
    return held, notes


def _as_record(one: SuiteLint) -> dict[str, Any]:
    blank = one.blank_answer
    return {
        "path": str(one.path),
        "suite_id": one.suite_id,
        "cases": one.n_cases,
        "expectations": one.n_expectations,
        "expectations_with_data": one.n_data,
        "blank_answer": None if blank is None else {**asdict(blank), "earned": blank.earned},
        "archetypes": [asdict(weight) for weight in one.archetypes],
        "counts": dict(Counter(str(finding.code) for finding in one.findings)),
        "findings": [
            {**asdict(f), "code": str(f.code), "severity": str(f.severity), "way_out": f.code.way_out}
            for f in one.findings
        ],
    }
