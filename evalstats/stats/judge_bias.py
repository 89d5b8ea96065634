"""Does the judge favour anyone? Its margin over human labels, held against the same cases elsewhere.

The margin is verdict less label: above 0 the judge is generous. One arm, or one model family, treated more
generously than another on the same cases moves every comparison by as much.

Written by hand: a mean of paired differences; what matters is what is paired.

References
----------
.. [PBF] Panickssery, Bowman, Feng (2024). LLM evaluators recognize and favor their own generations.
   doi:10.48550/arXiv.2404.13076
.. [Bloom] Bloom (1995). Minimum detectable effects. Eval. Rev. 19:547. doi:10.1177/0193841X9501900504
"""

from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.means import case_mean
from evalstats.stats.planning import Study
from evalstats.stats.results import (
    Estimate,
    check_clusters,
    check_level,
    check_scores,
    undefined,
)

POWER = 0.8


def bias_by_arm(
    verdicts: ArrayLike, labels: ArrayLike, *, candidate: ArrayLike, cases: ArrayLike, level: float = 0.95
) -> Estimate:
    """Is the judge more generous to the candidate arm? Difference of its margin over labels, on the same cases.

    Parameters
    ----------
    verdicts, labels : array of float, shape (n_rows,)
        Verdict and human label of each judged trial, in the unit of the score; label NaN where there is none.
    candidate : array of bool, shape (n_rows,)
        Whether the trial belongs to the candidate arm.
    cases : array of labels, shape (n_rows,)
        The case of each row.
    level : float
        Confidence level of the t interval over cases.

    Returns
    -------
    Estimate
        Above 0 the comparison flatters the candidate by so much (population SUPER). When 0 is inside the
        interval a caveat names the difference that would have been seen.

    Notes
    -----
    Assumes labels chosen without regard to the verdict. Only cases with labels in both arms count.

    References
    ----------
    [Bloom]_ for the detectable difference.

    Examples
    --------
    >>> found = bias_by_arm([1, 1, 1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 0, 0, 1, 0],
    ...                     candidate=[True, False] * 4, cases=list("aabbccdd"))
    >>> found.estimate
    0.5
    """
    return _contrast(verdicts, labels, candidate, cases, ("bias of the judge towards the candidate", level))


def self_preference(
    verdicts: ArrayLike, labels: ArrayLike, *, own: ArrayLike, cases: ArrayLike, level: float = 0.95
) -> Estimate:
    """Does the judge favour its own model family? Its margin over labels for its own, less that for others.

    Parameters
    ----------
    verdicts, labels : array of float, shape (n_rows,)
        Verdict and human label of each judged trial, in the unit of the score; label NaN where there is none.
    own : array of bool, shape (n_rows,)
        Whether the trial is by a model of the judge's family.
    cases : array of labels, shape (n_rows,)
        The case of each row.
    level : float
        Confidence level of the t interval over cases.

    Returns
    -------
    Estimate
        Above 0 the judge favours its own (population SUPER). When 0 is inside the interval a caveat names the
        preference that would have been seen. NaN without labels: better answers are no preference.

    Notes
    -----
    Assumes labels chosen without regard to the verdict, and labellers who do not know the author. Only cases
    with labels on both sides count.

    References
    ----------
    [PBF]_; [Bloom]_ for the detectable difference.

    Examples
    --------
    >>> found = self_preference([1, 1, 1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 1, 0, 1, 0],
    ...                         own=[True, False] * 4, cases=list("aabbccdd"))
    >>> found.estimate, found.caveats
    (0.25, ('0 is inside the interval: 0.7 or more would have been seen with power 0.8',))
    """
    return _contrast(verdicts, labels, own, cases, ("self-preference of the judge", level))


def _contrast(
    verdicts: ArrayLike, labels: ArrayLike, side: ArrayLike, cases: ArrayLike, what: tuple[str, float]
) -> Estimate:
    """Return the mean over cases of the margin on one side less that on the other."""
    judged, truth = check_scores(verdicts), np.asarray(labels, dtype=np.float64)
    codes = check_clusters(cases, judged.size)
    on = np.asarray(side, dtype=bool)
    if truth.shape != judged.shape or on.shape != judged.shape:
        raise ValueError(
            f"verdicts, labels and sides must match, got {judged.size}, {truth.size} and {on.size}"
        )
    labelled = ~np.isnan(truth)
    margins, codes, on = (judged - truth)[labelled], codes[labelled], on[labelled]
    n = int(codes.max(initial=-1)) + 1
    counts = [np.bincount(codes[mask], minlength=n) for mask in (on, ~on)]
    sums = [np.bincount(codes[mask], weights=margins[mask], minlength=n) for mask in (on, ~on)]
    both = (counts[0] > 0) & (counts[1] > 0)
    known: dict[str, Any] = {
        "estimand": what[0],
        "population": "SUPER",
        "n_trials": int(sum(count[both].sum() for count in counts)),
        "method": "margin over labels, t on cases",
    }
    if not both.any():
        why = "no case has labels on both sides" if labelled.any() else "no labels"
        return undefined(why, level=check_level(what[1]), n_cases=0, **known)
    differences = sums[0][both] / counts[0][both] - sums[1][both] / counts[1][both]
    found = replace(case_mean(differences, level=what[1]), **known)
    return replace(found, caveats=found.caveats + _what_would_show(found))


def _what_would_show(found: Estimate) -> tuple[str, ...]:
    if isnan(found.std_error) or not found.conf_low <= 0 <= found.conf_high:
        return ()
    seen = Study(paired=True, alpha=1 - found.level, power=POWER).multiplier * found.std_error
    return (f"0 is inside the interval: {seen:.2g} or more would have been seen with power {POWER:g}",)
