"""What may a statistic say? Two closed records, and the checks every function shares.

An `Estimate` is a number with its interval; a `Test` is a p-value with its null. Both are plain immutable
data: no plots, no rounding, no verdict. What cannot be computed is NaN and carries a caveat that names the
reason; it is never 0.
"""

from dataclasses import dataclass, fields, replace
from math import inf, isnan, nan
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Population: TypeAlias = Literal["SUPER", "FIXED"]
Number = TypeVar("Number", int, float)
Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

ROUNDING = 1e-12  # scores are of the order of 1: what is smaller is the dust of floating point, not variance


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How large is it, and how far off may that be? A number with its interval.

    Parameters
    ----------
    estimand : str
        What is estimated, in words: ``"pass rate"``, ``"difference of mean scores"``.
    population : {"SUPER", "FIXED"}
        SUPER: would it hold on new cases like these? FIXED: these very cases, run again.
    estimate, std_error, conf_low, conf_high : float
        In the unit of the estimand. NaN where undefined, and then `caveats` says why.
    level : float
        Confidence (or posterior probability) of the interval, inside (0, 1).
    n_cases : int
        Number of units sampled, counted before clustering; for bands over runs, the number of runs.
    n_clusters : int or None
        Number of independent clusters; None when every unit is independent.
    n_trials : int
        Number of trials behind the estimate.
    method : str
        Published name of the method that was used.
    caveats : tuple of str
        What the reader must know: why something is NaN, what was assumed.

    Examples
    --------
    >>> print(Estimate(estimand="pass rate", population="SUPER", estimate=0.5, std_error=0.25,
    ...                conf_low=0.15, conf_high=0.85, level=0.95, n_cases=4, n_trials=4, method="Wilson"))
    pass rate 0.5 [0.15, 0.85] at level 0.95 (Wilson, SUPER, 4 cases, 4 trials)
    """

    estimand: str
    population: Population
    estimate: float
    std_error: float
    conf_low: float
    conf_high: float
    level: float
    n_cases: int
    n_clusters: int | None = None
    n_trials: int
    method: str
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what would mislead; keep plain Python numbers, so that rows suit JSON and SQL."""
        _plain(self, float, "estimate", "std_error", "conf_low", "conf_high", "level")
        _plain(self, int, "n_cases", "n_trials", *([] if self.n_clusters is None else ["n_clusters"]))
        check_level(self.level)
        check_choice("population", self.population, get_args(Population))
        _check_explained(self, "estimate", "std_error", "conf_low", "conf_high")
        if self.conf_low > self.conf_high:
            raise ValueError(f"conf_low {self.conf_low!r} is above conf_high {self.conf_high!r}")
        if self.std_error < 0:
            raise ValueError(f"std_error must not be negative, got {self.std_error!r}")

    def as_row(self) -> dict[str, Any]:
        """Return the fields as a dict, in their order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        """Return one line for the prompt; four digits are shown, the fields keep all."""
        units = "" if self.n_clusters is None else counted(self.n_clusters, "cluster") + ", "
        line = (
            f"{self.estimand} {self.estimate:.4g} [{self.conf_low:.4g}, {self.conf_high:.4g}] "
            f"at level {self.level:g} ({self.method}, {self.population}, {units}"
            f"{counted(self.n_cases, 'case')}, {counted(self.n_trials, 'trial')})"
        )
        return "; ".join((line, *self.caveats))


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """How surprising are the data if nothing is going on? A p-value with its null.

    Parameters
    ----------
    null : str
        The hypothesis under which the p-value is computed, in words.
    alternative : {"two-sided", "greater", "less"}
        The side on which departures count.
    statistic : float
        In the unit that `method` implies. NaN where undefined, and then `caveats` says why.
    p_value : float
        Probability, under the null, of a statistic at least as extreme; inside [0, 1] or NaN.
    method : str
        Published name of the method that was used.
    caveats : tuple of str
        What the reader must know: why something is NaN, what was assumed.

    Examples
    --------
    >>> print(Test(null="both arms pass alike", alternative="two-sided", statistic=1, p_value=0.25,
    ...            method="exact McNemar"))
    both arms pass alike: p = 0.25, two-sided (exact McNemar, statistic 1)
    """

    __test__: ClassVar[bool] = False  # keeps pytest from collecting the class as a test case

    null: str
    alternative: Alternative
    statistic: float
    p_value: float
    method: str
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what would mislead; keep plain Python numbers."""
        _plain(self, float, "statistic", "p_value")
        check_choice("alternative", self.alternative, get_args(Alternative))
        _check_explained(self, "statistic", "p_value")
        if not (isnan(self.p_value) or 0 <= self.p_value <= 1):
            raise ValueError(f"p_value must be inside [0, 1], got {self.p_value!r}")

    def as_row(self) -> dict[str, Any]:
        """Return the fields as a dict, in their order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        """Return one line for the prompt; four digits are shown, the fields keep all."""
        line = (
            f"{self.null}: p = {self.p_value:.4g}, {self.alternative} "
            f"({self.method}, statistic {self.statistic:.4g})"
        )
        return "; ".join((line, *self.caveats))


def counted(n: int, thing: str) -> str:
    """Return a number with its noun: "1 run", "2 runs"."""
    return f"{n} {thing}{'' if n == 1 else 's'}"


def check_level(level: float, name: str = "level") -> float:
    """Return `level`, or say that it (by its `name`) is not a probability inside (0, 1)."""
    if not 0 < level < 1:
        raise ValueError(f"{name} must be inside (0, 1), got {level!r}")
    return level


def check_positive(name: str, value: float) -> float:
    """Return `value`, or say that `name` must be above 0."""
    if not 0 < value < inf:
        raise ValueError(f"{name} must be above 0, got {value!r}")
    return value


def check_at_least(name: str, value: Number, least: float = 1) -> Number:
    """Return `value`, or say that `name` must be at least so much, where it is less or NaN."""
    if not value >= least:
        raise ValueError(f"{name} must be at least {least:g}, got {value!r}")
    return value


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return `value`, or say which values `name` may have."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def check_scores(scores: ArrayLike) -> FloatArray:
    """Return the scores as a flat float array, shape (n,), or name the first that is missing or infinite."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores must be a flat vector, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"scores must be finite, got {float(values[~np.isfinite(values)][0])!r}")
    return values


def check_pairs(
    candidate: ArrayLike, baseline: ArrayLike, *, must: str = "both arms must have the same cases"
) -> tuple[FloatArray, FloatArray]:
    """Return the scores of both arms, shape (n,) each, the same case at the same place; of raters likewise."""
    new, old = check_scores(candidate), check_scores(baseline)
    if new.size != old.size:
        raise ValueError(f"{must}, got {new.size} and {old.size}")
    return new, old


def check_yes_no(names: str, *vectors: FloatArray) -> None:
    """Name the first verdict that is neither 0 nor 1."""
    outside = [float(x) for vector in vectors for x in vector if x not in (0.0, 1.0)]
    if outside:
        raise ValueError(f"{names} must be 0 or 1, got {outside[0]!r}")


def check_counts(passed: ArrayLike, trials: ArrayLike) -> tuple[IntArray, IntArray]:
    """Return both as whole numbers of one shape with 0 <= passed <= trials, or name the first that is not."""
    c, n = np.asarray(passed, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if c.shape != n.shape:
        raise ValueError(f"passed and trials must have one shape, got {c.shape} and {n.shape}")
    wrong = ~((c >= 0) & (c <= n) & (c == np.floor(c)) & (n == np.floor(n)) & np.isfinite(n))
    if wrong.any():
        raise ValueError(
            f"counts must be whole with 0 <= passed <= trials, got {c[wrong][0]} of {n[wrong][0]}"
        )
    return c.astype(np.int64), n.astype(np.int64)


def check_count(passed: int, trials: int) -> tuple[int, int]:
    """Return one pair of counts as plain ints, checked as `check_counts` does."""
    c, n = check_counts(passed, trials)
    return int(c), int(n)


def check_clusters(clusters: ArrayLike | None, n: int) -> IntArray:
    """Return each element's cluster as a number from 0, shape (n,), for all functions alike; else each its own."""
    if clusters is None:
        return np.arange(n, dtype=np.int64)
    labels = np.asarray(clusters)
    if labels.shape != (n,):
        raise ValueError(f"clusters must have shape ({n},), one label per element, got {labels.shape}")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def agree(values: ArrayLike) -> bool:
    """Return whether all values are the same but for rounding, so that nothing is known of their spread."""
    x = np.asarray(values, dtype=np.float64)
    return not x.size or bool(np.ptp(x) <= ROUNDING * max(1.0, float(np.abs(x).max())))


def normal_quantile(level: float) -> float:
    """Return the two-sided standard normal quantile of a confidence level: 1.96 at 0.95."""
    return float(ndtri((1 + check_level(level)) / 2))


def t_quantile(level: float, df: float) -> float:
    """Return the two-sided quantile of Student's t: 2.26 at 0.95 with 9 degrees of freedom."""
    return float(stdtrit(df, (1 + check_level(level)) / 2))


def undefined(caveat: str, *, estimate: float = nan, **fields_known: Any) -> Estimate:
    """Return an Estimate whose uncertainty is unknown for the reason given; a known `estimate` is kept."""
    return Estimate(
        estimate=estimate, std_error=nan, conf_low=nan, conf_high=nan, caveats=(caveat,), **fields_known
    )


def around(estimate: float, std_error: float, quantile: float, **known: Any) -> Estimate:
    """Return the Estimate whose bounds lie `quantile` standard errors to either side."""
    half = quantile * std_error
    return Estimate(
        estimate=estimate,
        std_error=std_error,
        conf_low=estimate - half,
        conf_high=estimate + half,
        **known,
    )


def rescaled(record: Estimate, slope: float, *, shift: float = 0.0, **changes: Any) -> Estimate:
    """Return the record on the scale shift + slope * x (slope not negative), with other fields changed."""
    moved = {name: shift + slope * getattr(record, name) for name in ("estimate", "conf_low", "conf_high")}
    return replace(record, std_error=slope * record.std_error, **moved, **changes)


def bounded(record: Estimate, *, low: float = -inf, high: float = inf) -> Estimate:
    """Return the record with estimate and interval kept inside what the estimand can be; NaN stays NaN."""
    estimate, conf_low, conf_high = (
        float(np.clip(x, low, high)) for x in (record.estimate, record.conf_low, record.conf_high)
    )
    return replace(record, estimate=estimate, conf_low=conf_low, conf_high=conf_high)


def _plain(record: Estimate | Test, kind: type[float] | type[int], *names: str) -> None:
    for name in names:
        object.__setattr__(record, name, kind(getattr(record, name)))


def _check_explained(record: Estimate | Test, *names: str) -> None:
    unknown = [name for name in names if isnan(getattr(record, name))]
    if unknown and not record.caveats:
        raise ValueError(f"{', '.join(unknown)} is NaN without a caveat that says why")
