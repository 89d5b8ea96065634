"""Live runs as a person asks for them: terms, skips, the forecast of a plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "evals" / "mock-scripted"


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "ANTHROPIC"))}
    return subprocess.run(
        [sys.executable, "-m", "evalstats", "run", *map(str, arguments)],
        cwd=cwd,
        env={**kept, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def live(tmp_path: Path) -> Path:
    document = json.loads((SUITE / "suite.json").read_text("utf-8"))
    document |= {"tier": "live", "environment": {}, "allowed_runtimes": ["openai", "claude", "mock"]}
    path = tmp_path / "live" / "suite.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_a_budget_ends_a_run_in_balance_with_exit_code_3(tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    done = run(SUITE, "--mode", "both", "--budget", "0.003", "--out", out, "--summary", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "skipped, and in no average: of the budget of 0.003 USD" in done.stdout
    legs = [json.loads((tmp_path / f"card-skill-{arm}.json").read_text("utf-8")) for arm in ("on", "off")]
    assert legs[0]["trials"]["unusable"]["skipped"] == legs[1]["trials"]["unusable"]["skipped"] > 0
    assert all(leg["verdict"] == "advisory" and leg["is_mock"] for leg in legs)
    assert round(sum(leg["cost"] for leg in legs), 12) <= 0.003


def test_a_dry_run_tells_what_is_known(tmp_path: Path) -> None:
    first = run(SUITE, "--dry-run", cwd=tmp_path)
    assert "time and cost unknown: no earlier run" in first.stdout
    assert run(SUITE, "--summary", cwd=tmp_path).returncode in (0, 1)  # the script passes by chance
    known = run(SUITE, "--dry-run", "--budget", "5", cwd=tmp_path)
    assert "(budget 5 USD), by 1 earlier run(s)" in known.stdout
    forecast = json.loads(run(SUITE, "--dry-run", "--json", cwd=tmp_path).stdout)["forecast"]
    assert (forecast["trials"], forecast["runs"]) == (15, 1)
    assert 0.0024 <= forecast["cost"] <= 0.0026  # 10 at 0.0002 and 5 at 0.0001 USD, less what is lost


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--runtime", "claude"), "the program claude is not on PATH"),
        (("--runtime", "openai", "--model", "m"), "no credentials for openai: set OPENAI_API_KEY"),
        (("--runtime", "openai"), "no model is named: --model"),
    ],
)
def test_what_is_missing_is_a_skip_with_exit_code_3(
    tmp_path: Path, live: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], reason: str
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = run(live, *arguments, "--out", tmp_path / "r.json", cwd=tmp_path)
    record = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert (done.returncode, record["status"], record["verdict"]) == (3, "skipped", "advisory")
    assert record["runtime"]["skipped_reason"] == reason
    assert record["aggregate_score"] is None
    assert reason in done.stdout
