"""Case tables from trial scores: small ones from a dict, and those of public data where these are at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from evalstats.contract import IDENTITY as NAMES

PUBLIC = Path(__file__).parents[3] / "shared" / "data"
IDENTITY = dict.fromkeys(NAMES, "same")
Scores = Mapping[tuple[str, str, str], Sequence[float | None]]
Table = Callable[..., pd.DataFrame]


def as_case_runs(scores: Scores, **changes: object) -> pd.DataFrame:
    """Return a case table from {(run, arm, case): trial scores}; runs are a day apart, in the order given.

    A score of None is a trial that the infrastructure lost. The archetype is the first letter of the case.
    """
    runs = list(dict.fromkeys(run for run, _, _ in scores))
    rows = []
    for (run, arm, case), trials in scores.items():
        known = [score for score in trials if score is not None]
        lost = len(trials) - len(known)
        rows.append(
            {
                "suite_id": "s",
                "case_id": case,
                "archetype": case[0],
                "arm": arm,
                "run_id": f"{run}-{arm}",
                "group_id": run,
                "created_at": pd.Timestamp("2026-11-01", tz="UTC") + pd.Timedelta(days=runs.index(run)),
                "seed": runs.index(run),
                "n_trials": len(trials),
                "n_usable": len(known),
                "n_passed": sum(score == 1 for score in known),
                "score_sum": math.fsum(known),
                "score_sumsq": math.fsum(score**2 for score in known),
                "n_infrastructure": lost,
                "n_unusable": lost,
                "is_mock": False,
                **IDENTITY,
                **changes,
            }
        )
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def case_runs() -> Table:
    """Return the function that makes a case table."""
    return as_case_runs


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture
def graded(rng: np.random.Generator) -> pd.DataFrame:
    """24 cases x 2 arms x 6 runs x 4 graded trials."""
    base = rng.uniform(0.2, 0.7, 24)
    scores = {}
    for run in range(6):
        for arm, lift in (("skill-on", 0.2), ("skill-off", 0.0)):
            for case in range(24):
                trials = np.round(np.clip(rng.normal(base[case] + lift, 0.2, 4), 0, 1), 2)
                scores[f"r{run}", arm, f"{'abcdef'[case % 6]}{case}"] = trials.tolist()
    return as_case_runs(scores)


@pytest.fixture(scope="session")
def smoothed_beta() -> Callable[[np.ndarray, float], tuple[float, float, float]]:
    """Return the interval of a mean of graded scores from its published definition, by scipy: sd, low, high.

    Dirichlet weights, 1 on each case and m on each end of the scale, give the mean these moments; its quantiles
    are those of the Beta that has them. m is the share of all-or-nothing variance, pulled to 1 by ten cases.
    """

    def interval(scores: np.ndarray, level: float) -> tuple[float, float, float]:
        n, rate = scores.size, (scores.sum() + 1) / (scores.size + 2)
        most = rate * (1 - rate)
        m = min(1.0, (scores.var() * n + 10 * most) / ((n + 9) * most))
        mean = (scores.sum() + m) / (n + 2 * m)
        second = ((scores**2).sum() + m) / (n + 2 * m)
        variance = (second - mean**2) / (n + 2 * m + 1)
        size = mean * (1 - mean) / variance - 1
        low, high = scipy_stats.beta(mean * size, (1 - mean) * size).interval(level)
        return math.sqrt(variance), float(low), float(high)

    return interval


@pytest.fixture(scope="session")
def public() -> Callable[[str], Path]:
    """Return a function that finds a public file, and skips the test where it is not at hand."""

    def find(pattern: str) -> Path:
        found = sorted(PUBLIC.glob(pattern)) if PUBLIC.is_dir() else []
        if not found:
            pytest.skip("the public data are not here")
        return found[0]

    return find


@pytest.fixture(scope="session")
def terminal_bench(public: Callable[[str], Path]) -> pd.DataFrame:
    """8 agents (arms) x 5 runs x 80 tasks, one trial each; a blank outcome is a lost trial."""
    table = pd.read_csv(public("terminal-bench/*.csv"))
    keys = ["run", "submission", "task_id"]
    outcomes = table.set_index(keys)["is_resolved"]
    scores = {key: [None if math.isnan(x) else x] for key, x in outcomes.items()}
    return as_case_runs(scores)
