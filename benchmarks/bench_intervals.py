"""How fast are intervals and components, and do they agree with the peers? ``python benchmarks/bench_intervals.py``.

1,000 cases x 2 arms x 10 binary trials, 10,000 resamples, level 0.80. Prints rows for RESULTS.md as JSON. Every
contestant gets its fastest form: a difference is resampled as one column of case differences, scipy vectorised
in its best batch. The engine draws cases that are alike together; a row of graded scores, where no two cases are
alike, shows what it does without that.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats as scipy_stats

from benchmarks.timing import alternate, ratio, shown
from evalstats import stats
from evalstats.stats.saddlepoint import saddlepoint_mean, saddlepoint_ratio

CASES, TRIALS, REPS, LEVEL, ROUNDS = 1_000, 10, 10_000, 0.80, 7
PEERS = Path(__file__).parents[1] / ".venv-peers/bin/python"


def case_means(rng: np.random.Generator) -> np.ndarray:
    """Return case means, shape (cases, 2): candidate and baseline, correlated through the case."""
    base = rng.beta(1.5, 1.5, CASES)
    rates = np.stack([np.clip(base + 0.1, 0, 1), base], axis=1)
    return rng.binomial(TRIALS, rates) / TRIALS


def lift_of(means: np.ndarray) -> np.ndarray:
    """Return 1 - F_candidate / F_baseline; the last axis is candidate, baseline."""
    return 1 - (1 - means[..., 0]) / (1 - means[..., 1])


def difference_of(means: np.ndarray) -> np.ndarray:
    """Return candidate - baseline; the last axis is candidate, baseline."""
    return means[..., 0] - means[..., 1]


def only(means: np.ndarray) -> np.ndarray:
    """Return the mean of the only column."""
    return means[..., 0]


def by_scipy(table: np.ndarray, functional: Any) -> Any:
    """Return scipy's percentile interval, vectorised and in batches."""

    def statistic(*columns: np.ndarray, axis: int) -> np.ndarray:
        return functional(np.stack([column.mean(axis=axis) for column in columns], axis=-1))

    return scipy_stats.bootstrap(
        tuple(table.T),
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=REPS,
        batch=500,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval


def naive_clusters(table: np.ndarray, clusters: np.ndarray, reps: int) -> tuple[float, float]:
    """Return a cluster bootstrap as one writes it first: concatenate the chosen clusters, take the mean."""
    rng = np.random.default_rng(1)
    groups = [table[clusters == label] for label in np.unique(clusters)]
    found = []
    for _ in range(reps):
        chosen = rng.integers(0, len(groups), len(groups))
        found.append(difference_of(np.concatenate([groups[i] for i in chosen]).mean(axis=0)))
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def by_arch(table: np.ndarray) -> dict[str, Any] | None:
    """Return what arch says in its own environment; None where it is not installed."""
    if not PEERS.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        np.save(path, table)
        script = Path(__file__).parent / "peers/arch_bootstrap.py"
        command = [str(PEERS), str(script), str(path), str(REPS), "5"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def interval_rows(table: np.ndarray) -> list[dict[str, Any]]:
    """Return one row per functional and peer."""
    arch = by_arch(table)
    rows = []
    differences = difference_of(table)[:, None]
    for name, columns, functional in (("difference", differences, only), ("lift", table, lift_of)):
        ours = {
            "engine": lambda c=columns, f=functional: by_engine(c, f),
            "saddlepoint": lambda n=name: saddlepoint(table, n),
            "scipy": lambda c=columns, f=functional: by_scipy(c, f),
        }
        seconds = alternate(ours, ROUNDS)
        found = ours["engine"]()
        peer = ours["scipy"]()
        exact = ours["saddlepoint"]()
        rows.append(
            row(f"{name}, engine against scipy", seconds["scipy"], seconds["engine"], 10, (found, peer))
        )
        rows.append(
            row(
                f"{name}, saddlepoint against scipy",
                seconds["scipy"],
                seconds["saddlepoint"],
                30,
                (exact, peer),
            )
        )
        if arch is not None:
            theirs = arch[name]
            rows.append(
                row(
                    f"{name}, engine against arch",
                    theirs["seconds"],
                    seconds["engine"],
                    15,
                    (found, theirs["interval"]),
                )
            )
    return rows


def graded_row(rng: np.random.Generator) -> dict[str, Any]:
    """Return the row of a lift of graded scores, no two cases alike; without a goal of its own."""
    base = rng.beta(1.5, 1.5, CASES)
    table = np.stack([np.clip(base + rng.normal(0.1, 0.1, CASES), 0, 1), base], axis=1)
    contestants = {"engine": lambda: by_engine(table, lift_of), "scipy": lambda: by_scipy(table, lift_of)}
    seconds = alternate(contestants, ROUNDS)
    ends = contestants["engine"](), contestants["scipy"]()
    what = "lift, graded scores, no two cases alike, engine against scipy"
    return row(what, seconds["scipy"], seconds["engine"], None, ends)


def by_engine(columns: np.ndarray, functional: Any) -> Any:
    """Return our percentile interval."""
    return stats.bootstrap(columns, functional, rng=np.random.default_rng(1), reps=REPS, level=LEVEL)


def saddlepoint(table: np.ndarray, name: str) -> tuple[float, float]:
    """Return the saddlepoint percentile interval of the difference, or of the lift as a ratio of failures."""
    if name == "difference":
        return bounds(saddlepoint_mean(difference_of(table), level=LEVEL))
    low, high = bounds(saddlepoint_ratio(1 - table[:, 0], 1 - table[:, 1], level=LEVEL))
    return 1 - high, 1 - low


def row(what: str, slow: list[float], fast: list[float], goal: float | None, ends: Any) -> dict[str, Any]:
    """Return one row: both times, the ratio, the goal, and how far the endpoints lie apart."""
    (a_low, a_high), (b_low, b_high) = (bounds(one) for one in ends)
    return {
        "what": what,
        "peer": shown(slow),
        "ours": shown(fast),
        "ratio": ratio(slow, fast),
        "goal": goal,
        "endpoints apart": max(abs(a_low - b_low), abs(a_high - b_high)),
    }


def bounds(found: Any) -> tuple[float, float]:
    """Return the two ends of an interval, whoever made it."""
    if hasattr(found, "conf_low"):
        return found.conf_low, found.conf_high
    return float(found[0]), float(found[1])


def cluster_row(table: np.ndarray) -> dict[str, Any]:
    """Return the row of the cluster bootstrap against a loop; the loop runs a tenth and is scaled up."""
    clusters = np.arange(CASES) // 20
    contestants = {
        "engine": lambda: stats.bootstrap(
            table, difference_of, rng=np.random.default_rng(1), clusters=clusters, reps=REPS, level=LEVEL
        ),
        "loop": lambda: naive_clusters(table, clusters, REPS // 10),
    }
    seconds = alternate(contestants, 5)
    loop = [10 * s for s in seconds["loop"]]
    ends = (contestants["engine"](), contestants["loop"]())
    return row("50 clusters, engine against a loop (scaled from a tenth)", loop, seconds["engine"], 50, ends)


def component_row(rng: np.random.Generator) -> dict[str, Any]:
    """Return the row of variance components of 100,000 rows: milliseconds against the goal of 30."""
    cases, days = np.repeat(np.arange(1_000), 100), np.tile(np.repeat(np.arange(20), 5), 1_000)
    scores = rng.normal(0, 0.3, 1_000)[cases] + rng.normal(0, 0.05, 20)[days] + rng.normal(0, 0.4, 100_000)
    seconds = alternate({"ours": lambda: stats.variance_components(scores, cases=cases, days=days)}, ROUNDS)[
        "ours"
    ]
    return {"what": "components of 100,000 rows", "ours": shown(seconds), "goal": "30 ms or less"}


def main() -> None:
    """Print the rows as JSON."""
    rng = np.random.default_rng(20261130)
    table = case_means(rng)
    rows = [*interval_rows(table), graded_row(rng), cluster_row(table), component_row(rng)]
    json.dump({"title": "Intervals and components", "rows": rows}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
