"""Which cases vary: against the plain loop, and with a single run unknown."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evalstats import estimates


def test_flakiness_counts_changes_of_the_majority(case_runs) -> None:
    table = case_runs(
        {(f"r{run}", "skill-on", "a1"): [float(run % 2)] * 2 for run in range(4)}
        | {(f"r{run}", "skill-on", "a2"): [1.0, 1.0] for run in range(4)}
    )
    found = estimates.flakiness(table).set_index("case_id")
    assert found["verdict_flips"].to_dict() == {"a1": 1.0, "a2": 0.0}
    assert found.loc["a1", "run_sd"] == pytest.approx(np.std([0, 1, 0, 1], ddof=1))


def test_a_single_run_has_unknown_flakiness_not_zero(case_runs) -> None:
    found = estimates.flakiness(case_runs({("r1", "skill-on", "a1"): [1.0]})).iloc[0]
    assert math.isnan(found["run_sd"])
    assert math.isnan(found["verdict_flips"])


def test_each_case_is_what_a_loop_over_its_runs_gives(graded: pd.DataFrame) -> None:
    shuffled = graded.sample(frac=1, random_state=1)
    found = estimates.flakiness(shuffled).set_index(["arm", "case_id"])
    for key, case in graded.groupby(["arm", "case_id"]):
        scores = (case["score_sum"] / case["n_usable"]).to_numpy()
        passes = (2 * case["n_passed"] > case["n_usable"]).to_numpy()
        row = found.loc[key]
        assert (row["n_runs"], row["n_trials"], row["archetype"]) == (6, 24, key[1][0])
        assert row["run_sd"] == pytest.approx(scores.std(ddof=1), abs=1e-12)
        assert row["score"] == pytest.approx(scores.mean(), abs=1e-12)
        assert row["verdict_flips"] == pytest.approx((passes[1:] != passes[:-1]).mean(), abs=1e-12)


def test_no_usable_trial_gives_no_row_but_all_columns(case_runs) -> None:
    found = estimates.flakiness(case_runs({("r1", "skill-on", "a1"): [None]}))
    assert found.empty
    assert "verdict_flips" in found.columns
