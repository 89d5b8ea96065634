"""Which rows share a case, a day, a trial? The layout of repeated trials, and its sums of squares.

The engine behind `variance_components`: integer codes, `bincount`, and one small linear system, solved for all
cases and once more without each of them. Leaving a case out changes only the groups it belongs to, so all
leave-one-out systems together cost no more than one pass over the cells.

References
----------
.. [H1] Henderson (1953). Estimation of variance and covariance components. Biometrics 9:226 (method 1).
   doi:10.2307/3001853
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.results import FloatArray, IntArray, check_clusters, check_scores

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
# Contrasts of the sums of squares over arms, cases, days, cells, trials and rows: one equation per level.
CONTRASTS = np.array(
    [[-1, 1, 0, 0, 0, 0], [-1, 0, 1, 0, 0, 0], [1, -1, -1, 1, 0, 0], [0, 0, 0, -1, 1, 0], [0, 0, 0, 0, -1, 1]],
    dtype=np.float64,
)
WORST_CONDITION = 1e9


class Cells(NamedTuple):
    """One element per arm, case and day that occur together: codes, rows, sums."""

    arm: IntArray
    case: IntArray
    day: IntArray
    rows: FloatArray
    sums: FloatArray
    trials: FloatArray
    trial_rows: FloatArray  # sum over trials of the squared number of rows
    trial_squares: FloatArray  # sum over trials of the squared sum by the number of rows
    squares: FloatArray


@dataclass(frozen=True)
class Layout:
    """How are cases, days, trials and judgements crossed and nested? And what do they sum to?

    Parameters
    ----------
    cells : Cells
        The data, summed within each arm, case and day.
    n_cases, n_days, n_trials : int
        Numbers of distinct cases, days and trials.

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
        rows = np.bincount(arm, minlength=n_arms)
        means = np.bincount(arm, weights=values) / rows
        values = values - means[arm]  # arms are fixed; small numbers square without loss
        keys, cell = _dense((arm * n_cases + case) * n_days + day, n_arms * n_cases * n_days)
        sizes, squares = np.bincount(cell), np.bincount(cell, weights=values**2)
        if trials is None:  # every row is a trial
            counts, trial_rows, trial_squares = sizes, sizes, squares
        else:
            n_labels, label = _codes(trials, values.size)
            parents, trial = _dense(cell * n_labels + label, keys.size * n_labels)
            owner, per_trial = parents // n_labels, np.bincount(trial)
            counts = np.bincount(owner)
            trial_rows = np.bincount(owner, weights=per_trial**2)
            trial_squares = np.bincount(owner, weights=np.bincount(trial, weights=values) ** 2 / per_trial)
        cells = Cells(
            arm=keys // (n_cases * n_days),
            case=keys // n_days % n_cases,
            day=keys % n_days,
            rows=sizes.astype(np.float64),
            sums=np.bincount(cell, weights=values).astype(np.float64),
            trials=counts.astype(np.float64),
            trial_rows=trial_rows.astype(np.float64),
            trial_squares=trial_squares,
            squares=squares,
        )
        return cls(cells, n_cases, n_days, int(counts.sum()), days is not None)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Return how many groups each level has; `case` counts a case once in each arm."""
        return {
            "case": np.unique(self._units).size,
            "case_day": self.cells.rows.size,
            "trial": self.n_trials,
            "judge": int(self.cells.rows.sum()),
        }

    @cached_property
    def active(self) -> tuple[str, ...]:
        """Return the levels that are repeated, and hence have a variance of their own."""
        days_repeat = self._day_groups.max(initial=0) + 1 > np.unique(self.cells.arm).size
        repeated = {"case"} | ({"day"} if days_repeat else set())
        for coarse, fine in zip(NESTED, NESTED[1:], strict=False):
            if self.counts[fine] > self.counts[coarse] and (fine != "case_day" or days_repeat):
                repeated.add(fine)
        return tuple(name for name in LEVELS if name in repeated)

    def problem(self) -> str:
        """Return why nothing can be separated, or an empty string."""
        if self.n_cases < 2:
            return "one case: no variance between cases" if self.n_cases else "no scores"
        if self.active == ("case",):
            return "one observation per case: nothing to separate"
        if not self.cells.squares.any():
            return "all scores agree: no variance to divide"
        if np.linalg.cond(self._equations[1][0]) > WORST_CONDITION:
            return "the design cannot tell the levels apart: cases and days coincide"
        return ""

    def reason(self, name: str) -> str:
        """Return why a level that is not active has no variance of its own."""
        if name in ("day", "case_day") and not self.has_days:
            return "no days given"
        if name == "day" or "day" not in self.active and name == "case_day":
            return "one day in each arm: confounded with the mean"
        return f"confounded with {WORDS[self._holder(name)]}: no replication"

    def includes(self, name: str) -> tuple[str, ...]:
        """Return the caveat of a level that also holds the variance of finer ones."""
        hidden = [
            WORDS[fine]
            for fine in NESTED[1:]
            if fine not in self.active and self._holder(fine) == name and (self.has_days or fine != "case_day")
        ]
        return (f"includes {' and '.join(hidden)}",) if hidden else ()

    def moments(self) -> FloatArray:
        """Return the variances, shape (1 + n_cases, 5): from all cases, then without each; NaN if unknown."""
        left, coefficients = self._equations
        found = np.full((left.shape[0], len(LEVELS)), np.nan)
        regular = np.abs(np.diagonal(coefficients, axis1=1, axis2=2)).min(axis=1) > 1e-9
        solved = np.linalg.solve(coefficients[regular], left[regular][..., None])[..., 0]
        found[np.ix_(regular, [LEVELS.index(name) for name in self.active])] = solved
        return found

    def between_days(self) -> tuple[float, float]:
        """Return the variance between days, and the whole variance of a day's mean on the same scale."""
        left, coefficients = self._equations
        row = self.active.index("day")
        estimate = self.moments()[0, LEVELS.index("day")]
        return float(estimate), float(left[0, row] / coefficients[0, row, row])

    @cached_property
    def _equations(self) -> tuple[FloatArray, FloatArray]:
        """Return both sides of the active equations, shapes (1 + n_cases, a) and (1 + n_cases, a, a)."""
        keep = [LEVELS.index(name) for name in self.active]
        equations = np.einsum("ef,fks->sek", CONTRASTS, self._forms())[:, keep]
        return equations[..., 0], equations[..., 1:][..., keep]

    def _forms(self) -> FloatArray:
        """Return sums of squares and the coefficients of the five variances in each, shape (6, 6, 1 + n)."""
        c, n = self.cells, self.n_cases
        rows2 = c.rows**2
        units, unit = _dense(self._units, int(self._units.max()) + 1)
        unit_arm, unit_case = units // n, units % n
        unit_rows, unit_sums, unit_cells, unit_trials = (
            np.bincount(unit, weights=part) for part in (c.rows, c.sums, rows2, c.trial_rows)
        )
        # A day group of N rows, one case's n of them left out, goes from N^2 to (N - n)^2.
        per_day = np.bincount(self._day_groups, weights=c.rows)
        shrink = 2 * per_day[self._day_groups] * c.rows - rows2
        unit_shrink = np.bincount(unit, weights=shrink)
        day_arm = np.zeros(per_day.size, dtype=np.int64)
        day_arm[self._day_groups] = c.arm
        per_arm = np.bincount(day_arm, weights=per_day**2)
        cell = np.arange(c.rows.size)
        whole = [rows2, rows2, rows2, c.trial_rows]
        of_unit = [unit_rows**2, unit_cells, unit_cells, unit_trials]
        total, trials = (_leave_out(part, c.case, n) for part in (c.rows, c.trials))
        trial_form, row_form = np.tile(total, (2, 6, 1))
        trial_form[0], trial_form[5] = _leave_out(c.trial_squares, c.case, n), trials
        row_form[0] = _leave_out(c.squares, c.case, n)
        by_arm = _Groups(unit_arm, unit_case, unit_rows, unit_sums, n)
        by_day = _Groups(self._day_groups, c.case, c.rows, c.sums, n)
        return np.stack(
            [
                by_arm.form([unit_rows**2, unit_shrink, unit_cells, unit_trials], {1: per_arm}),
                _Groups(unit, unit_case, unit_rows, unit_sums, n).form(of_unit, {}) if False else
                _Groups(np.arange(units.size), unit_case, unit_rows, unit_sums, n).form(of_unit, {}),
                by_day.form([rows2, shrink, rows2, c.trial_rows], {1: per_day**2}),
                _Groups(cell, c.case, c.rows, c.sums, n).form(whole, {}),
                trial_form,
                row_form,
            ]
        )

    @cached_property
    def _units(self) -> IntArray:
        return self.cells.arm * self.n_cases + self.cells.case

    @cached_property
    def _day_groups(self) -> IntArray:
        keys = self.cells.arm * self.n_days + self.cells.day
        return _dense(keys, int(keys.max(initial=-1)) + 1)[1]

    def _holder(self, name: str) -> str:
        coarser = NESTED[: NESTED.index(name)]
        return next(level for level in reversed(coarser) if level in self.active)


class _Groups(NamedTuple):
    """Units (one case's part of a group) in groups: what each sums to, with and without each case."""

    group: IntArray
    case: IntArray
    rows: FloatArray
    sums: FloatArray
    n_cases: int

    def form(self, parts: list[FloatArray], totals: dict[int, FloatArray]) -> FloatArray:
        """Return the sum of squares and its five coefficients, shape (6, 1 + n_cases).

        `parts` holds, per unit, what the numerator of each coefficient loses without it; `totals` the
        numerators of groups where those are not the sums of the parts.
        """
        size, total = (np.bincount(self.group, weights=x) for x in (self.rows, self.sums))
        left = size[self.group] - self.rows
        inverse = np.divide(1.0, left, out=np.zeros_like(left), where=left > 0.5)
        rest = (total[self.group] - self.sums) ** 2 * inverse
        columns = [self._with_and_without(total**2 / size, rest)]
        for k, part in enumerate(parts):
            numerator = totals[k] if k in totals else np.bincount(self.group, weights=part)
            columns.append(self._with_and_without(numerator / size, (numerator[self.group] - part) * inverse))
        columns.append(self._with_and_without(np.ones_like(size), (inverse > 0).astype(np.float64)))
        return np.stack(columns)

    def _with_and_without(self, whole: FloatArray, rest: FloatArray) -> FloatArray:
        change = np.bincount(self.case, weights=rest - whole[self.group], minlength=self.n_cases)
        return whole.sum() + np.concatenate([[0.0], change])


def _leave_out(part: FloatArray, case: IntArray, n_cases: int) -> FloatArray:
    """Return the sum of `part`, then the sum without each case, shape (1 + n_cases,)."""
    whole = part.sum()
    return whole - np.concatenate([[0.0], np.bincount(case, weights=part, minlength=n_cases)])


def _codes(labels: ArrayLike | None, n: int) -> tuple[int, IntArray]:
    """Return how many labels there are and the code of each row; whole numbers need no sorting."""
    array = np.zeros(n, dtype=np.int64) if labels is None else np.asarray(labels)
    if array.shape == (n,) and n and array.dtype.kind in "iu":
        low = int(array.min())
        values, codes = _dense(array.astype(np.int64) - low, int(array.max()) - low + 1)
        return values.size, codes
    codes = check_clusters(array, n)
    return int(codes.max(initial=-1)) + 1, codes


def _dense(keys: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Return the distinct keys in order and each key's place among them; `limit` is above every key."""
    if limit > 8 * keys.size + 1024:  # a table would be mostly empty: sort instead
        values, places = np.unique(keys, return_inverse=True)
        return values, places.astype(np.int64)
    present = np.bincount(keys, minlength=limit) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]
