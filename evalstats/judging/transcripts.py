"""What there is to be judged: the runs of a name, their suite as it was, and the texts of their trials."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats import suite as suites
from evalstats.artifacts import Artifacts
from evalstats.contract import DegradedReason, Outcome
from evalstats.errors import JournalError, SuiteError, UsageError
from evalstats.judging.judge import DEFAULT_RUBRIC
from evalstats.judging.questions import Question, questions
from evalstats.suite import Suite
from evalstats.trials import Trial

_NOTHING_RAN = (Outcome.SKIPPED, Outcome.MISSING, Outcome.INFRASTRUCTURE, Outcome.CONTAMINATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One run that is judged: its folder, its manifest, its suite, its trials and what is asked of each."""

    folder: Path
    manifest: Mapping[str, Any]
    suite: Suite
    trials: tuple[Trial, ...]
    artifacts: Artifacts

    @property
    def run_id(self) -> str:
        """Return the id of the run."""
        return str(self.manifest["run_id"])

    @property
    def model(self) -> str | None:
        """Return the model that is the subject, where one is known."""
        known: str | None = self.manifest.get("model") or self.manifest.get("arm_settings", {}).get("model")
        return known

    def is_judged(self) -> bool:
        """Return whether a judge decides the scores of the run, as of now."""
        return bool(journal.read_manifest(self.folder).get("judge"))

    def items(self) -> Iterator[tuple[Trial, Question]]:
        """Yield each trial with each question that a judge can be asked about it."""
        asked = {(q.case_id, q.expectation): q for q in questions(self.suite)}
        for trial in self.trials:
            for result in trial.expectations if _has_output(trial) else ():
                question = asked.get((trial.case_id, result.index))
                if question is not None and result.passed is None:
                    yield trial, question

    def text(self, trial: Trial, question: Question) -> tuple[str | None, str | None]:
        """Return the text to be judged and its digest; None where a transcript was not kept."""
        name = trial.artifacts.get(question.target)
        if name is None:
            return (None, None) if question.target == "transcript" else ("", contract.digest(b""))
        return self.artifacts.get(name).decode("utf-8", "replace"), name


def _has_output(trial: Trial) -> bool:
    """Return whether something ran and ended by itself, so that what it said can be judged."""
    if trial.outcome is Outcome.DEGRADED:
        return trial.reason == DegradedReason.INSUFFICIENT_DECISION_EVIDENCE
    return trial.outcome not in _NOTHING_RAN and (bool(trial.artifacts) or trial.duration_s is not None)


def runs(data: Path, name: str) -> list[Judged]:
    """Return the run called so, or all runs of the group called so.

    Raises UsageError where there is none, or one without a suite, as those from other tools' logs are.
    """
    folders = _folders(data, name)
    if not folders:
        raise UsageError(
            f"there is no run {name}; `evalstats runs` lists them", path=data / "runs", field="RUN"
        )
    return [_judged(folder, data) for folder in folders]


def _folders(data: Path, name: str) -> list[Path]:
    place = data / "runs"
    if suites.is_inside_path(name.replace(":", "-")) and (place / name / "manifest.json").is_file():
        return [place / name]
    beginning = (
        path.parent for path in sorted(place.glob("*/manifest.json")) if path.parent.name.startswith(name)
    )
    return [folder for folder in beginning if journal.read_manifest(folder).get("group_id") == name]


def _judged(folder: Path, data: Path) -> Judged:
    manifest = journal.read_manifest(folder)
    if not (folder / "suite.json").is_file():
        raise UsageError("holds no suite, so there are no questions to put to a judge", path=folder)
    return Judged(
        folder=folder,
        manifest=manifest,
        suite=_suite(folder, manifest, data),
        trials=tuple(journal.read_trials(folder)),
        artifacts=Artifacts(data / "artifacts"),
    )


def _suite(folder: Path, manifest: Mapping[str, Any], data: Path) -> Suite:
    """Return the suite as it was when the run began; files that it names are looked for where it lay."""
    path, places = folder / "suite.json", manifest.get("places", {})
    source = suites.read(path)
    if source.problems:
        raise SuiteError(path, source.problems)
    seen_from_here = data / places.get("root", os.curdir)
    root = Path(places.get("absolute", {}).get("root", seen_from_here))
    root = root if root.is_dir() else seen_from_here
    return suites.of_document(source.document, path, raw=source.raw, root=root.resolve())


def rubric(suite: Suite, given: Path | None) -> tuple[str, str]:
    """Return the text and the digest of the rubric: the file given, else the suite's, else ours."""
    named = suite.document.get("judge", {}).get("rubric")
    if given is None and named is None:
        return DEFAULT_RUBRIC, contract.digest(DEFAULT_RUBRIC.encode())
    path = given if given is not None else suite.root / named
    try:
        raw = path.read_bytes()
        return raw.decode(), contract.digest(raw)
    except OSError as error:
        raise UsageError(
            f"the rubric cannot be read: {error.strerror}", path=path, field="--rubric"
        ) from None
    except UnicodeDecodeError:
        raise UsageError("the rubric is not UTF-8", path=path, field="--rubric") from None


def one_suite(found: Iterable[Judged]) -> Suite:
    """Return the suite that runs share. Raises JournalError where they are of several."""
    suite, *others = [each.suite for each in found]
    if any(other.raw != suite.raw for other in others):
        raise JournalError("the runs of this group are not of one suite", path=suite.path.parent)
    return suite
