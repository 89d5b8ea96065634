"""From what a runtime answered to how the trial ended: status, outcome, score, and what came of each expectation."""

from __future__ import annotations

from typing import Any

from evalstats import scoring
from evalstats.contract import Arm, ExpectationType, Outcome, Status
from evalstats.runner import expectations
from evalstats.runner.evidence import Evidence
from evalstats.runner.runtimes.protocol import Answer
from evalstats.runner.specs import TrialSpec
from evalstats.suite import Case, Suite
from evalstats.trials import ExpectationResult

Facts = dict[str, Any]


def verdict(spec: TrialSpec, suite: Suite, folder: str, answer: Answer, skills: frozenset[str]) -> Facts:
    """Return how a trial ended; ``skills`` are those that the skill-on arm has, and no other."""
    if answer.outcome is Outcome.SKIPPED:
        return skipped(answer.reason)
    if answer.outcome is Outcome.INFRASTRUCTURE:
        error = {"reason": answer.reason, "error_class": answer.error_class}
        return {"status": Status.ERROR, "outcome": Outcome.INFRASTRUCTURE, **error}
    if reason := _contamination(spec.arm, answer, skills):
        return {"status": Status.ERROR, "outcome": Outcome.CONTAMINATED, "reason": reason}
    if answer.outcome is not Outcome.OK:
        return _cut_short(spec.case, answer)
    evidence = Evidence(
        suite=suite,
        folder=answer.folder or folder,
        is_own_folder=answer.folder is not None,
        has_output=answer.ran,
        exit_code=answer.exit_code,
        stdout=answer.text.decode(errors="replace"),
        stderr=answer.stderr.decode(errors="replace"),
    )
    return judged(spec.case, evidence)


def skipped(reason: str | None) -> Facts:
    """Return what is said of a trial that was not carried out."""
    return {"status": Status.SKIPPED, "outcome": Outcome.SKIPPED, "reason": reason}


def _contamination(arm: Arm, answer: Answer, skills: frozenset[str]) -> str | None:
    """Return why the arm was not what its name says; None where it was, or nobody can tell."""
    if answer.skills is None or not skills:
        return None
    there = sorted(skills & answer.skills)
    if arm is Arm.SKILL_OFF and there:
        return f"the skill {there[0]} was present in a skill-off trial"
    if arm is Arm.SKILL_ON and not there:
        return f"the skill {min(skills)} was absent from a skill-on trial"
    return None


def _cut_short(case: Case, answer: Answer) -> Facts:
    """Return what is said of a trial that ran into a limit: it met no expectation."""
    results = tuple(
        ExpectationResult(
            index=index, type=e.type, required=e.required, passed=False, detail=f"not met: {answer.reason}"
        )
        for index, e in enumerate(case.expectations)
    )
    return {
        "status": Status.FAIL,
        "outcome": answer.outcome,
        "reason": answer.reason,
        "score": 0.0,
        "passed": False,
        "dimension_scores": dict.fromkeys(case.dimensions, 0.0),
        "expectations": results,
    }


def judged(case: Case, evidence: Evidence) -> Facts:
    """Return what the expectations of a case say of the traces of a trial."""
    results = expectations.check_case(case, evidence)
    facts: Facts = {"expectations": results, **_cited(case, results)}
    undecided = [result.detail for result in results if result.required and result.passed is None]
    if undecided:
        reason = "; ".join(dict.fromkeys(undecided))
        return {**facts, "status": Status.INCONCLUSIVE, "outcome": Outcome.UNSCORED, "reason": reason}
    status, score = scoring.case_status(results), scoring.case_score(results)
    return {
        **facts,
        "status": status,
        "outcome": Outcome.OK,
        "score": score,
        "passed": status is Status.PASS,
        "dimension_scores": dict.fromkeys(case.dimensions, score),
    }


def _cited(case: Case, results: tuple[ExpectationResult, ...]) -> dict[str, tuple[str, ...]]:
    """Return which of the expected cards and recipes were cited; nothing where none was expected."""
    cited: dict[str, tuple[str, ...]] = {}
    kinds = {ExpectationType.CITES_CARD: "cited_cards", ExpectationType.CITES_RECIPE: "cited_recipes"}
    for expectation, result in zip(case.expectations, results, strict=True):
        name = kinds.get(expectation.type)
        if name is not None:
            here = (str(expectation.value),) if result.passed else ()
            cited[name] = cited.get(name, ()) + here
    return cited
