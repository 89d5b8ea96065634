"""What the audit notebook says is what the audit found, in words and in tables."""

import json

import pytest

from evalstats import contract, report
from evalstats.errors import DocumentError, UsageError
from evalstats.report import audits

NOTHING = {
    "schema": "baseline-audit.v1",
    "suites": "evals",
    "suite_count": 2,
    "case_count": 5,
    "baseline_count": 1,
    "mock_count": 0,
    "private_count": 0,
    "policy_mismatch_count": 0,
    "severity": {"policy": None, "staleness": None, "files": None},
    "staleness_counts": {
        "fresh": 1,
        "formatting": 0,
        "metadata": 0,
        "policy": 0,
        "scoring": 0,
        "case-set": 0,
        "unknown": 0,
    },
    "missing_compare_baselines": [],
    "unexpected_baselines_for_none": [],
    "orphan_baselines": [],
    "stale_suite_hashes": [],
    "unloadable_baselines": [],
    "filename_mismatch": [],
    "shadowed_promotions": [],
    "schema_invalid_suites": [],
    "suites_without_baseline": [{"suite_id": "bare", "suite_path": "evals/bare/suite.json", "mode": "none"}],
    "inputs": {"suites": "a" * 64, "baselines": "b" * 64},
    "notes": [],
}
STALE = {
    "severity": "warning",
    "suite_id": "solver",
    "suite_path": "evals/solver/suite.json",
    "baseline_path": "evals/solver/baselines/solver.baseline.json",
    "mode": "compare",
    "expected_sha": "c" * 64,
    "actual_sha": "d" * 64,
    "staleness": "unknown",
    "changed": [],
    "evidence": "raw digest only",
}
FINDINGS = {
    **NOTHING,
    "policy_mismatch_count": 1,
    "private_count": 2,
    "staleness_counts": {**NOTHING["staleness_counts"], "scoring": 2, "unknown": 1},
    "orphan_baselines": [{"severity": "warning", "suite_id": "ghost", "baseline_path": "b/ghost.baseline.json"}],
    "stale_suite_hashes": [
        STALE,
        {**STALE, "severity": "error", "suite_id": "gated", "staleness": "scoring", "changed": ["scoring", "policy"]},
    ],
    "schema_invalid_suites": [
        {"severity": "error", "suite_path": "evals/broken/suite.json", "problem": "line 3: cannot be read as JSON"}
    ],
    "notes": ["there is no git history here to search"],
}  # fmt: skip


def said(audit):
    draft = report.Draft("baseline_audit", audits.subject(audit), "t", "q")
    audits.say_audit(draft, audit)
    return draft.document()


def test_a_clean_audit_is_said_to_be_clean():
    document = said(NOTHING)
    assert document["finding"] == (
        "Each of 2 suites keeps its baseline policy, and no baseline is without a suite."
        " 1 of 1 baseline speaks of the suite as it is."
    )
    assert document["caveats"] == []
    assert [(card["label"], card["value"], card["detail"]) for card in document["headline"]] == [
        ("Stale baselines", "0", "of 1 held against their suite"),
        ("Policy mismatches", "0", "0 missing, 0 unexpected, 0 orphan"),
        ("Suites", "2", "1 without a baseline"),
        ("Baselines", "1", "0 files to look at"),
    ]


def test_findings_are_said_and_what_is_not_known_is_a_caveat():
    document = said(FINDINGS)
    assert document["finding"] == (
        "Over 2 suites and 1 baseline: 1 of no suite."
        " 1 of 4 baselines speaks of the suite as it is; what changed under the rest: 2 in scoring,"
        " 1 in an unknown way."
        " Among the files: 1 that breaks the schema of suites."
    )
    assert document["caveats"] == [
        "there is no git history here to search",
        "What changed since 1 stale baseline is not known; a search of the git history may tell.",
        "2 private suites not looked at: no number here counts them.",
    ]


def test_tables_hold_every_finding_the_worst_first():
    assert contract.problems(FINDINGS, "baseline-audit.v1") == []
    assert audits.stale_table(FINDINGS).cells() == [
        ["error", "gated", "scoring (raw digest only)"],
        ["warning", "solver", "unknown (raw digest only)"],
    ]
    assert [row[:3] for row in audits.findings_table(FINDINGS).cells()] == [
        ["error", "evals/broken/suite.json", "suite breaks its schema"],
        ["warning", "ghost", "baseline of no suite"],
    ]
    assert audits.bare_table(FINDINGS).cells() == [["bare", "none"]]
    counts = {row[0]: row[1] for row in audits.lists_table(FINDINGS).cells()}
    assert len(counts) == 8 and sorted(counts.values()) == ["0"] * 5 + ["1", "1", "2"]
    assert (
        "scoring; policy" in audits.stale_table(FINDINGS).csv()
        or "scoring, policy" in audits.stale_table(FINDINGS).csv()
    )


def test_tables_of_nothing_keep_their_headings():
    for table in (audits.stale_table(NOTHING), audits.findings_table(NOTHING)):
        assert table.cells() == [] and len(table.as_document()["columns"]) >= 3


@pytest.mark.parametrize(
    ("folder", "address"),
    [("evals", "evals"), ("a/B c", "b-c"), ("..", "suites"), ("x/ümläut", "ml-ut"), ("", "suites")],
)
def test_the_address_of_the_report_is_the_name_of_the_folder(folder, address):
    assert audits.subject({**NOTHING, "suites": folder}) == address


def test_a_frozen_audit_is_read_and_checked(tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    (tmp_path / "audit.json").write_text(json.dumps(FINDINGS), "utf-8")
    assert audits.read_audit("audit.json") == FINDINGS
    (tmp_path / "audit.json").write_text(json.dumps({**FINDINGS, "suite_count": "many"}), "utf-8")
    with pytest.raises(DocumentError, match="suite_count"):
        audits.read_audit("audit.json")
    with pytest.raises(UsageError, match="no such folder here or above"):
        audits.read_audit("nowhere")
