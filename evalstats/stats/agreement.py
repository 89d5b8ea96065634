"""Do judges agree, beyond what chance would give? Coefficients for many judges, or one asked again.

The unit is what was judged (a transcript, a case); a rater is a judge, or one repetition of the same judge.
Chance-corrected coefficients punish agreement on a rare verdict: with nearly all verdicts alike, raters who
almost always agree can be near 0. Show `flip_rate` beside them, or `kappa_paradox` for two raters.

Written by hand: the `krippendorff` package has no interval, statsmodels has no alpha; all intervals here come
from leaving each unit out, which has closed forms.

References
----------
.. [K11] Krippendorff (2011). Computing Krippendorff's alpha-reliability. Univ. of Pennsylvania,
   https://repository.upenn.edu/asc_papers/43
.. [Fleiss] Fleiss (1971). Measuring nominal scale agreement among many raters. Psychol. Bull. 76:378.
   doi:10.1037/h0031619
.. [Wilson] Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA 22:209.
   doi:10.1080/01621459.1927.10502953
"""

from dataclasses import replace
from math import isnan, nan, sqrt
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.leave_one_out import jackknife
from evalstats.stats.means import case_mean
from evalstats.stats.proportions import wilson_bounds
from evalstats.stats.results import (
    Estimate,
    FloatArray,
    IntArray,
    bounded,
    check_choice,
    check_level,
    counted,
    normal_quantile,
    undefined,
)

Metric = Literal["nominal", "ordinal", "interval"]
MOST_RANKS = 4_000_000  # units x distinct values, for ranks that move with each unit left out: 32 MB a table


def krippendorff_alpha(ratings: ArrayLike, *, metric: Metric = "nominal", level: float = 0.95) -> Estimate:
    """Do raters agree beyond chance, on any scale and with gaps? Krippendorff's alpha.

    Parameters
    ----------
    ratings : array of float, shape (n_units, n_raters)
        One value per unit and rater, NaN where there is none. Units with fewer than two values take no part.
    metric : {"nominal", "ordinal", "interval"}
        How far two values are apart: differ at all, by rank, by their difference.
    level : float
        Confidence level of the delete-one-unit jackknife interval.

    Returns
    -------
    Estimate
        1 for full agreement, 0 for chance, below 0 for systematic disagreement (population SUPER: new units).
        `n_cases` counts units with two values or more, `n_trials` their values.

    Notes
    -----
    Assumes units drawn independently; raters are interchangeable. With hardly any variation between units it
    is unstable: see `kappa_paradox`. Ordinal wants a scale of few steps: it is refused where units times
    distinct values exceed 4 million.

    References
    ----------
    [K11]_.

    Examples
    --------
    >>> print(krippendorff_alpha([[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 1]]).estimate)  # doctest: +ELLIPSIS
    0.685714...
    """
    check_choice("metric", metric, get_args(Metric))
    table = _rated_twice(ratings)
    known = _known("Krippendorff's alpha", f"{metric} alpha, jackknife over units", table, level)
    problem = _why_undefined(table) or (_why_no_ranks(table) if metric == "ordinal" else "")
    if problem:
        return undefined(problem, n_cases=table.shape[0], **known)
    disagreement = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}[metric]
    observed, expected = disagreement(table)
    n = _without_each((~np.isnan(table)).sum(axis=1).astype(np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        return bounded(jackknife(1 - (n - 1) * observed / expected, **known), high=1)


def fleiss_kappa(ratings: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Do many raters agree on a category beyond chance? Fleiss' kappa.

    Parameters
    ----------
    ratings : array of float, shape (n_units, n_raters)
        Category codes; every unit with the same number of ratings, but not of the same raters.
    level : float
        Confidence level of the delete-one-unit jackknife interval.

    Returns
    -------
    Estimate
        1 for full agreement, 0 for chance (population SUPER: new units).

    Notes
    -----
    Assumes units drawn independently. With gaps, or on a scale, use `krippendorff_alpha`.

    References
    ----------
    [Fleiss]_.

    Examples
    --------
    >>> print(fleiss_kappa([[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 1]]).estimate)  # doctest: +ELLIPSIS
    0.657142...
    """
    table = _rated_twice(ratings)
    known = _known("Fleiss' kappa", "Fleiss, jackknife over units", table, level)
    complete = len(table) == len(np.asarray(ratings)) and not np.isnan(table).any()
    problem = _why_undefined(table) or ("" if complete else "gaps in the ratings: use Krippendorff's alpha")
    if problem:
        return undefined(problem, n_cases=len(table), **known)
    counts = _Counts.of(table)
    units = len(table) - np.r_[0.0, np.ones(len(table))]
    agreed = _without_each(1 - counts.differing_pairs()) / np.maximum(units, 1)
    with np.errstate(invalid="ignore", divide="ignore"):  # without the only unit nothing is left
        chance = counts.squared_totals() / (units * table.shape[1]) ** 2
        return bounded(jackknife((agreed - chance) / (1 - chance), **known), high=1)


def flip_rate(ratings: ArrayLike, *, level: float = 0.95) -> Estimate:
    """How often does a second judgement of the same thing come out differently? Share of differing pairs.

    Parameters
    ----------
    ratings : array of float, shape (n_units, n_repeats)
        Verdicts on each unit, NaN where there is none. Units with fewer than two take no part.
    level : float
        Confidence level: Wilson where each unit has two verdicts or none flips, else t on units.

    Returns
    -------
    Estimate
        Mean over units of the share of their pairs that differ (population SUPER: new units).

    Notes
    -----
    Assumes units drawn independently. For graded scores, where every pair differs a little, use
    `judge_noise`.

    References
    ----------
    [Wilson]_.

    Examples
    --------
    >>> print(flip_rate([[1, 1], [0, 1], [0, 0], [1, 1]]))
    flip rate 0.25 [0.04559, 0.6994] at level 0.95 (Wilson on units, SUPER, 4 cases, 8 trials)
    """
    table = _rated_twice(ratings)
    known = _known("flip rate", "Wilson on units", table, level)
    n = table.shape[0]
    if not n:
        return undefined("not measured: no unit was judged twice", n_cases=n, **known)
    counts = _Counts.of(table)
    flips = counts.differing_pairs()
    if flips.any() and (counts.sizes > 2).any():
        found = replace(case_mean(flips, level=level), estimand="flip rate", n_trials=known["n_trials"])
        return bounded(replace(found, method="t on units"), low=0, high=1)
    share = float(flips.mean())
    low, high = wilson_bounds(float(flips.sum()), float(n), normal_quantile(level))
    std_error = sqrt(share * (1 - share) / n) if 0 < share < 1 else nan
    agree = ("all units agree: the binomial standard error is not estimable",) if isnan(std_error) else ()
    return Estimate(
        estimate=share, std_error=std_error, conf_low=low, conf_high=high, n_cases=n, caveats=agree, **known
    )


def _rated_twice(ratings: ArrayLike) -> FloatArray:
    """Return the units with two ratings or more, shape (n_units, n_raters), NaN where there is none."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must have shape (units, raters), got {table.shape}")
    if np.isinf(table).any():
        raise ValueError("ratings must be finite, or NaN where there is none, got inf")
    return np.asarray(table[(~np.isnan(table)).sum(axis=1) >= 2])


class _Counts(NamedTuple):
    """How often did each unit get each value? Only what occurs, so that many values cost no memory.

    `unit`, `value` (its place in order) and `times` have shape (n_pairs,), `sizes` (n_units,).
    """

    unit: IntArray
    value: IntArray
    times: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, table: FloatArray) -> Self:
        unit, rater = np.nonzero(~np.isnan(table))
        values, codes = np.unique(table[unit, rater], return_inverse=True)
        keys, times = np.unique(unit * max(values.size, 1) + codes, return_counts=True)
        sizes = np.bincount(unit, minlength=len(table)).astype(np.float64)
        return cls(*np.divmod(keys, max(values.size, 1)), times.astype(np.float64), sizes)

    def squares(self) -> FloatArray:
        """Return the sum of the squared counts of each unit, shape (n_units,)."""
        return np.asarray(np.bincount(self.unit, self.times**2, self.sizes.size), dtype=np.float64)

    def differing_pairs(self) -> FloatArray:
        """Return the share of each unit's pairs of ratings that differ, shape (n_units,)."""
        return np.asarray((self.sizes**2 - self.squares()) / (self.sizes * (self.sizes - 1)))

    def squared_totals(self) -> FloatArray:
        """Return the sum of the squared totals of the values: of all units, then without each, (1 + n_units,)."""
        totals = np.bincount(self.value, weights=self.times)
        lost = (2 * totals[self.value] - self.times) * self.times  # T^2 - (T - t)^2
        whole = float((totals**2).sum())
        return np.asarray(whole - np.r_[0.0, np.bincount(self.unit, lost, self.sizes.size)])

    def dense(self) -> FloatArray:
        """Return the whole table, shape (n_units, n_values)."""
        table = np.zeros((self.sizes.size, int(self.value.max()) + 1))
        table[self.unit, self.value] = self.times
        return table


def _known(estimand: str, method: str, table: FloatArray, level: float) -> dict[str, Any]:
    return {
        "estimand": estimand,
        "population": "SUPER",
        "level": check_level(level),
        "n_trials": int((~np.isnan(table)).sum()),
        "method": method,
    }


def _why_undefined(table: FloatArray) -> str:
    if not table.size:
        return "not measured: no unit was judged twice"
    return "" if np.nanmax(table) > np.nanmin(table) else "no variation: every rating is the same"


def _why_no_ranks(table: FloatArray) -> str:
    values = np.unique(table[~np.isnan(table)]).size
    if values * len(table) <= MOST_RANKS:
        return ""
    return f"{counted(values, 'distinct value')}: too fine for ranks, use the interval metric"


def _without_each(parts: FloatArray) -> FloatArray:
    """Return the sum over units, then without each, shape (1 + n_units, ...)."""
    return np.concatenate([parts.sum(axis=0)[None], parts.sum(axis=0) - parts])


def _nominal(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return observed and expected disagreement of values that differ at all, each (1 + n_units,)."""
    counts = _Counts.of(table)
    observed = _without_each((counts.sizes**2 - counts.squares()) / (counts.sizes - 1))
    return observed, _without_each(counts.sizes) ** 2 - counts.squared_totals()


def _interval(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return observed and expected squared distances of values, each (1 + n_units,)."""
    shifted = table - np.nanmean(table)
    sizes = (~np.isnan(table)).sum(axis=1).astype(np.float64)
    sums, squares = np.nansum(shifted, axis=1), np.nansum(shifted**2, axis=1)
    observed = _without_each((sizes * squares - sums**2) / (sizes - 1))
    return observed, _without_each(sizes) * _without_each(squares) - _without_each(sums) ** 2


def _ordinal(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the same for midranks, which move with each unit that is left out."""
    counts = _Counts.of(table).dense()
    totals = _without_each(counts)
    ranks = totals.cumsum(axis=1) - totals / 2
    expected = totals.sum(axis=1) * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2
    weights = 1 / (counts.sum(axis=1) - 1)
    sizes = counts.sum(axis=1) * weights
    products = counts.T @ (counts * weights[:, None])
    whole = ranks**2 @ (sizes @ counts) - ((ranks @ products) * ranks).sum(axis=1)
    own = ranks[1:]
    left_out = sizes * (counts * own**2).sum(axis=1) - weights * (counts * own).sum(axis=1) ** 2
    return np.asarray(whole - np.r_[0.0, left_out]), expected
