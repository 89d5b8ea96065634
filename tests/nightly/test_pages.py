"""A night in words, as Markdown and as JUnit XML: complete, escaped, and counted right."""

from dataclasses import replace

import pytest
from defusedxml import ElementTree

from evalstats.gate import Asked, decide
from evalstats.nightly import Night, Part, junit, sentences, summary

POLICY = {
    "schema_version": 1,
    "suite": "door",
    "rule": "three-verdict",
    "statistic": "pass_rate",
    "margin": 0.1,
    "alpha": 0.05,
    "history": {"minimum": 8, "window": 28},
}
SCORES = [0.80, 0.82, 0.79, 0.81, 0.80, 0.78, 0.82, 0.80, 0.60]


@pytest.fixture
def judged():
    rows = [
        {
            "run_id": f"n{n}", "group_id": f"n{n}", "arm": "skill-on", "score": score, "seed": n, "n_cases": 1,
            "started_at": f"2026-01-{n:02}T02:00:00Z", "n_trials": 80, "usable": 80, "infrastructure": 0,
            "is_mock": False, "identity": {"suite_scoring": "a" * 64},
        }
        for n, score in enumerate(SCORES, 1)
    ]  # fmt: skip
    report = {"series": rows, "data": {"suite_id": "door", "case_ids": ["c"]}}
    return decide(report, POLICY, Asked(as_of="2026-02-01")).as_record()


@pytest.fixture
def night(judged):
    run = {"group_id": "g", "n_trials": 1, "n_lost": 0}
    failed = {**run, "runs": [{"run_id": "g", "arm": "skill-on", "status": "fail", "aggregate_score": 0.0}]}
    common = {"tier": "headless", "gated": False, "blocks": True}
    parts = [
        Part(**{**common, "suite": "door", "gated": True, "judged": judged, "seconds": {"run": 1.25}}),
        Part(**common, suite="broken", error='reports: <b>"no" & never|</b>'),
        Part(**{**common, "suite": "live", "tier": "live", "blocks": False, "runs": (failed,)}),
        Part(**{**common, "suite": "unjudged", "gated": True}),
    ]
    named = {part.suite: part for part in parts}
    return Night(date="2026-03-01", simulated=True, began_at="2026-12-01T02:00:00.000Z", parts=named)


def test_the_first_line_is_the_verdict_and_a_rehearsal_says_so(night):
    lines = sentences(night)
    assert lines[0] == "NIGHT OF 2026-03-01: REGRESSION"
    assert "set by hand" in lines[1]
    assert "  live: advisory: a live suite that was not ratcheted" in lines
    real = replace(night, simulated=False)
    assert not any("by hand" in line for line in sentences(real))


def test_the_job_page_shows_every_suite_and_no_markup_of_theirs(night):
    page = summary(night)
    assert page.startswith("# Night of 2026-03-01: regression\n")
    assert "| door | yes | 0 | regression | +0.20" in page
    assert "| live | advisory | 1 | regression |" in page and "| unjudged | yes | 0 | not judged |" in page
    assert "<b>" not in page and "&lt;b&gt;" in page
    assert "## Gate: regression" in page and "- exit code: 1" in page


def test_the_test_report_counts_what_blocks_and_skips_advice(night):
    root = ElementTree.fromstring(junit(night))
    counted = {
        each.get("name"): tuple(each.get(k) for k in ("tests", "failures", "errors", "skipped"))
        for each in root.iter("testsuite")
    }
    assert counted == {
        "night broken": ("1", "0", "1", "0"),
        "gate door": ("1", "1", "0", "0"),
        "night live": ("1", "0", "0", "1"),
        "night unjudged": ("1", "0", "0", "1"),
    }
    assert root.find(".//error").get("message") == 'reports: <b>"no" & never|</b>'
