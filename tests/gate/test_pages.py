"""A verdict as a person reads it, as a job page shows it, and as a test report holds it."""

import re

import pytest
from defusedxml import ElementTree

from evalstats import gate
from evalstats.contract import GateVerdict
from evalstats.gate import pages
from evalstats.gate.checks import Check

NASTY = 'a|b <script>alert(1)</script> [x](http://e) `c` "q" & \x00 \x1b[31m \ud800 \n## more'


@pytest.fixture
def result():
    """Return a function: verdicts of the checks, and their reason -> result."""

    def told(*verdicts, reason="because"):
        checks = tuple(
            Check(
                name=f"check {n}",
                verdict=v,
                reasons=(reason,),
                drop=0.1,
                false_block=0.0125,
                power=0.8,
                mde=0.07,
            )
            for n, v in enumerate(verdicts)
        )
        return gate.GateResult(
            verdict=verdicts[0], reasons=[reason], suite="door", statistic="lift", margin=0.05, checks=checks,
            candidate=["r9"], history=["r1", "r2", "r8"], report="variance_bands/door/0001-abc", false_block=0.0125,
            power=0.8, mde=0.07,
        )  # fmt: skip

    return told


def test_the_word_comes_first_and_then_how_often_it_is_wrong(result):
    assert gate.sentences(result(GateVerdict.CANNOT_GATE)) == [
        "CANNOT GATE: door, lift, margin 0.05, three-verdict",
        "  because",
        "  this look blocks an unchanged suite 1.2% of the time, a drop of one margin 80%; "
        "it sees drops from 0.070 reliably",
    ]


def test_a_job_page_has_the_finding_each_check_and_what_it_stands_on(result):
    lines = gate.summary(result(GateVerdict.REGRESSION, GateVerdict.PASS)).splitlines()
    assert lines[0] == "## Gate: regression"
    assert "| check 0 | regression | +0.100 | 1.2% | 80% | 0.070 | – |" in lines
    assert "- history: 3 runs, r1 to r8" in lines and "- candidate: r9" in lines
    assert lines[-1] == "- exit code: 1"


def test_a_job_page_shows_any_text_as_it_is(result):
    page = gate.summary(result(GateVerdict.REGRESSION, reason=NASTY))
    assert "<script" not in page and "\\[x](http" in page
    assert page.count("\n## ") == 0 and "\x1b" not in page and "\x00" not in page


def test_a_test_report_counts_failures_errors_and_skipped(result):
    told = result(GateVerdict.REGRESSION, GateVerdict.CANNOT_GATE, GateVerdict.INCONCLUSIVE, GateVerdict.PASS)
    root = ElementTree.fromstring(gate.junit(told))
    assert {name: root.get(name) for name in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "gate door", "tests": "4", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    assert [[child.tag for child in case] for case in root] == [["failure"], ["error"], ["skipped"], []]
    assert root[0][0].get("message") == "because" and root[0].get("classname") == "gate.door"


def test_a_test_report_holds_any_text(result):
    root = ElementTree.fromstring(gate.junit(result(GateVerdict.REGRESSION, reason=NASTY)).encode())
    message = root[0][0].get("message")
    assert '<script>alert(1)</script> [x](http://e) `c` "q" &' in message
    assert not re.search(r"[\x00-\x08\x1b\ud800]", message)


def test_each_check_is_a_row_under_the_header(result):
    (row,) = pages.rows(result(GateVerdict.INCONCLUSIVE))
    assert len(row) == len(pages.HEADER)
    assert row == ("check 0", "inconclusive", "+0.100", "1.2%", "80%", "0.070", "–")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\\[x](http://e)", "\\\\\\[x](http://e)"),  # a backslash of theirs must not free the bracket
        ("a\\|b", "a\\\\\\|b"),
        ("# big", "\\# big"),
        ("~~gone~~ `code` $x$", "\\~\\~gone\\~\\~ \\`code\\` \\$x\\$"),
    ],
)
def test_no_text_frees_the_markup_after_it(text, shown):
    assert pages.plain(text) == shown


def test_a_cell_of_a_table_stays_one_cell():
    (*_, row) = pages.table(("a", "b"), [("x\\|y", "z")])
    bars = re.sub(r"\\.", "", row)  # without what is escaped
    assert bars.count("|") == 3
