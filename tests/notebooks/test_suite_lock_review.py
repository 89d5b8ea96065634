"""The review notebook proposes: with a suite's file and a lock, from real runs; and says what it cannot know."""

import json
import shutil
from pathlib import Path

import pytest

from evalstats import report
from evalstats.cli import run_command

ROOT = Path(__file__).parents[2]


def test_without_a_file_or_a_lock(tmp_path, make_store, run_cells):
    names = run_cells("suite_lock_review", suite="demo", store=str(make_store(tmp_path)), suites="nowhere")
    said = names.draft.document()
    assert said["finding"] == (
        "Of 8 cases of demo (the whole suite, since no lock was given) the proposal is: keep 8. 4 of 8 tell the arms"
        " apart by their own 80% interval; 0 changed their majority in at least half of the steps between runs."
        " c0 weighs most: without it the lift moves by +5.6pp."
    )
    assert said["headline"][-1] == {
        "label": "Lint findings",
        "value": "n/a",
        "detail": "no file of the suite was found",
    }
    assert (
        "No judgement was repeated: how far the judge disagrees with itself is not known." in said["caveats"]
    )


@pytest.mark.slow
def test_a_lock_its_candidates_and_the_lint_of_real_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "evalstats.toml").touch()
    shutil.copytree(ROOT / "evals/ab-demo", tmp_path / "evals/ab-demo")
    path = tmp_path / "evals/ab-demo/suite.json"
    suite = json.loads(path.read_text("utf-8"))
    suite["cases"][0]["pool"] = "candidate"
    path.write_text(json.dumps(suite), "utf-8")
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        run_command(["run", "ab-demo", "--mode", "both", "--trials", "3", "--summary"])
    assert run_command(["lock", "create", "2026Q4"]) == 0
    capsys.readouterr()
    command = ["report", "suite_lock_review", "-p", "suite=ab-demo", "-p", "lock=2026Q4", "--json"]
    assert run_command(command) == 0
    made = json.loads(capsys.readouterr().out)
    said = report.read_report(Path(made["path"]))
    assert said["finding"].startswith("Of 2 cases of ab-demo (lock 2026Q4) the proposal is: keep 1, ")
    manifest = json.loads((Path(made["path"]) / "manifest.json").read_text("utf-8"))
    assert {"runs", "trials", "lock", "suite raw", "suite scoring"} <= set(manifest["inputs"])
    assert manifest["parameters"]["suites"] == "suites"
    files = [p for p in Path(made["path"]).rglob("*") if p.is_file() and p.name != "run.json"]
    assert not any(str(tmp_path).encode() in p.read_bytes() for p in files)
    assert run_command(command) == 0
    assert json.loads(capsys.readouterr().out)["unchanged"]
