"""How much higher is the pass rate, when both arms tried the same cases once? Counts of agreeing pairs.

Written by hand: the exact test is one binomial tail, and statsmodels has no Newcombe interval for pairs.

References
----------
.. [McNemar] McNemar (1947). Note on the sampling error of the difference between correlated proportions or
   percentages. Psychometrika 12:153. doi:10.1007/BF02295996
.. [N98c] Newcombe (1998). Improved confidence intervals for the difference between binomial proportions based
   on paired data. Stat. Med. 17:2635.
   doi:10.1002/(SICI)1097-0258(19981130)17:22%3C2635::AID-SIM954%3E3.0.CO;2-C
.. [FLL] Fagerland, Lydersen, Laake (2014). Recommended tests and confidence intervals for paired binomial
   proportions. Stat. Med. 33:2850. doi:10.1002/sim.6148
"""

from math import nan, sqrt
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc

from evalstats.stats.proportions import wilson_bounds
from evalstats.stats.randomisation import smallest_p
from evalstats.stats.results import (
    Alternative,
    Estimate,
    Test,
    check_choice,
    check_counts,
    normal_quantile,
)


class PairedTable(NamedTuple):
    """In how many cases did both arms pass, one of them, or neither? The 2x2 table of matched pairs.

    Examples
    --------
    >>> PairedTable.of([True, True, False], [True, False, False])
    PairedTable(both=1, candidate_only=1, baseline_only=0, neither=1)
    """

    both: int
    candidate_only: int
    baseline_only: int
    neither: int

    @classmethod
    def of(cls, candidate: ArrayLike, baseline: ArrayLike) -> Self:
        """Count the table from whether each arm passed each case, two flat vectors of one length."""
        c, _ = check_counts(candidate, np.ones_like(candidate, dtype=np.int64))
        b, _ = check_counts(baseline, np.ones_like(c))
        cells = np.bincount(3 - 2 * c - b, minlength=4)
        return cls(*(int(cell) for cell in cells))


def mcnemar_exact(table: tuple[int, int, int, int], *, alternative: Alternative = "two-sided") -> Test:
    """Do both arms pass the same cases equally often? Exact conditional McNemar test.

    Parameters
    ----------
    table : PairedTable, or tuple of four ints
        Cases that both arms passed, only the candidate, only the baseline, neither.
    alternative : {"two-sided", "greater", "less"}
        "greater": the candidate passes more.

    Returns
    -------
    Test
        `statistic` is the number of cases that only the candidate passed; under the null it is binomial with
        probability 1/2 among the discordant cases.

    Notes
    -----
    Assumes independent cases with one trial per arm. Keeps its size always, at the price of power; with
    several trials a case use `paired_t_test`.

    References
    ----------
    [McNemar]_, [FLL]_.

    Examples
    --------
    >>> print(mcnemar_exact((1, 1, 7, 12)))
    both arms pass equally often: p = 0.07031, two-sided (exact McNemar, statistic 1)
    """
    both, up, down, neither = _checked(table)
    n = up + down
    tails = {"less": bdtr(up, n, 0.5), "greater": bdtrc(up - 1, n, 0.5) if up else 1.0}
    tails["two-sided"] = min(1.0, 2 * bdtr(min(up, down), n, 0.5))
    unknown = not (both + n + neither)
    caveats = ("no pairs",) if unknown else smallest_p(n, alternative) if n else ("no discordant cases",)
    return Test(
        null="both arms pass equally often",
        alternative=alternative,
        statistic=nan if unknown else up,
        p_value=nan if unknown else tails[check_choice("alternative", alternative, tuple(tails))],
        method="exact McNemar",
        caveats=caveats,
    )


def newcombe_paired(table: tuple[int, int, int, int], *, level: float = 0.95) -> Estimate:
    """How much higher is the candidate's pass rate on the same cases? Newcombe's interval for pairs.

    Parameters
    ----------
    table : PairedTable, or tuple of four ints
        Cases that both arms passed, only the candidate, only the baseline, neither.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of the difference candidate - baseline in [-1, 1] (population SUPER). `std_error` is the multinomial
        one, NaN when no case tells the arms apart.

    Notes
    -----
    Assumes independent cases with one trial per arm. With several trials a case, or clusters, use
    `paired_difference`.

    References
    ----------
    [N98c]_ (method 10), [FLL]_.

    Examples
    --------
    >>> print(newcombe_paired((59, 6, 16, 80)).conf_low)  # doctest: +ELLIPSIS
    -0.1186...
    """
    both, up, down, neither = _checked(table)
    n = both + up + down + neither
    if n:
        low, high = _square_and_add(PairedTable(both, up, down, neither), normal_quantile(level))
    apart = up + down > 0
    return Estimate(
        estimand="difference of pass rates",
        population="SUPER",
        estimate=(up - down) / n if n else nan,
        std_error=sqrt(up + down - (up - down) ** 2 / n) / n if apart and abs(up - down) < n else nan,
        conf_low=low if n else nan,
        conf_high=high if n else nan,
        level=level,
        n_cases=n,
        n_trials=2 * n,
        method="Newcombe, paired",
        caveats=_why_no_error(up - down, apart, n),
    )


def _why_no_error(difference: int, apart: bool, n: int) -> tuple[str, ...]:
    if not n:
        return ("no pairs",)
    if not apart or abs(difference) == n:
        return ("all cases agree on the difference: its standard error is not estimable",)
    return ()


def _square_and_add(table: PairedTable, quantile: float) -> tuple[float, float]:
    """Join the Wilson bounds of both arms, less what their correlation takes away."""
    n = sum(table)
    p1, p2 = (table.both + table.candidate_only) / n, (table.both + table.baseline_only) / n
    low1, high1 = wilson_bounds(p1 * n, n, quantile)
    low2, high2 = wilson_bounds(p2 * n, n, quantile)
    phi = _phi(table)

    def side(a: float, b: float) -> float:
        return sqrt(max(a * a - 2 * phi * a * b + b * b, 0.0))  # rounding may leave -1e-19

    return p1 - p2 - side(p1 - low1, high2 - p2), p1 - p2 + side(high1 - p1, p2 - low2)


def _phi(table: PairedTable) -> float:
    """Return the correlation of the two arms, with the continuity correction of method 10."""
    a, b, c, d = table
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if not margins:
        return 0.0
    product = a * d - b * c
    return (max(product - sum(table) / 2, 0.0) if product > 0 else product) / sqrt(margins)


def _checked(table: tuple[int, int, int, int]) -> PairedTable:
    cells = np.asarray(table)
    check_counts(cells, np.full_like(cells, cells.max(initial=0)))
    return PairedTable(*(int(cell) for cell in cells))
