"""How much better is one arm, when the two ran different cases? Two means, each with its own error.

Nothing takes the difficulty of the cases out: an easier set of cases looks like a better arm. The interval
joins the bounds of the two arms (square-and-add), so that it is Newcombe's for one yes/no trial a case; the
tests are Welch's.

References
----------
.. [ZD] Zou, Donner (2008). Construction of confidence limits about effect measures: a general approach.
   Stat. Med. 27:1693. doi:10.1002/sim.3095
.. [Welch] Welch (1947). The generalization of Student's problem when several different population variances
   are involved. Biometrika 34:28. doi:10.1093/biomet/34.1-2.28
"""

from __future__ import annotations

from math import hypot, isnan, nan
from typing import NamedTuple

from scipy.special import stdtr

from evalstats.stats.results import Estimate, Test

DIFFERENT_CASES = "the arms ran different cases: an easier set of cases would look the same"


def separate_difference(new: Estimate, old: Estimate) -> Estimate:
    """How much higher is the mean of the first arm, on cases of its own? Square-and-add of both intervals."""
    difference = new.estimate - old.estimate
    return Estimate(
        estimand="difference of mean scores",
        population="SUPER",
        estimate=difference,
        std_error=hypot(new.std_error, old.std_error),
        conf_low=difference - hypot(_below(new), _above(old)),
        conf_high=difference + hypot(_above(new), _below(old)),
        level=new.level,
        n_cases=new.n_cases + old.n_cases,
        n_clusters=None if new.n_clusters is None else new.n_clusters + (old.n_clusters or 0),
        n_trials=new.n_trials + old.n_trials,
        method=f"separate arms, {new.method}",
        caveats=tuple(dict.fromkeys((DIFFERENT_CASES, *new.caveats, *old.caveats))),
    )


def _below(arm: Estimate) -> float:
    """Return how far the lower bound lies below the estimate; a smoothed interval may lie above it."""
    return nan if isnan(arm.conf_low) else max(arm.estimate - arm.conf_low, 0.0)


def _above(arm: Estimate) -> float:
    return nan if isnan(arm.conf_high) else max(arm.conf_high - arm.estimate, 0.0)


class Welch(NamedTuple):
    """A difference of two means with its standard error and Satterthwaite's degrees of freedom."""

    difference: float
    std_error: float
    df: float
    caveats: tuple[str, ...]

    @classmethod
    def of(cls, new: Estimate, old: Estimate) -> Welch:
        """Join two means by `case_mean`: their standard errors, and one degree less than units."""
        parts = [arm.std_error**2 for arm in (new, old)]
        units = [arm.n_cases if arm.n_clusters is None else arm.n_clusters for arm in (new, old)]
        below = sum(part**2 / max(n - 1, 1) for part, n in zip(parts, units, strict=True))
        df = sum(parts) ** 2 / below if below > 0 else nan
        caveats = tuple(dict.fromkeys((DIFFERENT_CASES, *new.caveats, *old.caveats)))
        return cls(new.estimate - old.estimate, hypot(new.std_error, old.std_error), df, caveats)

    def tests(self, margin: float | None) -> dict[str, Test]:
        """Return the test of no difference and, with a margin, those of equivalence and non-inferiority."""
        t = self._t(0.0)
        found = {"difference": self._test("the means are equal", "two-sided", t, 2 * self._tail(abs(t)))}
        if margin is not None:
            low, high = self._t(-margin), -self._t(margin)
            worse = f"the first arm scores {margin:g} below the second, or less"
            apart, nearer = f"the means differ by {margin:g} or more", min(low, high)
            found["equivalence"] = self._test(apart, "two-sided", nearer, self._tail(nearer), "TOST, ")
            found["non-inferiority"] = self._test(worse, "greater", low, self._tail(low))
        return found

    def _t(self, bound: float) -> float:
        return (self.difference - bound) / self.std_error if self.std_error > 0 else nan

    def _tail(self, t: float) -> float:
        return float(stdtr(self.df, -t))

    def _test(self, null: str, alternative: str, t: float, p_value: float, kind: str = "") -> Test:
        return Test(
            null=null,
            alternative="greater" if alternative == "greater" else "two-sided",
            statistic=t,
            p_value=p_value,
            method=f"{kind}Welch",
            caveats=self.caveats,
        )
