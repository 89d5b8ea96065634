"""The questions that the store answers, each as a tidy pandas table in a fixed order.

Every method names its columns in its docstring and has one file under ``sql/queries``. Text is ``str``
and missing text NaN; counts are ``int64``; whole numbers that may be unknown are ``Int64``; flags are
``boolean``; times are UTC without zone. The same rows give the same table from a database file and from
a folder of Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pandas as pd

from evalstats.contract import Arm
from evalstats.errors import StoreError
from evalstats.journal import owners_only
from evalstats.store import database
from evalstats.store.sql import statement

_KINDS = {
    "int64": "n n_cases n_trials n_usable n_passed n_infrastructure n_unusable undecided trial_index attempt"
    " expectation repeat n_labels n_yes",
    "Int64": "idx seed trials_per_case exit_code tokens_in tokens_out tokens_cache tool_calls"
    " leftover_processes",
    "float64": "score_sum score_sumsq score median_score duration_s median_duration_s cost mark label of_headline",
    "object": "dimensions",
    "boolean": "is_mock usable passed required cached",
    "datetime64[us]": "created_at started_at",
}
_DTYPES = {name: dtype for dtype, columns in _KINDS.items() for name in columns.split()}
_SHOWN = 20  # known ids named in an error


class Store:
    """An open store; use it as a context manager. ``path`` is a database file or a folder of Parquet."""

    def __init__(self, path: Path, connection: duckdb.DuckDBPyConnection) -> None:
        self.path = path
        self.connection = connection

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file, so that others can have it."""
        self.connection.close()

    def suites(self) -> list[str]:
        """Return the ids of the suites that have runs."""
        return [suite_id for (suite_id,) in self._rows("suites")]

    def runs(self, suite_id: str | None = None) -> pd.DataFrame:
        """Which runs are there, of one suite or of all? One row a run, oldest first.

        Columns: run_id, group_id, suite_id, suite_path, tier, visibility, axis, arm, mode, seed,
        created_at, suite_sha256, suite_canonical, suite_scoring, suite_policy, registry_version,
        cli_version, model, judge_model, judge_rubric_sha256, runtime, is_mock, trials_per_case, n_cases,
        n_trials, n_usable.
        """
        if suite_id is not None:
            self.require(suite_id)
        return self._frame("runs", suite_id=suite_id)

    def case_runs(
        self, suite_id: str, *, arm: str | None = None, run_ids: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """How did each case fare in each run? One row per (run, case): the table of the statistics.

        Columns: suite_id, case_id, archetype, arm, run_id, group_id, created_at, seed (of the run),
        n_trials, n_usable, n_passed, score_sum, score_sumsq, n_infrastructure, n_unusable, and what a
        comparison must hold equal: suite_scoring, model, judge_model, judge_rubric_sha256,
        registry_version, cli_version, is_mock.

        Notes
        -----
        Counts of passes and sums of scores (range 0 to 1) are over usable trials; each score and each
        square is taken to 12 decimals and the sums are exact. With no usable trial the sums are 0 and
        the mean, ``score_sum / n_usable``, is NaN. A case without any trial in a run has no row.
        """
        self.require(suite_id, run_ids)
        if arm is not None and arm not in list(Arm):
            raise StoreError(f"unknown arm; known: {', '.join(Arm)}", path=self.path, field="arm")
        return self._frame("case_runs", suite_id=suite_id, arm=arm, run_ids=_listed(run_ids))

    def trials(self, suite_id: str, run_ids: Sequence[str] | None = None) -> pd.DataFrame:
        """What happened in each trial of a suite? One row a trial, by run, case and trial.

        Columns: trial_key, run_id, suite_id, case_id, archetype, arm, trial_index, attempt, seed (of
        the trial), status, outcome, usable, reason, score, passed, started_at, duration_s, exit_code,
        tokens_in, tokens_out, tokens_cache, cost, cost_source, tool_calls, stop_reason, error_class,
        isolation, leftover_processes, utc_offset, cached, source_path, source_sha256, source_locator,
        stdout_sha256, stderr_sha256, transcript_sha256.
        """
        self.require(suite_id, run_ids)
        return self._frame("trials", suite_id=suite_id, run_ids=_listed(run_ids))

    def case_hashes(self, suite_id: str) -> pd.DataFrame:
        """Which version of each case did each run try? One row per (run, case) whose run recorded it.

        Columns: run_id, case_id, case_hash.
        """
        self.require(suite_id)
        return self._frame("case_hashes", suite_id=suite_id)

    def expectation_rates(self, suite_id: str, run_ids: Sequence[str] | None = None) -> pd.DataFrame:
        """How often did each expectation hold in each arm? One row per (case, expectation, arm).

        Columns: case_id, archetype, idx, type, required, arm, n, passed, undecided. The three counts are
        of trials that are usable, or unscored because an expectation was undecided; the rate among the
        decided is ``passed / (n - undecided)``.
        """
        self.require(suite_id, run_ids)
        return self._frame(
            "expectation_rates", {"passed": "int64"}, suite_id=suite_id, run_ids=_listed(run_ids)
        )

    def case_trials(self, run_id: str, case_id: str) -> pd.DataFrame:
        """What exactly happened to one case in one run? One row per (trial, expectation).

        Columns: trial_key, run_id, case_id, arm, trial_index, status, outcome, reason, score,
        error_class, stdout_sha256, stderr_sha256, transcript_sha256, then idx, type, required, passed,
        detail of the expectation (missing where a trial has none).
        """
        self._require_runs(None, [run_id])
        return self._frame("case_trials", run_id=run_id, case_id=case_id)

    def outcomes(self, suite_id: str, run_ids: Sequence[str] | None = None) -> pd.DataFrame:
        """How did the trials end, and how many carry no score? One row per (run, outcome).

        Columns: run_id, arm, outcome, usable, n_trials.
        """
        self.require(suite_id, run_ids)
        return self._frame("outcomes", suite_id=suite_id, run_ids=_listed(run_ids))

    def case_evidence(self, suite_id: str) -> pd.DataFrame:
        """How often did each case pass in each run, and what does it carry? One row per (run, case).

        Columns: run_id, case_id, archetype, n_usable, n_passed, score_sum, median_score, dimensions (a list).
        """
        self.require(suite_id)
        return self._frame("case_evidence", suite_id=suite_id)

    def run_evidence(self, suite_id: str) -> pd.DataFrame:
        """Where does each run come from, what did it cost, how long did a trial take? One row a run.

        Columns: run_id, git_ref (missing in a folder of Parquet), cost, median_duration_s.
        """
        self.require(suite_id)
        return self._frame("run_evidence", suite_id=suite_id)

    def judgements(self, suite_id: str, run_ids: Sequence[str] | None = None) -> pd.DataFrame:
        """What did each judge say of each expectation of each trial? One row per judge, repeat and expectation.

        Columns: run_id, case_id, archetype, arm, trial_index, expectation, judge (its name in tables), repeat,
        score (the verdict: 1 yes, 0 no; missing where there is none), mark (the score asked for, if one was),
        error_class, of_headline (the share of a headline over cases that hangs on this verdict), judge_model,
        judge_sha256, rubric_sha256, family, model, version, started_at, cost, graded_sha256.
        """
        self.require(suite_id, run_ids)
        return self._frame("judgements", suite_id=suite_id, run_ids=_listed(run_ids))

    def rewordings(self, suite_id: str, run_ids: Sequence[str] | None = None) -> pd.DataFrame:
        """What did each judge say under each wording of a question? One row per judge, wording and repeat.

        Columns: run_id, case_id, arm, trial_index, expectation, judge (its name in tables), wording, repeat, score
        (the verdict on the question as the suite has it: 1 yes, 0 no; missing where there is none).
        """
        self.require(suite_id, run_ids)
        return self._frame("rewordings", suite_id=suite_id, run_ids=_listed(run_ids))

    def labels(self, suite_id: str, run_ids: Sequence[str] | None = None) -> pd.DataFrame:
        """What did people say of each expectation of each trial? One row per expectation that was labelled.

        Columns: run_id, case_id, arm, trial_index, expectation, label (of most people: 1 yes, 0 no; missing
        where as many say one as the other), n_labels, n_yes.
        """
        self.require(suite_id, run_ids)
        return self._frame("labels", suite_id=suite_id, run_ids=_listed(run_ids))

    def require(self, suite_id: str, run_ids: Sequence[str] | None = None) -> None:
        """Raise StoreError, naming what is known, unless the suite and its runs are in the store."""
        known = self.suites()
        if suite_id not in known:
            raise StoreError(f"unknown suite {suite_id!r}; known: {_few(known)}", path=self.path)
        if run_ids is not None:
            self._require_runs(suite_id, run_ids)

    def _require_runs(self, suite_id: str | None, run_ids: Sequence[str]) -> None:
        known = [run_id for (run_id,) in self._rows("run_ids", suite_id=suite_id)]
        unknown = sorted(set(run_ids) - set(known))
        if unknown:
            raise StoreError(f"unknown run {unknown[0]!r}; known: {_few(known)}", path=self.path)

    def _rows(self, query: str, **parameters: Any) -> list[Any]:
        try:
            return self.connection.execute(statement(f"queries/{query}"), parameters).fetchall()
        except duckdb.Error as error:
            raise self._unanswered(error) from None

    def _frame(self, query: str, dtypes: dict[str, str] | None = None, **parameters: Any) -> pd.DataFrame:
        try:
            frame = self.connection.execute(statement(f"queries/{query}"), parameters).df()
        except duckdb.Error as error:
            raise self._unanswered(error) from None
        wanted = _DTYPES | (dtypes or {})
        return frame.astype({name: wanted.get(name, "str") for name in frame.columns})

    def _unanswered(self, error: duckdb.Error) -> StoreError:
        return StoreError(f"cannot answer: {database.reason(error)}", path=self.path)


def open(
    path: Path | str, *, read_only: bool = False, private: bool = False, wait: float = database.WAIT_SECONDS
) -> Store:
    """Open the store at ``path``: a database file (made if missing), or a folder of exported Parquet.

    Only one process can hold a database file open for writing, and then nobody else can read it:
    waits up to ``wait`` seconds for it, then raises StoreError naming the process. Raises StoreError too
    when the file is foreign, damaged or from a newer evalstats, and when it holds runs of private suites and
    ``private`` does not say that the caller may see them.
    """
    path = Path(path)
    with owners_only(private):
        connection = database.connect(path, read_only=read_only, wait=wait)
    database.keep_apart(connection, path, private=private)
    return Store(path, connection)


def _listed(run_ids: Sequence[str] | None) -> list[str] | None:
    return None if run_ids is None else list(run_ids)


def _few(known: list[str]) -> str:
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return (", ".join(known[-_SHOWN:]) or "none") + more
