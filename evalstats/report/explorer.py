"""The data of one suite as tidy frames, for free work: what the notebook ``explore`` opens and looks into.

Nothing here is measured; every number comes from ``estimates``, which takes these frames as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.errors import EvalstatsError, UsageError
from evalstats.report import inputs, material, tables
from evalstats.report.material import Material
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from evalstats.report.draft import Draft

MOST = 20_000  # characters of an output that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Handles:
    """What there is to work with.

    ``cases`` has one row per run and case, and is what nearly every estimate starts from; ``series`` one per run;
    ``trials`` one per trial; ``expectations`` one per case, expectation and arm; ``judgements`` one per verdict of a
    judge; ``all_runs`` every run there is, also of other identities. The others hold the newest identity alone.
    """

    material: Material
    series: pd.DataFrame
    all_runs: pd.DataFrame
    store: Path

    @property
    def suite(self) -> str:
        """Return the name of the suite."""
        return self.material.suite

    @property
    def cases(self) -> pd.DataFrame:
        """Return the case table: one row per run and case."""
        return self.material.runs

    @property
    def trials(self) -> pd.DataFrame:
        """Return one row per trial."""
        return self.material.trials

    @property
    def expectations(self) -> pd.DataFrame:
        """Return one row per case, expectation and arm."""
        return self.material.expectations

    @property
    def judgements(self) -> pd.DataFrame:
        """Return one row per verdict of a judge."""
        return self.material.judgements

    @property
    def arms(self) -> tuple[str, str]:
        """Return treatment and yardstick; the yardstick is empty where there is no other arm."""
        return self.material.pair if self.material.is_paired else (self.material.arms[0], "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What one trial put out, as text; ``why`` says why there is none. It is shown as text, whatever it holds."""

    what: str
    text: str = ""
    why: str = ""

    def __str__(self) -> str:
        """Return the text, or why there is none."""
        return tables.visible(self.text or self.why)

    def _repr_html_(self) -> str:
        return f"<p>{escape(tables.visible(self.what))}</p><pre>{escape(str(self))}</pre>"


def read(store: str, suite: str) -> Handles:
    """Return the data of a suite. Raises UsageError when no run of it has recorded a trial."""
    from evalstats import estimates

    found = material.read(store, suite)
    place = inputs.find_store(store)
    with warehouse.open(place, read_only=True) as opened:
        runs = opened.runs(suite)
    return Handles(material=found, series=estimates.series(found.runs), all_runs=runs, store=place)


def handles_table(found: Handles) -> Table:
    """Return what there is, how large it is, and what one row of it is."""
    said = {
        "cases": "a case in a run: trials, passes, sums of scores",
        "series": "a run: its score, counts, identity",
        "trials": "a trial: status, score, seconds, tokens, digests of its outputs",
        "expectations": "an expectation in an arm: how often it held",
        "judgements": "a verdict of a judge",
        "all_runs": "a run, also of other identities",
    }
    rows = []
    for name, row in said.items():
        frame = getattr(found, name)
        told = ", ".join(map(str, list(frame.columns)[:6])) + (", …" if len(frame.columns) > 6 else "")
        rows.append({"handle": f"data.{name}", "rows": len(frame), "row": row, "columns": told})
    columns: list[Column | str] = [
        Column("handle", "Handle"),
        Column("rows", "Rows", "count"),
        Column("row", "One row is"),
        Column("columns", "First columns"),
    ]
    return Table("handles", "What there is to work with", material.frame_of(rows, list(rows[0])), columns)


def failing(found: Handles, arm: str = "") -> pd.DataFrame:
    """Return the trials that did not pass, of one arm or of all, the newest first."""
    _known(found, arm)
    trials = found.trials
    failed = trials[
        trials["usable"].fillna(False).astype(bool) & ~trials["passed"].fillna(False).astype(bool)
    ]
    kept = failed if not arm else failed[failed["arm"] == arm]
    order = ["started_at", "case_id", "trial_index"]
    return kept.sort_values(order, ascending=[False, True, True], kind="stable", ignore_index=True)


def _known(found: Handles, arm: str) -> None:
    arms = sorted(set(found.trials["arm"]))
    if arm and arm not in arms:
        raise UsageError(f"no trial has this arm; known: {', '.join(arms)}", field=arm)


def failing_table(failed: pd.DataFrame, most: int = 8) -> Table:
    """Return the newest of some trials that did not pass."""
    columns: list[Column | str] = [
        Column("run_id", "Run"),
        Column("case_id", "Case"),
        Column("trial_index", "Trial", "count"),
        Column("score", "Score", "rate"),
        Column("outcome", "Outcome"),
        Column("duration_s", "Seconds", "number"),
    ]
    shown = failed[[column.name for column in columns if isinstance(column, Column)]].head(most)
    title = f"The newest of {tables.some(len(failed), 'trial')} that did not pass"
    return Table("failing", title, shown, columns)


def checks(found: Handles, failed: pd.DataFrame, index: int = 0) -> Table:
    """Return what was expected of one of these trials, and what came of it."""
    rows: list[dict[str, Any]] = []
    if len(failed):
        trial = tables.rows(failed)[index]
        with warehouse.open(found.store, read_only=True) as opened:
            every = tables.rows(opened.case_trials(str(trial["run_id"]), str(trial["case_id"])))
        mine = [row for row in every if row["trial_key"] == trial["trial_key"]]
        rows = [{name: row[name] for name in ("idx", "type", "required", "passed", "detail")} for row in mine]
    columns: list[Column | str] = [
        Column("idx", "No.", "count"),
        Column("type", "Expectation"),
        Column("required", "Required", "yes-no"),
        Column("passed", "Held", "yes-no"),
        Column("detail", "Detail"),
    ]
    frame = material.frame_of(rows, [column.name for column in columns if isinstance(column, Column)])
    return Table("checks", "What was expected of that trial", frame, columns)


def output(found: Handles, failed: pd.DataFrame, index: int = 0, *, kind: str = "stdout") -> Output:
    """Return what one of these trials put out: its ``stdout``, ``stderr`` or ``transcript``.

    Outputs lie beside the store, in ``artifacts``; a frozen report never holds them.
    """
    from evalstats.artifacts import Artifacts

    if kind not in ("stdout", "stderr", "transcript"):
        raise UsageError("is none of stdout, stderr, transcript", field=kind)
    if not len(failed):
        return Output(what=kind, why="every trial passed")
    trial = tables.rows(failed)[index]
    what = f"{kind} of {trial['case_id']}, trial {trial['trial_index']}, run {trial['run_id']}"
    digest = trial[f"{kind}_sha256"]
    if tables.is_missing(digest):
        return Output(what=what, why=f"this trial recorded no {kind}")
    try:
        data = Artifacts(found.store.parent / "artifacts").get(str(digest))
    except EvalstatsError:
        return Output(
            what=what, why="the outputs are not beside this store; open the notebook where they were run"
        )
    text = data.decode("utf-8", "replace")
    more = len(text) - MOST
    return Output(
        what=what, text=text[:MOST] + (f"\n… {tables.count(more)} more characters" if more > 0 else "")
    )


# --- the report ------------------------------------------------------------------------------------


def say_explored(draft: Draft, found: Handles, difference: pd.DataFrame, rates: pd.DataFrame) -> None:
    """Put what there is, and the two examples, into the draft."""
    said = [f"{tables.some(len(found.series), 'run')} of {found.suite}"]
    said.append(
        f"{tables.some(len(found.trials), 'trial')} of {tables.some(found.cases['case_id'].nunique(), 'case')}"
    )
    rows = tables.rows(difference)
    apart = f" {_apart(found, rows[0])}" if rows else ""
    draft.finding(f"There are {', '.join(said)} to work with.{apart}")
    for row in sorted(tables.rows(rates), key=lambda row: str(row["arm"]) != found.arms[0]):
        level = tables.percent(row["level"])
        known = not tables.is_missing(row["estimate"])
        value = tables.rate(row["estimate"]) if known else tables.missing()
        detail = f"{level} interval {tables.interval_of(row)}" if known else tables.reason_of(row)
        draft.headline(f"Mean score, {row['arm']}", value, detail)
    draft.caveat(*found.material.notes)
    draft.method(
        "What this is",
        "A place to begin free work from. The other notebooks answer questions; this one does not.",
    )
    draft.estimates(rates, difference)
    draft.series(found.series)
    draft.data(**found.material.facts)


def _apart(found: Handles, row: dict[str, Any]) -> str:
    if tables.is_missing(row["estimate"]):
        return f"How far its arms are apart is not known ({tables.reason_of(row)})."
    told = material.estimate(row, tables.signed)
    return f"{found.arms[0]} minus {found.arms[1]}: {told}, compared case by case."
