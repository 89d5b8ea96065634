"""What is wrong with a suite is said before anything runs, all of it at once."""

import pytest

from evalstats import runner
from evalstats.errors import SuiteError
from evalstats.runner import Options


def faults(suite, **options):
    with pytest.raises(SuiteError) as caught:
        runner.plan(suite, Options(**options))
    return {problem.pointer: problem.message for problem in caught.value.problems}


@pytest.mark.parametrize(
    "expectation, field, what",
    [
        ({"type": "regex", "value": "(?=a)"}, "value", "is not a pattern of RE2"),
        ({"type": "regex", "value": r"(a)\1"}, "value", "is not a pattern of RE2"),
        ({"type": "regex"}, "value", "is not a text"),
        ({"type": "stdout_contains", "value": ""}, "value", "is not a text"),
        ({"type": "stdout_contains", "value": True}, "value", "is not a text"),
        ({"type": "file_exists"}, "target", "is missing"),
        ({"type": "artifact_contains", "value": "x"}, "target", "is missing"),
        ({"type": "exit_code", "value": "0"}, "value", "is not an exit code"),
        ({"type": "score_at_least", "target": "$.a"}, "threshold", "is missing"),
        ({"type": "schema_valid", "target": "a.json"}, "value", "names no schema"),
        ({"type": "json_path", "target": "a..b"}, "target", "is not a path"),
        ({"type": "json_path", "target": "$.a[*]"}, "target", "is not a path"),
    ],
)
def test_expectation_that_cannot_be_checked(make_suite, case, expectation, field, what):
    suite = make_suite(case("good", shell="true"), case("bad", expectation, shell="true"))
    ((pointer, message),) = faults(suite).items()
    assert pointer == f"/cases/1/expectations/0/{field}"
    assert message.startswith(f"case 'bad', {expectation['type']} expectation 0: {what}")


@pytest.mark.parametrize(
    "inputs, name",
    [
        ({"shell": 1}, "shell"),
        ({"argv": []}, "argv"),
        ({"argv": ["a", 1]}, "argv"),
        ({"command": "a", "args": "b"}, "args"),
        ({"shell": "true", "env": {"A": 1}}, "env"),
        ({"shell": "true", "env": ["A"]}, "env"),
        ({"shell": "true", "cwd": 1}, "cwd"),
        ({"shell": "true", "stdin": {}}, "stdin"),
    ],
)
def test_inputs_that_are_no_command(make_suite, case, inputs, name):
    assert list(faults(make_suite(case("bad", **inputs)))) == [f"/cases/0/inputs/{name}"]


def test_all_problems_come_at_once_and_only_of_selected_cases(make_suite, case):
    bad = {"type": "regex", "value": "("}
    suite = make_suite(case("a", bad, shell=1), case("b", bad, shell="true"), case("c", shell="true"))
    assert set(faults(suite)) == {
        "/cases/0/inputs/shell",
        "/cases/0/expectations/0/value",
        "/cases/1/expectations/0/value",
    }
    assert set(faults(suite, case_ids=("b",))) == {"/cases/1/expectations/0/value"}
    runner.plan(suite, Options(case_ids=("c",)))


def test_inputs_of_an_arm_are_checked_when_the_arm_is_run(make_suite, case):
    suite = make_suite(case("a", shell="true"), arms={"skill-off": {"inputs": {"stdin": 1}}})
    runner.plan(suite)
    assert list(faults(suite, mode="both")) == ["/cases/0/inputs/stdin"]


def test_files_of_an_arm_are_inside_the_repository(make_suite, case):
    suite = make_suite(case("a", shell="true"), arms={"skill-on": {"files": ["../x", "gone"]}})
    assert faults(suite) == {
        "/arms/skill-on/files/0": "is not a path inside the repository",
        "/arms/skill-on/files/1": "is missing",
    }
