"""What is the true mean, when few cases are labelled and all are judged? Prediction-powered inference.

The judge's mean over all cases, moved by its error on the labelled ones. A weight tuned from the data decides
how far the judge is trusted: a useless judge gets none, and the labels alone remain.

Written by hand: `ppi-python` knows no clusters and uses the normal quantile, which is too narrow with the few
labels one has.

References
----------
.. [PPI] Angelopoulos, Bates, Fannjiang, Jordan, Zrnic (2023). Prediction-powered inference. Science 382:669.
   doi:10.1126/science.adi6000
.. [PPI++] Angelopoulos, Duchi, Zrnic (2023). PPI++: efficient prediction-powered inference.
   doi:10.48550/arXiv.2311.01453
"""

from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.accuracy import MIN_LABELS
from evalstats.stats.means import too_few
from evalstats.stats.results import (
    ROUNDING,
    Estimate,
    FloatArray,
    around,
    check_clusters,
    check_level,
    check_pairs,
    check_scores,
    t_quantile,
    undefined,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was labelled, and what only judged? Cases with both, and cases with verdicts alone.

    Parameters
    ----------
    labels, verdicts : array of float, shape (n_labelled,)
        Mean label and mean verdict of each labelled case.
    unlabelled : array of float, shape (n_unlabelled,)
        Mean verdict of each other case.
    clusters, unlabelled_clusters : array of labels, optional
        The group of each case, shared between both; without them every case is independent.

    Examples
    --------
    >>> Judged(labels=[1, 0], verdicts=[1, 1], unlabelled=[1, 0, 1]).clusters is None
    True
    """

    labels: ArrayLike
    verdicts: ArrayLike
    unlabelled: ArrayLike
    clusters: ArrayLike | None = None
    unlabelled_clusters: ArrayLike | None = None


def ppi_mean(judged: Judged, *, level: float = 0.95) -> Estimate:
    """What would humans have said on average? PPI++ on case means, with the judge's trust tuned.

    Parameters
    ----------
    judged : Judged
        Labels and verdicts; labelled cases are a random part of all.
    level : float
        Confidence level of the t interval, with labelled cases (or clusters) - 1 degrees of freedom.

    Returns
    -------
    Estimate
        Of the mean label over cases (population SUPER). `n_cases` counts labelled cases, `n_trials` all.
        NaN with fewer than 10 labelled case-equivalents in a class (pass, fail).

    Notes
    -----
    Assumes labelled cases drawn at random from the same cases. Where they come from elsewhere use
    `rogan_gladen`. The tuned weight is kept in [0, 1]; it is named in `method`.

    References
    ----------
    [PPI]_, [PPI++]_ (section 6, power tuning).

    Examples
    --------
    >>> judged = Judged(labels=[1, 0] * 20, verdicts=[1, 0] * 18 + [0, 1] * 2, unlabelled=[1, 1, 1, 0] * 50)
    >>> print(ppi_mean(judged))
    true mean 0.7008 [0.5916, 0.8101] at level 0.95 (PPI++ with weight 0.803, SUPER, 40 cases, 240 trials)
    """
    y, f = check_pairs(judged.labels, judged.verdicts, must="labels and verdicts must match")
    rest = check_scores(judged.unlabelled)
    weight = tuned_weight(y, f, rest)
    known: dict[str, Any] = {
        "estimand": "true mean",
        "population": "SUPER",
        "level": check_level(level),
        "n_cases": y.size,
        "n_trials": y.size + rest.size,
        "method": f"PPI++ with weight {weight:.3f}",
    }
    problem = _why_not(y)
    if problem:
        return undefined(problem, **known)
    rectified, imputed = y - weight * f, weight * rest
    estimate = float(rectified.mean()) + (float(imputed.mean()) if rest.size else 0.0)
    n_clusters, variance = _variance(rectified, imputed, judged)
    known["n_clusters"] = None if judged.clusters is None else n_clusters
    problem = too_few(y.size, n_clusters)
    if problem or variance <= ROUNDING**2:
        why = problem or "all cases agree: the variance is not estimable"
        return undefined(why, estimate=estimate, **known)
    return around(
        estimate,
        sqrt(variance),
        t_quantile(level, n_clusters - 1),
        caveats=() if rest.size else ("no unlabelled cases: labels alone",),
        **known,
    )


def tuned_weight(labels: FloatArray, verdicts: FloatArray, unlabelled: FloatArray) -> float:
    """Return how far to trust the judge, in [0, 1]: the weight that makes the variance least."""
    spread = float(np.r_[verdicts, unlabelled].var(ddof=1)) if labels.size > 1 and unlabelled.size else 0.0
    if not spread > 0:
        return 0.0
    together = float(((labels - labels.mean()) * (verdicts - verdicts.mean())).mean())
    return float(np.clip(together / ((1 + labels.size / unlabelled.size) * spread), 0, 1))


def _why_not(labels: FloatArray) -> str:
    if not labels.size:
        return "no labels"
    shares = labels.min() >= 0 and labels.max() <= 1
    fewest = min(labels.sum(), (1 - labels).sum()) if shares else labels.size
    if fewest >= MIN_LABELS:
        return ""
    return f"{fewest:g} of the {MIN_LABELS} labels needed{' in each class' if shares else ''}"


def _variance(rectified: FloatArray, imputed: FloatArray, judged: Judged) -> tuple[int, float]:
    """Return the labelled clusters and the variance, from sums of influence over clusters of both parts."""
    n, n_rest = rectified.size, imputed.size
    own = check_clusters(judged.clusters, n)
    others = check_clusters(judged.unlabelled_clusters, n_rest)
    counts = int(own.max(initial=-1)) + 1, int(others.max(initial=-1)) + 1
    if judged.clusters is not None and judged.unlabelled_clusters is not None:
        labels = np.r_[np.asarray(judged.clusters), np.asarray(judged.unlabelled_clusters)]
        codes = check_clusters(labels, n + n_rest)  # one cluster may have cases of both kinds
    else:
        codes = np.r_[own, others + counts[0]]
    parts = [
        (x - x.mean()) / x.size * sqrt(count / (count - 1)) if count > 1 else np.zeros_like(x)
        for x, count in zip((rectified, imputed), counts, strict=True)
    ]
    sums = np.bincount(codes, weights=np.concatenate(parts))
    return counts[0], float((sums**2).sum()) if n else nan
