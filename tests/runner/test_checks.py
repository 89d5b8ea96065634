"""What is wrong with a suite is said before anything runs, all of it at once."""

import json

import pytest

from evalstats import runner
from evalstats.errors import SuiteError
from evalstats.runner import Options
from evalstats.suite import load


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
        ({"shell": "echo \0"}, "shell"),
        ({"argv": ["echo", "a\0b"]}, "argv"),
        ({"command": "a\0"}, "command"),
        ({"command": "a", "args": ["\0"]}, "args"),
        ({"shell": "true", "cwd": "\0"}, "cwd"),
        ({"shell": "true", "stdin": "a\0b"}, "stdin"),
        ({"shell": "true", "env": {"A": "\0"}}, "env"),
        ({"shell": "true", "env": {"A\0": "x"}}, "env"),
        ({"shell": "true", "env": {"A=B": "x"}}, "env"),
        ({"shell": "true", "env": {"": "x"}}, "env"),
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


def test_a_whole_suite_is_checked_as_a_run_would(make_suite, case):
    good = make_suite(case("a", shell="true"), folder="good")
    runner.check(good)
    bad = make_suite(
        case("a", {"type": "regex", "value": "("}, shell="echo \0"),
        case("b", {"type": "json_path", "target": "a..b"}, shell="true"),
        fixtures=[{"path": "gone.txt", "purpose": "test"}],
        arms={"skill-off": {"inputs": {"stdin": 1}}},
    )
    bad.path.write_text(json.dumps(bad.document, indent=1), "utf-8")
    bad = load(bad.path)
    with pytest.raises(SuiteError) as caught:
        runner.check(bad)
    lines = bad.raw.decode().splitlines()
    said = {problem.pointer: lines[problem.line - 1].strip() for problem in caught.value.problems}
    assert said == {
        "/fixtures/0/path": '"path": "gone.txt",',
        "/cases/0/inputs/shell": '"shell": "echo \\u0000"',
        "/cases/0/inputs/stdin": '"inputs": {',
        "/cases/0/expectations/0/value": '"value": "("',
        "/cases/1/inputs/stdin": '"inputs": {',
        "/cases/1/expectations/0/target": '"target": "a..b"',
    }


@pytest.mark.parametrize(
    "runtime, fine", [("shell", True), (None, True), ("static", False), ("claude", False)]
)
def test_a_runtime_is_one_that_the_suite_allows(make_suite, case, runtime, fine):
    given = {} if runtime is None else {"runtime": runtime}
    suite = make_suite(case("a", shell="true", **given), allowed_runtimes=["shell"])
    if fine:
        runner.plan(suite)
    else:
        what = f"case 'a': the runtime {runtime} is not among the suite's allowed_runtimes"
        assert faults(suite) == {"/cases/0/runtime": what}
