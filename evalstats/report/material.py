"""What a notebook about one suite starts from: its runs, their expectations, and what was left out and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.report import inputs, tables
from evalstats.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.canvas import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The runs of one suite that may be looked at together, and what stands behind them.

    ``runs`` is the case table of the newest identity, inside the lock if there is one; ``every_run`` the whole
    one. ``arms`` are treatment and yardstick, or one arm alone. ``expectations`` and ``trials`` are those of
    ``runs``. ``notes`` say what was left out; ``lock`` is what ``draft.data`` says of the lock.
    """

    suite: str
    runs: pd.DataFrame
    every_run: pd.DataFrame
    arms: tuple[str, ...]
    expectations: pd.DataFrame
    trials: pd.DataFrame
    judgements: pd.DataFrame
    notes: tuple[str, ...] = ()
    lock: dict[str, Any] = field(default_factory=dict)

    @property
    def pair(self) -> tuple[str, str]:
        """Return treatment and yardstick; the one arm twice where there is no other."""
        return self.arms[0], self.arms[-1]

    @property
    def is_paired(self) -> bool:
        """Return whether two arms can be compared."""
        return len(self.arms) > 1

    @property
    def facts(self) -> dict[str, Any]:
        """Return the fields of ``draft.data``."""
        return {**inputs.facts(self.runs), **self.lock}


def read(store: str, suite: str, lock: str = "") -> Material:
    """Read what a store holds of a suite: the runs of the newest identity, of the arms that go together.

    Raises UsageError when there is no run, or when a locked case is no longer what was locked.
    """
    from evalstats import estimates

    every_run = inputs.case_runs(store, suite)
    locked = inputs.locked(every_run, lock)
    alike, left_out = estimates.comparable(locked.runs)
    arms = arms_of(alike)
    runs = alike[alike["arm"].isin(list(arms))].reset_index(drop=True)
    others = sorted(set(alike["arm"]) - set(arms))
    notes = [*locked.notes, *left_out, *(f"Arm {arm} is not looked at here." for arm in others)]
    with warehouse.open(inputs.find_store(store), read_only=True) as opened:
        ids, cases = list(dict.fromkeys(runs["run_id"])), set(runs["case_id"])
        asked = [
            frame[frame["case_id"].isin(list(cases))].reset_index(drop=True)
            for frame in (
                opened.expectation_rates(suite, run_ids=ids),
                opened.trials(suite, run_ids=ids),
                opened.judgements(suite, run_ids=ids),
            )
        ]
    return Material(
        suite=suite,
        runs=runs,
        every_run=every_run,
        arms=arms,
        expectations=asked[0],
        trials=asked[1],
        judgements=asked[2],
        notes=tuple(notes),
        lock=locked.facts,
    )


def arms_of(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return the two arms of the axis that has both, treatment first; else the arm with most trials."""
    from evalstats.governance.headroom import ARMS

    counts = runs.groupby("arm")["n_trials"].sum()
    for pair in ARMS.values():
        if set(pair) <= set(counts.index):
            return tuple(str(arm) for arm in pair)
    return (str(counts.sort_index().idxmax()),)


def frame_of(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a frame that has its columns also when there is no row."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(columns))


def estimate(
    row: Mapping[str, Any], write: Callable[[float], str], *, unknown: str = tables.NOT_AVAILABLE
) -> str:
    """Return an estimate with its interval, short where one is not known: the reason stands elsewhere."""
    if tables.is_missing(row["estimate"]):
        return unknown
    if tables.is_missing(row["conf_low"]) or tables.is_missing(row["conf_high"]):
        return f"{write(row['estimate'])}, no interval"
    return tables.estimate(row, write)


def filled(*several: Figure | Table | None) -> list[Any]:
    """Return the figures and tables that hold something: nobody is shown an empty one."""
    return [one for one in several if one is not None and (not isinstance(one, Table) or len(one.frame))]


def joined(names: Sequence[object], most: int = 6) -> str:
    """Return names in a row: ``a``, ``a and b``, ``a, b and 3 more``."""
    shown = [tables.shortened(name, 40) for name in names[:most]]
    more = len(names) - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
