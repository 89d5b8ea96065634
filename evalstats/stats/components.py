"""Where does the variance come from: cases, days, trials, the judge? Sequential moments.

A score is the mean of its arm plus an effect of its case, its day, the two together, the trial and the
judgement. Each sum of squares is a known mixture of the five variances, also in unbalanced data; equating the
sums with what they expect and solving gives the variances. Arms are fixed: each has its own mean, and "case"
is the variance between cases of one arm.

Written by hand: one pass over the rows with integer codes. `mixed_model` in
`evalstats.stats.mixed_models` asks statsmodels the same on small data.

References
----------
.. [H1] Henderson (1953). Estimation of variance and covariance components. Biometrics 9:226 (method 1).
   doi:10.2307/3001853
.. [SCM] Searle, Casella, McCulloch (1992). Variance Components, chapter 5. Wiley.
   doi:10.1002/9780470316856
.. [RDF] Ridout, Demetrio, Firth (1999). Estimating intraclass correlation for binary data. Biometrics 55:137.
   doi:10.1111/j.0006-341X.1999.00137.x
.. [Arvesen] Arvesen (1969). Jackknifing U-statistics. Ann. Math. Stat. 40:2076. doi:10.1214/aoms/1177697287
.. [Williams] Williams (1962). A confidence interval for variance components. Biometrika 49:278.
   doi:10.1093/biomet/49.1-2.278
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from evalstats.stats.layouts import LEVELS, NAMES, Layout
from evalstats.stats.leave_one_out import jackknife
from evalstats.stats.results import Estimate, FloatArray, check_counts, check_level, undefined

MIN_DAYS = 5  # with fewer, the variance between days is hardly more than a guess
FEW_CASES, FEW_COUNTS = (
    40,
    20,
)  # below these the jackknife's 95% is too narrow: of graded scores, of yes/no counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Which share has each source? Five variances, each with its interval.

    Parameters
    ----------
    case, day, case_day, trial, judge : Estimate
        Variance between cases of one arm, between days, of the case x day interaction, between trials of one
        case and day, between judgements of one trial; in squared score units. Raw: below 0 where the data
        vary less than finer levels explain. NaN where the design cannot tell, with the reason.

    Examples
    --------
    >>> found = variance_components([1, 1, 0, 1, 0, 0], cases=list("aabbcc"))
    >>> round(found.trial.estimate, 12), found.judge.caveats
    (0.166666666667, ('confounded with trial: no replication',))
    """

    case: Estimate
    day: Estimate
    case_day: Estimate
    trial: Estimate
    judge: Estimate

    def __iter__(self) -> Iterator[Estimate]:
        """Yield the five estimates, coarsest first."""
        return (getattr(self, field.name) for field in fields(self))

    def truncated(self) -> dict[str, float]:
        """Return each variance, not below 0; NaN stays NaN."""
        return {
            field.name: max(found.estimate, 0.0) if not isnan(found.estimate) else nan
            for field, found in zip(fields(self), self, strict=True)
        }

    def shares(self) -> dict[str, float]:
        """Return each truncated variance over the sum of the known ones; NaN stays NaN."""
        variances = self.truncated()
        total = sum(v for v in variances.values() if not isnan(v))
        return {name: v / total if total > 0 else nan for name, v in variances.items()}


def variance_components(
    scores: ArrayLike,
    *,
    cases: ArrayLike,
    days: ArrayLike | None = None,
    trials: ArrayLike | None = None,
    arms: ArrayLike | None = None,
    level: float = 0.95,
) -> Components:
    """Where does the variance come from? Henderson's sequential moments, with intervals.

    Parameters
    ----------
    scores : array of float, shape (n_rows,)
        One row per judgement, in the unit of the score.
    cases : array of labels, shape (n_rows,)
        The case of each row.
    days : array of labels, shape (n_rows,), optional
        The day (or run) of each row. Below 5 days no variance between days is given.
    trials : array of labels, shape (n_rows,), optional
        The trial of each row within its arm, case and day; rows of one trial are judged repeatedly. Absent:
        every row is a trial.
    arms : array of labels, shape (n_rows,), optional
        The arm of each row; each arm has its own mean, which takes no part.
    level : float
        Confidence level.

    Returns
    -------
    Components
        Raw and unbiased, hence at times negative. A level that is never repeated is NaN and named
        "confounded with" the coarser level that holds its variance. Intervals: delete-one-case jackknife; for
        days Williams's chi-square interval, since it is days that were sampled.

    Notes
    -----
    Assumes effects independent between levels; no normality, except in the interval between days. Nominal 80%
    covers .77 to .84; nominal 95% covers .88 to .90 at 10 cases, .89 to .91 at 20, .92 at 40, .93 at 80 where
    scores are normal (yes/no scores: its level from 20 on), and below 40 a caveat says so. Cost grows linearly
    with rows. With one row per case nothing can be separated, and everything is refused.

    References
    ----------
    [H1]_, [SCM]_; [Arvesen]_, [Williams]_ for the intervals.

    Examples
    --------
    >>> found = variance_components([9, 8, 5, 6, 2, 1], cases=[1, 1, 2, 2, 3, 3])
    >>> round(found.case.estimate, 9), round(found.trial.estimate, 9)
    (12.083333333, 0.5)
    """
    layout = Layout.of(scores, cases=cases, days=days, trials=trials, arms=arms)
    check_level(level)
    problem = layout.problem()
    return Components(**{name: _variance(layout, name, problem, level) for name in LEVELS})


def case_correlation(passed: ArrayLike, trials: ArrayLike, *, level: float = 0.95) -> Estimate:
    """How alike are two trials of one case? The beta-binomial correlation from counts, untruncated.

    Parameters
    ----------
    passed, trials : array of int, shape (n_cases,)
        Passed trials of each case, and all usable trials of it (at least 1).
    level : float
        Confidence level of the delete-one-case jackknife interval.

    Returns
    -------
    Estimate
        Of the correlation (population SUPER): the share of the variance of a yes/no trial that lies between
        cases. Near 0, on either side, when passing is a coin flip; 1 when every case agrees with itself.

    Notes
    -----
    Assumes cases drawn independently. The same number as `icc` on the yes/no rows, from counts alone. Nominal
    95% covers .89 at 10 cases and its level from 20 on. Not for graded scores: use `variance_components`.

    References
    ----------
    [RDF]_ (the analysis-of-variance estimator).

    Examples
    --------
    >>> round(case_correlation([3, 2, 0, 3], [3, 3, 3, 3]).estimate, 9)
    0.7
    """
    c, n = (counts.astype(np.float64) for counts in check_counts(passed, trials))
    if c.ndim != 1 or (n < 1).any():
        raise ValueError(f"counts must be flat with at least 1 trial a case, got trials {n.tolist()}")
    known: dict[str, Any] = {
        "estimand": "correlation of two trials of one case",
        "population": "SUPER",
        "level": check_level(level),
        "n_trials": int(n.sum()),
        "method": "ANOVA correlation from counts",
    }
    problem = _why_no_correlation(c, n)
    if problem:
        return undefined(problem, n_cases=n.size, **known)
    return _told(jackknife(_correlations(c, n), **known), FEW_COUNTS)


def _why_no_correlation(c: FloatArray, n: FloatArray) -> str:
    if n.size < 2:
        return "one case: nothing to compare" if n.size else "no cases"
    if (n == 1).all():
        return "one trial of each case: nothing to compare"
    return "all trials agree: no variance to divide" if c.sum() in (0, n.sum()) else ""


def _correlations(c: FloatArray, n: FloatArray) -> FloatArray:
    """Return the correlation from all cases, then without each, shape (1 + n_cases,); NaN where undefined."""
    passed, total, within, sizes2 = (x.sum() - np.r_[0.0, x] for x in (c, n, c - c**2 / n, n**2))
    cases = n.size - np.r_[0.0, np.ones_like(n)]
    between = (passed - within - passed**2 / total) / (cases - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = within / (total - cases)
        typical = (total - sizes2 / total) / (cases - 1)
        return np.asarray((between - inside) / (between + (typical - 1) * inside))


def _variance(layout: Layout, name: str, problem: str, level: float) -> Estimate:
    """Return the variance of one level, or why it is unknown."""
    known: dict[str, Any] = {
        "estimand": NAMES[name],
        "population": "SUPER",
        "level": level,
        "n_trials": layout.n_trials,
        "method": "sequential moments",
    }
    if problem or name not in layout.active:
        return undefined(problem or layout.reason(name), n_cases=layout.n_cases, **known)
    if name == "day":
        return _between_days(layout, known)
    values = layout.moments[:, LEVELS.index(name)]
    return _told(jackknife(values, caveats=layout.includes(name), **known), FEW_CASES)


def _told(found: Estimate, enough: int) -> Estimate:
    """Return the estimate with a caveat where its interval is known to be too narrow: it is skewed."""
    if isnan(found.std_error) or found.n_cases >= enough or found.level <= 0.90:
        return found
    narrow = f"fewer than {enough} cases: a nominal 95% interval covers about .90"
    return replace(found, caveats=(*found.caveats, narrow))


def _between_days(layout: Layout, known: dict[str, Any]) -> Estimate:
    """Return the variance between days with Williams's interval: days are few, and were what was sampled."""
    n_days, level = layout.n_days, known["level"]
    if n_days < MIN_DAYS:
        few = f"{n_days} of the {MIN_DAYS} days needed for a variance between days"
        return undefined(few, n_cases=layout.n_cases, **known)
    estimate, total = layout.between_days()
    df, rest = n_days - 1, total - estimate
    low, high = (df * total / float(chdtri(df, tail)) - rest for tail in ((1 - level) / 2, (1 + level) / 2))
    return Estimate(
        estimate=estimate,
        std_error=total * sqrt(2 / df),
        conf_low=low,
        conf_high=high,
        n_cases=layout.n_cases,
        caveats=(f"interval assumes normal effects of the {n_days} days",),
        **known,
    )
