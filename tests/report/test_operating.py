"""The operating characteristic: every piece of a curve is drawn, and its reading is worked out from it."""

import pytest

from evalstats.report import theme
from evalstats.report.operating import operating_curve

CURVES = {
    "as measured": [(0.0, 0.01), (0.05, 0.2), (0.1, 0.85), (0.2, 1.0)],
    "at the bound": [(0.0, 0.04), (0.05, 0.25), (0.1, 0.7), (0.2, 0.99)],
}


def drawn(curves=CURVES, width=theme.WIDE):
    return operating_curve(curves, margin=0.1, alpha=0.05, power=0.8).draw(width)


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_piece_and_what_was_promised_are_drawn(width):
    marks = theme.count_marks(drawn(width=width).svg)
    assert marks["m_curve_as_measured"] == marks["m_curve_at_the_bound"] == 3
    assert marks["m_dots"] == 4  # each curve where nothing changed and at the margin
    assert marks["m_promised"] == 3 and marks["m_names"] == 2


def test_the_reading_says_both_errors_of_each_curve_and_what_was_asked():
    assert operating_curve(CURVES, margin=0.1, alpha=0.05, power=0.8).reading == (
        "As measured, it blocks an unchanged suite 1% of the time and one that dropped by 0.1 85% of the time;"
        " at the bound, it blocks an unchanged suite 4% of the time and one that dropped by 0.1 70% of the time;"
        " asked for are at most 5% and at least 80%."
    )


def test_names_of_curves_that_end_alike_stand_apart():
    spec = drawn().spec()
    layer = next(each["data"]["name"] for each in spec["layer"] if each["name"] == "m_names")
    high, low = sorted(row["y"] for row in spec["datasets"][layer])
    assert low - high >= 14.9


def test_no_curve_is_said_and_not_drawn():
    figure = operating_curve({"as measured": []}, margin=0.1, alpha=0.05, power=0.8)
    assert figure.reading == "There is nothing to draw." and set(theme.count_marks(figure.wide.svg)) == set()
