"""pass@k and pass^k by arm: published values, and cases with too few trials."""

from __future__ import annotations

from math import comb

import pandas as pd
import pytest

from evalstats import estimates


def test_published_values(case_runs) -> None:
    table = case_runs({("r", "x", "a"): [1] * 3 + [0] * 7, ("r", "y", "a"): [1] * 3 + [0]})
    found = estimates.attempts(table, k=[2, 5]).set_index(["arm", "k", "succeeds"])["estimate"]
    assert found["x", 5, "any"] == pytest.approx(0.916667, abs=5e-7)
    assert found["y", 2, "all"] == 0.5


def test_cases_are_averaged_over_all_runs(graded: pd.DataFrame) -> None:
    table = estimates.case_table(graded[graded["arm"] == "skill-on"])
    expected = [
        1 - comb(n - c, 3) / comb(n, 3) for c, n in zip(table["n_passed"], table["n_usable"], strict=True)
    ]
    found = estimates.attempts(graded, k=[3]).set_index(["arm", "succeeds"]).loc[("skill-on", "any")]
    assert found["estimate"] == pytest.approx(sum(expected) / 24, abs=1e-12)
    assert "graded scores: a trial counts as passed or not" in found["caveats"]


def test_cases_with_too_few_trials_are_missing_and_said(case_runs) -> None:
    scores = {("r", "x", f"a{i}"): [1, 0, 1] for i in range(4)} | {("r", "x", "b"): [1, None, None]}
    found = estimates.attempts(case_runs(scores), k=[3, 9]).set_index(["k", "succeeds"])
    assert found.loc[(3, "any"), "n_cases"] == 4
    assert "1 of 5 cases left out: fewer than 3 trials" in found.loc[(3, "any"), "caveats"]
    assert found["estimate"].isna().to_dict()[9, "all"]
