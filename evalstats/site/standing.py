"""Where a suite stands, as its own repository says: its tier, whether it may block, its locks and its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalstats import suite as suites
from evalstats.errors import EvalstatsError
from evalstats.governance import baselines, lock_changes, locks, ratchet_records
from evalstats.suite import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A public suite as its files say. ``locks`` are those that hold it, each with what became of it since."""

    tier: str
    standing: str
    baseline: str
    locks: tuple[str, ...]


def standings(folder: Path) -> tuple[dict[str, Standing], list[str]]:
    """Return suite id -> where it stands, for the public suites of a folder, and what could not be read."""
    if not folder.is_dir():
        return {}, []
    every, unreadable = suites.load_all(folder)
    held, problems = _locks(folder)
    public = [suite for suite in every if not suite.is_private]
    found: dict[str, Standing] = {}
    for suite in public:
        recorded = ratchet_records.read(suite)
        problems += [
            f"{suite.id}: the ratchet record is not whole: {problem}" for problem in recorded.problems
        ]
        found[suite.id] = Standing(
            tier=str(suite.tier),
            standing=recorded.standing,
            baseline=_baseline(suite),
            locks=tuple(_held(suite, held, every)),
        )
    if unreadable:  # counted only: what is in them may be private
        problems.append(f"{len(unreadable)} suite file(s) cannot be read; see `evalstats suite validate`")
    return found, problems


def _locks(folder: Path) -> tuple[list[locks.Lock], list[str]]:
    held, problems = [], []
    for path in sorted((folder / locks.FOLDER).glob("*.json")):
        try:
            held.append(locks.read(path))
        except EvalstatsError as error:
            problems.append(f"lock {path.stem}: {error.message}")
    return held, problems


def _held(suite: Suite, held: Sequence[locks.Lock], every: Sequence[Suite]) -> Iterator[str]:
    for lock in held:
        if suite.id in lock.suites:
            try:
                lock_changes.check(lock, suite.id, every)
                yield f"{lock.name}: holds"
            except EvalstatsError as error:
                yield f"{lock.name}: {error.message}"


def _baseline(suite: Suite) -> str:
    wanted = suite.document["baseline_policy"]["mode"]
    try:
        there = baselines.locate(suite).is_file()
    except EvalstatsError as error:
        return error.message
    return f"{'promoted' if there else 'none'}; its policy says {wanted}"
