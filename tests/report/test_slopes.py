import pandas as pd
import pytest

from evalstats.report import theme
from evalstats.report.slopes import paired_slopes


def rows_of(figure, layer, width=theme.WIDE):
    spec = figure.draw(width).spec()
    named = next(each["data"]["name"] for each in spec["layer"] if each["name"] == layer)
    return spec["datasets"][named]


def make(scores, intervals=((0.4, 0.6), (0.6, 0.9))):
    cases = pd.DataFrame([{"case_id": f"c{i}", "old": a, "new": b} for i, (a, b) in enumerate(scores)])
    fields = {"level": 0.8, "caveats": ("one case",), "n_cases": len(scores)}
    means = pd.DataFrame(
        [
            {"side": name, "estimate": mean, "conf_low": low, "conf_high": high, **fields}
            for name, mean, (low, high) in zip(("off", "on"), (0.5, 0.75), intervals, strict=True)
        ]
    )
    return paired_slopes(cases.reindex(columns=["case_id", "old", "new"]), means)


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_case_and_both_intervals_are_drawn(width):
    drawn = theme.count_marks(make([(0.0, 1.0), (1.0, 0.5), (0.5, 0.5)]).draw(width).svg)
    assert drawn["m_cases"] == drawn["m_old_dots"] == drawn["m_new_dots"] == 3
    assert drawn["m_mean_intervals"] == drawn["m_mean_points"] == 2
    assert drawn["m_names"] == drawn["m_changes"] == 2  # a case that stayed is not named


def test_the_reading_counts_who_rose_and_fell():
    assert make([(0.0, 1.0), (1.0, 0.5), (0.5, 0.5)]).reading == (
        "Of 3 cases 1 rose, 1 fell, 1 stayed; c0 (+1.00) moved most."
        " Means: off 0.50 [0.40, 0.60], on 0.75 [0.60, 0.90]."
    )


def test_colour_says_which_way():
    svg = make([(0.0, 1.0), (1.0, 0.5), (0.5, 0.5)]).wide.svg
    assert theme.ON in svg and theme.OFF in svg and theme.MUTE in svg


def test_dust_is_no_change():
    assert make([(0.3, 0.1 + 0.2)]).reading.startswith("Of 1 case 0 rose, 0 fell, 1 stayed. Means")


def test_an_unknown_interval_is_not_drawn_and_said():
    nothing = float("nan")
    figure = make([(0.0, 1.0)], ((nothing, nothing), (0.6, 0.9)))
    assert theme.count_marks(figure.wide.svg)["m_mean_intervals"] == 1
    assert "off 0.50 n/a — one case" in figure.reading


def test_names_stay_below_the_heads():
    heights = {row["text"]: row["y"] for row in rows_of(make([(0.0, 1.0)] * 8), "m_names")}
    assert len(heights) == 8 and min(heights.values()) >= 8
    assert len(set(heights.values())) == 8


def test_no_case_draws_nothing_of_cases():
    figure = make([])
    assert figure.reading == "There is nothing to draw."
    assert "m_cases" not in theme.count_marks(figure.wide.svg)


def test_the_same_rows_give_the_same_bytes():
    first, second = (make([(0.2, 0.4), (0.4, 0.2)]).wide for _ in range(2))
    assert first.svg == second.svg


def test_hostile_and_endless_names_are_words():
    cases = pd.DataFrame([{"case_id": "<script>" + "x" * 400, "old": 0.0, "new": 1.0}])
    means = pd.DataFrame(
        [
            {"side": s, "estimate": 0.5, "conf_low": 0.1, "conf_high": 0.9, "level": 0.8, "caveats": ()}
            for s in ("<b>", "y" * 90)
        ]
    )
    svg = paired_slopes(cases, means).narrow.svg
    assert "<script>" not in svg and "&lt;" in svg
