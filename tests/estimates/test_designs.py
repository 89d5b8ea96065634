"""Plans from a pilot: closed forms, Miller's sample size, refusals."""

from __future__ import annotations

from math import isnan, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from evalstats import estimates
from evalstats.stats.allocation import Costs
from evalstats.stats.planning import Study

Z = scipy_stats.norm.ppf(0.975) + scipy_stats.norm.ppf(0.8)


@pytest.fixture
def pilot(case_runs, rng: np.random.Generator) -> pd.DataFrame:
    """40 cases x 2 arms x 4 graded trials."""
    base, gain = rng.uniform(0.3, 0.6, 40), rng.uniform(0, 0.3, 40)
    scores = {}
    for arm, share in (("skill-on", 1), ("skill-off", 0)):
        for case in range(40):
            trials = np.clip(rng.normal(base[case] + share * gain[case], 0.1, 4), 0, 1)
            scores["r", arm, f"a{case:02}"] = trials.tolist()
    return case_runs(scores)


def moments_of(runs: pd.DataFrame) -> tuple[float, float]:
    """Return the variance of true case differences, and of a trial, by hand."""
    squares = runs["score_sumsq"] - runs["score_sum"] ** 2 / 4
    trial = squares.sum() / (len(runs) * 3)
    wide = estimates.case_table(runs).pivot(index="case_id", columns="arm", values="score")
    return (wide["skill-on"] - wide["skill-off"]).var(ddof=1) - 2 * trial / 4, trial


def test_spread_of_two_arms_is_that_of_case_differences(pilot: pd.DataFrame) -> None:
    spread, note = estimates.spread(pilot)
    case, trial = moments_of(pilot)
    assert (spread.case, spread.trial, note) == (pytest.approx(case), pytest.approx(trial), "")


def test_spread_of_one_arm_is_that_of_case_means(pilot: pd.DataFrame) -> None:
    on = pilot[pilot["arm"] == "skill-on"]
    spread, _ = estimates.spread(pilot, arms=["skill-on"])
    trial = (on["score_sumsq"] - on["score_sum"] ** 2 / 4).sum() / (40 * 3)
    assert spread.case == pytest.approx((on["score_sum"] / 4).var(ddof=1) - trial / 4)
    assert spread.trial == pytest.approx(trial)


def test_plan_is_the_closed_form(pilot: pd.DataFrame) -> None:
    case, trial = moments_of(pilot)
    found = estimates.plan(pilot, effect=0.02).set_index("design")
    assert found.loc["pilot", "detectable"] == pytest.approx(Z * sqrt((case + trial / 2) / 40), rel=1e-9)
    assert found.loc["pilot", ["cases", "trials"]].tolist() == [40, 4]
    for trials, design in ((1, "1 trial"), (5, "5 trials")):
        cases = (case + 2 * trial / trials) * (Z / 0.02) ** 2
        assert found.loc[design, "cases"] == np.ceil(cases)
        assert found.loc[design, "detectable"] <= 0.02
    assert found["cost"].isna().all()


def test_millers_sample_size(case_runs) -> None:
    # One trial a case whose differences have a variance of 1/9: 969 cases see .03.
    n, x = 201, sqrt(1 / 9) * sqrt(200 / 201)  # half at +x, half at -x, one at 0, divisor n - 1
    scores = {("r", "skill-off", f"a{i:03}"): [0.5] for i in range(n)}
    for i in range(n):
        scores["r", "skill-on", f"a{i:03}"] = [
            0.5 + (0 if i == n - 1 else x if i % 2 else -x) * sqrt(201 / 200)
        ]
    found = estimates.plan(case_runs(scores), effect=0.03)
    assert found["design"].tolist() == ["pilot", "1 trial"]
    assert found["cases"].tolist() == [n, 969]
    assert found["caveats"].iloc[1][0].startswith("one trial a case")


def test_costs_add_the_cheapest_design_and_the_best_split(pilot: pd.DataFrame) -> None:
    case, trial = moments_of(pilot)
    costs = Costs(case=30.0, trial=1.0)
    found = estimates.plan(pilot, effect=0.02, costs=costs).set_index("design")
    assert found.loc["best split", "trials"] == pytest.approx(sqrt(30 * trial / case), rel=1e-9)
    searched = found.drop(index=["pilot", "best split"])
    assert searched.loc["cheapest", "cost"] == searched["cost"].min()
    assert found.loc["3 trials", "cost"] == found.loc["3 trials", "cases"] * (30 + 2 * 3)


def test_fixed_cases_add_no_variance(pilot: pd.DataFrame) -> None:
    fixed = Study(paired=True, population="FIXED")
    found = estimates.plan(pilot, effect=0.02, study=fixed, costs=Costs(case=1, trial=1)).set_index("design")
    _, trial = moments_of(pilot)
    assert found.loc["pilot", "detectable"] == pytest.approx(Z * sqrt(trial / 2 / 40), rel=1e-9)
    assert isnan(found.loc["best split", "trials"])


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_saturated_pilot_plans_nothing(case_runs, score: float) -> None:
    runs = case_runs(
        {("r", arm, f"a{i}"): [score] * 3 for arm in ("skill-on", "skill-off") for i in range(9)}
    )
    found = estimates.plan(runs, effect=0.1)
    assert found["design"].tolist() == ["refused"]
    assert found["cases"].isna().all()
    assert found["caveats"].iloc[0] == ("the pilot plans nothing: all scores agree: no variance to divide",)


def test_a_pilot_of_few_cases_flatters_and_says_so(graded: pd.DataFrame) -> None:
    found = estimates.plan(graded, effect=0.05).set_index("design")
    assert found.loc["pilot", "trials"] == pytest.approx(24)
    assert "fewer than 30 cases: the truth is larger" in found.loc["pilot", "caveats"]
