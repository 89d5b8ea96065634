"""Does a mixed model agree about where the variance comes from? A cross-check on small data.

statsmodels fits the variances by restricted maximum likelihood. It is slow (about cubic in the number of
levels), may stop at zero without saying why, and keeps variances at or above 0; the engine is
`variance_components`. In balanced data with positive estimates both give the same numbers.

References
----------
.. [LB] Lindstrom, Bates (1988). Newton-Raphson and EM algorithms for linear mixed-effects models. JASA
   83:1014. doi:10.1080/01621459.1988.10478693
"""

import warnings
from math import nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.layouts import NAMES
from evalstats.stats.means import centred
from evalstats.stats.results import (
    ROUNDING,
    Estimate,
    FloatArray,
    IntArray,
    agree,
    check_clusters,
    check_scores,
    undefined,
)

MAX_ROWS = 2_000
CROSS_CHECK = "a cross-check: no interval"


def mixed_model(
    scores: ArrayLike, *, cases: ArrayLike, days: ArrayLike | None = None, level: float = 0.95
) -> tuple[Estimate, ...]:
    """Does a mixed model see the same variances? REML by statsmodels, point estimates only.

    Parameters
    ----------
    scores : array of float, shape (n_rows,)
        One row per trial, in the unit of the score; at most 2,000.
    cases : array of labels, shape (n_rows,)
        The case of each row.
    days : array of labels, shape (n_rows,), optional
        The day (or run) of each row, crossed with cases.
    level : float
        Only carried along: there is no interval.

    Returns
    -------
    tuple of Estimate
        Variance between cases, between days (if given), and between trials: everything else. Never below 0.

    Notes
    -----
    Assumes normal effects. Where statsmodels fails (all scores agree, a variance at zero) the estimates are
    NaN with its complaint as a caveat. Do not use it as the engine: see `variance_components`.

    References
    ----------
    [LB]_.

    Examples
    --------
    >>> case, trial = mixed_model([9, 8, 5, 6, 2, 1], cases=[1, 1, 2, 2, 3, 3])
    >>> round(case.estimate, 3), round(trial.estimate, 3)
    (12.083, 0.5)
    """
    values = check_scores(scores)
    factors = {"case": check_clusters(cases, values.size)}
    if days is not None:
        factors["day"] = check_clusters(days, values.size)
    variances, caveats = _fit(values, factors)
    known: dict[str, Any] = {
        "population": "SUPER",
        "level": level,
        "n_cases": int(factors["case"].max(initial=-1)) + 1,
        "n_trials": values.size,
        "method": "REML mixed model",
    }
    return tuple(
        undefined("; ".join(caveats), estimate=variance, estimand=NAMES[name], **known)
        for name, variance in zip((*factors, "trial"), variances, strict=True)
    )


def _fit(values: FloatArray, factors: dict[str, IntArray]) -> tuple[list[float], list[str]]:
    """Return the variance of each factor and the rest, with what statsmodels had to say."""
    unknown = [nan] * (len(factors) + 1)
    problem = _refusal(values, factors)
    if problem:
        return unknown, [problem]
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        try:
            variances = _reml(values, factors)
        except (np.linalg.LinAlgError, ValueError) as error:
            return unknown, [f"statsmodels failed: {error}"]
    said = sorted({str(complaint.message).splitlines()[0] for complaint in complaints})
    return variances, [CROSS_CHECK, *(f"statsmodels: {line}" for line in said)]


def _refusal(values: FloatArray, factors: dict[str, IntArray]) -> str:
    if values.size > MAX_ROWS:
        return f"more rows than {MAX_ROWS}: a mixed model is not tried"
    if agree(values):
        return "all scores agree: no variance to divide" if values.size else "no scores"
    levels = {name: int(codes.max()) + 1 for name, codes in factors.items()}
    single = [name for name, n in levels.items() if n < 2 or n == values.size]
    if single:
        return f"{single[0]}: one level, or one row in each: nothing to separate"
    apart = np.abs(centred(values, factors["case"])).max() > ROUNDING
    return "" if apart else "all trials of each case agree: the likelihood has no maximum"


def _reml(values: FloatArray, factors: dict[str, IntArray]) -> list[float]:
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec  # a second of import

    spread = float(values.std())
    standard = (values - values.mean()) / spread  # the optimiser's tolerances suit numbers near 1
    ones = np.ones((values.size, 1))
    if len(factors) == 1:
        fit = MixedLM(standard, ones, groups=factors["case"], exog_re=ones).fit(reml=True)
        parts = [float(fit.cov_re[0, 0])]
    else:
        # One group of all rows: crossed effects are variance components inside it.
        designs = [[np.eye(int(codes.max()) + 1)[codes]] for codes in factors.values()]
        names = [
            [[f"{name}{k}" for k in range(m[0].shape[1])]] for name, m in zip(factors, designs, strict=True)
        ]
        spec = VCSpec(list(factors), names, designs)
        fit = MixedLM(standard, ones, groups=np.zeros(values.size), exog_vc=spec).fit(reml=True)
        parts = [float(part) for part in fit.vcomp]
    return [part * spread**2 for part in (*parts, float(fit.scale))]
