"""How many nights until a control chart alarms? Average run lengths, when centre and spread are known.

In control a long run is wanted, after a shift a short one. Exact up to quadrature: the run length solves an
integral equation in the state of the chart. With centre and spread *estimated* from a short history false
alarms come far sooner: see `simulated_limit`.

Written by hand: R's `spc` has these, nothing in Python does.

References
----------
.. [Page] Page (1954). Continuous inspection schemes. Biometrika 41:100. doi:10.1093/biomet/41.1-2.100
.. [Crowder] Crowder (1987). A simple method for studying run-length distributions of exponentially weighted
   moving average charts. Technometrics 29:401. doi:10.1080/00401706.1987.10488267
.. [LC] Lucas, Crosier (1982). Fast initial response for CUSUM quality-control schemes. Technometrics 24:199.
   doi:10.1080/00401706.1982.10487759
"""

from math import inf, sqrt

import numpy as np
from scipy.special import ndtr

from evalstats.stats.results import FloatArray, check_at_least, check_positive

NODES = 80  # quadrature points; ten digits for the usual charts
EWMA_WEIGHT = 0.2  # of the newest night


def shewhart_run_length(*, limit: float = 3.0, shift: float = 0.0) -> float:
    """How many nights until a value lies beyond the limits? Average run length of a Shewhart chart.

    Parameters
    ----------
    limit : float
        Distance of both limits from the centre, in standard deviations.
    shift : float
        True mean, in standard deviations from the centre.

    Returns
    -------
    float
        Nights, on average.

    Notes
    -----
    Assumes independent normal values of known centre and spread.

    References
    ----------
    [Page]_.

    Examples
    --------
    >>> round(shewhart_run_length(), 1)
    370.4
    """
    check_at_least("limit", limit, 0)
    chance = float(ndtr(shift - limit) + ndtr(-shift - limit))
    return 1 / chance if chance > 0 else inf


def ewma_run_length(*, weight: float = 0.2, limit: float = 2.962, shift: float = 0.0) -> float:
    """How many nights until the moving average lies beyond the limits? Average run length of an EWMA.

    Parameters
    ----------
    weight : float
        Weight of the newest value, inside (0, 1].
    limit : float
        Distance of both limits from the centre, in long-run standard deviations of the average.
    shift : float
        True mean, in standard deviations of a value from the centre.

    Returns
    -------
    float
        Nights, on average, starting at the centre.

    Notes
    -----
    Assumes independent normal values of known centre and spread, and limits that do not widen at the start.

    References
    ----------
    [Crowder]_.

    Examples
    --------
    >>> round(ewma_run_length())
    500
    """
    check_weight(weight)
    half = check_positive("limit", limit) * sqrt(weight / (2 - weight))
    nodes, mass = _quadrature(-half, half)

    def chance(state: FloatArray) -> FloatArray:
        """Return the density of moving from each state to each node."""
        return _density((nodes - (1 - weight) * state[:, None]) / weight - shift) / weight * mass

    lengths = np.linalg.solve(np.eye(NODES) - chance(nodes), np.ones(NODES))
    return float(1 + (chance(np.zeros(1)) @ lengths)[0])


def cusum_run_length(*, k: float = 0.5, h: float = 5.0, shift: float = 0.0) -> float:
    """How many nights until the sums of deviations pass the limit? Average run length of a two-sided CUSUM.

    Parameters
    ----------
    k : float
        Allowance: half the shift that is to be found soon, in standard deviations.
    h : float
        Limit of both sums, in standard deviations.
    shift : float
        True mean, in standard deviations from the centre.

    Returns
    -------
    float
        Nights, on average, starting at 0.

    Notes
    -----
    Assumes independent normal values of known centre and spread.

    References
    ----------
    [Page]_, [LC]_.

    Examples
    --------
    >>> round(cusum_run_length())
    465
    """
    check_at_least("h", h, 0)
    return 1 / (
        1 / one_sided_cusum_run_length(k=k, h=h, shift=shift)
        + 1 / one_sided_cusum_run_length(k=k, h=h, shift=-shift)
    )


def one_sided_cusum_run_length(*, k: float, h: float, shift: float) -> float:
    """Return the average run length of the sum that looks upwards only."""
    nodes, mass = _quadrature(0.0, h)
    states = np.append(nodes, 0.0)  # the sum rests at 0 with positive probability
    chance = np.empty((NODES + 1, NODES + 1))
    chance[:, :-1] = _density(nodes - states[:, None] + k - shift) * mass
    chance[:, -1] = ndtr(k - states - shift)
    return float(np.linalg.solve(np.eye(NODES + 1) - chance, np.ones(NODES + 1))[-1])


def average_spread(weight: float = EWMA_WEIGHT) -> float:
    """Return the long-run standard deviation of the moving average, in those of a night.

    Examples
    --------
    >>> round(average_spread(0.2), 4)
    0.3333
    """
    return sqrt(weight / (2 - weight))


def check_weight(weight: float) -> float:
    """Return the weight of the newest night, or say that it is none."""
    if not 0 < weight <= 1:
        raise ValueError(f"weight must be inside (0, 1], got {weight!r}")
    return weight


def _quadrature(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    nodes, mass = np.polynomial.legendre.leggauss(NODES)
    return (low + high) / 2 + (high - low) / 2 * nodes, (high - low) / 2 * mass


def _density(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-(z**2) / 2) / sqrt(2 * np.pi))
