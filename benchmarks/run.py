"""Run every benchmark and write ``benchmarks/RESULTS.md``: ``make bench``."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = ("numpy", "scipy", "pandas", "duckdb", "statsmodels")


def main() -> None:
    """Measure, then write the page. A bar that is missed is written down, not hidden."""
    scripts = (
        "bench_correctness.py", "bench_peers.py", "bench_store.py", "bench_compare.py", "bench_notebooks.py",
        "bench_scale.py",
    )  # fmt: skip
    tables = [_run("bench_intervals.py"), _runner_table(), *map(_run, scripts)]
    (HERE / "RESULTS.md").write_text("\n".join([_head(), *map(_table, tables)]), encoding="utf-8")
    print(HERE / "RESULTS.md")


def _run(script: str, *, may_fail: bool = False) -> dict[str, Any]:
    print(f"running {script}", file=sys.stderr)
    command = [sys.executable, "-m", f"benchmarks.{script.removesuffix('.py')}"]
    done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=not may_fail)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _runner_table() -> dict[str, Any]:
    found = _run("bench_runner.py", may_fail=True)  # exits 1 when a bar is missed; the table says which
    rates = [r["ratio"] for r in found["rounds"]]
    cpu = [r["parent_cpu_ms"] for r in found["rounds"]]
    return {
        "title": "Runner: 1,000 trials of 10 ms at 8 jobs against a bare process pool",
        "rows": [
            {
                "what": "share of the bare pool's rate",
                "ours": f"{found['ratio']:.2f} ({min(rates):.2f} to {max(rates):.2f})",
                "goal": "0.80 or more",
            },
            {
                "what": "parent CPU a trial",
                "peer": f"{found['bare_cpu_ms']:.2f} ms",
                "ours": f"{found['parent_cpu_ms']:.2f} ms ({min(cpu):.2f} to {max(cpu):.2f})",
                "goal": "0.50 ms or less",
            },
        ],
    }


def _head() -> str:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    today = datetime.datetime.now(datetime.UTC).date()
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    load = os.getloadavg()[0]
    return f"""# Results

Written by `make bench` on {today}: {machine}, {versions}; load before the end {load:.1f}.
Medians with ranges over at least 5 rounds; contestants take turns. Compare ratios, not times.
"""


def _table(found: dict[str, Any]) -> str:
    columns = [
        name
        for name in ("what", "peer", "ours", "ratio", "goal", "limit", "endpoints apart")
        if _has(found, name)
    ]
    lines = [f"## {found['title']}", "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(_cell(row.get(name)) for name in columns)} |" for row in found["rows"]]
    return "\n".join([*lines, "", *([found["note"], ""] if "note" in found else [])])


def _has(found: dict[str, Any], name: str) -> bool:
    return any(name in row for row in found["rows"])


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
