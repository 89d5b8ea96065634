"""Real run folders, written as the runner writes them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalstats.artifacts import Artifacts
from evalstats.contract import Arm, ExpectationType, Isolation, Outcome, Status
from evalstats.journal import encode
from evalstats.trials import ExpectationResult, Trial


def expectation(index: int, passed: bool | None) -> ExpectationResult:
    kind = ExpectationType.EXIT_CODE if index == 0 else ExpectationType.MANUAL_REVIEW
    return ExpectationResult(index=index, type=kind, required=index == 0, passed=passed, detail="looked at")


@dataclass
class Runs:
    """A folder of runs and the blobs beside it."""

    folder: Path
    artifacts: Artifacts

    def manifest(self, run_id: str, **changes: Any) -> dict[str, Any]:
        suite = {
            "id": "demo", "path": "evals/demo/suite.json", "tier": "deterministic", "visibility": "public_canary",
            "sha256": "1" * 64, "hashes": {"raw": "1" * 64, "canonical": "2" * 64, "scoring": "3" * 64,
                                           "policy": "4" * 64, "metadata": "5" * 64},
        }  # fmt: skip
        return {
            "run_id": run_id, "group_id": "g1", "suite": suite, "case_hashes": {"c1": "6" * 64, "c2": "7" * 64},
            "seed": 2**47 + 1, "arm": "skill-on", "axis": "skill", "mode": "both",
            "created_at": "2026-03-01T12:00:00.250Z", "registry_version": "r9", "cli_version": "0.1.0",
            "model": "m1", "judge_model": None, "is_mock": False, "runtime": {"name": "shell"},
            "git": {"candidate_ref": "main"}, "trials_per_case": 6, **changes,
        }  # fmt: skip

    def trial(self, run_id: str, case_id: str, index: int, **changes: Any) -> Trial:
        given: dict[str, Any] = {
            "run_id": run_id, "suite_id": "demo", "case_id": case_id, "archetype": "A1", "arm": Arm.SKILL_ON,
            "trial_index": index, "seed": 2**47 + index, "started_at": "2026-03-01T12:00:01.500Z",
            "status": Status.PASS, "outcome": Outcome.OK, "score": 1.0, "passed": True, "duration_s": 0.25,
            "exit_code": 0, "dimension_scores": {"correctness": 1.0, "safety": None},
            "expectations": (expectation(0, True), expectation(1, None)), "isolation": Isolation.BWRAP,
            "cited_cards": ("card",), "artifacts": {"stdout": self.artifacts.put(b"said")},
        }  # fmt: skip
        return Trial(**{**given, **changes})

    def mixed(self, run_id: str, case_id: str, **changes: Any) -> list[Trial]:
        """Six trials of a case: two pass, one fails with 1/3, one times out, two carry no score."""
        failed = {"passed": False, "status": Status.FAIL, "expectations": (expectation(0, False),)}
        lost = {"score": None, "passed": None, "expectations": (), "dimension_scores": {}, "exit_code": None}
        variants: list[dict[str, Any]] = [
            {},
            {},
            {**failed, "score": 1 / 3},
            {**failed, "score": 0.0, "outcome": Outcome.TIMEOUT, "reason": "took longer than 1 s"},
            {**lost, "outcome": Outcome.INFRASTRUCTURE, "status": Status.ERROR, "reason": "429"},
            {
                **lost,
                "outcome": Outcome.UNSCORED,
                "status": Status.INCONCLUSIVE,
                "reason": "no manifest",
                "expectations": (expectation(0, None),),
            },
        ]
        return [
            self.trial(run_id, case_id, index, **{**variant, **changes})
            for index, variant in enumerate(variants, 1)
        ]

    def add(
        self, run_id: str, trials: list[Trial] | None = None, *, name: str = "host-1-1", **manifest: Any
    ) -> Path:
        """Write a run and return its journal."""
        journal = self.folder / run_id / "journal" / f"{name}.jsonl"
        journal.parent.mkdir(parents=True, exist_ok=True)
        (self.folder / run_id / "manifest.json").write_text(json.dumps(self.manifest(run_id, **manifest)))
        if trials is None:
            trials = [*self.mixed(run_id, "c1"), *self.mixed(run_id, "c2", archetype=None)]
        append(journal, trials)
        return journal


def append(journal: Path, trials: list[Trial]) -> None:
    with journal.open("ab") as file:
        file.writelines(encode(trial.as_record()) for trial in trials)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    folder = tmp_path / "data" / "runs"
    folder.mkdir(parents=True)
    return Runs(folder, Artifacts(folder.parent / "artifacts"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "evalstats.duckdb"


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of a few hundred kB, as asked by the ``disk`` parameter, where mounting is allowed."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("needs the right to mount a small file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)
