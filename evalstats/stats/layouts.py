"""Which rows share a case, a day, a trial? The layout of repeated trials, and its variances.

The engine behind `variance_components`: integer codes, `bincount`, and one small linear system, solved for all
cases and once more without each of them.

References
----------
.. [H1] Henderson (1953). Estimation of variance and covariance components. Biometrics 9:226 (method 1).
   doi:10.2307/3001853
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.quadratic_forms import Cells, dense, equations, grouped, regular
from evalstats.stats.results import ROUNDING, FloatArray, IntArray, check_clusters, check_scores

LEVELS = ("case", "day", "case_day", "trial", "judge")
NAMES = {
    "case": "variance between cases",
    "day": "variance between days",
    "case_day": "variance of case x day",
    "trial": "variance between trials",
    "judge": "variance between judgements",
}
WORDS = {"case": "case", "day": "day", "case_day": "case x day", "trial": "trial", "judge": "judge"}
NESTED = ("case", "case_day", "trial", "judge")  # each level inside the one before


@dataclass(frozen=True)
class Layout:
    """How are cases, days, trials and judgements crossed and nested? And what do they sum to?

    Parameters
    ----------
    cells : Cells
        The data, summed within each arm, case and day.
    n_cases, n_days, n_trials : int
        Numbers of distinct cases, days and trials.
    has_days : bool
        Whether days were given at all.

    Examples
    --------
    >>> Layout.of([1, 0, 1, 1], cases=list("aabb")).active
    ('case', 'trial')
    """

    cells: Cells
    n_cases: int
    n_days: int
    n_trials: int
    has_days: bool

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        *,
        cases: ArrayLike,
        days: ArrayLike | None = None,
        trials: ArrayLike | None = None,
        arms: ArrayLike | None = None,
    ) -> Self:
        """Read it from one row per judgement, shape (n_rows,) each; see `variance_components`."""
        values = check_scores(scores)
        n_arms, arm = _codes(arms, values.size)
        n_cases, case = _codes(cases, values.size)
        n_days, day = _codes(days, values.size)
        means = grouped(arm, values) / np.bincount(arm)
        values = values - means[arm]  # arms are fixed; and small numbers square without loss
        # A unit is a case in an arm, a cell a unit on a day.
        keys, cell = dense((arm * n_cases + case) * n_days + day, n_arms * n_cases * n_days)
        units, days_of = keys // max(n_days, 1), keys % max(n_days, 1)
        arms_of = units // max(n_cases, 1)
        trial_counts, trial_rows, trial_squares = _within_cells(values, cell, trials)
        cells = Cells(
            arm=arms_of,
            case=units % max(n_cases, 1),
            unit=dense(units, n_arms * n_cases)[1],
            day_group=dense(arms_of * n_days + days_of, n_arms * n_days)[1],
            rows=grouped(cell, np.ones_like(values)),
            sums=grouped(cell, values),
            trials=trial_counts,
            trial_rows=trial_rows,
            trial_squares=trial_squares,
            squares=grouped(cell, values**2),
        )
        return cls(cells, n_cases, n_days, int(trial_counts.sum()), days is not None)

    @cached_property
    def active(self) -> tuple[str, ...]:
        """Return the levels that are repeated, and hence have a variance of their own."""
        cells = self.cells
        counts = int(cells.unit.max(initial=-1)) + 1, cells.rows.size, self.n_trials, int(cells.rows.sum())
        sizes = dict(zip(NESTED, counts, strict=True))
        repeated = {"case", *(fine for coarse, fine in pairwise(NESTED) if sizes[fine] > sizes[coarse])}
        if cells.day_group.max(initial=-1) > cells.arm.max(initial=-1):
            repeated.add("day")
        else:
            repeated.discard("case_day")
        return tuple(name for name in LEVELS if name in repeated)

    def problem(self) -> str:
        """Return why nothing can be separated, or an empty string."""
        if self.n_cases < 2:
            return "one case: no variance between cases" if self.n_cases else "no scores"
        if self.active == ("case",):
            return "one observation per case: nothing to separate"
        if self.cells.squares.max() <= ROUNDING**2:
            return "all scores agree: no variance to divide"
        if not regular(self._equations[1][:1]).all():
            return "the design cannot tell the levels apart: cases and days coincide"
        return ""

    def reason(self, name: str) -> str:
        """Return why a level that is not active has no variance of its own."""
        if name in ("day", "case_day") and not self.has_days:
            return "no days given"
        if "day" not in self.active and name in ("day", "case_day"):
            return "one day in each arm: confounded with the mean"
        return f"confounded with {WORDS[self._holder(name)]}: no replication"

    def includes(self, name: str) -> tuple[str, ...]:
        """Return the caveat of a level that also holds the variance of finer ones."""
        finer = NESTED[1:] if self.has_days else NESTED[2:]
        hidden = [fine for fine in finer if fine not in self.active and self._holder(fine) == name]
        return (f"includes {' and '.join(WORDS[fine] for fine in hidden)}",) if hidden else ()

    @cached_property
    def moments(self) -> FloatArray:
        """Return the variances, shape (1 + n_cases, 5): from all cases, then without each; NaN if unknown."""
        left, coefficients = self._equations
        found = np.full((left.shape[0], len(LEVELS)), np.nan)
        soluble = regular(coefficients)
        solved = np.linalg.solve(coefficients[soluble], left[soluble][..., None])[..., 0]
        found[np.ix_(np.flatnonzero(soluble), self._places)] = solved
        return found

    def between_days(self) -> tuple[float, float]:
        """Return the variance between days, and the whole variance of a day's mean on the same scale."""
        left, coefficients = self._equations
        row = self.active.index("day")
        return float(self.moments[0, 1]), float(left[0, row] / coefficients[0, row, row])

    @cached_property
    def _equations(self) -> tuple[FloatArray, FloatArray]:
        left, coefficients = equations(self.cells, self.n_cases)
        return left[:, self._places], coefficients[:, self._places][..., self._places]

    @property
    def _places(self) -> IntArray:
        return np.array([LEVELS.index(name) for name in self.active])

    def _holder(self, name: str) -> str:
        coarser = NESTED[: NESTED.index(name)]
        return next(level for level in reversed(coarser) if level in self.active)


def _within_cells(
    values: FloatArray, cell: IntArray, trials: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, per cell, its trials, the squares of their rows, and their squared sums over rows."""
    if trials is None:  # every row is a trial
        rows = grouped(cell, np.ones_like(values))
        return rows, rows, grouped(cell, values**2)
    n_labels, label = _codes(trials, values.size)
    keys, trial = dense(cell * n_labels + label, (int(cell.max(initial=-1)) + 1) * n_labels)
    owner, rows, sums = keys // max(n_labels, 1), grouped(trial, np.ones_like(values)), grouped(trial, values)
    return grouped(owner, np.ones_like(rows)), grouped(owner, rows**2), grouped(owner, sums**2 / rows)


def _codes(labels: ArrayLike | None, n: int) -> tuple[int, IntArray]:
    """Return how many labels there are and the code of each row; whole numbers need no sorting."""
    array = np.zeros(n, dtype=np.int64) if labels is None else np.asarray(labels)
    if array.shape == (n,) and n and array.dtype.kind in "iu":
        low = int(array.min())
        values, codes = dense(array.astype(np.int64) - low, int(array.max()) - low + 1)
        return values.size, codes
    codes = check_clusters(array, n)
    return int(codes.max(initial=-1)) + 1, codes
