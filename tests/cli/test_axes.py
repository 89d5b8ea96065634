"""The axes of a run as a person asks for them: context and candidate, and every combination that is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalstats import contract

ROOT = Path(__file__).parents[2]


def evalstats(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evalstats", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def write_suite(folder: Path, *shells: str, **changes: Any) -> Path:
    cases = [
        {
            "id": f"c{number}",
            "title": "Says yes",
            "kind": "command",
            "objective": "The command says yes.",
            "inputs": {"shell": shell},
            "expectations": [{"type": "stdout_contains", "value": "yes"}],
            "dimensions": ["correctness"],
        }
        for number, shell in enumerate(shells)
    ]
    document = {
        "schema_version": 1,
        "id": "axes",
        "name": "Axes",
        "domain": "test",
        "visibility": "public_canary",
        "tier": "headless",
        "scoring": {
            "aggregate_threshold": 0,
            "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0}],
        },
        "baseline_policy": {"mode": "none"},
        "cases": cases,
        **changes,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.json").write_text(json.dumps(document, indent=2))
    return folder


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    return document


# --- the context axis -----------------------------------------------------------------------------


def test_the_context_demo_has_a_real_interval(tmp_path: Path) -> None:
    command = ["run", ROOT / "evals/context-demo", "--context-mode", "ab", "--seed", 1]
    done = evalstats(*command, "--out", "out/c.json", "--run-id", "c", cwd=tmp_path)
    assert done.returncode == 1, done.stderr  # the clerk fails some cases, as it should
    card = read(tmp_path / "out/c.json")
    contract.validate(card, "context-delta-scorecard.v1")
    scores = []
    for leg, arm in (("context_on", "context-on"), ("context_off", "context-off")):
        record = read(tmp_path / f"out/c-{arm}.json")
        contract.validate(record, "eval-run.v1")
        assert (record["run_id"], record["axis"], record["arm"]) == (f"c-{arm}", "context", arm)
        assert "hooks_disabled" not in record["environment"]
        assert card[leg]["run_id"] == f"c-{arm}"
        scores.append({case["id"]: case["score"] for case in record["case_results"]})
    by_hand = sum(scores[0][name] - scores[1][name] for name in scores[0]) / len(scores[0])
    found = card["difference"]
    assert found["estimate"] == pytest.approx(by_hand, abs=1e-12)
    assert card["aggregate_delta"] == pytest.approx(by_hand, abs=1e-12)  # one dimension, so the same
    assert found["conf_low"] < 3 / 8 < found["conf_high"]  # what the suite says of its subject
    assert (found["n_cases"], found["n_trials"], card["verdict"]) == (8, 80, None)
    assert all(case["token_delta"] is None for case in card["per_case"])
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert f"[{found['conf_low']:+.4f}, {found['conf_high']:+.4f}]" in done.stdout


def test_degraded_trials_are_excluded_and_a_degraded_case_is_inconclusive(tmp_path: Path) -> None:
    root = "$EVALSTATS_CONTEXT_ROOT"
    spoil = f"chmod -R u+w {root}; echo x > {root}/x; echo yes"
    suite = write_suite(
        tmp_path / "axes",
        "echo yes",
        f"[ $EVALSTATS_ARM = context-off ] || {{ {spoil}; }}; echo yes",
        f"[ $EVALSTATS_TRIAL_INDEX != 1 ] || {{ {spoil}; }}; echo yes",
        arms={"context-on": {"files": ["note"]}},
    )
    (suite / "note").write_text("yes\n")
    done = evalstats("run", suite, "--context-mode", "ab", "--trials", 2, "-j", 1, "--json", cwd=tmp_path)
    assert done.returncode == 3
    card = json.loads(done.stdout)
    fine, spoilt, half = card["per_case"]
    mutated = "context_root_mutated_live_state"
    assert (fine["status_delta"], fine["degraded_reason"]) == (0, None)
    assert (spoilt["status_delta"], spoilt["degraded_reason"]) == (None, mutated)
    assert (spoilt["context_on"]["status"], spoilt["context_off"]["status"]) == ("inconclusive", "pass")
    assert (half["status_delta"], half["decision_evidence"]) == (0, {"context_off": 1, "context_on": 1})
    assert (card["context_on"]["degraded"], card["context_off"]["degraded"]) == ({mutated: 3}, {mutated: 1})
    assert (card["aggregate_delta"], card["verdict"], card["difference"]["n_cases"]) == (None, "advisory", 2)


def test_a_suite_that_gives_both_arms_the_same_is_advisory(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "axes", "echo yes")
    done = evalstats("run", suite, "--context-mode", "ab", cwd=tmp_path)
    assert done.returncode == 0
    assert "advisory: both arms were given the same context" in done.stdout


def test_runs_of_the_context_axis_are_in_the_store(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "axes", "echo yes")
    evalstats("run", suite, "--context-mode", "ab", "--run-id", "r", cwd=tmp_path)
    listed = json.loads(evalstats("runs", "--json", cwd=tmp_path).stdout)
    assert {(run["axis"], run["arm"], run["mode"]) for run in listed} == {
        ("context", "context-on", "ab"),
        ("context", "context-off", "ab"),
    }
    assert evalstats("db", "check", cwd=tmp_path).returncode == 0
    again = evalstats("run", "--resume", "r", cwd=tmp_path)
    assert again.returncode == 0, again.stderr


# --- the candidate axis ---------------------------------------------------------------------------


def repository(folder: Path) -> Path:
    """Return a suite in a repository whose tag ``better`` says yes, and whose working tree does not."""
    suite = write_suite(folder / "repo/evals/axes", "cat word", "echo yes", "cat ../../lib/word")

    def git(*words: str) -> None:
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        subprocess.run(["git", "-C", folder / "repo", *identity, *words], check=True, capture_output=True)

    git("init", "-q")
    (folder / "repo/lib").mkdir()
    for word, tag in (("yes", "better"), ("no", "worse")):
        (suite / "word").write_text(word)
        (folder / "repo/lib/word").write_text(word)
        git("add", ".")
        git("commit", "-q", "-m", tag)
        git("tag", tag)
    return suite


def test_a_candidate_is_compared_with_the_working_tree(tmp_path: Path) -> None:
    suite = repository(tmp_path)
    command = ["run", suite, "--candidate", "better", "--trials", 2, "--run-id", "r", "--out", "k.json"]
    done = evalstats(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    card = read(tmp_path / "k.json")
    contract.validate(card, "delta-scorecard.v1")
    assert (card["axis"], card["candidate_ref"]) == ("candidate", "better")
    assert (card["candidate_aggregate"], card["baseline_aggregate"]) == (1.0, pytest.approx(1 / 3, abs=1e-15))
    assert [case["delta"] for case in card["per_case"]] == [1, 0, 1]
    assert card["difference"]["estimate"] == pytest.approx(2 / 3, abs=1e-12)
    assert card["difference"]["conf_low"] is not None
    assert read(tmp_path / "k-candidate.json")["git"]["candidate_sha"] == card["candidate_sha"]
    assert read(tmp_path / "k-baseline.json")["git"]["candidate_sha"] != card["candidate_sha"]
    assert not (tmp_path / "data/runs/r-candidate/candidate").exists()
    worse = evalstats("run", suite, "--candidate", "worse", cwd=tmp_path)
    assert worse.returncode == 1
    assert max(map(len, worse.stdout.splitlines())) <= 80


def test_a_lone_live_trial_is_advisory_on_every_axis(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "axes", "echo yes", tier="live", arms={"context-on": {"env": {"A": "1"}}})
    reason = "a live suite with a single trial per case is never authoritative"
    for axis in (["--mode", "both"], ["--context-mode", "ab"]):
        card = json.loads(evalstats("run", suite, *axis, "--trials", 1, "--json", cwd=tmp_path).stdout)
        assert (card["verdict"], card["reasons"]) == ("advisory", [reason])
    shown = evalstats("run", suite, "--mode", "both", "--trials", 1, cwd=tmp_path).stdout
    assert f"advisory: {reason}" in shown


# --- what is refused ------------------------------------------------------------------------------


def test_every_refusal_is_one_clear_line(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "axes", "echo yes")
    hookless = write_suite(tmp_path / "hookless", "echo yes", environment={"disable_hooks": True})
    twice = write_suite(tmp_path / "twice", "echo yes", arms={"context-on": {"files": ["a/x", "b/x"]}})
    missing = write_suite(tmp_path / "missing", "echo yes", arms={"context-off": {"files": ["gone"]}})
    for name in "ab":
        (twice / name).mkdir()
        (twice / name / "x").touch()
    repo = repository(tmp_path)
    refused: dict[str, tuple[list[object], list[str]]] = {
        "hooks disabled": ([hookless, "--context-mode", "ab"], ["hookless/suite.json", "disable_hooks"]),
        "hooks disabled, one arm": ([hookless, "--context-mode", "context-on"], ["disable_hooks"]),
        "with --mode": ([suite, "--mode", "both", "--context-mode", "ab"], ["--context-mode", "--mode"]),
        "with --baseline-mode": ([suite, "--baseline-mode", "skill-on", "--context-mode", "ab"], ["--mode"]),
        "with --candidate": ([repo, "--context-mode", "ab", "--candidate", "better"], ["--candidate"]),
        "candidate with --mode": ([repo, "--mode", "both", "--candidate", "better"], ["--candidate"]),
        "unknown": ([suite, "--context-mode", "both"], ["--context-mode", "both", "ab"]),
        "of another axis": ([suite, "--mode", "ab"], ["--mode", "ab", "both"]),
        "two of one name": ([twice, "--context-mode", "ab"], ["twice/suite.json:", "x 2 times"]),
        "missing file": (
            [missing, "--context-mode", "ab"],
            ["missing/suite.json:", "/arms/context-off/files/0"],
        ),
        "bad ref": ([repo, "--candidate", "nope"], ["--candidate", "'nope'"]),
        "ref like an option": ([repo, "--candidate=--help"], ["--candidate", "'--help'"]),
        "no repository": ([suite, "--candidate", "HEAD"], ["--candidate", "no repository"]),
        "resumed": (["--resume", "r", "--context-mode", "ab"], ["--context-mode"]),
    }
    for name, (command, named) in refused.items():
        done = evalstats("run", *command, cwd=tmp_path, GIT_CEILING_DIRECTORIES=str(tmp_path))
        lines = done.stderr.strip().splitlines()
        assert (done.returncode, len(lines)) == (2, 1), (name, done)
        assert all(part in lines[0] for part in named), (name, lines[0])
        assert not (tmp_path / "data").exists(), name


def test_a_preset_mode_and_another_axis_are_refused_too(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "axes", "echo yes")
    (tmp_path / "evalstats.toml").write_text('[run]\nmode = "both"\n')
    done = evalstats("run", suite, "--context-mode", "ab", cwd=tmp_path)
    assert (done.returncode, "never combined" in done.stderr) == (2, True)
