"""openai/evals: lines in any order, errors apart, repeated events numbered and warned about."""

import pytest

from evalstats.contract import Outcome
from evalstats.errors import LogError


def test_events_and_report(sample, read):
    reading, found = read(sample("openai-evals"))
    assert [(f.row.case_id, f.row.score, f.row.outcome) for f in found] == [
        ("sums.dev.0", 1.0, Outcome.OK),
        ("sums.dev.1", 0.0, Outcome.OK),
        ("sums.dev.2", None, Outcome.INFRASTRUCTURE),
    ]
    run = found[0].run
    assert (run.suite_id, run.logged.model, run.created_at) == (
        "sums",
        "lab-model",
        "2026-01-01T00:00:00.000Z",
    )
    assert [d.agrees for d in reading.files[0].declared] == [True] and found[
        2
    ].trial.error_class == "RateLimit"


def test_the_order_of_lines_says_nothing(sample, read, make):
    events = [
        {"final_report": {"accuracy": 0.5}},
        make.evals_event(9, "s", "match", correct=False),
        make.evals_spec,
        make.evals_event(3, "s", "match", correct=True),
    ]
    reading, found = read(sample("openai-evals", rows=events))
    assert {f.row.trial_index: f.row.score for f in found} == {1: 1.0, 2: 0.0}
    assert any("repeats, or several things asked" in note for note in reading.files[0].warnings)
    assert found[0].run.logged.model == "lab-model"


def test_an_event_told_twice_is_one(sample, read, make):
    event = make.evals_event(1, "s", "match", correct=True)
    reading, found = read(sample("openai-evals", rows=[make.evals_spec, event, event]))
    assert len(found) == 1 and reading.files[0].duplicates == 1


def test_choices_count_as_the_settings_say(sample, read, make):
    rows = [
        make.evals_spec,
        make.evals_event(1, "a", "metrics", choice="B"),
        make.evals_event(2, "b", "metrics", choice="Z"),
        make.evals_event(3, "c", "metrics", score=0.25),
    ]
    _, found = read(sample("openai-evals", rows=rows))
    assert [f.row.score for f in found] == [0.5, None, 0.25]


def test_a_run_that_crashed_says_so(sample, read, make):
    reading, _ = read(
        sample("openai-evals", rows=[make.evals_spec, make.evals_event(1, "a", "match", correct=True)])
    )
    assert any("did not end" in note for note in reading.files[0].warnings)


@pytest.mark.parametrize("change", [{"sample_id": None}, {"event_id": "1"}, {"event_id": None}])
def test_an_event_needs_its_ids(change, sample, read, make):
    rows = [make.evals_spec, make.evals_event(1, "a", "match", correct=True) | change]
    with pytest.raises(LogError, match=":2: an event needs"):
        read(sample("openai-evals", rows=rows))
