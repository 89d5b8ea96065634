"""The trials of a plan as data: what each is, and in what order they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evalstats import trials
from evalstats.contract import Arm
from evalstats.suite import Case

INTERLEAVED = "interleaved"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """One trial to be run: pure data, the same on every machine.

    ``key`` is its stable identity, ``position`` its place in the order of the whole plan, from 0.
    """

    run_id: str
    arm: Arm
    case: Case
    trial_index: int
    seed: int
    key: str
    position: int

    @property
    def block(self) -> tuple[str, int]:
        """Return what the trial shares with its pair in the other arm."""
        return self.case.id, self.trial_index


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One arm of a plan."""

    run_id: str
    arm: Arm


@dataclass(frozen=True, slots=True)
class _Trial:
    run: PlannedRun
    case: Case
    index: int
    seed: int


def ordered(
    runs: Iterable[PlannedRun], cases: Iterable[Case], trials_per_case: int, seed: int, order: str
) -> tuple[TrialSpec, ...]:
    """Return all trials of these runs.

    ``interleaved``: in random blocks of (case, trial), the arms adjacent and in random order inside; else arm by arm.
    """
    found = list(_trials(runs, tuple(cases), trials_per_case, seed))
    if order == INTERLEAVED:
        found.sort(
            key=lambda t: (trials.trial_seed(seed, t.case.id, "block", t.index), t.case.id, t.index, t.seed)
        )
    return tuple(
        TrialSpec(
            run_id=t.run.run_id,
            arm=t.run.arm,
            case=t.case,
            trial_index=t.index,
            seed=t.seed,
            key=trials.trial_key(t.run.run_id, t.case.id, t.run.arm, t.index),
            position=position,
        )
        for position, t in enumerate(found)
    )


def _trials(
    runs: Iterable[PlannedRun], cases: tuple[Case, ...], trials_per_case: int, seed: int
) -> Iterator[_Trial]:
    for run in runs:
        for case in cases:
            for index in range(1, trials_per_case + 1):
                yield _Trial(run, case, index, trials.trial_seed(seed, case.id, run.arm, index))
