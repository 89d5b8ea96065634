"""The order of a night: date it, take up its record, take the steps that are not done, say how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeAlias

from evalstats import gate, site
from evalstats.errors import EvalstatsError, UsageError
from evalstats.governance import ratchet_records
from evalstats.nightly import record, steps
from evalstats.nightly.record import Night, NightError, Part, Places, Step
from evalstats.nightly.steps import Job, Stopped, Tonight, Watch
from evalstats.runner import clock
from evalstats.site.standing import blocks
from evalstats.suite import Suite
from evalstats.trials import timestamp

__all__ = ["Asked", "Outcome", "Stopped", "Watch", "run"]

Listener: TypeAlias = Callable[[str, Step, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a night is to do.

    Parameters
    ----------
    suites : sequence of Suite
        What runs, in this order.
    policies : sequence of Path
        Which policies judge them; a suite without one here is judged by the ``policy.json`` beside it, if there
        is one, else by its own thresholds.
    as_of : str, optional
        The date, by default today (UTC). Another day is that of a night which is on record, to go on with; else
        it is set by hand, in a data folder that holds no runs of the real clock.
    skip : frozenset of Step
        Steps that are left out.
    trials : int, optional
        Trials of each case; by default what the suite says.
    jobs : int
        How many trials run at once.
    baselines : Path, optional
        A flat folder of baselines, where the ratchet records then lie.
    """

    suites: Sequence[Suite]
    policies: Sequence[Path] = ()
    as_of: str | None = None
    skip: frozenset[Step] = frozenset()
    trials: int | None = None
    jobs: int = 1
    baselines: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A night, whether this call did anything for it, and the dashboard it made, or why there is none."""

    night: Night
    is_new: bool
    site: site.Built | None = None
    no_site: str = ""


def run(
    asked: Asked,
    places: Places,
    *,
    watch: Watch = steps.silently,
    tell: Listener = lambda suite, step, seconds: None,
) -> Outcome:
    """Make the night of a date, or go on with it; a night that is done is only read.

    Parameters
    ----------
    asked : Asked
        What it is to do.
    places : Places
        Where things lie.
    watch : callable
        Given the plan of a run, a context manager that yields the listener to its events.
    tell : callable
        Called with suite, step and seconds after each step that did something.

    Raises
    ------
    UsageError, SuiteError
        A suite, a policy or the date is not as it must be. Nothing was run.
    NightError
        Another process is making a night here, or a later night is on record.
    Stopped
        A signal stopped it. What is done is kept.
    """
    jobs = [_job(suite, asked) for suite in asked.suites]
    _check_policies(asked, jobs)
    with record.claimed(places.nights):
        day, simulated, nights = _dated(asked.as_of, places)
        tonight = Tonight(
            date=day,
            simulated=simulated,
            places=places,
            trials=asked.trials,
            jobs=asked.jobs,
            watch=watch,
            before=_before(nights, day),
        )
        known = next((night for night in nights if night.date == day), None)
        diary = _Diary(known or Night(date=day, simulated=simulated, began_at=timestamp()), places.nights)
        wanted = [step for step in Step if step not in asked.skip]
        if Step.RUN in wanted:
            _check_plans(jobs, diary.night, tonight)
        diary.begin(jobs)
        _take(jobs, [step for step in wanted if step is not Step.SITE], diary, tonight, tell)
        is_new = diary.end()
        done = Outcome(night=diary.night, is_new=is_new)
        return _with_site(done, places, asked.baselines) if Step.SITE in wanted else done


def _with_site(done: Outcome, places: Places, baselines: Path | None) -> Outcome:
    """Make the dashboard of all nights so far; one that cannot be made costs no verdict: why is told."""
    where = site.Places(
        reports=places.reports,
        gates=places.gates,
        suites=places.suites,
        baselines=baselines,
        holdouts=places.holdouts,
    )
    try:
        return replace(done, site=site.build(where, places.site))
    except EvalstatsError as error:
        return replace(done, no_site="; ".join(error.lines()))


class _Diary:
    """The record of a night, on disk after every change."""

    def __init__(self, night: Night, folder: Path) -> None:
        self.night, self._folder, self._changed = night, folder, False

    def begin(self, jobs: Sequence[Job]) -> None:
        """Make room for each suite, and forget what kept it from being done the last time."""
        for job in jobs:
            new = Part(
                suite=job.suite.id, tier=job.suite.tier, gated=job.policy is not None, blocks=job.blocks
            )
            part = self.night.parts.get(job.suite.id, new)
            self.put(replace(part, error=None, gated=new.gated, blocks=new.blocks))

    def put(self, part: Part) -> None:
        """Keep what is known of a suite."""
        if self.night.parts.get(part.suite) != part:
            self.night = replace(self.night, ended_at=None, parts={**self.night.parts, part.suite: part})
            self._changed = True
            record.write(self._folder, self.night)

    def end(self) -> bool:
        """Close the night; return whether anything was new."""
        if self.night.ended_at is None:
            self.night = replace(self.night, ended_at=timestamp())
            record.write(self._folder, self.night)
        return self._changed


def _take(
    jobs: Sequence[Job], wanted: Sequence[Step], diary: _Diary, tonight: Tonight, tell: Listener
) -> None:
    """Take each step for every suite, then again for those of which the policy wants another run tonight."""
    while jobs:
        for step in wanted:
            for job in jobs:
                _take_one(job, step, diary, tonight, tell)
        again = [job for job in jobs if steps.wants_another(job, diary.night.parts[job.suite.id])]
        jobs = again if Step.RUN in wanted else []
        for job in jobs:
            part = diary.night.parts[job.suite.id]
            diary.put(replace(part, looks=len(part.runs) + 1, report=None, page=None, judged=None))


def _take_one(job: Job, step: Step, diary: _Diary, tonight: Tonight, tell: Listener) -> None:
    """Take one step for one suite; what keeps it from being done is written down, and stops this suite alone."""
    part, began = diary.night.parts[job.suite.id], time.monotonic()
    if part.error is not None:
        return
    try:
        done = steps.TAKEN[step](job, part, tonight)
    except Stopped:
        raise
    except EvalstatsError as error:
        done = replace(part, error=f"{step}: {'; '.join(error.lines())}")
    if done != part:
        took = time.monotonic() - began
        spent = {**part.seconds, step: round(part.seconds.get(step, 0.0) + took, 3)}
        diary.put(replace(done, seconds=spent))
        tell(job.suite.id, step, took)


# --- what is asked -------------------------------------------------------------------------------


def _job(suite: Suite, asked: Asked) -> Job:
    """Return a suite with its policy. Raises UsageError for a private one: its trees and rights are its own."""
    if suite.is_private:
        raise UsageError("is a private holdout; a night runs public suites", path=suite.path)
    named = [path for path in asked.policies if gate.read_policy(path)["suite"] == suite.id]
    if len(named) > 1:
        raise UsageError("is the second policy of one suite", path=named[1], field="--policy")
    beside = suite.folder / "policy.json"
    policy = named[0] if named else beside if beside.is_file() else None
    rules = None if policy is None else gate.policy_of(gate.read_policy(policy))
    if rules is not None and rules.suite != suite.id:
        raise UsageError(f"is for suite {rules.suite}, not {suite.id}", path=policy, field="suite")
    return Job(suite=suite, policy=policy, rules=rules, blocks=_blocks(suite, asked.baselines))


def _blocks(suite: Suite, baselines: Path | None) -> bool:
    """Return whether a suite may fail the night: a live one when it was ratcheted, another until it is taken back.

    Raises UsageError where that cannot be told: a record that was altered is no licence to pass.
    """
    ratcheted = ratchet_records.read(suite, baselines)
    if ratcheted.problems:
        raise UsageError(f"the ratchet record is not whole: {ratcheted.problems[0]}", path=ratcheted.path)
    return blocks(suite.tier, ratcheted)


def _check_policies(asked: Asked, jobs: Sequence[Job]) -> None:
    used = {job.policy for job in jobs}
    for path in asked.policies:
        if path not in used:
            raise UsageError("is a policy of no suite of tonight", path=path, field="--policy")
    ids = [job.suite.id for job in jobs]
    if not ids:
        raise UsageError("no suite to run; name some", field="SUITE")
    if twice := next((name for name in ids if ids.count(name) > 1), None):
        raise UsageError(f"suite {twice} is named twice", field="SUITE")


def _dated(as_of: str | None, places: Places) -> tuple[str, bool, list[Night]]:
    """Return the date of the night, whether it is set by hand, and the nights on record."""
    today = datetime.now(UTC).date().isoformat()
    day, nights = today if as_of is None else _date(as_of), record.read_all(places.nights)
    known = next((night for night in nights if night.date == day), None)
    by_hand = day != today if known is None else known.simulated
    simulated = by_hand or clock.is_simulated(places.data)
    if simulated and as_of is None:
        raise UsageError("its nights are dated by hand; say which with --as-of", path=places.data)
    if any(night.simulated != simulated for night in nights):
        mixed = "real nights and nights dated by hand are never one history; use another folder"
        raise UsageError(mixed, path=places.nights, field="--as-of")
    if not simulated and known is None and nights and nights[-1].date > day:
        raise NightError(
            f"the night of {nights[-1].date} is on record, and today is {day}: set the clock right"
        )
    clock.keep_apart(places.data, day if simulated else None)
    return day, simulated, nights


def _check_plans(jobs: Sequence[Job], night: Night, tonight: Tonight) -> None:
    """Raise what is wrong with a suite before the first trial of any of them."""
    for job in jobs:
        if job.suite.id not in night.parts or not night.parts[job.suite.id].runs:
            steps.plan(job, 1, tonight)


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError("is no date; write 2026-01-31", field="--as-of") from None


def _before(nights: Sequence[Night], day: str) -> Mapping[str, dict[str, Any]]:
    """Return the verdict on each suite of the last night before this one that judged it."""
    found: dict[str, dict[str, Any]] = {}
    for night in nights:
        if night.date < day:
            found |= {name: part.judged for name, part in night.parts.items() if part.judged is not None}
    return found
