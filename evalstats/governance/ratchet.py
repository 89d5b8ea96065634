"""May this suite block? A readiness report: the noise of its runs, its canaries, and all that stands against it.

Two ways lead to READY. A suite with luck in it must be so steady that a drop of the margin would be seen even if
its spread is at the upper bound. A gate on canaries, which never fail, must show enough clean runs that a flake
is rarer than the policy's alpha: a bound, not an estimate. Both ways ask for distinct days, for runs that do not
drift, and for costs within the policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from evalstats.governance.ratchet_evidence import Canaries, Past, Stationarity, known, stationarity, units
from evalstats.stats.decisions import Rule
from evalstats.stats.readiness import (
    MIN_DAYS,
    MIN_RUNS,
    MOST_RUNS,
    Evidence,
    blocking_curve,
    gate_readiness,
)

if TYPE_CHECKING:
    import numpy as np

NOT_READY, READY, REVOKED = "NOT_READY", "READY", "REVOKED"
ADVISORY, BLOCKING = "advisory", "blocking"
SHARES_OF_MARGIN = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
NAMED = 3  # cases named in one sentence
CAVEAT = "the error rates hold given the bound on sigma, not given READY: the fewer the runs, the more luck is in READY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the policy asks of a suite that is to block, and where the suite stands.

    ``unit`` is what counts as independent, run or night; ``reruns`` how many independent runs of a candidate the
    gate looks at before it decides. ``by_canaries``: the gate looks at canaries only.
    ``objections`` are what else stands against blocking, found elsewhere. ``standing`` is ``blocking`` when the
    suite is ratcheted; ``was_revoked`` when it was and no longer is.
    """

    suite: str
    rule: Rule
    statistic: str
    minimum: int
    unit: str = "run"
    reruns: int = 1
    limits: Mapping[str, float | None] = field(default_factory=dict)
    error_budget: float | None = None
    by_canaries: bool = False
    objections: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    standing: str = ADVISORY
    was_revoked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The spread of a unit and what a gate would see with it, in the unit of the statistic; None is unknown."""

    n_units: int
    reruns: int
    spread: float | None
    spread_bound: float | None
    level: float
    largest_ready: float | None
    detectable: float | None
    block_above: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """May this suite block (schema ``ratchet-readiness.v1``)? ``more_runs``: None when no number is enough."""

    asked: Asked
    state: str
    reasons: tuple[str, ...]
    more_runs: int | None
    more_days: int
    past: Past
    noise: Noise
    curve: tuple[dict[str, float], ...]
    stationarity: Stationarity
    canaries: Canaries | None
    notes: tuple[str, ...]

    def as_record(self) -> dict[str, Any]:
        """Return the report as plain data."""
        asked, canaries = self.asked, self.canaries
        return {
            "schema": "ratchet-readiness.v1",
            "suite": asked.suite,
            "state": self.state,
            "standing": asked.standing,
            "way": "canaries" if asked.by_canaries else "noise",
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "more_runs": self.more_runs,
            "more_days": self.more_days,
            "statistic": asked.statistic,
            "margin": asked.rule.margin,
            "alpha": asked.rule.alpha,
            "power": asked.rule.power,
            "noise": asdict(self.noise),
            "curve": [dict(at) for at in self.curve],
            "stationarity": asdict(self.stationarity),
            "canaries": canaries and canaries.as_record(asked.rule.alpha),
            "limits": dict(asked.limits),
            "identity": dict(self.past.identity),
            "runs": [
                {"group_id": r.group_id, "started_at": r.started_at, "value": float(r.value)}
                for r in self.past.runs
            ],
            "left_out": list(self.past.left_out),
        }


def readiness(past: Past, asked: Asked, canaries: Canaries | None, *, rng: np.random.Generator) -> Readiness:
    """May this suite block, and if not, what is missing and how many more runs would it take?

    Parameters
    ----------
    past : Past
        The accepted runs.
    asked : Asked
        What the policy asks.
    canaries : Canaries or None
        What the cases that may never fail have shown; None where there are none.
    rng : numpy.random.Generator
        For the limits of the control charts.

    Returns
    -------
    Readiness
        READY, NOT_READY, or REVOKED: it was ratcheted, and an alarm is confirmed, a canary failed or the noise
        grew beyond the margin by a tenth; or it was revoked before and is not READY again.
    """
    values = units(past.runs)
    settled = stationarity(past.watched, asked.statistic, rng=rng)
    against = (*asked.objections, *settled.objections(), *_limits(past, asked))
    noise, state, reasons, more = _by_noise(values, asked, settled, (*against, *_failed(canaries)))
    days = len({day for day, _ in values})
    if asked.by_canaries:
        state, reasons, more = _by_canaries(canaries, asked, settled, against)
        days = 0 if canaries is None else canaries.n_days
    return Readiness(
        asked=asked,
        state=REVOKED if asked.was_revoked and state != READY else state,
        reasons=reasons,
        more_runs=more,
        more_days=max(MIN_DAYS - days, 0),
        past=past,
        noise=noise,
        curve=() if asked.by_canaries else _curve(noise, asked.rule),
        stationarity=settled,
        canaries=canaries,
        notes=(*asked.notes, *(() if asked.by_canaries else (CAVEAT,)), *settled.notes()),
    )


def _by_noise(
    values: Sequence[tuple[str, float]], asked: Asked, settled: Stationarity, against: Sequence[str]
) -> tuple[Noise, str, tuple[str, ...], int | None]:
    """Return the noise, and the state, reasons and further runs of a gate that follows a noisy number."""
    n, alarmed = len(values), settled.confirmed_alarm is not None
    few = asked.minimum > MIN_RUNS and n < asked.minimum
    short = (f"{n} of the {asked.minimum} {asked.unit}s that the policy asks for",) * few
    evidence = Evidence(
        history=[value for _, value in values],
        days=[day for day, _ in values],
        reruns=asked.reruns,
        confirmed_alarm=alarmed,
        objections=(*short, *against),
        # A history that began anew is no evidence of noise: too few runs are not a reason to revoke.
        was_ready=asked.standing == BLOCKING and (n >= MIN_RUNS or alarmed),
    )
    found = gate_readiness(evidence, asked.rule, level=asked.rule.level)
    noise = Noise(
        n_units=n,
        reruns=asked.reruns,
        spread=known(found.spread),
        spread_bound=known(found.spread_bound),
        level=asked.rule.level,
        largest_ready=known(found.largest_spread),
        detectable=known(found.detectable),
        block_above=found.block_above,
    )
    return noise, found.state, found.reasons, _more(found.more_runs, n, asked.minimum)


# --- what stands against it ------------------------------------------------------------------------


def _by_canaries(
    canaries: Canaries | None, asked: Asked, settled: Stationarity, against: Sequence[str]
) -> tuple[str, tuple[str, ...], int | None]:
    """Return state, reasons and further clean runs of a gate that blocks on canaries alone."""
    if canaries is None:
        return NOT_READY, ("no run of a critical case is there to be judged", *against), None
    needed, failures = canaries.clean_runs_needed(asked.rule.alpha), canaries.n_runs - canaries.n_clean
    alarmed = settled.confirmed_alarm is not None
    checks = {
        "monitoring has a confirmed alarm": alarmed,
        f"in {failures} of {canaries.n_runs} runs a canary has no usable trial": failures
        and not canaries.failed,
        f"{canaries.n_clean} of the {needed} clean runs needed": canaries.n_clean < needed,
        f"{canaries.n_days} of the {MIN_DAYS} days needed": canaries.n_days < MIN_DAYS,
    }
    reasons = (*against, *_failed(canaries), *(why for why, holds in checks.items() if holds))
    if not reasons:
        return READY, (), 0
    fell = asked.standing == BLOCKING and (failures or alarmed)
    return REVOKED if fell else NOT_READY, reasons, None if failures else max(needed - canaries.n_clean, 0)


def _failed(canaries: Canaries | None) -> list[str]:
    if canaries is None or not canaries.failed:
        return []
    worst = sorted(canaries.failed.items(), key=lambda told: (-told[1][0], told[0]))
    told = ", ".join(f"{case} {bad} of {n}" for case, (bad, n) in worst[:NAMED])
    more = f" and {len(worst) - NAMED} more" if len(worst) > NAMED else ""
    return [f"critical cases must pass every trial, and failed: {told}{more}"]


def _limits(past: Past, asked: Asked) -> Iterator[str]:
    """Yield where cost, duration, timeouts or infrastructure are out of policy, or unknown."""
    for name, limit in asked.limits.items():
        values = [run.measured.get(name) for run in past.runs]
        if limit is None or not values:
            continue
        known = [value for value in values if value is not None]
        over = [value for value in known if value > limit]
        if len(known) < len(values):
            lacking = len(values) - len(known)
            yield f"{name}: not recorded for {lacking} of {len(values)} runs; unknown is not zero"
        if over:
            yield f"{name}: {len(over)} of {len(values)} runs beyond {limit:g}, the worst {max(over):.4g}"
    if asked.error_budget is not None and past.lost is not None and past.lost > asked.error_budget:
        yield f"infrastructure took {past.lost:.1%} of the trials, the error budget is {asked.error_budget:.1%}"


# --- numbers ---------------------------------------------------------------------------------------


def _more(more: int | None, n: int, minimum: int) -> int | None:
    return None if more is None or n + more >= MOST_RUNS else max(more, minimum - n)


def _curve(noise: Noise, rule: Rule) -> tuple[dict[str, float], ...]:
    """Return how likely the gate blocks at each true drop: with the spread as measured, and at its bound."""
    if not noise.spread or not noise.spread_bound:
        return ()
    drops = [share * rule.margin for share in SHARES_OF_MARGIN]
    at, worst = (
        blocking_curve(drops, spread, noise.n_units, rule, reruns=noise.reruns)
        for spread in (noise.spread, noise.spread_bound)
    )
    return tuple(
        {"drop": drop, "block": float(a), "block_at_bound": float(b)}
        for drop, a, b in zip(drops, at, worst, strict=True)
    )
