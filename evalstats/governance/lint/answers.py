"""Expectations that tell nothing about an answer: met by a blank one, by any, or by one arm alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from evalstats.contract import CaseKind
from evalstats.contract import ExpectationType as Type
from evalstats.governance.lint.findings import Code, Finding
from evalstats.governance.lint.reading import Reading
from evalstats.runner import commands
from evalstats.runner.answers import Rule, check_answer, counted
from evalstats.suite import Case, Expectation

_ON_OUTPUT = {Type.STDOUT_CONTAINS, Type.STDERR_CONTAINS, Type.STDOUT_CONTAINS_AUTO_DETECT}
_FILES = {Type.FILE_EXISTS, Type.ARTIFACT_CONTAINS, Type.SCHEMA_VALID}
_STREAMS = (None, "stdout", "stderr")
_CITES = {Type.CITES_CARD, Type.CITES_RECIPE}
_PATTERN_TAIL = re.compile(r"(?:\\s[*+?]?|[ \t])+$")
_JSON_KEY = re.compile(r'[\s{,]*\\?"[^"]+"\s*:\s*')
_LABEL = re.compile(r"[^\n]*[\w)\]]\s*[:=]\s*")
_SHORTEST_SECRET = 4  # characters; shorter texts stand everywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankAnswer:
    """What a blank answer earns: required expectations of the cases that are answered at all.

    ``vacuous`` of them it meets; ``by_construction`` are undecided, and count as met by the source's rule.
    """

    expectations: int
    vacuous: int
    by_construction: int

    @property
    def earned(self) -> dict[str, int]:
        """Return how many expectations it meets by each rule."""
        return {Rule.OURS.value: self.vacuous, Rule.SOURCE.value: self.vacuous + self.by_construction}


def is_answered(case: Case) -> bool:
    """Return whether something answers the case, a command or a model; other cases only look at files."""
    return case.kind is CaseKind.RUNTIME_PROMPT or bool(case.prompt) or commands.argv(case.inputs) is not None


def blank_answer(reading: Reading, uncheckable: set[str]) -> tuple[BlankAnswer, list[Finding]]:
    """Return what a blank answer earns, and a finding for each expectation it meets.

    Expectations whose pointer is ``uncheckable`` cannot be met by anything.
    """
    found, asked = list[Finding](), 0
    for number, case in enumerate(reading.suite.cases):
        if not is_answered(case):
            continue
        wanted = {i: e for i, e in enumerate(case.expectations) if e.required}
        asked += len(wanted)
        if not wanted:
            what = "every expectation is optional, so any answer passes the case"
            found.append(reading.finding(Code.VACUOUS, what, case=number))
        sound = {i: e for i, e in wanted.items() if f"/cases/{number}/expectations/{i}" not in uncheckable}
        found += _met_by_blank(reading, number, case, sound)
    counts = [sum(f.code is code and "/expectations/" in f.pointer for f in found) for code in _BLANK]
    return BlankAnswer(expectations=asked, vacuous=counts[0], by_construction=counts[1]), found


_BLANK = (Code.VACUOUS, Code.BY_CONSTRUCTION)


def _met_by_blank(
    reading: Reading, number: int, case: Case, wanted: dict[int, Expectation]
) -> Iterator[Finding]:
    # A silent command may fail or change files; that its exit code is 0 is an answer.
    is_command = commands.argv(case.inputs) is not None
    for index, expectation in wanted.items():
        if is_command and _needs_a_run(expectation):
            continue
        alone = replace(case, expectations=(expectation,))
        passed = check_answer(reading.suite, alone, "")[0].passed
        pointer = f"/expectations/{index}"
        if passed is True:
            what = f"a blank answer meets this {expectation.type}"
            yield reading.finding(Code.VACUOUS, what, pointer, case=number)
        elif counted(expectation.type, passed, Rule.SOURCE) is True:
            what = "checks nothing without a manifest: unscored here, passed by the source's rule"
            yield reading.finding(Code.BY_CONSTRUCTION, what, pointer, case=number)


def _needs_a_run(expectation: Expectation) -> bool:
    if expectation.type in (Type.REGEX, Type.NOT_CONTAINS):
        return expectation.target not in _STREAMS
    return expectation.type is Type.EXIT_CODE or expectation.type in _FILES


def key_only(reading: Reading) -> Iterator[Finding]:
    """Yield the expectations that look for a key or label without its value."""
    for number, index, case, expectation in reading.expectations():
        what = _why_key_only(expectation, case) if is_answered(case) else None
        if what is not None:
            yield reading.finding(Code.KEY_ONLY, what, f"/expectations/{index}", case=number)


def _why_key_only(expectation: Expectation, case: Case) -> str | None:
    if expectation.type is Type.JSON_PATH and expectation.value is None:
        return "asks only that the path is there, whatever its value"
    text = _sought(expectation)
    if text is None:
        return None
    if _JSON_KEY.fullmatch(text):
        return "the text is a JSON key without its value, printed for pass and fail alike"
    # A label is a weak check by itself; beside one that shows the result it does no harm.
    if expectation.type is not Type.ARTIFACT_CONTAINS and _LABEL.fullmatch(text):
        others = (_sought(e) for e in case.expectations if e.required and e is not expectation)
        if not any(other and not _LABEL.fullmatch(other) for other in others):
            return "the text is a label without its value, printed for pass and fail alike"
    return None


def _sought(expectation: Expectation) -> str | None:
    """Return the text that an expectation looks for, if it does."""
    if expectation.type is Type.REGEX:
        return _PATTERN_TAIL.sub("", str(expectation.value)) or None
    is_text = expectation.type in _ON_OUTPUT or expectation.type is Type.ARTIFACT_CONTAINS
    return str(expectation.value) if is_text else None


def arm_impossible(reading: Reading) -> Iterator[Finding]:
    """Yield the expectations that only one arm can meet, since only it is told what they look for."""
    told = {arm: _texts(section) for arm, section in reading.suite.document.get("arms", {}).items()}
    for number, index, case, expectation in reading.expectations():
        value = expectation.value
        if not isinstance(value, str) or len(value) < _SHORTEST_SECRET:
            continue
        what = _who_knows(reading, number, case, expectation, told)
        if what is not None:
            yield reading.finding(Code.ARM_IMPOSSIBLE, what, f"/expectations/{index}", case=number)


def _who_knows(
    reading: Reading, number: int, case: Case, expectation: Expectation, told: dict[str, list[str]]
) -> str | None:
    value = str(expectation.value)
    if any(value in text for text in _texts([case.prompt, case.inputs.get("stdin"), *_command(case)])):
        return None
    document = reading.suite.document["cases"][number]
    expected = {*document.get("expected_cards", ()), *document.get("expected_recipes", ())}
    is_text = expectation.type in _ON_OUTPUT or expectation.type in (Type.REGEX, Type.ARTIFACT_CONTAINS)
    if expectation.type in _CITES or (is_text and value in expected):
        thing = "recipe" if expectation.type is Type.CITES_RECIPE else "card"
        return f"asks for the id of an internal {thing}, which the prompt does not name"
    knowing = [arm for arm, texts in told.items() if any(value in text for text in texts)]
    if is_text and len(knowing) == 1:
        return f"the text stands in what the arm {knowing[0]} is given, and nowhere else"
    return None


def _command(case: Case) -> Iterable[Any]:
    return commands.argv(case.inputs) or ()


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for child in children for text in _texts(child)]
