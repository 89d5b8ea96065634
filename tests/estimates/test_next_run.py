"""Bands and the series they come from, by the textbook."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from evalstats import estimates


def test_observed_band_is_the_textbook_prediction_interval(graded: pd.DataFrame) -> None:
    bands = estimates.bands(graded, level=0.8).set_index(["arm", "band"])
    means = estimates.series(graded[graded["arm"] == "skill-on"])["score"].to_numpy(float)
    half = scipy_stats.t.ppf(0.9, 5) * means.std(ddof=1) * math.sqrt(1 + 1 / 6)
    assert bands.loc[("skill-on", "observed"), "conf_high"] == pytest.approx(means.mean() + half, abs=1e-12)


def test_model_band_rests_on_the_variance_between_trials_of_one_case(case_runs) -> None:
    # Two cases, two trials each: variances .5 and 0, so a run mean varies by (.5/2 + 0/2) / 4 = .0625.
    one = case_runs({("r1", "skill-on", "a1"): [0, 1], ("r1", "skill-on", "a2"): [1, 1]})
    row = estimates.series(one).iloc[0]
    assert (row["score"], row["within_variance"]) == (0.75, pytest.approx(0.0625))
    chosen = estimates.which_band(estimates.bands(one))
    assert chosen["band"].tolist() == ["model"]
    assert chosen["std_error"].iloc[0] == pytest.approx(math.sqrt(0.0625 * 2))


def test_excess_variance_is_silent_on_trial_noise_and_sees_a_day_effect(
    case_runs, rng: np.random.Generator
) -> None:
    def world(day_effect: float) -> float:
        scores = {}
        for run in range(20):
            shift = day_effect * (1 if run % 2 else -1)
            for case in range(30):
                scores[f"r{run}", "skill-on", f"a{case}"] = (
                    (rng.random(4) < 0.5 + shift).astype(float).tolist()
                )
        return float(estimates.excess_variance(case_runs(scores))["p_value"].iloc[0])

    assert world(0.0) > 0.001
    assert world(0.2) < 1e-6


@pytest.mark.parametrize(
    ("agent", "scores", "sd"),
    [
        ("20250711_openhands_claude-4-sonnet", [0.40, 0.4125, 0.4375, 0.40, 0.4125], 0.0153),
        ("20250825_swe-agent-mini_claude-4-sonnet", [0.1375, 0.1125, 0.15, 0.1625, 0.075], 0.0347),
    ],
)
def test_runs_of_the_public_table(
    terminal_bench: pd.DataFrame, agent: str, scores: list[float], sd: float
) -> None:
    runs = terminal_bench[terminal_bench["arm"] == agent].assign(n_usable=1)  # blank as unresolved
    found = estimates.series(runs)["score"].to_numpy(float)
    assert found.tolist() == pytest.approx(scores, abs=1e-12)
    assert found.std(ddof=1) == pytest.approx(sd, abs=5e-5)
