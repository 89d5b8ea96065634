"""Which limit suits a short history? Control limits by simulation, for the number of nights at hand.

Centre and spread estimated from a few nights are wrong by a part of themselves, and a chart mistakes that
error for a shift. The textbook limit of a CUSUM then alarms on 36% of unchanged series within 28 nights after
a history of 8, and on 15% after one of 28; if both were known it would be 5%.

Written by hand: tables exist for a few history lengths only.

References
----------
.. [JCW] Jensen, Jones-Farmer, Champ, Woodall (2006). Effects of parameter estimation on control chart
   properties: a literature review. J. Qual. Technol. 38:349. doi:10.1080/00224065.2006.11918623
"""

from math import nan
from typing import get_args

import numpy as np

from evalstats.stats.control_charts import Kind, paths
from evalstats.stats.power import simulated_share
from evalstats.stats.results import Estimate, FloatArray, check_at_least, check_choice, check_level, counted


def simulated_limit(
    n_history: int,
    *,
    kind: Kind = "cusum",
    nights: int = 28,
    false_alarm: float = 0.05,
    rng: np.random.Generator,
    reps: int = 10_000,
) -> float:
    """Which limit suits so short a history? The one that few unchanged series pass within some nights.

    Parameters
    ----------
    n_history : int
        Runs that centre and spread are estimated from, at least 2.
    kind : {"cusum", "ewma", "shewhart"}
        The chart, with its usual constants.
    nights : int
        New nights to be charted before the history is renewed.
    false_alarm : float
        Share of unchanged series that may alarm within these nights.
    rng : numpy.random.Generator
        Source of the series; the same state gives the same limit.
    reps : int
        Number of series drawn.

    Returns
    -------
    float
        In standard deviations of the history at hand.

    Notes
    -----
    Assumes independent normal nights. The limit grows fast below 10 runs: that is the price of not knowing.

    References
    ----------
    [JCW]_.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> simulated_limit(8, rng=rng) > simulated_limit(28, rng=rng) > 5
    True
    """
    kept = 1 - check_level(false_alarm, "false_alarm")
    return float(np.quantile(_peaks(n_history, kind, nights, rng, reps), kept))


def false_alarm_probability(
    n_history: int,
    limit: float,
    *,
    kind: Kind = "cusum",
    nights: int = 28,
    rng: np.random.Generator,
    reps: int = 10_000,
) -> Estimate:
    """How many unchanged series alarm within some nights, after so short a history? By simulation.

    Parameters
    ----------
    n_history : int
        Runs that centre and spread are estimated from, at least 2.
    limit : float
        Of the chart, in standard deviations.
    kind, nights, rng, reps
        As in `simulated_limit`.

    Returns
    -------
    Estimate
        Of a probability; `n_cases` counts series, and the interval is Wilson's for the Monte-Carlo error.

    Notes
    -----
    Assumes independent normal nights.

    References
    ----------
    [JCW]_.

    Examples
    --------
    >>> false_alarm_probability(8, 5.0, rng=np.random.default_rng(1)).estimate > 0.3
    True
    """
    beyond = _peaks(n_history, kind, nights, rng, reps) > limit
    return simulated_share(beyond, estimand=f"false alarm within {counted(nights, 'night')}", unit="series")


def _peaks(n_history: int, kind: Kind, nights: int, rng: np.random.Generator, reps: int) -> FloatArray:
    """Return the largest charted distance from 0 of each unchanged series, shape (reps,)."""
    check_choice("kind", kind, get_args(Kind))
    for name, value, least in (("n_history", n_history, 2), ("nights", nights, 1), ("reps", reps, 1)):
        check_at_least(name, value, least)
    history = rng.standard_normal((reps, n_history))
    z = rng.standard_normal((reps, nights)) - history.mean(axis=1, keepdims=True)
    z /= history.std(axis=1, ddof=1, keepdims=True)
    upper, lower = paths(kind, z, {"shewhart": nan, "ewma": 0.2, "cusum": 0.5}[kind])
    return np.asarray(np.maximum(upper.max(axis=1), -lower.min(axis=1)))
