"""The commands as a person types them: real processes, real files, exit codes and single clear lines."""

from __future__ import annotations

import json
import os
import signal
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


def small_suite(folder: Path, **changes: Any) -> Path:
    document = {
        "schema_version": 1,
        "id": "small",
        "name": "Small",
        "domain": "test",
        "visibility": "public_canary",
        "tier": "deterministic",
        "scoring": {
            "aggregate_threshold": 1,
            "dimensions": [{"name": "correctness", "weight": 1, "threshold": 1}],
        },
        "baseline_policy": {"mode": "none"},
        "cases": [
            {
                "id": "says-hello",
                "title": "Says hello",
                "kind": "command",
                "objective": "The command greets.",
                "archetype": "A10",
                "inputs": {"shell": "echo hello"},
                "expectations": [{"type": "stdout_contains", "value": "hello"}],
                "dimensions": ["correctness"],
            }
        ],
        **changes,
    }
    folder.mkdir(exist_ok=True)
    (folder / "suite.json").write_text(json.dumps(document, indent=2))
    return folder


def test_ab_demo_gives_the_reference_scorecard(tmp_path: Path) -> None:
    done = evalstats("run", ROOT / "evals/ab-demo", "--mode", "both", "--out", "out/X.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    scorecard = json.loads((tmp_path / "out/X.json").read_text())
    contract.validate(scorecard, "delta-scorecard.v1")
    assert (scorecard["skill_on_aggregate"], scorecard["skill_off_aggregate"]) == (1.0, 0.5)
    assert scorecard["aggregate_delta"] == 0.5
    assert [case["delta"] for case in scorecard["per_case"]] == [1, 0]
    for arm in ("skill-on", "skill-off"):
        record = json.loads((tmp_path / f"out/X-{arm}.json").read_text())
        contract.validate(record, "eval-run.v1")
        assert record["arm"] == arm
        assert record["run_id"].endswith(f"-{arm}")


def test_weights_demo_gives_the_reference_delta(tmp_path: Path) -> None:
    done = evalstats("run", ROOT / "evals/weights-demo", "--mode", "both", "--json", cwd=tmp_path)
    scorecard = json.loads(done.stdout)
    assert scorecard["skill_off_aggregate"] == pytest.approx(0.7 / 3 + 0.3, abs=1e-12)
    assert scorecard["aggregate_delta"] == pytest.approx(0.7 * 2 / 3, abs=1e-12)


def test_a_run_lands_in_the_store_once(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    assert evalstats("run", suite, "--trials", 3, "--run-id", "r1", cwd=tmp_path).returncode == 0
    assert evalstats("ingest", cwd=tmp_path).returncode == 0
    listed = json.loads(evalstats("runs", "--json", cwd=tmp_path).stdout)
    assert [(run["run_id"], run["n_trials"]) for run in listed] == [("r1", 3)]
    assert evalstats("db", "check", cwd=tmp_path).returncode == 0
    assert evalstats("db", "rebuild", cwd=tmp_path).returncode == 0
    assert json.loads(evalstats("runs", "--json", cwd=tmp_path).stdout) == listed


def test_an_exported_lake_answers_like_the_database(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    evalstats("run", suite, "--trials", 2, "--run-id", "r1", cwd=tmp_path)
    assert evalstats("db", "export", "--parquet", "lake", cwd=tmp_path).returncode == 0
    there = evalstats("runs", "--json", "--store", "lake", cwd=tmp_path)
    assert json.loads(there.stdout) == json.loads(evalstats("runs", "--json", cwd=tmp_path).stdout)


def test_failing_suite_exits_1_and_a_missing_command_exits_3(tmp_path: Path) -> None:
    case = json.loads((small_suite(tmp_path / "small") / "suite.json").read_text())["cases"][0]
    failing = small_suite(tmp_path / "f", cases=[{**case, "inputs": {"shell": "echo bye"}}])
    assert evalstats("run", failing, cwd=tmp_path).returncode == 1
    broken = small_suite(tmp_path / "b", cases=[{**case, "inputs": {"argv": ["/no/such/command"]}}])
    assert evalstats("run", broken, cwd=tmp_path).returncode == 3


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    done = evalstats("run", suite, "--trials", 2, "--dry-run", cwd=tmp_path)
    assert done.returncode == 0
    assert "2 trials" in done.stdout
    assert not (tmp_path / "data").exists()


def bad_inputs(folder: Path) -> dict[str, tuple[list[object], list[str]]]:
    """Return name -> (command, what the line must name)."""
    case = json.loads((small_suite(folder / "small") / "suite.json").read_text())["cases"][0]
    text = (folder / "small/suite.json").read_text()
    fixture = {"path": "no/such/file", "purpose": "test"}
    outside = {"path": "../outside", "purpose": "test"}
    small_suite(folder / "twice", cases=[case, case])
    small_suite(folder / "missing", fixtures=[fixture])
    small_suite(folder / "outside", fixtures=[outside])
    small_suite(folder / "unknown", colour="blue")
    for name, changed in {
        "nan": text.replace('"aggregate_threshold": 1', '"aggregate_threshold": NaN'),
        "duplicate": text.replace('"name": "Small"', '"name": "Small", "name": "Other"'),
        "nojson": text[:-10],
    }.items():
        (folder / name).mkdir()
        (folder / name / "suite.json").write_text(changed)
    return {
        "two cases of one id": (["run", "twice"], ["twice/suite.json", "/cases/1/id", "says-hello"]),
        "missing fixture": (["run", "missing"], ["missing/suite.json", "/fixtures/0/path", "no/such/file"]),
        "fixture outside": (["run", "outside"], ["outside/suite.json", "/fixtures/0/path", "inside"]),
        "unknown key": (["run", "unknown"], ["unknown/suite.json", "colour"]),
        "NaN": (["run", "nan"], ["nan/suite.json:", "NaN"]),
        "duplicate key": (["run", "duplicate"], ["duplicate/suite.json:4", "name"]),
        "not JSON": (["run", "nojson"], ["nojson/suite.json:", "not JSON"]),
        "unknown flag": (["run", "small", "--colour"], ["--colour"]),
        "unknown archetype": (["run", "small", "--archetype", "A1"], ["--archetype", "A1", "A10"]),
        "unknown case": (["run", "small", "--case", "nope"], ["--case", "nope"]),
        "unknown mode": (["run", "small", "--mode", "sideways"], ["--mode", "sideways", "both"]),
        "no suite": (["run", "nowhere"], ["nowhere", "suite.json"]),
        "nothing to run": (["run"], ["--resume"]),
        "no store": (["runs"], ["data/evalstats.duckdb"]),
        "no report": (["report", "show", "variance_bands/none"], ["variance_bands/none"]),
        "no notebook": (["report", "nonesuch"], ["nonesuch", "variance_bands"]),
        "no policy": (["gate", "variance_bands/none", "--policy", "nope.json"], ["variance_bands/none"]),
        "bad configuration": (["--help"], ["evalstats.toml"]),
    }


def test_bad_input_is_one_clear_line(tmp_path: Path) -> None:
    for name, (command, named) in bad_inputs(tmp_path).items():
        if name == "bad configuration":
            (tmp_path / "evalstats.toml").write_text("[run\n")
        done = evalstats(*command, cwd=tmp_path)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2, (name, done)
        assert len(lines) == 1, (name, lines)
        assert all(part in lines[0] for part in named), (name, lines[0])
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "data").exists() or not list((tmp_path / "data").rglob("*.jsonl")), name


def test_every_problem_of_a_suite_is_listed_at_once(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small", colour="blue", tier="nightly", domain="")
    done = evalstats("suite", "validate", suite, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stdout.strip().splitlines()) == 3
    assert all("suite.json:" in line for line in done.stdout.strip().splitlines())


def test_an_unreadable_journal_is_named_with_its_line(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    evalstats("run", suite, "--trials", 2, "--run-id", "r1", cwd=tmp_path)
    journal = next((tmp_path / "data/runs/r1/journal").glob("*.jsonl"))
    first, second = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"{broken\n" + second)
    done = evalstats("db", "rebuild", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{journal.name}:1" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    journal.write_bytes(first + second)
    assert evalstats("db", "rebuild", cwd=tmp_path).returncode == 0


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    assert "Traceback" in evalstats("run", "nowhere", "--debug", cwd=tmp_path).stderr


def test_configuration_presets_options(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    (tmp_path / "evalstats.toml").write_text('[run]\ntrials = 4\ndata = "elsewhere"\n')
    assert evalstats("run", suite, cwd=tmp_path).returncode == 0
    listed = json.loads(evalstats("runs", "--json", "--data", "elsewhere", cwd=tmp_path).stdout)
    assert listed[0]["n_trials"] == 4


def test_help_of_every_command_fits_80_columns_and_shows_an_example(tmp_path: Path) -> None:
    commands = (
        ["run"],
        ["runs"],
        ["ingest"],
        *(["suite", verb] for verb in ("validate", "hash", "show")),
        *(["db", verb] for verb in ("rebuild", "check", "migrate", "export")),
        *(["report", verb] for verb in ("build", "list", "show", "verify", "open", "path")),
        ["gate", "decide"],
    )
    for command in commands:
        text = evalstats(*command, "--help", cwd=tmp_path).stdout
        assert max(map(len, text.splitlines())) <= 80, command
        assert ("Example:" in text) or command == ["runs"], command


# --- work is kept, whatever happens around it ------------------------------------------------------


def test_a_reader_that_has_gone_stops_nothing(tmp_path: Path) -> None:
    one, two = small_suite(tmp_path / "one", id="one"), small_suite(tmp_path / "two", id="two")
    command = f"{sys.executable} -m evalstats run {one} {two} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
    listed = json.loads(evalstats("runs", "--json", cwd=tmp_path).stdout)
    assert [run["suite_id"] for run in listed] == ["one", "two"]


def test_closed_standard_streams_stop_nothing(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    command = f"{sys.executable} -m evalstats run {suite} --run-id r1 >&- 2>&-; echo $? > code"
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    assert (tmp_path / "code").read_text().strip() == "0"
    assert json.loads(evalstats("runs", "--json", cwd=tmp_path).stdout)[0]["run_id"] == "r1"


def test_a_signal_ends_the_whole_command(tmp_path: Path) -> None:
    case = json.loads((small_suite(tmp_path / "one") / "suite.json").read_text())["cases"][0]
    slow = {**case, "inputs": {"shell": "sleep 1; echo hello"}}
    one, two = (small_suite(tmp_path / name, id=name, cases=[slow]) for name in ("one", "two"))
    command = [sys.executable, "-m", "evalstats", "run", str(one), str(two), "--progress", "jsonl"]
    process = subprocess.Popen([*command, "--trials", "2"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()  # the first trial of the first suite is done
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not list((tmp_path / "data/runs").glob("*two*"))


def test_a_bad_journal_of_another_run_is_no_failure_of_this_one(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    evalstats("run", suite, "--run-id", "r1", cwd=tmp_path)
    journal = next((tmp_path / "data/runs/r1/journal").glob("*.jsonl"))
    journal.write_bytes(b"{broken\n" + journal.read_bytes())
    done = evalstats("run", suite, "--run-id", "r2", cwd=tmp_path)
    assert done.returncode == 0
    assert "not ingested" in done.stderr
    assert journal.name in done.stderr


def test_text_of_a_suite_cannot_move_the_cursor(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small", name="\x1b]0;pwn\x07\x1b[31m", **{"a\x1b[2Jb\nc": 1})
    refused = evalstats("suite", "validate", suite, cwd=tmp_path)
    assert "\x1b" not in refused.stdout + refused.stderr
    assert len(refused.stdout.strip().splitlines()) == 1
    shown = evalstats("suite", "show", small_suite(tmp_path / "s2", name="\x1b[31m"), cwd=tmp_path)
    assert shown.returncode == 0
    assert "\x1b" not in shown.stdout


def test_nothing_asked_for_is_dropped_in_silence(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    evalstats("run", suite, "--run-id", "r1", cwd=tmp_path)
    for command, named in (
        (["run", "--resume", "r1", "--trials", "9"], "--trials"),
        (["run", "small", "small", "--out", "x.json"], "--out"),
        (["run", "small", "small", "--json"], "--json"),
        (["run", "small", "--out", "small"], "small"),
    ):
        done = evalstats(*command, cwd=tmp_path)
        assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1), command
        assert named in done.stderr
    plan = json.loads(evalstats("run", suite, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert [trial["case"] for trial in plan["trials"]] == ["says-hello"]


def test_a_preset_that_presets_nothing_is_named(tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "small")
    for text, field in (("run = 3", "run"), ("[run]\njob = 3", "run.job"), ("[runn]\njobs = 3", "runn")):
        (tmp_path / "evalstats.toml").write_text(text)
        done = evalstats("run", suite, cwd=tmp_path)
        assert done.returncode == 2
        assert f"evalstats.toml: {field}:" in done.stderr


def test_exit_codes_of_a_run(tmp_path: Path) -> None:
    case = json.loads((small_suite(tmp_path / "small") / "suite.json").read_text())["cases"][0]
    fails = {**case, "id": "fails", "inputs": {"shell": "echo bye"}}
    lenient = {
        "aggregate_threshold": 0,
        "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0}],
    }
    some = small_suite(tmp_path / "some", cases=[case, fails], scoring=lenient)
    assert evalstats("run", some, cwd=tmp_path).returncode == 1  # the thresholds hold, a case does not
    manual = {**case, "expectations": [{"type": "manual_review"}]}
    assert evalstats("run", small_suite(tmp_path / "m", cases=[manual]), cwd=tmp_path).returncode == 1
    live = {**case, "kind": "runtime_prompt", "runtime": "claude", "inputs": {}}
    assert evalstats("run", small_suite(tmp_path / "l", cases=[live]), cwd=tmp_path).returncode == 3
    off_lost = small_suite(tmp_path / "o", cases=[{**case, "inputs": {"argv": ["/no/such"]}}])
    both = evalstats("run", off_lost, "--mode", "both", cwd=tmp_path)
    assert both.returncode == 3
    assert "no interval: no pairs" in both.stdout
