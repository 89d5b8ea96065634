"""Ids, times, scores and texts: each known, or NULL with a reason."""

import json

import pytest

from evalstats.contract import Arm, Outcome
from evalstats.importers import Options, Row
from evalstats.importers.rules import (
    bounded,
    hold,
    moment,
    plain,
    seconds_between,
    slug,
    takes_over,
    trial_of,
)
from evalstats.journal import encode


def held(**row):
    made = Row(**{"case_id": "a", "trial_index": 1, "locator": "line 1", "score": 1.0} | row)
    hold(made, Options())
    return trial_of(made, run_id="r", suite_id="s", arm=Arm.CANDIDATE, source=("f", "0" * 64))


@pytest.mark.parametrize(
    ("written", "utc", "offset"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z", "+00:00"),
        ("2025-05-12T20:28:26.123456789-04:00", "2025-05-13T00:28:26.123Z", "-04:00"),
        ("2026-01-01 05:30:00+0530", "2026-01-01T00:00:00.000Z", "+05:30"),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00.000Z", "naive"),
        ("2026-01-01", "2026-01-01T00:00:00.000Z", "naive"),
        ("0001-01-01T00:00:00+14:00", None, None),
        ("9999-12-31T23:59:59-14:00", None, None),
        ("20260101", None, None),
        ("yesterday", None, None),
        ("", None, None),
        (None, None, None),
        ("12:00", None, None),
    ],
)
def test_times_become_utc_and_keep_their_offset(written, utc, offset):
    assert moment(written) == (utc, offset)
    trial = held(started_at=written)
    assert (trial.started_at, trial.utc_offset) == (utc, offset)


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", 0.0),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:01.5", 1.5),
        ("2026-01-01T02:00:00", "2026-01-01T00:30:00Z", None),  # one names no zone: who knows
        ("2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z", None),  # never negative
        (None, "2026-01-01T00:00:00Z", None),
        (5, 6, None),
    ],
)
def test_naive_and_aware_times_never_give_a_negative_duration(start, end, seconds):
    assert seconds_between(start, end) == seconds


@pytest.mark.parametrize("score", [float("nan"), float("inf"), 10**400, 2, -0.0001, "x"])
def test_a_score_that_is_none_is_null_with_a_reason(score):
    trial = held(score=score)
    assert trial.score is None and trial.outcome is Outcome.UNSCORED and trial.reason and trial.passed is None


def test_a_subjects_own_timeout_is_a_zero_and_a_lost_trial_is_not():
    assert held(score=None, outcome=Outcome.TIMEOUT).score == 0.0
    assert held(score=0.5, outcome=Outcome.INFRASTRUCTURE).score is None


def test_unknown_counts_stay_unknown():
    trial = held(tokens_in=-1, tokens_out=None, duration_s=-3.0, cost=float("nan"), tool_calls=2**60)
    assert (trial.tokens_in, trial.tokens_out, trial.duration_s, trial.cost, trial.tool_calls) == (None,) * 5


def test_halves_of_surrogate_pairs_are_escaped_and_stay_two_cases():
    one, two = held(case_id="x\ud83d", reason="\udc00"), held(case_id="x\ud83e", locator="\ud800")
    assert (one.case_id, two.case_id) == ("x\\ud83d", "x\\ud83e") and one.reason == "\\udc00"
    for trial in (one, two, held(archetype="\ud800", stop_reason="\ud800", scores={"\ud800": 1.0})):
        assert json.loads(encode(trial.as_record()))


def test_long_names_are_cut_and_stay_apart():
    names = {bounded("x" * 600 + end) for end in "ab"} | {bounded("x" * 500)}
    assert len(names) == 3 and all(len(name) <= 500 for name in names)
    assert held(case_id="x" * 600 + "a").case_id != held(case_id="x" * 600 + "b").case_id
    assert len(held(reason="y" * 9999, outcome=Outcome.SKIPPED).reason) == 500


def test_what_strict_json_cannot_hold_is_put_so_that_it_can():
    found = plain({"a": [float("nan"), 2**60, 1e300, True, None, "\ud800", ("t",)], "\ud800": -(10**50)})
    assert found == {"a": ["nan", str(2**60), 1e300, True, None, "\\ud800", ["t"]], "\\ud800": str(-(10**50))}
    assert json.loads(json.dumps(found, allow_nan=False).encode())


@pytest.mark.parametrize(
    ("name", "expected"), [("My Suite/β v1", "my-suite-v1"), ("a" * 200, "a" * 100), ("..x", "x")]
)
def test_slugs(name, expected):
    assert slug(name) == expected


def test_a_name_without_a_letter_still_names_a_suite():
    assert (
        slug("测试") != slug("試験")
        and slug("测试").startswith("suite-")
        and slug("\ud800").startswith("suite-")
    )


@pytest.mark.parametrize(
    ("usable", "attempts", "on_conflict", "expected"),
    [
        ((True, True), (1, 1), "error", None),
        ((True, True), (1, 1), "first", False),
        ((True, True), (1, 1), "last", True),
        ((False, True), (1, 1), "error", True),
        ((True, False), (1, 1), "error", False),
        ((False, False), (1, 1), "error", False),
        ((True, True), (1, 2), "error", True),
        ((False, True), (2, 1), "last", False),
    ],
)
def test_which_telling_of_a_trial_counts(usable, attempts, on_conflict, expected):
    assert takes_over(usable=usable, attempts=attempts, on_conflict=on_conflict) is expected
