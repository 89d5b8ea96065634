"""What does the middle of the trials say? Interquartile mean, chance of improvement, profile.

Three views that a few wild trials cannot move. Each answers another question than the mean does: a subject
can win on one and lose on the other, so never put one in the place of a mean score. All are about these very
cases (FIXED): trials are resampled within each case, cases are not, and the spread is stretched by
sqrt(T / (T - 1)), because T resampled trials vary too little.

Written by hand: the library that made them popular resamples from a global generator, so its seed does
nothing.

References
----------
.. [Agarwal] Agarwal, Schwarzer, Castro, Courville, Bellemare (2021). Deep reinforcement learning at the edge
   of the statistical precipice. NeurIPS 34. doi:10.48550/arXiv.2108.13264
.. [MW] Mann, Whitney (1947). On a test of whether one of two random variables is stochastically larger than
   the other. Ann. Math. Stat. 18:50. doi:10.1214/aoms/1177730491
.. [Hesterberg] Hesterberg (2015). What teachers should know about the bootstrap. Am. Stat. 69:371. Narrowness
   bias. doi:10.1080/00031305.2015.1089789
.. [DM] Dolan, More (2002). Benchmarking optimization software with performance profiles. Math. Program.
   91:201. doi:10.1007/s101070100263
"""

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.resampling import chunks
from evalstats.stats.results import (
    Estimate,
    FloatArray,
    IntArray,
    agree,
    check_at_least,
    check_clusters,
    check_level,
    check_scores,
    counted,
)

TRIMMED = 0.25  # share of trials cut off at each end


class CaseTrials(NamedTuple):
    """What did each trial of one arm score?

    Parameters
    ----------
    scores : array of float, shape (n_trials,)
        Score of each trial, in the unit of the score.
    cases : array of labels, shape (n_trials,)
        The case of each trial.

    Examples
    --------
    >>> CaseTrials([1.0, 0.0, 1.0], ["a", "a", "b"]).cases
    ['a', 'a', 'b']
    """

    scores: ArrayLike
    cases: ArrayLike


def iqm(trials: CaseTrials, *, rng: np.random.Generator, reps: int = 2_000, level: float = 0.95) -> Estimate:
    """How high is the score of the middle half of the trials? Interquartile mean.

    Parameters
    ----------
    trials : CaseTrials
        All usable trials of one arm.
    rng : numpy.random.Generator
        Source of the resamples; the same state gives the same interval.
    reps : int
        Number of resamples.
    level : float
        Confidence level of the percentile interval.

    Returns
    -------
    Estimate
        Of the mean without the lowest and highest quarter of all trials (population FIXED).

    Notes
    -----
    Assumes trials of a case independent. Needs several trials a case, and graded scores: of yes/no trials the
    middle half says little. Cases with more trials count for more.

    References
    ----------
    [Agarwal]_, [Hesterberg]_.

    Examples
    --------
    >>> trials = CaseTrials([1, 2, 2, 2, 1, 1, 2, 1], [0, 1, 0, 1, 0, 1, 0, 1])
    >>> iqm(trials, rng=np.random.default_rng(1)).estimate
    1.5
    """
    scores, codes = _sorted(trials)
    draws = np.zeros(0)
    if _resamplable(codes):
        draws = np.concatenate([_trimmed(rows) for rows in _within_cases(scores, codes, rng, reps)])
    value = float(_trimmed(scores[None])[0]) if scores.size else nan
    return _estimate("interquartile mean", value, _stretched(draws, value, codes), codes, level)


def probability_of_improvement(
    candidate: CaseTrials,
    baseline: CaseTrials,
    *,
    rng: np.random.Generator,
    reps: int = 2_000,
    level: float = 0.95,
) -> Estimate:
    """How likely does a trial of the candidate beat one of the baseline on the same case? Ties count half.

    Parameters
    ----------
    candidate, baseline : CaseTrials
        All usable trials of each arm, on the same cases.
    rng : numpy.random.Generator
        Source of the resamples; the same state gives the same interval.
    reps : int
        Number of resamples.
    level : float
        Confidence level of the percentile interval.

    Returns
    -------
    Estimate
        Of the chance, averaged over cases (population FIXED); 0.5 when the arms are alike.

    Notes
    -----
    Assumes trials of a case independent. Says nothing of by how much: for that use `paired_difference`.

    References
    ----------
    [Agarwal]_, [MW]_.

    Examples
    --------
    >>> new, old = CaseTrials([1, 1, 0], ["a", "a", "a"]), CaseTrials([0, 0], ["a", "a"])
    >>> round(probability_of_improvement(new, old, rng=np.random.default_rng(1)).estimate, 4)
    0.8333
    """
    x, y = check_scores(candidate.scores), check_scores(baseline.scores)
    names, codes = _same_cases(candidate, baseline)
    values, draws = np.zeros(names), np.zeros(check_at_least("reps", reps, 2))
    for case in range(names):
        own, other = x[codes[: x.size] == case], y[codes[x.size :] == case]
        wins = (own[:, None] > other) + 0.5 * (own[:, None] == other)
        values[case] = wins.mean()
        shares = [rng.multinomial(arm.size, np.full(arm.size, 1 / arm.size), reps) for arm in (own, other)]
        draws += ((shares[0] @ wins) * shares[1]).sum(axis=1) / (wins.size * names)
    value = float(values.mean()) if names else nan
    strata = np.where(np.arange(codes.size) < x.size, codes, codes + names)
    draws = np.clip(_stretched(draws, value, strata), 0, 1) if _resamplable(strata) else np.zeros(0)
    return _estimate("probability of improvement", value, draws, codes, level)


def performance_profile(
    trials: CaseTrials,
    thresholds: ArrayLike,
    *,
    rng: np.random.Generator,
    reps: int = 2_000,
    level: float = 0.95,
) -> list[Estimate]:
    """Which share of trials scores above each threshold? The whole distribution instead of one number.

    Parameters
    ----------
    trials : CaseTrials
        All usable trials of one arm.
    thresholds : array of float, shape (n_thresholds,)
        In the unit of the score.
    rng : numpy.random.Generator
        Source of the resamples; the same state gives the same intervals.
    reps : int
        Number of resamples.
    level : float
        Confidence level of each percentile interval by itself.

    Returns
    -------
    list of Estimate
        Of the share of trials above each threshold (population FIXED).

    Notes
    -----
    Assumes trials of a case independent. The intervals hold point by point, not for the whole curve.

    References
    ----------
    [Agarwal]_, [DM]_.

    Examples
    --------
    >>> trials = CaseTrials([0.2, 0.6, 0.9, 0.4], ["a", "a", "b", "b"])
    >>> [found.estimate for found in performance_profile(trials, [0.5, 0.8], rng=np.random.default_rng(1))]
    [0.5, 0.25]
    """
    scores, codes = _sorted(trials)
    levels = check_scores(thresholds)
    draws = np.zeros((0, levels.size))
    if _resamplable(codes):
        parts = _within_cases(scores, codes, rng, reps)
        draws = np.concatenate([(rows[..., None] > levels).mean(axis=1) for rows in parts])
    shares = (scores[:, None] > levels).mean(axis=0) if scores.size else np.full(levels.size, nan)
    return [
        _estimate(
            f"share of trials above {at:g}",
            float(share),
            np.clip(_stretched(column, float(share), codes), 0, 1),
            codes,
            level,
        )
        for at, share, column in zip(levels, shares, draws.T, strict=True)
    ]


def _sorted(trials: CaseTrials) -> tuple[FloatArray, IntArray]:
    """Return scores and case numbers, the trials of a case side by side."""
    scores = check_scores(trials.scores)
    codes = check_clusters(trials.cases, scores.size)
    order = np.argsort(codes, kind="stable")
    return scores[order], codes[order]


def _resamplable(codes: IntArray) -> bool:
    """Return whether some case has two trials: otherwise every resample is the sample."""
    return codes.size > np.unique(codes).size


def _within_cases(
    scores: FloatArray, codes: IntArray, rng: np.random.Generator, reps: int
) -> list[FloatArray]:
    """Return resamples of the trials of each case, as chunks of shape (rows, n_trials)."""
    sizes = np.bincount(codes)
    first, size = (np.cumsum(sizes) - sizes)[codes], sizes[codes]
    counts = [rows.stop - rows.start for rows in chunks(reps, scores.size)]
    return [scores[first + rng.integers(0, size, (rows, scores.size))] for rows in counts]


def _stretched(draws: FloatArray, value: float, strata: IntArray) -> FloatArray:
    """Return the draws with the spread that T trials a stratum really have.

    Resampling T trials shows (T - 1) / T of their variance: at 3 trials the interval would be 18% too narrow.
    """
    if not draws.size:
        return draws
    t = strata.size / np.unique(strata).size
    return np.asarray(value + (draws - value) * sqrt(t / (t - 1)))


def _trimmed(rows: FloatArray) -> FloatArray:
    """Return the mean of each row without its lowest and highest quarter."""
    n = rows.shape[1]
    cut = int(TRIMMED * n)
    return np.asarray(np.sort(rows, axis=1)[:, cut : n - cut].mean(axis=1))


def _same_cases(candidate: CaseTrials, baseline: CaseTrials) -> tuple[int, IntArray]:
    """Return the number of cases and each trial's case number, candidate first."""
    new, old = np.asarray(candidate.cases), np.asarray(baseline.cases)
    lone = np.setxor1d(new, old)
    if lone.size:
        raise ValueError(
            f"both arms must have the same cases, got {counted(lone.size, 'case')} in one arm only"
        )
    codes = check_clusters(np.concatenate([new, old]), new.size + old.size)
    return int(codes.max(initial=-1)) + 1, codes


def _estimate(estimand: str, value: float, draws: FloatArray, codes: IntArray, level: float) -> Estimate:
    tail = (1 - check_level(level)) / 2
    problem = _problem(draws, codes)
    low, high = (nan, nan) if problem else np.quantile(draws, [tail, 1 - tail])
    return Estimate(
        estimand=estimand,
        population="FIXED",
        estimate=value,
        std_error=nan if problem else draws.std(ddof=1),
        conf_low=low,
        conf_high=high,
        level=level,
        n_cases=int(np.unique(codes).size),
        n_trials=codes.size,
        method="stratified percentile bootstrap, stretched",
        caveats=(problem,) if problem else (),
    )


def _problem(draws: FloatArray, codes: IntArray) -> str:
    if not codes.size:
        return "no trials"
    if not draws.size:
        return "one trial a case: nothing to resample"
    return "" if not agree(draws) else "all resamples agree: the variance is not estimable"
