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
.. [Arvesen] Arvesen (1969). Jackknifing U-statistics. Ann. Math. Stat. 40:2076. doi:10.1214/aoms/1177697287
.. [Williams] Williams (1962). A confidence interval for variance components. Biometrika 49:278.
   doi:10.1093/biomet/49.1-2.278
"""

from dataclasses import dataclass, fields
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from evalstats.stats.jackknife import jackknife
from evalstats.stats.layouts import LEVELS, NAMES, Layout
from evalstats.stats.results import Estimate, FloatArray, check_level, undefined

MIN_DAYS = 5  # with fewer, the variance between days is hardly more than a guess


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
    >>> found.trial.estimate, found.judge.caveats
    (0.1666..., ('confounded with trial: no replication',))
    """

    case: Estimate
    day: Estimate
    case_day: Estimate
    trial: Estimate
    judge: Estimate

    def __iter__(self) -> Any:
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
    Assumes effects independent between levels; no normality, except in the interval between days. The
    jackknife wants some 20 cases. Cost grows linearly with rows. With one row per case nothing can be
    separated, and everything is refused.

    References
    ----------
    [H1]_, [SCM]_; [Arvesen]_, [Williams]_ for the intervals.

    Examples
    --------
    >>> found = variance_components([9, 8, 5, 6, 2, 1], cases=[1, 1, 2, 2, 3, 3])
    >>> round(found.case.estimate, 12), found.trial.estimate
    (12.0, 0.5)
    """
    layout = Layout.of(scores, cases=cases, days=days, trials=trials, arms=arms)
    check_level(level)
    known = {"population": "SUPER", "n_trials": layout.n_trials, "method": "sequential moments"}
    problem = layout.problem()
    if problem:
        return _all_unknown(problem, level=level, n_cases=layout.n_cases, **known)
    found = layout.moments()
    estimates = {}
    for k, name in enumerate(LEVELS):
        labelled = {"estimand": NAMES[name], **known}
        if name not in layout.active:
            estimates[name] = undefined(layout.reason(name), level=level, n_cases=layout.n_cases, **labelled)
        elif name == "day":
            estimates[name] = _between_days(layout, level, labelled)
        else:
            estimates[name] = jackknife(
                found[:, k], level=level, caveats=layout.includes(name), **labelled
            )
    return Components(**estimates)


def _all_unknown(problem: str, **known: Any) -> Components:
    return Components(**{name: undefined(problem, estimand=NAMES[name], **known) for name in LEVELS})


def _between_days(layout: Layout, level: float, known: dict[str, Any]) -> Estimate:
    """Return the variance between days with Williams's interval: days are few, and were what was sampled."""
    estimate, total = layout.between_days()
    if layout.n_days < MIN_DAYS:
        few = f"{layout.n_days} of the {MIN_DAYS} days needed for a variance between days"
        return undefined(few, level=level, n_cases=layout.n_cases, **known)
    df, rest = layout.n_days - 1, total - estimate
    low, high = (df * total / float(chdtri(df, tail)) - rest for tail in ((1 - level) / 2, (1 + level) / 2))
    return Estimate(
        estimate=estimate,
        std_error=total * sqrt(2 / df),
        conf_low=low,
        conf_high=high,
        level=level,
        n_cases=layout.n_cases,
        caveats=(f"interval assumes normal effects of {layout.n_days} days",),
        **known,
    )
