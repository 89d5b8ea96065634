"""How much does a recorded trial cost over a bare process? ``python benchmarks/bench_runner.py``.

Runs the same commands through the runner (private folders, environment, journal, artifacts, sweep) and
through a thread pool around ``subprocess.run`` that keeps nothing, in alternating rounds, in this process.
Prints one line for people on stderr and one JSON document on stdout; exits 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evalstats import runner
from evalstats.suite import Suite, load

LEAST_RATIO = 0.8
MOST_PARENT_CPU_MS = 0.5


def main() -> int:
    """Run the rounds, print the medians and say whether both bars hold."""
    options = _options()
    with tempfile.TemporaryDirectory() as place:
        suite = _suite(Path(place), options.command)
        rounds = [_round(suite, Path(place), number, options) for number in range(options.rounds)]
    result = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
    held = result["ratio"] >= LEAST_RATIO and result["parent_cpu_ms"] <= MOST_PARENT_CPU_MS
    print(
        f"{options.trials} x {' '.join(options.command)!r} at {options.jobs} jobs: {result['runner_per_s']:.0f} "
        f"recorded trials/s, {result['bare_per_s']:.0f} bare processes/s, ratio {result['ratio']:.2f}, "
        f"{result['parent_cpu_ms']:.2f} ms parent CPU a trial (bare {result['bare_cpu_ms']:.2f})",
        file=sys.stderr,
    )
    print(
        json.dumps({**result, "rounds": rounds, "trials": options.trials, "jobs": options.jobs, "held": held})
    )
    return 0 if held else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("command", nargs="*", default=["sleep", "0.01"])
    return parser.parse_args()


def _suite(place: Path, command: list[str]) -> Suite:
    case = {
        "id": "one",
        "title": "one",
        "kind": "command",
        "objective": "end well",
        "inputs": {"argv": command},
        "dimensions": ["correctness"],
        "expectations": [{"type": "exit_code", "value": 0}],
    }
    document = {
        "schema_version": 1,
        "id": "bench",
        "name": "Bench",
        "domain": "benchmark",
        "visibility": "public_canary",
        "tier": "deterministic",
        "scoring": {
            "aggregate_threshold": 1,
            "dimensions": [{"name": "correctness", "weight": 1, "threshold": 1}],
        },
        "baseline_policy": {"mode": "none"},
        "cases": [case],
    }
    path = place / "suite.json"
    path.write_text(json.dumps(document), "utf-8")
    return load(path)


def _round(suite: Suite, place: Path, number: int, options: argparse.Namespace) -> dict[str, float]:
    def recorded() -> None:
        plan = runner.plan(suite, runner.Options(trials=options.trials, run_id=f"round-{number}"))
        result = runner.run(plan, data=place / "data", jobs=options.jobs)
        assert result.records[0]["trials"]["usable"] == options.trials

    def bare() -> None:
        def one(_: int) -> None:
            subprocess.run(
                options.command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
                env=os.environ,
            )

        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(one, range(options.trials)))

    # Which of the two goes first alternates: the machine may be warming up or cooling down.
    steps = {"runner": recorded, "bare": bare} if number % 2 else {"bare": bare, "runner": recorded}
    taken = {name: _timed(step) for name, step in steps.items()}
    rates = {name: options.trials / wall for name, (wall, _) in taken.items()}
    return {
        "runner_per_s": rates["runner"],
        "bare_per_s": rates["bare"],
        "ratio": rates["runner"] / rates["bare"],
        "parent_cpu_ms": 1000 * taken["runner"][1] / options.trials,
        "bare_cpu_ms": 1000 * taken["bare"][1] / options.trials,
    }


def _timed(step) -> tuple[float, float]:
    """Return the wall time and the CPU time of this process alone, in seconds."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    step()
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return wall, (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


if __name__ == "__main__":
    sys.exit(main())
