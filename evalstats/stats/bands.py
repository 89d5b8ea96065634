"""Will the next run of these very cases land here? Variance bands over repeated runs.

The cases are fixed: what varies is trials, judges and days. Three bands answer three questions. Prediction:
the next run. Tolerance: most of all future runs. Confidence: the long-run mean only, far too narrow to serve
as an alarm limit. With fewer than five runs see `evalstats.stats.trial_noise`.

Written by hand: each is a mean, a standard deviation and one factor, and none is offered by scipy.

References
----------
.. [HM] Hahn, Meeker (1991). Statistical Intervals, chapters 3 and 4. Wiley. doi:10.1002/9780470316771
.. [Howe] Howe (1969). Two-sided tolerance limits for normal populations. JASA 64:610.
   doi:10.1080/01621459.1969.10500999
"""

from math import inf, isnan, nan, sqrt
from typing import Literal

from numpy.typing import ArrayLike
from scipy.special import chdtri, nctdtrit, ndtri

from evalstats.stats.results import (
    Estimate,
    FloatArray,
    agree,
    check_at_least,
    check_choice,
    check_level,
    check_scores,
    counted,
    t_quantile,
)

FEW_RUNS = 5  # below this the spread of the runs is hardly known


def prediction_band(run_means: ArrayLike, *, future_runs: int = 1, level: float = 0.95) -> Estimate:
    """Will the next run land here? Prediction interval for the mean of coming runs.

    Parameters
    ----------
    run_means : array of float, shape (n_runs,)
        The headline of each past run of the same cases, in its own unit.
    future_runs : int
        How many coming runs are averaged before they are compared with the band.
    level : float
        Probability that the mean of those runs falls inside, over histories and futures together.

    Returns
    -------
    Estimate
        `estimate` is the mean of past runs, `std_error` that of the coming mean around it (population FIXED).
        `n_cases` counts runs.

    Notes
    -----
    Assumes runs independent, near normal and without drift. It is good for one look: for every future run
    use `tolerance_band`; below 5 runs prefer `model_band`.

    References
    ----------
    [HM]_, chapter 4.

    Examples
    --------
    >>> print(prediction_band([0.70, 0.74, 0.72, 0.73, 0.71]))
    next run 0.72 [0.6719, 0.7681] at level 0.95 (prediction over 5 runs, FIXED, 5 cases, 5 trials)
    """
    check_at_least("future_runs", future_runs)
    values = check_scores(run_means)
    factor = sqrt(1 / future_runs + 1 / max(values.size, 1))
    quantile = t_quantile(level, max(values.size - 1, 1))
    return _band(values, (quantile * factor,) * 2, factor, "next run", level, "prediction")


def confidence_band(run_means: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Where is the long-run mean of these cases? Student's t over runs, never an alarm limit.

    Parameters
    ----------
    run_means : array of float, shape (n_runs,)
        The headline of each past run of the same cases, in its own unit.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of the mean over all runs of these cases (population FIXED). `n_cases` counts runs.

    Notes
    -----
    Assumes runs independent, near normal and without drift. A single run often falls outside: to judge one
    use `prediction_band`.

    References
    ----------
    [HM]_, chapter 3.

    Examples
    --------
    >>> print(confidence_band([0.70, 0.74, 0.72, 0.73, 0.71]))
    long-run mean 0.72 [0.7004, 0.7396] at level 0.95 (confidence over 5 runs, FIXED, 5 cases, 5 trials)
    """
    values = check_scores(run_means)
    factor = sqrt(1 / max(values.size, 1))
    quantile = t_quantile(level, max(values.size - 1, 1))
    return _band(values, (quantile * factor,) * 2, factor, "long-run mean", level, "confidence")


def tolerance_band(
    run_means: ArrayLike,
    *,
    content: float = 0.95,
    side: Literal["both", "lower", "upper"] = "both",
    level: float = 0.90,
) -> Estimate:
    """Where do most future runs land? Normal tolerance interval: Howe's two-sided, exact one-sided.

    Parameters
    ----------
    run_means : array of float, shape (n_runs,)
        The headline of each past run of the same cases, in its own unit.
    content : float
        Share of future runs to be inside, in (0, 1).
    side : {"both", "lower", "upper"}
        "lower": only a lower limit, the upper is infinite.
    level : float
        Confidence that at least `content` of future runs is inside.

    Returns
    -------
    Estimate
        `estimate` is the mean of past runs, `std_error` the standard deviation of runs (population FIXED).
        `n_cases` counts runs.

    Notes
    -----
    Assumes runs independent, without drift and normal out to the tails, which a score near 0 or 1 is not.
    For the next run alone it is too wide: use `prediction_band`.

    References
    ----------
    [Howe]_; [HM]_, chapter 4 (noncentral t).

    Examples
    --------
    >>> print(tolerance_band([0.70, 0.74, 0.72, 0.73, 0.71], side="lower").conf_high)
    inf
    """
    values = check_scores(run_means)
    check_choice("side", side, ("both", "lower", "upper"))
    n, share = max(values.size, 2), check_level(content, "content")
    if side == "both":
        spread = (n - 1) * (1 + 1 / n) / float(chdtri(n - 1, check_level(level)))
        factors = (float(ndtri((1 + share) / 2)) * sqrt(spread),) * 2
    else:
        one = float(nctdtrit(n - 1, ndtri(share) * sqrt(n), check_level(level))) / sqrt(n)
        factors = (one, inf) if side == "lower" else (inf, one)
    return _band(values, factors, 1.0, f"{share:g} of future runs", level, "tolerance")


def _band(
    values: FloatArray, factors: tuple[float, float], se_factor: float, estimand: str, level: float, kind: str
) -> Estimate:
    """Return mean -/+ factor times standard deviation, or NaN with the reason."""
    n = values.size
    # Equal headlines say that the score is coarse, not that the next run is certain.
    spread = float(values.std(ddof=1)) if not agree(values) else nan
    mean = float(values.mean()) if n else nan
    runs = counted(n, "run")
    problem = f"{runs if n < 2 else 'all runs agree'}: no spread to scale"
    few = f"{runs}: the spread is hardly known"
    return Estimate(
        estimand=estimand,
        population="FIXED",
        estimate=mean,
        std_error=se_factor * spread,
        conf_low=mean - factors[0] * spread,
        conf_high=mean + factors[1] * spread,
        level=level,
        n_cases=n,
        n_trials=n,
        method=f"{kind} over {runs}",
        caveats=(problem,) if isnan(spread) else (few,) if n < FEW_RUNS else (),
    )
