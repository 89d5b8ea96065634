"""Lift reports become the two runs they tell of."""

import copy
import json
from pathlib import Path

import pytest

from evalstats.contract import Arm
from evalstats.errors import LogError
from evalstats.importers import Log, Options, Reading, vegastack

SAMPLES = Path(__file__).with_name("lift_reports")
PROMPTS = json.loads((SAMPLES / "prompts.json").read_text("utf-8"))
DASHBOARD = json.loads((SAMPLES / "dashboard.json").read_text("utf-8"))


@pytest.fixture
def read(tmp_path):
    def reading(document, **options):
        path = tmp_path / "report.json"
        path.write_text(json.dumps(document), "utf-8")
        found = Reading([path], Options(**options), [vegastack])
        return found, list(found)

    return reading


def test_a_report_is_two_runs_of_one_pair(read):
    reading, found = read(PROMPTS)
    assert [
        (f.run.arm, f.trial.case_id, f.trial.archetype, f.trial.score, f.trial.passed) for f in found
    ] == [
        (Arm.SKILL_OFF, "P1", "P", 0.5, False),
        (Arm.SKILL_ON, "P1", "P", 1.0, True),
    ]
    assert len({f.run.group_id for f in found}) == 1 and len({f.run.run_id for f in found}) == 2
    assert [e.passed for e in found[0].trial.expectations] == [False, None]
    (file,) = reading.files
    assert (file.format, file.runs, file.cases, file.trials) == ("vegastack", 2, 1, 2)
    assert [(d.name, d.agrees) for d in file.declared] == [
        ("baseline pass rate", True),
        ("with_skill pass rate", True),
    ]


def test_rescored_what_was_never_checked_does_not_count(read):
    _, found = read(PROMPTS, rescore=True)
    assert [f.trial.score for f in found] == [0.0, 1.0]


def test_a_dashboard_gives_the_prompts_it_lists_and_says_so(read):
    reading, found = read(DASHBOARD)
    assert [(f.run.arm, f.trial.score, f.trial.tool_calls) for f in found] == [
        (Arm.SKILL_OFF, 3 / 7, 0),
        (Arm.SKILL_ON, 6 / 7, 2),
    ]
    assert "the report lists 1 of 2 prompts" in reading.files[0].warnings


def test_a_declared_rate_that_does_not_follow_is_seen(read):
    document = copy.deepcopy(PROMPTS)
    document["summary"]["baseline_pct"] = 0.6
    reading, _ = read(document)
    assert [d.agrees for d in reading.files[0].declared] == [False, True]


def test_a_prompt_without_expectations_is_unscored(read):
    document = copy.deepcopy(PROMPTS)
    document["baseline"][0]["expectations"] = []
    _, found = read(document)
    assert (found[0].trial.score, found[0].trial.reason) == (None, "the prompt has no expectation")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (json.dumps(PROMPTS), True),
        (json.dumps(DASHBOARD), True),
        ('{"evals": []}', False),
        ("[]", False),
        ("", False),
    ],
)
def test_a_report_is_recognised_by_its_keys(tmp_path, text, known):
    (tmp_path / "any").write_text(text, "utf-8")
    assert (vegastack.sniff(Log(tmp_path / "any")) is not None) is known


def test_a_broken_report_is_an_error_of_the_log(read):
    with pytest.raises(LogError, match="required"):
        read({**PROMPTS, "baseline": [{}]})
