"""What did last night say, and what should one look at first? What the nightly notebook reads and measures.

The charts, the words and the incidents are those of ``evalstats monitor``: one function stands behind both. Beside
them stand the rates of last night with their intervals, how far each lies from the history, and which cases moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.errors import UsageError
from evalstats.report import inputs, night_numbers

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from evalstats.governance.main_line import Line
    from evalstats.governance.watching import Watched
    from evalstats.store import Store

NIGHT, RUN = "night", "run"
ANY: tuple[str | None, ...] = ("*", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """The runs that are watched, what each cost, and whether nights or single runs are charted."""

    line: Line
    evidence: pd.DataFrame
    unit: str = NIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Morning:
    """Every number of the nightly notebook.

    ``line`` are the runs that are watched and ``found`` what the watch says of them; ``keys`` names the nights in
    their order. ``rates`` are the rates of last night, ``changes`` how far each lies from its history, ``moved`` the
    same case by case; ``costs`` has one row per arm. ``unit`` is a night, or a run where runs are charted.
    """

    line: Line
    found: Watched
    keys: tuple[str, ...]
    rates: pd.DataFrame
    changes: pd.DataFrame
    moved: pd.DataFrame
    flaky: pd.DataFrame
    costs: pd.DataFrame
    level: float
    unit: str
    notes: tuple[str, ...] = ()

    @property
    def watched(self) -> list[str]:
        """Return what is charted: the arms, the treated one first, then their difference."""
        return list(self.rates["watched"])

    @property
    def date(self) -> str:
        """Return the date of the last night."""
        return self.found.nights[-1].started_at[:10]

    @property
    def lost(self) -> list[str]:
        """Return why runs of last night do not count; nothing where all do."""
        groups = set(self.line.last["group_id"])
        return [incident.why for incident in self.found.incidents if incident.group_id in groups]

    def charts(self, watched: str) -> list[dict[str, Any]]:
        """Return the charts of one series."""
        return [chart for chart in self.found.charts if chart["watched"] == watched]

    def word(self, watched: str) -> str:
        """Return what the watch says of one series, in its own words."""
        from evalstats.governance.watching import word_of

        return word_of(self.charts(watched)).replace("_", " ")


def read(store: str, suite: str, *, ref: str = "", since: str = "", unit: str = "") -> Nights:
    """Return the runs that are watched.

    Parameters
    ----------
    store, suite : str
        Which suite, in which store.
    ref : str
        Git branch whose runs are watched, with * for any; empty: main, or any where main has none. A run that
        recorded none is always watched.
    since : str
        Begin at this date, where a change was accepted; empty: at the first run.
    unit : str
        ``night`` or ``run``; empty: nights, or runs while there is one night alone.

    Raises
    ------
    UsageError
        There is no run to watch, or ``unit`` is neither.
    """
    from evalstats.governance import main_line

    if unit not in ("", NIGHT, RUN):
        raise UsageError(
            f"is neither {NIGHT} nor {RUN}; leave it empty for what suits the runs", field="unit"
        )
    with warehouse.open(inputs.find_store(store), read_only=True) as opened:
        evidence = opened.run_evidence(suite)
        refs = branches(opened, suite, ref)
        asked = main_line.Watch(refs=refs, since=since or None, by_night=unit != RUN)
        line = main_line.read(opened, suite, asked)
        if unit == "" and line.runs["night"].nunique() == 1 and line.runs["group_id"].nunique() > 1:
            unit, line = RUN, main_line.read(opened, suite, replace(asked, by_night=False))
    return Nights(line=line, evidence=evidence, unit=unit or NIGHT)


def branches(opened: Store, suite: str, ref: str) -> tuple[str | None, ...]:
    """Return which git branches are watched; None stands for runs that recorded none."""
    from evalstats.governance import main_line

    if ref:
        return (ref, None)
    return main_line.MAIN_LINE if _on(opened, suite, main_line.MAIN_LINE) else ANY


def on_line(opened: Store, suite: str, ref: str) -> list[str]:
    """Return the runs of the branches that are watched: what a report on them may rest on.

    Raises UsageError when there is none.
    """
    found = _on(opened, suite, branches(opened, suite, ref))
    if not found:
        raise UsageError(f"no run of {suite} was made on {ref}; * stands for any branch", field="ref")
    return found


def _on(opened: Store, suite: str, wanted: Sequence[str | None]) -> list[str]:
    from evalstats.governance import main_line

    refs = main_line.refs_of(opened, suite)
    return [run for run, ref in refs.items() if main_line.matches(ref, wanted)]


def measure(read: Nights, *, rng: np.random.Generator, level: float = 0.80) -> Morning:
    """Watch the runs, and measure what last night says against their history.

    Parameters
    ----------
    read : Nights
        From `read`.
    rng : numpy.random.Generator
        For the limits of the charts first, as in ``evalstats monitor``; then for the interval of the difference.
    level : float
        Probability of every interval.
    """
    from evalstats import estimates
    from evalstats.governance import main_line, watching

    line = read.line
    found = watching.watch(line, rng=rng)
    normal = {str(chart["watched"]): int(chart["n_history"]) for chart in found.charts}
    return Morning(
        line=line,
        found=found,
        keys=tuple(dict.fromkeys(main_line.night_keys(line.runs))),
        rates=night_numbers.rates(line, list(normal), rng, level),
        changes=night_numbers.changes(line, list(normal), level),
        moved=night_numbers.moved(line, normal, level),
        flaky=estimates.flakiness(line.cases_of(line.newest)),
        costs=night_numbers.costs(line, read.evidence),
        level=level,
        unit=read.unit,
        notes=_notes(line, read.unit),
    )


def _notes(line: Line, unit: str) -> tuple[str, ...]:
    one = "All runs are of one night, so each run stands for itself here: nothing is known of how nights differ."
    alone = unit == RUN and len(set(line.runs["started_at"].dt.date)) == 1
    return (*line.left_out, *([one] if alone else []))
