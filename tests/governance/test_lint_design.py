"""How a suite is put together: weights, twins, tiers, words, fields that nothing reads."""

import pytest

from evalstats.contract import ExpectationType
from evalstats.governance.lint import design
from evalstats.governance.lint.reading import read


@pytest.fixture
def reading(tmp_path, write_suite):
    return lambda document: read(write_suite(tmp_path, document))


@pytest.fixture
def case():
    def made(number, archetype="A1", n=1, **more):
        values = [{"type": "stdout_contains", "value": f"{number}-{i}"} for i in range(n)]
        return {"id": f"c{number}", "title": "t", "kind": "command", "objective": "o", "archetype": archetype,
                "dimensions": ["correctness"], "inputs": {"shell": "true"}, "expectations": values, **more}  # fmt: skip

    return made


def places(found):
    return [finding.pointer for finding in found]


def test_an_archetype_of_long_cases_weighs_more_than_it_seems(reading, suite_document, case):
    document = suite_document()
    document["cases"] = [case(0, "A1", 1), case(1, "A1", 1), case(2, "A2", 4), case(3, "A3", 2)]
    document["cases"][3]["expectations"].append({"type": "exit_code", "required": False})
    found = design.weights(reading(document))
    assert [(w.archetype, w.cases, w.expectations) for w in found] == [
        ("A1", 2, 2),
        ("A2", 1, 4),
        ("A3", 1, 2),
    ]
    assert [(w.share_of_cases, w.share_of_expectations) for w in found] == [
        (0.5, 0.25),
        (0.25, 0.5),
        (0.25, 0.25),
    ]
    hidden = list(design.hidden_weights(reading(document)))
    assert places(hidden) == ["/cases/0/archetype", "/cases/2/archetype"]
    assert "25% of the expectations (2) but 50% of the cases (2)" in hidden[0].what


def test_even_archetypes_and_suites_without_any_hide_no_weight(reading, suite_document, case):
    document = suite_document()
    document["cases"] = [case(0, "A1", 4), case(1, "A2", 5)]
    assert list(design.hidden_weights(reading(document))) == []
    for one in document["cases"]:
        del one["archetype"]
    assert design.weights(reading(document)) == () and list(design.hidden_weights(reading(document))) == []


def test_twins_are_found_whatever_they_are_called(reading, suite_document, case):
    document = suite_document()
    twin = case(1, title="another title", objective="other", tags=["x"], archetype="A9")
    twin["expectations"] = case(0)["expectations"]
    document["cases"] = [case(0), case(2), twin, case(0, inputs={"shell": "false"}) | {"id": "c3"}]
    found = list(design.duplicates(reading(document)))
    assert places(found) == ["/cases/2"] and "/cases/0" in found[0].what


def test_a_live_suite_needs_more_than_one_trial(reading, suite_document):
    document = suite_document()
    for tier, per_case, flagged in (("live", 1, 1), ("live", 3, 0), ("live", None, 0), ("headless", 1, 0)):
        document["tier"], document["trials"] = tier, {} if per_case is None else {"per_case": per_case}
        assert places(design.tiers(reading(document))) == ["/trials/per_case"] * flagged


@pytest.mark.parametrize("runtime", ["claude", "codex", "openai", "shell", "static"])
def test_a_deterministic_suite_needs_no_model_and_no_network(reading, suite_document, runtime):
    document = suite_document()
    document["cases"][1]["runtime"] = runtime
    needs = runtime in ("claude", "codex", "openai")
    assert list(design.tiers(reading(document))) == []
    document["tier"] = "deterministic"
    assert places(design.tiers(reading(document))) == ["/cases/1/runtime"] * needs
    document["environment"]["network"] = "required"
    assert places(design.tiers(reading(document))) == ["/environment/network", *["/cases/1/runtime"] * needs]


def test_words_that_scoring_and_cases_do_not_share(reading, suite_document):
    document = suite_document()
    document["domain"] = "security"
    document["scoring"]["dimensions"].append({"name": "charm", "weight": 1, "threshold": 0})
    document["cases"][0]["dimensions"] = ["correctness", "efficiency"]
    found = {(str(f.code), f.pointer) for f in design.words(reading(document))}
    assert found == {
        ("unknown-dimension", "/scoring/dimensions/2/name"),
        ("empty-dimension", "/scoring/dimensions/2/name"),
        ("unscored-dimension", "/cases/0/dimensions/1"),
    }
    document["domain"] = "alchemy"
    assert ("unknown-domain", "/domain") in {
        (str(f.code), f.pointer) for f in design.words(reading(document))
    }


def test_broken_dimensions_are_not_held_against_the_cases(reading, suite_document):
    document = suite_document()
    document["domain"], document["scoring"]["dimensions"] = "skill", "all of them"
    assert list(design.words(reading(document))) == []


@pytest.mark.parametrize(
    ("edit", "pointer"),
    [
        (lambda d: d["scoring"].update(critical_threshold=1), "/scoring/critical_threshold"),
        (lambda d: d.update(judge={"model": "m"}), "/judge"),
        (lambda d: d.update(trials={"judge_repeats": 3}), "/trials/judge_repeats"),
        (lambda d: d["cases"][0].update(prompt="?"), "/cases/0/prompt"),
        (lambda d: d["cases"][0]["inputs"].update({"a/b": 1}), "/cases/0/inputs/a~1b"),
        (lambda d: d["cases"][1].update(inputs={"temperature": 1}), "/cases/1/inputs/temperature"),
        (lambda d: d["cases"][1].update(inputs={"temperature": 1}, runtime="openai"), None),
        (lambda d: d["cases"][0]["inputs"].update(argv=["true"]), "/cases/0/inputs/argv"),
        (lambda d: d["cases"][0].update(inputs={"argv": ["true"], "args": []}), "/cases/0/inputs/args"),
        (lambda d: d["cases"][0].update(inputs={"command": "true", "args": []}), None),
        (lambda d: d["cases"][0]["expectations"][0].update(target="file"), "/cases/0/expectations/0/target"),
        (lambda d: d["cases"][0]["expectations"][0].update(target="stdout"), None),
        (lambda d: d["cases"][0]["expectations"][0].update(threshold=1), "/cases/0/expectations/0/threshold"),
        (lambda d: d["cases"][0]["expectations"].append({"type": "file_exists", "target": "x", "value": 1}),
         "/cases/0/expectations/2/value"),
    ],
)  # fmt: skip
def test_what_nothing_reads_is_named(reading, suite_document, edit, pointer):
    document = suite_document()
    del document["judge"]
    edit(document)
    assert places(design.unused(reading(document))) == ([] if pointer is None else [pointer])


def test_a_judge_that_is_asked_is_used(reading, suite_document):
    document = suite_document()
    document["cases"][1]["expectations"].append({"type": "judge", "value": "polite?", "threshold": 0.5})
    assert list(design.unused(reading(document))) == []


def test_a_field_that_many_cases_share_is_named_once(reading, suite_document, case):
    document = suite_document()
    del document["judge"]
    document["cases"] = [case(n, prompt="?") for n in range(5)]
    (found,) = design.unused(reading(document))
    assert found.pointer == "/cases/0/prompt" and "(5 cases)" in found.what


def test_every_type_that_reads_less_than_target_and_value_is_a_type():
    assert set(design._READ) <= set(ExpectationType)
