"""How long do six reports take, from a warm Python and from cold starts, and do both give the same bytes?

The store holds as many runs as that of the demo, of the same suite, with invented outcomes. Prints one table as JSON.
Goals on 2 cores: 8 s for six after the preload, 30 s cold.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.invented import Invented, fill
from evalstats import report
from evalstats.report import Execution, Request
from evalstats.suite import load

SUITE = "solver"
NIGHTS, TRIALS = 9, 5  # as many as the demo has
NOTEBOOKS = ("variance_bands", "baseline_audit", "comparison", "lift", "planning", "suite_lock_review")
SIX = report.requests_for(NOTEBOOKS, {"suite": SUITE})


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="evalstats-bench-") as name:
        folder = Path(name)
        place = folder / "evalstats.duckdb"
        cases = {case.id: str(case.archetype) for case in load(Path("evals") / SUITE).cases}
        fill(Invented(suite=SUITE, nights=NIGHTS, cases=cases, trials=TRIALS), place, folder / "runs")
        first, _ = seconds(SIX[:1], place, folder / "first", Execution())
        warm, warm_hashes = seconds(SIX, place, folder / "warm", Execution())
        cold, cold_hashes = seconds(SIX, place, folder / "cold", Execution(cold=True))
    if warm_hashes != cold_hashes:
        sys.exit("warm and cold gave different reports")
    rows = [
        {"what": "preload and the first report", "ours": f"{first:.1f} s"},
        {"what": "six reports, warm, side by side", "ours": f"{warm:.1f} s", "goal": "8 s or less"},
        {"what": "six reports, cold, side by side", "ours": f"{cold:.1f} s", "goal": "30 s or less"},
    ]
    title = f"Reports over {NIGHTS} nights; the same bytes warm and cold; load before the end {os.getloadavg()[0]:.1f}"
    print(json.dumps({"title": title, "rows": rows}))


def seconds(
    requests: Sequence[Request], place: Path, reports: Path, how: Execution
) -> tuple[float, list[str]]:
    """Return how long the reports take, and their content hashes."""
    started = time.perf_counter()
    built = list(report.build_all(requests, store=place, reports=reports, execution=how))
    taken = time.perf_counter() - started
    return taken, [
        one.content_hash if isinstance(one, report.BuiltReport) else sys.exit(str(one)) for one in built
    ]


if __name__ == "__main__":
    main()
