"""What a run tells its caller while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evalstats.contract import Isolation
from evalstats.runner.planning import Plan
from evalstats.runner.specs import TrialSpec
from evalstats.trials import Trial


@dataclass(frozen=True, slots=True)
class Started:
    """The manifests are on disk; ``orphans`` counts the processes a dead runner had left."""

    plan: Plan
    isolation: Isolation
    orphans: int


@dataclass(frozen=True, slots=True)
class FewerJobs:
    """Only ``jobs`` of the ``asked`` trials run at once: the limit of open files allows no more."""

    jobs: int
    asked: int


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial is about to run."""

    spec: TrialSpec


@dataclass(frozen=True, slots=True)
class TrialFinished:
    """A trial is in the journal. ``done`` of ``planned`` counts all arms, earlier processes included."""

    trial: Trial
    done: int
    planned: int


@dataclass(frozen=True, slots=True)
class Draining:
    """Asked to stop: no trial starts any more, those that run will finish. Ask again to kill them."""

    running: int


@dataclass(frozen=True, slots=True)
class Killing:
    """Asked to stop at once: running trials are killed and not recorded; a resumed run does them again."""

    running: int


Event = Started | FewerJobs | TrialStarted | TrialFinished | Draining | Killing
Listener = Callable[[Event], None]
