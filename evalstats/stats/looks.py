"""How often does a rule block, pass or stay open, look after look? Many suites at once, as arrays.

The rule is that of `evalstats.stats.decisions`; here it is asked of thousands of simulated suites, whose runs
come from wherever the caller says. Written by hand: no library has the rule.

References
----------
.. [W47] Wald (1947). Sequential Analysis, chapter 2: the operating characteristic function. Wiley.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from evalstats.stats.decisions import Rule
from evalstats.stats.results import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was each suite told in the end, and after how many runs of the candidate? Arrays of shape (reps,)."""

    block: BoolArray
    passed: BoolArray
    looks: IntArray

    @property
    def inconclusive(self) -> BoolArray:
        """Return which suites got no answer from all the looks allowed."""
        return ~(self.block | self.passed)

    def shares(self) -> tuple[float, float, float]:
        """Return how often the rule blocked, passed and stayed open; they sum to 1."""
        return float(self.block.mean()), float(self.passed.mean()), float(self.inconclusive.mean())


def answers(past: FloatArray, new: FloatArray, rule: Rule, *, step: float = 0.0) -> Answers:
    """Return what `three_verdict` says of each suite, another run of the candidate being made while it is open.

    `past` has shape (reps, n_history), `new` (reps, looks); all runs are independent, and `step` is what one
    trial moves a run by. A suite whose history does not vary gets no answer, as the gate refuses it.
    """
    seen = np.arange(1, rule.looks + 1)[:, None]
    n = past.shape[1]
    drops = past.mean(axis=1) - np.cumsum(new[:, : rule.looks], axis=1).T / seen
    spread = past.std(axis=1, ddof=1)
    errors = spread * np.sqrt(1 / seen + 1 / n)
    return answers_to(drops, np.where(spread > 0, errors, np.inf), n - 1, rule, step=step)


def answers_to(drops: FloatArray, errors: FloatArray, df: int, rule: Rule, *, step: float = 0.0) -> Answers:
    """Return the answers to drops and standard errors of shape (looks, reps), as `decide` gives them."""
    seen = np.arange(1, len(drops) + 1)[:, None]
    noise = stdtrit(df, 1 - rule.alpha / rule.looks) * errors + step / seen / 2
    block = drops > np.maximum(rule.fraction * rule.margin, noise)
    passed = ~block & (drops < rule.margin - stdtrit(df, rule.level) * errors)
    decided = block | passed
    last = np.where(decided.any(axis=0), decided.argmax(axis=0), len(drops) - 1)
    at_last = last, np.arange(drops.shape[1])
    return Answers(block=block[at_last], passed=passed[at_last], looks=last + 1)
