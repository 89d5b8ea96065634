"""promptfoo: what is asked makes a case, the rank among its rows a trial, failureReason an error."""

from collections import Counter

import pytest

from evalstats.contract import Outcome
from evalstats.errors import LogError


def told(found):
    return [(f.row.case_id, f.row.trial_index, f.row.score) for f in found]


def test_cases_and_repeats(sample, read):
    reading, found = read(sample("promptfoo"))
    assert told(found) == [("c1", 1, 1.0), ("c1", 2, 1.0), ("c2", 1, 1.0), ("c2", 2, 0.0)]
    run = found[0].run
    assert (run.suite_id, run.logged.model, run.logged.tool_version) == ("greetings", "lab:model", "0.121")
    assert all(d.agrees for d in reading.files[0].declared) and len(reading.files[0].declared) == 2
    assert found[0].trial.duration_s == 0.02 and found[0].trial.expectations[0].passed is True


def test_vars_given_as_lists_come_repeat_by_repeat(sample, read, make):
    rows = [make.promptfoo_row(i, True, None, vars={"q": q}) for i, q in enumerate(["x", "y", "x", "y"])]
    _, found = read(sample("promptfoo", rows=rows))
    cases = Counter(f.row.case_id for f in found)
    assert sorted(cases.values()) == [2, 2]
    assert [f.row.trial_index for f in found] == [1, 1, 2, 2]  # and not 1, 2, 1, 2


def test_a_test_may_have_a_repeat_of_its_own(sample, read, make):
    three = {"test": {"options": {"repeat": 3}}}
    rows = [make.promptfoo_row(i, True, "often", **three) for i in range(3)] + [
        make.promptfoo_row(i, True, "c") for i in (3, 4)
    ]
    reading, found = read(sample("promptfoo", rows=rows))
    assert Counter(f.row.case_id for f in found) == {"often": 3, "c": 2}
    assert not any("more than once" in note for note in reading.files[0].warnings)


def test_a_test_that_stands_twice_is_one_case_and_said_to_be(sample, read, make):
    rows = [make.promptfoo_row(i, True) for i in range(4)]  # of two repeats
    reading, found = read(sample("promptfoo", rows=rows))
    assert len({f.row.case_id for f in found}) == 1
    assert any("stands more than once" in note for note in reading.files[0].warnings)


def test_a_cached_answer_is_no_second_look(sample, read, make):
    rows = [make.promptfoo_row(i, True, response={"cached": i > 0}) for i in range(3)]
    _reading, found = read(sample("promptfoo", rows=rows, repeat=3))
    assert [f.row.outcome for f in found] == [Outcome.OK, Outcome.DEGRADED, Outcome.DEGRADED]
    assert [f.trial.cached for f in found] == [False, True, True] and "cache" in found[1].row.reason
    assert found[1].trial.duration_s is None and found[1].trial.cost is None
    rows = [make.promptfoo_row(i, True, response={"cached": True}) for i in range(2)]
    _, found = read(sample("promptfoo", rows=rows))
    assert [f.row.outcome for f in found] == [Outcome.OK, Outcome.DEGRADED]  # the first counts all the same


def test_an_error_is_told_by_its_reason_and_not_by_its_text(sample, read, make):
    rows = [make.promptfoo_row(0, False), make.promptfoo_row(1, False, failureReason=2, error="429\nslow")]
    _, found = read(sample("promptfoo", rows=rows))
    assert [(f.row.outcome, f.row.score) for f in found] == [
        (Outcome.OK, 0.0),
        (Outcome.INFRASTRUCTURE, None),
    ]
    assert found[1].trial.reason == "429" and found[1].trial.cost is None


def test_older_rows_without_a_reason(sample, read, make):
    rows = [
        make.promptfoo_row(0, False, failureReason=None, gradingResult=None),
        make.promptfoo_row(1, False, failureReason=None),
    ]
    _, found = read(sample("promptfoo", rows=rows))
    assert [f.row.outcome for f in found] == [Outcome.INFRASTRUCTURE, Outcome.OK]


def test_providers_are_runs_of_one_pair(sample, read, make):
    rows = [make.promptfoo_row(i, True, "c1", provider) for i, provider in enumerate(["lab:a", "lab:b"])]
    rows.append(make.promptfoo_row(2, True, "c1", provider={"id": "lab:b", "label": "named"}))
    rows[-1]["provider"] = {"id": "lab:b", "label": "named"}
    _, found = read(sample("promptfoo", rows=rows))
    assert {f.run.logged.model for f in found} == {"lab:a", "lab:b", "named"}
    assert len({f.run.group_id for f in found}) == 1 and len({f.row.case_id for f in found}) == 1


def test_one_case_keeps_its_name_and_content_in_another_evaluation(sample, read, make):
    _, one = read(sample("promptfoo"))
    _, two = read(sample("promptfoo", evalId="eval-2"))
    assert one[0].run.run_id != two[0].run.run_id
    assert one[0].run.cases.listed == two[0].run.cases.listed


def test_who_grades_a_rubric(sample, read, make):
    rubric = {"type": "llm-rubric", "provider": "lab:judge"}
    rows = [make.promptfoo_row(0, True, test={"assert": [rubric]})]
    assert read(sample("promptfoo", rows=rows))[1][0].run.logged.judge_model == "lab:judge"
    rows = [make.promptfoo_row(0, True, test={"assert": [{"type": "llm-rubric"}]})]
    config = {"defaultTest": {"options": {"provider": {"id": "lab:default"}}}}
    assert read(sample("promptfoo", rows=rows, config=config))[1][0].run.logged.judge_model == "lab:default"
    assert (
        read(sample("promptfoo"))[1][0].run.logged.judge_model is None
    )  # the default grader is not recorded


def test_named_scores_can_count(sample, read, make):
    rows = [make.promptfoo_row(0, True, namedScores={"tone": 0.25})]
    _, found = read(sample("promptfoo", rows=rows), metric="tone")
    assert (found[0].row.score, found[0].trial.passed) == (0.25, False)


def test_lines_tell_rows_only(sample, read):
    reading, found = read(sample("promptfoo-lines"))
    assert len(found) == 4 and any("neither time nor settings" in note for note in reading.files[0].warnings)


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ({"testCase": None}, "/results/results/1"), ({"testIdx": "1"}, "/results/results/1/testIdx"),
        ({"testIdx": True}, "testIdx"), ({"success": "false"}, "success"), ({"failureReason": 7}, "failureReason"),
    ],
)  # fmt: skip
def test_a_row_that_lacks_what_it_needs_is_named(row, place, sample, read, make):
    rows = [make.promptfoo_row(0, True), make.promptfoo_row(1, True) | row]
    with pytest.raises(LogError, match=place):
        read(sample("promptfoo", rows=rows))


def test_an_old_version_is_refused(sample, read):
    with pytest.raises(LogError, match="version 3"):
        read(sample("promptfoo", results={"version": 2, "table": {"head": {}, "body": []}}))
    with pytest.raises(LogError, match="version 3"):
        read(sample("promptfoo", results={"version": 3, "results": {}}))


def test_case_names_that_are_shared_get_a_digest(sample, read, make):
    rows = [
        make.promptfoo_row(0, True, "same", vars={"q": 1}),
        make.promptfoo_row(1, True, "same", vars={"q": 2}),
    ]
    _, found = read(sample("promptfoo", rows=rows, repeat=1))
    names = {f.row.case_id for f in found}
    assert len(names) == 2 and all(name.startswith("same [") for name in names)
