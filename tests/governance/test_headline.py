"""The lift of a report over four units, by hand; and what is no headline, with the difference named."""

import copy
import json
from math import isclose
from pathlib import Path

import numpy as np
import pytest

from evalstats import contract
from evalstats.contract import ExpectationType
from evalstats.governance import headline as headlines
from evalstats.governance.lift_counts import Count, lift_of
from evalstats.importers.lift_reports import read_report
from evalstats.runner.answers import Rule

SHARED = Path(__file__).parents[3] / "shared/data/vegastack"
FIFTY = SHARED / "docs/status/phase4-audit/A1-eval-rerun/evals/audit-2026-04-28-demo-fixtures.json"
FIVE = SHARED / "evals/reports/demo-baseline-vs-skill.json"
SAMPLE = SHARED / "apps/dashboard/src/fixtures/sample-report.json"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the public reports are not beside the repository"
)


def of_file(path, scoring=Rule.SOURCE):
    return headlines.headline(read_report(path), rng=np.random.default_rng(1), scoring=scoring)


def lifts(found):
    return {one.over: one.estimate for one in found.lifts}


# --- public reports -------------------------------------------------------------------------------


@needs_shared
def test_the_report_of_fifty_prompts():
    found = of_file(FIFTY)
    assert (found.baseline, found.with_skill) == (Count(met=32, total=195), Count(met=46, total=195))
    assert (found.refusals, found.differences, found.prompts) == ((), (), 50)
    assert isclose(lifts(found)["expectations"], 0.08588957055214723, rel_tol=1e-12)
    assert round(lifts(found)["archetype mean"], 6) == 0.110268
    assert lifts(found)["archetype median"] == 0
    shown = {one.archetype: one.lift for one in found.archetypes}
    assert len(shown) == 12
    nonzero = {name: round(value, 6) for name, value in shown.items() if value}
    assert nonzero == {"A1": 0.4375, "A3": 0.285714, "A12": 0.6}
    assert found.cited == {
        ExpectationType.CITES_CARD: (Count(met=0, total=25), Count(met=5, total=25)),
        ExpectationType.CITES_RECIPE: (Count(met=1, total=9), Count(met=1, total=9)),
    }
    assert any(caveat.startswith("45 of 50 prompts came out alike") for caveat in found.caveats)


@needs_shared
def test_by_our_rule_the_manifest_checks_are_unscored():
    found = of_file(FIFTY, Rule.OURS)
    assert (found.baseline, found.with_skill) == (Count(met=17, total=180), Count(met=31, total=180))
    assert isclose(lifts(found)["expectations"], 14 / 163, rel_tol=1e-12)
    assert "15 manifest checks without a manifest are unscored" in found.caveats


@needs_shared
def test_a_lift_of_one_is_said_to_be_degenerate():
    found = of_file(FIVE)
    assert (found.baseline, found.with_skill) == (Count(met=5, total=19), Count(met=19, total=19))
    assert set(lifts(found).values()) == {1.0} and found.refusals == ()
    assert any(caveat.startswith("degenerate: with the skill all 19") for caveat in found.caveats)


@needs_shared
def test_the_sample_dashboard_is_refused_with_the_difference_named():
    found = of_file(SAMPLE)
    assert found.lifts == ()
    assert {d.name: (d.declared, round(d.recomputed, 4)) for d in found.differences} == {
        "the baseline pass rate": (0.41, 0.3962),
        "the pass rate with the skill": (0.69, 0.7386),
        "the lift": (0.47, 0.5671),
    }
    assert "it lists 5 of its 50 prompts: the rest cannot be recomputed" in found.refusals
    assert "the lift is stated as 0.47, but its own parts give 0.5671" in found.refusals


# --- by hand --------------------------------------------------------------------------------------


def prompt(name, archetype, outcomes, kind="resource_present"):
    listed = [{"id": str(i), "kind": kind, "passed": passed} for i, passed in enumerate(outcomes)]
    return {"id": name, "archetype": archetype, "expectations": listed}


BASELINE = [
    prompt("a", "A", [0, 0, 0, 1]),
    prompt("b", "A", [0, 1]),
    prompt("c", "B", [0, 0]),
    prompt("d", "C", [0, 1]),
]
WITH_SKILL = [
    prompt("a", "A", [1, 1, 0, 1]),
    prompt("b", "A", [0, 1]),
    prompt("c", "B", [1, 0]),
    prompt("d", "C", [0, 0]),
]
for _one in (*BASELINE, *WITH_SKILL):
    for _e in _one["expectations"]:
        _e["passed"] = bool(_e["passed"])


@pytest.fixture
def headline(tmp_path):
    def made(baseline=BASELINE, with_skill=WITH_SKILL, **document):
        path = tmp_path / "report.json"
        summary = document.pop("summary", {})
        whole = {"summary": summary, "baseline": baseline, "with_skill": with_skill, **document}
        path.write_text(json.dumps(whole), "utf-8")
        return of_file(path)

    return made


def test_the_four_units_are_four_numbers(headline):
    found = headline()
    assert (found.baseline, found.with_skill) == (Count(met=3, total=10), Count(met=5, total=10))
    expected = {
        "expectations": 2 / 7,
        "cases": 1 - (0.25 + 0.5 + 0.5 + 1) / (0.75 + 0.5 + 1 + 0.5),
        "archetype mean": (0.5 + 0.5 - 1) / 3,
        "archetype median": 0.5,
    }
    assert lifts(found).keys() == expected.keys()
    for over, value in expected.items():
        assert isclose(lifts(found)[over], value, abs_tol=1e-12), over
    assert [(one.archetype, one.prompts, one.lift) for one in found.archetypes] == [
        ("A", 2, pytest.approx(0.5, abs=1e-12)),
        ("B", 1, 0.5),
        ("C", 1, -1.0),
    ]


def test_the_interval_follows_its_seed(tmp_path, headline):
    first, again = headline(), headline()
    assert first.lifts == again.lifts
    other = headlines.headline(first.report, rng=np.random.default_rng(2), scoring=Rule.SOURCE)
    assert lifts(other) == lifts(first)
    assert other.lifts[0].conf_low != first.lifts[0].conf_low


@pytest.mark.parametrize(
    ("summary", "names"),
    [
        ({"baseline_pct": 0.3, "with_skill_pct": 0.5, "lift_pct": 2 / 7}, []),
        ({"baseline_pct": 0.31}, ["the baseline pass rate"]),
        ({"with_skill_pct": 0.49}, ["the pass rate with the skill"]),
        ({"lift_pct": 0.2}, ["the lift"]),
        ({"per_archetype": {"A": {"lift_pct": 0.5}, "B": {"baseline_pct": 0.1}}},
         ["of archetype B the baseline pass rate"]),
    ],
)  # fmt: skip
def test_figures_that_do_not_follow_from_the_parts_are_refused(headline, summary, names):
    found = headline(summary=summary)
    assert [difference.name for difference in found.differences] == names
    assert bool(found.refusals) == bool(found.lifts == ()) == bool(names)


def test_a_report_without_one_arm_or_with_too_few_prompts_is_refused(headline):
    assert headline(with_skill=[]).refusals == (
        "one arm is not there: a lift needs both",
        "no expectation is decided in both arms",
    )
    assert headline([prompt("a", "A", [])], [prompt("a", "A", [])]).refusals == (
        "no expectation is decided in both arms",
    )
    assert headline(eval_count=5).refusals == ("it lists 4 of its 5 prompts: the rest cannot be recomputed",)
    assert headline(eval_count=4).refusals == ()
    assert "1 prompt(s) are in one arm only" in headline(with_skill=WITH_SKILL[1:]).refusals[0]


def test_arms_held_to_different_expectations_are_refused(headline):
    other = copy.deepcopy(WITH_SKILL)
    other[1]["expectations"][0]["id"] = "z"
    (refusal,) = headline(with_skill=other).refusals
    assert refusal == "1 prompt(s) were held to different expectations; 9 are in both arms"


def test_only_what_is_decided_in_both_arms_counts(tmp_path):
    free = {"id": "m", "kind": "manifest_check", "passed": True, "detail": "no manifest"}
    checked = {**free, "passed": False, "detail": "two arguments are missing"}
    off, on = copy.deepcopy(BASELINE[:1]), copy.deepcopy(WITH_SKILL[:1])
    off[0]["expectations"].append(free)
    on[0]["expectations"].append(checked)
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"summary": {}, "baseline": off, "with_skill": on}), "utf-8")
    ours, source = of_file(path, Rule.OURS), of_file(path, Rule.SOURCE)
    assert (ours.baseline, ours.with_skill) == (Count(met=1, total=4), Count(met=3, total=4))
    assert (source.baseline, source.with_skill) == (Count(met=2, total=5), Count(met=3, total=5))


def test_a_baseline_without_headroom_has_no_lift(headline):
    full = [prompt("a", "A", [True, True]), prompt("b", "B", [True])]
    found = headline(full, full)
    assert set(lifts(found).values()) == {None}
    assert any("no headroom and no lift" in caveat for caveat in found.caveats)


def test_a_report_of_nothing_is_refused_and_not_a_crash(headline):
    found = headline([], [])
    assert found.refusals and found.lifts == ()
    headlines.document(found)


@pytest.mark.parametrize(
    ("baseline", "with_skill", "lift"),
    [(0.0, 1.0, 1.0), (0.5, 0.25, -0.5), (1.0, 1.0, None), (None, 0.5, None), (0.5, None, None)],
)
def test_lift_is_the_share_of_the_headroom(baseline, with_skill, lift):
    assert lift_of(baseline, with_skill) == lift


def test_the_document_keeps_its_schema(headline):
    document = headlines.document(headline(summary={"lift_pct": 0.2}))
    contract.validate(document, "lift-headline.v1")
    assert document["differences"] == [
        {"name": "the lift", "declared": 0.2, "recomputed": pytest.approx(2 / 7)}
    ]
    assert contract.schema("lift-headline.v1")["properties"]["scoring"]["enum"] == list(Rule)
