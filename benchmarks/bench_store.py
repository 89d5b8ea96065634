"""How fast are case statistics over many trials, against pandas? ``python benchmarks/bench_store.py [ROWS]``.

Both start from the same Parquet lake on disk and end with one row per run and case: trials, usable trials,
passes, and the sums the statistics start from. Each runs in a process of its own, so that memory is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lake import make_lake
from timing import ratio, shown

OURS = """
import sys, time, resource
from pathlib import Path
from evalstats import store
started = time.perf_counter()
with store.open(Path(sys.argv[1]), read_only=True) as lake:
    frame = lake.case_runs("big")
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(frame))
"""
PANDAS = """
import sys, time, resource
import pandas as pd
started = time.perf_counter()
names = ["case_id", "archetype", "usable", "passed", "score", "outcome", "run_id"]
trials = pd.read_parquet(sys.argv[1] + "/trials", columns=names)
trials["square"] = trials["score"] ** 2
grouped = trials.groupby(["run_id", "case_id"], observed=True)
frame = grouped.agg(n=("case_id", "size"), usable=("usable", "sum"), passed=("passed", "sum"),
                    score=("score", "sum"), square=("square", "sum"))
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(frame))
"""


def measure(code: str, lake: Path) -> tuple[float, float, int]:
    """Return seconds, peak memory in MB and rows of one fresh process."""
    done = subprocess.run([sys.executable, "-c", code, str(lake)], check=True, capture_output=True, text=True)
    seconds, memory, rows = done.stdout.split()
    return float(seconds), float(memory), int(rows)


def main() -> None:
    """Make a lake, measure both in turns, print the row as JSON."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        make_lake(lake, rows)
        ours, theirs = [], []
        for _ in range(5):
            ours.append(measure(OURS, lake))
            theirs.append(measure(PANDAS, lake))
    if ours[0][2] != theirs[0][2]:
        raise SystemExit("the two disagree about the number of groups")
    result: dict[str, Any] = {
        "what": f"case statistics of {rows:,} trials from Parquet, DuckDB against pandas",
        "peer": f"{shown([s for s, _, _ in theirs])}, {max(m for _, m, _ in theirs):.0f} MB",
        "ours": f"{shown([s for s, _, _ in ours])}, {max(m for _, m, _ in ours):.0f} MB",
        "ratio": ratio([s for s, _, _ in theirs], [s for s, _, _ in ours]),
        "goal": 20,
    }
    json.dump({"title": "Store", "rows": [result]}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
