"""Public eval results through the room: what was published or recomputed elsewhere about them must come out.

The tables in `tests/reference/real` are counts derived from public files; where those files lie beside the
repository, the tables are checked against them, and otherwise that check is skipped.
"""

import csv
import json
from collections import Counter
from math import isnan, sqrt
from pathlib import Path

import numpy as np
import pytest
from backports.zstd import zipfile

from evalstats.stats.bands import confidence_band
from evalstats.stats.components import variance_components
from evalstats.stats.equivalence import tost
from evalstats.stats.judge_bias import POWER
from evalstats.stats.means import case_mean, icc
from evalstats.stats.pairs import paired_t
from evalstats.stats.planning import Study
from evalstats.stats.resampling import bootstrap

TABLES = Path(__file__).parents[1] / "reference" / "real"
SHARED = Path(__file__).parents[3] / "shared" / "data"
ESTATE = ("visible_pass", "hidden_pass", "claimed_done", "false_pass", "flagged_gap")
AGENTS = {
    "openhands": "20250711_openhands_claude-4-sonnet",
    "mini-swe": "20250825_swe-agent-mini_claude-4-sonnet",
    "droid-gpt5": "20250924_droid_gpt-5",
}
INSPECT = {  # accuracy, standard error, clustered standard error, ANOVA between, within, ICC(1)
    "a": (0.65, 0.07344887, 0.06123724, 0.06622807, 0.1666667, 0.28436911),
    "b": (0.60, 0.08390157, 0.07015608, 0.10537, 0.14167, 0.42654),
}


def table(name):
    with open(TABLES / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def shared():
    """Return the folder of the public files, or skip."""
    if not SHARED.is_dir():
        pytest.skip("the public files do not lie beside the repository")
    return SHARED


# --- plugin-eval scorecard ------------------------------------------------------------------------


def rates(*arms):
    """Return the rate of criteria met in each case that all arms have, shape (n_cases, n_arms)."""
    rows = [row for row in table("plugin_eval") if all(row[arm] for arm in arms)]
    return np.array([[int(row[arm]) / int(row["total"]) for arm in arms] for row in rows])


def difference(means):
    return means[..., 0] - means[..., 1]


SCORECARD = [  # arms, cases, mean of case differences, percentile bootstrap over cases (+- .005), pooled
    ("with_3_10", "without_plugin", 29, 0.2305, (0.140, 0.328), 0.2351),
    ("with_3_9_0", "without_plugin", 28, 0.0696, (-0.011, 0.159), 0.0618),
    ("with_3_10", "with_3_9_0", 28, 0.1429, (0.059, 0.240), 0.1532),
]
every_difference = pytest.mark.parametrize(("new", "old", "n", "mean", "interval", "pooled"), SCORECARD)


@every_difference
def test_scorecard_differences(new, old, n, mean, interval, pooled):
    record = bootstrap(rates(new, old), difference, rng=np.random.default_rng(1), reps=20_000)
    assert record.n_cases == n
    assert round(record.estimate, 4) == mean == round(paired_t(*rates(new, old).T).estimate, 4)
    assert record.conf_low == pytest.approx(interval[0], abs=0.005)
    assert record.conf_high == pytest.approx(interval[1], abs=0.005)


@every_difference
def test_pooled_over_criteria_is_another_number(new, old, n, mean, interval, pooled):
    rows = [row for row in table("plugin_eval") if row[new] and row[old]]
    met, other, total = (sum(int(row[name]) for row in rows) for name in (new, old, "total"))
    assert round((met - other) / total, 4) == pooled != mean


def test_scorecard_table_is_the_public_file(shared):
    (path,) = (shared / "agentops" / "evals" / "plugin-eval" / "scorecards").glob("*.json")
    cases = json.loads(path.read_text(encoding="utf-8"))["behavior"]["cases"]
    for row in table("plugin_eval"):
        for arm in ("without_plugin", "with_3_9_0", "with_3_10"):
            found = cases[row["case"]][arm]
            assert row[arm] == ("" if found is None else str(found["criteria_met"]))
            assert found is None or row["total"] == str(found["criteria_total"])
    assert len(table("plugin_eval")) == len(cases)


# --- estate ablation ------------------------------------------------------------------------------


def estate(model, measure):
    """Return the pass rate of each task, full and bare."""
    rows = [row for row in table("estate_ablation") if row["model"] == model]
    return tuple(
        [int(row[measure]) / int(row["trials"]) for row in rows if row["arm"] == arm]
        for arm in ("full", "bare")
    )


@pytest.mark.parametrize("measure", ESTATE)
@pytest.mark.parametrize("model", ["gpt-5.6-luna", "gpt-5.6-terra"])
def test_four_tasks_show_no_equivalence(model, measure):
    """Two trials of four tasks: not even a margin of 20 points can be ruled out."""
    arms = estate(model, measure)
    found, seen = tost(*arms, margin=0.2), paired_t(*arms)
    assert seen.n_cases == 4
    if isnan(found.p_value):
        assert found.caveats == ("all cases agree: the variance is not estimable",)
    else:
        assert found.p_value > 0.05
        assert Study(paired=True, power=POWER).multiplier * seen.std_error > 0.2


def test_both_models_together_are_still_four_clusters():
    models = ("gpt-5.6-luna", "gpt-5.6-terra")
    arms = [np.concatenate(rows) for rows in zip(*(estate(m, "hidden_pass") for m in models), strict=True)]
    found = tost(*arms, margin=0.2, clusters=[0, 1, 2, 3] * 2)
    assert found.method == "TOST, t on clusters, CR3" and found.p_value > 0.05


def test_estate_table_is_the_public_file(shared):
    counts, trials = Counter(), Counter()
    for path in sorted((shared / "agentops" / "evals" / "estate-ablation" / "results").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            trial = json.loads(line)
            key = trial["model"], trial["task"], trial["arm"]
            trials[key] += 1
            counts.update({(*key, name): int(passed) for name, passed in trial["score"].items()})
    for row in table("estate_ablation"):
        key = row["model"], row["task"], row["arm"]
        assert int(row["trials"]) == trials[key]
        assert [int(row[name]) for name in ESTATE] == [counts[*key, name] for name in ESTATE]
    assert len(table("estate_ablation")) == len(trials)


# --- terminal-bench -------------------------------------------------------------------------------


BENCH = {  # mean, its error over 80 tasks, observed variance of task means, between, within, SD of run means
    "openhands": (0.4125, 0.0502, 0.2019, 0.1911, 0.0538, 0.0153),
    "mini-swe": (0.1275, 0.0294, 0.0691, 0.0584, 0.0538, 0.0347),
    "droid-gpt5": (0.525, 0.0484, 0.1877, 0.1717, 0.0800, 0.0468),
}


@pytest.mark.parametrize("agent", BENCH)
def test_terminal_bench(agent):
    """The band over runs knows only rerun noise: far less than the error over tasks."""
    rows = [row for row in table("terminal_bench") if row["agent"] == agent]
    runs = np.array([[float(row[f"run{k}"]) for k in range(1, 6)] for row in rows])
    record, reruns = case_mean(runs.mean(axis=1)), confidence_band(runs.mean(axis=0))
    found = variance_components(runs.ravel(), cases=np.repeat(range(80), 5))
    numbers = (
        record.estimate,
        record.std_error,
        80 * record.std_error**2,
        found.case.estimate,
        found.trial.estimate,
        sqrt(5) * reruns.std_error,
    )
    assert numbers == pytest.approx(BENCH[agent], abs=5.1e-5)
    assert (record.n_cases, reruns.n_cases) == (80, 5)


def test_terminal_bench_table_is_the_public_file(shared):
    (path,) = (shared / "terminal-bench").glob("*.csv")
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for agent, submission in AGENTS.items():
        ours = [row for row in rows if row["submission"] == submission]
        runs = sorted({row["run"] for row in ours})
        solved = {(row["task_id"], row["run"]) for row in ours if row["is_resolved"] == "1"}
        for row in table("terminal_bench"):
            if row["agent"] == agent:
                known = [int((row["task"], run) in solved) for run in runs]
                assert [int(row[f"run{k}"]) for k in range(1, 6)] == known


# --- inspect pair ---------------------------------------------------------------------------------


def scores_of(log):
    """Return right or wrong of every epoch, with its case and passage, from an inspect_ai log."""
    with zipfile.ZipFile(log) as archive:
        samples = json.loads(archive.read("summaries.json"))
    samples.sort(key=lambda sample: (sample["id"], sample["epoch"]))
    right = [float(sample["scores"]["match"]["value"] == "C") for sample in samples]
    return right, [s["id"] for s in samples], [s["metadata"]["cluster"] for s in samples]


@pytest.mark.parametrize("model", INSPECT)
def test_inspect_logs(shared, model):
    scores, cases, passages = scores_of(shared / "inspect_ai" / f"gen_flaky_20x4_model-{model}.eval")
    means = np.array(scores).reshape(20, 4).mean(axis=1)
    accuracy, error, clustered, between, within, correlation = INSPECT[model]
    record, by_passage = case_mean(means), case_mean(means, clusters=passages[::4])
    assert record.estimate == pytest.approx(accuracy, abs=1e-12)
    assert record.std_error == pytest.approx(error, abs=1e-8)
    # five equal clusters: CR3 is their C/(C-1), which the tool uses
    assert by_passage.std_error == pytest.approx(clustered, abs=1e-8)
    found = variance_components(scores, cases=cases)
    assert found.case.estimate == pytest.approx(between, abs=5e-6)
    assert found.trial.estimate == pytest.approx(within, abs=5e-6)
    assert icc(scores, clusters=cases).estimate == pytest.approx(correlation, abs=5e-6)


def test_inspect_pair(shared):
    logs = [scores_of(shared / "inspect_ai" / f"gen_flaky_20x4_model-{model}.eval") for model in "ab"]
    first, second = (np.array(scores).reshape(20, 4).mean(axis=1) for scores, _, _ in logs)
    record = paired_t(first, second)
    assert record.estimate == pytest.approx(0.05, abs=1e-12)
    assert record.std_error == pytest.approx(0.04659456, abs=1e-8)
