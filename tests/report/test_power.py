import itertools

import pandas as pd
import pytest

from evalstats.report import theme
from evalstats.report.power import grid_of, power_curves

SIMULATED = "estimand population estimate std_error conf_low conf_high level n_cases n_clusters n_trials method".split()


def rows_of(figure, layer, width=theme.WIDE):
    spec = figure.draw(width).spec()
    named = next(each["data"]["name"] for each in spec["layer"] if each["name"] == layer)
    return spec["datasets"][named]


def curves(trials=(1, 3), cases=(10, 20, 30)):
    rows = [
        {
            "trials": t,
            "cases": n,
            "power": min(n * t / 60, 0.99),
            "low": n * t / 80,
            "high": min(n * t / 40, 1.0),
        }
        for t in trials
        for n in cases
    ]
    return pd.DataFrame(rows, columns="trials cases power low high".split())


def tried():
    row = dict.fromkeys(SIMULATED, 0) | {"estimate": 0.25, "conf_low": 0.2, "conf_high": 0.3, "caveats": ()}
    return pd.DataFrame([{"trials": 3, "cases": 10, **row}])


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_piece_and_every_interval_is_drawn(width):
    drawn = theme.count_marks(power_curves(curves(), tried(), chosen=3, power=0.8).draw(width).svg)
    assert drawn["m_curve_1"] == drawn["m_curve_3"] == drawn["m_band_low"] == drawn["m_band_high"] == 2
    assert drawn["m_simulated"] == drawn["m_simulated_intervals"] == 1
    assert drawn["m_needed"] == 1  # one trial a case never reaches 80%
    assert drawn["m_names"] == 2


def test_the_reading_says_where_each_curve_gets_there():
    assert power_curves(curves(), tried(), chosen=3, power=0.8).reading == (
        "A chance of 80% takes 20 cases with 3 trials a case and arm."
        " Tried out, 10 cases of 3 trials see it with a chance of 0.25 [0.20, 0.30]."
    )


def test_the_highest_name_stays_on_the_plot():
    figure = power_curves(curves(trials=(3, 5, 8, 10)), tried(), chosen=3, power=0.8)
    heights = sorted(row["y"] for row in rows_of(figure, "m_names"))
    assert heights[0] >= 0 and all(b - a >= 14.9 for a, b in itertools.pairwise(heights))


def test_no_plan_no_curve():
    figure = power_curves(curves(trials=()), tried().head(0), chosen=1, power=0.8)
    assert figure.reading == "There is nothing to draw."
    assert figure.wide.svg.startswith("<svg")


@pytest.mark.parametrize("last", [1, 2, 3, 60, 9_000])
def test_the_grid_of_cases_ends_where_it_should(last):
    found = grid_of(last)
    assert found[0] == 2 and found[-1] == max(last, 2) and found == sorted(set(found)) and len(found) <= 62
