"""Is the judge right? Verdicts against human labels, and a pass rate corrected for what they show.

Labels say how often the judge passes what a human passed (TPR) and fails what a human failed (TNR). From these
the true pass rate follows, when the labels come from elsewhere; when they are a random part of the same cases,
`ppi_mean` in `evalstats.stats.prediction_powered` needs fewer of them.

Written by hand: no Python library has the interval with both sources of error.

References
----------
.. [RG] Rogan, Gladen (1978). Estimating prevalence from the results of a screening test. Am. J. Epidemiol.
   107:71. doi:10.1093/oxfordjournals.aje.a112510
.. [LR] Lang, Reiczigel (2014). Confidence limits for prevalence of disease adjusted for estimated sensitivity
   and specificity. Prev. Vet. Med. 113:13. doi:10.1016/j.prevetmed.2013.09.015
.. [Wilson] Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA 22:209.
   doi:10.1080/01621459.1927.10502953
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Self

from numpy.typing import ArrayLike

from evalstats.stats.proportions import wilson
from evalstats.stats.results import (
    Estimate,
    bounded,
    check_pairs,
    check_yes_no,
    normal_quantile,
    undefined,
)

MIN_LABELS = 10  # in each class
MIN_SKILL = 1.2  # TPR + TNR: a coin has 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often is the judge right about passes, and about failures?

    Parameters
    ----------
    tpr : Estimate
        Share of what humans passed that the judge passes; `n_cases` counts those labels.
    tnr : Estimate
        Share of what humans failed that the judge fails; `n_cases` counts those labels.

    Examples
    --------
    >>> Confusion.of([1, 1, 0, 0], labels=[1, 1, 1, 0]).tpr.estimate  # doctest: +ELLIPSIS
    0.666...
    """

    tpr: Estimate
    tnr: Estimate

    @classmethod
    def of(cls, verdicts: ArrayLike, *, labels: ArrayLike, level: float = 0.95) -> Self:
        """Compare verdicts with labels, each 0 or 1, shape (n,); both with Wilson's interval [Wilson]_.

        Assumes one label a case, or labels independent of one another.
        """
        judged, truth = check_pairs(verdicts, labels, must="verdicts and labels must match")
        check_yes_no("verdicts and labels", judged, truth)
        good = truth == 1
        tpr = wilson(int(judged[good].sum()), int(good.sum()), level=level)
        tnr = wilson(int((1 - judged[~good]).sum()), int((~good).sum()), level=level)
        return cls(
            tpr=replace(tpr, estimand="true positive rate"), tnr=replace(tnr, estimand="true negative rate")
        )

    def problem(self) -> str:
        """Return why no pass rate should be corrected with it, or an empty string."""
        fewest = min(self.tpr.n_cases, self.tnr.n_cases)
        if fewest < MIN_LABELS:
            return f"{fewest:.3g} of the {MIN_LABELS} labels needed in each class"
        skill = self.tpr.estimate + self.tnr.estimate
        if skill < MIN_SKILL:
            return f"TPR + TNR is {skill:.2f}, below {MIN_SKILL}: the judge is hardly better than a coin"
        return ""


def rogan_gladen(judged: Estimate, confusion: Confusion) -> Estimate:
    """What is the true pass rate behind the judge's? Rogan-Gladen, with both sources of error.

    Parameters
    ----------
    judged : Estimate
        The pass rate by the judge's verdicts, from any method: its standard error says how many independent
        trials it is worth.
    confusion : Confusion
        From labels that are not among those verdicts.

    Returns
    -------
    Estimate
        Of the true pass rate, kept in [0, 1], at the level and for the population of `judged`. NaN with fewer
        than 10 labels in a class, when TPR + TNR is below 1.2, and when no rate in [0, 1] fits the data.

    Notes
    -----
    Assumes that the judge errs alike on the labelled and the judged trials. Where labels are a random part of
    the same cases use `ppi_mean`; where the arms are judged unevenly well, correct each with its own labels.

    References
    ----------
    [RG]_ for the estimate; [LR]_ for the interval (delta method after adding a few successes and failures).

    Examples
    --------
    >>> labels = [1] * 20 + [0] * 20
    >>> confusion = Confusion.of([1] * 18 + [0] * 2 + [0] * 16 + [1] * 4, labels=labels)
    >>> print(rogan_gladen(wilson(70, 100), confusion).estimate)  # doctest: +ELLIPSIS
    0.714285...
    """
    known: dict[str, Any] = {
        "estimand": "true pass rate",
        "population": judged.population,
        "level": judged.level,
        "n_cases": judged.n_cases,
        "n_clusters": judged.n_clusters,
        "n_trials": judged.n_trials,
        "method": "Rogan-Gladen, Lang-Reiczigel",
    }
    problem = confusion.problem() or ("" if judged.n_cases else "no cases")
    if problem:
        return undefined(problem, **known)
    tpr, tnr = confusion.tpr.estimate, confusion.tnr.estimate
    raw = (judged.estimate + tnr - 1) / (tpr + tnr - 1)
    centre, std_error, half = _lang_reiczigel(judged, confusion)
    if centre + half <= 0 or centre - half >= 1:  # cut to [0, 1] it would have no width
        return undefined(
            "no pass rate fits both: the judge did not err on these trials as on the labels", **known
        )
    outside = ("the raw estimate lies outside [0, 1]",)
    found = Estimate(
        estimate=raw,
        std_error=std_error,
        conf_low=centre - half,
        conf_high=centre + half,
        caveats=judged.caveats + (() if 0 <= raw <= 1 else outside),
        **known,
    )
    return bounded(found, low=0, high=1)


def _lang_reiczigel(judged: Estimate, confusion: Confusion) -> tuple[float, float, float]:
    """Return centre, standard error and half width of the interval, before it is cut to [0, 1]."""
    z = normal_quantile(judged.level)
    p, n = judged.estimate, _worth(judged)
    tpr, n_good = _smoothed(confusion.tpr)
    tnr, n_bad = _smoothed(confusion.tnr)
    p, n = (n * p + z**2 / 2) / (n + z**2), n + z**2
    skill = tpr + tnr - 1
    true = (p + tnr - 1) / skill
    from_good, from_bad = tpr * (1 - tpr) / n_good, tnr * (1 - tnr) / n_bad
    variance = (p * (1 - p) / n + true**2 * from_good + (1 - true) ** 2 * from_bad) / skill**2
    shift = 2 * z**2 * (true * from_good - (1 - true) * from_bad)
    return true + shift, sqrt(variance), z * sqrt(variance)


def _worth(judged: Estimate) -> float:
    """Return how many independent trials the pass rate is worth; cases, where its error is unknown."""
    p = judged.estimate
    return p * (1 - p) / judged.std_error**2 if 0 < p < 1 and judged.std_error > 0 else judged.n_cases


def _smoothed(rate: Estimate) -> tuple[float, int]:
    """Return the rate after adding a success and a failure, and the labels then behind it."""
    return (rate.estimate * rate.n_cases + 1) / (rate.n_cases + 2), rate.n_cases + 2
