"""Paths into JSON, and what counts as the same."""

import pytest

from evalstats.runner.evidence import Absent, at_path, same, short, steps


@pytest.mark.parametrize(
    "path, expected",
    [
        ("$", []),
        ("", []),
        ("a", ["a"]),
        ("$.a.b[0]", ["a", "b", 0]),
        ("a.b.0", ["a", "b", "0"]),
        ('$["a.b"].c', ["a.b", "c"]),
        ("$[0][12]", [0, 12]),
        ("stdout", []),
        ("stdout.field", ["field"]),
        ("stdout[0].a", [0, "a"]),
        ("$.stdout.a", ["stdout", "a"]),
        ("stdouts.a", ["stdouts", "a"]),
        ("stdout..a", None),
        ("a..b", None),
        ("a.", None),
        ("a[", None),
        ("a[x]", None),
        ("$.a[*]", None),
    ],
)
def test_steps(path, expected):
    assert steps(path) == expected


def test_at_path_says_what_is_absent():
    assert at_path([{"a": None}], "0.a") is None
    with pytest.raises(Absent, match=r"nothing at 0\.b"):
        at_path([{"a": None}], "0.b")


@pytest.mark.parametrize(
    "one, other, equal",
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        (True, True, True),
        (None, 0, False),
        ("1", 1, False),
        ([1, [True]], [1.0, [True]], True),
        ([1, [True]], [1, [1]], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([], {}, False),
        ([1], [1, 2], False),
    ],
)
def test_same(one, other, equal):
    assert same(one, other) is equal is same(other, one)


def test_short_keeps_a_sentence_short():
    assert short("x" * 80) == "x" * 80
    assert short("x" * 81) == "x" * 77 + "..."
