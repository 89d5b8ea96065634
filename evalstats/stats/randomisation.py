"""Could it be chance which arm is which? Randomisation of the labels, free of any distribution.

Written by hand: `scipy.stats.permutation_test` flips signs one case at a time, and knows no clusters.

References
----------
.. [Fisher] Fisher (1935). The Design of Experiments, section 21. Oliver & Boyd.
.. [PS] Phipson, Smyth (2010). Permutation p-values should never be zero. Stat. Appl. Genet. Mol. Biol. 9:39.
   doi:10.2202/1544-6115.1585
"""

from math import nan

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.resampling import chunks
from evalstats.stats.results import (
    ROUNDING,
    Alternative,
    FloatArray,
    Test,
    check_choice,
    check_clusters,
    check_scores,
)

TIE = 1e-9  # two sums this close are a tie


def sign_flip_test(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    reps: int = 10_000,
    alternative: Alternative = "two-sided",
) -> Test:
    """Could the arms be swapped case by case without anyone noticing? Fisher's randomisation test for pairs.

    Parameters
    ----------
    differences : array of float, shape (n_cases,)
        Candidate minus baseline on the same case, in the unit of the score.
    rng : numpy.random.Generator
        Source of the signs; the same state gives the same p-value.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to: all signs of a cluster flip together.
    reps : int
        Number of random sign vectors.
    alternative : {"two-sided", "greater", "less"}
        "greater": the candidate scores higher.

    Returns
    -------
    Test
        `statistic` is the mean difference; `p_value` is (1 + hits) / (1 + reps), never 0.

    Notes
    -----
    Assumes only that under the null each difference is as likely as its negative, for independent cases (or
    clusters). With m cases that differ no p-value below 2 / 2^m is possible. Gives no interval.

    References
    ----------
    [Fisher]_, [PS]_.

    Examples
    --------
    >>> print(sign_flip_test([1, 1, 0, 1, 1, 1, 1, 1], rng=np.random.default_rng(1), reps=999))
    the arms are exchangeable on each case: p = 0.023, two-sided (sign flips, statistic 0.875)
    """
    check_choice("alternative", alternative, ("two-sided", "greater", "less"))
    values = check_scores(differences)
    sums = np.bincount(check_clusters(clusters, values.size), weights=values)
    observed = _one_sided(sums.sum(keepdims=True), alternative)
    hits = 0
    for rows in chunks(reps, max(sums.size, 1)):
        signs = 2.0 * rng.integers(0, 2, (rows.stop - rows.start, sums.size), dtype=np.int8) - 1.0
        hits += int((_one_sided(signs @ sums, alternative) >= observed - TIE).sum())
    differing = int((np.abs(sums) > ROUNDING).sum())
    caveats = smallest_p(differing, alternative) if differing else ("no case differs",)
    return Test(
        null="the arms are exchangeable on each case",
        alternative=alternative,
        statistic=values.mean() if values.size else nan,
        p_value=(1 + hits) / (1 + reps) if values.size else nan,
        method="sign flips",
        caveats=caveats if values.size else ("no pairs",),
    )


def smallest_p(n: int, alternative: Alternative) -> tuple[str, ...]:
    """Return the caveat of so few differing cases (or clusters) that even all on one side are no surprise."""
    least = (2 if alternative == "two-sided" else 1) / 2**n if n < 64 else 0.0
    return (
        (f"so few cases differ that no p-value below {min(least, 1.0):.3g} is possible",)
        if least > 0.05
        else ()
    )


def _one_sided(sums: FloatArray, alternative: Alternative) -> FloatArray:
    return {"greater": sums, "less": -sums, "two-sided": np.abs(sums)}[alternative]
