"""The built wheel works by itself: schemas, notebooks, SQL and templates travel with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_what_the_program_reads(wheel: Path) -> None:
    assert wheel.name.startswith("evalstats_notebooks-")
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, package in (("schemas", "evalstats/schemas"), ("notebooks", "evalstats/notebooks")):
        for path in (ROOT / folder).iterdir():
            assert f"{package}/{path.name}" in names
    for path in (ROOT / "evalstats").rglob("*"):
        if path.suffix in (".py", ".pyi", ".sql", ".j2", ".css", ".js"):
            assert str(path.relative_to(ROOT)) in names
    assert not [name for name in names if name.startswith(("tests/", "data/", "evals/"))]


def test_the_installed_wheel_runs_a_suite_and_builds_a_report_outside_the_checkout(
    wheel: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    # An environment of its own: the wheel first, then the dependencies; the checkout is nowhere on the path.
    (tmp_path / "runner.py").write_text(
        "import sys, evalstats\n"
        f"assert evalstats.__file__.startswith({str(site)!r}), evalstats.__file__\n"
        "from evalstats.__main__ import main\n"
        "main()\n"
    )
    solver = tmp_path / "evals/solver"
    solver.mkdir(parents=True)
    for path in (ROOT / "evals/solver").iterdir():
        if path.is_file():
            (solver / path.name).write_bytes(path.read_bytes())
    (tmp_path / "evalstats.toml").write_text("")

    def evalstats(*arguments: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        environment["PYTHONPATH"] = os.pathsep.join([str(site), sysconfig.get_paths()["purelib"]])
        done = subprocess.run(
            [sys.executable, "-S", "runner.py", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in codes, done.stderr
        return done

    for _ in range(2):
        evalstats(
            "run", "solver", "--mode", "both", "--archetype", "A1", "--trials", "2", "--summary", codes=(0, 1)
        )
    built = json.loads(evalstats("report", "variance_bands", "-p", "suite=solver", "--json").stdout)
    assert built["status"] == "ok"
    assert (tmp_path / built["path"] / "report.html").stat().st_size > 10_000
    evalstats("report", "verify", "variance_bands/solver")
