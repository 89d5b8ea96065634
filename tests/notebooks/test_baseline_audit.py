"""The audit notebook runs as a report, by papermill and from its own folder, and its report stands on its inputs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evalstats import report
from evalstats.cli import run_command
from evalstats.errors import UsageError

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks/baseline_audit.ipynb"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Return a repository with the suite of the demonstration, changed since its baseline was promoted."""
    root = tmp_path_factory.mktemp("first") / "repository"
    shutil.copytree(ROOT / "evals/solver", root / "evals/solver")
    (root / "evalstats.toml").write_text("", "utf-8")
    path = root / "evals/solver/suite.json"
    suite = json.loads(path.read_text("utf-8"))
    record = {
        "schema_version": 1,
        "run_id": "solver-1",
        "suite": {
            "id": suite["id"],
            "path": "evals/solver/suite.json",
            "visibility": suite["visibility"],
            "tier": suite["tier"],
            "sha256": "0" * 64,
        },
        "status": "pass",
        "case_results": [{"id": case["id"], "status": "pass", "score": 1} for case in suite["cases"][1:]],
        "aggregate_score": 1,
        "dimension_scores": {},
    }
    (root / "evals/solver/baselines").mkdir(exist_ok=True)
    (root / "evals/solver/baselines/solver.baseline.json").write_text(json.dumps(record), "utf-8")
    (root / "evals/broken").mkdir()
    (root / "evals/broken/suite.json").write_text("{", "utf-8")
    return root


def build(root, reports, capsys, monkeypatch, *words):
    monkeypatch.chdir(root)
    command = ["report", "baseline_audit", "-p", "suites=evals", "--reports", str(reports), "--json"]
    assert run_command([*command, *words]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_the_same_inputs_give_the_same_report_anywhere(repository, tmp_path, capsys, monkeypatch):
    first = build(repository, tmp_path / "one", capsys, monkeypatch)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(repository, elsewhere)
    second = build(elsewhere, tmp_path / "one", capsys, monkeypatch)
    assert second["unchanged"] and second["content_hash"] == first["content_hash"]

    manifest = json.loads((Path(first["path"]) / "manifest.json").read_text("utf-8"))
    assert set(manifest["inputs"]) == {"suites", "baselines", "audit"}
    assert report.verify(Path(first["path"])) == []
    published = b"".join(
        p.read_bytes() for p in Path(first["path"]).rglob("*") if p.is_file() and p.name != "run.json"
    )
    assert str(tmp_path).encode() not in published and str(repository).encode() not in published

    path = elsewhere / "evals/solver/baselines/solver.baseline.json"
    path.write_bytes(path.read_bytes().replace(b"solver-1", b"solver-2"))
    third = build(elsewhere, tmp_path / "one", capsys, monkeypatch)
    assert not third["unchanged"] and third["content_hash"] != first["content_hash"]


def test_it_becomes_a_report_that_tells_no_path_of_this_machine(repository, tmp_path, capsys, monkeypatch):
    flat = tmp_path / "flat"
    shutil.copytree(repository / "evals/solver/baselines", flat)
    made = build(
        repository, tmp_path / "reports", capsys, monkeypatch, "-p", f"baselines={flat}", "-p", "git=true"
    )
    files = [
        p.read_text("utf-8") for p in Path(made["path"]).rglob("*") if p.is_file() and p.name != "run.json"
    ]
    assert not any(str(tmp_path) in text for text in files)
    document = report.read_report(Path(made["path"]))
    assert (document["notebook"], document["subject"]) == ("baseline_audit", "evals")
    assert document["finding"] == (
        "Each of 2 suites keeps its baseline policy, and no baseline is without a suite."
        " 0 of 1 baseline speak of the suite as it is; what changed under the rest: 1 in case-set."
        " Among the files: 1 that breaks the schema of suites."
    )
    tables = {t["name"]: t["cells"] for section in document["sections"] for t in section["tables"]}
    assert tables["stale"] == [["warning", "solver", "case-set (case results: 0 case(s) gone, 1 new)"]]
    assert tables["findings"][0][:2] == ["error", "evals/broken/suite.json"]
    assert "there is no git history here to search" in document["caveats"]


@pytest.mark.parametrize("start", [pytest.param(".", marks=pytest.mark.slow), "notebooks"])
def test_it_runs_by_plain_papermill_and_from_its_own_folder(repository, tmp_path, start):
    place = tmp_path / "checkout"
    shutil.copytree(repository, place)
    (place / "notebooks").mkdir()
    shutil.copy(NOTEBOOK, place / "notebooks")
    out = tmp_path / "out.ipynb"
    done = subprocess.run(
        [sys.executable, "-m", "papermill", place / "notebooks/baseline_audit.ipynb", out, "--no-progress-bar",
         "--cwd", place / start, "-k", "python3"],
        cwd=place / start,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cells = json.loads(out.read_text("utf-8"))["cells"]
    shown = [
        data for cell in cells if cell["cell_type"] == "code" for o in cell["outputs"] for data in o["data"]
    ]
    assert "image/svg+xml" in shown and "text/html" in shown


def test_a_folder_that_is_not_there_makes_no_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        report.build("baseline_audit", reports=tmp_path / "reports", parameters={"suites": "nowhere"})
    assert not (tmp_path / "reports").exists()
