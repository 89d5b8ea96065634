"""The run record of a run that was judged: its scores as they stand now, and by which judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalstats import contract, journal, judgements, scoring
from evalstats.contract import Status, Verdict
from evalstats.errors import DocumentError, JournalError
from evalstats.journal import encode, owners_only, write_synced
from evalstats.judging import families
from evalstats.judging.transcripts import Judged
from evalstats.scoring import CaseResult, RunResult
from evalstats.trials import Trial

RECORD = "record.json"
_VERDICTS = {
    Status.PASS: Verdict.PASS,
    Status.FAIL: Verdict.FAIL,
    Status.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


def rescore(run: Judged) -> tuple[dict[str, Any] | None, list[Trial]]:
    """Write the record of a run anew with the votes of its judge; return it, if the run has one, and the trials."""
    manifest, path = journal.read_manifest(run.folder), run.folder / RECORD
    trials = judgements.standing(run.folder, manifest)
    if not path.is_file():
        return None, trials
    record = {**_read(path), **_scores(run, manifest, trials, _read(path))}
    with owners_only(run.suite.is_private):
        write_synced(path, encode(record))
    return record, trials


def _read(path: Path) -> dict[str, Any]:
    try:
        document, _ = contract.read_json(path)
    except DocumentError as error:
        raise JournalError(error.message, path=path, line=error.line) from None
    return dict(document)


def _scores(
    run: Judged, manifest: Mapping[str, Any], trials: Sequence[Trial], old: Mapping[str, Any]
) -> dict[str, Any]:
    ids = {entry["id"] for entry in old["case_results"]}
    cases = [case for case in run.suite.cases if case.id in ids]
    result = scoring.score_run(run.suite, trials, cases=cases)
    known = {case.case_id: case for case in result.cases}
    counts = {"usable": result.n_trials - sum(result.unusable.values()), "unusable": result.unusable}
    return {
        "status": result.status,
        "verdict": _verdict(result, old),
        "case_results": [{**entry, **_case(known[entry["id"]])} for entry in old["case_results"]],
        "aggregate_score": result.aggregate_score,
        "dimension_scores": result.dimension_scores,
        "trials": {**old.get("trials", {}), **counts},
        "judge_model": manifest.get("judge_model"),
        "judge_rubric_sha256": manifest.get("judge_rubric_sha256"),
        **_notes(manifest, old),
    }


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "status": case.status,
        "score": case.score,
        "median_score": case.median_score,
        "dimension_scores": case.dimension_scores,
        "usable": case.n_usable,
        "passes": case.n_passed,
        "pass_rate": case.pass_rate,
        "diagnostics": list(case.diagnostics),
    }


def _verdict(result: RunResult, old: Mapping[str, Any]) -> str | None:
    """Return the verdict that goes with the status; what was advisory for another reason stays so."""
    if old.get("verdict") == Verdict.ADVISORY and result.status is not Status.SKIPPED:
        return Verdict.ADVISORY
    return Verdict.ADVISORY if result.status is Status.SKIPPED else _VERDICTS.get(result.status)


def _notes(manifest: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    judge = manifest.get("judge", {})
    told = families.warning(frozenset(judge.get("family", ())), frozenset(judge.get("subject_family", ())))
    notes = old.get("notes") or []
    notes = [notes] if isinstance(notes, str) else list(notes)
    notes += [told] if told and told not in notes else []
    return {"notes": notes} if notes else {}
