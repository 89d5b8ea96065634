"""Delete-one jackknife: a published standard error, the mean, edges, coverage."""

from math import isnan, nan, sqrt

import numpy as np
import pytest

from evalstats.stats.leave_one_out import jackknife

KNOWN = {"estimand": "x", "population": "SUPER", "n_trials": 0, "method": "jackknife"}
LSAT = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
GPA = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]

PLACEBO_TO_OLD = [8406, 2342, 8187, 8459, 4795, 3516, 4796, 10238]
OLD_TO_NEW = [-1200, 2601, -2705, 1982, -1290, 351, -638, -2719]
STATISTICS = {
    "correlation": (lambda x, y: np.corrcoef(x, y)[0, 1], LSAT, GPA),
    "ratio": (lambda x, y: y.mean() / x.mean(), PLACEBO_TO_OLD, OLD_TO_NEW),
}


def without_each(statistic, *columns):
    """Return the statistic of all rows, then without each."""
    table = np.array(columns, dtype=float)
    return np.array([statistic(*table)] + [statistic(*np.delete(table, i, 1)) for i in range(table.shape[1])])


def test_published(published, agrees):
    values = without_each(*STATISTICS[published["statistic"]])
    agrees(jackknife(values, level=0.95, **KNOWN), published)


def test_of_a_mean_is_the_standard_error():
    scores = np.array([0.2, 0.9, 0.4, 0.4, 1.0])
    record = jackknife(without_each(np.mean, scores), level=0.95, **KNOWN)
    assert record.std_error == pytest.approx(scores.std(ddof=1) / sqrt(5), abs=1e-12)
    assert record.n_cases == 5


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([2.0], "0 of the 3 units"),
        ([2.0, 1.0, 3.0], "2 of the 3 units"),
        ([2.0, 1.0, nan, 3.0], "undefined once some unit is left out"),
        ([2.0, 2.0, 2.0, 2.0], "no unit moves it"),
    ],
)
def test_unknown_error_says_why(values, reason):
    record = jackknife(np.array(values), level=0.95, caveats=("before",), **KNOWN)
    assert record.estimate == 2.0 and isnan(record.std_error) and isnan(record.conf_low)
    assert record.caveats[0] == "before" and reason in record.caveats[1]


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_of_a_variance(level):
    rng = np.random.default_rng(20260303)
    covered, draws = 0, 400
    for _ in range(draws):
        x = rng.uniform(size=60)
        total, squares, n = x.sum(), (x**2).sum(), 60
        rest, rest2 = total - x, squares - x**2
        values = np.r_[x.var(ddof=1), (rest2 - rest**2 / (n - 1)) / (n - 2)]
        record = jackknife(values, level=level, **KNOWN)
        covered += record.conf_low <= 1 / 12 <= record.conf_high
    assert abs(covered / draws - level) < 3 * sqrt(level * (1 - level) / draws)
