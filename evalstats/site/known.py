"""All that the dashboard stands on, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats.site import decisions, headline, holdouts, published
from evalstats.site.decisions import Decision
from evalstats.site.problems import Problem
from evalstats.site.published import Published, Shelf
from evalstats.site.standing import Standing, standings

LIFT, NIGHTLY, VARIANCE, RATCHET, AUDIT = "lift", "nightly", "variance_bands", "ratchet", "baseline_audit"
ROLLING = 12  # versions of a lift that stand side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where to read. ``suites`` and ``holdouts`` need not be there; ``baselines`` is a flat folder, if there is one."""

    reports: Path
    gates: Path
    suites: Path
    baselines: Path | None = None
    holdouts: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Reports, decisions, suites and published holdouts, and what is wrong with any of them."""

    shelf: Shelf
    decisions: Mapping[str, Sequence[Decision]]
    standings: Mapping[str, Standing]
    lifts: Mapping[str, Sequence[Published]]
    holdouts: Sequence[Mapping[str, Any]]
    problems: Sequence[Problem]

    @property
    def suites(self) -> list[str]:
        """Return every suite that there is anything to tell of."""
        told = {problem.suite for problem in self.problems if problem.suite in self.standings}
        return sorted({*self.shelf.suites, *self.decisions, *filter(None, told)})

    def last_decision(self, suite: str) -> Decision | None:
        """Return what the gate decided last on a suite."""
        return next(iter(self.decisions.get(suite, ())), None)

    def series(self, suite: str) -> Sequence[Mapping[str, Any]]:
        """Return the runs of a suite as one of its reports lists them."""
        for notebook in (VARIANCE, LIFT, NIGHTLY):
            found = self.shelf.of(notebook, suite)
            if found is not None and found.document["series"]:
                rows: Sequence[Mapping[str, Any]] = found.document["series"]
                return rows
        return ()

    def last_run(self, suite: str) -> Mapping[str, Any] | None:
        """Return the newest run of a suite that a report lists."""
        return max(self.series(suite), key=lambda row: str(row["started_at"]), default=None)

    def trouble(self, suite: str) -> list[str]:
        """Return what is wrong with what a suite stands on."""
        return [problem.text for problem in self.problems if problem.suite == suite]

    def marks(self, suite: str) -> dict[str, str]:
        """Return what must be known before a number is believed: a word, and what it means."""
        marks, standing = {}, self.standings.get(suite)
        if any(found.document["data"]["contains_mock"] for found in self.shelf.about(suite)):
            marks["mock"] = "mock runs: these numbers show that the machine works, not how good anything is"
        if headline.is_dated_by_hand(self.series(suite)):
            marks["dated by hand"] = "nights dated by hand: a rehearsal, not history"
        if standing is not None and not standing.blocks:
            marks["advisory"] = "advisory: what its gate says blocks nothing"
        if self.trouble(suite):
            marks["damaged"] = "not everything could be read; what could not is left out"
        return marks


def gather(places: Places) -> Known:
    """Read all that was published, and hold each piece against what it should be."""
    stand = standings(places.suites, places.baselines)
    shelf = published.shelf(places.reports, stand.private)
    decided, in_ledgers = decisions.read(places.gates, stand.private)
    told, in_holdouts = holdouts.read(places.holdouts) if places.holdouts is not None else ([], [])
    lifts = {suite: shelf.last(LIFT, suite, ROLLING) for suite in shelf.suites}
    for every in decided.values():
        for decision in every[: decisions.SHOWN]:
            if (judged := decisions.reference(decision)) is not None:
                shelf.at(judged)
    return Known(
        shelf=shelf,
        decisions=decided,
        standings=stand.of,
        lifts=lifts,
        holdouts=told,
        problems=[*shelf.problems, *in_ledgers, *stand.problems, *in_holdouts],
    )
