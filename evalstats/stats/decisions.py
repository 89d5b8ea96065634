"""Is this drop real, given that history? Decision rules, each with its own error rates.

A rule looks at one number: how far the candidate's mean lies below the centre of its history. What it may
conclude is printed beside how often it would be wrong. Written by hand: no library has these rules.

References
----------
.. [W47] Wald (1947). Sequential Analysis. Wiley. Three-way decisions with two error rates.
.. [BF] Bonferroni correction over the looks at a candidate: Dunn (1961). Multiple comparisons among means.
   JASA 56:52. doi:10.1080/01621459.1961.10482090
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

from numpy.typing import ArrayLike
from scipy.special import nctdtr, ndtri, stdtr, stdtrit

from evalstats.stats.results import check_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What does a three-verdict gate ask? The margin, and the error rates it promises.

    Parameters
    ----------
    margin : float
        Smallest drop that matters, in the unit of the values.
    alpha : float
        Chance of blocking an unchanged subject, over all looks at it.
    power : float
        Chance of blocking a drop of one margin, where the noise allows it.
    looks : int
        How many runs of the candidate may be made before the answer stays inconclusive.
    level : float
        Confidence with which a drop of one margin must be ruled out to pass.

    Examples
    --------
    >>> round(Rule(margin=0.05).fraction, 3)
    0.662
    """

    margin: float
    alpha: float = 0.05
    power: float = 0.80
    looks: int = 3
    level: float = 0.90

    def __post_init__(self) -> None:
        rates = 0 < self.alpha < 0.5 and 0.5 < self.power < 1 and 0.5 <= self.level < 1
        if not (self.margin > 0 and rates and self.looks >= 1):
            raise ValueError(
                "a rule needs margin > 0, alpha in (0, 0.5), power in (0.5, 1), looks >= 1 and "
                f"level in [0.5, 1), got {self}"
            )

    @property
    def fraction(self) -> float:
        """Return z_alpha / (z_alpha + z_power): below this share of the margin nothing is blocked."""
        return float(ndtri(1 - self.alpha)) / self.multiplier

    @property
    def multiplier(self) -> float:
        """Return z_alpha + z_power: how many standard errors the margin must be."""
        return float(ndtri(1 - self.alpha) + ndtri(self.power))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What does the rule say of one candidate, and how often would it be wrong?

    Parameters
    ----------
    answer : {"block", "pass", "inconclusive"}
        What the rule says.
    drop, std_error : float
        Centre of the history minus mean of the candidate, and its standard error.
    block_above, pass_below : float
        The drop above which the rule blocks, and below which it passes.
    false_block : float
        Chance that this look blocks an unchanged subject, given this standard error.
    power : float
        Chance that this look blocks a drop of one margin.
    detectable : float
        Smallest drop that this look blocks with the promised power.
    n_history, n_candidate : int
        Runs behind the centre and behind the candidate.

    Examples
    --------
    >>> decision = three_verdict([0.20, 0.22, 0.19, 0.21], [0.20], Rule(margin=0.10))
    >>> decision.answer, round(decision.detectable, 3)
    ('pass', 0.08)
    """

    answer: Literal["block", "pass", "inconclusive"]
    drop: float
    std_error: float
    block_above: float
    pass_below: float
    false_block: float
    power: float
    detectable: float
    n_history: int
    n_candidate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How far does the drop of an unchanged subject scatter? What a look's error rates are computed from.

    Parameters
    ----------
    std_error : float
        Standard error of the drop, in the unit of the values.
    df : int
        Degrees of freedom behind it.
    step : float
        How much one trial moves the candidate's value; 0 where values are not counts. Half of it is added to
        the noise, as in any continuity correction: without it, suites of few yes/no trials that hardly ever
        fail block up to 9% of unchanged nights where 5% are declared.

    Examples
    --------
    >>> Noise(std_error=0.02, df=27).step
    0.0
    """

    std_error: float
    df: int
    step: float = 0.0


def three_verdict(
    history: ArrayLike, candidate: ArrayLike, rule: Rule, *, independent: int = 1, step: float = 0.0
) -> Decision:
    """Did the candidate drop by a margin that matters? Block, pass, or say that one cannot tell yet.

    Parameters
    ----------
    history : array of float, shape (n_history,)
        One value a run (a pass rate, a difference or a lift), of accepted runs of the same suite; at least 2.
    candidate : array of float, shape (n_candidate,)
        One value a run of the candidate, in the same unit.
    rule : Rule
        Margin, error rates and number of looks.
    independent : int
        How many of the candidate's runs are independent of one another; reruns within one night share that
        night, and count as one.
    step : float
        How much one trial moves the value of one run; 0 where values are not counts of trials.

    Returns
    -------
    Decision
        With the error rates of this very look, from Student's t with n_history - 1 degrees of freedom.

    Notes
    -----
    Assumes that unchanged runs scatter independently around one centre, roughly normally. Not for a history
    that drifts, nor for one whose runs share their seeds. A history without any scatter has a standard error
    of 0: the caller must refuse it, since a repeated answer is not a measured noise.

    References
    ----------
    [W47]_, [BF]_.

    Examples
    --------
    >>> rule = Rule(margin=0.10)
    >>> three_verdict([0.20, 0.22, 0.19, 0.21, 0.20, 0.18, 0.22, 0.20], [0.02], rule).answer
    'block'
    """
    past, new = check_scores(history), check_scores(candidate)
    if past.size < 2 or new.size < 1:
        raise ValueError(
            f"three_verdict needs 2 runs of history and 1 candidate, got {past.size}, {new.size}"
        )
    if independent < 1:
        raise ValueError(f"independent must be at least 1, got {independent!r}")
    std_error = float(past.std(ddof=1)) * sqrt(1 / min(independent, new.size) + 1 / past.size)
    noise = Noise(std_error=std_error, df=past.size - 1, step=step / new.size)
    found = decide(float(past.mean() - new.mean()), noise, rule)
    return replace(found, n_history=past.size, n_candidate=new.size)


def decide(drop: float, noise: Noise, rule: Rule) -> Decision:
    """Return what `rule` says of a measured drop, whatever its noise was estimated from."""
    block_above = block_threshold(noise, rule)
    pass_below = rule.margin - float(stdtrit(noise.df, rule.level)) * noise.std_error
    return Decision(
        answer="block" if drop > block_above else "pass" if drop < pass_below else "inconclusive",
        drop=drop,
        std_error=noise.std_error,
        block_above=block_above,
        pass_below=pass_below,
        false_block=blocking_probability(0.0, noise, rule),
        power=blocking_probability(rule.margin, noise, rule),
        detectable=detectable_drop(noise, rule),
        n_history=noise.df + 1,
        n_candidate=1,
    )


def block_threshold(noise: Noise, rule: Rule) -> float:
    """Return the drop above which `rule` blocks: a share of the margin, or the noise, whichever is more."""
    beyond_noise = stdtrit(noise.df, 1 - rule.alpha / rule.looks) * noise.std_error + noise.step / 2
    return float(max(rule.fraction * rule.margin, beyond_noise))


def blocking_probability(true_drop: float, noise: Noise, rule: Rule) -> float:
    """Return the chance that one look blocks, when the true drop is `true_drop` (non-central t).

    The standard error is itself estimated with `df` degrees of freedom. Where it decides the threshold, the
    chance is that of a non-central t; where the margin decides, that of the drop alone.
    """
    least = rule.fraction * rule.margin
    if noise.std_error == 0:
        return float(true_drop > max(least, noise.step / 2))
    t_block = stdtrit(noise.df, 1 - rule.alpha / rule.looks)
    if t_block * noise.std_error + noise.step / 2 >= least:
        return float(1 - nctdtr(noise.df, (true_drop - noise.step / 2) / noise.std_error, t_block))
    return float(1 - stdtr(noise.df, (least - true_drop) / noise.std_error))


def detectable_drop(noise: Noise, rule: Rule) -> float:
    """Return the smallest true drop that one look blocks with the promised power."""
    low, high = 0.0, block_threshold(noise, rule)
    while blocking_probability(high, noise, rule) < rule.power and noise.std_error > 0:
        high *= 2
    for _ in range(60):  # bisection: the chance rises with the drop
        middle = (low + high) / 2
        enough = blocking_probability(middle, noise, rule) >= rule.power
        low, high = (low, middle) if enough else (middle, high)
    return float(high)
