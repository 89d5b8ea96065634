"""An error is one line that names file, line, field and what is wrong; the exit code says who must act."""

from pathlib import Path

import pytest

from evalstats import errors
from evalstats.errors import AdapterError, DocumentError, EvalstatsError, Problem, SuiteError, UsageError


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "no such run"),
        ({"path": "a.json"}, "a.json: no such run"),
        ({"path": Path("a.json"), "line": 3}, "a.json:3: no such run"),
        ({"path": "a.json", "line": 3, "field": "/id"}, "a.json:3: /id: no such run"),
        ({"field": "--run"}, "--run: no such run"),
        ({"line": 3}, "no such run"),
    ],
)
def test_an_error_is_one_line(place, text):
    error = EvalstatsError("no such run", **place)
    assert str(error) == text
    assert error.lines() == [text]


def test_the_place_is_kept_as_attributes():
    error = UsageError("no such run", path="a.json", line=3, field="--run")
    assert (error.message, error.path, error.line, error.field) == (
        "no such run",
        Path("a.json"),
        3,
        "--run",
    )
    assert UsageError("no such run").path is None


def test_a_document_error_holds_every_problem():
    found = [Problem("/id", "is missing", 2), Problem("", "has no cases"), Problem("/a~1b", "is odd", 7)]
    error = SuiteError("s.json", found)
    assert error.problems == tuple(found)
    assert str(error) == "s.json:2: /id: is missing (and 2 more)"
    assert error.lines() == [
        "s.json:2: /id: is missing",
        "s.json: (document): has no cases",
        "s.json:7: /a~1b: is odd",
    ]


def test_a_single_problem_counts_no_others():
    assert str(DocumentError("s.json", [Problem("", "is not JSON", 1)])) == "s.json:1: is not JSON"
    assert DocumentError(None, [Problem("", "is not JSON")]).lines() == [
        "(document): (document): is not JSON"
    ]


def test_exit_codes_say_who_must_act():
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, EvalstatsError)]
    assert {kind.__name__: kind.exit_code for kind in kinds if kind.exit_code != 2} == {"AdapterError": 3}
    assert AdapterError in kinds and len(kinds) >= 8


def test_every_error_has_a_docstring_and_one_base():
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert all(issubclass(kind, EvalstatsError) and kind.__doc__ for kind in kinds)
