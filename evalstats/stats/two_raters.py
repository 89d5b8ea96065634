"""Do two judges agree, or is the verdict just rare? Kappa for two raters, and what moves it.

The unit is what was judged (a transcript, a case). Chance-corrected agreement is low when one verdict is rare,
however well the raters agree: the kappa paradox. Read kappa and PABAK together. For more than two raters, or
with gaps, see `evalstats.stats.agreement`.

Written by hand: statsmodels has kappa's standard error but wants a table, and has neither PABAK nor its
indices.

References
----------
.. [Cohen] Cohen (1960). A coefficient of agreement for nominal scales. Educ. Psychol. Meas. 20:37.
   doi:10.1177/001316446002000104
.. [FCE] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   Psychol. Bull. 72:323. doi:10.1037/h0028106
.. [BBC] Byrt, Bishop, Carlin (1993). Bias, prevalence and kappa. J. Clin. Epidemiol. 46:423.
   doi:10.1016/0895-4356(93)90018-V
.. [FC] Feinstein, Cicchetti (1990). High agreement but low kappa: I. J. Clin. Epidemiol. 43:543.
   doi:10.1016/0895-4356(90)90158-L
"""

from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.proportions import wilson
from evalstats.stats.results import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    around,
    bounded,
    check_level,
    check_pairs,
    check_yes_no,
    normal_quantile,
    rescaled,
    undefined,
)

SAME_UNITS = "first and second must rate the same units"


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

    Examples
    --------
    >>> kappa_paradox([1, 1, 0, 1], [1, 1, 1, 1]).bias_index
    -0.25
    """

    kappa: Estimate
    pabak: Estimate
    prevalence_index: float
    bias_index: float


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
    a, b = check_pairs(first, second, must=SAME_UNITS)
    known: dict[str, Any] = {
        "estimand": "Cohen's kappa",
        "population": "SUPER",
        "level": check_level(level),
        "n_cases": a.size,
        "n_trials": 2 * a.size,
        "method": "Fleiss-Cohen-Everitt",
    }
    first, second = _codes(a, b)
    if not (first.any() or second.any()):
        return undefined("no variation: every verdict is the same" if a.size else "no units", **known)
    by_first, by_second = (np.bincount(codes, minlength=2 * a.size) / a.size for codes in (first, second))
    chance = float(by_first @ by_second)
    kappa = (float((first == second).mean()) - chance) / (1 - chance)
    other_way = by_second[first] + by_first[second]  # how often either rater gives the other's category
    std_error = _kappa_error(first == second, other_way, kappa, chance) / sqrt(a.size)
    if not std_error > 1e-9:
        caveat = "raters agree, or disagree, throughout: the standard error is not estimable"
        return undefined(caveat, estimate=kappa, **known)
    return bounded(around(kappa, std_error, normal_quantile(level), **known), high=1)


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
    a, b = check_pairs(first, second, must=SAME_UNITS)
    check_yes_no("verdicts", a, b)
    kappa = cohen_kappa(a, b, level=level)
    agreed = wilson(int((a == b).sum()), a.size, level=level)
    pabak = rescaled(
        agreed,
        2,
        shift=-1,
        estimand="prevalence- and bias-adjusted kappa",
        n_trials=2 * a.size,
        method="2 x agreement - 1, Wilson",
    )
    return KappaParadox(
        kappa=kappa,
        pabak=pabak,
        prevalence_index=float((a + b - 1).mean()) if a.size else nan,
        bias_index=float((a - b).mean()) if a.size else nan,
    )


def _codes(a: FloatArray, b: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the category of each unit by each rater, as numbers from 0."""
    codes = np.unique(np.r_[a, b], return_inverse=True)[1]
    return codes[: a.size], codes[a.size :]


def _kappa_error(agreed: BoolArray, other_way: FloatArray, kappa: float, chance: float) -> float:
    """Return the large-sample standard error of kappa for one unit [FCE]_, as means over the units."""
    own = np.where(agreed, 1 - other_way * (1 - kappa), (1 - kappa) * other_way)
    variance = float((own**2).mean()) - (kappa - chance * (1 - kappa)) ** 2
    return sqrt(max(variance, 0.0)) / (1 - chance)
