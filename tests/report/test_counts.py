import pytest

from evalstats.report import theme
from evalstats.report.counts import count_bars

COUNTS = {"fresh": 46, "formatting": 0, "scoring": 8}


def figure(counts=COUNTS, **changes):
    return count_bars(counts, **{"apart": ("fresh",), "name": "n", "title": "t", "reading": "r", **changes})


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_kind_is_named_and_counted_and_only_some_have_a_bar(width):
    drawn = theme.count_marks(figure().draw(width).svg)
    assert (drawn["m_kinds"], drawn["m_counts"], drawn["m_bars"]) == (3, 3, 2)


def test_bars_are_as_long_as_their_counts():
    spec = figure(counts={"a": 4, "b": 1}).wide.spec()
    (bars,) = [layer for layer in spec["layer"] if layer["name"] == "m_bars"]
    rows = spec["datasets"][bars["data"]["name"]]
    assert [(row["from"], row["to"]) for row in rows] == [(0, 4), (0, 1)]
    assert bars["encoding"]["x"]["scale"]["domain"] == [0, 4]


def test_what_is_not_the_point_is_grey():
    svg = figure().wide.svg
    assert svg.count(f'stroke="{theme.MUTE}"') == svg.count(f'stroke="{theme.OFF}"') == 1


@pytest.mark.parametrize("counts", [{}, {"a": 0}, {"\x1b[2J": 1}, {"x" * 60: 10**9}])
def test_whatever_is_counted_can_be_drawn(counts):
    assert "\x1b" not in figure(counts=counts).narrow.svg
