"""The page on nights in CI: its blocks and its scripts run as they stand, and the workflow says what it should."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "nightly-ci.md"
CI = ROOT / "docs" / "how-to" / "ci"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
DEMO = [block for block in BLOCKS if "--demo" in block]
OTHERS = [block for block in BLOCKS if "--demo" not in block]


def run(command: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a login shell of a checkout would: the environment's programs first on PATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EVALS_", "GITHUB_"))}
    env = {**kept, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    env |= {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **more}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "evals", f"GIT_{who}_EMAIL": "evals@example.invalid"}
    return subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, timeout=600, env=env
    )


def shell(block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    done = run(["sh", "-eu", "-c", block], folder)
    assert done.returncode == 0, (block, done.stdout, done.stderr)
    return done


def test_the_blocks_run_as_written_one_after_the_other(tmp_path: Path) -> None:
    assert (len(DEMO), len(OTHERS)) == (1, 4)
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    dates, cron, kept, exported = (shell(block, tmp_path) for block in OTHERS)
    assert [line for line in dates.stdout.splitlines() if line.startswith("NIGHT")] == [
        "NIGHT OF 2026-03-01: PASS",
        "NIGHT OF 2026-03-02: PASS",
        "NIGHT OF 2026-03-02: PASS",
    ]
    assert dates.stderr.count("was done before; nothing new") == 1
    assert cron.stdout == "" and (tmp_path / "nights/latest.xml").is_file(), "cron mails only what is wrong"
    assert kept.stderr.count("nothing new") == 1 and "night-" in kept.stdout.splitlines()[-1]
    for name in ("simulated-2026-03-01-ab-demo", "simulated-2026-03-02-ab-demo"):
        assert name in exported.stdout


@pytest.mark.slow
def test_the_demonstration_runs_as_written(tmp_path: Path) -> None:
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    done = shell(DEMO[0], tmp_path)
    assert "solver: there is no baseline" in done.stdout
    assert (tmp_path / "night.md").read_text().startswith("# Night of ")
    assert (tmp_path / "night.xml").read_text().startswith("<?xml")


# --- the scripts -----------------------------------------------------------------------------------


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """Return a bare repository with two small suites: ``steady`` needs no policy, ``solver`` has one."""
    work = tmp_path / "work"
    shutil.copytree(ROOT / "evals/ab-demo", work / "evals/steady")
    document = json.loads((work / "evals/steady/suite.json").read_text())
    (work / "evals/steady/suite.json").write_text(json.dumps({**document, "id": "steady"}))
    (work / "evals/solver").mkdir()
    for name in ("solver.py", "skill.json"):
        shutil.copy(ROOT / "evals/solver" / name, work / "evals/solver")
    document = json.loads((ROOT / "evals/solver/suite.json").read_text())
    document["cases"] = [case for case in document["cases"] if case["id"].endswith("-1")]
    (work / "evals/solver/suite.json").write_text(json.dumps(document))
    policy = json.loads((ROOT / "evals/solver/policy.json").read_text())
    policy |= {"statistic": "pass_rate", "smoke": {"archetypes": ["A1", "A2"]}}
    (work / "evals/solver/policy.json").write_text(json.dumps(policy))
    shutil.copytree(CI, work / "docs/how-to/ci")
    bare = tmp_path / "origin.git"
    for command in (
        ["git", "init", "--quiet", "--initial-branch", "main"],
        ["git", "add", "--all"],
        ["git", "commit", "--quiet", "-m", "Suites"],
        ["git", "clone", "--quiet", "--bare", ".", str(bare)],
    ):
        done = run(command, work)
        assert done.returncode == 0, done.stderr
    return bare


def machine(origin: Path, name: str) -> Path:
    """Return a fresh checkout, as a CI service makes one every night."""
    folder = origin.parent / name / "checkout"
    folder.parent.mkdir()
    done = run(["git", "clone", "--quiet", "--depth", "1", f"file://{origin}", str(folder)], origin.parent)
    assert done.returncode == 0, done.stderr
    return folder


def kept(origin: Path, folder: str) -> list[str]:
    listed = run(["git", "ls-tree", "-r", "--name-only", "evals-history", f"{folder}/"], origin)
    return listed.stdout.splitlines()


def nightly(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(["sh", "docs/how-to/ci/nightly.sh", *arguments], folder)


def test_the_history_lives_on_a_branch_and_every_machine_adds_its_night(origin: Path) -> None:
    for number in (1, 2):
        done = nightly(machine(origin, f"machine-{number}"), "steady", "--as-of", f"2026-03-0{number}")
        assert done.returncode == 0, done.stderr
    assert kept(origin, "nights") == ["nights/2026-03-01.json", "nights/2026-03-02.json"]
    runs = {
        part for path in kept(origin, "lake/trials") for part in path.split("/") if part.startswith("run_id=")
    }
    assert runs == {f"run_id=simulated-2026-03-0{n}-steady" for n in (1, 2)}
    assert run(["git", "log", "--format=%s", "evals-history"], origin).stdout.splitlines() == [
        "A night: exit code 0",
        "A night: exit code 0",
    ]
    again = nightly(machine(origin, "machine-3"), "steady", "--as-of", "2026-03-02")
    assert again.returncode == 0 and "nothing new" in again.stderr
    bad = nightly(machine(origin, "machine-4"), "steady", "--as-of", "tonight")
    assert bad.returncode == 2 and len(kept(origin, "nights")) == 2, "a bad call leaves nothing to keep"


@pytest.mark.slow
def test_a_change_is_held_against_the_nights_and_never_becomes_one(origin: Path) -> None:
    first = machine(origin, "machine-1")
    for number in range(1, 9):
        skip = ("--skip", "reports", "--skip", "gate")
        assert nightly(first, "solver", "--as-of", f"2026-03-0{number}", *skip).returncode == 0
    before = run(["git", "rev-parse", "evals-history"], origin).stdout
    change = machine(origin, "machine-2")
    fetched = run(["git", "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*"], change)
    assert fetched.returncode == 0, fetched.stderr
    for arguments, cases in ((["--smoke"], 2), ([], 6)):
        done = run(["sh", "docs/how-to/ci/change.sh", "solver", *arguments], change, EVALS_MODE="skill-on")
        assert done.returncode in (0, 1, 3, 4), (done.stdout, done.stderr)
        assert "Gate: " in (change / "data/change/change.md").read_text()
        judged = json.loads((change / "data/change/gates/solver.jsonl").read_text().splitlines()[-1])
        assert len(judged["history"]) == 8, judged["reasons"]
        tried = [
            json.loads(path.read_text())["cases"]
            for path in (change / "data/change/runs").glob("*/manifest.json")
        ]
        assert [len(ids) for ids in tried] == [cases]
    assert run(["git", "rev-parse", "evals-history"], origin).stdout == before


def test_the_workflow_has_its_three_variants_and_calls_what_is_there() -> None:
    text = (CI / "evals.yml").read_text("utf-8")
    for word in ("schedule:", "pull_request:", 'tags: ["v*"]', "--smoke", "contents: write", "concurrency:"):
        assert word in text
    for script in re.findall(r"docs/how-to/ci/\S+\.sh", text):
        assert (ROOT / script).is_file()
    for script in CI.glob("*.sh"):
        checked = subprocess.run(["sh", "-n", str(script)], check=False, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
