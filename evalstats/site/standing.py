"""Where a suite stands, as its own repository says: its tier, whether it may block, its locks and its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import Tier
from evalstats.errors import EvalstatsError
from evalstats.governance import baselines, evidence_kinds, lock_changes, locks, ratchet, ratchet_records
from evalstats.governance.ratchet_records import Log
from evalstats.site.problems import Problem
from evalstats.suite import Suite

HOLDOUT = "holdout"  # the kind of evidence whose failures are shown to nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A lock that holds a suite, and what became of it since; ``broken`` is empty while it still does."""

    name: str
    sha256: str
    broken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A public suite as its files say. ``holdouts`` are its cases that are a holdout, though they are public."""

    tier: Tier
    blocks: bool
    ratchet: str
    baseline: str
    locks: tuple[Held, ...]
    hashes: dict[str, str]
    holdouts: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """The public suites of a folder by id, the ids of the private ones, and what could not be read."""

    of: dict[str, Standing] = field(default_factory=dict)
    private: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


def standings(folder: Path, baselines_dir: Path | None = None) -> Standings:
    """Return where each public suite of a folder stands. ``baselines_dir`` is a flat folder, if there is one."""
    if not folder.is_dir():
        return Standings()
    every, unreadable = suites.load_all(folder)
    held, problems = _locks(folder)
    found: dict[str, Standing] = {}
    for suite in every:
        if not suite.is_private:
            try:
                log = ratchet_records.read(suite, baselines_dir)
                found[suite.id] = _standing(suite, log, tuple(_held(suite, held, every)), baselines_dir)
                problems += [
                    Problem(f"{suite.id}: the ratchet record is not whole: {problem}", suite.id)
                    for problem in log.problems
                ]
            except EvalstatsError as error:
                problems.append(Problem(f"{suite.id}: {error.message}", suite.id))
    if unreadable:  # counted only: what is in them may be private
        told = f"{len(unreadable)} suite file(s) cannot be read; see `evalstats suite validate`"
        problems.append(Problem(told))
    private = frozenset(suite.id for suite in every if suite.is_private)
    return Standings(of=found, private=private, problems=tuple(problems))


def blocks(tier: Tier, recorded: Log) -> bool:
    """Return whether a suite may fail a night: a live one when it was ratcheted, another until it is taken back."""
    if tier is Tier.LIVE:
        return bool(recorded.standing == ratchet.BLOCKING)
    return not recorded.was_revoked


def _standing(suite: Suite, log: Log, held: tuple[Held, ...], baselines_dir: Path | None) -> Standing:
    cases = evidence_kinds.coverage([suite]).cases
    return Standing(
        tier=suite.tier,
        blocks=blocks(suite.tier, log),
        ratchet=_ratchet(log),
        baseline=_baseline(suite, baselines_dir),
        locks=held,
        hashes=suites.hashes(suite),
        holdouts=frozenset(case.case_id for case in cases if case.evidence_kind == HOLDOUT),
    )


def _ratchet(log: Log) -> str:
    if not log.entries:
        return "never ratcheted"
    since = str(log.entries[-1]["at"])[:10]
    return f"taken back on {since}" if log.was_revoked else f"ratcheted on {since}"


def _baseline(suite: Suite, baselines_dir: Path | None) -> str:
    mode = suite.document["baseline_policy"]["mode"]
    place = baselines.locate(suite, baselines_dir)
    if not place.is_file():
        return f"none; its policy is {mode}"
    try:
        promoted = baselines.read(place)
    except EvalstatsError:
        return f"damaged; its policy is {mode}"
    stale = (
        "" if promoted.raw == contract.digest(contract.read_bytes(suite.path)) else ", of an older suite file"
    )
    return f"{promoted.run_id}{stale}; its policy is {mode}"


def _locks(folder: Path) -> tuple[list[locks.Lock], list[Problem]]:
    held, problems = [], []
    for path in sorted((folder / locks.FOLDER).glob("*.json")):
        try:
            held.append(locks.read(path))
        except EvalstatsError as error:
            problems.append(Problem(f"lock {path.stem}: {error.message}"))
    return held, problems


def _held(suite: Suite, held: Sequence[locks.Lock], every: Sequence[Suite]) -> Iterator[Held]:
    for lock in held:
        if suite.id in lock.suites:
            broken = ""
            try:
                lock_changes.check(lock, suite.id, every)
            except EvalstatsError as error:
                broken = error.message
            yield Held(name=lock.name, sha256=lock.sha256, broken=broken)
