import numpy as np
import pandas as pd
import pytest

from evalstats.report import theme
from evalstats.report.history import apart, run_chart


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_run_is_drawn(series, bands, width):
    drawn = theme.count_marks(run_chart(series, bands).draw(width).svg)
    assert drawn["m_skill_on_points"] == drawn["m_skill_off_points"] == 14
    assert drawn["m_skill_on_steps"] == 13
    assert drawn["m_skill_on_band"] == drawn["m_skill_on_centre"] == drawn["m_skill_on_latest"] == 1


def test_the_reading_counts_what_lies_outside(series, bands):
    values = series["score"].where(series["arm"] == "skill-on")
    outside = int(((values < 0.595) | (values > 0.705)).sum())
    reading = run_chart(series, bands).reading
    assert outside == 1
    assert "skill-on: centre 0.65, 80% band [0.59, 0.71]; 1 of 14 runs lies outside it." in reading


def test_the_order_is_that_of_time_not_of_rows(series, bands):
    shuffled = series.sample(frac=1, random_state=1)
    assert run_chart(shuffled, bands).wide.svg == run_chart(series, bands).wide.svg


def test_an_unknown_band_is_said(series, bands):
    bands.loc[0, ["conf_low", "conf_high", "std_error"]] = np.nan
    bands["caveats"] = bands["caveats"].astype(object)
    bands.at[0, "caveats"] = ("one run: nothing to spread",)
    figure = run_chart(series, bands)
    assert figure.reading.startswith("skill-on: 14 runs, no band (one run: nothing to spread).")
    drawn = theme.count_marks(figure.wide.svg)
    assert "m_skill_on_band" not in drawn and drawn["m_skill_off_band"] == 1


def test_a_run_without_a_number_is_counted(series, bands):
    series.loc[0, "score"] = np.nan
    figure = run_chart(series, bands)
    assert figure.reading.endswith("1 without a usable trial is not drawn.")
    assert theme.count_marks(figure.wide.svg)["m_skill_on_points"] == 13


def test_two_bands_for_one_arm_are_refused(series, bands):
    bands["arm"] = "skill-on"
    with pytest.raises(ValueError, match="one row per arm"):
        run_chart(series, bands)


def test_one_run_of_one_arm(series, bands):
    figure = run_chart(series.head(1), bands)
    assert theme.count_marks(figure.wide.svg)["m_skill_on_points"] == 1
    assert "steps" not in figure.wide.svg
    assert ">1 run of 50 cases<" in figure.wide.svg


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_nothing_at_all(series, bands, width):
    for frame in (pd.DataFrame(), series.head(0)):
        figure = run_chart(frame, pd.DataFrame())
        assert figure.reading == "There is nothing to draw."
        assert "<svg" in figure.draw(width).svg
    lost = run_chart(series.head(2).assign(score=np.nan, n_cases=0), pd.DataFrame())
    assert lost.reading == (
        "skill-on: 0 runs, no band (no band was estimated). skill-off: 0 runs, no band (no band was estimated)."
        " 2 without a usable trial are not drawn."
    )
    assert "m_skill_on_points" not in theme.count_marks(lost.draw(width).svg)


@pytest.mark.parametrize(
    ("heights", "moved"),
    [
        ([], []),
        ([5], [5]),
        ([0, 100], [0, 100]),
        ([10, 10], [2.5, 17.5]),
        ([0, 8, 16], [-7, 8, 23]),
        ([0, 1, 90], [-7, 8, 90]),
    ],
)
def test_labels_keep_apart(heights, moved):
    assert apart(heights, 15) == moved
