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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evalstats import report, store
from evalstats.contract import Outcome, Status
from evalstats.journal import encode
from evalstats.report import Execution, Request
from evalstats.suite import load
from evalstats.trials import Trial

SUITE = "solver"
NIGHTS, TRIALS = 9, 5  # as many as the demo has
ARMS = (("skill-on", 0.65), ("skill-off", 0.5))
DIGESTS = {
    name: str(n) * 64 for n, name in enumerate(("raw", "canonical", "scoring", "policy", "metadata"), 1)
}
NOTEBOOKS = ("variance_bands", "baseline_audit", "comparison", "lift", "planning", "suite_lock_review")
SIX = report.requests_for(NOTEBOOKS, {"suite": SUITE})


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="evalstats-bench-") as name:
        folder = Path(name)
        place = folder / "evalstats.duckdb"
        fill(place, folder / "runs")
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


def fill(place: Path, runs: Path) -> None:
    """Make a store of invented runs."""
    rng = np.random.default_rng(20261130)
    cases = {case.id: str(case.archetype) for case in load(Path("evals") / SUITE).cases}
    for night in range(1, NIGHTS + 1):
        for arm, rate in ARMS:
            run_id = f"eval-{night:02d}-{arm}"
            journal = runs / run_id / "journal" / "bench-1-1.jsonl"
            journal.parent.mkdir(parents=True)
            (runs / run_id / "manifest.json").write_text(
                json.dumps(manifest(run_id, night, arm, list(cases)))
            )
            lines = [encode(trial.as_record()) for trial in trials((run_id, night, arm), rate, cases, rng)]
            journal.write_bytes(b"".join(lines))
    store.ingest(place, runs)


def manifest(run_id: str, night: int, arm: str, cases: list[str]) -> dict[str, Any]:
    """Return the manifest of an invented run."""
    suite = {
        "id": SUITE,
        "path": f"evals/{SUITE}/suite.json",
        "tier": "headless",
        "visibility": "public_canary",
    }
    return {
        "run_id": run_id, "group_id": f"eval-{night:02d}", "suite": {**suite, "sha256": "1" * 64, "hashes": DIGESTS},
        "case_hashes": dict.fromkeys(cases, "6" * 64), "seed": night, "arm": arm, "axis": "skill",
        "mode": "both", "created_at": f"2026-11-{night:02d}T02:15:00.000Z", "registry_version": "r9",
        "cli_version": "0.1.0", "model": "m1", "judge_model": None, "is_mock": False,
        "runtime": {"name": "shell"}, "trials_per_case": TRIALS,
    }  # fmt: skip


def trials(
    run: tuple[str, int, str], rate: float, cases: Mapping[str, str], rng: np.random.Generator
) -> list[Trial]:
    """Return the trials of an invented run; later cases are harder."""
    run_id, night, arm = run
    made = []
    for place, (case, archetype) in enumerate(cases.items()):
        for index in range(1, TRIALS + 1):
            passed = bool(rng.random() < np.clip(rate + 0.5 - place / len(cases), 0, 1))
            made.append(
                Trial(
                    run_id=run_id,
                    suite_id=SUITE,
                    case_id=case,
                    archetype=archetype,
                    arm=arm,
                    trial_index=index,
                    status=Status.PASS if passed else Status.FAIL,
                    outcome=Outcome.OK,
                    started_at=f"2026-11-{night:02d}T02:16:00.000Z",
                    score=float(passed),
                    passed=passed,
                )
            )
    return made


if __name__ == "__main__":
    main()
