import numpy as np
import pandas as pd
import pytest

from evalstats.report import theme
from evalstats.report.cases import case_strip


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
@pytest.mark.parametrize("size", [1, 24, 50])
def test_every_case_is_drawn(cases, width, size):
    some = cases.groupby("arm").head(size)
    drawn = theme.count_marks(case_strip(some).draw(width).svg)
    assert drawn["m_skill_on_cases"] == drawn["m_skill_off_cases"] == size


def test_the_spread_is_drawn_where_it_is_known(cases):
    cases.loc[cases["arm"] == "skill-on", ["run_sd", "verdict_flips"]] = np.nan
    drawn = theme.count_marks(case_strip(cases).wide.svg)
    assert "m_skill_on_spread" not in drawn
    assert drawn["m_skill_off_spread"] == int((cases.loc[cases["arm"] == "skill-off", "run_sd"] > 0).sum())


def test_the_reading_counts(cases):
    on = cases[cases["arm"] == "skill-on"]
    always, never, flip = (on["score"] == 1).sum(), (on["score"] == 0).sum(), (on["verdict_flips"] > 0).sum()
    assert case_strip(cases).reading.startswith(
        f"skill-on: of 50 cases {always} always scored 1, {never} always 0; {flip} changed verdict between runs."
    )


def test_a_case_without_a_score_is_counted(cases):
    cases.loc[0, "score"] = np.nan
    assert case_strip(cases).reading.endswith("1 without a usable trial is not drawn.")


def test_the_most_changeable_are_named(cases):
    cases.loc[7, "verdict_flips"] = 1.0
    assert f">{cases.loc[7, 'case_id']}<" in case_strip(cases).wide.svg


def test_one_run_shows_no_change(cases):
    cases["verdict_flips"] = np.nan
    reading = case_strip(cases[cases["arm"] == "skill-off"].head(1)).reading
    assert reading.startswith("skill-off: of 1 case ")
    assert reading.endswith("; one run shows no change between runs.")


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_nothing_at_all(cases, width):
    for frame in (pd.DataFrame(), cases.head(0)):
        figure = case_strip(frame)
        assert figure.reading == "There is nothing to draw."
        assert "<svg" in figure.draw(width).svg
