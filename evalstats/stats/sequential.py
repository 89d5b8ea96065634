"""Is the evidence enough yet, when one looks after every trial? Statements that stay true at any time.

A p-value or an interval promises its error rate for one look. Looking every night and stopping when it suits
breaks the promise. An e-process is evidence that an unchanged subject drives above 1 / alpha with chance
alpha *ever*; a confidence sequence holds the truth at all times at once. The price is width: about 1.5 to 2 times.

Written by hand: the mixtures used here have closed forms.

References
----------
.. [Robbins] Robbins (1970). Statistical methods related to the law of the iterated logarithm. Ann. Math.
   Stat. 41:1397. doi:10.1214/aoms/1177696786
.. [Howard] Howard, Ramdas, McAuliffe, Sekhon (2021). Time-uniform, nonparametric, nonasymptotic confidence
   sequences. Ann. Stat. 49:1055. doi:10.1214/20-AOS1991
.. [Shiryaev] Shiryaev (1963). On optimum methods in quickest detection problems. Theory Probab. Appl. 8:22.
   doi:10.1137/1108002
.. [Shin] Shin, Ramdas, Rinaldo (2024). E-detectors: a nonparametric framework for sequential change
   detection. New Engl. J. Stat. Data Sci. 2:229. doi:10.51387/23-NEJSDS51
"""

from collections.abc import Callable
from math import log, nan

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, log_ndtr, xlog1py, xlogy

from evalstats.stats.control_charts import Chart
from evalstats.stats.results import (
    Alternative,
    Estimate,
    FloatArray,
    Population,
    Test,
    check_choice,
    check_count,
    check_level,
    check_positive,
    check_scores,
)


def confidence_sequence(
    successes: int, trials: int, *, level: float = 0.95, population: Population = "SUPER"
) -> Estimate:
    """Which pass rates agree with the counts, however often one has looked? Robbins' beta-binomial mixture.

    Parameters
    ----------
    successes, trials : int
        Passed trials, and all usable trials so far.
    level : float
        Confidence that the pass rate lies in *all* intervals of the sequence.
    population : {"SUPER", "FIXED"}
        SUPER when each trial is another case, FIXED when all are reruns of one case.

    Returns
    -------
    Estimate
        Of the pass rate, a proportion. The interval is of the trials so far; `std_error` is NaN, since the
        interval is not made from one.

    Notes
    -----
    Assumes independent trials of one pass rate, looked at in any order and as often as one likes. When the
    number of trials was fixed beforehand `wilson` is much narrower.

    References
    ----------
    [Robbins]_, [Howard]_.

    Examples
    --------
    >>> found = confidence_sequence(8, 10)
    >>> round(found.conf_low, 4), round(found.conf_high, 4)
    (0.353, 0.9895)
    """
    s, n = check_count(successes, trials)
    bound = -log(1 - check_level(level))
    centre = s / n if n else nan

    def evidence(rate: float) -> float:
        """Return the log of the mixture likelihood over that of `rate`."""
        return float(betaln(s + 1, n - s + 1) - xlogy(s, rate) - xlog1py(n - s, -rate))

    return Estimate(
        estimand="pass rate",
        population=population,
        estimate=centre,
        std_error=nan,
        conf_low=_crossing(evidence, bound, 0.0, centre) if s else 0.0,
        conf_high=_crossing(evidence, bound, 1.0, centre) if s < n else 1.0,
        level=level,
        n_cases=n,
        n_trials=n,
        method="beta-binomial confidence sequence",
        caveats=("valid at any time: no standard error",) if n else ("no trials",),
    )


def e_process(z: ArrayLike, *, scale: float = 1.0, alternative: Alternative = "two-sided") -> FloatArray:
    """How much evidence is there by now against "nothing changed"? A normal-mixture e-process.

    Parameters
    ----------
    z : array of float, shape (n_nights,)
        Standardised nights, oldest first: standard normal if nothing changed.
    scale : float
        Size of the shifts looked for, in standard deviations (standard deviation of the mixture).
    alternative : {"two-sided", "greater", "less"}
        "less": the level dropped.

    Returns
    -------
    array of float, shape (n_nights,)
        Evidence after each night, at least 0. An unchanged series ever exceeds 1 / alpha with chance alpha
        at most.

    Notes
    -----
    Assumes independent normal nights of known centre and spread: from a short history the guarantee is lost.
    Slow to see a change that begins late: use `shiryaev_roberts`.

    References
    ----------
    [Robbins]_, [Howard]_.

    Examples
    --------
    >>> e_process([-2.0, -2.5, -1.5], alternative="less").round(2)
    array([ 3.54, 33.59, 89.9 ])
    """
    check_choice("alternative", alternative, ("two-sided", "greater", "less"))
    values = check_scores(z)
    check_positive("scale", scale)
    sums, nights = np.cumsum(values), np.arange(1, values.size + 1)
    spread = 1 + nights * scale**2
    log_e = (scale * sums) ** 2 / (2 * spread) - np.log(spread) / 2
    if alternative != "two-sided":  # a half-normal mixture: twice the mass on one side
        side = 1.0 if alternative == "greater" else -1.0
        log_e += log(2) + log_ndtr(side * scale * sums / np.sqrt(spread))
    return np.asarray(np.exp(np.minimum(log_e, 700.0)))  # 1e304 is enough evidence


def e_process_test(z: ArrayLike, *, scale: float = 1.0, alternative: Alternative = "two-sided") -> Test:
    """Has the level changed, judged at any time one likes? The anytime-valid p-value of `e_process`.

    Parameters
    ----------
    z : array of float, shape (n_nights,)
        Standardised nights, oldest first.
    scale : float
        Size of the shifts looked for, in standard deviations.
    alternative : {"two-sided", "greater", "less"}
        "less": the level dropped.

    Returns
    -------
    Test
        `statistic` is the largest evidence so far, `p_value` one over it, at most 1.

    Notes
    -----
    Assumes what `e_process` does.

    References
    ----------
    [Howard]_.

    Examples
    --------
    >>> e_process_test([-2.0, -2.5, -1.5], alternative="less").p_value < 0.05
    True
    """
    evidence = e_process(z, scale=scale, alternative=alternative)
    largest = float(evidence.max()) if evidence.size else nan
    return Test(
        null="the nights are standard normal, as in control",
        alternative=alternative,
        statistic=largest,
        p_value=min(1.0, 1 / largest) if evidence.size else nan,
        method=f"normal-mixture e-process, scale {scale:g}",
        caveats=() if evidence.size else ("no nights",),
    )


def shiryaev_roberts(z: ArrayLike, *, shift: float = -1.0, limit: float = 500.0) -> Chart:
    """Has the level shifted at some unknown night? Shiryaev-Roberts, with a guarantee on false alarms.

    Parameters
    ----------
    z : array of float, shape (n_nights,)
        Standardised nights, oldest first: standard normal before the change.
    shift : float
        Shift to be found soon, in standard deviations; negative for a drop.
    limit : float
        Mean number of nights to a false alarm, at least.

    Returns
    -------
    Chart
        `upper` is the statistic, `lower` is 0: it looks in the direction of `shift` only.

    Notes
    -----
    Assumes independent normal nights of known centre and spread. The guarantee is on the mean wait, not on
    the chance of a false alarm ever, which is 1.

    References
    ----------
    [Shiryaev]_, [Shin]_.

    Examples
    --------
    >>> shiryaev_roberts([0.0] * 5 + [-2.0] * 6).first_alarm
    8
    """
    values = check_scores(z)
    check_positive("size of the shift", abs(shift))
    check_positive("limit", limit)
    gains = shift * values - shift**2 / 2
    log_r, state = np.empty(values.size), -np.inf
    for night, gain in enumerate(gains):
        state = np.logaddexp(0.0, state) + gain
        log_r[night] = state
    return Chart(
        upper=np.exp(np.minimum(log_r, 700.0)),
        lower=np.zeros(values.size),
        limit=limit,
        method=f"Shiryaev-Roberts, shift {shift:g}",
    )


def _crossing(evidence: Callable[[float], float], bound: float, outside: float, inside: float) -> float:
    """Return where the evidence against a rate falls to the bound, between a rejected and a kept rate."""
    for _ in range(60):
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if evidence(middle) > bound else (outside, middle)
    return inside
