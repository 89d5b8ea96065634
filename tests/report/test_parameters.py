import math
from pathlib import Path

import pytest

from evalstats.errors import ReportError, UsageError
from evalstats.report.parameters import checked, declared, parse_parameters

DECLARED = {"suite": "demo", "level": 0.8, "seed": 7, "loud": False}


def notebook(source, count=1):
    return {
        "cells": [{"metadata": {"tags": ["parameters"]}, "source": source}] * count
        + [{"metadata": {}, "source": ""}]
    }


def test_declared_reads_the_literals():
    source = ['suite = "demo"  # which\n', "level: float = 0.8\n", "seed = -7\n", "loud = False\n"]
    assert declared(notebook(source)) == {"suite": "demo", "level": 0.8, "seed": -7, "loud": False}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = None", "x: a default is a literal"),
        ("x = [1]", "x: a default is a literal"),
        ("x = 1 + y", "x: a default is a literal"),
        ("x = __import__('os').system('true')", "x: a default is a literal"),
        ("import os", "holds assignments only"),
        ("a = b = 1", "holds assignments only"),
        ("a, b = 1, 2", "holds assignments only"),
        ("x: int", "holds assignments only"),
        ("x = (", "is not Python"),
    ],
)
def test_anything_else_is_refused(source, message):
    with pytest.raises(ReportError, match=message):
        declared(notebook(source))


@pytest.mark.parametrize("count", [0, 2])
def test_there_is_one_parameters_cell(count):
    with pytest.raises(ReportError, match=f"this one has {count}"):
        declared(notebook("x = 1", count))


def test_defaults_stand_where_nothing_is_given():
    assert checked(DECLARED, {}) == DECLARED
    assert list(checked(DECLARED, {})) == sorted(DECLARED)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ReportError, match=r"^unknown parameter 'nope'; this notebook knows: level, loud, seed, suite$"
    ):
        checked(DECLARED, {"nope": 1})
    with pytest.raises(ReportError, match="unknown parameter"):
        checked(DECLARED, {"x = 1\nimport os\ny": 1})


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("level", "0.9", 0.9),
        ("seed", "42", 42),
        ("loud", "true", True),
        ("loud", "No", False),
        ("suite", "12", "12"),
        ("suite", '"; import os; "', '"; import os; "'),
    ],
)
def test_values_become_what_is_declared(name, given, read):
    value = checked(DECLARED, {name: given})[name]
    assert value == read and type(value) is type(read)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("level", math.nan), ("level", math.inf), ("level", "nan"), ("level", "inf"), ("level", True),
        ("level", "high"),
        ("seed", True), ("seed", 1.0), ("seed", "1.5"), ("seed", 2**53), ("seed", None), ("seed", [1]),
        ("loud", 1), ("loud", "maybe"),
        ("suite", 1), ("suite", b"x"), ("suite", Path("x")), ("suite", ("x",)), ("suite", None),
    ],
)  # fmt: skip
def test_anything_that_is_not_is_refused(name, given):
    with pytest.raises(ReportError, match=f"^{name}: "):
        checked(DECLARED, {name: given})


def test_a_whole_number_may_stand_for_a_float():
    assert repr(checked({"width": 2.5}, {"width": 1})) == "{'width': 1.0}"


def test_a_subclass_of_str_is_no_str():
    class Sly(str):
        pass

    with pytest.raises(ReportError, match="got Sly"):
        checked(DECLARED, {"suite": Sly("x")})


def test_parameters_of_a_command_line():
    assert parse_parameters(["suite=a=b", "level=0.9"]) == {"suite": "a=b", "level": "0.9"}
    for wrong in ("suite", "=x", "a b=1", "x;y=1"):
        with pytest.raises(UsageError, match="is not NAME=VALUE"):
            parse_parameters([wrong])
    with pytest.raises(UsageError, match="given twice"):
        parse_parameters(["a=1", "a=2"])


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("level", "2", "level: must lie between 0 and 1; got 2"),
        ("level", 0, "level: must lie between 0 and 1; got 0"),
        ("level", 1.0, "level: must lie between 0 and 1; got 1"),
        ("margin", -0.1, "margin: must lie between 0 and 1; got -0.1"),
        ("seed", "-1", "seed: must be 0 or more; got -1"),
    ],
)
def test_a_number_without_sense_is_refused(name, given, message):
    with pytest.raises(ReportError) as caught:
        checked({**DECLARED, "margin": 0.1}, {name: given})
    assert str(caught.value) == message


def test_a_default_without_sense_is_refused_too():
    with pytest.raises(ReportError, match="level: must lie between 0 and 1"):
        checked({"level": 80.0}, {})
    assert checked({"level": "high"}, {"level": "low"}) == {"level": "low"}


def test_the_store_is_not_offered_and_not_taken():
    with pytest.raises(ReportError, match=r"this notebook knows: level, loud, seed, suite$"):
        checked({**DECLARED, "store": "x"}, {"nope": 1})
    with pytest.raises(ReportError, match=r"^store: is set by the build; say which store with --store$"):
        checked({**DECLARED, "store": "x"}, {"store": "y"})
