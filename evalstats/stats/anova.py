"""Do groups differ, and how far do raters agree on a score? The two classical tables of mean squares.

One-way: trials in groups. Two-way: every unit scored once by every rater (judge, run, day), which splits the
noise of a single score into what the rater is to blame for and the rest.

Written by hand: `scipy.stats.f_oneway` loses digits on data with many constant leading ones (NIST's hard
sets), and gives no mean squares; the intraclass correlations are in no library used here.

References
----------
.. [Fisher] Fisher (1925). Statistical Methods for Research Workers, chapter 7. Oliver and Boyd.
.. [StRD] NIST Statistical Reference Datasets, analysis of variance. doi:10.18434/T43G6C
.. [SF] Shrout, Fleiss (1979). Intraclass correlations: uses in assessing rater reliability.
   Psychol. Bull. 86:420. doi:10.1037/0033-2909.86.2.420
.. [MW] McGraw, Wong (1996). Forming inferences about some intraclass correlation coefficients.
   Psychol. Methods 1:30. doi:10.1037/1082-989X.1.1.30
"""

from dataclasses import dataclass
from math import nan
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc, fdtri

from evalstats.stats.means import centred
from evalstats.stats.results import (
    Estimate,
    FloatArray,
    Test,
    agree,
    check_choice,
    check_clusters,
    check_level,
    check_scores,
    counted,
)

MIN_IN_GROUP = (
    5  # below, scores that are not normal are rejected too often: size .053 to .07 at a level of .05
)

RaterModel = Literal["ICC(1,1)", "ICC(2,1)", "ICC(3,1)"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWay:
    """Who is to blame for the spread of the scores? Mean squares of a full units x raters table.

    Parameters
    ----------
    n_units, n_raters : int
        Shape of the table, at least 2 x 2.
    units, within, raters, error : float
        Mean squares, in squared score units: between units (BMS), within units (WMS), between raters (JMS),
        and what is left after both (EMS).

    Examples
    --------
    >>> TwoWay.of([[1, 2], [3, 4], [5, 6]]).error
    0.0
    """

    n_units: int
    n_raters: int
    units: float
    within: float
    raters: float
    error: float

    @classmethod
    def of(cls, ratings: ArrayLike) -> Self:
        """Compute it from one score per unit and rater, shape (n_units, n_raters)."""
        table = _full_table(ratings)
        n, k = table.shape
        deviations = table - table.flat[0]  # exact for close numbers: constant leading digits cost nothing
        deviations -= deviations.mean()
        by_unit, by_rater = deviations.mean(axis=1, keepdims=True), deviations.mean(axis=0)
        return cls(
            n_units=n,
            n_raters=k,
            units=float(k * (by_unit**2).sum() / (n - 1)),
            within=float(((deviations - by_unit) ** 2).sum() / (n * (k - 1))),
            raters=float(n * (by_rater**2).sum() / (k - 1)),
            error=float(((deviations - by_unit - by_rater) ** 2).sum() / ((n - 1) * (k - 1))),
        )

    @property
    def unit_variance(self) -> float:
        """Return the variance between units, untruncated."""
        return (self.units - self.error) / self.n_raters

    @property
    def rater_variance(self) -> float:
        """Return the variance between raters, untruncated."""
        return (self.raters - self.error) / self.n_units


def anova_one_way(scores: ArrayLike, *, groups: ArrayLike) -> Test:
    """Do the groups differ in their mean score? Fisher's one-way analysis of variance.

    Parameters
    ----------
    scores : array of float, shape (n,)
        One score per element, in the unit of the score.
    groups : array of labels, shape (n,)
        The group of each element.

    Returns
    -------
    Test
        `statistic` is F with groups - 1 and n - groups degrees of freedom. No p-value where a group has fewer
        than 5 elements.

    Notes
    -----
    Assumes independent, near normal scores of one variance; from 5 elements in each group on graded and yes/no
    scores are near enough. Not for trials of the same cases in several groups: compare those within cases.

    References
    ----------
    [Fisher]_, [StRD]_.

    Examples
    --------
    >>> print(anova_one_way([1, 2, 3, 4, 5, 3, 4, 5, 6, 7], groups=list("aaaaabbbbb")))
    all groups have one mean: p = 0.08052, greater (one-way ANOVA, statistic 4)
    """
    values = check_scores(scores)
    codes = check_clusters(groups, values.size)
    n_groups = int(codes.max(initial=-1)) + 1
    dfs = n_groups - 1, values.size - n_groups
    inside = centred(values, codes)
    across = centred(values, np.zeros_like(codes)) - inside  # each element's group mean less the grand mean
    within = float((inside**2).sum())
    problem = _why_no_f(*dfs, inside)
    f = nan if problem else float((across**2).sum()) / dfs[0] / (within / dfs[1])
    problem = problem or _why_no_p(int(np.bincount(codes).min()))
    return Test(
        null="all groups have one mean",
        alternative="greater",
        statistic=f,
        p_value=nan if problem else float(fdtrc(*dfs, f)),
        method="one-way ANOVA",
        caveats=(problem,) if problem else (),
    )


def rater_icc(ratings: ArrayLike, *, model: RaterModel = "ICC(2,1)", level: float = 0.95) -> Estimate:
    """How alike are two raters' scores of one unit? Shrout and Fleiss's intraclass correlations.

    Parameters
    ----------
    ratings : array of float, shape (n_units, n_raters)
        One score per unit (transcript) and rater (judge); nothing missing.
    model : {"ICC(1,1)", "ICC(2,1)", "ICC(3,1)"}
        (1,1): each unit has other raters. (2,1): the same raters, drawn from many, and a lenient one counts
        as disagreeing. (3,1): these very raters, and leniency is forgiven.
    level : float
        Confidence level of the F interval.

    Returns
    -------
    Estimate
        Of the correlation, not truncated (population SUPER: new units). `n_cases` counts units.

    Notes
    -----
    Assumes near normal scores. For categories, or with missing scores, use `krippendorff_alpha`.

    References
    ----------
    [SF]_; [MW]_ for the interval of ICC(2,1), with Satterthwaite's degrees of freedom.

    Examples
    --------
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> print(rater_icc(ratings))  # doctest: +ELLIPSIS
    intraclass correlation 0.2898 [0.01879, 0.7611] at level 0.95 (ICC(2,1), SUPER, 6 cases, 24 trials); ...
    """
    check_choice("model", model, get_args(RaterModel))
    check_level(level)
    table = _full_table(ratings)
    problem = _why_no_icc(table)
    squares = None if problem else TwoWay.of(table)
    low, high = _icc_bounds(squares, model, level) if squares else (nan, nan)
    return Estimate(
        estimand="intraclass correlation",
        population="SUPER",
        estimate=_icc(squares, model) if squares else nan,
        std_error=nan,
        conf_low=low,
        conf_high=high,
        level=level,
        n_cases=table.shape[0],
        n_trials=table.size,
        method=model,
        caveats=(problem or "no standard error: the interval is that of F",),
    )


def _full_table(ratings: ArrayLike) -> FloatArray:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must have shape (units, raters), got {table.shape}")
    check_scores(table.ravel())
    return table


def _why_no_icc(table: FloatArray) -> str:
    if min(table.shape) < 2:
        units, raters = counted(table.shape[0], "unit"), counted(table.shape[1], "rater")
        return f"{units}, {raters}: at least two of each are needed"
    if agree(table.mean(axis=1)):
        return "no variation between units: agreement is undefined"
    if not TwoWay.of(table).error > 0:
        return "raters differ by no more than a constant: the interval is undefined"
    return ""


def _icc(squares: TwoWay, model: RaterModel) -> float:
    noise = squares.within if model == "ICC(1,1)" else squares.error
    leniency = squares.n_raters * squares.rater_variance if model == "ICC(2,1)" else 0.0
    return (squares.units - noise) / (squares.units + (squares.n_raters - 1) * noise + leniency)


def _icc_bounds(squares: TwoWay, model: RaterModel, level: float) -> tuple[float, float]:
    n, k, upper = squares.n_units, squares.n_raters, (1 + level) / 2
    if model == "ICC(2,1)":
        return _icc_bounds_with_leniency(squares, upper)
    noise, df = (squares.within, n * (k - 1)) if model == "ICC(1,1)" else (squares.error, (n - 1) * (k - 1))
    ratio = squares.units / noise
    low, high = ratio / float(fdtri(n - 1, df, upper)), ratio * float(fdtri(df, n - 1, upper))
    return (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)


def _icc_bounds_with_leniency(squares: TwoWay, upper: float) -> tuple[float, float]:
    """Return the interval of ICC(2,1) at the quantiles of F, whose second df is Satterthwaite's [MW]_."""
    n, k, rho = squares.n_units, squares.n_raters, _icc(squares, "ICC(2,1)")
    of_raters, of_rest = k * rho * squares.raters / squares.error, n * (1 + (k - 1) * rho) - k * rho
    df = (k - 1) * (n - 1) * (of_raters + of_rest) ** 2 / ((n - 1) * of_raters**2 + of_rest**2)
    noise = k * squares.raters + (k * n - k - n) * squares.error
    f_low, f_high = float(fdtri(n - 1, df, upper)), float(fdtri(df, n - 1, upper))
    return (
        n * (squares.units - f_low * squares.error) / (f_low * noise + n * squares.units),
        n * (f_high * squares.units - squares.error) / (noise + n * f_high * squares.units),
    )


def _why_no_p(smallest: int) -> str:
    if smallest >= MIN_IN_GROUP:
        return ""
    return f"{smallest} of the {MIN_IN_GROUP} elements needed in each group: F is known, its p-value is not"


def _why_no_f(df_between: int, df_within: int, inside: FloatArray) -> str:
    if df_between < 1:
        return "one group: nothing to compare" if df_between == 0 else "no scores"
    if df_within < 1:
        return "one element in each group: nothing to compare"
    return "no variance within groups: F is undefined" if agree(inside) else ""
