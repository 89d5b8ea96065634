"""Has something changed since those nights? Control charts on a nightly series.

A Shewhart chart sees a large jump at once, CUSUM and EWMA a small shift that stays. Values are standardised
by the centre and spread of an accepted history. The textbook limits assume that these are known: estimated
from 8 nights, more than a third of unchanged series alarm on a CUSUM within 28 nights. So take the limit from
`simulated_limit`, and count an alarm as confirmed only when the next night alarms too.

Written by hand: no library here has charts that know how short their history is.

References
----------
.. [Shewhart] Shewhart (1931). Economic Control of Quality of Manufactured Product. Van Nostrand.
.. [Roberts] Roberts (1959). Control chart tests based on geometric moving averages. Technometrics 1:239.
   doi:10.1080/00401706.1959.10489860
.. [Page] Page (1954). Continuous inspection schemes. Biometrika 41:100. doi:10.1093/biomet/41.1-2.100
.. [VR] VanBrackle, Reynolds (1997). EWMA and CUSUM control charts in the presence of correlation. Commun.
   Stat. Simul. 26:979.
"""

from dataclasses import dataclass
from math import nan, sqrt
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.stats.results import FloatArray, agree, check_scores
from evalstats.stats.run_lengths import EWMA_WEIGHT, average_spread, check_weight

ENOUGH_RUNS = 8  # a shorter history is provisional
STRONG_CORRELATION = 0.3  # from here on the spread is widened

Kind: TypeAlias = Literal["shewhart", "ewma", "cusum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InControl:
    """What is normal? Centre and spread of an accepted history.

    Parameters
    ----------
    centre, sigma : float
        Mean and standard deviation of a run, in the unit of the values; `sigma` is widened where neighbouring
        nights are alike, and NaN where it cannot be known.
    autocorrelation : float
        Of neighbouring nights (lag 1); NaN where it cannot be known.
    n_runs : int
        Runs in the history.
    caveats : tuple of str
        What the reader must know: provisional, degenerate, widened.

    Examples
    --------
    >>> in_control([0.4, 0.6]).caveats
    ('provisional: 2 of the 8 runs needed',)
    """

    centre: float
    sigma: float
    autocorrelation: float
    n_runs: int
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What does the chart show, night by night?

    Parameters
    ----------
    upper, lower, limit : array of float, shape (n_nights,), and float
        What is held against +limit and -limit, in standard deviations; NaN without a spread.
    method : str
        Published name and its constants.
    caveats : tuple of str
        Those of the history.

    Examples
    --------
    >>> chart = shewhart([0.5, 0.9], in_control([0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5, 0.5]))
    >>> chart.first_alarm
    1
    """

    upper: FloatArray
    lower: FloatArray
    limit: float
    method: str
    caveats: tuple[str, ...] = ()

    @property
    def alarms(self) -> NDArray[np.bool_]:
        """Return which nights lie beyond a limit, shape (n_nights,)."""
        return np.asarray((self.upper > self.limit) | (self.lower < -self.limit))

    @property
    def first_alarm(self) -> int | None:
        """Return the index of the first alarm, if there is one."""
        return _first(self.alarms)

    @property
    def confirmed_alarm(self) -> int | None:
        """Return the index of the first alarm that the next night repeats, if there is one."""
        return _first(self.alarms[:-1] & self.alarms[1:])


def in_control(history: ArrayLike) -> InControl:
    """What is normal for this suite? Centre and spread of the accepted nights.

    Parameters
    ----------
    history : array of float, shape (n_runs,)
        One value a run, in any unit, oldest first; accepted runs of one identity only.

    Returns
    -------
    InControl
        Below 8 runs provisional. Where the lag-1 autocorrelation r exceeds 0.3, `sigma` is multiplied by
        sqrt((1 + r) / (1 - r)), as for a first-order autoregression.

    Notes
    -----
    Assumes that the nights belong together: look for a change point first. A history without any scatter
    supports no claim, since a repeated answer is not a measured noise.

    References
    ----------
    [Shewhart]_, [VR]_.

    Examples
    --------
    >>> round(in_control([0.1, 0.3, 0.2, 0.2, 0.1, 0.3, 0.2, 0.2]).sigma, 4)
    0.0756
    """
    values = check_scores(history)
    n = values.size
    if agree(values):
        why = "all runs agree: no spread, no in-control claim" if n > 1 else f"{n} of the 2 runs needed"
        return InControl(
            centre=float(values.mean()) if n else nan,
            sigma=nan,
            autocorrelation=nan,
            n_runs=n,
            caveats=(f"degenerate: {why}",),
        )
    deviations = values - values.mean()
    r = float(deviations[:-1] @ deviations[1:] / (deviations @ deviations))
    caveats = [f"provisional: {n} of the {ENOUGH_RUNS} runs needed"] if n < ENOUGH_RUNS else []
    widening = sqrt((1 + r) / (1 - r)) if r > STRONG_CORRELATION else 1.0
    if widening > 1:
        caveats.append(f"neighbouring nights are alike (r = {r:.2f}): spread widened {widening:.2f} times")
    return InControl(
        centre=float(values.mean()),
        sigma=float(values.std(ddof=1)) * widening,
        autocorrelation=r,
        n_runs=n,
        caveats=tuple(caveats),
    )


def shewhart(values: ArrayLike, normal: InControl, *, limit: float = 3.0) -> Chart:
    """Is a single night far off? Shewhart's chart.

    Parameters
    ----------
    values : array of float, shape (n_nights,)
        New nights, oldest first, in the unit of the history.
    normal : InControl
        Of the history; the new nights are not part of it.
    limit : float
        In standard deviations.

    Returns
    -------
    Chart

    Notes
    -----
    Assumes independent, roughly normal nights. Blind to small lasting shifts: use `cusum`.

    References
    ----------
    [Shewhart]_.

    Examples
    --------
    >>> normal = in_control([0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5, 0.5])
    >>> shewhart([0.5, 0.51], normal).first_alarm is None
    True
    """
    return _chart("shewhart", values, normal, limit, f"Shewhart, {limit:g} sigma")


def ewma(values: ArrayLike, normal: InControl, *, weight: float = EWMA_WEIGHT, limit: float = 2.962) -> Chart:
    """Has the level drifted? Exponentially weighted moving average.

    Parameters
    ----------
    values : array of float, shape (n_nights,)
        New nights, oldest first, in the unit of the history.
    normal : InControl
        Of the history; the new nights are not part of it.
    weight : float
        Weight of the newest night, inside (0, 1].
    limit : float
        In long-run standard deviations of the average; 2.962 gives 500 nights between false alarms if centre
        and spread are known, `simulated_limit` what suits the history at hand.

    Returns
    -------
    Chart

    Notes
    -----
    Assumes independent, roughly normal nights.

    References
    ----------
    [Roberts]_.

    Examples
    --------
    >>> normal = in_control([0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5, 0.5])
    >>> ewma([0.49, 0.48, 0.48, 0.47, 0.47, 0.47], normal).first_alarm
    3
    """
    return _chart("ewma", values, normal, limit, f"EWMA, weight {weight:g}", check_weight(weight))


def cusum(values: ArrayLike, normal: InControl, *, k: float = 0.5, h: float = 5.0) -> Chart:
    """Has the level shifted and stayed? Two-sided cumulative sum.

    Parameters
    ----------
    values : array of float, shape (n_nights,)
        New nights, oldest first, in the unit of the history.
    normal : InControl
        Of the history; the new nights are not part of it.
    k : float
        Allowance: half the shift to be found soon, in standard deviations.
    h : float
        Limit, in standard deviations; 5 gives 465 nights between false alarms if centre and spread are known,
        `simulated_limit` what suits the history at hand.

    Returns
    -------
    Chart

    Notes
    -----
    Assumes independent, roughly normal nights. The sums run on after an alarm; start anew once it is settled.

    References
    ----------
    [Page]_.

    Examples
    --------
    >>> normal = in_control([0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5, 0.5])
    >>> cusum([0.48] * 6, normal).confirmed_alarm
    4
    """
    return _chart("cusum", values, normal, h, f"CUSUM, k {k:g}, h {h:g}", k)


class Paths(NamedTuple):
    """What a chart holds against its limits: shape of the nights, in standard deviations."""

    upper: FloatArray
    lower: FloatArray


def paths(kind: Kind, z: FloatArray, constant: float) -> Paths:
    """Return what is charted, from standardised nights along the last axis; `constant` is weight or k."""
    if kind == "shewhart":
        return Paths(z, z)
    upper, lower = np.zeros_like(z), np.zeros_like(z)
    high, low = np.zeros(z.shape[:-1]), np.zeros(z.shape[:-1])
    for night in range(z.shape[-1]):
        now = z[..., night]
        if kind == "ewma":
            high = low = (1 - constant) * high + constant * now
        else:
            high, low = np.maximum(0, high + now - constant), np.minimum(0, low + now + constant)
        upper[..., night], lower[..., night] = high, low
    scale = average_spread(constant) if kind == "ewma" else 1.0
    return Paths(upper / scale, lower / scale)


def _chart(
    kind: Kind, values: ArrayLike, normal: InControl, limit: float, method: str, constant: float = nan
) -> Chart:
    z = (check_scores(values) - normal.centre) / normal.sigma
    upper, lower = paths(kind, z, constant)
    return Chart(upper=upper, lower=lower, limit=limit, method=method, caveats=normal.caveats)


def _first(alarms: NDArray[np.bool_]) -> int | None:
    return int(alarms.argmax()) if alarms.any() else None
