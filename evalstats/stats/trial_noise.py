"""Do runs vary more than their trials explain? Trial noise inside cases, and the band it makes.

With few runs nobody knows how far runs spread, but replicate trials tell how far they would spread if trial
noise were all. That is the model band. Held against the observed spread it shows what else is at work: days,
judges, infrastructure.

Written by hand: a sum of variances, Satterthwaite's degrees of freedom, and one quantile.

References
----------
.. [Satterthwaite] Satterthwaite (1946). An approximate distribution of estimates of variance components.
   Biometrics Bull. 2:110. doi:10.2307/3002019
.. [DM] Dixon, Massey (1957). Introduction to Statistical Analysis, 2nd ed.. McGraw-Hill.
.. [Fisher] Fisher (1925). Statistical Methods for Research Workers, chapter 7. Oliver and Boyd.
"""

from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtr, fdtrc

from evalstats.stats.means import centred
from evalstats.stats.results import (
    ROUNDING,
    Alternative,
    Estimate,
    FloatArray,
    Test,
    agree,
    around,
    check_at_least,
    check_choice,
    check_clusters,
    check_level,
    check_scores,
    counted,
    t_quantile,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinCases:
    """How much do the trials of one case differ? Variance inside each case, and what it rests on.

    Parameters
    ----------
    variances : array of float, shape (n_cases,)
        Variance of a single trial inside each case (divisor: degrees of freedom), in squared score units;
        NaN where a case has no second trial.
    trials : array of int, shape (n_cases,)
        Trials of each case in one run.
    dfs : array of int, shape (n_cases,)
        Degrees of freedom of each variance: runs times (trials - 1) when pooled over runs.

    Examples
    --------
    >>> WithinCases.of([1, 0, 1, 1], cases=["a", "a", "b", "b"]).variances
    array([0.5, 0. ])
    """

    variances: FloatArray
    trials: FloatArray
    dfs: FloatArray

    @classmethod
    def of(cls, scores: ArrayLike, *, cases: ArrayLike) -> Self:
        """Collect it from the trials of one run: their scores and the case of each, flat vectors."""
        values = check_scores(scores)
        codes = check_clusters(cases, values.size)
        trials = np.bincount(codes).astype(np.float64)
        squares = np.bincount(codes, weights=centred(values, codes) ** 2).astype(np.float64)
        variances = np.divide(squares, trials - 1, out=np.full_like(squares, nan), where=trials > 1)
        return cls(variances=variances, trials=trials, dfs=trials - 1)

    def run_variance(self) -> tuple[float, float]:
        """Return the variance of a run's mean score by trial noise alone, and its degrees of freedom.

        A squared variance is too large by (df + 2) / df on average, which with 2 or 3 trials a case would halve
        Satterthwaite's degrees; hence the + 2 and the - 2 of [DM]_.
        """
        parts = self.variances / self.trials / max(self.trials.size, 1) ** 2
        total = float(parts.sum())
        return total, total**2 / float((parts**2 / (self.dfs + 2)).sum()) - 2 if total > 0 else nan

    def problem(self) -> str:
        """Return why the run variance cannot be had, or an empty string."""
        single = int(np.isnan(self.variances).sum())
        if not self.variances.size:
            return "no cases"
        if single:
            return f"{counted(single, 'case')} without replicate trials: the variance is unknown"
        return (
            ""
            if self.variances.max() > ROUNDING**2
            else "all trials of each case agree: no trial noise to scale"
        )


def model_band(
    centre: float, within: WithinCases, *, history: int = 1, future_runs: int = 1, level: float = 0.95
) -> Estimate:
    """Will the next run land here, if only trial noise is at work? Band from variance inside cases.

    Parameters
    ----------
    centre : float
        Mean of case means over the past runs, in the unit of the score.
    within : WithinCases
        Variance inside each case.
    history, future_runs : int
        Runs behind `centre`, and coming runs averaged before they are compared with the band.
    level : float
        Probability that the coming mean falls inside.

    Returns
    -------
    Estimate
        Around `centre` (population FIXED); `std_error` is that of the coming mean around it.

    Notes
    -----
    Assumes no day, judge or infrastructure effect: with any, it is too narrow. From 5 runs on use
    `prediction_band`, and `variance_ratio` to see whether the model holds.

    References
    ----------
    [Satterthwaite]_, [DM]_.

    Examples
    --------
    >>> within = WithinCases.of([1, 0, 1, 1, 0, 0], cases=list("aabbcc"))
    >>> print(model_band(0.5, within))
    next run 0.5 [-2.495, 3.495] at level 0.95 (model band, FIXED, 3 cases, 6 trials)
    """
    check_at_least("history", history)
    check_at_least("future_runs", future_runs)
    variance, df = within.run_variance()
    problem = within.problem() or ("no past run has a score: no centre" if isnan(centre) else "")
    std_error = nan if problem else sqrt(variance * (1 / future_runs + 1 / history))
    return around(
        centre,
        std_error,
        nan if problem else t_quantile(level, df),
        estimand="next run",
        population="FIXED",
        level=check_level(level),
        n_cases=within.trials.size,
        n_trials=history * int(within.trials.sum()),
        method="model band",
        caveats=(problem,) if problem else (),
    )


def variance_ratio(
    run_means: ArrayLike, within: WithinCases, *, alternative: Alternative = "greater"
) -> Test:
    """Do runs vary more than their trials explain? F test of observed over modelled variance of a run.

    Parameters
    ----------
    run_means : array of float, shape (n_runs,)
        Mean of case means of each run of the same cases, in the unit of the score.
    within : WithinCases
        Variance inside each case, pooled over the runs.
    alternative : {"two-sided", "greater", "less"}
        "greater": something beyond trials moves whole runs, such as a day or the infrastructure.

    Returns
    -------
    Test
        `statistic` is the ratio of the two variances, F with runs - 1 and Satterthwaite's degrees of freedom.

    Notes
    -----
    Assumes run means near normal: do not use it with a handful of yes/no trials in a run.

    References
    ----------
    [Fisher]_, [Satterthwaite]_, [DM]_.

    Examples
    --------
    >>> within = WithinCases.of([1, 0, 1, 1, 0, 0], cases=list("aabbcc"))
    >>> variance_ratio([0.5, 0.7, 0.3], within).statistic  # doctest: +ELLIPSIS
    1.44...
    """
    values = check_scores(run_means)
    variance, df = within.run_variance()
    few = "" if values.size > 1 else f"{counted(values.size, 'run')}: no variance between runs"
    problem = within.problem() or few
    doubt = ("all runs agree: cached or deterministic?",) if agree(values) else ()
    ratio = nan if problem else float(values.var(ddof=1)) / variance
    greater, less = (nan, nan) if problem else (f(values.size - 1, df, ratio) for f in (fdtrc, fdtr))
    tails = {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}
    return Test(
        null="runs vary only as trials inside cases do",
        alternative=alternative,
        statistic=ratio,
        p_value=nan if isnan(ratio) else tails[check_choice("alternative", alternative, tuple(tails))],
        method="F, observed over modelled variance",
        caveats=(problem,) if problem else doubt,
    )
