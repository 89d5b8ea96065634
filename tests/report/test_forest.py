import numpy as np
import pandas as pd
import pytest

from evalstats.report import theme
from evalstats.report.forest import archetype_bars, forest, tick_labels, ticks


def texts(figure, width=theme.WIDE):
    from xml.etree import ElementTree

    drawing = figure.wide if width == theme.WIDE else figure.narrow
    return [t.text for t in ElementTree.fromstring(drawing.svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_known_row_is_drawn(by_archetype, total, width):
    drawing = archetype_bars(by_archetype, total=total).draw(width)
    drawn = theme.count_marks(drawing.svg)
    assert drawn["m_row_points"] == drawn["m_row_intervals"] == 12  # the thirteenth is unknown
    assert drawn["m_row_labels"] == drawn["m_row_values"] == 13
    assert drawn["m_total_points"] == drawn["m_total_intervals"] == 1


def test_the_reading_is_computed(by_archetype, total):
    assert archetype_bars(by_archetype, total=total).reading == (
        "Difference of mean scores with 80% intervals: 3 of 13 lie wholly above zero (A12 deprecations, A3 import,"
        " A1 scaffold), none lies wholly below zero; 1 could not be computed. All cases: +0.11 [+0.07, +0.15]."
    )


def test_the_largest_stands_first_and_the_unknown_last(by_archetype):
    shuffled = by_archetype.sample(frac=1, random_state=1)
    figure = archetype_bars(shuffled)
    labels = [text for text in texts(figure) if text.startswith("A")]
    assert labels[0] == "A12 deprecations" and labels[-1] == "A13 policy"


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_n_stands_beside_every_row(by_archetype, width):
    assert sum("n=" in text for text in texts(archetype_bars(by_archetype), width)) == 13


def test_colour_says_whether_zero_is_excluded(by_archetype):
    svg = archetype_bars(by_archetype).wide.svg
    assert svg.count(f'fill="{theme.ON}"') == 3
    assert svg.count(f'fill="{theme.MUTE}"') == 9


def test_a_forest_of_rates(bands):
    figure = forest(bands, label="arm")
    assert figure.reading == (
        "Mean score with 80% intervals: from skill-off 0.54 [0.49, 0.60] to skill-on 0.65 [0.59, 0.71]."
    )
    assert "0.65 [0.59, 0.71]" in texts(figure)


def test_nothing_known(by_archetype):
    unknown = by_archetype.tail(1)
    figure = forest(unknown, label="archetype")
    assert figure.reading == (
        "Difference of mean scores with 80% intervals: none could be computed (one case: no spread)."
    )
    assert "m_row_points" not in theme.count_marks(figure.wide.svg)


def test_nothing_at_all(by_archetype):
    assert forest(by_archetype.head(0), label="archetype").reading == "There is nothing to draw."
    assert archetype_bars(by_archetype.head(0)).wide.svg.startswith("<svg")


def test_a_single_point_has_room(bands):
    one = bands.head(1).assign(conf_low=0.65, conf_high=0.65)
    assert theme.count_marks(forest(one, label="arm").wide.svg)["m_row_points"] == 1


def test_the_same_rows_give_the_same_bytes(by_archetype, total):
    first, second = (archetype_bars(by_archetype, total=total).wide for _ in range(2))
    assert first.svg == second.svg and first.spec() == second.spec()


def test_long_and_hostile_labels(bands):
    frame = pd.DataFrame([{**bands.iloc[0], "arm": "x" * 500}, {**bands.iloc[1], "arm": "<b>&\u202e"}])
    assert {"x" * 29 + "…", "<b>&\\u202e"} <= set(texts(forest(frame, label="arm")))


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-0.28, 0.62, ["−0.2", "0.0", "+0.2", "+0.4", "+0.6"]),
        (0.58, 0.73, ["0.60", "0.65", "0.70"]),
    ],
)
def test_ticks_are_round(low, high, labels):
    assert tick_labels(ticks(low, high), signed=low < 0) == labels
    assert all(low <= tick <= high for tick in ticks(low, high))
    assert len(ticks(0, float(np.nextafter(0.1, 1)))) >= 3
