"""Which run is meant, and what is kept of it once its folder is gone?

A finished run can be captured: its record, and for each case its digest and how much its trials differ. The
digest tells a later comparison whether the case is still the same, the variance what noise it has; both would be
lost with the run folder. Captures stay in the data folder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import variance
from typing import Any

from evalstats import contract, journal, judgements
from evalstats.errors import DocumentError, EvalstatsError, UsageError
from evalstats.governance.baselines import Baseline, file_name, locate, read, write
from evalstats.governance.quantities import Rules
from evalstats.suite import Suite, load, load_below

EVALUATOR = "evaluator"
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
_LONGEST_PATH = 250  # no file system asks for more in one name, and some fail on it


def of_run(folder: Path) -> Baseline:
    """Return a finished run as it would be captured. Raises UsageError when it has not finished."""
    if not (folder / "record.json").is_file():
        raise UsageError("is no finished run; finish it with `evalstats run --resume`", path=folder)
    found = read(folder / "record.json")
    manifest = journal.read_manifest(folder)
    hashes = manifest.get("case_hashes", {})
    scores: dict[str, list[float]] = defaultdict(list)
    for trial in judgements.standing(folder, manifest):
        if trial.score is not None:
            scores[trial.case_id].append(trial.score)
    cases = [_remembered(case, hashes, scores[case["id"]]) for case in found.record["case_results"]]
    return replace(found, record={**found.record, "case_results": cases})


def _remembered(
    case: Mapping[str, Any], hashes: Mapping[str, str], scores: Sequence[float]
) -> dict[str, Any]:
    facts = {
        "case_hash": hashes.get(case["id"]),
        "score_variance": variance(scores) if len(scores) > 1 else None,
    }
    return {**case, **{name: value for name, value in facts.items() if value is not None}}


def capture(run: Baseline, data: Path) -> Path:
    """Keep a finished run in the data folder and return its file. Doing it twice changes nothing."""
    path = run.home(data) / "baselines" / run.suite_id / file_name(run.run_id)
    write(path, {**run.record, "baseline": {"mode": "capture"}}, private=run.is_private)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where runs, captures, suites and promoted baselines lie; and in which ``role`` they are read."""

    data: Path
    suites: Path
    baselines: Path | None = None
    role: str | None = None

    def run(self, run_id: str) -> Baseline:
        """Return a finished run, or its capture. Raises UsageError."""
        if not _RUN_ID.fullmatch(run_id):
            raise UsageError(f"{run_id[:40]!r} is no file, and no run is called so", path=self.data)
        for tree in self._trees():
            if (folder := tree / "runs" / run_id).is_dir():
                return self._allowed(of_run(folder))
            for path in sorted((tree / "baselines").glob("*/*")):
                if path.name == file_name(run_id):
                    return self._allowed(read(path))
        folders = [path for tree in self._trees() for path in (tree / "runs").glob("*")]
        arms = sorted(p.name for p in folders if p.name.startswith(f"{run_id}-"))
        known = f"name one of its arms: {', '.join(arms)}" if arms else "see `evalstats runs`"
        known += "" if self.role == EVALUATOR else f"; one of a private suite needs --role {EVALUATOR}"
        raise UsageError(f"there is no run {run_id!r}; {known}", path=self.data)

    def find(self, name: str) -> Baseline:
        """Return what ``name`` means: a file or run folder, a suite's promoted baseline, or a run."""
        if is_id := bool(_RUN_ID.fullmatch(name)):
            ran = any((tree / "runs" / name).is_dir() for tree in self._trees())
            suite = None if ran else suite_called(name, self.suites)
            if suite is not None:
                return self.promoted(suite)
        path = Path(name)
        if len(name) < _LONGEST_PATH and (path.is_file() or (path.is_dir() and not is_id)):
            return self._allowed(_from_path(path))
        return self.run(name)

    def baseline_of(self, run: Baseline) -> Baseline:
        """Return the promoted baseline of the suite of a run. Raises UsageError when either is not there."""
        suite = self.suite(run)
        if suite is None:
            raise UsageError("the suite of this run is not here; name the run to compare with")
        return self.promoted(suite)

    def promoted(self, suite: Suite) -> Baseline:
        """Return the promoted baseline of a suite. Raises UsageError when there is none."""
        if suite.is_private and self.role != EVALUATOR:
            raise _for_evaluators()
        path = locate(suite, self.baselines)
        if not path.is_file():
            way_out = "name a run to compare with, or promote one: evalstats baseline promote"
            name, place = ("the suite", None) if suite.is_private else (f"suite {suite.id}", path)
            raise UsageError(f"{name} has no promoted baseline; {way_out}", path=place)
        return self._allowed(read(path))

    def suite(self, run: Baseline) -> Suite | None:
        """Return the suite of a run as it is now: under the folder of suites, or where it lay when it ran."""
        found = suite_called(run.suite_id, self.suites)
        return found if found is not None else suite_that_ran(run.home(self.data) / "runs" / run.run_id)

    def rules(self, run: Baseline) -> Rules:
        """Return what the suite says about comparing; where it is gone, no drop is allowed."""
        suite = self.suite(run)
        return Rules() if suite is None else Rules.of(suite.document)

    def _trees(self) -> tuple[Path, ...]:
        return (self.data, journal.private_tree(self.data)) if self.role == EVALUATOR else (self.data,)

    def _allowed(self, run: Baseline) -> Baseline:
        if run.is_private and self.role != EVALUATOR:
            raise _for_evaluators()
        return run


def _for_evaluators() -> UsageError:
    return UsageError(f"a private holdout is read only with --role {EVALUATOR}", field="--role")


def _from_path(path: Path) -> Baseline:
    folder = path if path.is_dir() else path.parent
    is_run = (folder / "manifest.json").is_file() and (path.is_dir() or path.name == "record.json")
    return of_run(folder) if is_run or path.is_dir() else read(path)


def suite_called(name: str, suites: Path) -> Suite | None:
    """Return the suite with this id, or in the folder of this name, under ``suites``; None if there is none."""
    for path in sorted({*suites.glob("*.json"), *suites.glob("*/*.json")}):
        if (path.name == "suite.json" and path.parent.name == name) or _suite_id(path) == name:
            return load_below(path, suites)
    return None


def _suite_id(path: Path) -> str | None:
    """Return the id of a suite file; None for any other, broken ones among them."""
    try:
        document, _ = contract.read_json(path)
    except DocumentError:
        return None
    return document.get("id") if isinstance(document, dict) and "cases" in document else None


def suite_that_ran(folder: Path) -> Suite | None:
    """Return the suite of a run folder from where it lay when it ran, as it is now; None where it is gone.

    Seen from the data folder first, in case the whole tree was moved.
    """
    try:
        places = journal.read_manifest(folder)["places"]
        moved = {name: (folder.parents[1] / places[name]).resolve() for name in ("suite", "root")}
        found = moved if moved["suite"].is_file() else places["absolute"]
        return load(Path(found["suite"]), root=Path(found["root"]))
    except (EvalstatsError, KeyError):
        return None
