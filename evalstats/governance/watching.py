"""Has the suite changed, when, and who changed what? Its nights in order, charted, with everything beside them.

The charts begin anew where the identity of the subject changed; the dating of a change looks across, so that a step
on the night the model changed is seen as such. Which runs are nights says ``main_line``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evalstats.governance.incidents import IdentityChange, Incident
from evalstats.governance.main_line import Line

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
ALARM, UNCONFIRMED, QUIET, UNKNOWN = "alarm", "unconfirmed", "in_control", "unknown"
EXIT_CODES = {ALARM: 1, UNCONFIRMED: 0, QUIET: 0, UNKNOWN: 3}
SAID = {
    ALARM: "confirmed by the next night",
    UNCONFIRMED: "a chart has left its limits, and no next night confirmed it",
    QUIET: "no chart has left its limits for good",
    UNKNOWN: "nothing could be charted, so nothing is claimed",
}


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
