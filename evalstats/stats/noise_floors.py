"""Which difference may be the judge alone? Noise floors of a difference and of lift, and the bias of flips.

A difference below the floor may be the judge changing its mind about the same transcripts (population FIXED);
trial noise comes on top. All start from `judge_noise`.

Written by hand: a quantile and the delta method.

References
----------
.. [Brennan] Brennan (2001). Generalizability Theory, chapter 2. Springer. doi:10.1007/978-1-4757-3456-0
.. [RG] Rogan, Gladen (1978). Estimating prevalence from the results of a screening test. Am. J. Epidemiol.
   107:71. doi:10.1093/oxfordjournals.aje.a112510
"""

from dataclasses import replace
from math import hypot, isnan, nan, sqrt

from evalstats.stats.results import ROUNDING, Estimate, check_at_least, check_level, normal_quantile, rescaled


def difference_floor(noise: Estimate, *, judgements: int, content: float = 0.95) -> Estimate:
    """Which difference of two runs may be the judge alone? The noise floor.

    Parameters
    ----------
    noise : Estimate
        From `judge_noise`.
    judgements : int
        Judgements behind each run's mean: cases x trials x repeats, as *deployed*.
    content : float
        Share of differences by judge noise alone that stay below the floor.

    Returns
    -------
    Estimate
        In the unit of the score (population FIXED); its interval is that of the noise, scaled.

    Notes
    -----
    Assumes judgements independent between transcripts. It holds the transcripts fixed: trial noise comes on
    top, and is usually larger.

    References
    ----------
    [Brennan]_.

    Examples
    --------
    >>> from evalstats.stats.judges import judge_noise
    >>> noise = judge_noise([1, 0, 1, 1, 0, 0, 1, 1], transcripts=list("aabbccdd"))
    >>> round(difference_floor(noise, judgements=150).estimate, 4)
    0.08
    """
    check_at_least("judgements", judgements)
    factor = normal_quantile(check_level(content, "content")) * sqrt(2 / judgements)
    return rescaled(
        noise, factor, estimand="judge noise floor of a difference", method=f"{content:g} noise floor"
    )


def lift_floor(
    noise: Estimate, *, fail_with: float, fail_base: float, judgements: int, content: float = 0.95
) -> Estimate:
    """Which difference of two lifts may be the judge alone? The noise floor, when both arms are judged again.

    Parameters
    ----------
    noise : Estimate
        From `judge_noise`.
    fail_with, fail_base : float
        Mean failure rate with and without the skill, in [0, 1].
    judgements : int
        Judgements behind each arm's mean in each run: cases x trials x repeats, as *deployed*.
    content : float
        Share of differences by judge noise alone that stay below the floor.

    Returns
    -------
    Estimate
        In units of lift (population FIXED); NaN when the base never fails.

    Notes
    -----
    Assumes a base failure rate well away from 0 (delta method). Judges that err often also *bias* lift
    towards 0: see `flipped_lift`.

    References
    ----------
    [Brennan]_.

    Examples
    --------
    >>> from evalstats.stats.judges import judge_noise
    >>> noise = judge_noise([1, 0, 1, 1, 0, 0, 1, 1], transcripts=list("aabbccdd"))
    >>> round(lift_floor(noise, fail_with=0.3, fail_base=0.4, judgements=150).estimate, 4)
    0.25
    """
    _check_shares(fail_with, fail_base)
    floor = difference_floor(noise, judgements=judgements, content=content)
    factor = hypot(1, fail_with / fail_base) / fail_base if fail_base > 0 else nan
    if isnan(factor):  # say so before the record would refuse a NaN without a reason
        floor = replace(
            floor, caveats=(*floor.caveats, "the base never fails: no headroom, lift is undefined")
        )
    return rescaled(floor, factor, estimand="judge noise floor of lift")


def flipped_lift(fail_with: float, fail_base: float, *, flips: float) -> float:
    """Which lift does a judge report that flips so many verdicts at random? Closer to 0 than the true one.

    Parameters
    ----------
    fail_with, fail_base : float
        True failure rates with and without the skill, in [0, 1].
    flips : float
        Probability that a verdict is flipped, either way, in [0, 0.5].

    Returns
    -------
    float
        1 - F_with / F_base of the flipped verdicts; NaN when those of the base never fail.

    Notes
    -----
    Assumes the same flip rate in both arms and both directions. For unequal rates correct each arm with
    `rogan_gladen`.

    References
    ----------
    [RG]_.

    Examples
    --------
    >>> round(flipped_lift(0.3324, 0.4, flips=0.1), 3)  # true lift 0.169
    0.129
    """
    _check_shares(fail_with, fail_base)
    _check_shares(flips, most=0.5)
    seen_with, seen_base = (fail * (1 - flips) + (1 - fail) * flips for fail in (fail_with, fail_base))
    return 1 - seen_with / seen_base if seen_base > 0 else nan


def _check_shares(*shares: float, most: float = 1.0) -> None:
    """Name the first rate that is outside [0, most]."""
    outside = [share for share in shares if not -ROUNDING <= share <= most + ROUNDING]
    if outside:
        raise ValueError(f"rates must be inside [0, {most:g}], got {outside[0]!r}")
