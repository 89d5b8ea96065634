"""Held against scipy, and against counting all ways of shuffling the votes of each text."""

from itertools import combinations, product

import pytest
from scipy.stats import binomtest, fisher_exact

from evalstats.judging.exact import Votes, change, fewest_turned, shift


@pytest.mark.parametrize(("down", "up", "same"), [(5, 1, 4), (3, 3, 0), (0, 7, 2), (1, 0, 0)])
def test_with_one_vote_a_round_it_is_mcnemars_exact_test(down, up, same):
    votes = [Votes(1, 1, 0, 1)] * down + [Votes(0, 1, 1, 1)] * up + [Votes(1, 1, 1, 1)] * same
    assert shift(votes) == pytest.approx(binomtest(down, down + up).pvalue, rel=1e-12)
    assert change(votes) == 1  # one vote cannot tell a change from noise


@pytest.mark.parametrize("table", [(3, 5, 0, 4), (5, 5, 1, 6), (2, 9, 7, 9), (0, 3, 0, 3)])
def test_on_one_text_it_is_fishers_exact_test(table):
    then, n, now, m = table
    expected = fisher_exact([[then, n - then], [now, m - now]]).pvalue
    assert shift([Votes(*table)]) == pytest.approx(expected, rel=1e-9)


def counted(votes):
    """The p-value of `change` by trying every way of drawing the votes of the second round."""

    def apart(yes, n_then, n_now, now):
        return abs((yes - now) * n_now - now * n_then)

    def ways(v):
        cast = [1] * (v.yes_then + v.yes_now) + [0] * (v.n_then + v.n_now - v.yes_then - v.yes_now)
        return [
            apart(sum(cast), v.n_then, v.n_now, sum(cast[i] for i in chosen))
            for chosen in combinations(range(len(cast)), v.n_now)
        ]

    seen = sum(apart(v.yes_then + v.yes_now, v.n_then, v.n_now, v.yes_now) for v in votes)
    sums = [sum(way) for way in product(*map(ways, votes))]
    return sum(s >= seen for s in sums) / len(sums)


@pytest.mark.parametrize(
    "votes",
    [
        [Votes(3, 3, 0, 3), Votes(0, 3, 3, 3)],
        [Votes(2, 3, 1, 3), Votes(1, 3, 1, 3), Votes(3, 3, 2, 3)],
        [Votes(2, 2, 0, 3), Votes(1, 2, 3, 3)],
    ],
)
def test_a_change_both_ways_is_seen(votes):
    assert change(votes) == pytest.approx(counted(votes), rel=1e-12)


def test_both_ways_is_no_shift():
    votes = [Votes(3, 3, 0, 3), Votes(0, 3, 3, 3)] * 3
    assert shift(votes) == 1
    assert change(votes) == pytest.approx(0.1**6, rel=1e-9)


def test_nothing_to_tell():
    assert shift([]) == change([]) == 1
    assert shift([Votes(3, 3, 3, 3)] * 50) == change([Votes(0, 3, 0, 3)] * 50) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("texts", "level"), [(12, 0.01), (20, 0.05), (6, 0.001)])
def test_the_fewest_that_turn_and_are_found_with_one_vote_are_those_of_mcnemar(texts, level):
    found = [n for n in range(1, texts + 1) if 2 * binomtest(n, n).pvalue < level]
    assert fewest_turned(texts, 1, level) == (found[0] if found else None)


def test_more_votes_find_a_change_of_fewer_texts():
    assert [fewest_turned(12, votes, 0.01) for votes in (1, 2, 3, 5)] == [9, 4, 3, 2]
    assert fewest_turned(0, 3, 0.01) is None
