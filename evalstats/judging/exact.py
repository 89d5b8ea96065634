"""Have the votes on the same texts changed? Two exact tests, given how many votes each text got then and now.

An unchanged judge gives each text its votes at the same rate then and now, whatever that rate is. So, of all the yes
votes that a text got, how many fall into the second round is hypergeometric, and what is summed over texts is the
convolution of these distributions. Nothing is estimated and nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

_SAME = 1e-9  # two probabilities that differ by less are the same but for rounding


@dataclass(frozen=True, slots=True)
class Votes:
    """How many of the verdicts on one text said yes, then and now."""

    yes_then: int
    n_then: int
    yes_now: int
    n_now: int


def shift(votes: Sequence[Votes]) -> float:
    """Return the p-value of "it says yes as often as it did", two-sided; 1 where no vote could tell.

    With one vote a round on each text this is the exact McNemar test.

    Examples
    --------
    >>> round(shift([Votes(1, 1, 0, 1)] * 5), 4)
    0.0625
    """
    total, seen = np.ones(1), 0
    for each in votes:
        chances = _chances(each)
        total = np.convolve(total, chances)
        seen += each.yes_now
    return float(min(1.0, total[total <= total[seen] * (1 + _SAME)].sum()))


def change(votes: Sequence[Votes]) -> float:
    """Return the p-value of "it votes on each text as it did", whichever way the votes moved.

    The statistic is the sum over texts of how far the shares of yes lie apart. Rounds of one vote cannot tell a
    change that goes both ways from noise: then it is 1.

    Examples
    --------
    >>> round(change([Votes(3, 3, 0, 3), Votes(0, 3, 3, 3)]), 4)
    0.01
    """
    total, seen = np.ones(1), 0
    for each in votes:
        apart = _apart(each, np.arange(each.n_now + 1))
        spread = np.zeros(int(apart.max(initial=0)) + 1)
        np.add.at(spread, apart, _chances(each))
        total = np.convolve(total, spread)
        seen += int(_apart(each, np.array([each.yes_now]))[0])
    return float(min(1.0, total[seen:].sum()))


def fewest_turned(texts: int, votes: int, level: float) -> int | None:
    """Return how many of so many texts must turn round for good before a check finds it; None if all are too few.

    Parameters
    ----------
    texts : int
        Texts that were frozen, each with all its votes on one side: undecided ones tell less.
    votes : int
        Votes on each text, then and now.
    level : float
        The p-value below which a check says that something changed: the smaller of both tests, doubled.

    Examples
    --------
    >>> fewest_turned(12, 3, 0.01), fewest_turned(12, 1, 0.01)
    (3, 9)
    """
    for turned in range(1, texts + 1):
        now = [Votes(votes, votes, 0, votes)] * turned + [Votes(votes, votes, votes, votes)] * (
            texts - turned
        )
        if 2 * min(shift(now), change(now)) < level:
            return turned
    return None


def _chances(votes: Votes) -> NDArray[np.float64]:
    """Return the probabilities of 0 .. n_now yes votes now, given all the yes votes of both rounds."""
    yes, n = votes.yes_then + votes.yes_now, votes.n_then + votes.n_now
    ways = [comb(yes, k) * comb(n - yes, votes.n_now - k) for k in range(votes.n_now + 1)]
    return np.array([way / comb(n, votes.n_now) for way in ways])


def _apart(votes: Votes, yes_now: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far the shares of yes lie apart, as a whole number: in units of 1 / (n_then * n_now)."""
    yes = votes.yes_then + votes.yes_now
    apart: NDArray[np.int64] = np.abs((yes - yes_now) * votes.n_now - yes_now * votes.n_then)
    return apart
