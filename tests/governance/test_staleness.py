"""What changed since a baseline is said only where something proves it, and then exactly."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from evalstats import contract, suite
from evalstats.errors import UsageError
from evalstats.governance import baselines, git_history, staleness
from evalstats.governance.staleness import Layer, needs_history, staleness_of

ARCHIVES = Path(__file__).parents[3] / "shared/data/agentops/snapshots"

# One edit of each layer, and the layers that it moves, the most consequential first.
EDITS = {
    "formatting": lambda document: None,
    "metadata": lambda document: document.update(description="Said otherwise."),
    "policy": lambda document: document["baseline_policy"].update(max_aggregate_regression=0.1),
    "scoring": lambda document: document["cases"][1]["expectations"][0].update(value="4712"),
    "case-set": lambda document: document["cases"].append({**document["cases"][1], "id": "insist"}),
}


def sentences(case):
    """Return what an old record says of a case whose checks were all met."""
    said = {
        "stdout_contains": lambda e: f"stdout contains {json.dumps(e['value'])}",
        "artifact_contains": lambda e: f"artifact {e['target']} contains {json.dumps(e['value'])}",
        "exit_code": lambda e: f"exit_code matched {e.get('value', 0)}",
        "not_contains": lambda e: "stdout lacks it",
    }
    return [said[e["type"]](e) for e in case["expectations"]]


@pytest.fixture
def promote(tmp_path):
    """Return a function that writes a baseline of the suite as it is, with its layers or with the raw digest alone."""

    def write(loaded, *, layers=False, **changes):
        document = loaded.document
        about = {name: document[name] for name in ("id", "visibility", "tier")}
        about |= {"path": "evals/door/suite.json", "sha256": contract.digest(loaded.raw)}
        if layers:
            about["hashes"] = suite.hashes(loaded)
        cases = [
            {"id": case["id"], "status": "pass", "score": 1, "diagnostics": sentences(case)}
            for case in document["cases"]
        ]
        record = {
            "schema_version": 1,
            "run_id": "door-1",
            "suite": about,
            "status": "pass",
            "case_results": cases,
            "aggregate_score": 1,
            "dimension_scores": {},
            **changes,
        }
        path = tmp_path / "door.baseline.json"
        path.write_text(json.dumps(record), "utf-8")
        return baselines.read(path)

    return write


@pytest.fixture
def door(tmp_path, write_suite, suite_document):
    """Return a function that writes and loads the suite after some edits, named as in EDITS."""

    def load(*edits, document=None):
        document = document or suite_document()
        for edit in edits:
            EDITS[edit](document)
        indent = 3 if "formatting" in edits else 1
        return suite.load(write_suite(tmp_path, text=json.dumps(document, indent=indent)))

    return load


def texts_only(document):
    """Return the suite with checks that an old record repeats: without not_contains."""
    document["cases"][1]["expectations"] = [{"type": "stdout_contains", "value": "no"}]
    return document


# --- recorded digests ------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", EDITS)
def test_recorded_digests_name_the_layer(door, promote, edit):
    baseline = promote(door(), layers=True)
    found = staleness_of(door(edit), baseline)
    assert (found.layer, found.changed, found.evidence) == (edit, (edit,), "recorded digests")


def test_a_suite_that_did_not_change_is_fresh(door, promote):
    assert staleness_of(door(), promote(door(), layers=True)).layer is Layer.FRESH
    found = staleness_of(door(), promote(door()))
    assert (str(found), found.changed) == ("fresh", ())


@pytest.mark.parametrize(
    ("edits", "changed"),
    [
        (("metadata", "policy", "scoring"), ("scoring", "policy", "metadata")),
        (("policy", "case-set"), ("case-set", "policy")),
    ],
)
def test_every_changed_layer_is_named_the_most_consequential_first(door, promote, edits, changed):
    found = staleness_of(door(*edits), promote(door(), layers=True))
    assert (found.layer, found.changed) == (changed[0], changed)


def test_a_changed_fixture_is_scoring_though_the_file_is_the_same(door, promote, tmp_path):
    baseline = promote(door(), layers=True)
    loaded = door()
    (tmp_path / "evals/door/rubric.md").write_text("Rude?\n", "utf-8")
    found = staleness_of(loaded, baseline)
    assert (found.layer, found.changed) == (Layer.SCORING, (Layer.SCORING,))
    assert "the same file, but a fixture or rubric changed" in found.evidence


def test_digests_of_some_layers_only_are_not_taken_for_all(door, promote):
    loaded = door()
    about = {**promote(loaded).record["suite"], "hashes": {"scoring": suite.hashes(loaded)["scoring"]}}
    assert str(staleness_of(door("policy"), promote(loaded, suite=about))) == "unknown (raw digest only)"


# --- the old file ----------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", EDITS)
def test_the_old_file_names_the_layer(door, promote, edit):
    before = door()
    found = staleness_of(door(edit), promote(before), before.raw)
    assert (found.layer, found.changed, found.evidence) == (edit, (edit,), "git history")


def test_the_old_file_tells_an_edited_case_from_a_new_one(door, promote):
    before = door()
    found = staleness_of(door("scoring", "case-set", "metadata"), promote(before), before.raw)
    # the new case is a copy of an edited one: only the common cases say whether scoring changed
    assert found.changed == (Layer.CASE_SET, Layer.SCORING, Layer.METADATA)


def test_numbers_that_json_writes_in_two_ways_are_formatting(door, promote):
    before = door()
    text = before.raw.decode().replace('"schema_version": 1,', '"schema_version": 1.0,')
    assert text.encode() != before.raw
    (before.path).write_text(text, "utf-8")
    assert staleness_of(suite.load(before.path), promote(before), before.raw).layer is Layer.FORMATTING


@pytest.mark.parametrize(
    "old", [b"", b"\xff", b"[]", b"{}", b'{"cases": 3}', b'{"cases": [7]}', b'{"cases": null}']
)
def test_an_old_file_of_any_shape_is_no_proof(door, promote, old):
    assert str(staleness_of(door("policy"), promote(door()), old)) == "unknown (raw digest only)"


# --- what was recorded of cases and checks ---------------------------------------------------------


@pytest.mark.parametrize("edit", ["formatting", "metadata", "policy"])
def test_what_no_check_shows_is_unknown(door, promote, edit):
    found = staleness_of(door(edit), promote(door()))
    assert (found.layer, found.changed, str(found)) == ("unknown", (), "unknown (raw digest only)")


def test_recorded_cases_show_that_the_case_set_changed(door, promote):
    found = staleness_of(door("case-set"), promote(door()))
    assert str(found) == "case-set (case results: 0 case(s) gone, 1 new)"
    back = staleness_of(door(), promote(door("case-set")))
    assert str(back) == "case-set (case results: 1 case(s) gone, 0 new)"


def test_a_record_without_cases_says_nothing_of_them(door, promote):
    assert staleness_of(door("case-set"), promote(door(), case_results=[])).layer is Layer.UNKNOWN


def test_recorded_checks_show_changed_expectations(door, promote, suite_document):
    baseline = promote(door(document=texts_only(suite_document())))
    changed = texts_only(suite_document())
    changed["cases"][1]["expectations"][0]["value"] = "no!"
    found = staleness_of(door(document=changed), baseline)
    assert str(found) == "scoring (recorded diagnostics: 1 check(s) gone, 1 new; case set unchanged)"


def test_a_new_check_is_proof_where_every_check_was_recorded(door, promote, suite_document):
    baseline = promote(door(document=texts_only(suite_document())))
    more = texts_only(suite_document())
    more["cases"][1]["expectations"].append({"type": "artifact_contains", "target": "a", "value": "b"})
    assert staleness_of(door(document=more), baseline).layer is Layer.SCORING


@pytest.mark.parametrize(
    "said", [[], ["the subject hung"], ['stdout does not contain "no"'], ["stdout lacks it"]]
)
def test_a_new_check_is_no_proof_where_some_may_not_have_been_recorded(door, promote, suite_document, said):
    old = texts_only(suite_document())
    baseline = promote(door(document=old))
    cases = [
        {**case, "diagnostics": said if case["id"] == "refuse" else case["diagnostics"]}
        for case in baseline.record["case_results"]
    ]
    more = texts_only(suite_document())
    more["cases"][1]["expectations"].append({"type": "exit_code", "value": 0})
    found = staleness_of(door(document=more), promote(door(document=old), case_results=cases))
    assert str(found) == "unknown (raw digest only)"


@pytest.mark.parametrize(
    ("sentence", "expectation"),
    [
        ("exit_code matched -9", {"type": "exit_code", "value": -9}),
        ("exit_code = 1, want 0", {"type": "exit_code"}),
        (r'stdout contains "a\tb\"c\\"', {"type": "stdout_contains", "value": 'a\tb"c\\'}),
        (r'stdout contains "\x1b[0m\a\u200b\U0001f600"',
         {"type": "stdout_contains", "value": "\x1b[0m\x07\u200b\U0001f600"}),
        ('stdout contains "ä contains \\"b\\""', {"type": "stdout_contains", "value": 'ä contains "b"'}),
        ('stdout contains "3"', {"type": "stdout_contains", "value": 3}),
        ('stdout contains "true"', {"type": "stdout_contains", "value": True}),
        ('stderr does not contain "x"', {"type": "stderr_contains", "value": "x"}),
        ('artifact ../a b.md contains "x"', {"type": "artifact_contains", "target": "../a b.md", "value": "x"}),
        ('artifact a does not contain "x\ny"', {"type": "artifact_contains", "target": "a", "value": "x\ny"}),
        ("schema_valid suite matched", {"type": "schema_valid", "target": "suite", "value": "eval-suite.v1"}),
    ],
)  # fmt: skip
def test_a_sentence_repeats_the_check_it_was_made_for(sentence, expectation):
    read = staleness._read(sentence)
    assert read is not None
    made = suite.Expectation(**{**expectation, "type": contract.ExpectationType(expectation["type"])})
    assert read[0] == staleness._check(made)


@pytest.mark.parametrize(
    "sentence", ["", "file exists: a", 'stdout contains "a', "exit_code matched x", "score 1 >= 0"]
)
def test_other_sentences_repeat_no_check(sentence):
    assert staleness._read(sentence) is None


@pytest.mark.parametrize("name", ["00ebd7ce", "9c4e32a1"])
def test_no_public_baseline_is_called_changed_that_is_not(tmp_path, name):
    """The recorded sentences of the 100 fresh public baselines repeat exactly the checks of their suites."""
    archive = ARCHIVES / f"agentops-evals@{name}.tar.gz"
    if not archive.is_file():
        pytest.skip("the public snapshots lie beside the repository only where they were fetched")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    loaded, _ = suite.load_all(tmp_path / "evals")
    for one in loaded:
        path = tmp_path / ".agents/evals/baselines" / baselines.file_name(one.id)
        if path.is_file():
            baseline = baselines.read(path)
            fresh = staleness_of(one, baseline).layer is Layer.FRESH
            assert (staleness._by_record(one, baseline) == staleness.RAW_ONLY) is fresh


# --- the git history -------------------------------------------------------------------------------


def git(folder, *words):
    name = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    subprocess.run(["git", "-C", folder, *name, *words], check=True, capture_output=True)


def commit(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", name)
    return contract.digest(text)


def test_old_files_are_found_on_any_branch_and_under_any_name(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    first = commit(tmp_path, "evals/ä b/suite.json", b'{"a": 1}')
    git(tmp_path, "mv", "evals/ä b", "evals/c")
    second = commit(tmp_path, "evals/c/suite.json", b'{"a": 2}\r\n')
    git(tmp_path, "checkout", "-qb", "side", "HEAD~1")
    third = commit(tmp_path, "other.json", b"\0\n\xff")
    git(tmp_path, "checkout", "-q", "main")
    wanted = {first, second, third, "0" * 64}
    found = git_history.old_files(tmp_path / "evals", wanted, {"suite.json"})
    assert found == {first: b'{"a": 1}', second: b'{"a": 2}\r\n', third: b"\0\n\xff"}


def test_a_folder_without_history_is_said_to_have_none(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match="no git history"):
        git_history.old_files(tmp_path, {"0" * 64}, set())


def test_history_is_asked_only_where_nothing_better_is_known(door, promote):
    before = door()
    assert not needs_history(before, promote(before))
    assert not needs_history(door("policy"), promote(door(), layers=True))
    assert needs_history(door("policy"), promote(before))
