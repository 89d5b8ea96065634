"""How often would a rule block, pass or stay open, if the suite truly dropped by so much? From its own noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, sqrt
from typing import TYPE_CHECKING, TypeAlias

from evalstats.errors import UsageError
from evalstats.gate import case_rules
from evalstats.gate.policies import LEGACY_MARGIN, Policy
from evalstats.gate.series_rules import FEWEST_CASES, NO_MARGIN

if TYPE_CHECKING:
    import numpy as np

Shares: TypeAlias = tuple[float, float, float]  # how often the rule blocks, passes, stays open


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """What a suite's noise is made of, in the unit of its statistic.

    Parameters
    ----------
    centre : float or None
        Mean of the unchanged suite; None where only its noise is declared.
    run_sd : float
        Standard deviation of a run, whatever it comes from.
    night_sd : float or None
        The part of it that nights bring beyond the trials; None when it cannot be told from them.
    trial_sd : float or None
        The part that trials bring, as their own variance within cases says.
    nights : int
        Independent units of history.
    cases : int
        Cases of the suite.
    step : float
        What one trial moves the value of a run by.
    counts : mapping
        Passed and usable trials of each case over the history.
    trials : int
        Trials of each case in one run.
    """

    centre: float | None
    run_sd: float
    night_sd: float | None = None
    trial_sd: float | None = None
    nights: int
    cases: int = 0
    step: float = 0.0
    counts: case_rules.Counts = field(default_factory=dict)
    trials: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A suite to be simulated: its noise, the policy that judges it, and how many suites are drawn."""

    noise: Components
    policy: Policy
    reps: int


Curve: TypeAlias = "Callable[[World, Sequence[float], np.random.Generator], list[Shares]]"


def three_verdict(world: World, drops: Sequence[float], rng: np.random.Generator) -> list[Shares]:
    """Return the shares of the three-verdict rule, over all the looks it allows, on nights of their own."""
    from evalstats.stats.looks import answers

    rule, noise = world.policy.three_verdict(), world.noise
    past, new = _nights(world, rule.looks, rng)
    return [answers(past, new - drop, rule, step=noise.step).shares() for drop in drops]


def legacy(world: World, drops: Sequence[float], rng: np.random.Generator) -> list[Shares]:
    """Return the shares of the prescribed rule; its noise is that of the lift of medians."""
    import numpy as np

    past, new = _nights(world, 1, rng)
    centre = np.median(past, axis=1)
    return [_two_way(centre - new[:, 0] + drop > LEGACY_MARGIN) for drop in drops]


def non_inferiority(world: World, drops: Sequence[float], rng: np.random.Generator) -> list[Shares]:
    """Return the shares of non-inferiority, one look: the wider of the noise of cases and that of nights."""
    import numpy as np

    from evalstats.stats.looks import answers_to

    noise, n = world.noise, world.noise.cases
    if n < FEWEST_CASES:
        raise _untold("how many cases there are")
    rule = replace(world.policy.three_verdict(), level=1 - world.policy.shared_alpha())
    past, new = _nights(world, rule.looks, rng)
    wide = np.sqrt(1 / np.arange(1, rule.looks + 1)[:, None] + 1 / noise.nights)
    spread = sqrt(noise.run_sd**2 - (noise.night_sd or 0.0) ** 2) * np.sqrt(
        rng.chisquare(n - 1, len(past)) / (n - 1)
    )
    errors = np.maximum(spread, past.std(axis=1, ddof=1)) * wide
    drop = past.mean(axis=1) - np.cumsum(new, axis=1).T / np.arange(1, rule.looks + 1)[:, None]
    df = noise.nights - 1
    return [answers_to(drop + by, errors, df, rule, step=noise.step).shares() for by in drops]


def absolute(world: World, drops: Sequence[float], rng: np.random.Generator) -> list[Shares]:
    """Return the shares of the threshold rule; drops are from the centre of the history."""
    import numpy as np

    from evalstats.stats.looks import answers_to

    rule, noise, threshold = world.policy.three_verdict(NO_MARGIN), world.noise, world.policy.threshold
    if noise.centre is None or threshold is None:
        raise _untold("where the suite lies")
    past, new = _nights(world, rule.looks, rng)
    seen = np.arange(1, rule.looks + 1)[:, None]
    errors = past.std(axis=1, ddof=1) / np.sqrt(seen)
    short = threshold - noise.centre - np.cumsum(new, axis=1).T / seen
    return [answers_to(short + by, errors, noise.nights - 1, rule, step=noise.step).shares() for by in drops]


def per_case(world: World, drops: Sequence[float], rng: np.random.Generator) -> list[Shares]:
    """Return the shares of k of n, exactly: every case drops by so much."""
    asked, seen = world.policy.per_case, world.noise
    if asked is None:
        return []
    trials = max(seen.trials, asked.n)
    cases = asked.cases if asked.cases is not None else tuple(seen.counts)
    return _exactly(world, {case: (ceil(asked.k * trials / asked.n), trials) for case in cases}, drops)


def critical(world: World, drops: Sequence[float], rng: np.random.Generator) -> list[Shares]:
    """Return the shares of the canaries, exactly: every one of them drops by so much."""
    trials = world.noise.trials
    return _exactly(world, {case: (trials, trials) for case in world.policy.critical_cases}, drops)


def minimum_delta(world: World, drops: Sequence[float], rng: np.random.Generator) -> list[Shares]:
    """Return the shares of the minimum, one run: drops are from the centre of the history."""
    _, new = _nights(world, 1, rng)
    centre, least = world.noise.centre, world.policy.minimum_delta
    if centre is None or least is None:
        raise _untold("where the suite lies")
    return [_two_way(centre + new[:, 0] - drop < least) for drop in drops]


def _nights(world: World, looks: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the runs of unchanged suites about 0: history (reps, nights) and candidate (reps, looks)."""
    drawn = rng.normal(0.0, world.noise.run_sd, (world.reps, world.noise.nights + looks))
    return drawn[:, : world.noise.nights], drawn[:, world.noise.nights :]


def _two_way(blocks: np.ndarray) -> Shares:
    share = float(blocks.mean())
    return share, 1 - share, 0.0


def _exactly(world: World, required: case_rules.Counts, drops: Sequence[float]) -> list[Shares]:
    if not world.noise.counts:
        raise _untold("how often each case passed")
    calm, chance = case_rules.chances(world.noise.counts, required)
    blocks = [calm if drop == 0 else chance(drop) for drop in drops]
    return [(share, 1 - share, 0.0) for share in blocks]


def _untold(what: str) -> UsageError:
    return UsageError(
        f"the rule asks {what}, and nothing given tells; give a report whose runs do", field="--rule"
    )
