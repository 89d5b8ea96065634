"""What a stranger who clones the repository relies on."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_locks_hold_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    pinned = re.findall(r"^[a-zA-Z0-9._-]+(?:\[[^\]]+\])?==\S+", text, re.MULTILINE)
    assert len(pinned) > 50
    assert text.count("--hash=sha256:") >= len(pinned)
    assert "://" not in text
    assert "index-url" not in text


def test_every_runtime_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = (ROOT / "requirements.lock").read_text().lower()
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=!~\s;\[]", requirement)[0].lower().replace(".", "-")
        assert f"\n{name}==" in f"\n{locked}", name


def test_top_level_is_the_house_as_designed() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    folders = {line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line}
    fixed = {"notebooks", "evalstats", "data", "schemas", "evals", "tests"}
    assert fixed <= folders
    assert folders - fixed <= {"docs", "benchmarks", ".ci"}


def test_starting_the_command_line_imports_nothing_heavy() -> None:
    code = (
        "import sys; from evalstats.cli.app import build_app; build_app();"
        "heavy = {'pandas','numpy','scipy','duckdb','altair','papermill','rich','jinja2','statsmodels','pyarrow'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_stats_imports_only_numpy_and_scipy_special() -> None:
    code = (
        "import sys, evalstats.stats;"
        "print(sorted({'pandas','duckdb','altair','statsmodels','pyarrow'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
