"""JUnit XML: repeats, reruns, expected failures, entities, counts."""

import pytest

from evalstats.contract import Outcome
from evalstats.errors import LogError


def suite(*cases, tests=None, more=""):
    counted = len(cases) if tests is None else tests
    body = "".join(cases)
    return f'<testsuite name="s" tests="{counted}" timestamp="2026-01-01T00:00:00+02:00" {more}>{body}</testsuite>'


def case(name, inside=""):
    return f'<testcase classname="t" name="{name}" time="0.1">{inside}</testcase>'


def told(found):
    return [(f.row.case_id, f.row.trial_index, f.row.score) for f in found]


def test_repeats_are_trials_of_one_case(sample, read):
    reading, found = read(sample("junit"))
    assert told(found) == [
        ("t::test_a", 1, 1.0), ("t::test_a", 2, 0.0), ("t::test_b[x]", 1, 1.0), ("t::test_b[x]", 2, None),
        ("t::test_c", 1, None), ("t::test_d[3-4]", 1, 1.0),
    ]  # fmt: skip
    assert [f.row.outcome for f in found][3:5] == [Outcome.INFRASTRUCTURE, Outcome.SKIPPED]
    assert found[4].trial.reason == "known" and found[4].trial.error_class == "pytest.xfail"
    assert found[1].trial.reason == "no λ"
    assert found[0].trial.tokens_out == 7 and found[0].trial.dimension_scores == {"tokens": 7.0}
    assert all(d.agrees for d in reading.files[0].declared) and len(reading.files[0].declared) == 4


def test_two_parameters_are_no_repeat(sample, read):
    text = suite(case("m[1-5]"), case("m[2-9]"), case("n[1-3]"), case("n[2-3]"), case("n[3-3]"))
    _, found = read(sample("junit", text=text))
    assert told(found) == [
        ("t::m[1-5]", 1, 1.0), ("t::m[2-9]", 1, 1.0), ("t::n", 1, 1.0), ("t::n", 2, 1.0), ("t::n", 3, 1.0),
    ]  # fmt: skip


def test_reruns_leave_bare_elements_that_are_no_passes(sample, read):
    text = suite(case("a"), case("a"), case("a", "<failure message='x'/>"), case("b"), tests=2)
    reading, found = read(sample("junit", text=text))
    assert told(found) == [("t::a", 1, 0.0), ("t::b", 1, 1.0)]
    assert "2 earlier attempts of rerun tests were left out" in reading.files[0].warnings


def test_a_name_that_repeats_within_the_count_is_a_repeat(sample, read):
    _, found = read(sample("junit", text=suite(case("a"), case("a", "<failure/>"))))
    assert told(found) == [("t::a", 1, 1.0), ("t::a", 2, 0.0)]


def test_counts_that_do_not_agree_and_elements_nobody_knows(sample, read):
    reading, _ = read(sample("junit", text=suite(case("a", "<fbilure/>"), more='failures="1"')))
    assert [d.name for d in reading.files[0].declared if not d.agrees] == ["failures"]
    assert "elements that no test report has: fbilure" in reading.files[0].warnings


def test_a_property_can_be_the_score(sample, read):
    inside = '<properties><property name="quality" value="0.25"/></properties>'
    _, found = read(
        sample("junit", text=suite(case("a", inside))), metric="quality", cluster_key="properties.quality"
    )
    assert (found[0].row.score, found[0].row.archetype) == (0.25, "0.25")


USED = '<testsuite name="s"><testcase name="&b;"/></testsuite>'
BOMB = f'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>{USED}'
EXTERNAL = f'<!DOCTYPE x [<!ENTITY b SYSTEM "file:///etc/passwd">]>{USED}'


@pytest.mark.parametrize(
    "text", [BOMB, EXTERNAL, '<!DOCTYPE x><testsuite name="s"><testcase name="a"/></testsuite>']
)
def test_no_entity_is_expanded(text, sample, read):
    with pytest.raises(LogError, match="declares entities or a document type"):
        read(sample("junit", text=text))


@pytest.mark.parametrize(
    "text",
    [
        "<testsuite ",
        "<testsuite><testcase></testsuite>",
        "<html><testsuite ></html>",
        "<testsuite>&x;</testsuite>",
    ],
)
def test_what_is_no_xml_is_one_line(text, sample, read):
    with pytest.raises(LogError) as caught:
        read(sample("junit", text=text))
    assert "\n" not in str(caught.value)


def test_a_declared_encoding_does_not_count(sample, read):
    path = sample("junit")
    head = '<?xml version="1.0" encoding="iso-8859-1"?>'
    path.write_bytes(f"{head}{suite(case('é'))}".encode())
    assert read(path)[1][0].row.case_id == "t::é"
    path.write_bytes(f"{head}{suite(case('é'))}".encode("latin-1"))
    with pytest.raises(LogError, match="not UTF-8 at byte"):
        read(path)


def test_nested_suites_and_naive_times(sample, read):
    text = f'<testsuites><testsuite name="outer">{suite(case("a"))}</testsuite></testsuites>'
    _, found = read(sample("junit", text=text))
    assert len(found) == 1 and found[0].run.created_at == "2025-12-31T22:00:00.000Z"
