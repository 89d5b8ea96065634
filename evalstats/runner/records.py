"""The run record: one arm of a run, scored, as a document (``eval-run.v1``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evalstats import scoring
from evalstats.artifacts import Artifacts
from evalstats.contract import Arm, Axis, Outcome, Status, Tier, Verdict
from evalstats.runner import account, casting, environment
from evalstats.runner.isolation import holds
from evalstats.runner.ledger import LOST, Lost
from evalstats.runner.planning import Plan
from evalstats.runner.specs import PlannedRun
from evalstats.scoring import CaseResult, RunResult
from evalstats.suite import DEFAULT_TIMEOUT_SECONDS
from evalstats.trials import Trial, timestamp

Effect = Mapping[str, Any]  # what was in effect for a trial
LONE_LIVE_TRIAL = "one trial a case on a live tier is never authoritative"


def run_record(
    plan: Plan,
    run: PlannedRun,
    manifest: dict[str, Any],
    trials: Sequence[Trial],
    artifacts: Artifacts,
    lost: Sequence[Lost] = (),
) -> dict[str, Any]:
    """Return the record of one complete run, valid against ``eval-run.v1``; ``lost`` are attempts that do not count."""
    result = scoring.score_run(plan.suite, trials, cases=plan.cases)
    accounts = account.of(trials, artifacts)
    effects = holds.of(trials, artifacts)
    notes = [*_notes(plan, result, trials, effects), *_notes_of(lost)]
    record = {
        "schema_version": 1,
        "run_id": run.run_id,
        "suite": {name: value for name, value in manifest["suite"].items() if value is not None},
        "started_at": min((t.started_at for t in trials if t.started_at), default=manifest["created_at"]),
        "completed_at": timestamp(),
        "status": result.status,
        "verdict": _verdict(plan, result),
        "git": manifest["git"],
        "runtime": runtime(plan, run.arm, trials, accounts),
        "environment": {**_environment(plan, run, effects), **_settings(manifest)},
        "case_results": _case_results(plan, result, trials),
        "aggregate_score": result.aggregate_score,
        "dimension_scores": result.dimension_scores,
        "notes": notes or None,
        "trials": _counts(plan, trials, result),
    }
    names = ("arm", "axis", "seed", "registry_version", "cli_version", "model", "judge_model", "is_mock")
    known = {name: value for name, value in record.items() if value is not None or name == "aggregate_score"}
    kept = {name: manifest[name] for name in names}
    return {**known, **kept, "cost": _cost(trials, accounts), "tokens": _tokens(trials)}


def _notes(plan: Plan, result: RunResult, trials: Sequence[Trial], effects: Sequence[Effect]) -> list[str]:
    """Return what a reader of the record must know beside the numbers."""
    n, skipped = result.n_trials, result.unusable.get(Outcome.SKIPPED, 0)
    why = "; ".join(dict.fromkeys(str(t.reason) for t in trials if t.outcome is Outcome.SKIPPED))
    contaminated = result.unusable.get(Outcome.CONTAMINATED, 0)
    connected = (
        sum(e["network"] != holds.NO_NETWORK for e in effects) if casting.is_offline(plan.suite) else 0
    )
    told = {
        LONE_LIVE_TRIAL: _is_lone(plan),
        f"{result.n_lost} of {n} trials lost to infrastructure": result.n_lost > 0,
        f"{skipped} of {n} trials skipped, and in no average: {why}": skipped > 0,
        f"{contaminated} of {n} trials contaminated: the skill was not as the arm says": contaminated > 0,
        f"the suite forbids the network, and {connected} of {n} trials had one": connected > 0,
    }
    return [note for note, holds in told.items() if holds]


def _notes_of(lost: Sequence[Lost]) -> list[str]:
    """Return what is to be known of attempts that count in no number, though they may have cost something."""
    if not lost:
        return []
    trials, cost = len({one.key for one in lost}), sum(one.cost or 0.0 for one in lost)
    told = f"{cost:.4g} USD of it known" if cost else "their cost is in no sum"
    return [f"{len(lost)} more attempts at {trials} trials were lost or doubled: {told} ({LOST})"]


def _is_lone(plan: Plan) -> bool:
    is_live = plan.suite.tier is Tier.LIVE or casting.is_live(plan)
    return is_live and plan.trials_per_case == 1


def runtime(
    plan: Plan, arm: Arm, trials: Sequence[Trial] = (), accounts: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return what carries the cases out: a live runtime, the shell, nothing, or one that is missing."""
    facts: dict[str, Any] = {
        "name": _name(plan),
        "live": casting.is_live(plan),
        "version": None,
        "model": casting.model(plan, arm),
        "attempts": max((trial.attempt for trial in trials), default=1),
        "timeout_seconds": plan.suite.environment.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS),
    }
    if accounts:
        facts |= account.summary(accounts)
    if trials and all(t.outcome is Outcome.SKIPPED for t in trials):
        facts["skipped_reason"] = "; ".join(dict.fromkeys(t.reason for t in trials if t.reason))
    return facts


def _name(plan: Plan) -> str:
    """Return the name of the runtime: the first beyond this machine's own, if there is one."""
    named = casting.names(plan)
    beyond = [name for name in named if name not in casting.LOCAL]
    missing = next((case.runtime for case in plan.cases if case.runtime), "static")
    local = next((name for name in casting.LOCAL if name in named), missing)
    return beyond[0] if beyond else local


def _verdict(plan: Plan, result: RunResult) -> Verdict | None:
    if _is_lone(plan) or result.unusable.get(Outcome.SKIPPED, 0):
        return Verdict.ADVISORY
    words = {Status.PASS: Verdict.PASS, Status.FAIL: Verdict.FAIL, Status.INCONCLUSIVE: Verdict.INCONCLUSIVE}
    return words.get(result.status)


def _cost(trials: Sequence[Trial], accounts: Sequence[Mapping[str, Any]]) -> float | None:
    """Return what a run cost in US dollars, lost attempts included as far as they tell.

    None where nothing tells a cost, or a trial that was answered does not.
    """
    silent = (Outcome.SKIPPED, Outcome.INFRASTRUCTURE)
    known = [trial.cost for trial in trials if trial.cost is not None]
    if not known or any(t.cost is None and t.outcome not in silent for t in trials):
        return None
    return sum(known) + account.lost_cost(accounts)


def _tokens(trials: Sequence[Trial]) -> dict[str, int] | None:
    """Return how many tokens went in and out, over the trials that count them; None where none does."""
    counted = [t for t in trials if t.tokens_in is not None and t.tokens_out is not None]
    if not counted:
        return None
    names = {"in": "tokens_in", "out": "tokens_out", "cache": "tokens_cache"}
    sums = {short: sum(getattr(t, name) or 0 for t in counted) for short, name in names.items()}
    return {**sums, "trials": len(counted)}


def _environment(plan: Plan, run: PlannedRun, effects: Sequence[Effect]) -> dict[str, Any]:
    """Return what was in effect, not what was asked for."""
    facts: dict[str, Any] = {
        "scrubbed_env_prefixes": list(environment.scrubbed_prefixes(plan.suite)),
        "isolated_home": True,
        "isolated_codex_home": True,
        **holds.summary(effects),
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
