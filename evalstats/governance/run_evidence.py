"""Does a run folder still hold all that its record stands on, and does the record say what the journal gives?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evalstats import contract, journal, judgements, scoring
from evalstats.artifacts import Artifacts
from evalstats.errors import EvalstatsError, JournalError
from evalstats.governance.baselines import Baseline
from evalstats.governance.verdicts import DUST
from evalstats.suite import load, select
from evalstats.trials import Trial


@dataclass(frozen=True)  # without slots: properties are remembered
class RunEvidence:
    """One finished run and its folder, read once."""

    run: Baseline
    folder: Path
    shared_artifacts: Path

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Return the trials of the journals, with the votes of the judge if the run has one."""
        if not (self.folder / "manifest.json").is_file():
            return ()  # said by `missing`
        return tuple(judgements.standing(self.folder, journal.read_manifest(self.folder)))

    @cached_property
    def artifacts(self) -> tuple[str, ...]:
        """Return the digests of all artifacts that the trials name, sorted."""
        return tuple(sorted({digest for trial in self.trials for digest in trial.artifacts.values()}))

    def missing(self) -> tuple[str, ...]:
        """Return what the run stands on and is gone or damaged: files of its folder, and artifacts by digest."""
        files = [name for name in ("manifest.json", "suite.json") if not (self.folder / name).is_file()]
        files += [] if self.trials else ["journal"]
        blobs = Artifacts(self.shared_artifacts)
        return (*files, *(f"artifact {name[:12]}…" for name in self.artifacts if not _is_whole(blobs, name)))

    def altered(self) -> tuple[str, ...]:
        """Return what the record says otherwise than the journal, scored again by the suite as it ran."""
        if not (self.folder / "suite.json").is_file() or not self.trials:
            return ()  # said by `missing`
        if contract.digest((self.folder / "suite.json").read_bytes()) != self.run.raw:
            return ("the suite file",)
        try:
            again = self._scored_again()
        except EvalstatsError:
            return ("the suite file, which cannot be read",)
        return tuple(name for name, value in again.items() if _differs(value, self._recorded().get(name)))

    def hashes(self) -> dict[str, str]:
        """Return the digests of what lies in the folder."""
        journals = {path.name: contract.digest(path.read_bytes()) for path in journal.journals(self.folder)}
        return {
            "record": self.run.sha256,
            "manifest": contract.digest((self.folder / "manifest.json").read_bytes()),
            "journal": contract.canonical_digest(journals),
            "artifacts": contract.canonical_digest(list(self.artifacts)),
        }

    def _scored_again(self) -> dict[str, Any]:
        suite = load(self.folder / "suite.json")
        cases = select(suite, case_ids=journal.read_manifest(self.folder)["cases"])
        result = scoring.score_run(suite, self.trials, cases=cases)
        facts = {"status": result.status, "aggregate_score": result.aggregate_score}
        facts |= {f"dimension {name}": score for name, score in result.dimension_scores.items()}
        for case in result.cases:
            facts |= _facts(
                case.case_id, case.status, case.score, case.n_usable, case.n_passed, case.critical
            )
        return facts

    def _recorded(self) -> dict[str, Any]:
        record = self.run.record
        facts = {"status": record["status"], "aggregate_score": record["aggregate_score"]}
        facts |= {f"dimension {name}": score for name, score in record["dimension_scores"].items()}
        for case in record["case_results"]:
            critical = bool(case.get("critical"))
            facts |= _facts(
                case["id"], case["status"], case["score"], case.get("usable"), case.get("passes"), critical
            )
        return facts


def _facts(case_id: str, *values: Any) -> Mapping[str, Any]:
    names = ("status", "score", "usable", "passes", "critical")
    return {f"{name} of {case_id}": value for name, value in zip(names, values, strict=True)}


def _differs(computed: Any, recorded: Any) -> bool:
    if isinstance(computed, float) and isinstance(recorded, (int, float)):
        return abs(computed - recorded) > DUST
    return bool(computed != recorded)


def _is_whole(blobs: Artifacts, name: str) -> bool:
    try:
        blobs.get(name)
    except JournalError:
        return False
    return True
