"""Operating characteristic: how often would the rule block, pass or stay open, at each true drop?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean
from typing import Any

from evalstats.contract import GateRule, GateStatistic
from evalstats.errors import UsageError
from evalstats.gate.case_rules import counts
from evalstats.gate.checks import Look
from evalstats.gate.curves import Components, World
from evalstats.gate.policies import policy_of
from evalstats.gate.rules import RULES
from evalstats.gate.series import spread
from evalstats.gate.series_rules import legacy_values
from evalstats.gate.verdict import Asked, look_of, with_rule

REPS = 4_000
IN_MARGINS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
MAX_DRAWS = 50_000_000  # runs: above this the memory of a small machine ends


@dataclass(frozen=True, slots=True)
class AtDrop:
    """What the rule answers when the suite truly dropped by so much."""

    drop: float
    block: float
    passed: float
    inconclusive: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The operating characteristic of one rule, with the noise and the seed it was simulated from."""

    suite: str
    rule: GateRule
    margin: float
    alpha: float
    seed: int
    reps: int
    components: Components
    curve: tuple[AtDrop, ...]

    def as_record(self) -> dict[str, Any]:
        """Return the simulation as plain data; the counts of single cases stay out."""
        record = {**asdict(self), "rule": str(self.rule)}
        record["components"].pop("counts")
        return record


def components(report: dict[str, Any], policy: dict[str, Any], rule: GateRule | None = None) -> Components:
    """Return what the noise of a suite is made of, from the accepted runs of a report.

    The newest run is left out, as it may be the one that changed. Raises UsageError when fewer than 2 units are
    known, or they do not vary.
    """
    look = look_of(report, policy, Asked(rule=rule))
    if look is None:
        raise UsageError("the report has no run that the policy follows; build it again, or give --sigma")
    kind = rule or GateRule(policy["rule"])
    values = legacy_values(look) if kind is GateRule.LEGACY else look.before
    scatter = spread(values)
    if scatter is None:
        what = "does not vary" if len(values) > 1 else f"holds {len(values)} accepted run(s), 2 are needed"
        raise UsageError(f"the history {what}: its noise is unknown; give --sigma")
    trial = None if kind is GateRule.LEGACY else _trial_sd(look)
    return Components(
        centre=fmean(values),
        run_sd=scatter,
        trial_sd=trial,
        night_sd=None if trial is None else sqrt(max(scatter**2 - trial**2, 0.0)),
        nights=len(values),
        cases=len(look.cases),
        step=0.0 if kind is GateRule.LEGACY else look.step,
        counts=counts(look.past, look),
        trials=_trials(look),
    )


def _trials(look: Look) -> int:
    """Return the trials of a case in the last run."""
    told = counts(look.candidate, look)
    return max((usable for _, usable in told.values()), default=1)


def _trial_sd(look: Look) -> float | None:
    """Return what trials alone bring to the statistic of a run; None where a run was never repeated inside."""
    variances = []
    for point in look.past:
        within = [row.get("within_variance") for row in point.rows.values()]
        if None in within:
            return None
        variances.append(sum(value for value in within if value is not None))
    unit = look.candidate[0].headroom if look.policy.statistic is GateStatistic.LIFT else 1.0
    return sqrt(fmean(variances)) / unit if variances and unit > 0 else None


def simulate(
    noise: Components,
    policy: dict[str, Any],
    *,
    seed: int,
    rule: GateRule | None = None,
    reps: int = REPS,
    drops: Sequence[float] | None = None,
) -> Simulation:
    """Return how often a rule answers what, at each true drop, for a suite of this noise.

    Parameters
    ----------
    noise : Components
        From `components`, or declared.
    policy : dict
        A document of schema ``policy.v1``.
    seed : int
        Of the simulated suites; recorded in the result.
    rule : GateRule, optional
        Another rule than that of the policy.
    reps : int
        Suites drawn.
    drops : sequence of float, optional
        True drops; by default from none to four margins.
    """
    import numpy as np

    known = with_rule(policy_of(policy), Asked(rule=rule))
    if not 0 < reps * (noise.nights + known.reruns) <= MAX_DRAWS:
        fit = MAX_DRAWS // (noise.nights + known.reruns)
        raise UsageError(f"at most {fit} suites fit, each of {noise.nights} runs", field="--reps")
    at = [known.margin * times for times in IN_MARGINS] if drops is None else list(drops)
    shares = RULES[known.rule].curve(
        World(noise=noise, policy=known, reps=reps), at, np.random.default_rng(seed)
    )
    return Simulation(
        suite=known.suite,
        rule=known.rule,
        margin=known.margin,
        alpha=known.alpha,
        seed=seed,
        reps=reps,
        components=noise,
        curve=tuple(AtDrop(drop, *share) for drop, share in zip(at, shares, strict=True)),
    )
