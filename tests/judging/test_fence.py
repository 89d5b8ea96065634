"""No output can know, close or imitate its fence, and nothing in it acts."""

import importlib.util
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.judging.fence import MARK_DIGITS, escaped, fenced, unescaped

spec = importlib.util.spec_from_file_location("hostile_fence", Path(__file__).with_name("hostile.py"))
hostile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hostile)

SECRET = b"s" * 32
each_output = pytest.mark.parametrize("name", hostile.OUTPUTS)


def test_the_sets_are_large_enough_and_every_injection_is_one():
    assert len(hostile.OUTPUTS) >= 50 and len(hostile.INJECTIONS) >= 20
    assert len({each["name"] for each in hostile.INJECTIONS}) == len(hostile.INJECTIONS)
    for each in hostile.INJECTIONS:
        assert each["answer"].strip() and each["task"].endswith("?")
        assert each.get("before") or each.get("after"), each["name"]
    kinds = {each["kind"] for each in hostile.INJECTIONS}
    assert {"asks", "fence", "schema"} <= kinds


@each_output
def test_the_mark_is_only_in_the_two_lines(name):
    text = hostile.OUTPUTS[name]
    found = fenced(text, secret=SECRET, seed="7:1")
    assert len(found.mark) == MARK_DIGITS and found.mark not in text.casefold()
    lines = found.text.split("\n")
    assert lines[0] == f"[output {found.mark} begins]" and lines[-1] == f"[output {found.mark} ends]"
    assert found.text.casefold().count(found.mark) == 2
    assert "\n".join(lines[1:-1]) == escaped(text)


@each_output
def test_what_acts_is_spelled_out_and_nothing_is_lost(name):
    text = hostile.OUTPUTS[name]
    inside = escaped(text)
    assert unescaped(inside) == text
    acting = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert [c for c in inside if unicodedata.category(c) in acting and c not in "\n\t"] == []
    for word in (
        "<|",
        "<end_of_turn>",
        "<END_OF_TURN>",
        "<start_of_turn>",
        "</s>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<｜",
    ):
        assert word not in inside


@each_output
def test_the_mark_cannot_be_foreseen(name):
    """Not from the seed, which the subject is told, and not from another judgement of the same text."""
    text = hostile.OUTPUTS[name]
    marks = {
        fenced(text, secret=secret, seed=seed).mark
        for secret in (SECRET, b"t" * 32)
        for seed in ("7:1", "7:2", "8:1")
    }
    assert len(marks) == 6 and hostile.OLD_MARK not in marks
    assert fenced(text, secret=SECRET, seed="7:1") == fenced(text, secret=SECRET, seed="7:1")


def test_a_text_that_holds_the_mark_gets_another():
    mark = fenced("", secret=SECRET, seed="7:1").mark
    found = fenced(f"x{mark.upper()}x", secret=SECRET, seed="7:1")
    assert found.mark != mark and found.text.casefold().count(found.mark) == 2


def test_ordinary_texts_stay_as_they_are():
    for text in (
        "def f(x):\n\treturn x < 3 and y <- 4",
        "naïve café, 日本語, 👍🏽, a\\nb, C:\\users, [1] <b>",
        r"\d+\u0041",
    ):
        assert escaped(text) == text


@given(st.text())
def test_any_text_comes_back(text):
    assert unescaped(escaped(text)) == text


@given(st.text(), st.text())
def test_different_texts_stay_different(one, other):
    assert (escaped(one) == escaped(other)) == (one == other)
