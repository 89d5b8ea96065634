"""Stores of any size: runs that nobody ran, with outcomes by chance, journalled and ingested as real ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from evalstats import store
from evalstats.contract import Arm, Outcome, Status
from evalstats.journal import encode
from evalstats.trials import Trial, timestamp

ARMS = ((Arm.SKILL_ON, 0.65), (Arm.SKILL_OFF, 0.5))
FIRST = datetime(2025, 1, 1, 2, 15, tzinfo=UTC)
LAYERS = ("raw", "canonical", "scoring", "policy", "metadata")
DIGESTS = {name: str(n) * 64 for n, name in enumerate(LAYERS, 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Invented:
    """Nights of a suite in both arms: ``cases`` maps the id of a case to its archetype."""

    suite: str
    nights: int
    cases: Mapping[str, str]
    trials: int

    @property
    def rows(self) -> int:
        """Return how many trials that are."""
        return self.nights * len(self.cases) * self.trials * len(ARMS)


def some_cases(count: int, archetypes: int = 12) -> dict[str, str]:
    """Return ids of cases, each with its archetype."""
    return {f"case-{number:06d}": f"A{number % archetypes + 1}" for number in range(count)}


def fill(what: Invented, place: Path, runs: Path) -> float:
    """Write the runs and ingest them; return how many seconds the ingest took."""
    rng = np.random.default_rng(20261130)
    for night in range(1, what.nights + 1):
        for arm, rate in ARMS:
            run_id = f"eval-{night:03d}-{arm}"
            journal = runs / run_id / "journal" / "bench-1-1.jsonl"
            journal.parent.mkdir(parents=True)
            (runs / run_id / "manifest.json").write_text(json.dumps(_manifest(what, run_id, night, arm)))
            journal.write_bytes(b"".join(map(encode, _records(what, (run_id, night, arm), rate, rng))))
    began = time.perf_counter()
    store.ingest(place, runs)
    return time.perf_counter() - began


def _when(night: int) -> str:
    return timestamp(FIRST + timedelta(days=night))


def _manifest(what: Invented, run_id: str, night: int, arm: Arm) -> dict[str, Any]:
    suite = {
        "id": what.suite, "path": f"evals/{what.suite}/suite.json", "tier": "headless", "visibility": "public_canary",
        "sha256": "1" * 64, "hashes": DIGESTS,
    }  # fmt: skip
    return {
        "run_id": run_id, "group_id": f"eval-{night:03d}", "suite": suite,
        "case_hashes": dict.fromkeys(what.cases, "6" * 64), "seed": night, "arm": arm, "axis": "skill",
        "mode": "both", "created_at": _when(night), "registry_version": "r9", "cli_version": "0.1.0", "model": "m1",
        "judge_model": None, "is_mock": False, "runtime": {"name": "shell"}, "trials_per_case": what.trials,
    }  # fmt: skip


def _records(
    what: Invented, run: tuple[str, int, Arm], rate: float, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Yield the trials of a run as lines of a journal; later cases are harder."""
    run_id, night, arm = run
    for place, (case, archetype) in enumerate(what.cases.items()):
        chance = min(max(rate + 0.5 - place / len(what.cases), 0.0), 1.0)
        for index in range(1, what.trials + 1):
            passed = bool(rng.random() < chance)
            yield Trial(
                run_id=run_id, suite_id=what.suite, case_id=case, archetype=archetype, arm=arm, trial_index=index,
                status=Status.PASS if passed else Status.FAIL, outcome=Outcome.OK, started_at=_when(night),
                score=float(passed), passed=passed,
            ).as_record()  # fmt: skip
