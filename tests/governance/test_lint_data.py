"""What results show: expectations that never differ and cases without headroom, from reports and from the store."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalstats import store as warehouse
from evalstats import suite as suites
from evalstats.contract import Arm
from evalstats.governance import lint as linting
from evalstats.governance.lint import Code, data
from evalstats.governance.lint.data import Held
from evalstats.governance.lint.reading import read
from evalstats.importers.lift_reports import read_report

ROOT = Path(__file__).parents[2]
ON, OFF = Arm.SKILL_ON, Arm.SKILL_OFF


@pytest.fixture
def reading(tmp_path, write_suite):
    return read(write_suite(tmp_path))


def found(reading, *held):
    return [(f.code, f.pointer, f.what) for f in data.from_data(reading, held)]


def held(arm, n, passed, case=0, expectation=0, undecided=0):
    return Held(case=case, expectation=expectation, arm=arm, n=n, passed=passed, undecided=undecided)


@pytest.mark.parametrize(
    ("off", "on", "what"),
    [
        ((3, 0), (3, 0), "was missed in all 6 trials of 2 arms"),
        ((3, 3), (3, 3), "was met in all 6 trials of 2 arms"),
        ((3, 3), (3, 2), None),
        ((3, 0), (3, 3), None),
        ((1, 0), None, None),
        ((2, 0), None, "was missed in all 2 trials of the one arm there is, skill-off"),
    ],
)
def test_constant_is_the_same_in_every_trial_of_all_arms(reading, off, on, what):
    rows = [held(OFF, *off)] + ([] if on is None else [held(ON, *on)])
    constant = [f for f in found(reading, *rows) if f[0] is Code.CONSTANT]
    assert constant == ([] if what is None else [(Code.CONSTANT, "/cases/0/expectations/0", what)])


def test_never_decided_is_constant_too(reading):
    rows = found(reading, held(OFF, 2, 0, undecided=2), held(ON, 2, 0, undecided=2))
    assert rows == [(Code.CONSTANT, "/cases/0/expectations/0", "was undecided in all 4 trials of 2 arms")]
    assert found(reading, held(OFF, 2, 0, undecided=1), held(ON, 2, 0)) == []


def test_optional_expectations_are_left_alone(reading):
    assert found(reading, held(OFF, 2, 0, expectation=1), held(ON, 2, 0, expectation=1)) == []


@pytest.mark.parametrize(
    ("rows", "saturated"),
    [
        ([held(OFF, 3, 3), held(ON, 3, 1)], True),
        ([held(OFF, 3, 2), held(ON, 3, 1)], False),
        ([held(ON, 3, 3)], False),
        ([held(Arm.CONTEXT_OFF, 3, 3)], True),
        ([held(OFF, 3, 2, undecided=1), held(ON, 3, 0)], True),
        ([held(OFF, 3, 0, undecided=3), held(ON, 3, 0)], False),
    ],
)
def test_without_headroom_is_what_the_yardstick_already_meets(reading, rows, saturated):
    places = [pointer for code, pointer, _ in found(reading, *rows) if code is Code.NO_HEADROOM]
    assert places == ["/cases/0"] * saturated


# --- a report -------------------------------------------------------------------------------------

SUITE = {
    "skill_name": "s",
    "evals": [
        {"id": "P1", "archetype": "P", "prompt": "?", "expectations": [
            {"id": "a", "kind": "resource_present", "value": "x"},
            {"id": "b", "kind": "manifest_check", "value": "y"},
        ]},
        {"id": "P2", "archetype": "P", "prompt": "!", "expectations": [
            {"id": "c", "kind": "cites_path", "value": "z"},
        ]},
    ],
}  # fmt: skip


def answered(a, c):
    free = {"id": "b", "kind": "manifest_check", "passed": True, "detail": "skipped (no manifest)"}
    return [
        {"id": "P1", "archetype": "P", "expectations": [free, {"id": "a", "kind": "resource_present", "passed": a}]},
        {"id": "P2", "archetype": "P", "expectations": [{"id": "c", "kind": "cites_path", "passed": c},
                                                       {"id": "other", "kind": "cites_path", "passed": c}]},
        {"id": "P3", "archetype": "P", "expectations": [{"id": "c", "kind": "cites_path", "passed": c}]},
    ]  # fmt: skip


@pytest.fixture
def lint_report(tmp_path):
    def linted(baseline, with_skill, suite=SUITE):
        (tmp_path / "suite.json").write_text(json.dumps(suite), "utf-8")
        report = {"summary": {}, "baseline": baseline, "with_skill": with_skill}
        (tmp_path / "report.json").write_text(json.dumps(report), "utf-8")
        return linting.lint(tmp_path / "suite.json", report=read_report(tmp_path / "report.json"))

    return linted


def test_a_report_is_joined_by_ids_not_by_place(lint_report):
    result = lint_report(answered(False, True), answered(True, True))
    assert result.n_data == 3
    assert [f.pointer for f in result.findings if f.code is Code.CONSTANT] == [
        "/evals/0/expectations/1",
        "/evals/1/expectations/0",
    ]
    assert [f.pointer for f in result.findings if f.code is Code.NO_HEADROOM] == ["/evals/1"]


def test_a_report_of_another_suite_is_named(lint_report):
    other = json.loads(json.dumps(SUITE).replace('"P', '"Q'))
    result = lint_report(answered(True, True), answered(True, True), other)
    assert result.n_data == 0
    assert [f.code for f in result.findings if f.code in (Code.CONSTANT, Code.OTHER_DATA)] == [
        Code.OTHER_DATA
    ]


# --- the store ------------------------------------------------------------------------------------


def evalstats(*arguments, cwd):
    done = subprocess.run([sys.executable, "-m", "evalstats", *map(str, arguments)], cwd=cwd, check=False,
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done


def test_trials_of_the_store_count_where_they_are_of_this_very_suite(tmp_path, write_suite, suite_document):
    document = suite_document()
    del document["judge"]
    document["trials"] = {"per_case": 2}
    document["cases"] = [document["cases"][0]]
    document["cases"][0]["inputs"]["shell"] = 'echo "4711 and ${HINT:-nothing}"'
    document["cases"][0]["expectations"] = [
        {"type": "stdout_contains", "value": "4711"},
        {"type": "stdout_contains", "value": "and 1"},
    ]
    path = write_suite(tmp_path, document)
    evalstats("run", path, "--mode", "both", cwd=tmp_path)
    evalstats("ingest", cwd=tmp_path)
    with warehouse.open(tmp_path / "data/evalstats.duckdb", read_only=True) as store:
        result = linting.lint(path, store=store)
        places = [(f.pointer, f.what) for f in result.findings if f.code is Code.CONSTANT]
        assert places == [("/cases/0/expectations/0", "was met in all 4 trials of 2 arms")]
        assert result.n_data == 2
        document["cases"][0]["title"] = "Another case now"
        changed = linting.lint(write_suite(tmp_path, document), store=store)
        assert [f.code for f in changed.findings if f.code in (Code.CONSTANT, Code.OTHER_DATA)] == [
            Code.OTHER_DATA
        ]
        assert changed.n_data == 0
        document["id"] = "never-run"
        assert linting.lint(write_suite(tmp_path, document), store=store).n_data == 0
    assert suites.load(path).id == "never-run"
