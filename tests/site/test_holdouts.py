"""Of private suites the dashboard tells the published aggregate, and names no file that is none."""

import json

import pytest

AGGREGATE = {
    "schema": "holdout-aggregate.v1", "alias": "winter-set", "published_on": "2026-11-02", "ran_on": "2026-11-01",
    "arm": "skill-on", "tier": "live", "is_mock": False, "trials_per_case": 3, "cases": 25, "passed": None,
    "failed": None, "left_out": None, "pass_percent": None, "pass_percent_band": {"from": 80, "to": 100},
    "previous": None,
}  # fmt: skip


@pytest.fixture
def told(tmp_path):
    def make(name, document):
        path = tmp_path / "holdouts" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document))

    return make


def test_an_aggregate_is_shown_by_its_alias_with_what_is_withheld(told, build, read):
    told("a.json", AGGREGATE)
    previous = {
        "published_on": "2026-11-02", "same_cases": True, "verdict": "regression", "regressed": None,
        "improved": None, "still_passing": None, "still_failing": None,
    }  # fmt: skip
    later = {"ran_on": "2026-11-08", "passed": 20, "failed": 5, "pass_percent": 80, "previous": previous}
    told("b.json", AGGREGATE | later)
    first = read(build().path / "index.html")
    assert "winter-set 2026-11-01 skill-on live 25 withheld withheld 80 to 100% the first" in first
    assert "winter-set 2026-11-08 skill-on live 25 20 5 80 to 100% regression" in first
    assert first.index("2026-11-08") < first.index("2026-11-01")


def test_a_file_that_is_no_aggregate_is_counted_and_not_named(told, build, every_page):
    told("secret-suite.json", {**AGGREGATE, "case_ids": ["secret-case"]})
    built = build()
    assert built.problems == (
        "1 file(s) among the published holdouts are no public aggregate; nothing of them is shown",
    )
    assert "secret" not in every_page(built)
