"""Records made by hand, and real runs of small suites in temporary folders."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalstats import contract, runner, suite
from evalstats.governance.baselines import Baseline
from evalstats.governance.captures import Places
from evalstats.governance.comparing import compare
from evalstats.governance.quantities import Rules


def _record_of(cases: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """Return a run record of these cases; its dimension scores are the means over the cases that carry them."""
    names = dict.fromkeys(name for case in cases for name in case["dimension_scores"])
    scores = {
        name: [c["score"] for c in cases if name in c["dimension_scores"] and c["score"] is not None]
        for name in names
    }
    suite_facts = {
        "id": "tiny",
        "path": "evals/tiny/suite.json",
        "visibility": "public_canary",
        "tier": changes.pop("tier", "headless"),
        "sha256": changes.pop("raw", "a" * 64),
    }
    if "scoring" in changes:
        suite_facts["hashes"] = {"scoring": changes.pop("scoring")}
    return {
        "schema_version": 1,
        "run_id": "run",
        "suite": suite_facts,
        "status": "pass",
        "case_results": cases,
        "aggregate_score": 0.5,
        "dimension_scores": {name: sum(s) / len(s) if s else None for name, s in scores.items()},
        **changes,
    }


def _case_of(case_id: str, passes: int = 1, trials: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a case result of yes/no trials, in the dimension ``correctness`` unless others are named."""
    rate = passes / trials
    dimensions = changes.pop("dimensions", ("correctness",))
    return {
        "id": case_id,
        "status": "pass" if rate > 0.5 else "fail",
        "score": rate,
        "dimension_scores": dict.fromkeys(dimensions, rate),
        "trials": trials,
        "usable": trials,
        "passes": passes,
        "pass_rate": rate,
        **changes,
    }


def _held(record: dict[str, Any]) -> Baseline:
    """Return a record as something to compare."""
    cases = record["case_results"]
    return Baseline(
        suite_id=record["suite"]["id"],
        path=Path("record.json"),
        sha256="b" * 64,
        record=record,
        raw=record["suite"]["sha256"],
        hashes=record["suite"].get("hashes"),
        case_ids=tuple(case["id"] for case in cases),
        diagnostics={},
    )


@pytest.fixture(scope="session")
def record_of():
    return _record_of


@pytest.fixture(scope="session")
def case_of():
    return _case_of


@pytest.fixture(scope="session")
def held():
    return _held


RULES = Rules(aggregate_tolerance=0.1, dimension_tolerance=0.1, weights={"correctness": 1.0, "safety": 3.0})


@pytest.fixture(scope="session")
def against():
    """Return a function that compares two lists of cases and checks that the document keeps its schema."""

    def found(new, old, rules=RULES, new_facts=None, old_facts=None):
        candidate = _held(_record_of(new, run_id="new", **(new_facts or {})))
        baseline = _held(_record_of(old, run_id="old", **(old_facts or {})))
        comparison = compare(candidate, baseline, rules, rng=np.random.default_rng(1))
        contract.validate(comparison.as_record(), "baseline-comparison.v1")
        return comparison

    return found


class Repository:
    """A repository with one small suite, whose answers lie in a file and can be changed between runs."""

    def __init__(self, root: Path, *, new: bool = True) -> None:
        self.root, self.data = root, root / "data"
        if new:
            (root / "evalstats.toml").write_text("")
            self.write()

    def write(self, folder: str = "tiny", **changes: Any) -> Path:
        """Write the suite anew; each of its cases passes when its name stands in the answers."""
        place = self.root / "evals" / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / "suite.json").write_text(json.dumps({**_document(), **changes}))
        if not (place / "answers").exists():
            self.answer("first second third", folder)
        return place / "suite.json"

    def answer(self, words: str, folder: str = "tiny") -> None:
        """Decide which cases will pass."""
        (self.root / "evals" / folder / "answers").write_text(words)

    def run(self, run_id: str, *, folder: str = "tiny", trials: int = 2, **options: Any) -> dict[str, Any]:
        """Run the suite for real, and return its record."""
        loaded = suite.load(self.root / "evals" / folder)
        plan = runner.plan(loaded, runner.Options(run_id=run_id, trials=trials, **options))
        return runner.run(plan, data=self.data, jobs=2).records[0]

    def places(self, **changes: Any) -> Places:
        """Return where everything lies."""
        return Places(**{"data": self.data, "suites": self.root / "evals", **changes})


def _document() -> dict[str, Any]:
    dimensions = {
        "first": ["correctness", "safety"],
        "second": ["correctness", "runtime_compatibility"],
        "third": ["correctness"],
    }
    script = "import sys; print(sys.argv[1] in open('answers').read())"  # beside the suite file
    return {
        "schema_version": 1,
        "id": "tiny",
        "name": "Tiny",
        "domain": "test",
        "visibility": "public_canary",
        "tier": "deterministic",
        "scoring": {
            "aggregate_threshold": 0.5,
            "dimensions": [
                {"name": "correctness", "weight": 2, "threshold": 0},
                {"name": "safety", "weight": 1, "threshold": 0},
                {"name": "runtime_compatibility", "weight": 1, "threshold": 0},
            ],
        },
        "baseline_policy": {"mode": "promotable"},
        "cases": [
            {
                "id": name,
                "title": name,
                "kind": "command",
                "objective": "be among the answers",
                "inputs": {"argv": [sys.executable, "-S", "-E", "-c", script, name]},
                "expectations": [{"type": "stdout_contains", "value": "True"}],
                "dimensions": carried,
                "critical": name == "third",
            }
            for name, carried in dimensions.items()
        ],
    }


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with three real runs of two trials: r1 and r2 passed, in r3 the second case failed."""
    made = Repository(tmp_path_factory.mktemp("template"))
    made.run("r1")
    made.run("r2")
    made.answer("first third")
    made.run("r3")
    made.answer("first second third")
    return made.root


@pytest.fixture
def ran(template: Path, tmp_path: Path) -> Repository:
    """Return a copy of the repository with its three runs."""
    return Repository(Path(shutil.copytree(template, tmp_path / "ran")), new=False)
