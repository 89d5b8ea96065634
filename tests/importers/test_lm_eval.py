"""lm-evaluation-harness: filters apart, repeats unscored unless asked, aggregates refused."""

import json

import pytest

from evalstats.contract import Outcome
from evalstats.errors import LogError


def test_rows_and_what_the_results_declare(sample, read):
    reading, found = read(sample("lm-eval"))
    assert [(f.row.case_id, f.row.trial_index, f.row.score) for f in found] == [
        ("0", 1, 1.0),
        ("1", 1, 0.0),
        ("2", 1, 1.0),
    ]
    assert {d.name: d.agrees for d in reading.files[0].declared} == {
        "n-samples": True, "exact_match,none": True, "exact_match_stderr,none": True,
    }  # fmt: skip
    run = found[0].run
    assert (run.suite_id, run.logged.model, run.created_at) == (
        "task",
        "lab/model",
        "2026-01-01T00:00:00.500Z",
    )


def test_a_folder_gives_the_results_and_the_samples_once(sample, read):
    reading, found = read(sample("lm-eval").parent)
    assert [(file.format, file.trials) for file in reading.files] == [("lm-eval", 0), ("lm-eval", 3)] and len(
        found
    ) == 3


def test_two_filters_of_one_document_are_two_suites(sample, read, make):
    rows = [make.lm_sample(d, s, name) for name, s in (("first", 1.0), ("maj", 0.0)) for d in (0, 1)]
    reading, found = read(sample("lm-eval", rows=rows))
    assert {f.run.suite_id for f in found} == {"task.first", "task.maj"} and reading.files[0].runs == 2
    assert {f.row.trial_index for f in found} == {1} and reading.files[0].cases == 2


def test_repeats_are_unscored_until_asked_for(sample, read, make):
    rows = [make.lm_sample(0, 1.0, resps=[["yes", "no", "YES"]])]
    _, found = read(sample("lm-eval", rows=rows))
    assert [(f.row.trial_index, f.row.score, f.row.outcome) for f in found] == [
        (1, 1.0, Outcome.OK), (2, None, Outcome.UNSCORED), (3, None, Outcome.UNSCORED),
    ]  # fmt: skip
    assert "--rescore" in found[1].row.reason
    _, found = read(sample("lm-eval", rows=rows), rescore=True)
    assert [f.row.score for f in found] == [1.0, 0.0, 1.0]  # case is ignored, as the task says


def test_rescoring_is_refused_where_the_rule_is_not_known(sample, read, make):
    path = sample("lm-eval")
    beside = next(path.parent.glob("results_*"))
    for change, message in (
        ({"metric_list": [{"metric": "bleu"}]}, "only plain exact match"),
        ({"filter_list": [{"name": "none", "filter": [{"function": "regex"}]}]}, "changes answers"),
    ):
        results = json.loads(json.dumps(make.lm_results))
        results["configs"]["task"] |= change
        beside.write_text(json.dumps(results))
        with pytest.raises(LogError, match=message):
            read(path, rescore=True)
    beside.unlink()
    with pytest.raises(LogError, match="only plain exact match"):
        read(path, rescore=True)


def test_choices_have_likelihoods_and_no_repeats(sample, read, make):
    likelihoods = [[["-3.5", "False"]], [["-0.1", "True"]]]
    _, found = read(sample("lm-eval", rows=[make.lm_sample(0, 1.0, resps=likelihoods)]))
    assert len(found) == 1


def test_a_value_that_is_no_score_is_not_averaged(sample, read, make):
    rows = [make.lm_sample(0, [1, 2]), make.lm_sample(1, 7.5), make.lm_sample(2, "N/A")]
    _reading, found = read(sample("lm-eval", rows=rows))
    assert [f.row.score for f in found] == [None] * 3 and all(f.row.reason for f in found)


def test_fewer_rows_than_the_results_count_are_shown(sample, read, make):
    reading, _ = read(sample("lm-eval", rows=[make.lm_sample(0, 1.0), make.lm_sample(1, 0.0)]))
    differing = {d.name: (d.declared, d.recomputed) for d in reading.files[0].declared if not d.agrees}
    assert differing["n-samples"] == (3.0, 2.0)


def test_lower_is_better_is_said(sample, read, make):
    path = sample("lm-eval")
    beside = next(path.parent.glob("results_*"))
    beside.write_text(json.dumps(make.lm_results | {"higher_is_better": {"task": {"exact_match": False}}}))
    reading, _ = read(path)
    assert any("of exact_match less is better" in note for note in reading.files[0].warnings)


def test_without_results_model_and_settings_are_unknown(sample, read):
    path = sample("lm-eval")
    next(path.parent.glob("results_*")).unlink()
    reading, found = read(path)
    assert found[0].run.logged.model is None
    assert any("no results file" in note for note in reading.files[0].warnings)


def test_results_alone_are_refused_and_a_lost_samples_file_is_named(sample, read, tmp_path, make):
    path = sample("lm-eval")
    beside = next(path.parent.glob("results_*"))
    beside.write_text(json.dumps(make.lm_results | {"results": {**make.lm_results["results"], "other": {}}}))
    reading, _ = read(beside)
    assert "the samples of other do not lie beside it" in reading.files[0].warnings
    path.unlink()
    with pytest.raises(LogError, match="--log_samples"):
        read(beside)


@pytest.mark.parametrize(
    "row", [{"doc_id": None}, {"doc_id": True}, {"metrics": "acc"}, {"metrics": [1]}, {"filter": 3}]
)
def test_a_row_that_lacks_what_it_needs(row, sample, read, make):
    with pytest.raises(LogError, match=":2: "):
        read(sample("lm-eval", rows=[make.lm_sample(0, 1.0), make.lm_sample(1, 1.0) | row]))


def test_a_log_that_has_grown_adds_what_is_new(sample, pour, make):
    rows = [make.lm_sample(i, 1.0) for i in range(3)]
    path = sample("lm-eval", rows=rows[:2])
    next(path.parent.glob("results_*")).unlink()
    assert pour(path) == 2
    path = sample("lm-eval", folder="moved", rows=rows)
    next(path.parent.glob("results_*")).unlink()
    assert [pour(path), pour(path)] == [1, 0]
