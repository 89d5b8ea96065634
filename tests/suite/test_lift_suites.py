"""A lift suite, as others write it, is one of ours once it is read; what is neither is refused."""

import copy
import hashlib
import json
from pathlib import Path

import pytest

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import CaseKind, ExpectationType, Tier, Visibility
from evalstats.errors import SuiteError
from evalstats.suite import Expectation, lift_suites

SHARED = Path(__file__).parents[3] / "shared/data/vegastack/evals/evals.json"

DOCUMENT = {
    "schema_version": 1,
    "skill_name": "Bridge Skill",
    "comment": "Two prompts.",
    "evals": [
        {
            "id": "B1-span",
            "archetype": "B1",
            "title": "A span",
            "prompt": "Build a span.",
            "expectations": [
                {"id": "has_beam", "kind": "resource_present", "value": "beam"},
                {"id": "no_rope", "kind": "no_resource", "value": "rope"},
                {"id": "args", "kind": "manifest_check", "value": "all required"},
                {"id": "card", "kind": "cites_card", "value": "beams-over-ropes"},
            ],
            "tags": ["steel"],
            "max_tool_calls": 4,
        },
        {
            "id": "B2-load",
            "archetype": "B2",
            "prompt": "How much can it carry?",
            "expectations": [
                {"id": "recipe", "kind": "cites_recipe", "value": "load-table"},
                {"id": "load", "kind": "argument_present", "value": "load", "resource": "beam"},
            ],
        },
    ],
}


@pytest.fixture
def document():
    return copy.deepcopy(DOCUMENT)


@pytest.fixture
def write(tmp_path):
    def written(document, name="anything.json"):
        path = tmp_path / name
        path.write_text(json.dumps(document, indent=1), "utf-8")
        return path

    return written


def test_a_lift_suite_is_known_by_its_keys_and_keeps_its_ids(write, document):
    suite = suites.load(write(document))
    assert (suite.id, suite.name, suite.tier, suite.visibility) == (
        "bridge-skill",
        "Bridge Skill",
        Tier.LIVE,
        Visibility.PUBLIC_CANARY,
    )
    assert suite.trials_per_case == 3
    assert [case.id for case in suite.cases] == ["B1-span", "B2-load"]
    first, second = suite.cases
    assert (first.kind, first.archetype, first.prompt, first.tags) == (
        CaseKind.RUNTIME_PROMPT,
        "B1",
        "Build a span.",
        ("steel",),
    )
    assert first.expectations == (
        Expectation(ExpectationType.RESOURCE_PRESENT, value="beam"),
        Expectation(ExpectationType.NO_RESOURCE, value="rope"),
        Expectation(ExpectationType.MANIFEST_CHECK, value="all required"),
        Expectation(ExpectationType.CITES_CARD, value="beams-over-ropes"),
    )
    assert second.expectations[1] == Expectation(
        ExpectationType.ARGUMENT_PRESENT, target="beam", value="load"
    )
    assert first.inputs == {
        "max_tool_calls": 4,
        "expectation_ids": ["has_beam", "no_rope", "args", "card"],
    }
    assert second.title == "B2-load"
    assert suite.document["cases"][0]["expected_cards"] == ["beams-over-ropes"]
    assert suite.document["cases"][1]["expected_recipes"] == ["load-table"]
    contract.validate(suite.document, "eval-suite.v1")


def test_the_raw_digest_is_of_the_file_and_the_others_of_what_it_means(write, document):
    path = write(document)
    suite = suites.load(path)
    before = suites.hashes(suite)
    assert before["raw"] == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(json.dumps(document, indent=4), "utf-8")
    after = suites.hashes(suites.load(path))
    assert {layer for layer in before if before[layer] != after[layer]} == {"raw"}
    document["comment"] = "Still two prompts."
    after = suites.hashes(suites.load(write(document)))
    assert {layer for layer in before if before[layer] != after[layer]} == {"raw", "canonical", "metadata"}
    document["comment"] = DOCUMENT["comment"]
    document["evals"][0]["expectations"][0]["value"] = "girder"
    changed = suites.load(write(document))
    after = suites.hashes(changed)
    assert {layer for layer in before if before[layer] != after[layer]} == {"raw", "canonical", "scoring"}
    old, new = suites.case_hashes(suite), suites.case_hashes(changed)
    assert [case for case in old if old[case] != new[case]] == ["B1-span"]


@pytest.mark.parametrize(
    ("edit", "pointer"),
    [
        (lambda d: d.pop("skill_name"), ""),
        (lambda d: d["evals"][0].pop("prompt"), "/evals/0"),
        (
            lambda d: d["evals"][0]["expectations"][1].update(kind="smells_good"),
            "/evals/0/expectations/1/kind",
        ),
        (lambda d: d["evals"][1]["expectations"][0].update(value=3), "/evals/1/expectations/0/value"),
        (lambda d: d["evals"][1].update(expectations=[]), "/evals/1/expectations"),
        (lambda d: d["evals"][1].update(expectations=["is polite"]), "/evals/1/expectations/0"),
        (lambda d: d["evals"][1].update(id="B1-span"), "/evals/1/id"),
        (lambda d: d.update(schema_version=2), "/schema_version"),
        (lambda d: d.update(evals=[]), "/evals"),
    ],
    ids=["name", "prompt", "kind", "value", "none", "sentence", "twice", "version", "empty"],
)
def test_a_fault_of_a_lift_suite_is_named_where_it_stands_in_the_file(write, document, edit, pointer):
    edit(document)
    path = write(document)
    with pytest.raises(SuiteError) as caught:
        suites.load(path)
    assert [problem.pointer for problem in caught.value.problems] == [pointer]
    line = caught.value.problems[0].line
    assert line == contract.pointer_lines(path.read_text("utf-8"))[pointer]


@pytest.mark.parametrize(
    "document",
    [[], {}, "suite", None, 3, {"runs": []}, {"evals": "none"}, {"schema_version": 1, "name": "x"}],
)
def test_what_is_of_neither_shape_is_refused_with_one_clear_sentence(write, document):
    with pytest.raises(SuiteError, match=r"neither cases .* nor evals") as caught:
        suites.load(write(document))
    assert len(caught.value.problems) == 1


def test_a_document_with_cases_is_ours_even_with_evals_beside(write, document):
    assert not lift_suites.is_lift_suite({**document, "cases": []})


@pytest.mark.parametrize(
    ("pointer", "source"),
    [
        ("/cases/3/expectations/2/type", "/evals/3/expectations/2/kind"),
        ("/cases/3/expectations/2/target", "/evals/3/expectations/2/resource"),
        ("/cases/3/expectations/2/value", "/evals/3/expectations/2/value"),
        ("/cases/3/inputs/max_tool_calls", "/evals/3/max_tool_calls"),
        ("/cases/3/objective", "/evals/3/title"),
        ("/cases/3", "/evals/3"),
        ("/cases", "/evals"),
        ("/id", "/skill_name"),
        ("/scoring/dimensions/0/name", ""),
    ],
)
def test_pointers_lead_back_to_the_source(pointer, source):
    assert lift_suites.source_pointer(pointer) == source


def test_the_public_lift_suite_loads():
    if not SHARED.is_file():
        pytest.skip("the public lift suite lies beside the repository only where it was fetched")
    suite = suites.load(SHARED)
    sizes = {}
    for case in suite.cases:
        sizes[case.archetype] = sizes.get(case.archetype, 0) + 1
    assert list(sizes.values()) == [6, 4, 4, 4, 5, 5, 5, 4, 3, 4, 3, 3]
    assert sum(len(case.expectations) for case in suite.cases) == 195
    assert suites.hashes(suite)["raw"] == hashlib.sha256(SHARED.read_bytes()).hexdigest()
