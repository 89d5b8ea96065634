"""A trial has one identity and one seed wherever it runs, and survives its journal unchanged."""

import hashlib
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats import contract
from evalstats.contract import Arm, ExpectationType, Isolation, Outcome, Status
from evalstats.trials import (
    ExpectationResult,
    Trial,
    run_seed,
    timestamp,
    trial_from_record,
    trial_key,
    trial_seed,
)

TRIAL = Trial(
    run_id="eval-1",
    suite_id="door",
    case_id="open",
    arm=Arm.SKILL_ON,
    trial_index=2,
    status=Status.PASS,
    outcome=Outcome.OK,
    started_at="2026-01-02T03:04:05.678Z",
    score=1.0,
    passed=True,
)
FULL = replace(
    TRIAL,
    archetype="A1",
    attempt=2,
    seed=7,
    dimension_scores={"correctness": 1.0, "safety": None},
    expectations=(
        ExpectationResult(
            index=0, type=ExpectationType.REGEX, required=True, passed=None, detail="line\n\u2028 é"
        ),
    ),
    duration_s=0.25,
    exit_code=-9,
    tokens_in=1,
    tokens_out=0,
    cost=0.01,
    cited_cards=("a", "b"),
    cited_recipes=(),
    isolation=Isolation.BWRAP,
    artifacts={"stdout": "0" * 64},
)


def by_hand(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def test_the_key_is_pinned():
    # Stores hold these digests, so they may never move. The literal comes from coreutils sha256sum.
    assert trial_key("eval-1", "open", Arm.SKILL_ON, 2) == by_hand(b"5:trial6:eval-14:open8:skill-on1:2")
    assert TRIAL.key == "7898366281c85ff61ff4e7dcab4f6501c6313d5959f7d74ebd67841a73a67b43"
    assert trial_key("r", "é", "skill-off", 10) == by_hand("5:trial1:r2:é9:skill-off2:10".encode())


def test_the_seed_is_pinned():
    assert trial_seed(42, "open", "skill-on", 2) == int(by_hand(b"4:seed2:424:open8:skill-on1:2")[:12], 16)
    assert run_seed("eval-1") == int(by_hand(b"3:run6:eval-1")[:12], 16)


PARTS = st.tuples(
    st.text(max_size=9), st.text(max_size=9), st.sampled_from(["skill-on", "skill-off"]), st.integers(1, 99)
)


@given(one=PARTS, other=PARTS)
def test_no_parts_imitate_others(one, other):
    assert (trial_key(*one) == trial_key(*other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a1:b", "c"), ("a", "b1:c")),
        (("", "ab"), ("ab", "")),
        (("é", ""), ("", "é")),
    ],
)
def test_moving_a_letter_between_the_parts_moves_the_key(one, other):
    assert trial_key(*one, "skill-on", 1) != trial_key(*other, "skill-on", 1)


@given(seed=st.integers(0, 2**53 - 1), case=st.text(max_size=9), index=st.integers(1, 10**6))
def test_seeds_are_exact_in_json_and_differ_by_arm(seed, case, index):
    on, off = (trial_seed(seed, case, arm, index) for arm in (Arm.SKILL_ON, Arm.SKILL_OFF))
    assert 0 <= on < 2**48 < 2**53 and on != off
    assert json.loads(json.dumps(float(on))) == on


def test_two_runs_are_no_clones_but_one_seed_is_a_replica():
    assert run_seed("eval-1") != run_seed("eval-2")
    assert trial_seed(1, "open", "skill-on", 1) != trial_seed(2, "open", "skill-on", 1)
    assert trial_seed(1, "open", "skill-on", 1) == trial_seed(1, "open", "skill-on", 1)


def test_half_a_surrogate_pair_counts_as_the_question_mark_a_journal_writes():
    assert trial_key("r", "a\ud800", "skill-on", 1) == trial_key("r", "a?", "skill-on", 1)


# --- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("trial", [TRIAL, FULL], ids=["short", "full"])
def test_a_trial_survives_its_record(trial):
    record = json.loads(json.dumps(trial.as_record()))
    assert contract.problems(record, "trial.v1") == []
    back = trial_from_record(record)
    assert back == trial
    assert (type(back.arm), type(back.outcome), type(back.status)) == (Arm, Outcome, Status)
    assert trial_from_record(trial.as_record()) == trial


def test_the_record_holds_what_the_schema_names():
    names = contract.schema("trial.v1")["properties"]
    assert set(TRIAL.as_record()) == set(names)
    assert all(TRIAL.as_record()[name] is None for name in ("seed", "cost", "tokens_in", "duration_s"))


# --- what a trial may be --------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [o for o in Outcome if o.usable])
def test_a_usable_trial_needs_a_score(outcome):
    with pytest.raises(ValueError, match="exactly when usable"):
        replace(TRIAL, outcome=outcome, score=None)


@pytest.mark.parametrize("outcome", [o for o in Outcome if not o.usable])
def test_an_unusable_trial_has_a_reason_and_no_score(outcome):
    with pytest.raises(ValueError, match="exactly when usable"):
        replace(TRIAL, outcome=outcome, reason="why", score=0.0)
    for reason in (None, ""):
        with pytest.raises(ValueError, match="needs a reason"):
            replace(TRIAL, outcome=outcome, score=None, passed=None, reason=reason)
    lost = replace(TRIAL, outcome=outcome, score=None, passed=None, reason="why")
    assert (lost.score, lost.passed) == (None, None)


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_score_lies_between_0_and_1(score):
    with pytest.raises(ValueError, match="between 0 and 1"):
        replace(TRIAL, score=score)


# --- time -----------------------------------------------------------------------------------------


def test_times_are_utc_with_milliseconds():
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=timezone(timedelta(hours=2)))
    assert timestamp(moment) == "2026-01-02T01:04:05.678Z"
    pattern = contract.schema("words.v1")["$defs"]["timestamp"]["pattern"]
    assert re.fullmatch(pattern, timestamp())
    written = datetime.fromisoformat(timestamp())
    assert timedelta(0) <= datetime.now(UTC) - written < timedelta(minutes=1)
