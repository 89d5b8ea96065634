"""`evalstats nightly` as a scheduler calls it: eight real nights, job pages, one line for each bad call."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from defusedxml import ElementTree

from evalstats import contract
from evalstats.cli import run_command

SOLVER = Path(__file__).parents[2] / "evals" / "solver"
POLICY = {
    "schema_version": 1, "suite": "solver", "rule": "three-verdict", "statistic": "pass_rate", "margin": 0.3,
    "alpha": 0.05, "power": 0.8, "history": {"minimum": 3, "window": 28, "refs": ["*", None]},
}  # fmt: skip


@pytest.fixture
def evalstats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the command line in the folder of the test: a function that returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def called(*arguments: object) -> tuple[int, str, str]:
        code = run_command([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return called


@pytest.fixture
def solver(tmp_path: Path) -> Callable[[str], None]:
    """Return a function that lays out one case of each archetype of the solver, under a registry version."""
    folder = tmp_path / "evals/solver"
    folder.mkdir(parents=True)
    (tmp_path / "evalstats.toml").touch()
    for name in ("solver.py", "skill.json"):
        shutil.copy(SOLVER / name, folder)
    document = json.loads((SOLVER / "suite.json").read_text("utf-8"))
    document["cases"] = [case for case in document["cases"] if case["id"].endswith("-1")]
    (folder / "policy.json").write_text(json.dumps(POLICY))

    def written(registry: str) -> None:
        (folder / "suite.json").write_text(
            json.dumps({**document, "metadata": {"registry_version": registry}})
        )

    return written


def test_eight_nights_of_real_trials_with_a_new_registry_on_the_fifth(
    evalstats: Any, solver: Any, tmp_path: Path
) -> None:
    asked, judged = ("nightly", "solver", "--trials", 2, "--json"), {}
    for number in range(1, 9):
        solver("r1" if number < 5 else "r2")
        skip = () if number in (5, 8) else ("--skip", "reports", "--skip", "gate")
        code, said, _ = evalstats(*asked, "--as-of", f"2026-03-{number:02}", *skip)
        night = json.loads(said)
        contract.validate(night, "night.v1")
        assert (code, night["simulated"]) == (night["exit_code"], True)
        (run,) = night["suites"]["solver"]["runs"]
        assert (run["group_id"], run["n_trials"]) == (f"simulated-2026-03-{number:02}-solver", 12)
        judged[number] = night["suites"]["solver"]["judged"]
    names = [f"simulated-2026-03-{number:02}-solver" for number in range(1, 9)]
    assert [number for number, said in judged.items() if said] == [5, 8]
    assert judged[5]["verdict"] == "cannot_gate" and judged[5]["history"] == []
    assert f"the history begins after {names[3]}: registry_version changed" in judged[5]["reasons"]
    assert judged[8]["history"] == names[4:7] and judged[8]["candidate"] == names[7:]
    again = evalstats(*asked, "--as-of", "2026-03-08")
    assert json.loads(again[1]) == night and "was done before; nothing new" in again[2]


def write(folder: Path, name: str, shell: str, **unusual: Any) -> None:
    case = {
        "id": "c", "title": "c", "kind": "command", "objective": "Say ok", "dimensions": ["correctness"],
        "inputs": {"shell": shell}, "expectations": [{"type": "stdout_contains", "value": "ok"}],
    }  # fmt: skip
    document = {
        "schema_version": 1, "id": name, "name": name, "domain": "d", "tier": "headless", "cases": [case],
        "visibility": "public_canary", "baseline_policy": {"mode": "none"},
        "scoring": {
            "aggregate_threshold": 0.6,
            "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0.6}],
        },
        **unusual,
    }  # fmt: skip
    (folder / "evals" / name).mkdir(parents=True)
    (folder / "evals" / name / "suite.json").write_text(json.dumps(document))


def test_without_names_all_public_suites_run_and_the_worst_code_counts(
    evalstats: Any, tmp_path: Path
) -> None:
    write(tmp_path, "fine", "echo ok")
    write(tmp_path, "worse", "echo no")
    write(tmp_path, "secret", "echo no", visibility="private_holdout")
    code, said, told = evalstats("nightly", "--summary", "pages/night.md", "--junit", "pages/night.xml")
    today = datetime.now(UTC).date().isoformat()
    assert code == 1 and said.startswith(f"NIGHT OF {today}: REGRESSION\n")
    assert "secret" not in said + told
    assert all(len(line) <= 80 for line in said.splitlines() if "ended with" not in line)
    evalstats("nightly", "--summary", "pages/night.md")
    page = (tmp_path / "pages/night.md").read_text()
    assert page.count("# Night of") == 2, "a job page collects"
    counted = ElementTree.parse(tmp_path / "pages/night.xml").getroot().iter("testsuite")
    assert [each.get("failures") for each in counted] == ["0", "1"]


def test_the_history_outlives_the_machine(evalstats: Any, tmp_path: Path) -> None:
    write(tmp_path, "fine", "echo ok")
    for number in (1, 2):  # each night on a machine of its own
        asked = ("--as-of", f"2026-03-0{number}", "--history", "kept", "--data", f"machine-{number}")
        assert evalstats("nightly", "fine", *asked)[0] == 0
        shutil.rmtree(tmp_path / f"machine-{number}/runs")
    said = evalstats("runs", "--store", "kept/lake", "--json")[1]
    assert [run["run_id"] for run in json.loads(said)] == [f"simulated-2026-03-0{n}-fine" for n in (1, 2)]
    assert sorted(path.name for path in (tmp_path / "kept/nights").iterdir()) == [
        "2026-03-01.json",
        "2026-03-02.json",
    ]
    done = evalstats("nightly", "fine", "--as-of", "2026-03-02", "--history", "kept", "--data", "machine-3")
    assert "nothing new" in done[2] and not (tmp_path / "machine-3/runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no suite here"),
        (["fine", "--demo"], "--demo: runs the bundled suites"),
        (["fine", "--as-of", "tonight"], "--as-of: is no date; write 2026-01-31"),
        (["fine", "--policy", "none.json"], "none.json: "),
        (["fine", "--skip", "lunch"], "lunch"),
        (["fine", "--trials", "0"], "--trials"),
        (["fine", "--summary", "evals"], "is no place for a file"),
        (["fine", "--junit", "evalstats.toml/x.xml"], "is no place for a file"),
        (["fine", "fine"], "suite fine is named twice"),
        (["secret"], "is a private holdout"),
        (["broken"], "broken"),
        ([], "broken"),
    ],
)
def test_a_bad_call_ends_with_two_and_one_line(
    evalstats: Any, tmp_path: Path, arguments: list[str], said: str
) -> None:
    write(tmp_path, "fine", "echo ok")
    write(tmp_path, "secret", "echo no", visibility="private_holdout")
    write(tmp_path, "broken", "echo ok", tier="sleepy")
    (tmp_path / "evalstats.toml").touch()
    code, out, told = evalstats("nightly", *arguments)
    assert (code, out) == (2, "") and said in told and len(told.splitlines()) == 1
    assert not (tmp_path / "data/runs").exists()


def test_a_damaged_record_is_named(evalstats: Any, tmp_path: Path) -> None:
    write(tmp_path, "fine", "echo ok")
    (tmp_path / "data/nights").mkdir(parents=True)
    (tmp_path / "data/nights/2026-03-01.json").write_text("{")
    code, _, told = evalstats("nightly", "fine")
    assert code == 2 and told.startswith("evalstats: data/nights/2026-03-01.json")


@pytest.mark.slow
def test_the_demonstration_runs_the_bundled_suites_within_its_budget(
    evalstats: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SOLVER.parents[1])
    began = datetime.now(UTC)
    code, said, _ = evalstats("nightly", "--demo", "--data", tmp_path)
    assert (datetime.now(UTC) - began).total_seconds() < 90
    assert code == 3 and "solver: there is no baseline" in said, "one night is no history"
    assert "seconds: run " in said and " in all" in said
    assert not (tmp_path / "runs").exists(), "the history of the suites is left alone"
