"""Chances of k of n, against hand arithmetic, the rule of succession and the binomial table."""

from math import comb, isclose

import numpy as np
import pytest

from evalstats.stats.k_of_n import chance_of_k, predicted_chance_of_k


def test_known_rates_by_hand():
    # of three trials at .8: all pass .512, two or more .896, one or more .992
    assert np.allclose(chance_of_k([0.8] * 3, [3, 2, 1], 3), [0.512, 0.896, 0.992], atol=1e-12)
    assert chance_of_k([0.3], [0], [3]) == [1.0]
    assert list(chance_of_k([0.0, 1.0], 1, 5)) == [0.0, 1.0]


def test_a_first_trial_of_an_unknown_case_is_a_coin_flip():
    assert predicted_chance_of_k([0], [0], [1], [1]) == pytest.approx([0.5])


def test_the_next_trial_after_so_many_passes():
    # Jeffreys: (passes + 1/2) / (trials + 1)
    assert predicted_chance_of_k([59, 3], [59, 10], 1, 1) == pytest.approx([59.5 / 60, 3.5 / 11])


def test_two_of_two_after_nothing_is_three_eighths():
    # mean of p^2 under Beta(1/2, 1/2): (1/2 * 3/2) / (1 * 2)
    assert predicted_chance_of_k([0], [0], [2], [2]) == pytest.approx([0.375])


def test_with_many_trials_the_binomial_remains():
    found = predicted_chance_of_k([700_000], [1_000_000], [4], [5])[0]
    exact = sum(comb(5, x) * 0.7**x * 0.3 ** (5 - x) for x in (4, 5))
    assert isclose(found, exact, abs_tol=1e-5)


def test_each_case_has_its_own_question():
    found = predicted_chance_of_k([0, 5], [0, 5], [1, 3], [1, 3])
    assert found[0] == pytest.approx(0.5) and 0 < found[1] < 1


def test_no_case_no_chance():
    assert predicted_chance_of_k([], [], [], []).shape == (0,)
