"""Do judges agree, beyond what chance would give? Coefficients for two judges, many, or one asked again.

The unit is what was judged (a transcript, a case); a rater is a judge, or one repetition of the same judge.
Chance-corrected coefficients punish agreement on a rare verdict: with nearly all verdicts alike, raters who
almost always agree can have a kappa near 0. Show `kappa_paradox` or `flip_rate` beside them.

Written by hand: the `krippendorff` package has no interval, statsmodels has no alpha, and all intervals here
come from leaving each unit out, which has closed forms.

References
----------
.. [K11] Krippendorff (2011). Computing Krippendorff's alpha-reliability. Univ. of Pennsylvania,
   https://repository.upenn.edu/asc_papers/43
.. [Fleiss] Fleiss (1971). Measuring nominal scale agreement among many raters. Psychol. Bull. 76:378.
   doi:10.1037/h0031619
.. [Cohen] Cohen (1960). A coefficient of agreement for nominal scales. Educ. Psychol. Meas. 20:37.
   doi:10.1177/001316446002000104
.. [FCE] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   Psychol. Bull. 72:323. doi:10.1037/h0028106
.. [BBC] Byrt, Bishop, Carlin (1993). Bias, prevalence and kappa. J. Clin. Epidemiol. 46:423.
   doi:10.1016/0895-4356(93)90018-V
.. [FC] Feinstein, Cicchetti (1990). High agreement but low kappa: I. J. Clin. Epidemiol. 43:543.
   doi:10.1016/0895-4356(90)90158-L
"""

from dataclasses import dataclass, replace
from math import isnan, nan, sqrt
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.stats.jackknife import jackknife
from evalstats.stats.means import case_mean
from evalstats.stats.proportions import wilson, wilson_bounds
from evalstats.stats.results import (
    Estimate,
    FloatArray,
    check_choice,
    check_level,
    check_scores,
    normal_quantile,
    undefined,
)

Metric = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KappaParadox:
    """Is kappa low because raters disagree, or because one verdict is rare? Kappa beside what moves it.

    Parameters
    ----------
    kappa, pabak : Estimate
        Cohen's kappa, and 2 x agreement - 1: kappa as it would be without prevalence and bias.
    prevalence_index, bias_index : float
        Share agreed "pass" less share agreed "fail"; share only the first passed less share only the second
        passed. Both in [-1, 1]; NaN without units. Prevalence away from 0 lowers kappa, bias raises it.
    """

    kappa: Estimate
    pabak: Estimate
    prevalence_index: float
    bias_index: float


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
    is unstable: see `kappa_paradox`.

    References
    ----------
    [K11]_.

    Examples
    --------
    >>> print(krippendorff_alpha([[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 1]]).estimate)  # doctest: +ELLIPSIS
    0.685714...
    """
    check_choice("metric", metric, get_args(Metric))
    counts, values = _value_counts(ratings)
    known = _known("Krippendorff's alpha", f"{metric} alpha, jackknife over units", counts, level)
    problem = _no_variation(counts)
    if problem:
        return undefined(problem, **known)
    del known["n_cases"]
    return jackknife(_alphas(counts, values, metric), **known)


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
    counts, _ = _value_counts(ratings)
    known = _known("Fleiss' kappa", "Fleiss, jackknife over units", counts, level)
    sizes = counts.sum(axis=1)
    complete = np.asarray(ratings).shape[0] == sizes.size and (sizes == sizes[:1]).all()
    problem = _no_variation(counts) or ("" if complete else "gaps in the ratings: use Krippendorff's alpha")
    if problem:
        return undefined(problem, **known)
    m = sizes[0]
    agreed = ((counts * (counts - 1)).sum(axis=1)) / (m * (m - 1))
    units = sizes.size - np.r_[0.0, np.ones(sizes.size)]
    shares = _without_each(counts) / (units * m)[:, None]
    chance = (shares**2).sum(axis=1)
    del known["n_cases"]
    return jackknife(_beyond_chance(_without_each(agreed[:, None])[:, 0] / units, chance), **known)


def cohen_kappa(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Do two raters agree on a category beyond chance? Cohen's kappa.

    Parameters
    ----------
    first, second : array of float, shape (n_units,)
        Category codes of each rater; the same unit at the same place.
    level : float
        Confidence level of the large-sample normal interval.

    Returns
    -------
    Estimate
        1 for full agreement, 0 for chance (population SUPER: new units).

    Notes
    -----
    Assumes units drawn independently, and some 50 of them for the interval. With rare verdicts show
    `kappa_paradox`.

    References
    ----------
    [Cohen]_; [FCE]_ for the standard error.

    Examples
    --------
    >>> print(cohen_kappa([1, 1, 0, 0, 1], [1, 0, 0, 0, 1]).estimate)  # doctest: +ELLIPSIS
    0.615384...
    """
    table, n = _joint_shares(first, second)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    chance = float(rows @ columns)
    known = _known("Cohen's kappa", "Fleiss-Cohen-Everitt", np.full((n, 1), 2.0), level)
    if not n or chance > 1 - 1e-12:
        return undefined("no variation: every verdict is the same" if n else "no units", **known)
    kappa = (float(np.trace(table)) - chance) / (1 - chance)
    std_error = _kappa_error(table, kappa, chance) / sqrt(n)
    if not std_error > 0:
        caveat = "the standard error is not estimable: raters agree, or disagree, throughout"
        return undefined(caveat, estimate=kappa, **known)
    half = normal_quantile(level) * std_error
    return Estimate(
        estimate=kappa, std_error=std_error, conf_low=kappa - half, conf_high=min(kappa + half, 1.0), **known
    )


def kappa_paradox(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> KappaParadox:
    """Is kappa low because raters disagree, or because one verdict is rare? Kappa, PABAK and both indices.

    Parameters
    ----------
    first, second : array of {0, 1}, shape (n_units,)
        Pass or fail by each rater; the same unit at the same place.
    level : float
        Confidence level.

    Returns
    -------
    KappaParadox
        PABAK carries Wilson's interval for the agreement.

    Notes
    -----
    Assumes units drawn independently. PABAK is only agreement on another scale: it says nothing about
    chance. Read both.

    References
    ----------
    [BBC]_, [FC]_.

    Examples
    --------
    >>> found = kappa_paradox([1] * 90 + [0] * 10, [1] * 80 + [0] * 10 + [1] * 5 + [0] * 5)
    >>> round(found.kappa.estimate, 2), found.pabak.estimate, found.prevalence_index
    (0.32, 0.7, 0.75)
    """
    a, b = (check_scores(verdicts) for verdicts in (first, second))
    outside = [x for x in (*a, *b) if x not in (0.0, 1.0)]
    if outside:
        raise ValueError(f"verdicts must be 0 or 1, got {outside[0]!r}")
    kappa = cohen_kappa(a, b, level=level)
    agreed = wilson(int((a == b).sum()), a.size, level=level)
    pabak = replace(
        agreed,
        estimand="prevalence- and bias-adjusted kappa",
        estimate=2 * agreed.estimate - 1,
        std_error=2 * agreed.std_error,
        conf_low=2 * agreed.conf_low - 1,
        conf_high=2 * agreed.conf_high - 1,
        n_trials=2 * a.size,
        method="2 x agreement - 1, Wilson",
    )
    return KappaParadox(
        kappa=kappa,
        pabak=pabak,
        prevalence_index=float((a + b - 1).mean()) if a.size else nan,
        bias_index=float((a - b).mean()) if a.size else nan,
    )


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
    [Wilson] in `evalstats.stats.proportions`.

    Examples
    --------
    >>> print(flip_rate([[1, 1], [0, 1], [0, 0], [1, 1]]))
    flip rate 0.25 [0.04559, 0.6994] at level 0.95 (Wilson on units, SUPER, 4 cases, 8 trials)
    """
    counts, _ = _value_counts(ratings)
    sizes = counts.sum(axis=1)
    known = _known("flip rate", "Wilson on units", counts, level)
    if not sizes.size:
        return undefined("not measured: no unit was judged twice", **known)
    flips = 1 - (counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
    if flips.any() and not (sizes == 2).all():
        found = replace(case_mean(flips, level=level), estimand="flip rate", method="t on units")
        return replace(found, n_trials=known["n_trials"], conf_low=max(found.conf_low, 0.0))
    share = float(flips.mean())
    low, high = wilson_bounds(float(flips.sum()), float(flips.size), normal_quantile(level))
    std_error = sqrt(share * (1 - share) / flips.size) if 0 < share < 1 else nan
    agree = ("all units agree: the binomial standard error is not estimable",) if isnan(std_error) else ()
    return Estimate(
        estimate=share, std_error=std_error, conf_low=low, conf_high=high, caveats=agree, **known
    )
