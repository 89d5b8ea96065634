"""The commands about what suites cover and which cases may be believed, as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalstats import contract
from evalstats.cli import run_command

ROOT = Path(__file__).parents[2]


@pytest.fixture
def evalstats(tmp_path, monkeypatch, capsys):
    """Return a function that runs one command in ``tmp_path`` and gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / ".git").mkdir()

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run_command([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def case(case_id: str, shell: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": case_id,
        "title": case_id,
        "kind": "command",
        "objective": "It says yes.",
        "dimensions": ["correctness"],
        "inputs": {"shell": shell},
        "expectations": [{"type": "stdout_contains", "value": "yes"}],
        **changes,
    }


def write_suite(folder: Path, *cases: dict[str, Any], **changes: Any) -> Path:
    document = {
        "schema_version": 1,
        "id": "door",
        "name": "Door",
        "domain": "test",
        "visibility": "public_canary",
        "tier": "deterministic",
        "scoring": {
            "aggregate_threshold": 1,
            "dimensions": [{"name": "correctness", "weight": 1, "threshold": 1}],
        },
        "baseline_policy": {"mode": "none"},
        "cases": list(cases),
        **changes,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.json").write_text(json.dumps(document))
    return folder


HOOKED = 'test "${AGENTOPS_HOOKS_DISABLED:-0}" != 1 && echo yes'


# --- coverage -------------------------------------------------------------------------------------


def test_coverage_counts_and_asks_for_what_is_missing(evalstats, tmp_path):
    write_suite(
        tmp_path / "evals/door", case("a", "true", critical=True), case("b", "true", evidence_kind="holdout")
    )
    code, out, _ = evalstats("coverage", "--json", "--require", "holdout", "--require", "live_runtime")
    shown = json.loads(out)
    contract.validate(shown, "coverage.v1")
    assert code == 1
    assert shown["evidence_kinds"]["gate_wrapper"] == {
        "suite_count": 1,
        "case_count": 1,
        "critical_case_count": 1,
    }
    assert (shown["declared_evidence_kinds"], shown["inferred_evidence_kinds"]) == (
        {"holdout": 1},
        {"gate_wrapper": 1},
    )
    assert shown["missing_required_evidence_kinds"] == ["live_runtime"]
    code, out, _ = evalstats("coverage", "--require", "holdout")
    assert code == 0
    assert out.startswith("1 suites, 2 cases, 1 critical\n")
    assert max(map(len, out.splitlines())) <= 80


def test_coverage_goes_on_past_a_bad_file_and_says_so(evalstats, tmp_path):
    write_suite(tmp_path / "evals/door", case("a", "true"))
    (tmp_path / "evals/bad").mkdir()
    (tmp_path / "evals/bad/suite.json").write_text("{")
    code, out, _ = evalstats("coverage")
    assert code == 1
    assert "evals/bad/suite.json: cannot be read as a suite" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("coverage", "--suites", "nowhere"),
        ("coverage", "--require", "everything"),
        ("readiness", "--suites", "nowhere"),
        ("headroom", "nobody"),
        ("headroom", "evals/door", "--room", "0.7"),
        ("headroom", "evals/door", "--level", "nan"),
        ("headroom", "evals/door", "--axis", "time"),
        ("quarantine", "list"),
        ("quarantine", "list", "nobody"),
        ("quarantine", "release", "door", "--case", "a", "--by", "me", "--why", "x"),
        ("quarantine", "add", "door", "--case", "a", "--by", "me", "--why", "x", "--until", "2099-01-01"),
        ("quarantine", "add", "door", "--case", "a", "--by", "me", "--why", "x", "--until", "soon"),
        ("quarantine", "review", "door", "--max-flake", "0"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_2(evalstats, tmp_path, arguments):
    write_suite(tmp_path / "evals/door", case("a", "true"))
    code, out, err = evalstats(*arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_no_command_names_a_case_of_a_private_suite(evalstats, tmp_path):
    write_suite(tmp_path / "evals/door", case("okapi", "true"), visibility="private_holdout")
    for arguments in (
        ("headroom", "door"),
        ("quarantine", "list", "door"),
        ("quarantine", "review", "door"),
        ("quarantine", "add", "door", "--case", "okapi", "--by", "m", "--why", "w", "--until", "2099-01-01"),
    ):
        code, out, err = evalstats(*arguments)
        assert code == 2
        assert "okapi" not in out + err
    for command in ("coverage", "readiness"):
        _, out, err = evalstats(command, "--json")
        assert "okapi" not in out + err


# --- headroom -------------------------------------------------------------------------------------


def test_headroom_of_a_real_run(evalstats, tmp_path):
    write_suite(
        tmp_path / "evals/door",
        case("always", "echo yes"),
        case("never", "echo no"),
        case("hooked", HOOKED),
        case("broken", "true", runtime="claude"),
    )
    evalstats("run", "door", "--mode", "both", "--trials", 3)
    code, out, _ = evalstats("headroom", "door", "--json")
    shown = json.loads(out)
    assert code == 0
    assert {c["case_id"]: (c["word"], c["certain"], c["more_trials"]) for c in shown["cases"]} == {
        "always": ("saturated", False, 56),
        "never": ("floor", False, 56),
        "hooked": ("separated", True, None),
        "broken": ("unmeasured", False, None),
    }
    bounds = {c["case_id"]: c["bound"] for c in shown["cases"]}
    assert bounds["always"] == pytest.approx(0.05 ** (1 / 3))
    assert bounds["never"] == pytest.approx(1 - 0.05 ** (1 / 3))
    _, out, _ = evalstats("headroom", "door")
    assert "saturated?" in out
    assert max(map(len, out.splitlines())) <= 80


def test_headroom_before_anything_ran_is_unmeasured(evalstats, tmp_path):
    write_suite(tmp_path / "evals/door", case("a", "true"))
    code, out, _ = evalstats("headroom", "door", "--json")
    assert (code, [c["word"] for c in json.loads(out)["cases"]]) == (0, ["unmeasured"])


# --- quarantine, and readiness with it --------------------------------------------------------------


def test_a_flaky_case_goes_in_is_named_and_earns_its_way_back(evalstats, tmp_path):
    switch = tmp_path / "works"
    write_suite(
        tmp_path / "evals/door",
        case("racy", f"test -e {switch} && echo yes", critical=True),
        case("sound", "echo yes"),
        baseline_policy={"mode": "none", "blocking_gate": "release"},
    )
    for works in (True, False, True):
        switch.touch() if works else switch.unlink()
        evalstats("run", "door")
    code, out, _ = evalstats("quarantine", "review", "door")
    assert code == 1
    assert "flaky?  racy: 1 of 3 trials against the majority, [0.0084, 0.9057]" in out  # exact, for 1 of 3
    assert evalstats("readiness")[:2][0] == 0

    who = ("--case", "racy", "--by", "ada")
    code, out, _ = evalstats("quarantine", "add", "door", *who, "--why", "races", "--until", "2099-12-31")
    assert code == 0
    assert evalstats("quarantine", "add", "door", *who, "--why", "twice", "--until", "2099-12-31")[0] == 2
    code, out, _ = evalstats("readiness", "--json")
    shown = json.loads(out)
    contract.validate(shown, "release-readiness.v1")
    assert (code, shown["release_status"]) == (1, "not_ready")
    assert [q["case_id"] for q in shown["quarantined_cases"]] == ["racy"]
    assert shown["reasons"] == ["door: critical case racy in quarantine until 2099-12-31"]

    evalstats("run", "door")
    evalstats("run", "door")
    code, out, _ = evalstats("quarantine", "review", "door", "--json", "--max-flake", "0.8")
    (found,) = json.loads(out)
    way_back = found["quarantined"][0]["way_back"]
    assert (code, found["criteria"]["clean_runs_needed"]) == (0, 2)  # ln 0.05 / ln 0.2 = 1.9
    assert (way_back["n_runs"], way_back["earned"]) == (2, True)
    assert way_back["failure_rate_high"] == pytest.approx(1 - 0.05**0.5)
    _, out, _ = evalstats("quarantine", "review", "door")
    assert "2 of 2 runs clean since, at most 0.7764 of them fail: not yet, 57 more needed" in out

    assert evalstats("quarantine", "release", "door", *who, "--why", "mended")[0] == 0
    assert evalstats("quarantine", "release", "door", *who, "--why", "again")[0] == 2
    lines = [json.loads(line) for line in (tmp_path / "evals/door/quarantine.jsonl").read_text().splitlines()]
    assert [line["action"] for line in lines] == ["add", "release"]
    assert (len(lines[0]["evidence"]["run_ids"]), lines[0]["evidence"]["n_against"]) == (3, 1)
    assert lines[1]["evidence"]["earned"] is False
    code, out, _ = evalstats("quarantine", "list", "door", "--history", "--json")
    assert json.loads(out) == lines
    assert evalstats("quarantine", "list", "door")[1] == "no case in quarantine\n"
    assert evalstats("readiness")[1].splitlines()[0] == "ready"


def test_readiness_sees_the_last_run_fail(evalstats, tmp_path):
    write_suite(
        tmp_path / "evals/door",
        case("a", "echo no", critical=True),
        baseline_policy={"mode": "compare", "blocking_gate": "ci"},
    )
    assert evalstats("readiness")[0] == 1
    evalstats("run", "door", "--run-id", "r1")
    code, out, _ = evalstats("readiness")
    assert code == 1
    assert out.splitlines()[:2] == [
        "not ready",
        "  blocks: door: its policy wants a baseline and there is none; r1 ended with fail; critical: a",
    ]


def test_a_credential_in_a_reason_does_not_reach_the_register(evalstats, tmp_path, monkeypatch):
    monkeypatch.setenv("DOOR_TOKEN", "hunter2hunter2")
    once = tmp_path / "once"
    write_suite(
        tmp_path / "evals/door", case("a", f"test -e {once} || {{ touch {once}; exit 1; }}; echo yes")
    )
    evalstats("run", "door", "--trials", 2, "--jobs", 1)
    who = ("--case", "a", "--by", "ada", "--why", "log in with hunter2hunter2")
    code, _, err = evalstats("quarantine", "add", "door", *who, "--until", "2099-12-31")
    assert code == 0, err
    text = (tmp_path / "evals/door/quarantine.jsonl").read_text()
    assert "hunter2" not in text
    assert "[redacted:DOOR_TOKEN]" in text


@pytest.mark.parametrize("command", ["coverage", "readiness"])
def test_the_bundled_suites_from_a_real_process(command, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "evalstats", command, "--suites", ROOT / "evals", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    shown = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert shown["suite_count"] == len(list((ROOT / "evals").glob("*/suite.json")))
