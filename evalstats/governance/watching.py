"""Has the suite changed, when, and who changed what? Its nights in order, charted, with everything beside them.

Only real runs of the main line over all cases are nights. Runs of one night are one value. The charts begin anew
where the identity of the subject changed; the dating of a change looks across, so that a step on the night the
model changed is seen as such. A night that lost its trials is an incident, not a drop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

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
    import numpy as np
    import pandas as pd

    from evalstats.store import Store

ALARM, UNCONFIRMED, QUIET, UNKNOWN = "alarm", "unconfirmed", "in_control", "unknown"
EXIT_CODES = {ALARM: 1, UNCONFIRMED: 0, QUIET: 0, UNKNOWN: 3}
SAID = {
    ALARM: "confirmed by the next night",
    UNCONFIRMED: "a chart has left its limits once; the next night tells",
    QUIET: "no chart has left its limits for good",
    UNKNOWN: "nothing could be charted, so nothing is claimed",
}
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
class Night:
    """One night: when it began, its era, the mean score of each arm, and what happened."""

    started_at: str
    era: int
    scores: dict[str, float]
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What the watch found (schema ``monitor.v1``).

    ``charts`` and ``changes`` are rows of `estimates.monitor` and `estimates.change_points` as plain data; the
    charts are of the current era only.
    """

    suite: str
    word: str
    nights: tuple[Night, ...]
    charts: tuple[dict[str, Any], ...]
    changes: tuple[dict[str, Any], ...]
    identity_changes: tuple[IdentityChange, ...]
    incidents: tuple[Incident, ...]
    left_out: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Return the exit code: 1 on a confirmed alarm, 3 when nothing could be charted, else 0."""
        return EXIT_CODES[self.word]

    def as_record(self) -> dict[str, Any]:
        """Return it as plain data."""
        listed = {name: list(getattr(self, name)) for name in ("charts", "changes", "left_out")}
        kept = {
            name: [asdict(each) for each in getattr(self, name)]
            for name in ("nights", "identity_changes", "incidents")
        }
        for night in kept["nights"]:
            night["events"] = list(night["events"])
        told = {"schema": "monitor.v1", "suite": self.suite, "word": self.word, "exit_code": self.exit_code}
        return {**told, **kept, **listed}


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
        return scores[scores["era"] == self.runs["era"].max()].reset_index(drop=True)

    @property
    def newest(self) -> pd.DataFrame:
        """Return the runs of the newest era."""
        return self.runs[self.runs["era"] == self.runs["era"].max()].reset_index(drop=True)

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
    rows, left_out = _main_line(case_runs, refs, asked)
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


def watch(line: Line, *, rng: np.random.Generator) -> Watched:
    """Has the suite changed, when, and who changed what? ``rng`` is for the limits of the charts."""
    from evalstats import estimates

    charts = _plain(estimates.monitor(line.current, rng=rng))
    changes = _plain(estimates.change_points(line.scores))
    happened = _events(line.identity_changes, line.incidents, charts, changes)
    return Watched(
        suite=line.suite,
        word=word_of(charts),
        nights=tuple(_nights(line.runs, line.scores, happened)),
        charts=charts,
        changes=changes,
        identity_changes=line.identity_changes,
        incidents=line.incidents,
        left_out=line.left_out,
    )


# --- which runs ------------------------------------------------------------------------------------


def _main_line(
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

    named = {"--since": asked.since or "1700-01-01", "--as-of": asked.until or "2250-01-01"}
    found = []
    for option, time in named.items():
        try:
            found.append(pd.Timestamp(time))
        except ValueError:
            raise UsageError(
                "is no date or time; write 2026-01-31 or 2026-01-31T02:00:00Z", field=option
            ) from None
    first, last = (t.tz_localize("UTC") if t.tzinfo is None else t.tz_convert("UTC") for t in found)
    return first, last + pd.Timedelta(days=1, microseconds=-1) if len(named["--as-of"]) == len(
        "2026-01-31"
    ) else last


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


# --- what is told ----------------------------------------------------------------------------------


def _plain(frame: pd.DataFrame) -> tuple[dict[str, Any], ...]:
    """Return the rows as JSON holds them: unknown is None, a time is text."""
    import pandas as pd

    def one(value: Any) -> Any:
        if isinstance(value, tuple):
            return list(value)
        if pd.isna(value):
            return None
        if isinstance(value, pd.Timestamp):
            return value.isoformat()
        return value.item() if hasattr(value, "item") else value

    return tuple({str(k): one(v) for k, v in row.items()} for row in frame.to_dict("records"))


def word_of(charts: Sequence[Mapping[str, Any]]) -> str:
    """Return the word for some charts: the worst that one of them says."""
    if any(chart["confirmed_alarm"] for chart in charts):
        return ALARM
    if any(chart["first_alarm"] for chart in charts):
        return UNCONFIRMED
    charted = [chart for chart in charts if chart["n_new"] and not chart["degenerate"]]
    return QUIET if charted else UNKNOWN


def _events(
    changed: Sequence[IdentityChange],
    incidents: Sequence[Incident],
    charts: Sequence[Mapping[str, Any]],
    changes: Sequence[Mapping[str, Any]],
) -> list[tuple[str, str]]:
    """Return everything that happened, each with its time."""
    found = [(each.started_at, str(each)) for each in changed]
    found += [(each.started_at, str(each)) for each in incidents]
    found += _alarms(charts)
    for change in changes:
        levels = f"{change['before']:.3f} -> {change['after']:.3f}"
        found.append((change["changed_at"], f"level of {change['watched']} {levels}"))
    return found


def _alarms(charts: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the alarms with their times; those of one night and side in one sentence."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for chart in charts:
        first, confirmed = chart["first_alarm"], chart["confirmed_alarm"]
        words = (
            {confirmed: "confirmed alarm"}
            if first == confirmed
            else {first: "alarm", confirmed: "confirmed alarm"}
        )
        for at, word in words.items():
            if at is not None:
                side = f"{chart['watched']} {chart['direction']}"
                told.setdefault((at, word, side), []).append(chart["chart"])
    for (at, word, side), names in told.items():
        yield at, f"{word}: {side} ({', '.join(names)})"


def _nights(rows: pd.DataFrame, told: pd.DataFrame, events: list[tuple[str, str]]) -> Iterator[Night]:
    """Yield every night in the order of time, those without a score too, with what happened in it."""
    scores: dict[tuple[int, int], dict[str, float]] = {}
    for era, night, arm, score in zip(*(told[n] for n in ("era", "night", "arm", "score")), strict=True):
        scores.setdefault((era, night), {})[str(arm)] = float(score)
    begun: dict[tuple[int, int], list[str]] = {}
    for era, night, time in zip(*(rows[n] for n in ("era", "night", "started_at")), strict=True):
        begun.setdefault((era, night), []).append(time.isoformat())
    for (era, night), times in begun.items():
        here = tuple(dict.fromkeys(text for at, text in events if at in times))
        yield Night(started_at=times[0], era=era, scores=scores.get((era, night), {}), events=here)
