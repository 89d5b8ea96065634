"""Expectations that tell nothing: what a blank answer meets, keys without values, ids one arm alone knows."""

import pytest

from evalstats.contract import Visibility
from evalstats.governance.lint import answers
from evalstats.governance.lint.findings import Code
from evalstats.governance.lint.reading import read


@pytest.fixture
def reading(tmp_path, write_suite, suite_document):
    """Return a function that reads a suite of one case, a prompt unless ``inputs`` hold a command."""

    def made(*expectations, arms=None, **case):
        document = suite_document()
        kind = "command" if "shell" in case.get("inputs", {}) else "runtime_prompt"
        prompt = {} if kind == "command" else {"prompt": "Open the door."}
        document["arms"] = arms or {}
        document["cases"] = [
            {"id": "one", "title": "t", "kind": kind, "objective": "o", **prompt, **case,
             "expectations": list(expectations)}
        ]  # fmt: skip
        return read(write_suite(tmp_path, document))

    return made


def blank(reading):
    counts, found = answers.blank_answer(reading, set())
    return counts, [(finding.code, finding.pointer.rpartition("/")[2]) for finding in found]


COMMAND = {"inputs": {"shell": "true"}}
# What an empty answer meets: of a prompt, and of a silent command whose exit code and files are its answer.
MET = [
    ({"type": "exit_code", "value": 0}, True, False),
    ({"type": "exit_code", "value": 1}, False, False),
    ({"type": "stdout_contains", "value": "x"}, False, False),
    ({"type": "not_contains", "value": "x"}, True, True),
    ({"type": "not_contains", "value": "x", "target": "stderr"}, True, True),
    ({"type": "not_contains", "value": "x", "target": "door.txt"}, True, False),
    ({"type": "regex", "value": "x*"}, True, True),
    ({"type": "regex", "value": "x+"}, False, False),
    ({"type": "file_absent", "target": "litter"}, True, True),
    ({"type": "file_absent", "target": "door.txt"}, False, False),
    ({"type": "file_exists", "target": "door.txt"}, True, False),
    ({"type": "artifact_contains", "target": "door.txt", "value": "4711"}, True, False),
    ({"type": "json_path", "target": "$.a"}, False, False),
    ({"type": "score_at_least", "threshold": 0}, False, False),
    ({"type": "manual_review"}, False, False),
    ({"type": "judge", "value": "polite?"}, False, False),
    ({"type": "no_resource", "value": "x"}, True, True),
    ({"type": "argument_absent", "value": "x"}, True, True),
]


@pytest.mark.parametrize(("expectation", "of_prompt", "of_command"), MET, ids=str)
def test_vacuous_is_what_an_empty_answer_meets(reading, expectation, of_prompt, of_command):
    for case, met in (({}, of_prompt), (COMMAND, of_command)):
        counts, found = blank(reading(expectation, **case))
        assert (counts.expectations, counts.vacuous, counts.by_construction) == (1, int(met), 0)
        assert found == ([(Code.VACUOUS, "0")] if met else [])


def test_a_manifest_check_without_a_manifest_passes_by_construction(reading):
    counts, found = blank(
        reading({"type": "manifest_check", "value": "x"}, {"type": "no_resource", "value": "y"})
    )
    assert found == [(Code.BY_CONSTRUCTION, "0"), (Code.VACUOUS, "1")]
    assert counts.earned == {"ours": 1, "source": 2}


def test_optional_expectations_earn_nothing_but_a_case_of_them_is_free(reading):
    optional = {"type": "no_resource", "value": "x", "required": False}
    assert blank(reading(optional, {"type": "regex", "value": "x"}))[1] == []
    counts, found = blank(reading(optional))
    assert (counts.expectations, counts.vacuous, found) == (0, 0, [(Code.VACUOUS, "0")])


def test_cases_that_nothing_answers_are_not_judged(reading):
    document = reading({"type": "not_contains", "value": "x", "target": "door.txt"}, kind="artifact_check")
    assert answers.is_answered(document.suite.cases[0])  # it has a prompt
    silent = reading({"type": "artifact_contains", "value": '"a":', "target": "door.txt"}, kind="artifact_check",
                     prompt="")  # fmt: skip
    assert blank(silent)[0].expectations == 0
    assert list(answers.key_only(silent)) == []


def text(value, kind="stdout_contains", **more):
    return {"type": kind, "value": value, **more}


@pytest.mark.parametrize(
    ("expectations", "flagged"),
    [
        ([text('"pass":')], [0]),
        ([text('"pass": ')], [0]),
        ([text('{"pass":')], [0]),
        ([text('\\"pass\\":')], [0]),
        ([text('"pass": true')], []),
        ([text('"pass":true')], []),
        ([text('"pass"')], []),
        ([text("PASS")], []),
        ([text('"pass":'), text("all tests passed")], [0]),
        ([text('"pass":', "stderr_contains")], [0]),
        ([text('"pass":', "stdout_contains_auto_detect")], [0]),
        ([text('"pass":', "artifact_contains", target="door.txt")], [0]),
        ([text("Rules:", "artifact_contains", target="door.txt")], []),
        ([text('"pass":\\s*', "regex")], [0]),
        ([text('"pass":\\s*true', "regex")], []),
        ([text("Summary:")], [0]),
        ([text("bytes=")], [0]),
        ([text("Summary:"), text("0 failed")], []),
        ([text("Summary:"), text("bytes=")], [0, 1]),
        ([text("Summary: 0 failed")], []),
        ([text("=== Summary ===")], []),
        ([text("Errors: 0")], []),
        ([{"type": "json_path", "target": "$.pass"}], [0]),
        ([{"type": "json_path", "target": "$.pass", "value": True}], []),
        ([text('"pass":', required=False)], []),
    ],
    ids=str,
)
def test_a_key_without_its_value_is_printed_for_pass_and_fail_alike(reading, expectations, flagged):
    found = list(answers.key_only(reading(*expectations, **COMMAND)))
    assert [finding.pointer for finding in found] == [f"/cases/0/expectations/{i}" for i in flagged]


CARD = {"type": "cites_card", "value": "door-code"}


@pytest.mark.parametrize(
    ("expectation", "more", "flagged"),
    [
        (CARD, {}, True),
        ({"type": "cites_recipe", "value": "door-code"}, {}, True),
        ({"type": "cites_path", "value": "doors/code"}, {}, False),
        (CARD, {"prompt": "Use card door-code."}, False),
        (text("door-code"), {"expected_cards": ["door-code"]}, True),
        (text("door-code"), {"expected_recipes": ["door-code"]}, True),
        (text("door-code"), {"expected_cards": ["window"]}, False),
        (text("4711"), {"arms": {"skill-on": {"env": {"CODE": "it is 4711"}}}}, True),
        (text("4711"), {"arms": {"skill-on": {"prompt_suffix": "Say 4711."}, "skill-off": {"env": {"A": "4711"}}}},
         False),
        (text("4711"), {"arms": {"skill-on": {"env": {"CODE": "4711"}}}, "prompt": "Is it 4711?"}, False),
        (text("47"), {"arms": {"skill-on": {"env": {"CODE": "47"}}}}, False),
        (text("4711", "not_contains"), {"arms": {"skill-on": {"env": {"CODE": "4711"}}}}, False),
    ],
    ids=str,
)  # fmt: skip
def test_only_one_arm_can_know_what_only_it_is_told(reading, expectation, more, flagged):
    found = list(answers.arm_impossible(reading(expectation, **more)))
    assert [finding.code for finding in found] == [Code.ARM_IMPOSSIBLE] * flagged


def test_the_readings_are_of_public_suites(reading):
    assert reading(CARD).suite.visibility is Visibility.PUBLIC_CANARY
