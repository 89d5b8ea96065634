"""Sums of squares and their expectations: by hand on a small table, and both ways to number keys."""

import numpy as np
import pytest

from evalstats.stats.layouts import Layout
from evalstats.stats.quadratic_forms import dense, equations, grouped, regular


def test_equations_of_a_small_unbalanced_table():
    # Two cases with 2 and 1 trials on one day: scores 1, 3 | 6, about their mean 10/3.
    left, coefficients = equations(Layout.of([1, 3, 6], cases=list("aab")).cells, 2)
    between, within = 2 * (2 - 10 / 3) ** 2 + (6 - 10 / 3) ** 2, 2.0
    assert left[0, 0] == pytest.approx(between, abs=1e-12)
    assert left[0, 4] == pytest.approx(0, abs=1e-12)  # every row is a trial
    assert left[0, 3] == pytest.approx(within, abs=1e-12)
    # E[between] = (N - sum n^2 / N) of the case variance, and (cases - 1) of the trial variance
    assert coefficients[0, 0, 0] == pytest.approx(3 - 5 / 3, abs=1e-12)
    assert coefficients[0, 0, 3] == pytest.approx(1, abs=1e-12)
    assert coefficients[0, 3, 3] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("limit", [10, 10**9])  # by a table, by sorting
def test_dense_numbers_keys_in_order(limit):
    values, places = dense(np.array([7, 2, 7, 5]), limit)
    assert values.tolist() == [2, 5, 7]
    assert places.tolist() == [2, 0, 2, 1]


def test_grouped_sums_and_pads():
    assert grouped(np.array([0, 1, 0]), np.array([1.0, 2.0, 4.0]), 3).tolist() == [5.0, 2.0, 0.0]


def test_regular_knows_missing_and_mixed_levels():
    systems = np.array([[[2.0, 1.0], [0.0, 3.0]], [[2.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]])
    assert regular(systems).tolist() == [True, False, False]
