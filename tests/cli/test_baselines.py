"""``evalstats baseline`` as a person types it: capture, compare, review, promote, list; exit codes and width."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalstats import contract


def evalstats(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evalstats", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def write_suite(root: Path) -> None:
    script = "import sys; print(sys.argv[1] in open('answers').read())"
    dimensions = {"first": ["safety"], "second": ["runtime_compatibility"], "third": ["process_adherence"]}
    suite = {
        "schema_version": 1,
        "id": "tiny",
        "name": "Tiny",
        "domain": "test",
        "visibility": "public_canary",
        "tier": "deterministic",
        "scoring": {
            "aggregate_threshold": 0,
            "dimensions": [{"name": d, "weight": 1, "threshold": 0} for (d,) in dimensions.values()],
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
                "critical": name == "first",
            }
            for name, carried in dimensions.items()
        ],
    }
    folder = root / "evals/tiny"
    folder.mkdir(parents=True)
    (folder / "suite.json").write_text(json.dumps(suite))
    (root / "evalstats.toml").write_text("")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with a good run, a worse one, and one that is the same again."""
    root = tmp_path_factory.mktemp("repository")
    write_suite(root)
    for run_id, answers in (
        ("good", "first second third"),
        ("worse", "second third"),
        ("same", "first second third"),
    ):
        (root / "evals/tiny/answers").write_text(answers)
        evalstats("run", "tiny", "--run-id", run_id, "--summary", cwd=root)
    return root


def test_the_whole_life_of_a_baseline(root: Path) -> None:
    none = evalstats("baseline", "compare", "good", cwd=root)
    assert (none.returncode, none.stderr.count("\n")) == (2, 1)
    assert "no promoted baseline" in none.stderr

    refused = evalstats("baseline", "promote", "worse", cwd=root)
    assert refused.returncode == 1
    reasons = [line.split(":")[0].strip() for line in refused.stdout.splitlines()[1:]]
    assert reasons == ["critical_canary_failed", "rationale_empty", "promoter_unnamed"]
    assert refused.stderr == ""

    captured = evalstats("baseline", "capture", "good", "--json", cwd=root)
    assert json.loads(captured.stdout)["path"] == "data/baselines/tiny/good.baseline.json"
    looked = evalstats("baseline", "review", "good", "--by", "bob", "--looked-at", "cases", cwd=root)
    assert (looked.returncode, looked.stdout) == (0, "good: accepted by bob, who looked at cases\n")
    promoted = evalstats(
        "baseline", "promote", "good", "--by", "ada", "--rationale", "wäre gut", "--json", cwd=root
    )
    entry = json.loads(promoted.stdout)
    contract.validate(entry, "baseline-promotion.v1")
    assert (promoted.returncode, entry["rationale"], entry["reviews"][0]["reviewer"]) == (
        0,
        "wäre gut",
        "bob",
    )

    worse = evalstats("baseline", "compare", "worse", cwd=root)
    assert worse.returncode == 1
    assert worse.stdout.splitlines()[:3] == [
        "tiny: worse held against good",
        "REGRESSION",
        "  critical case first no longer passes",
    ]
    assert "runtime_compatibility  1.0000  1.0000  +0.000 exactly    degenerate" in worse.stdout
    assert max(map(len, worse.stdout.splitlines())) <= 80

    document = evalstats("baseline", "compare", "same", "tiny", "--json", cwd=root)
    comparison = json.loads(document.stdout)
    contract.validate(comparison, "baseline-comparison.v1")
    assert (document.returncode, comparison["verdict"]) == (0, "pass")
    better = evalstats("baseline", "compare", "same", "worse", cwd=root)
    assert (better.returncode, better.stdout.splitlines()[1]) == (0, "IMPROVEMENT")

    listed = evalstats("baseline", "list", "--verify", cwd=root)
    assert listed.returncode == 0
    assert listed.stdout.splitlines()[1].split() == [
        "tiny", "promotable", "good", entry["promoted_at"][:10], "ada", "advisory",
    ]  # fmt: skip
    baseline = root / "evals/tiny/baselines/tiny.baseline.json"
    baseline.write_text(baseline.read_text() + "\n")
    tampered = evalstats("baseline", "list", "--verify", cwd=root)
    assert tampered.returncode == 1
    assert tampered.stdout.splitlines()[-1] == "tiny: the baseline is not the file that was last promoted"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "nobody"), "there is no run 'nobody'"),
        (("compare", "good", "evals"), "'evals'"),
        (("compare", "good", "evals/tiny/suite.json"), "/"),
        (("promote", "../..", "--standing", "advisory"), "no run is called so"),
        (("promote", "good", "--standing", "perhaps"), "none of blocking, advisory"),
        (("review", "good", "--by", "bob", "--looked-at", "nothing"), "none of cases"),
        (("list", "--suites", "nowhere"), "no such folder"),
    ],
)
def test_a_wrong_command_is_one_clear_line_or_one_for_each_problem(
    root: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = evalstats("baseline", *arguments, cwd=root)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
