"""What results show about a suite: expectations that never differ, and cases on which nothing can be gained.

Results come from a lift report or from the trials of the store, in one shape: how often each expectation held in
each arm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalstats.contract import Arm
from evalstats.governance.lint.findings import Code, Finding
from evalstats.governance.lint.reading import Reading
from evalstats.importers.lift_reports import LiftPrompt, LiftReport
from evalstats.suite import EXPECTATION_IDS, Suite, hashes

if TYPE_CHECKING:
    from evalstats.store.questions import Store

YARDSTICKS = {Arm.SKILL_OFF, Arm.CONTEXT_OFF, Arm.BASELINE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """How often one expectation held in one arm: in ``passed`` of ``n`` trials; ``undecided`` is neither."""

    case: int
    expectation: int
    arm: Arm
    n: int
    passed: int
    undecided: int = 0


def held_in_report(suite: Suite, report: LiftReport) -> list[Held]:
    """Return what a lift report says of the expectations of a suite; none where it is about other cases."""
    numbers = {case.id: number for number, case in enumerate(suite.cases)}
    sides = ((Arm.SKILL_OFF, report.baseline), (Arm.SKILL_ON, report.with_skill))
    return [
        held
        for arm, prompts in sides
        for prompt in prompts
        if prompt.id in numbers
        for held in _held(suite, numbers[prompt.id], arm, prompt)
    ]


def _held(suite: Suite, number: int, arm: Arm, prompt: LiftPrompt) -> Iterator[Held]:
    """Match expectations by their ids, or by place where a suite has none; kinds must agree."""
    expectations = suite.cases[number].expectations
    ids = suite.cases[number].inputs.get(EXPECTATION_IDS, ())
    places = {name: index for index, name in enumerate(ids)}
    for place, told in enumerate(prompt.expectations):
        index = places.get(told.id, None if ids else place)
        if index is None or index >= len(expectations) or expectations[index].type != told.kind:
            continue
        outcome = {"passed": int(told.passed is True), "undecided": int(told.passed is None)}
        yield Held(case=number, expectation=index, arm=arm, n=1, **outcome)


def held_in_store(suite: Suite, store: Store) -> tuple[list[Held], int]:
    """Return what the trials of a store say, and how many runs were left out: mock, or of another version."""
    if suite.id not in store.suites():
        return [], 0
    runs = store.runs(suite.id)
    current = runs[(runs["suite_scoring"] == hashes(suite)["scoring"]) & ~runs["is_mock"].fillna(False)]
    left_out = len(runs) - len(current)
    if current.empty:
        return [], left_out
    rates = store.expectation_rates(suite.id, run_ids=list(current["run_id"]))
    numbers = {case.id: number for number, case in enumerate(suite.cases)}
    return [
        Held(
            case=numbers[row["case_id"]],
            expectation=int(row["idx"]),
            arm=Arm(row["arm"]),
            **{name: int(row[name]) for name in ("n", "passed", "undecided")},
        )
        for row in rates.to_dict("records")
        if row["case_id"] in numbers
    ], left_out


def from_data(reading: Reading, held: Iterable[Held]) -> list[Finding]:
    """Return the expectations that came out alike in every trial, and the cases without headroom."""
    by_place: dict[tuple[int, int], list[Held]] = defaultdict(list)
    for one in held:
        if one.n and reading.suite.cases[one.case].expectations[one.expectation].required:
            by_place[one.case, one.expectation].append(one)
    found = [f for place, several in sorted(by_place.items()) for f in _constant(reading, place, several)]
    return found + list(_saturated(reading, by_place))


def _constant(reading: Reading, place: tuple[int, int], several: list[Held]) -> Iterator[Finding]:
    trials = sum(h.n for h in several)
    passed, undecided = sum(h.passed for h in several), sum(h.undecided for h in several)
    counts = {"was met": passed, "was undecided": undecided, "was missed": trials - passed - undecided}
    verb = max(counts, key=lambda name: counts[name])
    if trials < 2 or counts[verb] < trials:
        return
    arms = len({h.arm for h in several})
    where = f"{arms} arms" if arms > 1 else f"the one arm there is, {several[0].arm}"
    what = f"{verb} in all {trials} trials of {where}"
    yield reading.finding(Code.CONSTANT, what, f"/expectations/{place[1]}", case=place[0])


def _saturated(reading: Reading, by_place: dict[tuple[int, int], list[Held]]) -> Iterator[Finding]:
    """Yield the cases whose required expectations, as far as decided, all held in the yardstick arm."""
    for number, case in enumerate(reading.suite.cases):
        required = [index for index, e in enumerate(case.expectations) if e.required]
        base = [[h for h in by_place.get((number, i), ()) if h.arm in YARDSTICKS] for i in required]
        decided = [h for several in base for h in several if h.n > h.undecided]
        if decided and all(base) and all(h.passed == h.n - h.undecided for h in decided):
            what = f"the arm {decided[0].arm} meets all of it already, in every trial"
            yield reading.finding(Code.NO_HEADROOM, what, case=number)
