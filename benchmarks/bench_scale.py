"""How far does it go? A suite of 100,000 cases, 400 nights of 50, and how the time grows with the trials.

Each is measured in a process of its own, so that its peak of memory is its own. Prints one table as JSON. Goals on
2 cores: 1e5 cases in under 10 s of ingest, a report in under 60 s, below 2 GB, a page under 5 MB; the page of the
morning over 400 nights in under 10 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.invented import Invented, fill, some_cases
from evalstats import estimates, report
from evalstats.report import Execution

WIDE = Invented(suite="wide", nights=1, cases=some_cases(100_000), trials=1)
LONG = Invented(suite="long", nights=400, cases=some_cases(50), trials=3)
GROWING = (12_500, 25_000, 50_000, 100_000)


def main() -> None:
    """Measure, each in a process of its own, and print."""
    if len(sys.argv) > 1:
        print(json.dumps(_measured(sys.argv[1], int(sys.argv[2]))))
        return
    wide, long = _in_a_process("wide", len(WIDE.cases)), _in_a_process("long", LONG.nights)
    growth = [_in_a_process("grow", cases) for cases in GROWING]
    rows = [
        {"what": "100,000 cases, both arms: ingest", "ours": f"{wide['ingest']:.1f} s", "goal": "under 10 s"},
        {"what": "report lift", "ours": f"{wide['report']:.1f} s", "goal": "under 60 s"},
        {"what": "peak memory", "ours": f"{wide['megabytes']:.0f} MB", "goal": "under 2000 MB"},
        {"what": "page", "ours": f"{wide['page']:.2f} MB", "goal": "under 5 MB"},
        {"what": "400 nights x 50 cases x 3 trials x 2 arms: ingest", "ours": f"{long['ingest']:.1f} s"},
        {"what": "report nightly", "ours": f"{long['report']:.1f} s", "goal": "under 10 s"},
        {"what": "peak memory", "ours": f"{long['megabytes']:.0f} MB"},
    ]
    for one in growth:
        micro = 1e6 / one["rows"]
        ours = f"ingest {one['ingest'] * micro:.0f} us, estimates {one['estimates'] * micro:.1f} us a trial"
        rows.append({"what": f"{one['rows']:,} trials", "ours": ours})
    title = f"Scale, one round each; load before the end {os.getloadavg()[0]:.1f}"
    print(json.dumps({"title": title, "rows": rows, "note": _extrapolated(growth)}))


def _extrapolated(growth: list[dict[str, Any]]) -> str:
    last = growth[-1]
    hours = last["ingest"] / last["rows"] * 1e9 / 3600
    return (
        "Near-linear where the time a trial stays the same. Carried on to a billion trials, ingest would take about"
        f" {hours:.0f} hours on one core, if nothing but the number grew (the same share of keys seen before, a disk"
        " that keeps up, 1e5 cases a run). Nobody tried."
    )


def _in_a_process(what: str, size: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.bench_scale", what, str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _measured(what: str, size: int) -> dict[str, Any]:
    world = LONG if what == "long" else Invented(suite=what, nights=1, cases=some_cases(size), trials=1)
    with tempfile.TemporaryDirectory(prefix="evalstats-bench-") as name:
        place = Path(name) / "evalstats.duckdb"
        found: dict[str, Any] = {"rows": world.rows, "ingest": fill(world, place, Path(name) / "runs")}
        if what == "grow":
            return found | {"estimates": _estimates(place, world)}
        return found | _report("nightly" if what == "long" else "lift", place, world)


def _estimates(place: Path, world: Invented) -> float:
    began = time.perf_counter()
    runs = report.case_runs(str(place), world.suite)
    estimates.rate(runs)
    estimates.difference(runs, rng=estimates.generator(1))
    return time.perf_counter() - began


def _report(notebook: str, place: Path, world: Invented) -> dict[str, Any]:
    """Return what a report took, start-up included, and the peak of all processes that took part."""
    began = time.perf_counter()
    request = report.requests_for([notebook], {"suite": world.suite})
    (built,) = report.build_all(
        request, store=place, reports=place.parent / "reports", execution=Execution(cold=True)
    )
    if not isinstance(built, report.BuiltReport):
        sys.exit(str(built))
    taken = time.perf_counter() - began
    page = (built.path / "report.html").stat().st_size / 1e6
    return {"report": taken, "page": page, "megabytes": _peak_megabytes()}


def _peak_megabytes() -> float:
    """Return the largest peak of this process and of its children."""
    import resource

    usage = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(usage) / 1024


if __name__ == "__main__":
    main()
