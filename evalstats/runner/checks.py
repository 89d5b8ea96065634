"""What would make a plan fail later: inputs that are no command, expectations that cannot be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalstats import contract
from evalstats.contract import Arm
from evalstats.errors import Problem, SuiteError
from evalstats.runner import commands, expectations
from evalstats.suite import Case, Suite, is_inside_path


def check_cases(suite: Suite, cases: Sequence[Case], arms: Sequence[Arm]) -> None:
    """Raise one SuiteError with every problem of the cases and arms that are about to run."""
    wanted = {case.id for case in cases}
    found = [problem for arm in arms for problem in _arm_files(suite, arm)]
    for index, case in enumerate(suite.cases):
        if case.id in wanted:
            found += _inputs(suite, case, index, arms)
            found += _expectations(case, index)
    if found:
        raise SuiteError(suite.path, contract.with_lines(found, suite.raw.decode("utf-8-sig")))


def _arm_files(suite: Suite, arm: Arm) -> Iterator[Problem]:
    for index, name in enumerate(commands.arm_section(suite, arm).get("files", ())):
        if not is_inside_path(name) or not (suite.root / name).resolve().is_relative_to(suite.root):
            yield Problem(f"/arms/{arm}/files/{index}", "is not a path inside the repository")
        elif not (suite.root / name).exists():
            yield Problem(f"/arms/{arm}/files/{index}", "is missing")


def _inputs(suite: Suite, case: Case, index: int, arms: Sequence[Arm]) -> list[Problem]:
    found = {
        (name, what): None
        for arm in arms
        for name, what in commands.input_problems(commands.inputs(suite, case, arm))
    }
    return [Problem(f"/cases/{index}/inputs/{name}", f"case {case.id!r}: {what}") for name, what in found]


def _expectations(case: Case, index: int) -> Iterator[Problem]:
    for number, expectation in enumerate(case.expectations):
        for field, what in expectations.problems(expectation):
            pointer = f"/cases/{index}/expectations/{number}/{field}"
            yield Problem(pointer, f"case {case.id!r}, {expectation.type} expectation {number}: {what}")
