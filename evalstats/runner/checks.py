"""What would make a plan fail later: inputs that are no command, expectations that cannot be checked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evalstats import suite as suites
from evalstats.contract import Arm
from evalstats.contract import ExpectationType as Type
from evalstats.errors import Problem
from evalstats.runner import casting, commands, contexts, evidence, expectations
from evalstats.suite import Case, Expectation, Suite, is_inside_path

ALWAYS_THERE = (Arm.SKILL_ON, Arm.SKILL_OFF)
_CONTEXTS = (Arm.CONTEXT_ON, Arm.CONTEXT_OFF)
_NEEDS_TARGET = {
    Type.FILE_EXISTS,
    Type.FILE_ABSENT,
    Type.ARTIFACT_CONTAINS,
    Type.JSON_PATH,
    Type.SCHEMA_VALID,
}
_NEEDS_TEXT = {
    Type.STDOUT_CONTAINS,
    Type.STDERR_CONTAINS,
    Type.STDOUT_CONTAINS_AUTO_DETECT,
    Type.ARTIFACT_CONTAINS,
    Type.REGEX,
    Type.NOT_CONTAINS,
    Type.RESOURCE_PRESENT,
    Type.NO_RESOURCE,
    Type.CITES_CARD,
    Type.CITES_RECIPE,
    Type.CITES_PATH,
    Type.ARGUMENT_PRESENT,
    Type.ARGUMENT_ABSENT,
    Type.IMPORT_SYNTAX_MATCH,
}


def check(
    suite: Suite,
    cases: Sequence[Case] | None = None,
    arms: Sequence[Arm] | None = None,
    runtime: str | None = None,
) -> None:
    """Raise one SuiteError with every problem of the fixtures, cases and arms that are about to run.

    Without ``cases`` and ``arms``, those of the whole suite are checked. ``runtime`` is the one that was chosen for
    the prompts.
    """
    if arms is None:
        arms = tuple(dict.fromkeys((*ALWAYS_THERE, *map(Arm, suite.document.get("arms", {})))))
    wanted = {case.id for case in (suite.cases if cases is None else cases)}
    found = suites.fixture_problems(suite) + [p for arm in arms for p in _arm_files(suite, arm)]
    for index, case in enumerate(suite.cases):
        if case.id in wanted:
            found += _runtime(suite, case, index)
            found += _inputs(suite, case, index, arms, runtime)
            found += _expectations(case, index)
    if found:
        raise suites.faulty(suite, found)


def _arm_files(suite: Suite, arm: Arm) -> list[Problem]:
    names = commands.arm_section(suite, arm).get("files", [])
    found = [
        Problem(f"/arms/{arm}/files/{index}", fault, rule=fault)
        for index, name in enumerate(names)
        if (fault := _file_fault(suite, name))
    ]
    if not found and arm in _CONTEXTS:
        found = [Problem(f"/arms/{arm}/files", fault) for fault in contexts.faults(suite, names)]
    return found


def _file_fault(suite: Suite, name: str) -> str | None:
    place = suite.root / name
    if not is_inside_path(name) or not Path(os.path.realpath(place)).is_relative_to(suite.root):
        return "is not a path inside the repository"
    return None if place.exists() else "is missing"


def _runtime(suite: Suite, case: Case, index: int) -> Iterator[Problem]:
    allowed = suite.document.get("allowed_runtimes")
    if allowed is not None and case.runtime not in (None, *allowed):
        what = f"the runtime {case.runtime} is not among the suite's allowed_runtimes"
        yield Problem(f"/cases/{index}/runtime", f"case {case.id!r}: {what}", rule=what)


def _inputs(suite: Suite, case: Case, index: int, arms: Sequence[Arm], runtime: str | None) -> list[Problem]:
    found = {
        (name, what): None
        for arm in arms
        for given in [commands.inputs(suite, case, arm)]
        for name, what in (
            *commands.input_problems(given),
            *_workspace(suite, given),
            *casting.faults(case, given, runtime),
        )
    }
    return [
        Problem(f"/cases/{index}/inputs/{name}", f"case {case.id!r}: {what}", rule=what)
        for name, what in found
    ]


def _workspace(suite: Suite, given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name = given.get("workspace")
    if isinstance(name, str) and "\0" not in name:
        place = Path(os.path.realpath(suite.folder / name))
        if not (place.is_dir() and place.is_relative_to(suite.root)):
            yield "workspace", "is no folder inside the repository"


def _expectations(case: Case, index: int) -> Iterator[Problem]:
    for number, expectation in enumerate(case.expectations):
        for field, what in _faults(expectation):
            pointer = f"/cases/{index}/expectations/{number}/{field}"
            place = f"case {case.id!r}, {expectation.type} expectation {number}"
            yield Problem(pointer, f"{place}: {what}", rule=what)


def _faults(expectation: Expectation) -> Iterator[tuple[str, str]]:
    """Yield (field, what is wrong with it) for an expectation that no trial could be checked against."""
    kind, value = expectation.type, expectation.value
    if kind in _NEEDS_TARGET and not expectation.target:
        yield "target", "is missing"
    if kind in _NEEDS_TEXT and not _is_text(value):
        yield "value", "is not a text to look for"
    elif kind is Type.REGEX:
        yield from _pattern_fault(str(value))
    yield from _value_faults(expectation)


def _value_faults(expectation: Expectation) -> Iterator[tuple[str, str]]:
    kind, value = expectation.type, expectation.value
    if kind is Type.EXIT_CODE and not (value is None or _is_number(value)):
        yield "value", "is not an exit code"
    if kind is Type.SCORE_AT_LEAST and expectation.threshold is None and not _is_number(value):
        yield "threshold", "is missing"
    if kind is Type.SCHEMA_VALID and expectation.target != "suite" and not isinstance(value, str):
        yield "value", "names no schema"
    if kind in (Type.JSON_PATH, Type.SCORE_AT_LEAST) and evidence.steps(expectation.target or "$") is None:
        yield "target", "is not a path such as $.a.b[0] or a.b.0"


def _pattern_fault(text: str) -> Iterator[tuple[str, str]]:
    try:
        expectations.pattern(text)
    except ValueError as error:
        yield "value", str(error)


def _is_text(value: object) -> bool:
    return (isinstance(value, str) and value != "") or _is_number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
