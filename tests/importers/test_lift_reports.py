"""Lift reports of both shapes say what they say, and every fault of one is named with its place."""

import copy
import json
from pathlib import Path

import pytest

from evalstats.contract import ExpectationType
from evalstats.errors import DocumentError
from evalstats.importers.lift_reports import Figures, Shape, read_report

SAMPLES = Path(__file__).with_name("lift_reports")
PROMPTS = json.loads((SAMPLES / "prompts.json").read_text("utf-8"))
DASHBOARD = json.loads((SAMPLES / "dashboard.json").read_text("utf-8"))


@pytest.fixture
def report(tmp_path):
    def read(document):
        path = tmp_path / "report.json"
        path.write_text(json.dumps(document, indent=1), "utf-8")
        return read_report(path)

    return read


def test_the_shape_with_every_expectation(report):
    found = report(PROMPTS)
    assert (found.shape, found.n_prompts, found.model, found.generated_at) == (
        Shape.PROMPTS,
        1,
        "some-model",
        "2026-01-02T03:04:05.678Z",
    )
    assert found.declared == found.archetypes["P"] == Figures(baseline=0.5, with_skill=1, lift=1)
    (off,), (on,) = found.baseline, found.with_skill
    assert (off.id, off.archetype, off.met, off.total, on.met) == ("P1", "P", 1, 2, 2)
    assert [(e.id, e.kind, e.passed) for e in off.expectations] == [
        ("a", ExpectationType.RESOURCE_PRESENT, False),
        ("b", ExpectationType.MANIFEST_CHECK, None),  # without a manifest nothing was checked
    ]
    assert on.expectations[1].passed is True


def test_the_shape_of_a_dashboard(report):
    found = report(DASHBOARD)
    assert (found.shape, found.n_prompts, found.registry_version, found.cli_version) == (
        Shape.DASHBOARD,
        2,
        "r1",
        "c1",
    )
    assert found.declared == found.archetypes["P"] == Figures(baseline=0.5, with_skill=0.8, lift=0.6)
    assert found.prompts_of == {"P": 2}
    (off,), (on,) = found.baseline, found.with_skill
    assert (off.met, off.total, off.expectations) == (3, 7, ())  # 0.43 of 7 is 3.01
    assert (on.met, on.total, len(on.expectations), on.cited_cards, on.tool_calls) == (6, 7, 7, ("k",), 2)


def test_a_placeholder_is_no_model(report):
    assert report({**PROMPTS, "model": "runner-default-model"}).model is None


def test_one_arm_is_enough_to_read_a_report(report):
    found = report({key: value for key, value in PROMPTS.items() if key != "with_skill"})
    assert (len(found.baseline), found.with_skill) == (1, ())
    alone = copy.deepcopy(DASHBOARD)
    alone["prompts"][0] |= {"with_skill": None, "baseline": {"pass_rate": 0.86}}
    found = report(alone)
    assert (found.with_skill, found.baseline[0].met, len(found.baseline[0].expectations)) == ((), 6, 7)


@pytest.mark.parametrize(
    ("document", "edit", "pointer", "words"),
    [
        (PROMPTS, lambda d: d["summary"].update(lift_pct=1.5), "/summary/lift_pct", "maximum"),
        (PROMPTS, lambda d: d["baseline"][0].pop("archetype"), "/baseline/0", "required"),
        (PROMPTS, lambda d: d["baseline"][0]["expectations"][0].update(kind="smell"),
         "/baseline/0/expectations/0/kind", "not one of"),
        (PROMPTS, lambda d: d["with_skill"].append(d["with_skill"][0]), "/with_skill/1", "stands twice"),
        (PROMPTS, lambda d: d["with_skill"][0]["expectations"][0].update(id="b"), "/with_skill/0", "stands twice"),
        (DASHBOARD, lambda d: d["prompts"][0]["baseline"].update(pass_rate=0.5),
         "/prompts/0/baseline/pass_rate", "whole number of 7"),
        (DASHBOARD, lambda d: d["prompts"][0]["with_skill"].update(pass_rate=0.43),
         "/prompts/0/with_skill/pass_rate", "whole number of 7"),
        (DASHBOARD, lambda d: d.update(lift="0.6"), "/lift", "not of types"),
        (DASHBOARD, lambda d: d["archetypes"][0].update(prompt_count=0), "/archetypes/0/prompt_count", "minimum"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(report, document, edit, pointer, words):
    document = copy.deepcopy(document)
    edit(document)
    with pytest.raises(DocumentError, match=words) as caught:
        report(document)
    assert caught.value.problems[0].pointer == pointer
    assert caught.value.problems[0].line


@pytest.mark.parametrize("document", [None, [], {}, {"summary": {}}, {"lift": 1}, {"evals": []}, "x"])
def test_what_is_no_lift_report_is_refused(report, document):
    with pytest.raises(DocumentError, match="is no lift report"):
        report(document)
