"""Ledgers: every decision with its error rates; a line that is none is named, and a name is never a way out."""

import json

import pytest


def test_decisions_stand_with_their_error_rates_newest_first(publish, decide, build, read):
    version = publish("lift", "demo")
    decide("demo", "pass", day=1, false_block=0.0004, runs_needed=None)
    decide("demo", "regression", report=f"lift/demo/{version.name}", reason="it fell", day=2)
    page = read(build().path / "suites/demo.html")
    assert "2 decisions: 1 pass, 1 regression." in page
    assert "2026-11-02 03:00 regression three-verdict lift 0001 it fell" in page
    assert "2026-11-02 03:00 regression +0.02 0.100 1.3% 36% 0.166 0" in page
    assert "2026-11-01 03:00 pass +0.02 0.100 &lt; 0.1% 36% 0.166 n/a".replace("&lt;", "<") in page
    assert page.index("2026-11-02 03:00") < page.index("2026-11-01 03:00")


def test_a_suite_that_only_a_gate_knows_has_a_page(decide, build, read):
    decide("other")
    assert "There is no report on other that can be shown; its gates decided all the same." in read(
        build().path / "suites/other.html"
    )


def test_more_decisions_than_fit_are_counted(publish, decide, build, read):
    for day in range(40):
        decide("demo", day=1 + day % 28)
    page = read(build().path / "suites/demo.html")
    assert "40 decisions: 40 pass. The last 30 are shown." in page


@pytest.mark.parametrize(
    "line",
    ["{not a decision", "[" * 200_000, '{"suite": "demo"}', "null", '{"a": NaN}', "\\ud800"],
    ids=["torn", "deep", "short", "null", "nan", "text"],
)
def test_a_line_that_is_no_decision_is_named_and_the_rest_is_shown(decide, build, read, tmp_path, line):
    decide("demo")
    with (tmp_path / "gates/demo.jsonl").open("a") as ledger:
        ledger.write(line + "\n")
    built = build()
    assert built.problems == ("gates/demo.jsonl:2: is no decision of a gate on demo; it is not shown",)
    assert "1 decision: 1 pass." in read(built.path / "suites/demo.html")


@pytest.mark.parametrize("name", ["../../../evil", "/tmp/evil", "Evil", "", "other"])
def test_a_decision_names_the_suite_of_its_ledger_or_counts_for_nothing(decide, build, tmp_path, name):
    decide("demo")
    path = tmp_path / "gates/demo.jsonl"
    path.write_text(path.read_text() + json.dumps({**json.loads(path.read_text()), "suite": name}) + "\n")
    built = build("a/b/site")
    assert len(built.problems) == 1 and not list(tmp_path.rglob("*evil*"))
    assert [path.name for path in (built.path / "suites").iterdir()] == ["demo.html"]


def test_a_ledger_that_cannot_be_read_and_one_of_no_suite_are_told(decide, build, tmp_path):
    decide("demo")
    (tmp_path / "gates/folder.jsonl").mkdir()
    (tmp_path / "gates/No Suite.jsonl").write_text("{}\n")
    assert build().problems == (
        "a file among the ledgers is named after no suite; it is not read",
        "gates/folder.jsonl: cannot be read: Is a directory",
    )


def test_decisions_on_a_private_suite_are_neither_shown_nor_named(decide, write_public, build, every_page):
    decide("hush")
    write_public("hush", visibility="private_holdout")
    built = build()
    assert built.problems == ("a ledger is of a private suite; it is neither read nor named",)
    assert "hush" not in every_page(built)
