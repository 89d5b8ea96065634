"""Kinds of evidence: declared or inferred in one order of rules, counted, and the reference table reproduced."""

import json
import tarfile
from pathlib import Path

import pytest

from evalstats import contract
from evalstats import suite as suites
from evalstats.errors import UsageError
from evalstats.governance import evidence_kinds as covering

ARCHIVES = Path(__file__).parents[3] / "shared/data/agentops/snapshots"
# suites, cases, critical cases, as published for this snapshot
REFERENCE = {
    "baseline_regression": (1, 5, 3),
    "behavior_fixture": (32, 103, 92),
    "contract_canary": (31, 72, 36),
    "gate_wrapper": (33, 65, 65),
    "holdout": (6, 13, 9),
    "live_runtime": (3, 7, 4),
    "scorecard_fixture": (4, 18, 11),
}


def case(case_id="c", **changes):
    given = {
        "id": case_id,
        "title": "A title",
        "kind": "artifact_check",
        "objective": "An objective",
        "dimensions": ["correctness"],
        "inputs": {"shell": "true"},
        "expectations": [{"type": "file_exists", "target": "x"}],
    }
    return {**given, **changes}


def document(suite_id="plain", *cases, **changes):
    given = {
        "schema_version": 1,
        "id": suite_id,
        "name": "A name",
        "domain": "cli",
        "visibility": "public_canary",
        "tier": "deterministic",
        "scoring": {
            "aggregate_threshold": 1,
            "dimensions": [{"name": "correctness", "weight": 1, "threshold": 1}],
        },
        "baseline_policy": {"mode": "none"},
        "cases": list(cases) or [case()],
    }
    return {**given, **changes}


def write(folder, doc, name=None):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"{doc['id']}.json")
    path.write_text(json.dumps(doc), "utf-8")
    return path


def counts(tally):
    return tally.suite_count, tally.case_count, tally.critical_case_count


# --- one case -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suite_changes", "case_changes", "kind"),
    [
        ({}, {}, "contract_canary"),
        ({}, {"kind": "skill_contract"}, "contract_canary"),
        ({}, {"kind": "runtime_prompt"}, "contract_canary"),
        ({}, {"kind": "command"}, "gate_wrapper"),
        ({}, {"kind": "hook_event"}, "gate_wrapper"),
        ({}, {"kind": "retrieval_query"}, "gate_wrapper"),
        ({}, {"kind": "scenario"}, "behavior_fixture"),
        ({}, {"kind": "rpi_flow"}, "behavior_fixture"),
        ({"name": "Of BEHAVIORS"}, {"kind": "command"}, "behavior_fixture"),
        ({}, {"kind": "command", "runtime": "claude"}, "live_runtime"),
        ({}, {"runtime": "codex", "objective": "behavior"}, "live_runtime"),
        ({}, {"runtime": "manual"}, "live_runtime"),
        ({}, {"runtime": "openai"}, "contract_canary"),
        ({"description": "a live runtime"}, {"kind": "scenario"}, "live_runtime"),
        ({"tags": ["live-runtime"]}, {}, "live_runtime"),
        ({}, {"title": "Scorecard of a live runtime"}, "scorecard_fixture"),
        ({}, {"tags": ["holdout"], "title": "scorecard"}, "holdout"),
        ({}, {"objective": "Baseline regression of a holdout"}, "baseline_regression"),
        ({"tags": ["baseline", "regression"]}, {}, "baseline_regression"),
        ({"tags": ["baseline", "other", "regression"]}, {}, "contract_canary"),
        ({"domain": "holdout"}, {"expectations": [{"type": "regex", "value": "holdout"}]}, "contract_canary"),
    ],
)
def test_the_first_rule_that_matches_names_the_kind(suite_changes, case_changes, kind):
    one = case(**case_changes)
    assert covering.inferred_kind(document("plain", one, **suite_changes), one) == kind


def test_the_suite_id_and_the_case_id_are_words_too():
    assert covering.inferred_kind(document("x.holdout-1"), case()) == "holdout"
    assert covering.inferred_kind(document(), case("a-scorecard")) == "scorecard_fixture"


def test_the_case_is_believed_before_its_suite_and_both_before_their_words(tmp_path):
    cases = case("a", title="scorecard", evidence_kind="live_runtime"), case("b", title="scorecard")
    write(tmp_path, document("declared", *cases, evidence_kind="holdout"))
    write(tmp_path, document("silent", case("c", title="scorecard")))
    found = covering.coverage(suites.load_all(tmp_path)[0])
    assert [(c.case_id, c.evidence_kind, c.source) for c in found.cases] == [
        ("a", "live_runtime", "case"),
        ("b", "holdout", "suite"),
        ("c", "scorecard_fixture", "inferred"),
    ]
    shown = covering.as_document(found)
    assert shown["declared_evidence_kinds"] == {"live_runtime": 1, "holdout": 1}
    assert shown["inferred_evidence_kinds"] == {"scorecard_fixture": 1}
    assert shown["suites"][0]["cases"][1] == {"case_id": "b", "evidence_kind": "holdout", "source": "suite"}


# --- many -----------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    """Three suites, six cases: counted by hand in the tests below."""
    write(
        tmp_path / "one",
        document(
            "one",
            case("a", kind="command", critical=True, runtime="shell", dimensions=["correctness", "safety"]),
            case("b", kind="command", runtime="shell", dimensions=[]),
            case("c", title="holdout", critical=True),
        ),
        "suite.json",
    )
    write(tmp_path / "flat", document("two", case("a", kind="command", critical=True), domain="hook"))
    write(
        tmp_path / "flat",
        document("three", case("a"), case("b", dimensions=["safety", "safety"]), domain="hook"),
    )
    return tmp_path


def test_a_suite_may_hold_several_kinds_and_counts_once_in_each(small):
    found = covering.coverage(suites.load_all(small)[0])
    assert counts(found.total) == (3, 6, 3)
    assert {kind: counts(t) for kind, t in found.tallies["evidence_kinds"].items()} == {
        "contract_canary": (1, 2, 0),
        "gate_wrapper": (2, 3, 2),
        "behavior_fixture": (0, 0, 0),
        "baseline_regression": (0, 0, 0),
        "scorecard_fixture": (0, 0, 0),
        "live_runtime": (0, 0, 0),
        "holdout": (1, 1, 1),
    }
    assert {name: counts(t) for name, t in found.tallies["domains"].items()} == {
        "cli": (1, 3, 2),
        "hook": (2, 3, 1),
    }
    assert {name: counts(t) for name, t in found.tallies["dimensions"].items()} == {
        "correctness": (3, 4, 3),
        "safety": (2, 2, 1),
    }
    assert {name: counts(t) for name, t in found.tallies["runtimes"].items()} == {
        "shell": (1, 2, 1),
        "unstated": (3, 4, 2),
    }


def test_what_is_required_is_missing_by_axis(small):
    wanted = [
        "holdout",
        "live_runtime",
        "domain=hook",
        "dimension=learning_closure",
        "runtime=shell",
        "holdout",
    ]
    found = covering.coverage(suites.load_all(small)[0], required=wanted)
    shown = covering.as_document(found)
    assert shown["required_evidence_kinds"] == ["holdout", "live_runtime"]
    assert shown["missing_required_evidence_kinds"] == ["live_runtime"]
    assert (shown["missing_required_domains"], shown["missing_required_dimensions"]) == (
        [],
        ["learning_closure"],
    )
    assert (shown["required_runtimes"], shown["missing_required_runtimes"]) == (["shell"], [])
    assert not found.complete
    assert covering.coverage(suites.load_all(small)[0], required=["holdout"]).complete


@pytest.mark.parametrize("wanted", ["canary", "kind=canary", "owner=me", "domain=", "=", ""])
def test_a_requirement_that_names_nothing_is_refused(wanted):
    with pytest.raises(UsageError):
        covering.coverage([], required=[wanted])


def test_nothing_is_counted_as_nothing():
    found = covering.coverage([], required=["holdout"])
    assert counts(found.total) == (0, 0, 0)
    assert covering.as_document(found)["missing_required_evidence_kinds"] == ["holdout"]


def test_a_private_suite_is_counted_and_says_nothing(small):
    secret = document("zebra", case("quagga", title="okapi"), visibility="private_holdout", domain="tapir")
    write(small, secret)
    found = covering.coverage(suites.load_all(small)[0])
    text = json.dumps(covering.as_document(found))
    assert counts(found.total) == (3, 6, 3)
    assert found.n_private == 1
    assert not [word for word in ("zebra", "quagga", "okapi", "tapir") if word in text]


def test_a_bad_file_is_named_without_its_words_and_stops_nothing(small):
    (small / "torn.json").write_text('{"schema_version": 1, "id": "torn", "scoring": ')
    write(small, {**document("wrong", case("okapi"), case("okapi"))})
    loaded, unloadable = suites.load_all(small)
    found = covering.coverage(loaded, unloadable=unloadable)
    shown = covering.as_document(found)
    assert counts(found.total) == (3, 6, 3)
    assert [(Path(e["path"]).name, e["problem_count"]) for e in shown["unloadable"]] == [
        ("torn.json", 1),
        ("wrong.json", 1),
    ]
    assert "okapi" not in json.dumps(shown)
    assert not found.complete


# --- finding suites -------------------------------------------------------------------------------


def test_suites_are_found_by_what_they_hold_at_any_depth(tmp_path):
    write(tmp_path / "a/b/c", document("deep"), "any name.json")
    write(tmp_path, document("shallow"))
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "broken-notes.json").write_text("{nothing of ours")
    (tmp_path / "near.json").write_text('{"schema_version": 1, "cases": []}')
    (tmp_path / "folder.json").mkdir()
    for other in ("runs/r1", "a/baselines", "schemas", ".hidden/x"):
        write(tmp_path / other, document("not-this"), "suite.json")
    loaded, unloadable = suites.load_all(tmp_path)
    assert ([suite.id for suite in loaded], unloadable) == (["deep", "shallow"], [])


def test_a_file_called_suite_that_is_none_is_told(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/suite.json").write_text("")
    (tmp_path / "list").mkdir()
    (tmp_path / "list/suite.json").write_text("[]")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    loaded, unloadable = suites.load_all(tmp_path)
    assert loaded == []
    assert [error.path.name for error in unloadable] == ["suite.json", "gone.json", "suite.json"]


# --- the reference --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    archive = ARCHIVES / "agentops-evals@9c4e32a1.tar.gz"
    if not archive.is_file():
        pytest.skip("the public snapshots lie beside the repository only where they were fetched")
    folder = tmp_path_factory.mktemp("snapshot")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder


def test_the_published_table_is_reproduced(snapshot):
    loaded, unloadable = suites.load_all(snapshot)
    found = covering.coverage(loaded, unloadable=unloadable)
    shown = covering.as_document(found)
    contract.validate(shown, "coverage.v1")
    assert (shown["suite_count"], shown["case_count"], shown["critical_case_count"]) == (57, 283, 220)
    assert {kind: tuple(tally.values()) for kind, tally in shown["evidence_kinds"].items()} == REFERENCE
    assert shown["declared_evidence_kinds"] == {}
    assert found.complete
