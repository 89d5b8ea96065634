"""Two records held against each other: which cases, which numbers, which doubts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstats.contract import Verdict
from evalstats.errors import UsageError
from evalstats.governance.comparing import compare, scope_of
from evalstats.governance.quantities import Rules
from evalstats.governance.verdicts import Change

RULES = Rules(aggregate_tolerance=0.1, dimension_tolerance=0.1, weights={"correctness": 1.0, "safety": 3.0})


def test_runs_of_different_suites_are_refused(record_of, case_of, held):
    other = record_of([case_of("a")])
    other["suite"] = {**other["suite"], "id": "other"}
    with pytest.raises(UsageError, match="different suites, tiny and other"):
        compare(held(record_of([case_of("a")])), held(other), RULES, rng=np.random.default_rng(1))


# --- which cases ----------------------------------------------------------------------------------


def test_the_same_scoring_is_compared_whole_even_if_the_bytes_changed(record_of, case_of, held):
    new = held(record_of([case_of("a")], scoring="1" * 64, raw="2" * 64))
    old = held(record_of([case_of("a")], scoring="1" * 64, raw="3" * 64))
    assert scope_of(new, old).whole
    assert scope_of(new, old).notes == ()


def test_across_scoring_only_cases_with_the_same_hash_are_compared(record_of, case_of, held):
    old = [case_of(c, case_hash=h * 64) for c, h in (("a", "1"), ("b", "2"), ("gone", "3"))]
    new = [case_of(c, case_hash=h * 64) for c, h in (("a", "1"), ("b", "9"), ("born", "4"))]
    scope = scope_of(held(record_of(new, scoring="5" * 64)), held(record_of(old, scoring="6" * 64)))
    assert (scope.whole, scope.case_ids) == (False, ("a",))
    assert scope.left_out == {
        "b": "changed since the baseline",
        "gone": "not in the candidate",
        "born": "not in the baseline",
    }
    assert "1 common cases (unchanged by their hashes)" in scope.notes[0]


def test_an_old_record_with_another_raw_digest_offers_the_common_ids_and_says_so(record_of, case_of, held):
    new, old = record_of([case_of("a"), case_of("b")], raw="1" * 64), record_of([case_of("a")], raw="2" * 64)
    scope = scope_of(held(new), held(old))
    assert scope.case_ids == ("a",)
    assert "was not recorded" in scope.notes[0]
    same = scope_of(held(record_of([case_of("a")])), held(record_of([case_of("a")])))
    assert same.whole  # the same bytes


def test_no_case_in_common_is_no_verdict(against, case_of):
    found = against([case_of("a")], [case_of("b")], new_facts={"raw": "1" * 64})
    assert found.verdict is Verdict.ADVISORY
    assert "no case in common" in found.reasons[0]


def test_a_case_that_the_candidate_did_not_score_leaves_it_open(against, case_of):
    cases = [case_of(c) for c in "abcdef"]
    lost = case_of("f") | {"score": None, "status": "error", "usable": 0, "passes": 0}
    found = against(
        [*cases[:5], lost], cases, new_facts={"tier": "deterministic"}, old_facts={"tier": "deterministic"}
    )
    assert found.facts.unscored == ("f",)
    assert found.verdict is Verdict.INCONCLUSIVE


# --- critical cases, doubts, rules ------------------------------------------------------------------


def test_critical_cases_one_by_one(against, case_of):
    old = [case_of("kept", 3, 3, critical=True), case_of("lost", 3, 3, critical=True), case_of("plain", 3, 3)]
    new = [case_of("kept", 3, 3), case_of("lost", 1, 3), case_of("plain", 0, 3)]
    found = against(new, old)
    assert {c.case_id: c.change for c in found.facts.critical} == {"kept": Change.KEPT, "lost": Change.LOST}
    assert found.verdict is Verdict.REGRESSION
    assert "critical case lost no longer passes" in found.reasons


@pytest.mark.parametrize(
    ("side", "facts", "words"),
    [
        ("new", {"is_mock": True}, "the candidate is a mock run"),
        ("old", {"is_mock": True}, "the baseline is a mock run"),
        ("new", {"status": "skipped"}, "ended as skipped"),
        ("new", {"status": "error"}, "ended as error"),
        ("new", {"tier": "live"}, "one trial a case stands behind the candidate"),
    ],
)
def test_what_can_carry_no_verdict(against, case_of, side, facts, words):
    cases = [case_of(c) for c in "abc"]
    found = against(cases, cases, **{f"{side}_facts": facts})
    assert found.verdict is Verdict.ADVISORY
    assert any(words in reason for reason in found.reasons)


def test_a_run_is_not_compared_with_itself(record_of, case_of, held):
    run = held(record_of([case_of("a")]))
    assert compare(run, run, RULES, rng=np.random.default_rng(1)).verdict is Verdict.ADVISORY


COUNTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=6)


@settings(max_examples=15)
@given(COUNTS)
def test_over_random_runs_a_lower_safety_is_never_an_improvement(against, case_of, counts):
    def side(column):
        return [
            case_of(
                f"c{i}", row[column], 3, critical=row[2], dimensions=("correctness", "safety")[: 1 + i % 2]
            )
            for i, row in enumerate(counts)
        ]

    found = against(side(0), side(1))
    safety = found.quantity("safety")
    if safety is not None and safety.delta is not None and safety.delta < 0:
        assert found.verdict is not Verdict.IMPROVEMENT
    if any(new <= 1 < old and critical for new, old, critical in counts):
        assert found.verdict is Verdict.REGRESSION
