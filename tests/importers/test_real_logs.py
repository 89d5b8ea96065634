"""Real logs of real tools: what the tools say of them comes out of the imported rows, at full precision."""

import json
import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from evalstats.contract import Arm, Outcome
from evalstats.stats import case_mean, paired_t, variance_components, wilson
from evalstats.stats.means import icc


def by_case(found, **wanted):
    """Return case -> scores of its usable trials, of the runs that match."""
    scores = defaultdict(list)
    for each in found:
        if each.row.score is not None and all(
            getattr(each.run, name) == value for name, value in wanted.items()
        ):
            scores[each.row.case_id].append(each.row.score)
    return scores


def means(scores):
    return [sum(each) / len(each) for each in scores.values()]


# --- Inspect AI -----------------------------------------------------------------------------------

INSPECT = {  # accuracy, standard error, clustered standard error
    "gen_flaky_20x4_model-a.eval": (0.65, 0.07344887229975192, 0.06123724356957945),
    "gen_flaky_20x4_model-b.eval": (0.60, 0.08390157140489399, 0.0701560760020114),
    "gen_flaky_10x4.eval": (0.625, 0.08539125638299666, 0.08838834764831845),
}


@pytest.mark.parametrize("name", INSPECT)
def test_inspect_means_and_standard_errors(name, read, shared):
    accuracy, std_error, clustered = INSPECT[name]
    reading, found = read(shared / "inspect_ai" / name, cluster_key="metadata.cluster")
    scores = by_case(found)
    cluster = {f.row.case_id: f.row.archetype for f in found}
    plain = case_mean(means(scores), level=0.95)
    assert plain.estimate == pytest.approx(accuracy, abs=1e-15)
    assert plain.std_error == pytest.approx(std_error, rel=1e-14)
    by_cluster = case_mean(means(scores), clusters=[cluster[case] for case in scores], level=0.95)
    assert by_cluster.std_error == pytest.approx(clustered, rel=1e-14)
    declared = {d.name: d for d in reading.files[0].declared}
    assert all(d.agrees for d in declared.values())
    assert declared["match/stderr(cluster)"].declared == pytest.approx(clustered, rel=1e-14)


def test_inspect_intervals(read, shared):
    _, found = read(shared / "inspect_ai/gen_flaky_20x4_model-a.eval")
    interval = case_mean(means(by_case(found)), level=0.95)
    assert (interval.conf_low, interval.conf_high) == pytest.approx((0.4962697, 0.8037303), abs=5e-8)
    wilson_on_cases = wilson(13, 20, level=0.95)
    assert (wilson_on_cases.conf_low, wilson_on_cases.conf_high) == pytest.approx(
        (0.4328543, 0.8188082), abs=5e-8
    )


def test_the_inspect_pair(read, shared):
    folder = shared / "inspect_ai"
    _, a = read(folder / "gen_flaky_20x4_model-a.eval")
    _, b = read(folder / "gen_flaky_20x4_model-b.eval")
    one, two = by_case(a), by_case(b)
    assert set(one) == set(two)
    pair = paired_t([np.mean(one[c]) for c in one], [np.mean(two[c]) for c in one])
    assert pair.estimate == pytest.approx(0.05, abs=1e-15)
    assert pair.std_error == pytest.approx(0.04659456, abs=5e-9)
    for log, expected in ((one, (0.06622807, 0.1666667, 0.28436911)), (two, (0.10537, 0.14167, 0.42654))):
        scores, cases = [s for c in log for s in log[c]], [c for c in log for _ in log[c]]
        parts = variance_components(scores, cases=cases)
        found = (parts.case.estimate, parts.trial.estimate, icc(scores, clusters=cases).estimate)
        assert found == pytest.approx(expected, abs=5e-6)


def test_an_archive_and_a_document_of_one_run_are_one_run(read, pour, shared):
    paths = [shared / "inspect_ai" / f"gen_flaky_10x4.{kind}" for kind in ("eval", "json")]
    said = []
    for path in paths:
        _, found = read(path)
        trials = [f.trial.as_record() for f in found]
        for trial in trials:
            assert trial.pop("source_path") == str(path)
            del trial["source_sha256"], trial["source_locator"]
        said.append(trials)
    assert said[0] == said[1] and len(said[0]) == 40
    assert [pour(path) for path in (*paths, *paths)] == [40, 0, 0, 0]
    reading, found = read(*paths)
    assert (len(found), len(reading.runs), reading.files[1].duplicates) == (40, 1, 40)


def test_what_leaves_the_denominator_is_seen(read, shared):
    _, found = read(shared / "inspect_ai/gen_nan_and_errors_8x2.json")
    outcomes = Counter(f.row.outcome for f in found)
    assert outcomes == {Outcome.OK: 13, Outcome.UNSCORED: 2, Outcome.INFRASTRUCTURE: 1}
    assert len(found) == 16 and sum(f.row.outcome is not Outcome.INFRASTRUCTURE for f in found) == 15
    scores = by_case(found)
    assert len(scores) == 7 and "case-05" not in scores
    assert case_mean(means(scores)).estimate == pytest.approx(0.39285714, abs=5e-9)
    assert {f.row.case_id for f in found if f.row.score is None and f.row.case_id == "case-05"} == {"case-05"}
    as_failures = defaultdict(list)
    for f in found:
        as_failures[f.row.case_id].append(f.row.score or 0.0)
    assert case_mean(means(as_failures)).estimate < 0.39285714 and len(as_failures) == 8


def test_a_log_that_failed_has_samples_and_no_metrics(read, shared):
    reading, found = read(shared / "inspect_ai/gen_status-error_8x2.eval")
    assert len(found) == 16 and reading.files[0].declared == []
    assert "the log ended with status error" in reading.files[0].warnings


def test_older_inspect_logs(read, shared):
    reading, found = read(shared / "inspect_ai/repo_log_streaming.eval")
    assert case_mean(means(by_case(found))).estimate == 0.75
    assert all(d.agrees for d in reading.files[0].declared)
    _, found = read(next((shared / "inspect_ai").glob("repo_*security-guide.json")))
    assert {f.trial.utc_offset for f in found} == {"-04:00"}
    assert all(f.trial.started_at.endswith("Z") for f in found)


# --- lm-evaluation-harness ------------------------------------------------------------------------


def test_lm_eval(read, shared):
    reading, found = read(*sorted((shared / "lm-eval").glob("*mc*.jsonl")))
    estimate = case_mean(means(by_case(found)))
    assert (estimate.estimate, estimate.std_error) == pytest.approx((0.25, 0.06933752452815363), rel=1e-14)
    _, found = read(*sorted((shared / "lm-eval").glob("*mc*.jsonl")), metric="acc_norm")
    assert case_mean(means(by_case(found))).estimate == pytest.approx(0.225)
    assert all(d.agrees for d in reading.files[0].declared) and len(reading.files[0].declared) == 5


def test_two_filters_are_two_runs_and_not_two_trials(read, shared):
    _, found = read(*sorted((shared / "lm-eval").glob("*gen*.jsonl")))
    rates = {
        suite: case_mean(means(by_case(found, suite_id=f"dummy_gen_repeats.{suite}"))).estimate
        for suite in ("first", "maj")
    }
    assert rates == {"first": pytest.approx(0.72), "maj": pytest.approx(0.76)}
    counts = Counter(f.row.outcome for f in found)
    assert counts == {Outcome.OK: 50, Outcome.UNSCORED: 150}  # of 4 answers to each document one is scored
    assert len({f.row.case_id for f in found}) == 25
    _, found = read(*sorted((shared / "lm-eval").glob("*gen*.jsonl")), rescore=True)
    assert Counter(f.row.outcome for f in found) == {Outcome.OK: 200}


# --- promptfoo, JUnit, SWE-bench ------------------------------------------------------------------


def test_promptfoo(read, shared):
    reading, found = read(shared / "promptfoo/gen_repeat5_2providers.json")
    assert len(found) == 70 and {f.row.trial_index for f in found} == {1, 2, 3, 4, 5}
    assert Counter("pass" if f.row.passed else "fail" if f.row.score is not None else "error" for f in found) == {
        "pass": 35, "fail": 25, "error": 10,
    }  # fmt: skip
    passes = defaultdict(Counter)
    for f in found:
        passes[f.run.logged.model][f.row.case_id] += bool(f.row.passed)
    assert {model: [counts[case] for case in sorted(counts)] for model, counts in passes.items()} == {
        # c1 to c5, the case of errors, the one with a name beyond ASCII
        "model-a": [5, 5, 2, 2, 0, 0, 3],
        "model-b": [5, 4, 3, 2, 0, 0, 4],
    }
    assert all(d.agrees for d in reading.files[0].declared) and len(reading.files[0].declared) == 6


def test_junit(read, shared):
    reading, found = read(shared / "junit/pytest_count5.xml")
    assert len(found) == 40
    assert Counter(f.row.outcome for f in found) == {
        Outcome.OK: 25,
        Outcome.INFRASTRUCTURE: 5,
        Outcome.SKIPPED: 10,
    }
    assert sum(f.row.passed is False for f in found) == 14
    agent = [f.row.passed for f in found if f.row.case_id.startswith("test_flaky::test_agent")]
    assert (sum(agent), len(agent)) == (11, 20)
    assert all(d.agrees for d in reading.files[0].declared) and len(reading.files[0].declared) == 4


def test_swe_bench(read, shared):
    reading, found = read(shared / "swe-bench/org__demo-agent.run1.json")
    assert len(found) == 14 and sum(f.row.score for f in found) == 7
    assert Counter(f.row.reason for f in found if not f.row.score) == {None: 6, "empty patch": 1}
    assert {f.row.archetype for f in found} == {"astropy__astropy", "django__django"}
    assert all(d.agrees for d in reading.files[0].declared) and len(reading.files[0].declared) == 6


# --- skill-creator --------------------------------------------------------------------------------


def test_skill_creator(read, shared):
    reading, found = read(shared / "skill-creator/gen_benchmark_4x3_missing-run.json")
    assert len(found) == 23
    rates = {arm: [f.row.score for f in found if f.run.arm is arm] for arm in (Arm.SKILL_ON, Arm.SKILL_OFF)}
    assert {arm: round(sum(scores) / len(scores), 4) for arm, scores in rates.items()} == {
        Arm.SKILL_ON: 0.7833, Arm.SKILL_OFF: 0.5273,
    }  # fmt: skip
    assert round(case_mean(means(by_case(found, arm=Arm.SKILL_OFF))).estimate, 4) == 0.5167
    assert None in {f.row.duration_s for f in found} and 0.0 not in {f.row.duration_s for f in found}
    assert {f.row.tokens_out for f in found} == {None}  # characters, where the tool had no tokens
    assert {f.run.logged.model for f in found} == {None}
    assert any("runs are missing" in note for note in reading.files[0].warnings)
    assert all(d.agrees for d in reading.files[0].declared)


def test_benchmarks_that_hold_no_trials_are_refused(read, shared):
    from evalstats.errors import LogError

    with pytest.raises(LogError, match=r"different expectations .*18.*6"):
        read(shared / "skill-creator/lid_bidiff_iter1_benchmark.json")
    with pytest.raises(LogError, match="aggregates only"):
        read(shared / "skill-creator/repo_holacracy_benchmark.json")


def test_arms_that_are_identical_in_every_outcome(read, shared):
    for name, mean in (("skill-eval_self", 0.35), ("data-analysis", 0.8778)):
        _, found = read(shared / f"skill-creator/melanie531_{name}_benchmark.json")
        on, off = by_case(found, arm=Arm.SKILL_ON), by_case(found, arm=Arm.SKILL_OFF)
        assert on == off and round(case_mean(means(on)).estimate, 4) == mean


# --- terminal-bench -------------------------------------------------------------------------------

AGENTS = {
    "20250711_openhands_claude-4-sonnet": (
        [0.40, 0.4125, 0.4375, 0.40, 0.4125], (0.4125, 0.0502, 0.2019, 0.1911, 0.0538, 0.0153),
    ),
    "20250825_swe-agent-mini_claude-4-sonnet": (
        [0.1375, 0.1125, 0.15, 0.1625, 0.075], (0.1275, 0.0294, 0.0691, 0.0584, 0.0538, 0.0347),
    ),
    "20250924_droid_gpt-5": (None, (0.525, 0.0484, 0.1877, 0.1717, 0.0800, 0.0468)),
}  # fmt: skip


@pytest.fixture(scope="module")
def agents(shared):
    """Return submission -> run -> task -> (resolved as the tool counts, outcome)."""
    from evalstats import importers

    found = defaultdict(lambda: defaultdict(dict))
    for each in importers.read([*(shared / "terminal-bench").glob("*.csv")]):
        row = each.row
        found[each.run.logged.model][each.run.logged.facts["run"]][row.case_id] = (
            row.score or 0.0,
            row.outcome,
            row.reason,
        )
    return found


@pytest.mark.parametrize("name", AGENTS)
def test_terminal_bench_with_blanks_as_unresolved(name, agents):
    rates, (mean, std_error, observed, between, within, sd_of_runs) = AGENTS[name]
    runs = agents[name]
    found = [sum(score for score, *_ in run.values()) / len(run) for run in runs.values()]
    if rates is not None:
        assert found == pytest.approx(rates, abs=1e-12)
    table = np.array([[runs[run][task][0] for run in runs] for task in sorted(next(iter(runs.values())))])
    estimate = case_mean(table.mean(axis=1))
    assert (round(estimate.estimate, 4), round(estimate.std_error, 4)) == (mean, std_error)
    assert round(table.mean(axis=1).var(ddof=1), 4) == observed
    assert round(np.std(found, ddof=1), 4) == sd_of_runs
    parts = variance_components(table.ravel(), cases=np.repeat(range(80), 5))
    found = (parts.case.estimate, parts.trial.estimate)
    assert found == pytest.approx((between, within), abs=5.1e-5)


def test_the_last_run_of_mini_swe_is_a_failure_of_the_infrastructure(agents):
    runs = [list(run.values()) for run in agents["20250825_swe-agent-mini_claude-4-sonnet"].values()]
    lost = [sum(outcome is Outcome.INFRASTRUCTURE for _, outcome, _ in run) for run in runs]
    assert lost[-1] == 59 and all(count < 10 for count in lost[:-1])
    assert {reason for _, outcome, reason in runs[-1] if outcome is Outcome.INFRASTRUCTURE} == {
        "unknown_agent_error"
    }


# --- AgentOps -------------------------------------------------------------------------------------


def test_plugin_scorecard(read, shared):
    reading, found = read(*(shared / "agentops/evals/plugin-eval/scorecards").glob("*.json"))
    card = json.loads(next((shared / "agentops/evals/plugin-eval/scorecards").glob("*.json")).read_text())
    cases = card["behavior"]["cases"]
    arms = defaultdict(dict)
    for f in found:
        arms[f.run.logged.label][f.row.case_id] = f.row.score
    total = {case: cases[case]["with_3_10"]["criteria_total"] for case in cases}

    def met(arm, among):
        return round(sum(arms[arm][case] * total[case] for case in among), 9)

    every, shared_cases = set(arms["with_3_10"]), set(arms["with_3_9_0"])
    assert (len(every), len(shared_cases), sum(total.values())) == (29, 28, 387)
    assert (met("with_3_10", every), met("without_plugin", every)) == (363, 272)
    assert [met(arm, shared_cases) for arm in ("with_3_10", "with_3_9_0", "without_plugin")] == [
        349,
        292,
        269,
    ]
    assert sum(total[case] for case in shared_cases) == 372

    def difference(new, old, among):
        return round(sum(arms[new][c] - arms[old][c] for c in among) / len(among), 4)

    assert difference("with_3_10", "without_plugin", every) == 0.2305
    assert difference("with_3_9_0", "without_plugin", shared_cases) == 0.0696
    assert difference("with_3_10", "with_3_9_0", shared_cases) == 0.1429
    assert all(d.agrees for d in reading.files[0].declared)


def test_estate_ablation(read, shared):
    _, found = read(shared / "agentops/evals/estate-ablation/results")
    counts = Counter((f.run.logged.model, f.run.arm, f.row.score) for f in found)
    passed = {(model, arm): counts[model, arm, 1.0] for model, arm, _ in counts}
    assert {(model.rpartition("-")[2], str(arm)): n for (model, arm), n in passed.items()} == {
        ("luna", "context-off"): 0, ("luna", "context-on"): 1, ("terra", "context-off"): 2, ("terra", "context-on"): 1,
    }  # fmt: skip
    assert Counter((f.run.logged.model, f.run.arm) for f in found) == dict.fromkeys(passed, 8)
    assert len({f.row.case_id for f in found}) == 4 and all(f.row.tokens_out > 0 for f in found)


def test_escape_rate(read, shared):
    _, found = read(*(shared / "agentops/evals/membrane").rglob("escape-rate-series.jsonl"))
    clean = [f.row.score for f in found if f.row.score is not None]
    runs = {f.run.run_id for f in found if f.row.score is not None}
    assert (len(runs), len(clean), clean.count(0.0)) == (2, 10, 2)
    interval = wilson(2, 10, level=0.95)
    assert (round(interval.conf_low, 3), round(interval.conf_high, 3)) == (0.057, 0.510)


def test_run_records_always_pass_and_take_their_time(read, shared):
    _, found = read(shared / "agentops/.agents/evals/runs")
    assert len(found) == 25 and {f.row.score for f in found} == {1.0}
    durations = [f.row.duration_s for f in found if f.row.duration_s is not None]
    assert len(set(durations)) > 1 and math.isfinite(sum(durations))


def test_run_records_inside_a_folder_of_everything_are_found(read, shared):
    reading, _ = read(shared / "agentops")
    formats = Counter(file.format for file in reading.files)
    assert (
        formats["agentops"] >= 11
        and sum(".run.json" in file.path for file in reading.files if file.format) == 5
    )


def test_a_scorecard_of_the_workbench(read, shared):
    _, found = read(shared / "agentops/evals/workbench/results")
    assert Counter((f.run.arm, f.row.score) for f in found) == {
        (Arm.SKILL_ON, 1.0): 12,
        (Arm.SKILL_OFF, 1.0): 12,
    }


def test_importing_everything_twice_adds_nothing(pour, shared):
    assert pour(shared) == 5028
    assert pour(shared) == 0
