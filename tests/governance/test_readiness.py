"""One word over all suites: each reason alone turns it, advice never blocks, and the unknown is no pass."""

import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from evalstats import contract
from evalstats import suite as suites
from evalstats.governance import readiness as releasing
from evalstats.governance.audit import audit_baselines
from evalstats.governance.audit_record import Finding, Kind, Severity
from evalstats.governance.quarantine import Entry
from evalstats.governance.readiness import LastRun
from evalstats.governance.staleness import Layer, Staleness

ARCHIVES = Path(__file__).parents[3] / "shared/data/agentops/snapshots"
PASSED = LastRun(run_id="r1", status="pass", cases={"open": "pass", "refuse": "fail"})


@pytest.fixture
def suite_of(tmp_path, write_suite, suite_document):
    def make(gate="release", **changes):
        policy = {"mode": "compare", **({} if gate is None else {"blocking_gate": gate})}
        given = {**suite_document(), "baseline_policy": policy, **changes}
        return suites.load(write_suite(tmp_path, given))

    return make


def finding(kind, severity=Severity.WARNING, layer=None, suite_id="door"):
    staleness = layer and Staleness(layer, (), "said so")
    return Finding(
        kind=kind,
        severity=severity,
        suite_id=suite_id,
        suite_path="s",
        baseline_path="b",
        staleness=staleness,
    )


def entry(case_id):
    return Entry(
        action="add",
        suite_id="door",
        case_id=case_id,
        at="2026-03-01T00:00:00.000Z",
        by="ada",
        why="flaky",
        until="2026-04-01",
        evidence={},
        suite_sha256="0" * 64,
        suite_scoring="0" * 64,
        cli_version="0",
    )


def judge(suite, *findings, last=PASSED, inside=(), **options):
    found = releasing.release_readiness(
        [suite],
        replace(audit_baselines(suite.folder), findings=findings),
        last={"door": last} if last else {},
        quarantined={"door": {case_id: entry(case_id) for case_id in inside}},
        **options,
    )
    contract.validate(releasing.as_document(found), "release-readiness.v1")
    return found


def test_a_blocking_suite_without_a_concern_is_ready(suite_of):
    found = judge(suite_of())
    assert (found.word, found.blocks, found.looks) == ("ready", (), ())
    shown = releasing.as_document(found)
    assert (shown["blocking"], shown["advisory"]) == (["door"], [])
    assert shown["suites"][0]["last_run"] == {"run_id": "r1", "status": "pass"}


TURNS = {
    "without_baseline": ({}, [finding(Kind.MISSING)]),
    "stale": ({}, [finding(Kind.STALE, layer=Layer.SCORING)]),
    "policy_mismatch": ({}, [finding(Kind.UNEXPECTED)]),
    "uncovered": ({"last": None}, []),
    "not_passing": ({"last": LastRun(run_id="r1", status="fail", cases=PASSED.cases)}, []),
    "quarantined": ({"inside": ["open"]}, []),
}


@pytest.mark.parametrize("gate", ["release", None, "none"])
@pytest.mark.parametrize("kind", TURNS)
def test_each_concern_alone_turns_the_word(suite_of, kind, gate):
    options, findings = TURNS[kind]
    found = judge(suite_of(gate), *findings, **options)
    blocking = gate == "release"
    assert found.word == ("not_ready" if blocking else "attention")
    assert len(found.blocks) == int(blocking)
    shown = releasing.as_document(found)
    assert {name: shown[name] for name in TURNS} == {name: ["door"] if name == kind else [] for name in TURNS}
    assert [concern["kind"] for concern in shown["suites"][0]["concerns"]] == [kind]


def test_only_the_critical_case_in_quarantine_blocks(suite_of):
    found = judge(suite_of(), inside=["refuse"])
    assert (found.word, found.blocks) == ("attention", ())
    assert found.looks == ("door: case refuse in quarantine until 2026-04-01",)
    assert releasing.as_document(found)["quarantined_cases"] == [
        {
            "suite_id": "door",
            "case_id": "refuse",
            "at": "2026-03-01T00:00:00.000Z",
            "by": "ada",
            "until": "2026-04-01",
        }
    ]


def test_what_is_stale_in_its_wording_only_is_no_concern(suite_of):
    found = judge(suite_of(), finding(Kind.STALE, Severity.INFO, Layer.FORMATTING))
    assert (found.word, found.standings[0].staleness) == ("ready", "formatting")


def test_all_reasons_of_a_suite_are_told_at_once(suite_of):
    failed = LastRun(run_id="r1", status="fail", cases={"open": "fail"})
    found = judge(suite_of(), finding(Kind.MISSING), last=failed, inside=["open", "refuse"])
    assert found.blocks == (
        "door: its policy wants a baseline and there is none; 1 of 2 cases undecided in r1; "
        "r1 ended with fail; critical: open; critical case open in quarantine until 2026-04-01",
    )
    assert found.looks == ("door: case refuse in quarantine until 2026-04-01",)


def test_a_run_without_a_record_is_no_pass(suite_of):
    found = judge(suite_of(), last=LastRun(run_id="r1", status=None, cases={}))
    assert found.blocks == ("door: r1 left no record that can be read",)


def test_a_suite_that_cannot_be_read_might_have_blocked(suite_of, tmp_path):
    suite = suite_of()
    (tmp_path / "evals/torn.json").write_text('{"cases": ')
    _, unloadable = suites.load_all(tmp_path / "evals")
    found = judge(suite, unloadable=unloadable)
    assert found.word == "not_ready"
    assert found.blocks == (f"{tmp_path}/evals/torn.json: cannot be read as a suite",)


def test_no_suite_is_not_ready_and_a_private_one_is_not_named(suite_of):
    private = suite_of(visibility="private_holdout")
    found = judge(private, last=None)
    assert (found.word, found.n_private, found.standings) == ("not_ready", 1, ())
    assert "door" not in json.dumps(releasing.as_document(found))


def test_what_belongs_to_no_suite_is_worth_a_look(suite_of):
    found = judge(suite_of(), finding(Kind.ORPHAN, suite_id="ghost"))
    assert (found.word, found.looks) == ("attention", ("b: a baseline belongs to no suite",))


# --- the last run ---------------------------------------------------------------------------------


def run_table(suite, *runs):
    rows = [
        {
            "run_id": run_id,
            "suite_id": suite.id,
            "arm": "skill-on",
            "is_mock": False,
            "suite_scoring": suites.hashes(suite)["scoring"],
            "n_cases": 2,
            "n_usable": 2,
            **changes,
        }
        for run_id, changes in runs
    ]
    return pd.DataFrame(rows).astype({"is_mock": "boolean"})


def record(folder, run_id, status):
    document = {
        "schema_version": 1,
        "run_id": run_id,
        "suite": {
            "id": "door",
            "path": "p",
            "visibility": "public_canary",
            "tier": "headless",
            "sha256": "0" * 64,
        },
        "status": status,
        "case_results": [{"id": "open", "status": status, "score": 1.0}],
        "aggregate_score": 1.0,
        "dimension_scores": {},
    }
    contract.validate(document, "eval-run.v1")
    (folder / run_id).mkdir(parents=True)
    (folder / run_id / "record.json").write_text(json.dumps(document))


def test_the_last_run_is_the_newest_whole_one_of_the_judged_arm(suite_of, tmp_path):
    suite = suite_of()
    folder = tmp_path / "runs"
    record(folder, "right", "fail")
    table = run_table(
        suite,
        ("older", {}),
        ("right", {}),
        ("yardstick", {"arm": "skill-off"}),
        ("mock", {"is_mock": True}),
        ("before the edit", {"suite_scoring": "old"}),
        ("lost", {"n_usable": 0}),
        ("smoke", {"n_cases": 1}),
        ("other", {"suite_id": "window"}),
    )
    found = releasing.last_runs(table, folder, [suite])
    assert found == {"door": LastRun(run_id="right", status="fail", cases={"open": "fail"})}
    assert releasing.last_runs(table[:0], folder, [suite]) == {}
    only_smoke = releasing.last_runs(table[table["run_id"] == "smoke"], folder, [suite])
    assert only_smoke == {"door": LastRun(run_id="smoke", status=None, cases={})}


# --- with the audit of real files -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("snapshot", "n", "stale", "mismatch"), [("00ebd7ce", 54, 8, 54), ("9c4e32a1", 57, 0, 0)]
)
def test_the_public_snapshots(snapshot, n, stale, mismatch, tmp_path):
    archive = ARCHIVES / f"agentops-evals@{snapshot}.tar.gz"
    if not archive.is_file():
        pytest.skip("the public snapshots lie beside the repository only where they were fetched")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    loaded, _ = suites.load_all(tmp_path / "evals")
    audited = audit_baselines(tmp_path / "evals", tmp_path / ".agents/evals/baselines")
    found = releasing.release_readiness(loaded, audited, last={}, quarantined={})
    shown = releasing.as_document(found)
    assert (shown["release_status"], shown["suite_count"], shown["blocking"]) == ("attention", n, [])
    assert (len(shown["advisory"]), len(shown["uncovered"])) == (n, n)
    assert (len(shown["stale"]), len(shown["policy_mismatch"])) == (stale, mismatch)
    assert shown["without_baseline"] == []  # the three suites without one want none
