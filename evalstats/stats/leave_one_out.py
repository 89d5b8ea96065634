"""How far off may any statistic be? Leave each unit out in turn, and see how far it moves.

The units (cases, transcripts) are what was sampled; everything that belongs to one goes with it. It needs no
random numbers, so the same data give the same interval.

Written by hand: two lines of arithmetic, once the leave-one-out values are at hand; those have closed forms
here, and no library computes them so.

References
----------
.. [Tukey] Tukey (1958). Bias and confidence in not quite large samples (abstract). Ann. Math. Stat. 29:614.
.. [ES] Efron, Stein (1981). The jackknife estimate of variance. Ann. Stat. 9:586.
   doi:10.1214/aos/1176345462
"""

from math import nan, sqrt
from typing import Any

import numpy as np

from evalstats.stats.results import Estimate, FloatArray, agree, around, t_quantile

MIN_UNITS = 3


def jackknife(values: FloatArray, *, level: float, caveats: tuple[str, ...] = (), **known: Any) -> Estimate:
    """How far off may this statistic be? Delete-one jackknife around the value from all units.

    Parameters
    ----------
    values : array of float, shape (1 + n_units,)
        The statistic from all units, then without each unit in turn.
    level : float
        Confidence level of the t interval with n_units - 1 degrees of freedom.
    caveats : tuple of str
        What is already known to be wrong.
    **known
        The other fields of the Estimate: `estimand`, `population`, `n_trials`, `method`; `n_cases` counts
        units.

    Returns
    -------
    Estimate
        The statistic as it is, without Tukey's correction of bias.

    Notes
    -----
    Assumes independent units and a smooth statistic. Not for medians and quantiles: there it does not work.

    References
    ----------
    [Tukey]_, [ES]_.

    Examples
    --------
    >>> leave_one_out = np.array([2.0, 2.5, 2.0, 1.5])  # the mean of 1, 2, 3, then without each
    >>> record = jackknife(leave_one_out, level=0.95, estimand="mean", population="SUPER", n_trials=3,
    ...                    method="jackknife")
    >>> round(record.std_error, 12)  # as s / sqrt(n)
    0.57735026919
    """
    n = values.size - 1
    problem = _why_no_error(values)
    std_error = nan if problem else jackknife_error(values[1:])
    return around(
        values[0],
        std_error,
        t_quantile(level, max(n - 1, 1)),
        level=level,
        n_cases=n,
        caveats=(*caveats, problem) if problem else caveats,
        **known,
    )


def jackknife_error(left_out: FloatArray) -> float:
    """Return the standard error from the leave-one-out values, shape (n_units,)."""
    return sqrt(float(((left_out - left_out.mean()) ** 2).sum()) * (1 - 1 / left_out.size))


def _why_no_error(values: FloatArray) -> str:
    n = values.size - 1
    if n < MIN_UNITS:
        return f"{n} of the {MIN_UNITS} units needed for a standard error"
    if not np.isfinite(values).all():
        return "undefined once some unit is left out: no standard error"
    return "" if not agree(values) else "no unit moves it: the variance is not estimable"
