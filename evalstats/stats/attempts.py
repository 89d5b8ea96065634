"""How often does one of k attempts pass, or all of them? pass@k and pass^k, unbiased.

pass@k is for the user who may try again; pass^k for the one who needs it to work every time. Both are read
off n >= k trials of a case by counting draws without replacement; the plug-in 1 - (1 - p)^k is biased. Each
case uses its own n, and cases are then averaged.

Written by hand: the published scripts return a bare number without an interval.

References
----------
.. [Chen] Chen et al. (2021). Evaluating large language models trained on code.
   doi:10.48550/arXiv.2107.03374
.. [Yao] Yao, Shinn, Razavi, Narasimhan (2024). tau-bench: a benchmark for tool-agent-user interaction in
   real-world domains. doi:10.48550/arXiv.2406.12045
.. [Halmos] Halmos (1946). The theory of unbiased estimation. Ann. Math. Stat. 17:34.
   doi:10.1214/aoms/1177731020
"""

from dataclasses import replace
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.means import MIN_CASES, case_mean
from evalstats.stats.proportions import wilson
from evalstats.stats.results import Estimate, FloatArray, IntArray, bounded, check_counts, counted


def pass_at_k(
    passed: ArrayLike, trials: ArrayLike, *, k: int, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How often does at least one of k attempts pass? pass@k, averaged over cases.

    Parameters
    ----------
    passed, trials : array of int, shape (n_cases,)
        Passed trials of each case, and all usable trials of it.
    k : int
        Attempts that the user may make, at least 1. Cases with fewer trials are left out.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to; without it every case is independent.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of the mean over cases (population SUPER), a proportion. Student's t on the case values, its bounds
        kept in [0, 1]; Wilson where all values are 0 or 1 (always so when every case has exactly k trials).

    Notes
    -----
    Assumes cases (or clusters) drawn independently, trials of a case exchangeable. A case left out for want
    of trials may not be like the others: the caveat says how many there are. Near 1 at large k: do not use it
    to rank subjects that differ in how *often* they pass.

    References
    ----------
    [Chen]_, [Halmos]_.

    Examples
    --------
    >>> print(pass_at_k([3, 0, 10, 1], [10, 10, 10, 10], k=5))
    pass@5 0.6042 [0, 1] at level 0.95 (t on cases, SUPER, 4 cases, 40 trials)
    """
    values, n = _case_values(passed, trials, k, failures=True)
    return _mean_over_cases(f"pass@{k}", values, n, k, clusters, level)


def pass_hat_k(
    passed: ArrayLike, trials: ArrayLike, *, k: int, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How often do all of k attempts pass? pass^k, averaged over cases.

    Parameters
    ----------
    passed, trials : array of int, shape (n_cases,)
        Passed trials of each case, and all usable trials of it.
    k : int
        Attempts that must all pass, at least 1. Cases with fewer trials are left out.
    clusters : array of labels, shape (n_cases,), optional
        The group each case belongs to; without it every case is independent.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Of the mean over cases (population SUPER), a proportion; the interval as in `pass_at_k`.

    Notes
    -----
    Assumes what `pass_at_k` does. Falls with k for every subject that is not perfect: compare only at one k.

    References
    ----------
    [Yao]_, [Halmos]_.

    Examples
    --------
    >>> print(pass_hat_k([3, 4, 0, 2], [4, 4, 4, 4], k=2).estimate)  # doctest: +ELLIPSIS
    0.4166...
    """
    values, n = _case_values(passed, trials, k, failures=False)
    return _mean_over_cases(f"pass^{k}", values, n, k, clusters, level)


def all_of_k(marked: ArrayLike, trials: ArrayLike, k: int) -> FloatArray:
    """Return C(marked, k) / C(trials, k) of each case, shape (n_cases,): NaN where trials < k.

    The chance that k trials drawn without replacement are all marked ones, as a product of k ratios: exact
    zeros, no overflow.
    """
    m, n = check_counts(marked, trials)
    steps = np.arange(k)
    enough = n >= k
    ratios = np.clip(m[:, None] - steps, 0, None) / np.maximum(n[:, None] - steps, 1)
    return np.where(enough, ratios.prod(axis=1), nan)


def _case_values(
    passed: ArrayLike, trials: ArrayLike, k: int, *, failures: bool
) -> tuple[FloatArray, IntArray]:
    if not k >= 1 or k != int(k):
        raise ValueError(f"k must be a whole number of attempts, at least 1, got {k!r}")
    c, n = check_counts(passed, trials)
    if c.ndim != 1:
        raise ValueError(f"passed and trials must be flat vectors, got shape {c.shape}")
    values = 1 - all_of_k(n - c, n, k) if failures else all_of_k(c, n, k)
    return values, n


def _mean_over_cases(
    estimand: str, values: FloatArray, trials: IntArray, k: int, clusters: ArrayLike | None, level: float
) -> Estimate:
    known = ~np.isnan(values)
    kept = values[known]
    labels = None if clusters is None else np.asarray(clusters)[known]
    if clusters is None and kept.size >= MIN_CASES and np.isin(kept, (0.0, 1.0)).all():
        found = wilson(int(kept.sum()), kept.size, level=level)
    else:
        found = case_mean(kept, clusters=labels, level=level)
        found = bounded(found, low=0, high=1)
    missing = (
        f"{int((~known).sum())} of {counted(values.size, 'case')} left out: fewer than {counted(k, 'trial')}"
    )
    return replace(
        found,
        estimand=estimand,
        n_trials=int(trials[known].sum()),
        caveats=found.caveats + (() if known.all() else (missing,)),
    )
