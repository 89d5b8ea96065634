"""How fast are case statistics over many trials, against pandas? ``python benchmarks/bench_store.py [ROWS]``.

All start from the same Parquet lake on disk and end with one row per run and case: trials, usable trials, passes,
and the sums the statistics start from. Each runs in a process of its own, so that memory is its own. pandas runs
twice: in its best form, with the needed columns alone, and as it is usually typed, with all of them; the latter on a
fifth of the rows, for it needs 0.7 GB a million. ``limit`` is DuckDB counting rows by run and case and nothing
else: what no query over this lake can beat.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lake import make_lake
from benchmarks.timing import ratio, shown

OURS = """
from pathlib import Path
from evalstats import store
with store.open(Path(sys.argv[1]), read_only=True) as lake:
    frame = lake.case_runs("big")
"""
LIMIT = """
import duckdb
files = f"read_parquet('{sys.argv[1]}/trials/**/*.parquet', hive_partitioning = true)"
frame = duckdb.sql(f"SELECT run_id, case_id, count(*) FROM {files} GROUP BY ALL").fetchall()
"""
PANDAS = """
import pandas as pd
names = {columns}
trials = pd.read_parquet(sys.argv[1] + "/trials", columns=names)
trials["square"] = trials["score"] ** 2
grouped = trials.groupby(["run_id", "case_id"], observed=True)
frame = grouped.agg(n=("case_id", "size"), usable=("usable", "sum"), passed=("passed", "sum"),
                    score=("score", "sum"), square=("square", "sum"))
"""
BEST = PANDAS.replace(
    "{columns}", '["case_id", "archetype", "usable", "passed", "score", "outcome", "run_id"]'
)
PLAIN = PANDAS.replace("{columns}", "None")
# The peak since the program began: getrusage would also count the process that it was forked from.
TIMED = """
import sys, time
started = time.perf_counter()
{code}
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.perf_counter() - started, int(peak) / 1024, len(frame))
"""


NOTE = """The goal of 20 is not reached. `limit` is DuckDB counting rows by run and case and nothing else, start-up
included: even that is hardly 20 times faster than pandas in its best form. Ours
also adds exact sums of scores and squares."""


class Measured(NamedTuple):
    """What one fresh process took: seconds, peak memory in MB, and how many groups it found."""

    seconds: float
    memory: float
    groups: int


def measure(code: str, lake: Path) -> Measured:
    """Run a fresh process."""
    command = [sys.executable, "-c", TIMED.replace("{code}", code), str(lake)]
    seconds, memory, groups = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.split()
    return Measured(float(seconds), float(memory), int(groups))


def against(peer: str, rows: int, folder: Path) -> tuple[list[Measured], list[Measured], list[Measured]]:
    """Make a lake and measure ours, the peer and the limit in turns."""
    lake = folder / f"lake-{rows}"
    make_lake(lake, rows)
    found = [(measure(OURS, lake), measure(peer, lake), measure(LIMIT, lake)) for _ in range(5)]
    if len({one.groups for turn in found for one in turn}) != 1:
        raise SystemExit("they disagree about the number of groups")
    ours, theirs, limit = zip(*found, strict=True)
    return list(ours), list(theirs), list(limit)


def main() -> None:
    """Measure, print the rows as JSON."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000
    with tempfile.TemporaryDirectory() as name:
        best = row("pandas with the needed columns", rows, *against(BEST, rows, Path(name)))
        plain = row("pandas with all columns", rows // 5, *against(PLAIN, rows // 5, Path(name)))
    found = {"title": "Store: case statistics from Parquet", "rows": [best, plain], "note": NOTE}
    json.dump(found, sys.stdout, indent=1)


def row(
    peer: str, rows: int, ours: list[Measured], theirs: list[Measured], limit: list[Measured]
) -> dict[str, Any]:
    """Return a row of the table."""
    return {
        "what": f"{rows:,} trials, against {peer}",
        "peer": said(theirs),
        "ours": said(ours),
        "ratio": ratio([one.seconds for one in theirs], [one.seconds for one in ours]),
        "goal": "20, under 1500 MB",
        "limit": said(limit),
    }


def said(measured: list[Measured]) -> str:
    """Return time and memory of a contestant."""
    return f"{shown([one.seconds for one in measured])}, {max(one.memory for one in measured):.0f} MB"


if __name__ == "__main__":
    main()
