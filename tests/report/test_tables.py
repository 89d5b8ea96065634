import csv
import io
import math

import numpy as np
import pandas as pd
import pytest

from evalstats.report import tables
from evalstats.report.tables import Column, Table


@pytest.mark.parametrize(
    ("write", "value", "shown"),
    [
        (tables.rate, 0.543, "0.54"),
        (tables.rate, -0.001, "0.00"),
        (tables.rate, -0.25, "−0.25"),
        (tables.percent, 0.8, "80%"),
        (tables.percent, 0.0, "0%"),
        (tables.signed, 0.111, "+0.11"),
        (tables.signed, -0.05, "−0.05"),
        (tables.signed, 0.004, "0.00"),
        (tables.points, 0.0824, "+8.2pp"),
        (tables.points, -0.15, "−15.0pp"),
        (tables.points, 0.0001, "0.0pp"),
        (tables.count, 3600, "3,600"),
        (tables.count, np.int64(0), "0"),
        (tables.p_value, 0.0123, "0.012"),
        (tables.p_value, 0.00001, "< 0.001"),
        (tables.number, 0.02134, "0.0213"),
        (tables.number, 1234.5, "1,234"),
        (tables.number, 0, "0"),
        (tables.number, 17.36, "17.4"),
    ],
)
def test_numbers(write, value, shown):
    assert write(value) == shown


def test_intervals():
    assert tables.interval(0.58, 0.72) == "[0.58, 0.72]"
    assert tables.interval(-0.03, 0.15, tables.signed) == "[−0.03, +0.15]"


def test_an_unknown_number_says_why():
    row = {
        "estimate": math.nan,
        "conf_low": math.nan,
        "conf_high": math.nan,
        "caveats": ("one case", "other"),
    }
    assert tables.estimate(row) == "n/a — one case"
    assert tables.interval_of({**row, "caveats": []}) == "n/a"
    assert tables.interval_of({**row, "caveats": "as text"}) == "n/a — as text"


@pytest.mark.parametrize("value", [None, math.nan, np.float64("nan"), pd.NA, pd.NaT])
def test_missing(value):
    assert tables.is_missing(value)


@pytest.mark.parametrize("value", [0, 0.0, "", False, np.int64(0), "nan"])
def test_not_missing(value):
    assert not tables.is_missing(value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain — Ünïcode\nline", "plain — Ünïcode\nline"),
        ("a\x1b[31mred\x00", "a\\x1b[31mred\\x00"),
        ("user\u202egpj.exe", "user\\u202egpj.exe"),
        ("half \ud800 pair", "half \\ud800 pair"),
        ("zero\u200bwidth\u2028", "zero\\u200bwidth\\u2028"),
    ],
)
def test_nothing_in_a_text_can_act(text, shown):
    assert tables.visible(text) == shown
    shown.encode()


def test_shortened():
    assert tables.shortened("two\n words", 20) == "two words"
    assert tables.shortened("a" * 30, 10) == "a" * 9 + "…"


def test_an_estimate_never_stands_without_its_interval(bands):
    table = Table("bands", "Bands", bands, ["arm", "estimate"])
    assert table.cells() == [["skill-on", "0.65 [0.59, 0.71]"], ["skill-off", "0.54 [0.49, 0.60]"]]
    assert table.as_document()["columns"][1]["title"] == "Estimate [80% interval]"


def test_the_usual_columns_of_estimates(by_archetype):
    document = Table("a", "A", by_archetype).as_document()
    assert [column["title"] for column in document["columns"]] == [
        "Archetype", "Estimand", "Estimate [80% interval]", "Cases", "Trials", "Population", "Method",
    ]  # fmt: skip
    assert document["cells"][0][2] == "+0.38 [+0.17, +0.59]"
    assert document["cells"][-1][2] == "n/a — one case: no spread"
    assert document["rows"] == 13


def test_formats_follow_the_kind_of_a_column():
    frame = pd.DataFrame(
        {"n_runs": [1200], "score": [0.5], "cost": [12.345], "is_mock": [True], "case_id": ["c"]}
    )
    document = Table("t", "T", frame).as_document()
    assert document["cells"] == [["1,200", "0.50", "12.3", "yes", "c"]]
    assert [column["numeric"] for column in document["columns"]] == [True, True, True, False, False]
    assert [column["title"] for column in document["columns"]] == [
        "Runs",
        "Score",
        "Cost",
        "Is mock",
        "Case id",
    ]


def test_unknown_columns_and_formats_are_refused():
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(ValueError, match="no column 'b'; known: a"):
        Table("t", "T", frame, ["b"])
    with pytest.raises(ValueError, match="got 'euro'"):
        Table("t", "T", frame, [Column("a", "A", "euro")])


def test_csv_is_unrounded_and_complete():
    frame = pd.DataFrame(
        {"x": [0.1 + 0.2, math.nan], "n": [1, 2], "caveats": [("a", "b"), ()], "flag": [True, False]}
    )
    text = Table("t", "T", frame, ["n"]).csv()
    assert text == "x,n,caveats,flag\n0.30000000000000004,1,a; b,True\n,2,,False\n"
    assert float(next(csv.reader(io.StringIO(text.splitlines()[1])))[0]) == 0.1 + 0.2


@pytest.mark.parametrize("text", ["=cmd|'/c calc'!A0", "+1", "-1", "@SUM(A1)", " =1+1", "\t=1", "＝1+1"])
def test_csv_holds_no_formula(text):
    written = next(
        csv.reader(io.StringIO(Table("t", "T", pd.DataFrame({"a": [text]})).csv().split("\n", 1)[1]))
    )[0]
    assert written == f"'{tables.visible(text)}"


def test_csv_leaves_negative_numbers_alone():
    assert Table("t", "T", pd.DataFrame({"a": [-0.25], "b": [-3]})).csv() == "a,b\n-0.25,-3\n"


def test_a_table_shows_itself_in_a_notebook():
    html = Table("t", "<b>T</b>", pd.DataFrame({"a": ["<script>"]}))._repr_html_()
    assert "&lt;script&gt;" in html and "<script" not in html and "&lt;b&gt;T" in html
