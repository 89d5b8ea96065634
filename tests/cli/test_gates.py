"""The gate as a person and a CI job call it: exit codes 0 to 4, one clear line for bad input, files for job pages."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from defusedxml import ElementTree

from evalstats import contract
from evalstats.cli import run_command
from evalstats.report import bundle

STEADY = [0.80, 0.82, 0.79, 0.81, 0.80, 0.78, 0.82, 0.80, 0.81, 0.79]
NOISY = [0.80, 0.70, 0.90, 0.75, 0.85, 0.78, 0.82, 0.86, 0.74, 0.80]
POLICY = {
    "schema_version": 1, "suite": "door", "rule": "three-verdict", "statistic": "pass_rate", "margin": 0.1,
    "alpha": 0.05, "history": {"minimum": 8, "window": 28},
}  # fmt: skip


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def evalstats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the command line, called in this process and in the folder of the test: a start takes half a second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def called(*arguments: object) -> Done:
        code = run_command([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return called


def row(number: int, score: float, **unusual: Any) -> dict[str, Any]:
    return {
        "run_id": f"run-{number:02}", "group_id": f"run-{number:02}", "arm": "skill-on", "score": score,
        "started_at": f"2026-01-{number:02}T02:00:00Z", "seed": number, "n_cases": 10, "n_trials": 80, "usable": 80,
        "infrastructure": 0, "is_mock": False, "identity": {"suite_scoring": "a" * 64}, **unusual,
    }  # fmt: skip


def publish(folder: Path, scores: list[float], **unusual: Any) -> None:
    """Publish a report of so many nights, the last of them unusual, and a policy, under ``folder``."""
    rows = [row(n, s) for n, s in enumerate(scores[:-1], 1)] + [row(len(scores), scores[-1], **unusual)]
    empty = ("headline", "sections", "methods", "caveats", "estimates", "tests")
    data = {
        "suite_id": "door", "n_runs": len(rows), "n_cases": 10, "n_trials": 0, "usable": 0, "excluded": {},
        "case_ids": [f"c{n}" for n in range(10)], "input_sha256": "0" * 64, "contains_mock": False,
    }  # fmt: skip
    document = {
        "schema": "report.v1", "notebook": "variance_bands", "subject": "door", "title": "", "question": "",
        "finding": "as before", "parameters": {}, **{name: [] for name in empty}, "series": rows, "data": data,
    }  # fmt: skip
    files = {"report.json": json.dumps(document).encode(), "report.html": b"<p>"}
    bundle.publish(
        folder / "data/reports/variance_bands/door", bundle.seal({"status": "ok"}, files), files, {}
    )
    (folder / "policy.json").write_text(json.dumps(POLICY))


def test_a_real_process_ends_with_the_code_of_its_verdict(tmp_path: Path) -> None:
    publish(tmp_path, [*STEADY, 0.60])
    done = subprocess.run(
        [sys.executable, "-m", "evalstats", *GATE],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout.split(":")[0], done.stderr) == (1, "REGRESSION", "")


GATE = ("gate", "variance_bands/door", "--policy", "policy.json")


@pytest.mark.parametrize(
    ("scores", "unusual", "code", "word"),
    [
        ([*STEADY, 0.80], {}, 0, "PASS"),
        ([*STEADY, 0.60], {}, 1, "REGRESSION"),
        ([*STEADY, 0.80], {"is_mock": True}, 3, "CANNOT GATE"),
        ([*STEADY, 0.80], {"infrastructure": 59, "usable": 21}, 3, "CANNOT GATE"),
        (STEADY[:4], {}, 3, "CANNOT GATE"),
        (STEADY[:1], {}, 3, "CANNOT GATE"),
        ([*NOISY, 0.74], {}, 4, "INCONCLUSIVE"),
    ],
)
def test_each_verdict_has_its_exit_code(
    evalstats: Any, tmp_path: Path, scores: list[float], unusual: Any, code: int, word: str
) -> None:
    publish(tmp_path, scores, **unusual)
    done = evalstats(*GATE)
    assert (done.returncode, done.stdout.split(":")[0], done.stderr) == (code, word, "")


def test_everything_a_ci_job_asks_for_is_written(evalstats: Any, tmp_path: Path) -> None:
    publish(tmp_path, [*STEADY, 0.60])
    (tmp_path / "page.md").write_text("# Before\n")
    done = evalstats(*GATE, "--summary", "page.md", "--junit", "gate.xml", "--json")
    document = json.loads(done.stdout)
    contract.validate(document, "gate-result.v1")
    assert {"verdict", "exit_code", "reasons", "false_block", "power", "mde", "runs_needed"} <= set(document)
    assert (tmp_path / "page.md").read_text().startswith("# Before\n## Gate: regression\n")
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "1"
    (line,) = (tmp_path / "data/gates/door.jsonl").read_text().splitlines()
    assert {**json.loads(line), "decided_at": None} == {**document, "decided_at": None}


def test_a_blocked_run_is_no_yardstick_the_next_night(evalstats: Any, tmp_path: Path) -> None:
    publish(tmp_path, [*STEADY, 0.60])
    assert evalstats(*GATE).returncode == 1
    publish(tmp_path, [*STEADY, 0.60, 0.61])
    done = evalstats(*GATE)
    assert done.returncode == 1
    assert "run-11 is left out of the history: blocked by this gate" in done.stdout


def test_a_missing_report_or_policy_is_bad_input(evalstats: Any, tmp_path: Path) -> None:
    publish(tmp_path, STEADY)
    for arguments, said in (
        (
            ("gate", "variance_bands/window", "--policy", "policy.json"),
            "no report variance_bands/window here",
        ),
        (("gate", "variance_bands/door", "--policy", "none.json"), "none.json"),
        (("gate", "variance_bands/door"), "a report is judged by a policy"),
        ((*GATE, "--minimum-delta", 0.1), "is for a DeltaScorecard file"),
        ((*GATE, "--as-of", "yesterday"), "yesterday is no time"),
        ((*GATE, "--candidate", "nobody"), "no such run in the report"),
        ((*GATE, "--reruns", 9), "the policy allows 1 to 3"),
        (("gate", "policy.json"), "policy.json"),
        (("gate", "simulate", "--policy", "policy.json"), "give a report"),
        (
            ("gate", "simulate", "--policy", "policy.json", "--sigma", 0.1, "--rule", "critical"),
            "no critical_cases",
        ),
        (("gate", "simulate", "--policy", "policy.json", "--sigma", "-1"), "lies between 0 and 1"),
    ):
        done = evalstats(*arguments)
        assert done.returncode == 2, (arguments, done)
        assert said in done.stderr and "Traceback" not in done.stderr, (arguments, done.stderr)
        assert done.stdout == ""


def test_the_shortcut_to_the_prescribed_rule(evalstats: Any, tmp_path: Path) -> None:
    publish(tmp_path, STEADY)
    done = evalstats(*GATE, "--legacy")  # one arm only: no lift
    assert done.returncode == 3 and ", lift, margin 0.05, legacy" in done.stdout


def test_a_scorecard_is_judged_by_its_aggregate(evalstats: Any, tmp_path: Path) -> None:
    case = {"case_id": "a", "skill_on_status": "pass", "skill_off_status": "fail", "skill_on_score": 1.0,
            "skill_off_score": 0.0, "delta": 1}  # fmt: skip
    card = {
        "schema_version": 1, "suite_id": "door", "suite_path": "d", "generated_at": "2026-01-01T00:00:00Z",
        "skill_on_run_id": "on", "skill_off_run_id": "off", "skill_on_aggregate": 1.0, "skill_off_aggregate": 0.5,
        "aggregate_delta": 0.5, "per_case": [case],
    }  # fmt: skip
    (tmp_path / "card.json").write_text(json.dumps(card))
    for minimum, code in ((0.4, 0), (0.6, 1)):
        assert evalstats("gate", "card.json", "--minimum-delta", minimum).returncode == code
    for option in (["--reruns", 2], ["--candidate", "on"], ["--legacy"], ["--smoke"], ["--as-of", "never"]):
        done = evalstats("gate", "card.json", "--minimum-delta", 0.4, *option)
        assert done.returncode == 2 and f"{option[0]}: asks for a run of a report" in done.stderr
    (tmp_path / "card.json").write_text(json.dumps({**card, "per_case": []}))
    done = evalstats("gate", "card.json", "--minimum-delta", 0.4)
    assert done.returncode == 3 and "an empty comparison" in done.stdout


def test_a_rule_is_calibrated_on_its_own_nights(evalstats: Any, tmp_path: Path) -> None:
    publish(tmp_path, [*STEADY, *STEADY, 0.80])
    done = evalstats("gate", "calibrate", "variance_bands/door", "--policy", "policy.json")
    assert done.returncode == 0 and "0.0% of 13 unchanged nights blocked" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:4])) <= 80
    publish(tmp_path, STEADY[:3])
    short = evalstats("gate", "calibrate", "variance_bands/door", "--policy", "policy.json", "--json")
    assert short.returncode == 3 and json.loads(short.stdout)["exit_code"] == 3


def test_a_curve_is_simulated_from_the_noise_of_the_suite_or_a_given_one(
    evalstats: Any, tmp_path: Path
) -> None:
    publish(tmp_path, [*STEADY, 0.80])
    asked = ("gate", "simulate", "variance_bands/door", "--policy", "policy.json")
    done = evalstats(*asked, "--json", "--seed", 7)
    document = json.loads(done.stdout)
    assert (document["seed"], document["reps"]) == (7, 4_000)
    blocks = [at["block"] for at in document["curve"]]
    assert blocks == sorted(blocks) and blocks[0] <= 0.05
    assert evalstats(*asked, "--json", "--seed", 7).stdout == done.stdout
    table = evalstats("gate", "simulate", "--policy", "policy.json", "--sigma", 0.03)
    assert table.returncode == 0 and "cannot be told apart" in table.stdout


@pytest.mark.parametrize("day", ["2026-01-09", "20260109", "2026-W02-5", "2026-01-09T23:59:59.5Z"])
def test_a_date_means_to_its_end_however_it_is_written(evalstats: Any, tmp_path: Path, day: str) -> None:
    publish(tmp_path, [*STEADY, 0.60])
    done = evalstats(*GATE, "--as-of", day, "--json")
    assert (done.returncode, json.loads(done.stdout)["candidate"]) == (0, ["run-09"])


def test_bad_options_are_refused_before_anything_is_recorded(evalstats: Any, tmp_path: Path) -> None:
    publish(tmp_path, [*STEADY, 0.60])
    (tmp_path / "file").touch()
    for options, said in (
        (("--summary", "."), "is no place for a file"),
        (("--junit", "data"), "is no place for a file"),
        (("--summary", "file/page.md"), "is no place for a file"),
        (("--as-of", ""), "is no time"),
    ):
        done = evalstats(*GATE, *options)
        assert done.returncode == 2 and said in done.stderr, (options, done)
    assert not (tmp_path / "data/gates").exists()


def test_a_declared_noise_is_no_suite(evalstats: Any, tmp_path: Path) -> None:
    """With --sigma nobody says how often the cases pass, nor where the suite lies."""
    more = {"per_case": {"k": 2, "n": 3}, "critical_cases": ["c0"], "threshold": 0.8, "minimum_delta": 0.1}
    (tmp_path / "policy.json").write_text(json.dumps({**POLICY, **more}))
    for rule in ("per-case", "critical", "absolute", "minimum-delta", "non-inferiority"):
        done = evalstats("gate", "simulate", "--policy", "policy.json", "--sigma", 0.03, "--rule", rule)
        assert (done.returncode, done.stdout) == (2, ""), rule
        assert "give a report whose runs do" in done.stderr, rule
