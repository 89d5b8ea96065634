"""The way of a trial on this machine: into a journal with a torn tail, into the store, and into the store made anew."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from evalstats import store
from evalstats.contract import Arm, Outcome, Status
from evalstats.journal import encode
from evalstats.trials import Trial, timestamp

RUN, SUITE, TRIALS = "selfcheck", "selfcheck", 3


def trials_survive() -> tuple[str, bool]:
    """Return how many trials the store holds in the end, and whether it is all of them, twice the same."""
    with tempfile.TemporaryDirectory(prefix="evalstats-selfcheck-") as folder:
        runs, place = Path(folder) / "runs", Path(folder) / "evalstats.duckdb"
        _write(runs / RUN)
        store.ingest(place, runs)
        before = _digest(place)
        place.unlink()
        store.rebuild(place, runs)
        with store.open(place, read_only=True) as opened:
            kept = len(opened.trials(SUITE))
        return f"{kept} trials", kept == TRIALS and _digest(place) == before


def _digest(place: Path) -> str:
    with store.open(place, read_only=True) as opened:
        return store.rows_digest(opened.trials(SUITE))


def _write(folder: Path) -> None:
    """Write a run whose writer was killed in the middle of its fourth trial."""
    (folder / "journal").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(_manifest()), "utf-8")
    lines = [encode(_trial(number).as_record()) for number in range(1, TRIALS + 2)]
    (folder / "journal" / "host-1-1.jsonl").write_bytes(b"".join(lines)[: -len(lines[-1]) // 2])


def _manifest() -> dict[str, Any]:
    layers = ("raw", "canonical", "scoring", "policy", "metadata")
    suite = {
        "id": SUITE, "path": "suite.json", "tier": "deterministic", "visibility": "public_canary",
        "sha256": "1" * 64, "hashes": {layer: "1" * 64 for layer in layers},
    }  # fmt: skip
    return {
        "run_id": RUN, "group_id": RUN, "suite": suite, "case_hashes": {"case": "1" * 64}, "seed": 1,
        "arm": "skill-on", "axis": "skill", "mode": "skill-on", "created_at": timestamp(), "registry_version": None,
        "cli_version": "selfcheck", "model": None, "judge_model": None, "is_mock": False,
        "runtime": {"name": "shell"}, "trials_per_case": TRIALS + 1,
    }  # fmt: skip


def _trial(number: int) -> Trial:
    passed = bool(number % 2)
    return Trial(
        run_id=RUN, suite_id=SUITE, case_id="case", arm=Arm.SKILL_ON, trial_index=number, passed=passed,
        status=Status.PASS if passed else Status.FAIL, score=float(passed), outcome=Outcome.OK, started_at=timestamp(),
    )  # fmt: skip
