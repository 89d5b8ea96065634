"""What other tools were complained about cannot happen here: one small input each."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from evalstats import importers, store
from evalstats.contract import Outcome
from evalstats.stats import case_mean


def scores(found):
    told = defaultdict(list)
    for each in found:
        if each.row.score is not None:
            told[each.row.case_id].append(each.row.score)
    return dict(told)


def test_repeats_from_a_cache_are_not_counted_as_trials(sample, read, make):
    rows = [make.promptfoo_row(i, True, "c1", response={"cached": i > 0}) for i in range(10)]
    _, found = read(sample("promptfoo", rows=rows, repeat=10))
    assert scores(found) == {"c1": [1.0]} and Counter(f.row.outcome for f in found)[Outcome.DEGRADED] == 9
    assert sum(f.trial.cached for f in found) == 9  # and they can be asked for


def test_errors_do_not_leave_the_denominator_unseen(sample, read, pour, tmp_path, make):
    lost = make.inspect_sample("b", 2, None, scores=None, error={"message": "E('x')"})
    path = sample("inspect-json", samples=[*make.inspect_samples[:3], lost])
    reading, _found = read(path)
    assert reading.files[0].trials == 4 and dict(reading.files[0].statuses) == {"ok": 3, "error": 1}
    pour(path)
    data = tmp_path / "data"
    store.ingest(data / "s.duckdb", data / "runs")
    with store.open(data / "s.duckdb") as opened:
        table = opened.case_runs("sums").set_index("case_id")
    assert list(table.loc["b", ["n_trials", "n_usable", "n_infrastructure"]]) == [2, 1, 1]


def test_an_aa_pair_is_imported_as_two_looks_at_one_thing(sample, read, make):
    """The verdict of a pair of the same belongs to `compare`; here: same cases, same digests, other runs."""
    one, two = (read(sample("inspect-json", folder=str(i), spec={"task_id": str(i)}))[1] for i in (1, 2))
    assert one[0].run.run_id != two[0].run.run_id
    assert scores(one) == scores(two) and one[0].run.cases.digest == two[0].run.cases.digest


def test_a_pass_rate_does_not_hide_a_case_that_fails_ten_of_ten(sample, read):
    rows = "".join(
        f"{case},{trial},{int(case != 'hard')}\n"
        for case in ("a", "b", "c", "hard")
        for trial in range(1, 11)
    )
    _, found = read(sample("table", text=f"case,trial,score\n{rows}"))
    assert {case: (len(each), sum(each)) for case, each in scores(found).items()}["hard"] == (10, 0.0)


def test_a_test_index_does_not_group_repeats(sample, read, make):
    rows = [make.promptfoo_row(i, i % 2 == 0, None, vars={"q": "xy"[i % 2]}) for i in range(6)]  # x y x y x y
    _, found = read(sample("promptfoo", rows=rows, repeat=3))
    assert sorted(scores(found).values()) == [[0.0] * 3, [1.0] * 3]  # testIdx // 3 would mix them


def test_metrics_of_each_epoch_are_there(sample, read, make):
    _, found = read(sample("inspect-json"))
    by_epoch = defaultdict(list)
    for each in found:
        by_epoch[each.row.trial_index].append(each.row.score)
    assert {epoch: sum(s) / len(s) for epoch, s in by_epoch.items()} == {1: 1.0, 2: 0.5}


def test_a_case_mean_already_carries_its_trials(sample, read):
    """Three tries of each case: the error over case means is all there is, nothing within is added to it."""
    rows = "".join(f"c{c},{t},{int(c * t % 7 > 2)}\n" for c in range(30) for t in range(1, 4))
    _, found = read(sample("table", text=f"case,trial,score\n{rows}"))
    means = [np.mean(each) for each in scores(found).values()]
    assert case_mean(means).std_error == pytest.approx(np.std(means, ddof=1) / np.sqrt(30))
    assert len(found) == 90 and len(means) == 30


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_sample_repeated_after_a_resume_counts_once(sample, read, make):
    again = ("samples/a_epoch_1 (2).json", make.inspect_samples[0])
    reading, found = read(sample("inspect-eval", more=[again]))
    assert len(found) == 4 and reading.files[0].duplicates == 1


def test_eight_repeats_are_not_shown_as_their_mean(sample, read, make):
    answers = ["yes", *["no"] * 7]
    rows = [make.lm_sample(0, 1.0, resps=[answers])]
    _, found = read(sample("lm-eval", rows=rows))
    assert len(found) == 8 and scores(found) == {
        "0": [1.0]
    }  # one of them is scored, and seven say they are not
    assert scores(read(sample("lm-eval", rows=rows), rescore=True)[1]) == {"0": [1.0, *[0.0] * 7]}


def test_one_answer_for_all_seeds_is_one_look(sample, read):
    rows = "".join(
        f"c{c},{seed},0.7312,{'true' if seed else 'false'}\n" for c in range(3) for seed in range(5)
    )
    _, found = read(sample("table", text=f"case,seed,score,cached\n{rows}"))
    assert {case: len(each) for case, each in scores(found).items()} == {"c0": 1, "c1": 1, "c2": 1}


def test_half_a_surrogate_pair_does_not_end_a_run(sample, pour, make, tmp_path):
    samples = [
        make.inspect_sample("a\ud83d", 1, "C", input="\udc00", target="\ud800"),
        make.inspect_sample("b", 1, "I"),
    ]
    assert pour(sample("inspect-json", samples=samples, spec={"dataset": {}, "config": {}})) == 2
    data = tmp_path / "data"
    store.ingest(data / "s.duckdb", data / "runs")
    with store.open(data / "s.duckdb") as opened:
        assert set(opened.trials("sums")["case_id"]) == {"a\\ud83d", "b"}


def test_naive_and_aware_times_give_no_negative_duration(sample, read):
    path = sample("harbor", started_at="2026-01-01T02:00:00", finished_at="2026-01-01T00:30:00+00:00")
    reading, found = read(path)
    assert found[0].trial.duration_s is None and found[0].trial.utc_offset == "naive"
    assert any("marked naive" in note for note in reading.files[0].warnings)


def test_nothing_is_not_mistaken_for_something(sample, pour, read, tmp_path):
    for name, changes in (
        ("table", {"text": "case,score\n"}),
        ("promptfoo", {"rows": []}),
        ("helm", {"rows": []}),
    ):
        path = sample(name, **changes)
        try:
            assert pour(path) == 0 and read(path)[0].files[0].trials == 0
        except importers.logs.LogError as error:
            assert "no known format" in str(error)
    assert not list((tmp_path / "data").glob("runs/*"))
