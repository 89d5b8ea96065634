"""A store whose numbers can be worked out by hand, and a way to run the cells of a notebook without a kernel."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalstats import store
from evalstats.contract import Outcome, Status
from evalstats.journal import encode
from evalstats.trials import Trial

ROOT = Path(__file__).parents[2]
ARMS = ("skill-on", "skill-off")
CASES, TRIALS = 8, 3


def climbing(arm, night, case, index):
    """Without the skill a case passes 0, 1, 2 or 3 of its three trials, with it one more: means .5 and .75."""
    return float(index <= case % 4 + (arm == "skill-on"))


@pytest.fixture(scope="session")
def make_store():
    """Return a function that writes runs of the suite ``demo`` below a folder and returns the store they fill.

    ``unusual`` maps a night to what its manifests say beside the usual.
    """

    def make(folder, happens=climbing, *, nights=2, arms=ARMS, unusual=None):
        runs = folder / "data/runs"
        for night in range(1, nights + 1):
            for arm in arms:
                write_run(runs, night, arm, happens, (unusual or {}).get(night, {}))
        place = folder / "data/evalstats.duckdb"
        store.ingest(place, runs)
        return place

    return make


def write_run(runs, night, arm, happens, unusual=None):
    run_id = f"eval-{night:02d}-{arm}"
    layers = ("raw", "canonical", "scoring", "policy", "metadata")
    suite = {"id": "demo", "path": "evals/demo/suite.json", "tier": "headless", "visibility": "public_canary"}
    hashes = {name: str(i) * 64 for i, name in enumerate(layers, 1)}
    manifest = {
        "run_id": run_id, "group_id": f"eval-{night:02d}", "suite": {**suite, "sha256": "1" * 64, "hashes": hashes},
        "case_hashes": {f"c{i}": "6" * 64 for i in range(CASES)}, "seed": night, "arm": arm, "axis": "skill",
        "mode": "both", "created_at": f"2026-11-{night:02d}T02:15:00.000Z", "registry_version": "r9",
        "cli_version": "0.1.0", "model": "m1", "judge_model": None, "is_mock": False,
        "runtime": {"name": "shell"}, "trials_per_case": TRIALS, **(unusual or {}),
    }  # fmt: skip
    journal = runs / run_id / "journal/host-1-1.jsonl"
    journal.parent.mkdir(parents=True)
    (runs / run_id / "manifest.json").write_text(json.dumps(manifest))
    with journal.open("wb") as file:
        for case in range(CASES):
            for index in range(1, TRIALS + 1):
                file.write(encode(make_trial(run_id, arm, night, (case, index), happens).as_record()))


def make_trial(run_id, arm, night, key, happens):
    case, index = key
    score = happens(arm, night, case, index)
    lost = score is None
    return Trial(
        run_id=run_id, suite_id="demo", case_id=f"c{case}", archetype=f"A{case % 2 + 1}", arm=arm, trial_index=index,
        status=Status.ERROR if lost else Status.PASS if score == 1 else Status.FAIL, score=score,
        outcome=Outcome.INFRASTRUCTURE if lost else Outcome.OK, passed=None if lost else score == 1,
        reason="lost" if lost else None,
        started_at=f"2026-11-{night:02d}T02:16:00.000Z", dimension_scores={} if lost else {"correctness": score},
        expectations=(),
    )  # fmt: skip


POLICY = {
    "schema_version": 1, "suite": "demo", "rule": "three-verdict", "statistic": "difference", "margin": 0.2,
    "alpha": 0.05, "power": 0.8, "history": {"minimum": 8, "window": 28},
}  # fmt: skip


def noisy(arm, night, case, index):
    return float((case * 5 + night * 3 + index * 7) % 11 < (8 if arm == "skill-on" else 5))


@pytest.fixture(scope="session")
def lay_out(make_store):
    """Return a function that writes twelve nights of a suite, the suite itself and its policy below a folder."""

    def make(place, happens=noisy):
        make_store(place, happens, nights=12)
        folder = place / "evals/demo"
        folder.mkdir(parents=True)
        (folder / "policy.json").write_text(json.dumps(POLICY))
        (folder / "suite.json").write_text(json.dumps(suite()))
        return place

    return make


@pytest.fixture
def project(tmp_path, lay_out, monkeypatch):
    """Return a folder with twelve nights of a suite, the suite itself and its policy."""
    monkeypatch.chdir(lay_out(tmp_path))
    return tmp_path


def suite():
    case = {
        "title": "One", "kind": "command", "objective": "End well.", "inputs": {"argv": ["true"]},
        "dimensions": ["correctness"], "expectations": [{"type": "exit_code", "value": 0}],
    }  # fmt: skip
    dimension = {"name": "correctness", "weight": 1, "threshold": 0.5}
    return {
        "schema_version": 1, "id": "demo", "name": "Demo", "domain": "tests", "visibility": "public_canary",
        "tier": "headless", "baseline_policy": {"mode": "none"}, "cases": [{**case, "id": f"c{i}"} for i in range(8)],
        "scoring": {"aggregate_threshold": 0.5, "dimensions": [dimension]},
    }  # fmt: skip


@pytest.fixture(scope="session")
def run_cells():
    """Return a function that runs the code cells of a notebook here, with other parameters, and returns its names."""

    def run(name, **parameters):
        cells = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text("utf-8"))["cells"]
        names = {}
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
            if cell["id"] == "parameters":
                assert set(parameters) <= set(names)
                names.update(parameters)
        return SimpleNamespace(**{key: value for key, value in names.items() if not key.startswith("__")})

    return run


@pytest.fixture
def build(tmp_path):
    """Return a function that builds a notebook as a report, in processes of its own."""
    from evalstats import report

    def make(name, place, **parameters):
        return report.build(name, store=place, reports=tmp_path / "reports", parameters=parameters)

    return make
