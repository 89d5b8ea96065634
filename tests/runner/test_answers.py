"""What a text earns as an answer, under our rule and under the source's."""

import json

import pytest

from evalstats import suite as suites
from evalstats.contract import ExpectationType
from evalstats.runner.answers import Rule, check_answer, counted

KINDS = {
    "resource_present": "beam",
    "no_resource": "rope",
    "cites_card": "beams-over-ropes",
    "cites_recipe": "load-table",
    "cites_path": "steel/beam",
    "argument_present": "load",
    "argument_absent": "knots",
    "import_syntax_match": "beam",
    "manifest_check": "all required",
}
GOOD = """Per beams-over-ropes and load-table (steel/beam):
resource "beam" "main" { load = 3 }
terraform import beam.main b-17
"""
BAD = """resource "rope" "main" { knots = 3 }"""


@pytest.fixture
def suite(tmp_path):
    expectations = [{"id": kind, "kind": kind, "value": value} for kind, value in KINDS.items()]
    prompt = {"id": "P1", "archetype": "P", "prompt": "Build.", "expectations": expectations}
    path = tmp_path / "any.json"
    path.write_text(json.dumps({"skill_name": "s", "evals": [prompt]}), "utf-8")
    return suites.load(path)


def earned(suite, text, rule):
    results = check_answer(suite, suite.cases[0], text, rule=rule)
    return {str(result.type): result.passed for result in results}


def test_a_blank_answer_earns_what_asks_for_absence(suite):
    blank = dict.fromkeys(KINDS, False) | {"no_resource": True, "argument_absent": True}
    assert earned(suite, "", Rule.OURS) == blank | {"manifest_check": None}
    assert earned(suite, "", Rule.SOURCE) == blank | {"manifest_check": True}


def test_a_good_answer_earns_everything_and_a_bad_one_nothing(suite):
    assert earned(suite, GOOD, Rule.SOURCE) == dict.fromkeys(KINDS, True)
    assert earned(suite, BAD, Rule.OURS) == dict.fromkeys(KINDS, False) | {"manifest_check": None}


@pytest.mark.parametrize("kind", list(ExpectationType))
@pytest.mark.parametrize("passed", [True, False, None])
def test_the_rules_differ_only_in_an_undecided_manifest_check(kind, passed):
    differs = kind is ExpectationType.MANIFEST_CHECK and passed is None
    assert counted(kind, passed, Rule.OURS) is passed
    assert counted(kind, passed, Rule.SOURCE) is (True if differs else passed)
