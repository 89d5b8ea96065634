"""Lint as a whole: what it says of real suites, of broken ones, and of private ones."""

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from evalstats import contract
from evalstats.errors import UsageError
from evalstats.governance import lint as linting
from evalstats.governance.lint import Code, Severity
from evalstats.importers.lift_reports import read_report

SHARED = Path(__file__).parents[3] / "shared/data"
LIFT_SUITE = SHARED / "vegastack/evals/evals.json"
LIFT_REPORT = (
    SHARED / "vegastack/docs/status/phase4-audit/A1-eval-rerun/evals/audit-2026-04-28-demo-fixtures.json"
)
WORKBENCH = SHARED / "agentops/evals/agentops-core/workbench-agent-v1.json"
SNAPSHOT = SHARED / "agentops/snapshots/agentops-evals@9c4e32a1.tar.gz"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the public suites are not beside the repository"
)


@pytest.fixture
def lint(tmp_path, write_suite):
    return lambda document: linting.lint(write_suite(tmp_path, document))


def codes(found):
    return dict(Counter(str(finding.code) for finding in found.findings))


def pointers(found, code):
    return [finding.pointer for finding in found.findings if finding.code is code]


# --- real suites ----------------------------------------------------------------------------------


@needs_shared
def test_the_lift_suite_pays_a_blank_answer_32_of_195():
    found = linting.lint(LIFT_SUITE)
    assert (found.n_cases, found.n_expectations) == (50, 195)
    blank = found.blank_answer
    assert (blank.expectations, blank.vacuous, blank.by_construction) == (195, 17, 15)
    assert blank.earned == {"ours": 17, "source": 32}
    assert codes(found) == {
        "vacuous": 17,
        "by-construction": 15,
        "arm-impossible": 34,
        "hidden-weight": 7,
        "unused-field": 2,
    }
    kinds = Counter()
    document = json.loads(LIFT_SUITE.read_text("utf-8"))
    for finding in found.findings:
        if finding.code is Code.ARM_IMPOSSIBLE:
            _, _, case, _, index = finding.pointer.split("/")
            kinds[document["evals"][int(case)]["expectations"][int(index)]["kind"]] += 1
    assert kinds == {"cites_card": 25, "cites_recipe": 9}


@needs_shared
def test_with_the_report_the_constant_expectations_are_listed_too():
    found = linting.lint(LIFT_SUITE, report=read_report(LIFT_REPORT))
    report = json.loads(LIFT_REPORT.read_text("utf-8"))
    suite = json.loads(LIFT_SUITE.read_text("utf-8"))
    on, off = (
        {(p["id"], e["id"]): e["passed"] for p in report[arm] for e in p["expectations"]}
        for arm in ("with_skill", "baseline")
    )
    alike = [
        f"/evals/{i}/expectations/{j}"
        for i, prompt in enumerate(suite["evals"])
        for j, e in enumerate(prompt["expectations"])
        if on[prompt["id"], e["id"]] == off[prompt["id"], e["id"]]
    ]
    assert pointers(found, Code.CONSTANT) == alike and len(alike) == 181
    assert (found.n_data, pointers(found, Code.NO_HEADROOM)) == (195, [])
    assert codes(found)["vacuous"] == 17


@needs_shared
def test_a_suite_that_breaks_its_schema_by_one_value_is_linted_without_it():
    found = linting.lint(WORKBENCH)
    assert codes(found) == {"schema": 1, "key-only": 12}
    breach = found.findings[0]
    assert (breach.pointer, breach.line, breach.severity) == ("/environment/network", 16, Severity.ERROR)
    assert "forbidden" in breach.what
    assert pointers(found, Code.KEY_ONLY) == [f"/cases/{n}/expectations/1" for n in range(12)]
    rows = WORKBENCH.read_text("utf-8").split("\n")
    assert all('"\\"pass\\":"' in rows[f.line - 1] for f in found.findings[1:])
    assert found.findings[1].case == "agent-go-01-fix-bug"


@needs_shared
def test_57_sound_suites_raise_no_false_alarm(tmp_path):
    with tarfile.open(SNAPSHOT) as archive:
        archive.extractall(tmp_path, filter="data")
    found = [linting.lint(path) for path in sorted((tmp_path / "evals").glob("*/*.json"))]
    assert len(found) == 57
    total = sum((Counter(codes(one)) for one in found), Counter())
    # The archive holds no fixtures; the four cases name a dimension that their suites do not score.
    assert total == {"fixture": 4, "unscored-dimension": 4}


# --- broken ones ----------------------------------------------------------------------------------


def test_a_clean_suite_has_no_finding_but_what_is_true_of_it(lint, suite_document):
    document = suite_document()
    del document["judge"]
    document["domain"] = "skill"
    document["cases"][1]["expectations"] = [{"type": "regex", "value": "^No", "target": "stdout"}]
    assert codes(lint(document)) == {}


def test_what_breaks_the_schema_is_left_out_part_by_part(lint, suite_document):
    document = suite_document()
    document["surplus"] = 1
    document["environment"]["network"] = "maybe"
    document["trials"] = "many"
    document["cases"][0]["kind"] = "dance"
    document["cases"].insert(0, "no case")
    document["cases"][2]["expectations"].insert(0, {"type": "smells_good"})
    found = lint(document)
    assert set(pointers(found, Code.SCHEMA)) == {
        "",
        "/environment/network",
        "/trials",
        "/cases/0",
        "/cases/1/kind",
        "/cases/2/expectations/0/type",
    }
    assert (found.n_cases, found.n_expectations) == (2, 3)
    # The places of what is left are those of the file.
    assert pointers(found, Code.VACUOUS) == ["/cases/2/expectations/1"]


def test_problems_that_a_schema_cannot_say_are_said_once(lint, suite_document):
    document = suite_document()
    document["cases"][1]["id"] = "open"
    document["tier"] = "deterministic"
    document["environment"]["network"] = "required"
    found = lint(document)
    assert pointers(found, Code.SCHEMA) == ["/cases/1/id"]
    assert pointers(found, Code.NEEDS_NETWORK) == ["/environment/network"]


def test_what_cannot_be_run_or_found_is_an_error(lint, suite_document):
    document = suite_document()
    document["fixtures"][0]["sha256"] = "0" * 64
    document["cases"][0]["fixtures"][0]["path"] = "not/there"
    document["cases"][1]["expectations"].append({"type": "regex", "value": "(?=look-ahead)"})
    document["cases"][1]["expectations"].append({"type": "not_contains", "value": ""})
    found = lint(document)
    assert pointers(found, Code.FIXTURE) == ["/fixtures/0/path", "/cases/0/fixtures/0/path"]
    assert pointers(found, Code.UNCHECKABLE) == [
        "/cases/1/expectations/1/value",
        "/cases/1/expectations/2/value",
    ]
    assert pointers(found, Code.VACUOUS) == ["/cases/1/expectations/0"]


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"cases": []}', '{"cases": [1, {}]}', '{"evals": [{"id": 3}]}', "\u00fc", ""]
)
def test_what_cannot_be_understood_is_a_finding_not_a_crash(tmp_path, text):
    path = tmp_path / "any.json"
    path.write_text(text, "utf-8")
    found = linting.lint(path)
    assert (found.n_cases, found.suite_id) == (0, None)
    assert found.findings and {finding.code for finding in found.findings} == {Code.UNREADABLE}
    linting.document([found])


def test_a_broken_lift_suite_is_linted_as_far_as_it_goes(tmp_path):
    prompt = {"id": "P1", "prompt": "?", "expectations": [{"kind": "no_resource", "value": "x"}]}
    broken = {
        "id": "P 2",
        "prompt": "?",
        "expectations": [{"kind": "z"}, {"kind": "no_resource", "value": "y"}],
    }
    path = tmp_path / "any.json"
    path.write_text(json.dumps({"skill_name": 3, "evals": [7, broken, prompt]}), "utf-8")
    found = linting.lint(path)
    assert pointers(found, Code.VACUOUS) == ["/evals/1/expectations/1", "/evals/2/expectations/0"]
    assert "/skill_name" in pointers(found, Code.SCHEMA)


def test_a_missing_file_is_an_error_of_the_caller(tmp_path):
    with pytest.raises(UsageError, match="no suite here"):
        linting.lint(tmp_path / "none.json")


# --- what leaves ----------------------------------------------------------------------------------


def test_nothing_of_a_private_suite_is_shown(lint, suite_document, tmp_path):
    document = suite_document()
    document["visibility"] = "private_holdout"
    document["fixtures"][0]["path"] = "canary-fixture"
    document["environment"]["network"] = "canary-network"
    document["id"] = document["domain"] = document["cases"][1]["id"] = document["cases"][0]["id"] = "canary"
    document["cases"][0]["archetype"] = "canary-archetype"
    document["cases"][0]["dimensions"] = ["canary-dimension"]
    document["cases"][1]["expectations"] = [{"type": "regex", "value": "(?=canary)"}, {"type": "not_contains",
                                             "value": "canary"}]  # fmt: skip
    document["cases"].append(document["cases"][1])
    found = linting.document([lint(document)])
    found["suites"][0]["path"] = ""
    assert {"schema", "fixture", "uncheckable", "vacuous", "duplicate-case"} <= found["suites"][0][
        "counts"
    ].keys()
    assert "canary" not in json.dumps(found) and str(tmp_path) not in json.dumps(found)


def test_a_suite_that_does_not_say_that_it_is_public_counts_as_private(lint, suite_document):
    document = suite_document()
    document["visibility"] = "no idea"
    assert {finding.case for finding in lint(document).findings} == {None}


# --- what fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "fails"),
    [
        (["error"], False),
        (["warning"], True),
        (["note"], True),
        (["never"], False),
        ([], False),
        (["key-only"], False),
        (["vacuous"], True),
        (["key-only", "error"], False),
        (["error", "vacuous"], True),
    ],
)
def test_what_fails_is_chosen_by_severity_or_code(lint, suite_document, on, fails):
    found = lint(suite_document())
    assert {f.severity for f in found.findings} == {Severity.WARNING, Severity.NOTE}
    assert linting.fails([found], on) is fails


def test_an_unknown_word_to_fail_on_is_an_error():
    with pytest.raises(UsageError, match="unknown 'loud'; known: error, warning"):
        linting.fails([], ["loud"])


def test_the_schema_owns_the_codes_and_each_has_a_way_out():
    schema = contract.schema("lint-findings.v1")["$defs"]
    assert schema["code"]["enum"] == list(Code)
    assert schema["severity"]["enum"] == list(Severity)
    assert all(code.way_out for code in Code)
