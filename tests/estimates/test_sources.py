"""Variance components from the case table alone: those of the trials, and of a public table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evalstats import estimates
from evalstats.estimates.sources import like_trials
from evalstats.stats.components import variance_components

AGENTS = {  # submission, variance of task means, component between tasks, variance within tasks
    "20250711_openhands_claude-4-sonnet": (0.2019, 0.1911, 0.0538),
    "20250825_swe-agent-mini_claude-4-sonnet": (0.0691, 0.0584, 0.0538),
    "20250924_droid_gpt-5": (0.1877, 0.1717, 0.0800),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_public_table(terminal_bench: pd.DataFrame, agent: str) -> None:
    runs = terminal_bench[terminal_bench["arm"] == agent].assign(n_usable=1)  # blank as unresolved
    observed, between, within = AGENTS[agent]
    assert estimates.case_table(runs)["score"].var(ddof=1) == pytest.approx(observed, abs=5e-5)
    found = estimates.components(runs, days=None).set_index("component")["estimate"]
    assert found["case"] == pytest.approx(between, abs=5e-5)
    assert found["trial"] == pytest.approx(within, abs=5.1e-5)


def test_the_case_table_is_all_that_the_moments_need(case_runs, rng: np.random.Generator) -> None:
    rows, scores = [], {}
    for run in range(6):
        for arm in ("skill-on", "skill-off"):
            for case in range(9):
                trials = np.clip(rng.normal(0.1 * case, 0.2, rng.integers(1, 5)), 0, 1).tolist()
                scores[f"r{run}", arm, f"a{case}"] = trials
                rows += [(score, case, run, arm) for score in trials]
    score, case, day, arm = map(np.array, zip(*rows, strict=True))
    together = variance_components(score, cases=case, days=day, arms=arm)
    found = estimates.components(case_runs(scores), by=[]).set_index("component")
    assert found["n_trials"].iloc[0] == len(rows)
    for name in ("case", "day", "case_day", "trial"):
        expected = getattr(together, name)
        for field in ("estimate", "std_error", "conf_low", "conf_high"):
            assert found.loc[name, field] == pytest.approx(getattr(expected, field), abs=1e-12)


def test_rows_like_trials_keep_counts_sums_and_squares(graded: pd.DataFrame) -> None:
    rows = like_trials(graded)
    sums = rows.assign(square=rows["score"] ** 2).groupby(["run_id", "case_id"])[["score", "square"]].sum()
    table = graded.set_index(["run_id", "case_id"]).loc[sums.index]
    assert sums["score"].to_numpy() == pytest.approx(table["score_sum"].to_numpy(), abs=1e-9)
    assert sums["square"].to_numpy() == pytest.approx(table["score_sumsq"].to_numpy(), abs=1e-9)
    assert len(rows) == graded["n_usable"].sum()


def test_what_is_confounded_is_named(case_runs) -> None:
    one_trial = {
        (f"r{run}", "x", f"a{case}"): [(run + case) % 3 / 2] for run in range(6) for case in range(5)
    }
    found = estimates.components(case_runs(one_trial)).set_index("component")
    assert found.loc["trial", "caveats"] == ("confounded with case x day: no replication",)
    assert np.isnan(found.loc["trial", "estimate"])
    few = estimates.components(case_runs({k: [*v, 1.0] for k, v in one_trial.items() if k[0] < "r3"}))
    assert few.set_index("component").loc["day", "caveats"] == (
        "3 of the 5 days needed for a variance between days",
    )


def test_days_are_utc_dates_unless_runs_are_asked_for(graded: pd.DataFrame) -> None:
    same_day = graded.assign(
        created_at=pd.Timestamp("2026-11-01", tz="UTC") + pd.to_timedelta(graded["seed"], "h")
    )
    by_date = estimates.components(same_day).set_index(["arm", "component"])
    assert by_date.loc[("skill-on", "day"), "caveats"] == ("one day in each arm: confounded with the mean",)
    by_run = estimates.components(same_day, days="run_id")
    pd.testing.assert_frame_equal(by_run, estimates.components(graded))


def test_shares_are_of_the_known_variances_not_below_zero(graded: pd.DataFrame) -> None:
    found = estimates.components(graded)
    shares = estimates.shares(found)
    assert list(shares.columns) == ["arm", "component", "variance", "share"]
    assert shares.groupby("arm")["share"].sum().tolist() == pytest.approx([1.0, 1.0])
    assert shares.loc[shares["component"] == "judge", "share"].isna().all()
    assert (shares["variance"].dropna() >= 0).all()


def test_a_hundred_thousand_cases_take_seconds(rng: np.random.Generator) -> None:
    n = 100_000
    rates = rng.beta(2, 2, n)
    passed = rng.binomial(3, rates)
    table = pd.DataFrame({"case_id": np.arange(n).astype(str), "arm": "x", "n_usable": 3, "n_passed": passed})
    table = table.assign(score_sum=passed + 0.0, score_sumsq=passed + 0.0)
    found = estimates.components(table, days=None).set_index("component")["estimate"]
    assert found["case"] == pytest.approx(0.05, abs=0.003)  # variance of Beta(2, 2)
    assert found["trial"] == pytest.approx(0.20, abs=0.003)
