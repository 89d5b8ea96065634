"""How much of what we see is the judge? Noise of judging the same transcript again, and its share.

The population is FIXED: these transcripts, judged again. What the noise hides is in
`evalstats.stats.noise_floors`; whether the judge is *right*, in `evalstats.stats.accuracy`.

Written by hand: a pooled variance and a ratio of two.

References
----------
.. [Arvesen] Arvesen (1969). Jackknifing U-statistics. Ann. Math. Stat. 40:2076. doi:10.1214/aoms/1177697287
.. [SB] Spearman (1910). Correlation calculated from faulty data. Br. J. Psychol. 3:271; Brown (1910). Some
   experimental results in the correlation of mental abilities. Br. J. Psychol. 3:296.
.. [Brennan] Brennan (2001). Generalizability Theory, chapter 4 (how many repeats). Springer.
   doi:10.1007/978-1-4757-3456-0
"""

from dataclasses import dataclass
from math import ceil, inf, isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.layouts import LEVELS, Layout
from evalstats.stats.leave_one_out import jackknife
from evalstats.stats.means import centred
from evalstats.stats.results import (
    Estimate,
    agree,
    bounded,
    check_at_least,
    check_clusters,
    check_level,
    check_scores,
    counted,
    undefined,
)

MANY_IDENTICAL = 30  # so many identical repeats are no accident
NOT_MEASURED = "not measured: no transcript was judged twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often must each transcript be judged? Two answers, and why one may be missing.

    Parameters
    ----------
    likely, safe : int or None
        Repeats that bring the judge's share down to the target: by its estimate, and by its upper bound. None
        when no number of repeats is known to do it.
    reason : str
        Why a number is missing, or empty.

    Examples
    --------
    >>> Repeats(likely=3, safe=None, reason="too few cases").likely
    3
    """

    likely: int | None
    safe: int | None
    reason: str


def judge_noise(scores: ArrayLike, *, transcripts: ArrayLike, level: float = 0.95) -> Estimate:
    """How far apart are two judgements of one transcript? Standard deviation of a single judgement.

    Parameters
    ----------
    scores : array of float, shape (n_judgements,)
        One row per judgement, in the unit of the score.
    transcripts : array of labels, shape (n_judgements,)
        The transcript of each row. Those judged once take no part.
    level : float
        Confidence level of the jackknife interval over transcripts.

    Returns
    -------
    Estimate
        The pooled standard deviation within transcripts (population FIXED). `n_cases` counts transcripts
        judged twice or more, `n_trials` their judgements. NaN when no repeat ever differs.

    Notes
    -----
    Assumes repeats made afresh: a cache, or a judge without randomness, shows no noise, which says nothing
    about how it would take a slightly different transcript. For yes/no verdicts see also `flip_rate`.

    References
    ----------
    [Arvesen]_.

    Examples
    --------
    >>> found = judge_noise([1, 0, 1, 1, 0, 0, 1, 1], transcripts=list("aabbccdd"))
    >>> round(found.estimate, 6)
    0.353553
    """
    values = check_scores(scores)
    codes = check_clusters(transcripts, values.size)
    again = np.bincount(codes)[codes] > 1
    values, codes = values[again], check_clusters(codes[again], int(again.sum()))
    dfs = np.bincount(codes) - 1.0
    known: dict[str, Any] = {
        "estimand": "standard deviation of a judgement",
        "population": "FIXED",
        "level": check_level(level),
        "n_trials": values.size,
        "method": "pooled within transcripts, jackknife",
    }
    deviations = centred(values, codes) if values.size else values
    if agree(deviations):
        return undefined(_why_no_noise(dfs.size), n_cases=dfs.size, **known)
    squares = np.bincount(codes, weights=deviations**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = (squares.sum() - np.r_[0.0, squares]) / (dfs.sum() - np.r_[0.0, dfs])
    return bounded(jackknife(np.sqrt(np.maximum(variances, 0.0)), **known), low=0)


def judge_share(
    scores: ArrayLike, *, cases: ArrayLike, transcripts: ArrayLike, repeats: int = 1, level: float = 0.95
) -> Estimate:
    """Which share of a rerun's noise is the judge's? Judge variance over judge plus trial variance.

    Parameters
    ----------
    scores : array of float, shape (n_judgements,)
        One row per judgement, in the unit of the score.
    cases, transcripts : array of labels, shape (n_judgements,)
        The case and the transcript (trial) of each row.
    repeats : int
        Judgements of each transcript that are averaged, as *deployed*.
    level : float
        Confidence level of the delete-one-case jackknife interval.

    Returns
    -------
    Estimate
        In [0, 1], truncated (population FIXED). Feed the one at 1 repeat to `repeats_needed`.

    Notes
    -----
    Assumes transcripts drawn afresh within each case, at least two in some. Wants some 20 cases.

    References
    ----------
    [Brennan]_, [Arvesen]_.

    Examples
    --------
    >>> scores = [1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1]
    >>> print(judge_share(scores, cases=list("aaaabbbbcccc"), transcripts=[1, 1, 2, 2] * 3).estimate)
    0.5
    """
    check_at_least("repeats", repeats)
    layout = Layout.of(scores, cases=cases, trials=transcripts)
    known: dict[str, Any] = {
        "estimand": f"judge's share of rerun variance at {counted(repeats, 'repeat')}",
        "population": "FIXED",
        "level": check_level(level),
        "n_trials": layout.n_trials,
        "method": "sequential moments, truncated",
    }
    problem = layout.problem() or _why_no_share(layout)
    if problem:
        return undefined(problem, n_cases=layout.n_cases, **known)
    judge, trial = (layout.moments[:, LEVELS.index(name)] for name in ("judge", "trial"))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = (judge / repeats) / (judge / repeats + trial)
    shares = np.where(judge / repeats + trial > 0, shares, np.nan)
    return bounded(jackknife(shares, **known), low=0, high=1)


def repeats_needed(share: Estimate, *, target: float = 0.10) -> Repeats:
    """How often must each transcript be judged, until the judge hardly matters? A stopping rule.

    Parameters
    ----------
    share : Estimate
        From `judge_share` at one repeat.
    target : float
        The judge's share of rerun variance that is low enough, in (0, 1).

    Returns
    -------
    Repeats
        Stop once the deployed repeats reach `safe`; below `likely`, more are worth their cost.

    Notes
    -----
    Assumes `share` was computed at one repeat. It lowers noise, not bias: a judge that is wrong stays wrong.

    References
    ----------
    [SB]_ (the prophecy formula, for a reliability of 1 - target).

    Examples
    --------
    >>> scores = [1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1]
    >>> share = judge_share(scores, cases=list("aaaabbbbcccc"), transcripts=[1, 1, 2, 2] * 3)
    >>> repeats_needed(share).likely
    9
    """
    check_level(target, "target")
    likely, safe = (_repeats_for(value, target) for value in (share.estimate, share.conf_high))
    reason = ""
    if safe is None:
        reason = share.caveats[0] if share.caveats else "the data allow that all rerun noise is the judge's"
    return Repeats(likely=likely, safe=safe, reason=reason)


def _repeats_for(share: float, target: float) -> int | None:
    odds = share / (1 - share) if share < 1 else inf
    if isnan(share) or odds == inf:
        return None
    return max(1, ceil(odds * (1 - target) / target - 1e-9))


def _why_no_noise(n: int) -> str:
    if not n:
        return NOT_MEASURED
    doubt = "cached or deterministic?" if n >= MANY_IDENTICAL else "too few to tell"
    return f"all repeats identical on {counted(n, 'transcript')}: {doubt}"


def _why_no_share(layout: Layout) -> str:
    if "judge" not in layout.active:
        return NOT_MEASURED
    return "" if "trial" in layout.active else "one transcript of each case: trial noise is unknown"
