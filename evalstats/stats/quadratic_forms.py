"""What do the sums of squares add up to? Quadratic forms of cases, days, trials and judgements.

Each sum of squares is expected to be a known mixture of the variances; the mixtures are counted here, for all
cases and once more without each of them. Leaving a case out changes only the groups it belongs to, so all
leave-one-out systems together cost no more than one pass over the cells.

References
----------
.. [H1] Henderson (1953). Estimation of variance and covariance components. Biometrics 9:226 (method 1).
   doi:10.2307/3001853
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalstats.stats.results import FloatArray, IntArray

# Contrasts of the sums of squares over arms, cases, days, cells, trials and rows: one equation for each of
# case, day, case x day, trial and judge.
CONTRASTS = np.array(
    [
        [-1, 1, 0, 0, 0, 0],
        [-1, 0, 1, 0, 0, 0],
        [1, -1, -1, 1, 0, 0],
        [0, 0, 0, -1, 1, 0],
        [0, 0, 0, 0, -1, 1],
    ],
    dtype=np.float64,
)
TINY = 1e-9


class Cells(NamedTuple):
    """One element per arm, case and day that occur together, shape (n_cells,): codes, rows, sums.

    A unit is a case in an arm, a day group a day in an arm. `trial_rows` sums the squared rows of trials,
    `trial_squares` their squared sums over rows, `squares` the squared rows themselves.
    """

    arm: IntArray
    case: IntArray
    unit: IntArray
    day_group: IntArray
    rows: FloatArray
    sums: FloatArray
    trials: FloatArray
    trial_rows: FloatArray
    trial_squares: FloatArray
    squares: FloatArray


def equations(cells: Cells, n_cases: int) -> tuple[FloatArray, FloatArray]:
    """Return both sides of Henderson's five equations, shapes (1 + n_cases, 5) and (1 + n_cases, 5, 5).

    The first system is that of all cases, the others leave out each case in turn.
    """
    both = np.einsum("ef,fks->sek", CONTRASTS, _forms(cells, n_cases))
    return both[..., 0], both[..., 1:]


def regular(coefficients: FloatArray) -> NDArray[np.bool_]:
    """Return which systems, shape (n, a, a), have one solution: none lacks a level or mixes up two."""
    diagonal = np.diagonal(coefficients, axis1=1, axis2=2)
    enough = (diagonal > TINY * coefficients.max(axis=(1, 2))[:, None]).all(axis=1)
    scaled = coefficients / np.where(diagonal == 0, 1.0, diagonal)[:, :, None]
    return np.asarray(enough & (np.abs(np.linalg.det(scaled)) > TINY))


def dense(keys: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Return the distinct keys in order and each key's place among them; `limit` is above every key."""
    if limit > 8 * keys.size + 1024:  # a table would be mostly empty: sort instead
        values, places = np.unique(keys, return_inverse=True)
        return values, places.astype(np.int64)
    present = np.bincount(keys, minlength=limit) > 0
    return np.flatnonzero(present).astype(np.int64), (np.cumsum(present) - 1)[keys]


def grouped(codes: IntArray, parts: FloatArray, n_groups: int = 0) -> FloatArray:
    """Return the sum of `parts` in each group, shape (n_groups,) or up to the largest code."""
    return np.bincount(codes, weights=parts, minlength=n_groups).astype(np.float64, copy=False)


def _forms(cells: Cells, n_cases: int) -> FloatArray:
    """Return sums of squares and the coefficients of the five variances in each, shape (6, 6, 1 + n)."""
    c, days = cells, cells.day_group
    rows2 = c.rows**2
    per_day = grouped(days, c.rows)
    # A day of N rows, without one case's n of them, goes from N^2 to (N - n)^2.
    shrink = 2 * per_day[days] * c.rows - rows2
    arm_of_day, arm_of_unit, case_of_unit = (
        _owner(*pair) for pair in ((days, c.arm), (c.unit, c.arm), (c.unit, c.case))
    )
    per_arm = grouped(arm_of_day, per_day**2)
    unit_rows, unit_sums, unit_cells, unit_trials, unit_shrink = (
        grouped(c.unit, part) for part in (c.rows, c.sums, rows2, c.trial_rows, shrink)
    )
    by_arm = _Groups(arm_of_unit, case_of_unit, unit_rows, unit_sums, n_cases)
    by_case = by_arm._replace(group=np.arange(unit_rows.size))
    by_day = _Groups(days, c.case, c.rows, c.sums, n_cases)
    by_cell = by_day._replace(group=np.arange(c.rows.size))
    return np.stack(
        [
            by_arm.form([unit_rows**2, unit_shrink, unit_cells, unit_trials], {1: per_arm}),
            by_case.form([unit_rows**2, unit_cells, unit_cells, unit_trials], {}),
            by_day.form([rows2, shrink, rows2, c.trial_rows], {1: per_day**2}),
            by_cell.form([rows2, rows2, rows2, c.trial_rows], {}),
            _flat_form(c, n_cases, c.trial_squares, c.trials),
            _flat_form(c, n_cases, c.squares, c.rows),
        ]
    )


def _flat_form(cells: Cells, n_cases: int, squares: FloatArray, groups: FloatArray) -> FloatArray:
    """Return the form of a level inside the cells, where leaving a case out is a subtraction."""
    parts = [squares, *[cells.rows] * 4, groups]
    lost = [grouped(cells.case, part, n_cases) for part in parts]
    return np.stack([part.sum() - np.r_[0.0, gone] for part, gone in zip(parts, lost, strict=True)])


def _owner(child: IntArray, parent: IntArray) -> IntArray:
    """Return the parent of each child code, from one row per element that has both."""
    found = np.zeros(int(child.max()) + 1, dtype=np.int64)
    found[child] = parent
    return found


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
        size, total = (grouped(self.group, x) for x in (self.rows, self.sums))
        left = size[self.group] - self.rows
        inverse = np.divide(1.0, left, out=np.zeros_like(left), where=left > 0.5)
        rest = (total[self.group] - self.sums) ** 2 * inverse
        columns = [self._with_and_without(total**2 / size, rest)]
        for k, part in enumerate(parts):
            numerator = totals[k] if k in totals else grouped(self.group, part)
            columns.append(self._with_and_without(numerator / size, (numerator[self.group] - part) * inverse))
        columns.append(self._with_and_without(np.ones_like(size), (inverse > 0).astype(np.float64)))
        return np.stack(columns)

    def _with_and_without(self, whole: FloatArray, rest: FloatArray) -> FloatArray:
        change = grouped(self.case, rest - whole[self.group], self.n_cases)
        return np.asarray(whole.sum() + np.r_[0.0, change])
