"""Rates by scipy and by public counts; three denominators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from evalstats import estimates

AGENTS = {  # submission, mean with blanks as unresolved, and its standard error over tasks
    "20250711_openhands_claude-4-sonnet": (0.4125, 0.0502),
    "20250825_swe-agent-mini_claude-4-sonnet": (0.1275, 0.0294),
    "20250924_droid_gpt-5": (0.525, 0.0484),
}


def test_rate_of_graded_scores_is_the_smoothed_beta_on_case_means(
    graded: pd.DataFrame, smoothed_beta
) -> None:
    found = estimates.rate(graded, level=0.9).set_index("arm").loc["skill-on"]
    on = graded[graded["arm"] == "skill-on"].groupby("case_id")[["score_sum", "n_usable"]].sum()
    means = (on["score_sum"] / on["n_usable"]).to_numpy()
    assert (found["std_error"], found["conf_low"], found["conf_high"]) == pytest.approx(
        smoothed_beta(means, 0.9), abs=1e-12
    )
    assert found["estimate"] == pytest.approx(means.mean(), abs=1e-12)
    assert found["method"] == "smoothed Beta"
    assert (found["n_cases"], found["n_trials"], found["population"]) == (24, 24 * 6 * 4, "SUPER")


def test_near_the_ceiling_graded_scores_keep_the_rare_failure_in_mind(case_runs) -> None:
    # By hand, 9 cases at 1 and one at .5: t would reach past 1, and a sample without the .5 would have no width.
    one_off = {("r", "x", f"a{i}"): [1.0] for i in range(9)} | {("r", "x", "b"): [0.5]}
    found = estimates.rate(case_runs(one_off), level=0.95).iloc[0]
    assert found["estimate"] == pytest.approx(0.95)
    assert 0.7 < found["conf_low"] < 0.95 < found["conf_high"] < 1
    t_high = 0.95 + scipy_stats.t.ppf(0.975, 9) * 0.05  # the standard error is .5 / sqrt(10) / sqrt(10)
    assert t_high > 1
    alike = estimates.rate(case_runs({("r", "x", f"a{i}"): [0.9] for i in range(10)})).iloc[0]
    assert alike["conf_high"] - alike["conf_low"] > 0.05 and not alike["caveats"]


def test_one_trial_a_case_is_wilson(case_runs) -> None:
    table = case_runs({("r", "skill-on", f"a{i}"): [float(i < 81)] for i in range(263)})
    found = estimates.rate(table, level=0.95).iloc[0]
    outside = scipy_stats.binomtest(81, 263).proportion_ci(0.95, method="wilson")
    assert found["conf_low"] == pytest.approx(outside.low, abs=1e-12)
    assert (round(found["conf_low"], 4), round(found["conf_high"], 4)) == (0.2553, 0.3662)


def test_a_case_without_usable_trials_is_left_out_and_said(case_runs) -> None:
    table = case_runs(
        {("r1", "skill-on", "a0"): [None, None]}
        | {("r1", "skill-on", f"a{i}"): [1.0, 0.0] for i in range(1, 4)}
    )
    found = estimates.rate(table).iloc[0]
    assert found["n_cases"] == 3
    assert "1 case without a usable trial left out" in found["caveats"]
    row = estimates.series(table).iloc[0]
    assert (row["n_cases"], row["n_trials"], row["usable"], row["infrastructure"]) == (3, 8, 6, 2)


def test_denominators_differ_by_what_was_lost(case_runs) -> None:
    # Means 1/1, 1/2, none, 0/2 completed; of 3 trials each: 1/3, 1/3, 0, 0 and at best 3/3, 2/3, 3/3, 1/3.
    table = case_runs(
        {
            ("r", "x", "a"): [1, None, None],
            ("r", "x", "b"): [1, 0, None],
            ("r", "x", "c"): [None, None, None],
            ("r", "x", "d"): [0, 0, None],
        }
    )
    found = estimates.denominators(table).set_index("denominator")
    assert found["estimate"].to_dict() == pytest.approx(
        {"completed-only": 0.5, "errors-as-fail": 1 / 6, "lower bound": 1 / 6, "upper bound": 0.75}
    )
    assert found["n_trials"].to_dict() == dict(zip(found.index, [5, 12, 12, 12], strict=True))
    assert all("7 of 12 trials without a score" in caveats for caveats in found["caveats"])
    assert (
        found.loc[["lower bound", "upper bound"], ["conf_low", "conf_high", "std_error"]]
        .isna()
        .all(axis=None)
    )
    assert found.loc["errors-as-fail", "conf_low"] < 1 / 6 < found.loc["errors-as-fail", "conf_high"]


def test_without_losses_all_denominators_agree(graded: pd.DataFrame) -> None:
    found = estimates.denominators(graded)
    assert found.groupby("arm")["estimate"].nunique().tolist() == [1, 1]
    assert found["arm"].tolist() == ["skill-off"] * 4 + ["skill-on"] * 4


@pytest.mark.parametrize("agent", AGENTS)
def test_public_table_in_three_denominators(terminal_bench: pd.DataFrame, agent: str) -> None:
    runs = terminal_bench[terminal_bench["arm"] == agent]
    found = estimates.denominators(runs).set_index("denominator")["estimate"]
    mean, std_error = AGENTS[agent]
    assert found["errors-as-fail"] == pytest.approx(mean, abs=1e-12)
    as_fail = runs.groupby("case_id")["score_sum"].sum() / 5
    assert scipy_stats.sem(as_fail) == pytest.approx(std_error, abs=5e-5)
    tasks = runs.groupby("case_id")[["score_sum", "n_usable"]].sum()
    assert found["completed-only"] == pytest.approx(
        (tasks["score_sum"] / tasks["n_usable"]).mean(), abs=1e-12
    )
    blank = 1 - runs["n_usable"].sum() / 400
    assert found["upper bound"] - found["lower bound"] == pytest.approx(blank, abs=1e-12)
    assert found["lower bound"] < found["completed-only"] < found["upper bound"]


def test_a_hundred_thousand_cases_take_seconds(rng: np.random.Generator) -> None:
    n = 100_000
    table = pd.DataFrame({"case_id": np.arange(n).astype(str), "archetype": "a", "arm": "x", "n_trials": 3})
    table["n_passed"] = rng.binomial(3, rng.beta(2, 2, n))
    table = table.assign(n_usable=3, score_sum=table["n_passed"] + 0.0, score_sumsq=table["n_passed"] + 0.0)
    found = estimates.rate(table, level=0.95).iloc[0]
    means = table["score_sum"] / 3
    assert found["std_error"] == pytest.approx(scipy_stats.sem(means), rel=1e-9)
