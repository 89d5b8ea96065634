"""The run record: one arm of a run, scored, as a document (``eval-run.v1``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evalstats import scoring
from evalstats.contract import Axis, Outcome, Status, Tier, Verdict
from evalstats.runner import commands, environment
from evalstats.runner.planning import Plan, PlannedRun
from evalstats.scoring import CaseResult, RunResult
from evalstats.suite import DEFAULT_TIMEOUT_SECONDS
from evalstats.trials import Trial, timestamp

LONE_LIVE_TRIAL = "one trial a case on a live tier is never authoritative"


def run_record(
    plan: Plan, run: PlannedRun, manifest: dict[str, Any], trials: Sequence[Trial]
) -> dict[str, Any]:
    """Return the record of one complete run, valid against ``eval-run.v1``."""
    result = scoring.score_run(plan.suite, trials, cases=plan.cases)
    lone = plan.suite.tier is Tier.LIVE and plan.trials_per_case == 1
    record = {
        "schema_version": 1,
        "run_id": run.run_id,
        "suite": {name: value for name, value in manifest["suite"].items() if value is not None},
        "started_at": min((t.started_at for t in trials if t.started_at), default=manifest["created_at"]),
        "completed_at": timestamp(),
        "status": result.status,
        "verdict": _verdict(result.status, lone=lone),
        "git": manifest["git"],
        "runtime": runtime(plan, trials),
        "environment": {**_environment(plan, run, trials), **_settings(manifest)},
        "case_results": _case_results(plan, result, trials),
        "aggregate_score": result.aggregate_score,
        "dimension_scores": result.dimension_scores,
        "notes": _notes(result, lone=lone) or None,
        "trials": _counts(plan, trials, result),
    }
    names = ("arm", "axis", "seed", "registry_version", "cli_version", "model", "judge_model", "is_mock")
    known = {name: value for name, value in record.items() if value is not None or name == "aggregate_score"}
    return {**known, **{name: manifest[name] for name in names}, "cost": None, "tokens": None}


def _notes(result: RunResult, *, lone: bool) -> list[str]:
    """Return what a reader of the record must know beside the numbers."""
    lost = f"{result.n_lost} of {result.n_trials} trials lost to infrastructure"
    return [note for note, holds in ((LONE_LIVE_TRIAL, lone), (lost, result.n_lost > 0)) if holds]


def runtime(plan: Plan, trials: Sequence[Trial] = ()) -> dict[str, Any]:
    """Return what carries the cases out: the shell, nothing, or a runtime that is missing."""
    inputs = [(case, commands.inputs(plan.suite, case, plan.runs[0].arm)) for case in plan.cases]
    reasons = [commands.why_skipped(case, given) for case, given in inputs]
    runs_any = any(
        r is None and commands.argv(g) is not None for r, (_, g) in zip(reasons, inputs, strict=True)
    )
    named = next((case.runtime for case in plan.cases if case.runtime), None)
    name = "shell" if runs_any else "static" if None in reasons or named is None else named
    facts: dict[str, Any] = {"name": name, "live": False, "version": None, "model": None}
    facts["attempts"] = max((trial.attempt for trial in trials), default=1)
    facts["timeout_seconds"] = plan.suite.environment.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS)
    if trials and all(t.outcome is Outcome.SKIPPED for t in trials):
        facts["skipped_reason"] = "; ".join(dict.fromkeys(t.reason for t in trials if t.reason))
    return facts


def _verdict(status: Status, *, lone: bool) -> Verdict | None:
    if lone or status is Status.SKIPPED:
        return Verdict.ADVISORY
    words = {Status.PASS: Verdict.PASS, Status.FAIL: Verdict.FAIL, Status.INCONCLUSIVE: Verdict.INCONCLUSIVE}
    return words.get(status)


def _environment(plan: Plan, run: PlannedRun, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return what was in effect, not what was asked for: the network, for one, is never cut off here."""
    levels = [str(t.isolation) for t in trials if t.isolation is not None]
    facts: dict[str, Any] = {
        "scrubbed_env_prefixes": list(environment.scrubbed_prefixes(plan.suite)),
        "isolated_home": True,
        "isolated_codex_home": True,
        "network_access": "unrestricted",
        "isolation": {"processes": sorted(set(levels)), "network": "none", "files": "none"},
    }
    if environment.hooks_disabled(plan.suite, run.arm):
        facts["hooks_disabled"] = True
    return facts


def _settings(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what was particular to the arm, as the manifest has it."""
    settings = {name: value for name, value in manifest.get("arm_settings", {}).items() if value}
    facts = {"arm_settings": settings, "context": manifest.get("context")}
    return {name: value for name, value in facts.items() if value}


def _case_results(plan: Plan, result: RunResult, trials: Sequence[Trial]) -> list[dict[str, Any]]:
    if plan.axis is not Axis.CONTEXT:
        return [_case_result(case) for case in result.cases]
    by_case: dict[str, list[Trial]] = {case.case_id: [] for case in result.cases}
    for trial in trials:
        by_case[trial.case_id].append(trial)
    return [{**_case_result(case), **_in_context(by_case[case.case_id])} for case in result.cases]


def _in_context(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return what a context may change beside the score, and how many trials say nothing of it, and why."""
    usable = [trial for trial in trials if trial.outcome.usable]
    tokens = [
        None if None in (t.tokens_in, t.tokens_out) else (t.tokens_in or 0) + (t.tokens_out or 0)
        for t in usable
    ]
    degraded = Counter(t.reason for t in trials if t.outcome is Outcome.DEGRADED)
    return {
        "tokens": _mean_if_known(tokens),
        "tool_calls": _mean_if_known([t.tool_calls for t in usable]),
        "degraded": dict(sorted(degraded.items())),
    }


def _mean_if_known(counts: Sequence[int | None]) -> float | None:
    """Return the mean of counts, all of which are known; a mean of the others would favour one arm."""
    known = [count for count in counts if count is not None]
    return sum(known) / len(known) if known and len(known) == len(counts) else None


def _case_result(case: CaseResult) -> dict[str, Any]:
    return {
        "id": case.case_id,
        "status": case.status,
        "score": case.score,
        "median_score": case.median_score,
        "dimension_scores": case.dimension_scores,
        "duration_ms": None if case.duration_s is None else 1000 * case.duration_s,
        "critical": case.critical,
        "archetype": case.archetype,
        "trials": case.n_trials,
        "usable": case.n_usable,
        "passes": case.n_passed,
        "pass_rate": case.pass_rate,
        "diagnostics": list(case.diagnostics),
    }


def _counts(plan: Plan, trials: Sequence[Trial], result: RunResult) -> dict[str, Any]:
    return {
        "planned": plan.planned_per_run,
        "recorded": len(trials),
        "usable": sum(t.outcome.usable for t in trials),
        "unusable": result.unusable,
    }
