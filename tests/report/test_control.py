"""The control chart: every row is a mark, the reading counts what is drawn, hostile words stay words."""

import pytest

from evalstats.report import charts, theme
from evalstats.report.control import control_chart
from evalstats.report.tracks import Timeline, Track

LABELS = tuple(f"{n} Nov" for n in range(1, 13))
POINTS = (*((n, 0.70 + 0.01 * (n % 3)) for n in range(1, 12)), (12, 0.40))
AVERAGE = (*((n, 0.71) for n in range(9, 12)), (12, 0.65))


def make_track(**unusual):
    usual = {
        "watched": "skill-on", "points": POINTS, "centre": 0.71, "limits": (0.66, 0.76), "begins": 1, "charted": 9,
        "average": AVERAGE, "average_limits": (0.69, 0.73), "changes": ((12, 0.71, 0.40),),
    }  # fmt: skip
    return Track(**{**usual, **unusual})


def make_timeline(**unusual):
    usual = {"labels": LABELS, "changes": ((4, "model a -> b"),), "lost": ((7, "300 of 500 trials failed"),)}
    return Timeline(**{**usual, **unusual})


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_row_is_a_mark(width):
    drawing = control_chart(make_timeline(), [make_track()]).draw(width)
    drawn = theme.count_marks(drawing.svg)
    names = "nights band centre average average_limits drifted latest steps step".split()
    assert [drawn[f"m_skill_on_{name}"] for name in names] == [12, 1, 1, 3, 2, 1, 1, 1, 1]
    assert (drawn["m_changes"], drawn["m_change_0"], drawn["m_lost"]) == (2, 1, 1)


def test_the_reading_counts_what_lies_outside():
    reading = control_chart(make_timeline(), [make_track()]).reading
    assert reading == (
        "skill-on: 12 nights, centre 0.71, limits [0.66, 0.76]; 1 of 4 charted nights outside, the moving average,"
        " now 0.65, outside [0.69, 0.73] on 1 night. Changed: 4 Nov model a -> b. Not charted: 7 Nov 300 of 500"
        " trials failed."
    )


def test_only_charted_nights_can_be_outside():
    assert make_track(charted=13, average=(), average_limits=None).outside == []
    assert make_track(points=((1, 0.2), *POINTS[1:])).outside == [(12, 0.40)]


def test_what_is_not_known_is_said_and_not_drawn():
    bare = make_track(
        limits=None, average=(), average_limits=None, changes=(), note="degenerate: all runs agree"
    )
    figure = control_chart(make_timeline(changes=(), lost=()), [bare])
    drawn = theme.count_marks(figure.wide.svg)
    assert figure.reading == "skill-on: 12 nights, no limits (degenerate: all runs agree)."
    assert "m_skill_on_band" not in drawn and "m_lost" not in drawn and drawn["m_skill_on_centre"] == 1


def test_a_short_history_charts_nothing_and_says_so():
    short = make_track(charted=13, average=(), average_limits=None, changes=(), note="provisional: 5 of 8")
    assert control_chart(make_timeline(), [short]).reading.startswith(
        "skill-on: 12 nights, centre 0.71, limits [0.66, 0.76]; none is charted yet (provisional: 5 of 8)."
    )


def test_many_changes_keep_their_lines_and_the_newest_their_words():
    many = tuple(
        (n, f"CLI {n} -> {n + 1}, a name much too long for the room there is on a phone") for n in range(2, 9)
    )
    for width in (theme.WIDE, theme.NARROW):
        drawn = theme.count_marks(control_chart(make_timeline(changes=many), [make_track()]).draw(width).svg)
        assert drawn["m_changes"] == 7 + 3 and drawn["m_change_2"] == 1 and "m_change_3" not in drawn


def test_nothing_at_all_is_an_empty_picture():
    figure = control_chart(Timeline(labels=()), [])
    assert figure.reading == "There is nothing to draw." and "<svg" in figure.wide.svg
    assert charts.control_chart is control_chart


def test_a_difference_has_a_sign():
    track = make_track(watched="difference", signed=True)
    assert "centre +0.71, limits [+0.66, +0.76]" in control_chart(make_timeline(), [track]).reading
