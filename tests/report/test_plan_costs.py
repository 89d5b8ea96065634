import itertools

import pandas as pd
import pytest

from evalstats.report import theme
from evalstats.report.plan_costs import cost_curve

PLANS = [(1, 260, 1820.0), (2, 147, 1323.0), (3, 110, 1210.0), (4, 91, 1183.0), (5, 80, 1200.0)]


def rows_of(figure, layer, width=theme.WIDE):
    spec = figure.draw(width).spec()
    named = next(each["data"]["name"] for each in spec["layer"] if each["name"] == layer)
    return spec["datasets"][named]


def make(plans=PLANS, known=True):
    nothing = float("nan")
    rows = [
        {
            "trials": t,
            "cases": n,
            "cost": cost,
            "low": cost - 300 if known else nothing,
            "high": cost + 300 if known else nothing,
        }
        for t, n, cost in plans
    ]
    return cost_curve(pd.DataFrame(rows, columns="trials cases cost low high".split()))


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_plan_has_a_point_and_an_interval(width):
    drawn = theme.count_marks(make().draw(width).svg)
    assert drawn["m_points"] == drawn["m_intervals"] == 5
    assert drawn["m_best_cases"] == 1


def test_the_reading_names_the_cheapest_and_what_one_trial_costs():
    assert make().reading == (
        "The cheapest plan drawn is 91 cases of 4 trials in each arm, at a cost of 1,183 [883, 1,483];"
        " 260 cases of 1 trial cost 1.54 times as much."
    )


def test_where_one_trial_is_best():
    assert make(PLANS[:1]).reading.endswith(
        "at a cost of 1,820 [1,520, 2,120]: more trials a case do not pay."
    )


def test_unknown_intervals_are_not_drawn():
    figure = make(known=False)
    assert "m_intervals" not in theme.count_marks(figure.wide.svg)
    assert "at a cost of 1,183;" in figure.reading


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_many_plans_keep_their_labels_apart(width):
    figure = make([(t, 100, 100.0 + abs(t - 42)) for t in range(1, 51)])
    places = sorted(row["x"] for row in rows_of(figure, "m_trials", width))
    assert all(b - a >= 25 for a, b in itertools.pairwise(places))


def test_nothing_to_draw():
    assert make([]).reading == "There is nothing to draw."
