"""Which runs speak of a suite, night after night? Real ones of the main line over all cases, in the order of time.

Runs of one night are one value. A night that lost its trials is an incident, not a drop. An era begins where the
identity of the subject changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from evalstats.errors import UsageError
from evalstats.governance.incidents import (
    IdentityChange,
    Incident,
    identity_changes,
    incident_of,
    nights,
)
from evalstats.scoring import MAX_LOST

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.store import Store

MAIN_LINE: tuple[str | None, ...] = ("main", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Which runs are watched. ``refs`` are git branches, None stands for runs that recorded none.

    ``since`` and ``until`` bound the time (UTC); ``exclude`` names runs or groups; ``max_lost`` is the share of
    infrastructure failures above which a run is an incident; ``by_night`` takes the runs of a night as one.
    """

    refs: tuple[str | None, ...] = MAIN_LINE
    since: str | None = None
    until: str | None = None
    exclude: frozenset[str] = frozenset()
    max_lost: float = MAX_LOST
    by_night: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The runs of the main line in the order of time, and what stands beside them.

    ``runs`` has one row per run and arm (`estimates.series`), each with its ``era`` (which begins anew where the
    identity changed) and its ``night``; ``cases`` is the case table of the same runs.
    """

    suite: str
    runs: pd.DataFrame
    cases: pd.DataFrame
    identity_changes: tuple[IdentityChange, ...]
    incidents: tuple[Incident, ...]
    left_out: tuple[str, ...]

    @property
    def lost(self) -> list[str]:
        """Return the groups of runs that are incidents: they enter no chart."""
        return [incident.group_id for incident in self.incidents]

    @property
    def scores(self) -> pd.DataFrame:
        """Return one row per era, night and arm with the mean score of its runs; incidents are left out."""
        return _by_night(self.runs[~self.runs["group_id"].isin(self.lost)])

    @property
    def current(self) -> pd.DataFrame:
        """Return the scores of the newest era: what is charted."""
        scores = self.scores
        kept: pd.DataFrame = scores[scores["era"] == self.runs["era"].max()]
        return kept

    @property
    def newest(self) -> pd.DataFrame:
        """Return the runs of the newest era."""
        kept: pd.DataFrame = self.runs[self.runs["era"] == self.runs["era"].max()]
        return kept

    @property
    def last(self) -> pd.DataFrame:
        """Return the runs of the last night."""
        keys = night_keys(self.runs)
        return self.runs[[key == keys[-1] for key in keys]].reset_index(drop=True)

    def cases_of(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the case table of some runs, without those that are incidents."""
        kept = runs[~runs["group_id"].isin(self.lost)]
        return self.cases[self.cases["run_id"].isin(kept["run_id"])].reset_index(drop=True)


def read(opened: Store, suite: str, asked: Watch) -> Line:
    """Return the runs of a suite that are watched, from an open store.

    Raises UsageError when there is none.
    """
    case_runs = opened.case_runs(suite)
    if case_runs.empty:
        raise UsageError("no run has recorded a trial; wait for one, or run it again", field=suite)
    return main_line(case_runs, refs_of(opened, suite), asked)


def refs_of(opened: Store, suite: str) -> dict[str, str | None]:
    """Return the git branch of each run of a suite; None where none is recorded."""
    evidence = opened.run_evidence(suite)
    return {
        str(run): ref if isinstance(ref, str) else None
        for run, ref in zip(evidence["run_id"], evidence["git_ref"], strict=True)
    }


def main_line(case_runs: pd.DataFrame, refs: Mapping[str, str | None], asked: Watch) -> Line:
    """Return the runs that are watched, in their order, with their nights, eras and incidents.

    Parameters
    ----------
    case_runs : pandas.DataFrame
        The case table of one suite.
    refs : mapping
        Run id to the git branch it was made on; None where none is recorded.
    asked : Watch
        Which runs are watched.

    Raises
    ------
    UsageError
        No run of the main line is left.
    """
    rows, left_out = _watched_runs(case_runs, refs, asked)
    suite = str(case_runs["suite_id"].iloc[0])
    if rows.empty:
        raise UsageError(
            f"no run of the main line to watch; {'; '.join(left_out) or 'none is there'}", field=suite
        )
    rows["era"], changed = identity_changes(rows)
    rows["night"] = (
        nights(list(rows["started_at"])) if asked.by_night else rows.groupby("group_id", sort=False).ngroup()
    )
    incidents = [
        found
        for _, group in rows.groupby("group_id", sort=False)
        if (found := incident_of([dict(row) for _, row in group.iterrows()], asked.max_lost))
    ]
    return Line(
        suite=suite,
        runs=rows,
        cases=case_runs[case_runs["run_id"].isin(rows["run_id"])].reset_index(drop=True),
        identity_changes=tuple(changed),
        incidents=tuple(incidents),
        left_out=tuple(left_out),
    )


# --- which runs ------------------------------------------------------------------------------------


def _watched_runs(
    case_runs: pd.DataFrame, refs: Mapping[str, str | None], asked: Watch
) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs that are watched, oldest first, and a sentence for each reason to leave some out."""
    import pandas as pd

    from evalstats import estimates

    rows = estimates.series(case_runs)
    rows["started_at"] = pd.to_datetime(rows["started_at"], utc=True)
    aside = [not matches(refs.get(run_id), asked.refs) for run_id in rows["run_id"]]
    rows["tried"] = rows["run_id"].map(case_runs.groupby("run_id")["case_id"].nunique())
    most = rows.groupby(["arm", "suite_scoring"], dropna=False)["tried"].transform("max")
    refusals = {
        "answered by a mock": rows["is_mock"].astype(bool),
        "not made on the main line": pd.Series(aside, index=rows.index, dtype=bool),
        "excluded": rows["run_id"].isin(asked.exclude) | rows["group_id"].isin(asked.exclude),
        "outside the time asked for": ~rows["started_at"].between(*_bounds(asked)),
        "of some of the cases only": rows["tried"] < most,
        "a replica: it repeats the seed of an earlier run": rows["seed"].notna()
        & rows.duplicated(["seed", "arm", "suite_scoring"], keep="first"),
    }
    out = pd.Series(False, index=rows.index)
    notes = []
    for reason, holds in refusals.items():
        new = holds & ~out
        out |= new
        if new.any():
            notes.append(f"{int(new.sum())} run(s) left out: {reason}")
    return rows[~out].sort_values(["started_at", "group_id", "arm"], kind="stable", ignore_index=True), notes


def _bounds(asked: Watch) -> tuple[pd.Timestamp, pd.Timestamp]:
    import pandas as pd

    named = {"--since": (asked.since, "1700-01-01"), "--as-of": (asked.until, "2250-01-01")}
    found = []
    for option, (text, unless) in named.items():
        try:
            time = pd.Timestamp(unless if text is None else through(text) if option == "--as-of" else text)
            if pd.isna(time):
                raise ValueError("NaT")
        except ValueError:
            raise UsageError(
                "is no date or time; write 2026-01-31 or 2026-01-31T02:00:00Z", field=option
            ) from None
        found.append(time.tz_localize("UTC") if time.tzinfo is None else time.tz_convert("UTC"))
    return found[0], found[1]


def through(text: str) -> str:
    """Return the last moment of a date (UTC), however it is written; any other text as it is."""
    try:
        return f"{date.fromisoformat(text)}T23:59:59.999999Z"
    except ValueError:
        return text


def matches(ref: str | None, wanted: Sequence[str | None]) -> bool:
    """Return whether a branch is one of those wanted, which may be patterns; None stands for none recorded."""
    return any(ref is None if w is None else ref is not None and fnmatchcase(ref, w) for w in wanted)


def _by_night(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per era, night and arm: the mean of its runs."""
    keys = ["era", "night", "arm"]
    told = rows.groupby(keys, sort=True).agg(started_at=("started_at", "min"), score=("score", "mean"))
    told = told.reset_index()
    told["group_id"] = night_keys(told)
    return told


def night_keys(rows: pd.DataFrame) -> list[str]:
    """Return for each row the name of its night; a night in which the identity changed is two."""
    return [f"{era}/{night}" for era, night in zip(rows["era"], rows["night"], strict=True)]
