"""``suite lint`` and ``suite headline`` as a person types them: exit codes, lines, JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalstats import contract

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared/data"
LIFT_REPORT = (
    SHARED / "vegastack/docs/status/phase4-audit/A1-eval-rerun/evals/audit-2026-04-28-demo-fixtures.json"
)
SAMPLES = ROOT / "tests/importers/lift_reports"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository")


def suite(*arguments, cwd=ROOT):
    return subprocess.run(
        [sys.executable, "-m", "evalstats", "suite", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@needs_shared
def test_the_lift_suite_with_its_report():
    path = SHARED / "vegastack/evals/evals.json"
    done = suite("lint", path, "--report", LIFT_REPORT)
    assert (done.returncode, done.stderr) == (1, "")
    assert "a blank answer earns 32 of 195: 17 vacuous, 15 by construction" in done.stdout
    for line in ("warning arm-impossible (34)", "warning constant (181)", "warning vacuous (17)"):
        assert line in done.stdout
    document = json.loads(suite("lint", path, "--report", LIFT_REPORT, "--json", "--fail-on", "error").stdout)
    contract.validate(document, "lint-findings.v1")
    (found,) = document["suites"]
    assert found["blank_answer"]["earned"] == {"ours": 17, "source": 32}
    assert found["counts"]["constant"] == 181 and document["totals"]["error"] == 0


@needs_shared
def test_other_commands_know_the_lift_suite():
    path = SHARED / "vegastack/evals/evals.json"
    assert "valid, 50 cases" in suite("validate", path).stdout
    shown = json.loads(suite("show", path, "--json").stdout)
    hashed = json.loads(suite("hash", path, "--json").stdout)
    assert shown["id"] == hashed["suite"] == "vegastack-cli"
    assert len(shown["cases"]) == len(hashed["cases"]) == 50


@needs_shared
def test_a_suite_that_breaks_its_schema_is_linted():
    done = suite("lint", SHARED / "agentops/evals/agentops-core/workbench-agent-v1.json")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "      line 16   /environment/network" in lines
    assert sum("/expectations/1  agent-" in line for line in lines) == 12
    assert lines[-1] == "1 suite(s): 1 error(s), 12 warning(s)"
    assert max(map(len, lines[1:])) <= 80


def test_what_fails_is_chosen(tmp_path):
    for words, code in (((), 0), (("--fail-on", "note"), 1), (("--fail-on", "unused-field"), 1)):
        done = suite("lint", "contract-canaries", *words)
        assert (done.returncode, done.stderr) == (code, ""), words
    done = suite("lint", "contract-canaries", "--fail-on", "loud")
    assert done.returncode == 2 and "unknown 'loud'; known: error" in done.stderr


def test_one_bad_file_does_not_hide_the_others(tmp_path):
    (tmp_path / "bad.json").write_text("{\n]")
    done = suite("lint", tmp_path / "bad.json", "ab-demo")
    assert done.returncode == 2
    assert "error unreadable (1)" in done.stdout and "ab-demo/suite.json: 2 cases" in done.stdout
    missing = suite("lint", "nowhere")
    assert missing.returncode == 2 and len(missing.stderr.splitlines()) == 1


@needs_shared
def test_the_headline_of_a_report_and_one_that_is_refused():
    done = suite("headline", LIFT_REPORT, "--scoring", "source")
    assert (done.returncode, done.stderr) == (0, "")
    assert "without the skill 32/195 (0.1641), with it 46/195 (0.2359)" in done.stdout
    document = json.loads(suite("headline", LIFT_REPORT, "--scoring", "source", "--json").stdout)
    over = {row["over"]: row["estimate"] for row in document["lifts"]}
    assert round(over["expectations"], 10) == 0.0858895706
    sample = suite("headline", SHARED / "vegastack/apps/dashboard/src/fixtures/sample-report.json")
    assert sample.returncode == 1
    assert "no headline: the lift is stated as 0.47, but its own parts give 0.5671" in sample.stdout


def test_a_headline_needs_a_known_rule_and_a_report(tmp_path):
    done = suite("headline", SAMPLES / "prompts.json", "--scoring", "theirs")
    assert done.returncode == 2 and "known: ours, source" in done.stderr
    (tmp_path / "x.json").write_text('{"summary": {}, "baseline": [{}]}')
    done = suite("headline", tmp_path / "x.json")
    assert done.returncode == 2 and "/baseline/0" in done.stderr and "Traceback" not in done.stderr
    assert suite("headline", tmp_path / "none.json").returncode == 2
