"""The lock commands as a person types them, on real suites, real runs and a real store."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalstats import contract
from evalstats.cli import run_command

# With hooks every case says yes; without, only "both" and every "half" with an even seed.
SHELL = {
    "both": "echo yes",
    "hooks": 'test -z "$AGENTOPS_HOOKS_DISABLED" && echo yes',
    "never": "echo no",
    "half": 'test -z "$AGENTOPS_HOOKS_DISABLED" || test $((EVALSTATS_SEED % 2)) = 0 && echo yes',
}


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def evalstats(*arguments: object, cwd: Path) -> Done:
    """Run one command line in this process: starting forty of them costs a minute."""
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(io.StringIO()) as said,
        contextlib.redirect_stderr(io.StringIO()) as complained,
    ):
        code = run_command([str(argument) for argument in arguments])
    return Done(code, said.getvalue(), complained.getvalue())


def started(*arguments: object, cwd: Path) -> Done:
    """Run one command line as a process of its own."""
    command = [sys.executable, "-m", "evalstats", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def case(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name, "title": name, "kind": "command", "objective": "It says yes.", "archetype": "A1",
        "inputs": {"shell": SHELL[kind]}, "expectations": [{"type": "stdout_contains", "value": "yes"}],
        "dimensions": ["correctness"], **more,
    }  # fmt: skip


def write(root: Path, cases: list[dict[str, Any]], **changes: Any) -> None:
    document = {
        "schema_version": 1, "id": "small", "name": "Small", "domain": "test", "visibility": "public_canary",
        "tier": "headless", "baseline_policy": {"mode": "none"}, "cases": cases,
        "scoring": {"aggregate_threshold": 0.1, "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0}]},
        **changes,
    }  # fmt: skip
    (root / ".git").mkdir(parents=True, exist_ok=True)
    folder = root / "evals" / document["id"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.json").write_text(json.dumps(document, indent=1), "utf-8")


CANDIDATE = {"pool": "candidate"}
LOCKED = [case("a", "both"), case("b", "hooks"), case("c", "never"), case("d", "half")]


@pytest.fixture(scope="module")
def quarter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a lock, a candidate, one run of both, and the lock of the next quarter.

    2027Q1 retires ``c``, which never passes, and admits ``e``, which the hooks decide.
    """
    root = tmp_path_factory.mktemp("quarter")
    write(root, LOCKED)
    assert evalstats("lock", "create", "2026Q4", cwd=root).returncode == 0
    write(root, [*LOCKED, case("e", "hooks", **CANDIDATE)])
    run = started("run", "small", "--mode", "both", "--trials", 4, "--seed", 3, "--summary", cwd=root)
    assert run.returncode in (0, 1), run.stderr
    write(root, [*LOCKED[:2], {**LOCKED[2], **CANDIDATE}, LOCKED[3], case("e", "hooks")])
    assert evalstats("lock", "create", "2027Q1", cwd=root).returncode == 0
    return root


def test_create_refuses_to_overwrite_and_what_it_cannot_lock(tmp_path: Path) -> None:
    none = evalstats("lock", "create", "2026Q4", cwd=tmp_path)
    assert (none.returncode, none.stdout) == (2, "") and "no suite to lock" in none.stderr
    write(tmp_path, LOCKED)
    made = evalstats("lock", "create", "2026Q4", "small", "--json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    path = tmp_path / document.pop("path")
    assert path == tmp_path / "evals/locks/2026Q4.json"
    assert path.read_bytes() == contract.canonical(document) + b"\n"
    again = evalstats("lock", "create", "2026Q4", cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr.count("\n") == 1 and "a lock never changes" in again.stderr
    for name in ("../x", "2026 Q4"):
        assert evalstats("lock", "create", name, cwd=tmp_path).returncode == 2
    (tmp_path / "evals/broken").mkdir()
    (tmp_path / "evals/broken/suite.json").write_text("{")
    broken = evalstats("lock", "create", "2027Q1", cwd=tmp_path)
    assert broken.returncode == 2 and "broken/suite.json:1" in broken.stderr
    assert not (tmp_path / "evals/locks/2027Q1.json").exists()


def test_verify_names_layer_and_case_and_exits_1(tmp_path: Path) -> None:
    write(tmp_path, LOCKED)
    assert evalstats("lock", "create", "2026Q4", cwd=tmp_path).returncode == 0
    same = evalstats("lock", "verify", cwd=tmp_path)
    assert (same.returncode, same.stdout) == (0, "lock 2026Q4: nothing locked has changed\n")
    write(tmp_path, [*LOCKED, case("e", "both")])
    new = evalstats("lock", "verify", "2026Q4", cwd=tmp_path)
    assert new.returncode == 0
    assert new.stdout.splitlines()[1] == "small: not in the lock, so in no headline: e"
    write(tmp_path, [case("a", "never"), *LOCKED[1:3]], owners=["me"])
    changed = evalstats("lock", "verify", "2026Q4", cwd=tmp_path)
    assert changed.returncode == 1
    assert changed.stdout.splitlines() == [
        "small: metadata changed: owners",
        "small/a: case content changed: inputs",
        "small/d: case set changed: the case is gone",
    ]
    found = json.loads(evalstats("lock", "verify", "2026Q4", "--json", cwd=tmp_path).stdout)
    assert [(f["layer"], f["case_id"], f["fields"]) for f in found["findings"]] == [
        ("metadata", None, ["owners"]),
        ("case-content", "a", ["inputs"]),
        ("case-set", "d", []),
    ]
    assert evalstats("lock", "verify", "2026Q3", cwd=tmp_path).returncode == 2
    lock = tmp_path / "evals/locks/2026Q4.json"
    lock.write_text(lock.read_text().replace('"id":"a"', '"id":"z"'))
    forged = evalstats("lock", "verify", "2026Q4", cwd=tmp_path)
    assert forged.returncode == 2 and "changed after it was made" in forged.stderr


def test_private_suites_need_the_role_and_are_never_named(tmp_path: Path) -> None:
    write(tmp_path, LOCKED)
    write(tmp_path, [case("zq-case", "both")], id="zq-hidden", name="Zq", visibility="private_holdout")
    plain = evalstats("lock", "create", "one", cwd=tmp_path)
    assert plain.returncode == 0 and "1 private suite(s) left out" in plain.stderr
    named = evalstats("lock", "create", "two", "zq-hidden", cwd=tmp_path)
    assert named.returncode == 2 and "role evaluator" in named.stderr
    assert evalstats("lock", "create", "two", "--role", "boss", cwd=tmp_path).returncode == 2
    made = evalstats("lock", "create", "two", "--role", "evaluator", cwd=tmp_path)
    assert made.returncode == 0
    write(tmp_path, [case("zq-case", "never")], id="zq-hidden", name="Zq", visibility="private_holdout")
    unlooked = evalstats("lock", "verify", "two", cwd=tmp_path)
    assert unlooked.returncode == 0 and "1 private suite(s) not looked at" in unlooked.stderr
    looked = evalstats("lock", "verify", "two", "--role", "evaluator", cwd=tmp_path)
    assert (looked.returncode, looked.stdout) == (1, "a private suite: scoring changed\n")
    for said in (plain, made, unlooked, looked):
        assert "zq" not in (said.stdout + said.stderr).lower()
    for lock in (tmp_path / "evals/locks").iterdir():
        assert "zq" not in lock.read_text().lower()


def test_candidates_come_with_their_evidence_and_a_proposal(quarter: Path) -> None:
    done = evalstats("lock", "candidates", "2026Q4", cwd=quarter)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "small: 1 case(s) outside lock 2026Q4"
    assert lines[2].split()[:6] == ["e", "skill-off", "1", "4", "0", "0.00"]
    assert "e: wait: 4 of 9 usable trials in skill-off; 1 of 3 runs in skill-off" in lines[-1]
    assert all(len(line) <= 80 for line in lines[:-1])
    (found,) = json.loads(evalstats("lock", "candidates", "2026Q4", "--json", cwd=quarter).stdout)[
        "candidates"
    ]
    assert [arm["pass_rate"]["estimate"] for arm in found["evidence"]] == [0, 1]
    bare = evalstats("lock", "candidates", "2026Q4", "--data", "none", cwd=quarter)
    assert bare.returncode == 0
    assert "no store at none" in bare.stderr and "no usable trial" in bare.stdout


def test_the_bridge_by_hand(quarter: Path) -> None:
    done = evalstats("lock", "bridge", "2026Q4", "2027Q1", "--json", "--out", "out/bridge.json", cwd=quarter)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (quarter / "out/bridge.json").read_bytes() == contract.canonical(document) + b"\n"
    contract.validate(document, "lock-bridge.v1")
    (suite,) = document["suites"]
    assert (suite["common"], suite["retired"], suite["admitted"]) == (["a", "b", "d"], ["c"], ["e"])
    read = {
        (e["arm"] or e["quantity"], e["part"]): e["estimate"]
        for e in suite["estimates"]
        if e["average"] == "cases"
    }
    d = 4 * read["skill-off", "old"] - 1  # old without hooks: a 1, b 0, c 0, d as it fell
    assert read["skill-on", "old"] == 0.75 and read["skill-on", "new"] == 1
    assert read["skill-off", "shift"] == pytest.approx(0)
    assert read["difference", "shift"] == pytest.approx(0.25)
    assert read["lift", "shift"] == pytest.approx(0.25 / (1 - (1 + d) / 4))  # 1 less 1 - (1/4) / (3 - d)/4
    again = started("lock", "bridge", "2026Q4", "2027Q1", "--json", cwd=quarter)
    assert again.stdout == done.stdout


def test_the_bridge_fits_80_columns_and_shows_intervals(quarter: Path) -> None:
    done = evalstats("lock", "bridge", "2026Q4", "2027Q1", cwd=quarter)
    lines = done.stdout.splitlines()
    assert lines[0] == "small, 2026Q4 to 2027Q1: 3 common, 1 retired, 1 admitted; 2 run(s)"
    assert "FIXED" in lines[1]
    assert max(map(len, lines)) <= 80
    assert lines[3].split() == ["old", "new", "shift"]
    assert lines[6].startswith("difference  +") and lines[6].count("[") == 3


def test_the_bridge_refuses_what_it_cannot_tell(quarter: Path, tmp_path: Path) -> None:
    no_store = evalstats("lock", "bridge", "2026Q4", "2027Q1", "--data", "none", cwd=quarter)
    assert no_store.returncode == 3 and "no run of it is in the store" in no_store.stderr
    same = evalstats("lock", "bridge", "2026Q4", "2026Q4", cwd=quarter)
    assert (same.returncode, same.stdout) == (
        0,
        "small, 2026Q4 to 2026Q4: the same cases, so no shift\n",
    )
    assert evalstats("lock", "bridge", "2026Q4", "2027Q1", "--level", "1", cwd=quarter).returncode == 2
    write(tmp_path, [*LOCKED, case("f", "both")])
    assert evalstats("lock", "create", "later", cwd=tmp_path).returncode == 0
    later = tmp_path / "evals/locks/later.json"
    uncovered = evalstats("lock", "bridge", "2026Q4", later, cwd=quarter)
    assert uncovered.returncode == 3
    assert "small: no bridge: no run tried all 5 cases" in uncovered.stderr and "lacks f" in uncovered.stderr


@pytest.fixture
def in_quarter(quarter: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    from evalstats import report

    monkeypatch.chdir(quarter)
    return lambda lock: report.locked(report.case_runs("data/evalstats.duckdb", "small"), lock)


def test_a_report_reads_the_locked_cases_and_names_the_rest(in_quarter: Callable[[str], Any]) -> None:
    found = in_quarter("2027Q1")
    assert sorted(found.runs["case_id"].unique()) == ["a", "b", "d", "e"]
    assert found.facts["lock"]["candidates"] == ["c"]
    assert found.notes[0].startswith(f"Lock 2027Q1 ({found.facts['lock']['sha256'][:12]}) holds 4 cases")
    assert found.notes[0].endswith("candidates left out: c.")
    assert len(in_quarter("").runs["case_id"].unique()) == 5


def test_a_report_is_refused_when_a_locked_case_changed(in_quarter: Callable[[str], Any]) -> None:
    from evalstats.errors import UsageError

    with pytest.raises(UsageError, match="small/c: case content changed: pool; see `evalstats lock verify"):
        in_quarter("2026Q4")  # retiring a case in the middle of a quarter is a change
    with pytest.raises(UsageError, match="no such lock"):
        in_quarter("2031Q1")


@pytest.mark.slow
def test_a_published_report_names_its_lock(quarter: Path) -> None:
    ask = ("report", "variance_bands", "-p", "suite=small", "-p")
    refused = evalstats(*ask, "lock=2026Q4", cwd=quarter)
    assert refused.returncode == 2 and "small/c: case content changed: pool" in refused.stderr
    built = evalstats(*ask, "lock=2027Q1", "--json", cwd=quarter)
    assert built.returncode == 0, built.stderr
    folder = quarter / json.loads(built.stdout)["path"]
    document = json.loads((folder / "report.json").read_text())
    lock = json.loads((quarter / "evals/locks/2027Q1.json").read_text())
    assert document["data"]["lock"] == {
        "name": "2027Q1",
        "sha256": lock["sha256"],
        "candidates": ["c"],
    }
    assert document["data"]["case_ids"] == ["a", "b", "d", "e"]
    assert all(run["n_cases"] == 4 and set(run["cases"]) == set("abde") for run in document["series"])
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["inputs"]["lock"] == lock["sha256"]
    assert manifest["parameters"]["lock"] == "lock/2027Q1.json"
    page = (folder / "report.html").read_text()
    assert f"2027Q1 · {lock['sha256']}" in page and "candidate, left out: c" in page
    by_path = evalstats(*ask, "lock=evals/locks/2027Q1.json", "--json", cwd=quarter)
    assert json.loads(by_path.stdout)["content_hash"] == json.loads(built.stdout)["content_hash"]
