"""What a judge is asked of one text, and what its answer means.

An expectation of type ``judge`` holds the question as its ``value``; with a ``threshold``, a score from 0 to 1 is asked
for, and the threshold makes it a verdict. ``target`` names what is judged: the answer (``stdout``, also without a
target), ``stderr`` or the ``transcript``. The answer is one JSON object of a fixed shape: whatever else it is, it is no
vote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import ExpectationType
from evalstats.errors import DocumentError, Problem, UsageError
from evalstats.suite import Case, Suite
from evalstats.trials import ORIGINAL

TARGETS = ("stdout", "stderr", "transcript")
LONGEST_ANSWER = 10_000
YES, NO = "yes", "no"


class Form(StrEnum):
    """How an endpoint is asked: as a chat, or for the rest of a text, as base models are."""

    CHAT = "chat"
    COMPLETIONS = "completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about one text. ``threshold`` is None where yes or no is asked; ``wording`` names how it is put."""

    case_id: str
    expectation: int
    text: str
    task: str
    target: str = "stdout"
    threshold: float | None = None
    wording: str = ORIGINAL
    inverted: bool = False

    @property
    def wants_score(self) -> bool:
        """Return whether a score is asked for."""
        return self.threshold is not None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said: whether the expectation is met, and the score where one was asked for."""

    passed: bool
    mark: float | None = None


class Unparsable(ValueError):
    """An answer that is not of the shape that was asked for; the text says how, without quoting it."""


def asks_a_judge(suite: Suite) -> bool:
    """Return whether any expectation of a suite is for a judge."""
    return any(e.type is ExpectationType.JUDGE for case in suite.cases for e in case.expectations)


def questions(suite: Suite) -> list[Question]:
    """Return what a suite asks its judge. Raises SuiteError with all that cannot be asked, UsageError if nothing is."""
    found = [problem for index, case in enumerate(suite.cases) for problem in _problems(case, index)]
    if found:
        raise suites.faulty(suite, found)
    asked = [question for case in suite.cases for question in _of_case(case)]
    if not asked:
        raise UsageError(
            "no expectation of the suite asks a judge", path=None if suite.is_private else suite.path
        )
    return asked


def _of_case(case: Case) -> Iterator[Question]:
    for index, expectation in enumerate(case.expectations):
        if expectation.type is ExpectationType.JUDGE:
            yield Question(
                case_id=case.id,
                expectation=index,
                text=str(expectation.value),
                task=case.prompt or case.objective,
                target=expectation.target or "stdout",
                threshold=expectation.threshold,
            )


def _problems(case: Case, number: int) -> Iterator[Problem]:
    for index, expectation in enumerate(case.expectations):
        if expectation.type is not ExpectationType.JUDGE:
            continue
        place, threshold = f"/cases/{number}/expectations/{index}", expectation.threshold
        if not isinstance(expectation.value, str) or not expectation.value.strip():
            yield _problem(f"{place}/value", "is no question to put to a judge")
        if expectation.target not in (None, *TARGETS):
            yield _problem(f"{place}/target", f"a judge is shown one of {', '.join(TARGETS)}")
        if threshold is not None and not 0 < threshold <= 1:
            yield _problem(f"{place}/threshold", "of a judge's score lies above 0 and not above 1")


def _problem(pointer: str, rule: str) -> Problem:
    return Problem(pointer, rule, rule=rule)


# --- the answer ----------------------------------------------------------------------------------


def answer_schema(question: Question) -> dict[str, Any]:
    """Return the JSON Schema of the only answers that count."""
    score = {"score": {"type": "number", "minimum": 0, "maximum": 1}}
    properties = score if question.wants_score else {"verdict": {"type": "string", "enum": [YES, NO]}}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def verdict(question: Question, text: str, *, finish_reason: str | None = None) -> Verdict:
    """Return what an answer says. Raises Unparsable for all that is not exactly of the shape asked for."""
    if finish_reason == "length":
        raise Unparsable("the answer was cut off")
    if len(text) > LONGEST_ANSWER:
        raise Unparsable(f"the answer is longer than {LONGEST_ANSWER} characters")
    try:
        answer = contract.parse_json(text.strip())
    except DocumentError:
        raise Unparsable("the answer is not JSON") from None
    name = "score" if question.wants_score else "verdict"
    if not isinstance(answer, dict) or list(answer) != [name]:
        raise Unparsable(f"the answer is not an object with just a {name}")
    return _scored(question, answer[name]) if question.wants_score else _decided(question, answer[name])


def _decided(question: Question, said: Any) -> Verdict:
    if not isinstance(said, str) or said not in (YES, NO):
        raise Unparsable(f"the verdict is neither {YES} nor {NO}")
    return Verdict((said == YES) is not question.inverted)


def _scored(question: Question, said: Any) -> Verdict:
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= 1:
        raise Unparsable("the score is no number from 0 to 1")
    mark = float(1 - said if question.inverted else said)
    return Verdict(mark >= float(question.threshold or 0), mark)
