"""Trials stand as their deployed judge votes, whatever the order of things; the arithmetic is that of the contract."""

import json
from dataclasses import replace

import pytest

from evalstats import contract, journal, judgements, scoring
from evalstats.contract import Arm, DegradedReason, ExpectationType, Outcome, Status
from evalstats.errors import JournalError
from evalstats.trials import ExpectationResult, Judgement, Label, Trial, judgement_seed

JUDGE = {"model": "m", "sha256": "a" * 64, "rubric_sha256": "b" * 64, "repeats": 3}


def result(index, kind=ExpectationType.JUDGE, passed=None, required=True):
    return ExpectationResult(index=index, type=kind, required=required, passed=passed, detail=f"d{index}")


def trial(*results, **changes):
    fields = {
        "run_id": "r1", "suite_id": "door", "case_id": "open", "arm": Arm.SKILL_ON, "trial_index": 1,
        "status": Status.INCONCLUSIVE, "outcome": Outcome.UNSCORED, "reason": "no judge was run", "seed": 7,
        "started_at": "2026-01-02T03:04:05.678Z", "expectations": results or (result(0),),
    }  # fmt: skip
    return Trial(**{**fields, **changes})


def judgement(repeat=1, passed=True, **changes):
    fields = {
        "run_id": "r1", "case_id": "open", "arm": Arm.SKILL_ON, "trial_index": 1, "expectation": 0, "judge": "m",
        "judge_sha256": "a" * 64, "rubric_sha256": "b" * 64, "repeat": repeat, "passed": passed,
        "started_at": "2026-01-02T03:04:06.000Z", "error_class": None if passed is not None else "unparsable",
    }  # fmt: skip
    return Judgement(**{**fields, **changes})


LABEL = Label(
    run_id="r1", case_id="open", arm=Arm.SKILL_ON, trial_index=1, expectation=0, passed=True, labeller="ada",
    labelled_at="2026-01-02T03:04:06.000Z",
)  # fmt: skip


# --- votes and scores ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "score", "passed"),
    [
        ([True], 1.0, True),
        ([False], 0.0, False),
        ([True, True, False], 2 / 3, True),
        ([True, False], 0.5, False),  # a tie fails
        ([True, None, None], 1.0, True),  # no verdict is no vote
        ([False, None, True, True], 2 / 3, True),
    ],
)
def test_votes_become_a_share_and_a_majority(votes, score, passed):
    found = scoring.settled(trial(), {0: votes}, ("correctness", "safety"))
    assert (found.outcome, found.passed, found.reason) == (Outcome.OK, passed, None)
    assert found.score == pytest.approx(score, abs=1e-15)
    assert found.status is (Status.PASS if passed else Status.FAIL)
    assert found.dimension_scores == {"correctness": found.score, "safety": found.score}
    assert found.expectations[0].passed is passed


def test_without_a_vote_it_stays_unscored_and_says_so():
    found = scoring.settled(trial(), {0: [None, None]}, ("correctness",))
    assert (found.outcome, found.score, found.dimension_scores) == (Outcome.UNSCORED, None, {})
    assert found.reason == "the judge gave no verdict in 2 judgement(s)"
    assert scoring.settled(trial(), {}, ()) == trial()


def test_votes_are_weighed_with_the_other_expectations():
    # required: exit code met, one judged 2 of 3, one judged 0 of 3; optional ones never count
    results = (
        result(0), result(1, ExpectationType.EXIT_CODE, True), result(2), result(3, required=False),
        result(4, ExpectationType.REGEX, False, required=False),
    )  # fmt: skip
    found = scoring.settled(trial(*results), {0: [True, True, False], 2: [False] * 3, 3: [True]}, ())
    assert found.score == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert [e.passed for e in found.expectations] == [True, True, False, True, False]
    assert found.status is Status.FAIL


def test_another_undecided_expectation_keeps_it_unscored():
    found = scoring.settled(trial(result(0), result(1, ExpectationType.MANUAL_REVIEW)), {0: [True]}, ())
    assert (found.outcome, found.reason) == (Outcome.UNSCORED, "d1")
    assert found.expectations[0].passed is True


def test_an_optional_question_changes_no_score():
    scored = trial(
        result(0, required=False), result(1, ExpectationType.EXIT_CODE, True), outcome=Outcome.OK, score=1.0,
        passed=True, status=Status.PASS, reason=None,
    )  # fmt: skip
    found = scoring.settled(scored, {0: [False]}, ("correctness",))
    assert (found.score, found.passed, found.expectations[0].passed) == (1.0, True, False)


def test_what_a_limit_decided_is_not_voted_on():
    cut = trial(result(0, passed=False), outcome=Outcome.TIMEOUT, score=0.0, passed=False, status=Status.FAIL)
    assert scoring.settled(cut, {0: [True]}, ()) == cut


def test_a_context_trial_that_lacked_only_a_verdict_is_scored():
    lacking = DegradedReason.INSUFFICIENT_DECISION_EVIDENCE
    found = scoring.settled(trial(outcome=Outcome.DEGRADED, reason=lacking), {0: [True]}, ())
    assert (found.outcome, found.score) == (Outcome.OK, 1.0)
    other = trial(outcome=Outcome.DEGRADED, reason=DegradedReason.HOOKS_DISABLED)
    assert scoring.settled(other, {0: [True]}, ()).outcome is Outcome.DEGRADED


# --- which judgements count ------------------------------------------------------------------------


def test_only_the_deployed_judge_its_repeats_and_the_original_wording_count():
    said = [
        judgement(1, True),
        judgement(2, False),
        judgement(3, None),
        judgement(4, False),  # beyond the deployed repeats
        judgement(1, False, judge_sha256="c" * 64),
        judgement(1, False, wording="inverted:abc"),
    ]
    assert judgements.votes_of(said, JUDGE) == {trial().key: {0: [True, False, None]}}


def test_the_last_attempt_counts_whatever_the_order():
    lost, found = judgement(1, None, error_class="server-error"), judgement(1, True, attempt=2)
    for said in ([lost, found], [found, lost]):
        assert judgements.votes_of(said, JUDGE) == {trial().key: {0: [True]}}


# --- keys, records, journals -----------------------------------------------------------------------


def test_keys_tell_apart_what_differs_and_nothing_else():
    one = judgement()
    same = replace(one, passed=False, started_at="2027-01-01T00:00:00Z", reason="x", tokens_in=3)
    assert one.key == same.key
    changes = [
        {"run_id": "r2"}, {"case_id": "x"}, {"arm": Arm.SKILL_OFF}, {"trial_index": 2}, {"expectation": 1},
        {"judge_sha256": "d" * 64}, {"wording": "w"}, {"repeat": 2}, {"attempt": 2},
    ]  # fmt: skip
    assert len({one.key, *(replace(one, **change).key for change in changes)}) == 1 + len(changes)
    assert one.trial_key == trial().key == LABEL.trial_key
    assert (
        len(
            {
                LABEL.key,
                replace(LABEL, labeller="bob").key,
                replace(LABEL, labelled_at="2027-01-01T00:00:00Z").key,
            }
        )
        == 3
    )


def test_a_verdict_or_an_error_but_never_both_or_neither():
    for passed, error in ((True, "x"), (None, None)):
        with pytest.raises(ValueError, match="either a verdict or the class of its error"):
            judgement(passed=passed, error_class=error)
    with pytest.raises(ValueError, match="between 0 and 1"):
        judgement(mark=1.5)


def test_seeds_differ_by_all_that_is_asked():
    one = trial()
    seeds = {
        judgement_seed(one, expectation, sha, wording, repeat)
        for expectation in (0, 1) for sha in ("a", "b") for wording in ("original", "w") for repeat in (1, 2)
    }  # fmt: skip
    assert len(seeds) == 16 and all(0 <= seed < 2**48 for seed in seeds)
    assert judgement_seed(one, 0, "a", "w", 1) == judgement_seed(replace(one, run_id="r9"), 0, "a", "w", 1)


def written(folder, kind, *records):
    with journal.Journal(folder / kind) as book:
        for record in records:
            book.append(record)
    return book.path


def test_what_is_appended_is_read(tmp_path):
    said = [judgement(1), judgement(2, None), judgement(3, False, mark=0.25, reason="é\ud800")]
    written(tmp_path, "judgements", *said[:2])
    written(tmp_path, "judgements", said[0], said[2])
    found = judgements.read_judgements(tmp_path)
    assert found == [*said[:2], replace(said[2], reason="é?")]
    written(tmp_path, "labels", LABEL, LABEL)
    assert judgements.read_labels(tmp_path) == [LABEL]
    for record, schema in ((said[1], "judgement.v1"), (LABEL, "label.v1")):
        assert contract.problems(record.as_record(), schema) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": "0" * 64}, "the key is not that of what the line says"),
        ({"passed": None}, "either a verdict or the class of its error"),
        ({"repeat": 0}, "0 is less than the minimum|less than"),
        ({"mark": 2}, "."),
        ({"unknown": 1}, "."),
    ],
)
def test_damage_is_named_by_file_and_line(tmp_path, change, message):
    path = written(tmp_path, "judgements", judgement())
    with path.open("ab") as file:
        file.write(json.dumps({**judgement(2).as_record(), **change}).encode() + b"\n")
    with pytest.raises(JournalError, match=message) as caught:
        judgements.read_judgements(tmp_path)
    assert (caught.value.path, caught.value.line) == (path, 2)
