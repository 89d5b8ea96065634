"""``evalstats ratchet``, ``monitor`` and ``smoke`` as a person types them, on tables of dated trials."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from evalstats import contract
from evalstats.cli import run_command

SUITE = {
    "schema_version": 1,
    "id": "desk",
    "name": "Desk",
    "domain": "test",
    "visibility": "public_canary",
    "tier": "headless",
    "scoring": {
        "aggregate_threshold": 0,
        "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0}],
    },
    "baseline_policy": {"mode": "promotable", "blocking_gate": "nightly"},
    "cases": [
        {
            "id": f"{archetype.lower()}-{number}",
            "title": "a case",
            "archetype": archetype,
            "kind": "command",
            "objective": "any",
            "inputs": {"argv": ["true"]},
            "expectations": [{"type": "exit_code", "value": 0}],
        }
        for archetype in ("A1", "A2")
        for number in range(4)
    ],
}
POLICY = {
    "schema_version": 1,
    "suite": "desk",
    "rule": "three-verdict",
    "statistic": "pass_rate",
    "margin": 0.10,
    "alpha": 0.05,
    "history": {"minimum": 8, "window": 28},
    "smoke": {"archetypes": ["A1", "A2"]},
}
WOBBLE = [0, 1, -1, 1, 0, -1, 0, 0, -1, 1, 0, 0]  # of 20 trials a case, around 14 passes
HEADER = ["suite", "run", "arm", "case", "archetype", "trial_index", "score", "started_at", "model"]


class Printed(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def evalstats(root, monkeypatch, capsys):
    """Return a function that runs one command line in the repository, 80 columns wide."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> Printed:
        code = run_command([str(argument) for argument in arguments])
        return Printed(code, *capsys.readouterr())

    return run


@pytest.fixture
def bring(root, evalstats):
    """Return a function that imports one run a night; each case passes so many of 20 trials."""

    def imported(passes: list[int], *, first: int = 1, model: str = "m-1") -> None:
        path = root / f"nights-{first}.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(HEADER)
            for night, k in enumerate(passes, first):
                date = (datetime(2026, 1, 1, 2, tzinfo=UTC) + timedelta(days=night)).isoformat()
                for case in SUITE["cases"]:
                    head = ["desk", f"night-{night}", "skill-on", case["id"], case["archetype"]]
                    table.writerows([*head, trial, int(trial <= k), date, model] for trial in range(1, 21))
        done = evalstats("import", path.name)
        assert done.returncode == 0, done.stderr

    return imported


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "evals/desk"
    folder.mkdir(parents=True)
    (folder / "suite.json").write_text(json.dumps(SUITE))
    (folder / "policy.json").write_text(json.dumps(POLICY))
    (tmp_path / "evalstats.toml").write_text("")
    return tmp_path


def test_from_not_ready_to_signed_and_back(root, evalstats, bring):
    bring([14 + w for w in WOBBLE[:6]])
    early = evalstats("ratchet", "desk", "--json")
    report = json.loads(early.stdout)
    contract.validate(report, "ratchet-readiness.v1")
    assert early.returncode == 1 and report["reasons"][0] == "6 of the 8 runs needed"
    sign = ("--by", "ada", "--rationale", "steady for twelve nights")
    refused = evalstats("ratchet", "promote", "desk", *sign)
    assert refused.returncode == 1 and "it is NOT_READY" in refused.stdout

    bring([14 + w for w in WOBBLE[6:]], first=7)
    ready = evalstats("ratchet", "desk")
    assert ready.returncode == 1, "a wobble of 5% is too noisy for a margin of 10%"
    assert "is seen 80% of the time" in ready.stdout
    (root / "evals/desk/policy.json").write_text(json.dumps({**POLICY, "margin": 0.2}))
    ready = evalstats("ratchet", "desk")
    assert ready.returncode == 0 and ready.stdout.startswith("READY: desk (advisory now)")
    assert "(90% confidence in sigma)" in ready.stdout

    unsigned = evalstats("ratchet", "promote", "desk", "--json")
    assert unsigned.returncode == 1 and len(json.loads(unsigned.stdout)["reasons"]) == 2
    done = evalstats("ratchet", "promote", "desk", *sign, "--json")
    assert done.returncode == 0
    contract.validate(json.loads(done.stdout), "ratchet-record.v1")
    log = evalstats("ratchet", "log", "desk")
    assert log.returncode == 0 and log.stdout.startswith("desk is blocking")
    assert all(len(line) <= 80 for line in log.stdout.splitlines())
    back = evalstats("ratchet", "revoke", "desk", "--by", "bob", "--rationale", "it flaps")
    assert back.returncode == 0 and "only advises from now on" in back.stdout
    [path] = (root / "evals/desk/baselines").glob("*.jsonl")
    path.write_text(path.read_text().replace("it flaps", "he asked"))
    path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n")  # the revocation is cut off
    cut = evalstats("ratchet", "log", "desk")
    assert cut.returncode == 1 and "was a line cut off?" in cut.stdout


def test_monitor_tells_a_change_of_model_from_a_drop(root, evalstats, bring):
    bring([14 + w for w in WOBBLE])
    calm = evalstats("monitor", "desk")
    assert calm.returncode == 0 and calm.stdout.startswith("desk: IN CONTROL")
    days = [evalstats("monitor", "desk", "--as-of", day, "--json") for day in ("2026-01-12", "20260112")]
    assert days[0].stdout == days[1].stdout and len(json.loads(days[0].stdout)["nights"]) == 11
    for option in ("--as-of", "--since"):
        for text in ("NaT", ""):
            done = evalstats("monitor", "desk", option, text)
            assert done.returncode == 2 and f"{option}: is no date or time" in done.stderr
    bring([9 + w for w in WOBBLE], first=13, model="m-2")
    changed = evalstats("monitor", "desk")
    assert changed.returncode == 0 and "model m-1 -> m-2" in changed.stdout
    bring([2, 3, 2, 3], first=25, model="m-2")
    dropped = evalstats("monitor", "desk")
    assert dropped.returncode == 1 and dropped.stdout.startswith("desk: ALARM")
    assert "skill-on has been below its limits since 2026-01-26" in dropped.stdout
    table = dropped.stdout.split("\n\n", 1)[1]
    assert all(len(line) <= 80 for line in table.splitlines())
    told = evalstats("monitor", "desk", "--as-of", "2026-01-13", "--json")
    assert told.returncode == 0
    contract.validate(json.loads(told.stdout), "monitor.v1")


def test_smoke_refuses_what_it_cannot_see_and_keeps_the_draw(root, evalstats, bring):
    bring([14 + w for w in WOBBLE])
    blind = evalstats("smoke", "desk", "--seed", 7, "--out", "smoke.json", "--json")
    kept = json.loads((root / "smoke.json").read_text())
    assert blind.returncode == 3 and json.loads(blind.stdout) == kept
    contract.validate(kept, "smoke-subset.v1")
    assert (kept["seed"], len(kept["case_ids"]), kept["sees_margin"]) == (7, 2, False)
    nowhere = evalstats("smoke", "desk", "--out", ".")
    assert nowhere.returncode == 2 and ".: is no place for a file" in nowhere.stderr
    (root / "evals/desk/policy.json").write_text(json.dumps({**POLICY, "margin": 0.5}))
    fine = evalstats("smoke", "desk", "--seed", 7)
    assert fine.returncode == 0 and "may gate alone" in fine.stdout
    command = fine.stdout.splitlines()[-1].split()[1:]
    assert [word for word in command if word.startswith("a")] == kept["case_ids"]
    plan = evalstats(*command, "--dry-run")
    assert plan.returncode == 0, plan.stderr
    assert (root / "data/smoke/desk-7.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("monitor", "desk"), 2, "there is no store"),
        (("ratchet", "nope"), 2, "no suite here"),
        (("ratchet", "desk", "--policy", "absent.json"), 2, "absent.json"),
        (("ratchet", "desk", "--reruns", "9"), 2, "the policy allows 3"),
        (("smoke", "desk"), 3, "the noise of these 2 cases is unknown"),
        (("ratchet", "desk"), 1, "0 of the 8 runs needed"),
        (("ratchet", "revoke", "desk", "--by", "a", "--rationale", "b"), 1, "it does not block"),
        (("ratchet", "log", "desk"), 0, "desk is advisory"),
    ],
)
def test_without_any_run(root, evalstats, arguments, code, said):
    done = evalstats(*arguments)
    assert done.returncode == code and said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (root / "data/evalstats.duckdb").exists(), "asking makes no store"
