"""Do the bundled suites load, do what they say, and notice when it is no longer so?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstats import contract, runner, scoring, suite
from evalstats.contract import Arm
from evalstats.runner.evidence import Evidence
from evalstats.runner.expectations import check_case

ROOT = Path(__file__).resolve().parents[2]
EVALS = ROOT / "evals"
NAMES = (
    "ab-demo", "context-demo", "contract-canaries", "live-arithmetic", "live-judged", "mock-scripted", "solver",
    "weights-demo",
)  # fmt: skip


@pytest.fixture(autouse=True)
def this_python_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def run_both(name: str, data: Path) -> list[dict[str, Any]]:
    """Return the records of a real run, skill on and skill off."""
    plan = runner.plan(suite.load(EVALS / name), runner.Options(mode="both", seed=1, run_id=name))
    records = {record["arm"]: record for record in runner.run(plan, data=data, jobs=2).records}
    return [records[arm] for arm in (Arm.SKILL_ON, Arm.SKILL_OFF)]


def statuses(record: dict[str, Any]) -> list[str]:
    return [result["status"] for result in record["case_results"]]


# --- every suite -----------------------------------------------------------------------------------


def test_these_are_the_bundled_suites() -> None:
    assert tuple(sorted(path.parent.name for path in EVALS.glob("*/suite.json"))) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_suite_can_be_planned_in_both_arms(name: str) -> None:
    loaded = suite.load(EVALS / name)
    suite.check_fixtures(loaded)
    ids = [case.id for case in loaded.cases]
    declared = {dimension.name for dimension in loaded.dimensions}
    assert loaded.id == name
    assert len(ids) == len(set(ids))
    assert all(case.dimensions and declared.issuperset(case.dimensions) for case in loaded.cases)
    assert runner.plan(loaded, runner.Options(mode="both")).planned_per_run == (
        len(ids) * loaded.trials_per_case
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_case_that_says_nothing_does_not_pass(name: str) -> None:
    loaded = suite.load(EVALS / name)
    silent = Evidence(suite=loaded, folder=str(loaded.folder), exit_code=0)
    scores = {case.id: scoring.case_score(check_case(case, silent)) for case in loaded.cases}
    assert max(scores.values()) <= 0.5, scores


def test_the_policy_of_the_solver_is_one() -> None:
    document, text = contract.read_json(EVALS / "solver" / "policy.json")
    contract.validate(document, "policy.v1", path=EVALS / "solver" / "policy.json", text=text)
    assert (document["suite"], document["rule"], document["margin"]) == ("solver", "three-verdict", 0.1)


# --- the two demonstrations of arithmetic ----------------------------------------------------------


def test_ab_demo_differs_by_one_half(tmp_path: Path) -> None:
    on, off = run_both("ab-demo", tmp_path)
    assert (on["aggregate_score"], off["aggregate_score"]) == (1.0, 0.5)
    assert statuses(on) == ["pass", "pass"]
    assert statuses(off) == ["fail", "pass"]


def test_weights_demo_weighs_seven_to_three(tmp_path: Path) -> None:
    on, off = run_both("weights-demo", tmp_path)
    assert on["aggregate_score"] == 1.0
    assert off["aggregate_score"] == pytest.approx(0.7 / 3 + 0.3, abs=1e-12)
    assert round(on["aggregate_score"] - off["aggregate_score"], 4) == 0.4667
    assert statuses(off) == ["fail", "pass"]


# --- the scripted answers --------------------------------------------------------------------------


def test_mock_scripted_is_marked_and_paid_for(tmp_path: Path) -> None:
    on, off = run_both("mock-scripted", tmp_path)
    assert (on["is_mock"], off["is_mock"]) == (True, True)
    busy = next(result for result in on["case_results"] if result["id"] == "busy")
    assert busy["score"] == 1.0  # whatever was refused on the way
    assert on["cost"] == pytest.approx(0.0002 * 10 + 0.0001 * busy["usable"])
    assert on["runtime"]["name"] == "mock"


# --- the canaries ----------------------------------------------------------------------------------


def test_the_canaries_pass_in_both_arms(tmp_path: Path) -> None:
    for record in run_both("contract-canaries", tmp_path):
        assert record["status"] == "pass", record["case_results"]
        assert record["aggregate_score"] == 1.0


def replaced(old: str, new: str) -> Callable[[Path], None]:
    def act(path: Path) -> None:
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    return act


def appended(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(path.read_text("utf-8") + text, "utf-8")


def with_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    next(c for c in notebook["cells"] if c["cell_type"] == "code")["execution_count"] = 3
    path.write_text(json.dumps(notebook), "utf-8")


DAMAGE = {
    "schemas-parse": (
        "schemas/policy.v1.json",
        replaced("urn:evalstats:policy.v1", "urn:evalstats:other.v1"),
    ),
    "suites-parse": ("evals/ab-demo/suite.json", replaced('"id": "ab-demo"', '"id": "a-demo"')),
    "policies-name-their-suite": ("evals/solver/policy.json", replaced('"solver"', '"ab-demo"')),
    "locks-have-hashes": ("requirements-dev.lock", appended("something==1.0\n")),
    "locks-name-no-index": ("requirements.lock", appended("--index-url=somewhere\n")),
    "licence-is-apache-2": ("LICENSE", replaced("Version 2.0, January 2004", "Version 1.1")),
    "readme-names-two-commands": ("README.md", replaced("make demo", "make show")),
    "notebooks-hold-no-outputs": ("notebooks/*.ipynb", with_outputs),
    "package-root-imports-nothing": ("evalstats/__init__.py", appended("import json\n")),
    "stats-stand-alone": ("evalstats/stats/__init__.py", appended("from evalstats import suite\n")),
    "solver-prints-json": ("evals/solver/solver.py", replaced("print(json.dumps(", "print(str(")),
    "solver-seed-repeats": ("evals/solver/solver.py", replaced('os.environ.get("EVALSTATS_SEED")', "None")),
    "distribution-name": ("pyproject.toml", replaced('"evalstats-notebooks"', '"evalstats"')),
    "ci-is-executable": (".ci/run", lambda path: path.chmod(0o644)),
    "changelog-has-unreleased": ("CHANGELOG.md", replaced("## Unreleased", "## 9.9")),
    "results-stay-out": (".gitignore", replaced("data/*", "data/old")),
    "no-merge-markers": ("docs/half-merged.md", lambda path: path.write_text("<" * 7 + " ours\n", "utf-8")),
}


def test_each_canary_has_its_damage() -> None:
    assert [case.id for case in suite.load(EVALS / "contract-canaries").cases] == list(DAMAGE)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the parts of the repository that the canaries look at."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("schemas", "evals", "evalstats", "notebooks", ".ci"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, folder)
    (folder / "docs").mkdir()
    return folder


@pytest.mark.parametrize("case_id", DAMAGE)
def test_a_canary_notices_damage(case_id: str, copy: Path) -> None:
    loaded = suite.load(copy / "evals" / "contract-canaries", root=copy)
    case = next(case for case in loaded.cases if case.id == case_id)
    name, damage = DAMAGE[case_id]
    path = next(iter(copy.glob(name)), copy / name)
    before = (path.read_bytes(), path.stat().st_mode) if path.exists() else None
    assert passes(loaded, case)
    damage(path)
    try:
        assert not passes(loaded, case)
    finally:
        restore(path, before)


def passes(loaded: suite.Suite, case: suite.Case) -> bool:
    given = case.inputs
    argv = ["sh", "-c", given["shell"]] if "shell" in given else [given["command"], *given["args"]]
    env = {"PATH": os.environ["PATH"], **given.get("env", {})}
    done = subprocess.run(
        argv, cwd=loaded.folder / given["cwd"], env=env, capture_output=True, text=True, check=False
    )
    traces = Evidence(
        suite=loaded,
        folder=str(loaded.folder),
        exit_code=done.returncode,
        stdout=done.stdout,
        stderr=done.stderr,
    )
    return all(result.passed for result in check_case(case, traces))


def restore(path: Path, before: tuple[bytes, int] | None) -> None:
    if before is None:
        path.unlink()
    else:
        path.write_bytes(before[0])
        path.chmod(before[1])
