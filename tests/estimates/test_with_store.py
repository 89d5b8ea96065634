"""The tables of a real store, of real runs, are what the estimates take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from evalstats import estimates, store

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """One run of the two-case demonstration, both arms, three trials: one case needs the skill."""
    data = tmp_path_factory.mktemp("data")
    command = [sys.executable, "-m", "evalstats", "run", "ab-demo", "--mode", "both", "--trials", "3"]
    done = subprocess.run(
        [*command, "--data", str(data)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with store.open(data / "evalstats.duckdb", read_only=True) as opened:
        return {
            name: getattr(opened, name)("ab-demo") for name in ("case_runs", "trials", "expectation_rates")
        }


def test_trials_of_a_command_that_always_answers_alike_are_flagged(tables) -> None:
    flags = estimates.repeats(tables["trials"])
    assert flags["deterministic"].tolist() == [True, True]
    rates = estimates.flagged(estimates.denominators(tables["case_runs"]), flags)
    assert all(caveats[-1].startswith("deterministic in these data") for caveats in rates["caveats"])
    means = rates[rates["denominator"] == "errors-as-fail"].set_index("arm")["estimate"]
    assert means.to_dict() == {"skill-on": 1.0, "skill-off": 0.5}


def test_lift_takes_the_expectations_of_the_store(tables, rng) -> None:
    found = estimates.lift(tables["case_runs"], rng=rng, expectations=tables["expectation_rates"])
    assert found.set_index("over")["estimate"].to_dict()["cases"] == 1.0
    assert found["estimate"].notna().all()
    assert estimates.legacy_lift(tables["trials"], rng=rng)["estimate"].tolist() == [1.0]


def test_a_pilot_that_never_varies_plans_between_cases_only(tables) -> None:
    spread, note = estimates.spread(tables["case_runs"])
    assert (spread.trial, note) == (0.0, "")
    assert spread.case == pytest.approx(0.5)  # differences 1 and 0


def test_a_single_run_is_charted_by_nothing(tables, rng) -> None:
    found = estimates.monitor(estimates.series(tables["case_runs"]), rng=rng)
    assert found["degenerate"].all()
    assert (found["n_new"] == 0).all()
