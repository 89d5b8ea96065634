"""How high is the pass rate, when so many of so many independent trials passed? One file of intervals.

Trials must be *independent*: one trial a case, or many reruns of one case. Pooled trials of several cases are
not: nominal 80% then covers about 60% at 3 trials a case. For those see `evalstats.stats.repeated_trials`.

The intervals are written by hand, in closed form on `scipy.special`: `statsmodels` offers most of them, but
costs a second to import and returns bare tuples.

References
----------
.. [Wilson] Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA 22:209.
   doi:10.1080/01621459.1927.10502953
.. [CP] Clopper, Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
   binomial. Biometrika 26:404. doi:10.1093/biomet/26.4.404
.. [BCD] Brown, Cai, DasGupta (2001). Interval estimation for a binomial proportion. Stat. Sci. 16:101.
   doi:10.1214/ss/1009213286
.. [N98a] Newcombe (1998). Two-sided confidence intervals for the single proportion. Stat. Med. 17:857.
   doi:10.1002/(SICI)1097-0258(19980430)17:8%3C857::AID-SIM777%3E3.0.CO;2-E
.. [N98b] Newcombe (1998). Interval estimation for the difference between independent proportions.
   Stat. Med. 17:873. doi:10.1002/(SICI)1097-0258(19980430)17:8%3C873::AID-SIM779%3E3.0.CO;2-I
"""

from math import hypot, isnan, nan, sqrt

from scipy.special import betaincinv

from evalstats.stats.results import Estimate, Population, check_count, check_level, normal_quantile


def wilson(successes: int, trials: int, *, level: float = 0.95, population: Population = "SUPER") -> Estimate:
    """Which pass rates agree with these counts? Wilson's interval, the default for one trial a case.

    Parameters
    ----------
    successes, trials : int
        Passed trials, and all usable trials.
    level : float
        Confidence level.
    population : {"SUPER", "FIXED"}
        SUPER when each trial is another case, FIXED when all are reruns of one case.

    Returns
    -------
    Estimate
        Of the pass rate, a proportion in [0, 1]. `std_error` is the binomial one, NaN when all trials agree.

    Notes
    -----
    Assumes independent trials of one pass rate. Covers the level on average over pass rates, a little less
    near 0 and 1. When a guarantee for every pass rate is asked, use `clopper_pearson`.

    References
    ----------
    [Wilson]_, [N98a]_ (method 3).

    Examples
    --------
    >>> print(wilson(81, 263))
    pass rate 0.308 [0.2553, 0.3662] at level 0.95 (Wilson, SUPER, 263 cases, 263 trials)
    """
    counts = check_count(successes, trials)
    bounds, std_error = wilson_bounds(*counts, normal_quantile(level)), _binomial_se(*counts)
    return _pass_rate(counts, bounds, std_error, method="Wilson", level=level, population=population)


def clopper_pearson(
    successes: int, trials: int, *, level: float = 0.95, population: Population = "SUPER"
) -> Estimate:
    """Which pass rates can no exact test rule out? Clopper-Pearson: a guarantee, at the price of width.

    Parameters
    ----------
    successes, trials : int
        Passed trials, and all usable trials.
    level : float
        Confidence level; coverage is never below it.
    population : {"SUPER", "FIXED"}
        SUPER when each trial is another case, FIXED when all are reruns of one case.

    Returns
    -------
    Estimate
        Of the pass rate, a proportion in [0, 1]. `std_error` is the binomial one, NaN when all trials agree.

    Notes
    -----
    Assumes independent trials of one pass rate. Wider than needed on average: for a headline use `wilson`.

    References
    ----------
    [CP]_, [N98a]_ (method 5).

    Examples
    --------
    >>> print(clopper_pearson(0, 20))  # doctest: +ELLIPSIS
    pass rate 0 [0, 0.1684] at level 0.95 (Clopper-Pearson, SUPER, 20 cases, 20 trials); ...
    """
    counts = check_count(successes, trials)
    tail, failures = (1 - check_level(level)) / 2, trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    std_error = _binomial_se(*counts)
    return _pass_rate(
        counts, (low, high), std_error, method="Clopper-Pearson", level=level, population=population
    )


def jeffreys(
    successes: int, trials: int, *, level: float = 0.95, population: Population = "SUPER"
) -> Estimate:
    """Which pass rates are plausible to one who knew nothing before? The Jeffreys posterior interval.

    Parameters
    ----------
    successes, trials : int
        Passed trials, and all usable trials.
    level : float
        Posterior probability of the interval.
    population : {"SUPER", "FIXED"}
        SUPER when each trial is another case, FIXED when all are reruns of one case.

    Returns
    -------
    Estimate
        Of the pass rate, a proportion in [0, 1]. `std_error` is the posterior standard deviation; a bound is
        put on the edge when no trial passed or none failed, as the source advises.

    Notes
    -----
    Assumes independent trials of one pass rate. To count past runs as a prior, use `beta_posterior`.

    References
    ----------
    [BCD]_, section 4.3.

    Examples
    --------
    >>> print(jeffreys(18, 20))
    pass rate 0.9 [0.7161, 0.9786] at level 0.95 (Jeffreys, SUPER, 20 cases, 20 trials)
    """
    counts = check_count(successes, trials)
    a, b = successes + 0.5, trials - successes + 0.5
    low, high = _beta_bounds(a, b, level)
    bounds = (low if successes else 0.0, high if successes < trials else 1.0)
    return _pass_rate(counts, bounds, _beta_sd(a, b), method="Jeffreys", level=level, population=population)


def beta_posterior(
    successes: int,
    trials: int,
    *,
    prior: tuple[float, float] = (1.0, 1.0),
    level: float = 0.95,
    population: Population = "SUPER",
) -> Estimate:
    """Which pass rates are plausible, given these counts and a stated prior? The Beta posterior interval.

    Parameters
    ----------
    successes, trials : int
        Passed trials, and all usable trials.
    prior : tuple of two positive floats
        Parameters of the Beta prior, in pseudo-trials (passed, failed); (1, 1) is uniform.
    level : float
        Posterior probability of the equal-tailed interval.
    population : {"SUPER", "FIXED"}
        SUPER when each trial is another case, FIXED when all are reruns of one case.

    Returns
    -------
    Estimate
        Of the pass rate; `estimate` is the share that passed, `std_error` the posterior standard deviation.

    Notes
    -----
    Assumes independent trials of one pass rate. Never use a strong prior without showing (1, 1) beside it.

    References
    ----------
    [BCD]_, section 3.1.

    Examples
    --------
    >>> print(beta_posterior(18, 20))
    pass rate 0.9 [0.6962, 0.9695] at level 0.95 (Beta(1, 1) posterior, SUPER, 20 cases, 20 trials)
    """
    if not all(part > 0 for part in prior):
        raise ValueError(f"prior must be two positive numbers, got {prior!r}")
    counts = check_count(successes, trials)
    a, b = successes + prior[0], trials - successes + prior[1]
    method = f"Beta({prior[0]:g}, {prior[1]:g}) posterior"
    bounds = _beta_bounds(a, b, level)
    return _pass_rate(counts, bounds, _beta_sd(a, b), method=method, level=level, population=population)


def newcombe(
    candidate: tuple[int, int],
    baseline: tuple[int, int],
    *,
    level: float = 0.95,
    population: Population = "SUPER",
) -> Estimate:
    """How much higher is the pass rate, when the two arms ran different cases? Newcombe's interval.

    Parameters
    ----------
    candidate, baseline : tuple of two ints
        (successes, trials) of each arm.
    level : float
        Confidence level.
    population : {"SUPER", "FIXED"}
        SUPER when each trial is another case, FIXED when all are reruns of one case.

    Returns
    -------
    Estimate
        Of the difference candidate - baseline, in [-1, 1].

    Notes
    -----
    Assumes independent trials and arms. For arms that ran the same cases use `paired_difference`.

    References
    ----------
    [N98b]_ (method 10, the square-and-add Wilson interval).

    Examples
    --------
    >>> print(newcombe((56, 70), (48, 80)))
    difference of pass rates 0.2 [0.05243, 0.3339] at level 0.95 (Newcombe, SUPER, 150 cases, 150 trials)
    """
    new, old = (wilson(*arm, level=level, population=population) for arm in (candidate, baseline))
    difference = new.estimate - old.estimate
    return Estimate(
        estimand="difference of pass rates",
        population=population,
        estimate=difference,
        std_error=hypot(new.std_error, old.std_error),
        conf_low=difference - hypot(new.estimate - new.conf_low, old.conf_high - old.estimate),
        conf_high=difference + hypot(new.conf_high - new.estimate, old.estimate - old.conf_low),
        level=level,
        n_cases=new.n_cases + old.n_cases,
        n_trials=new.n_trials + old.n_trials,
        method="Newcombe",
        caveats=tuple(dict.fromkeys(new.caveats + old.caveats)),
    )


def wilson_bounds(successes: float, trials: float, quantile: float) -> tuple[float, float]:
    """Return the two roots of Wilson's quadratic; `trials` may be an effective number, hence a float."""
    if not trials:
        return nan, nan
    p, q2 = successes / trials, quantile**2 / trials
    centre, half = p + q2 / 2, sqrt(q2 * (p * (1 - p) + q2 / 4))
    # At the ends the root is exactly 0 or 1; floating point would leave 1e-18 of either sign.
    return (
        (centre - half) / (1 + q2) if successes > 0 else 0.0,
        (centre + half) / (1 + q2) if successes < trials else 1.0,
    )


def _beta_bounds(a: float, b: float, level: float) -> tuple[float, float]:
    tail = (1 - check_level(level)) / 2
    return float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail))


def _beta_sd(a: float, b: float) -> float:
    return sqrt(a * b / (a + b + 1)) / (a + b)


def _binomial_se(successes: int, trials: int) -> float:
    """Return the binomial standard error, NaN where its estimate would be a false 0."""
    return sqrt(successes * (trials - successes) / trials) / trials if 0 < successes < trials else nan


def _pass_rate(
    counts: tuple[int, int],
    bounds: tuple[float, float],
    std_error: float,
    *,
    method: str,
    level: float,
    population: Population,
) -> Estimate:
    successes, trials = counts
    agree = ("all trials agree: the binomial standard error is not estimable",)
    return Estimate(
        estimand="pass rate",
        population=population,
        estimate=successes / trials if trials else nan,
        std_error=std_error if trials else nan,
        conf_low=bounds[0] if trials else nan,
        conf_high=bounds[1] if trials else nan,
        level=level,
        n_cases=trials,
        n_trials=trials,
        method=method,
        caveats=(("no trials",) if not trials else agree if isnan(std_error) else ()),
    )
