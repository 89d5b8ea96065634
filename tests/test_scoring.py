"""The arithmetic from expectations to the status of a run, on suites small enough to reckon by hand."""

import itertools
import statistics
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalstats import suite as suites
from evalstats.contract import Arm, ExpectationType, Outcome, Status
from evalstats.scoring import case_score, case_status, score_run
from evalstats.trials import ExpectationResult, Trial


def result(passed, required=True, detail=""):
    return ExpectationResult(
        index=0, type=ExpectationType.REGEX, required=required, passed=passed, detail=detail
    )


# --- one trial ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("results", "score", "status"),
    [
        ([], 1.0, "pass"),
        ([result(True)], 1.0, "pass"),
        ([result(True), result(False)], 0.5, "fail"),
        ([result(True), result(True), result(False)], 2 / 3, "fail"),
        ([result(True), result(False, required=False)], 1.0, "pass"),
        ([result(False), result(True, required=False)], 0.0, "fail"),
        ([result(False, required=False), result(False, required=False)], 1.0, "pass"),
        ([result(None, required=False)], 1.0, "pass"),
        ([result(True), result(None)], 0.5, "inconclusive"),
        ([result(False), result(None)], 0.0, "fail"),
    ],
)
def test_a_trial_by_hand(results, score, status):
    assert case_score(results) == score
    assert case_status(results) == status


RESULTS = st.lists(
    st.builds(result, passed=st.sampled_from([True, False, None]), required=st.booleans()), max_size=8
)


@given(results=RESULTS, others=RESULTS)
def test_optional_expectations_never_count(results, others):
    optional = [result(r.passed, required=False) for r in others]
    assert case_score(results + optional) == case_score(results)
    assert case_status(results + optional) == case_status(results)


@given(results=RESULTS)
def test_a_trial_passes_exactly_when_its_score_is_full(results):
    assert 0 <= case_score(results) <= 1
    assert (case_status(results) is Status.PASS) == (case_score(results) == 1.0)


# --- one run --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def make_suite(tmp_path_factory, suite_document, write_suite):
    """Return a function: dimension -> (weight, threshold), case -> (dimensions, critical); a loaded suite."""
    names = (f"suite-{number}" for number in itertools.count())

    def make(dimensions, cases, threshold=0.0):
        document = suite_document()
        case = document["cases"][1]
        document["scoring"] = {
            "aggregate_threshold": threshold,
            "dimensions": [{"name": n, "weight": w, "threshold": t} for n, (w, t) in dimensions.items()],
        }
        document["cases"] = [
            {**case, "id": id_, "dimensions": list(carried), "critical": critical}
            for id_, (carried, critical) in cases.items()
        ]
        return suites.load(write_suite(tmp_path_factory.getbasetemp() / next(names), document))

    return make


def trial(case, score, index=1, **changes):
    """A trial of a case: a score, or the outcome that kept it from having one."""
    shared = {"run_id": "r", "suite_id": "door", "arm": Arm.SKILL_ON, "started_at": "2026-01-01T00:00:00Z"}
    if isinstance(score, Outcome):
        ended = Status.SKIPPED if score is Outcome.SKIPPED else Status.ERROR
        unusable = {"status": ended, "outcome": score, "reason": f"was {score}"}
        return Trial(case_id=case, trial_index=index, **shared, **{**unusable, **changes})
    passed = score == 1
    usable = {"outcome": Outcome.OK, "score": score, "passed": passed}
    status = Status.PASS if passed else Status.FAIL
    return Trial(case_id=case, trial_index=index, status=status, **shared, **{**usable, **changes})


TWO = {"correctness": (0.7, 0.0), "safety": (0.3, 0.0)}


def test_the_weighted_example_of_one_in_three(make_suite):
    # 0.7 and 0.3, the off arm passes 1 of 3 expectations in one dimension, the on arm all: +0.4667
    suite = make_suite(TWO, {"a": (["correctness"], False), "b": (["safety"], False)})
    on = score_run(suite, [trial("a", 1.0), trial("b", 1.0)]).aggregate_score
    off = score_run(suite, [trial("a", 1 / 3), trial("b", 1.0)]).aggregate_score
    assert (on, round(off, 4), round(on - off, 4)) == (1.0, 0.5333, 0.4667)


def test_a_dimension_is_the_mean_of_the_cases_that_carry_it(make_suite):
    cases = {"a": (["correctness"], False), "b": (["correctness", "safety"], False), "c": ([], False)}
    run = score_run(make_suite(TWO, cases), [trial("a", 1.0), trial("b", 0.5), trial("c", 0.0)])
    assert run.dimension_scores == {"correctness": 0.75, "safety": 0.5}
    assert run.aggregate_score == pytest.approx(0.7 * 0.75 + 0.3 * 0.5, abs=1e-15)
    assert run.status is Status.PASS


def test_a_dimension_nobody_scored_is_missing_not_zero(make_suite):
    suite = make_suite(TWO, {"a": (["correctness"], False), "b": (["safety"], False)}, threshold=0.9)
    run = score_run(suite, [trial("a", 1.0), trial("b", Outcome.SKIPPED)])
    assert run.dimension_scores == {"correctness": 1.0, "safety": None}
    assert (run.aggregate_score, run.status) == (1.0, Status.PASS)
    assert [case.status for case in run.cases] == [Status.PASS, Status.SKIPPED]


@pytest.mark.parametrize(
    ("scores", "threshold", "status"),
    [
        ((1.0, 1.0), 1.0, "pass"),
        ((0.5, 1.0), 0.65, "pass"),  # 0.7 * 0.5 + 0.3 = 0.65, met exactly
        ((0.5, 1.0), 0.6501, "fail"),
        ((0.0, 1.0), 0.0, "pass"),  # no threshold, no critical case: a failed case fails nothing
    ],
)
def test_the_aggregate_meets_its_threshold(make_suite, scores, threshold, status):
    suite = make_suite(TWO, {"a": (["correctness"], False), "b": (["safety"], False)}, threshold)
    assert score_run(suite, [trial("a", scores[0]), trial("b", scores[1])]).status == status


def test_a_failed_critical_case_fails_the_run(make_suite):
    cases = {"a": (["correctness"], True), "b": (["safety"], False)}
    suite = make_suite(TWO, cases)
    assert score_run(suite, [trial("a", 0.9), trial("b", 1.0)]).status is Status.FAIL
    assert score_run(suite, [trial("a", 1.0), trial("b", 0.0)]).status is Status.PASS


def test_a_dimension_below_its_threshold_fails_the_run_whatever_the_aggregate(make_suite):
    suite = make_suite(
        {"correctness": (99, 0.0), "safety": (1, 0.5)},
        {"a": (["correctness"], False), "b": (["safety"], False)},
        threshold=0.9,
    )
    run = score_run(suite, [trial("a", 1.0), trial("b", 0.49)])
    assert run.aggregate_score > 0.99 and run.status is Status.FAIL
    assert score_run(suite, [trial("a", 1.0), trial("b", 0.5)]).status is Status.PASS


def test_an_errored_case_makes_the_run_an_error_above_all(make_suite):
    suite = make_suite(TWO, {"a": (["correctness"], True), "b": (["safety"], False)})
    run = score_run(suite, [trial("a", 0.0), trial("b", Outcome.INFRASTRUCTURE)])
    assert (run.status, run.aggregate_score) == (Status.ERROR, 0.0)
    assert run.unusable == {"infrastructure": 1}
    assert run.cases[1].score is None and run.cases[1].pass_rate is None
    assert run.cases[1].diagnostics == ("was infrastructure",)


@pytest.mark.parametrize(
    ("lost", "status"), [(0, "pass"), (1, "pass"), (10, "pass"), (11, "error"), (83, "error"), (99, "error")]
)
def test_a_run_that_lost_many_trials_to_infrastructure_is_an_error(make_suite, lost, status):
    suite = make_suite(TWO, {"a": (["correctness"], False)}, threshold=1.0)
    scores = [Outcome.INFRASTRUCTURE] * lost + [1.0] * (100 - lost)
    run = score_run(suite, [trial("a", score, i) for i, score in enumerate(scores, 1)])
    assert (run.status, run.n_lost, run.n_trials, run.aggregate_score) == (status, lost, 100, 1.0)


def test_the_share_lost_is_that_of_the_whole_run(make_suite):
    suite = make_suite(TWO, {"a": (["correctness"], False), "b": (["safety"], False)})
    a = [trial("a", 1.0, i) for i in range(1, 19)]
    b = [trial("b", score, i) for i, score in enumerate([1.0, Outcome.INFRASTRUCTURE], 1)]
    assert score_run(suite, a + b).status is Status.PASS  # 1 of 20
    skipped = [trial("a", Outcome.SKIPPED, i) for i in range(1, 19)]
    assert score_run(suite, skipped + b[:1]).n_lost == 0


@pytest.mark.parametrize("trials", [[], [trial("a", Outcome.SKIPPED), trial("b", Outcome.SKIPPED)]])
def test_a_run_in_which_nothing_could_run_is_skipped(make_suite, trials):
    suite = make_suite(TWO, {"a": (["correctness"], True), "b": (["safety"], False)}, threshold=1.0)
    run = score_run(suite, trials)
    assert (run.status, run.aggregate_score) == (Status.SKIPPED, None)
    assert run.dimension_scores == {"correctness": None, "safety": None}


def test_an_undecided_case_keeps_the_run_from_passing(make_suite):
    suite = make_suite(TWO, {"a": (["correctness"], False), "b": (["safety"], False)})
    undecided = trial("b", Outcome.UNSCORED, status=Status.INCONCLUSIVE)
    assert score_run(suite, [trial("a", 1.0), undecided]).status is Status.INCONCLUSIVE


def test_without_an_aggregate_a_failed_case_fails_the_run(make_suite):
    suite = make_suite(TWO, {"a": ([], False), "b": ([], False)}, threshold=0.5)
    run = score_run(suite, [trial("a", 1.0), trial("b", 0.0)])
    assert (run.aggregate_score, run.status) == (None, Status.FAIL)
    assert score_run(suite, [trial("a", 1.0), trial("b", 1.0)]).status is Status.PASS


def test_only_planned_cases_are_scored(make_suite):
    suite = make_suite(TWO, {"a": (["correctness"], False), "b": (["safety"], True)})
    run = score_run(suite, [trial("a", 1.0)], cases=suite.cases[:1])
    assert [case.case_id for case in run.cases] == ["a"]
    assert run.status is Status.PASS
    assert score_run(suite, [trial("a", 1.0)], cases=()).status is Status.SKIPPED


# --- several trials -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "status", "rate"),
    [
        ([1.0, 1.0, 0.0], "pass", 2 / 3),
        ([1.0, 0.0], "fail", 0.5),  # a tie does not pass
        ([1.0, 0.0, 0.0], "fail", 1 / 3),
        ([1.0, Outcome.INFRASTRUCTURE, Outcome.DEGRADED], "pass", 1.0),
        ([1.0, 0.0, Outcome.INFRASTRUCTURE], "fail", 0.5),
        ([0.9, 0.9, 0.9], "fail", 0.0),
    ],
)
def test_a_case_passes_when_more_than_half_of_its_usable_trials_pass(make_suite, scores, status, rate):
    suite = make_suite(TWO, {"a": (["correctness"], False)})
    (case,) = score_run(suite, [trial("a", s, i) for i, s in enumerate(scores, 1)]).cases
    assert (case.status, case.pass_rate) == (status, rate)
    usable = [s for s in scores if not isinstance(s, Outcome)]
    assert (case.n_trials, case.n_usable) == (len(scores), len(usable))


def test_the_mean_is_the_score_and_the_median_stands_beside_it(make_suite):
    suite = make_suite(TWO, {"a": (["correctness"], False)})
    run = score_run(suite, [trial("a", s, i) for i, s in enumerate([0.0, 0.1, 0.8], 1)])
    assert (run.cases[0].score, run.cases[0].median_score) == (pytest.approx(0.3), 0.1)
    assert run.aggregate_score == run.cases[0].score == run.dimension_scores["correctness"]


def test_what_went_wrong_is_said_once_in_the_order_of_the_trials(make_suite):
    suite = make_suite(TWO, {"a": (["correctness"], False)})
    late = trial(
        "a",
        0.0,
        2,
        expectations=(
            result(True, detail="exit 0"),
            result(False, detail="exit 1"),
            result(None, detail="no judge"),
        ),
    )
    early = trial(
        "a",
        0.0,
        1,
        reason="timed out",
        outcome=Outcome.TIMEOUT,
        expectations=(result(False, detail="exit 1"),),
    )
    diagnostics = score_run(suite, [late, early]).cases[0].diagnostics
    assert diagnostics == ("timed out", "exit 1", "no judge")


def test_durations_are_averaged_where_known(make_suite):
    suite = make_suite(TWO, {"a": (["correctness"], False)})
    trials = [trial("a", 1.0, 1, duration_s=1.0), trial("a", 1.0, 2), trial("a", 1.0, 3, duration_s=2.0)]
    assert score_run(suite, trials).cases[0].duration_s == 1.5
    assert score_run(suite, trials[1:2]).cases[0].duration_s is None


SCORES = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 1.0, *Outcome])
usable_or_lost = SCORES.filter(lambda s: not (isinstance(s, Outcome) and s.usable))


@given(scores=st.lists(usable_or_lost, min_size=1, max_size=6))
def test_the_mean_over_trials_is_exact(make_suite, scores):
    suite = make_suite(TWO, {"a": (["correctness"], False)})
    (case,) = score_run(suite, [trial("a", s, i) for i, s in enumerate(scores, 1)]).cases
    usable = [s for s in scores if not isinstance(s, Outcome)]
    assert case.score == (float(sum(map(Fraction, usable)) / len(usable)) if usable else None)
    assert case.median_score == (statistics.median(usable) if usable else None)
    assert case.n_passed == usable.count(1.0)


@given(
    weights=st.lists(st.floats(0.01, 100), min_size=2, max_size=2),
    score=st.sampled_from([0.6, 0.7, 0.8, 0.9, 0.95]),
    repeats=st.integers(1, 7),
)
def test_scores_that_all_equal_the_threshold_meet_it(make_suite, weights, score, repeats):
    dimensions = {"correctness": (weights[0], score), "safety": (weights[1], score)}
    suite = make_suite(dimensions, {"a": (["correctness"], False), "b": (["safety"], False)}, score)
    run = score_run(suite, [trial(c, score, i) for c in "ab" for i in range(1, repeats + 1)])
    assert (run.aggregate_score, run.status) == (score, Status.PASS)


@given(scores=st.lists(usable_or_lost, min_size=4, max_size=4), data=st.data())
def test_the_order_of_trials_changes_nothing(make_suite, scores, data):
    suite = make_suite(TWO, {"a": (["correctness"], True), "b": (["correctness", "safety"], False)}, 0.5)
    trials = [trial("ab"[i // 2], s, 1 + i % 2) for i, s in enumerate(scores)]
    assert score_run(suite, data.draw(st.permutations(trials))) == score_run(suite, trials)


@given(a=st.floats(0, 1), b=st.floats(0, 1), better=st.floats(0, 1))
def test_a_better_case_never_makes_a_worse_run(make_suite, a, b, better):
    assume(better >= a)
    suite = make_suite(TWO, {"a": (["correctness"], False), "b": (["safety"], False)}, 0.5)
    low, high = (score_run(suite, [trial("a", s), trial("b", b)]) for s in (a, better))
    assert high.aggregate_score >= low.aggregate_score
    assert (low.status, high.status) != (Status.PASS, Status.FAIL)
