"""What keeps a run from becoming the baseline? Every reason at once, on plain facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from evalstats.contract import Status, Tier, Visibility
from evalstats.governance.verdicts import DUST, Holding, Quantity


class Standing(StrEnum):
    """May a run that falls below the baseline stop a change?"""

    BLOCKING = "blocking"
    ADVISORY = "advisory"


class Reason(StrEnum):
    """Why a promotion is refused."""

    CRITICAL_CANARY_FAILED = "critical_canary_failed"
    SAFETY_REGRESSED = "safety_regressed"
    RUNTIME_COMPATIBILITY_REGRESSED = "runtime_compatibility_regressed"
    HOLDOUT_UNREVIEWED = "holdout_unreviewed"
    REVIEW_REJECTED = "review_rejected"
    ARTIFACTS_MISSING = "artifacts_missing"
    RATIONALE_EMPTY = "rationale_empty"
    PROMOTER_UNNAMED = "promoter_unnamed"
    MOCK_RUN = "mock_run"
    RUN_NOT_SCORED = "run_not_scored"
    RECORD_ALTERED = "record_altered"
    CASES_MISSING = "cases_missing"
    SUITE_CHANGED = "suite_changed"
    POLICY_WITHOUT_BASELINE = "policy_without_baseline"
    ALREADY_PROMOTED = "already_promoted"
    TOO_FEW_REPEATS = "too_few_repeats"
    REPEAT_COUNT_ABSENT = "repeat_count_absent"
    ONE_TRIAL = "one_trial"
    VARIANCE_NOTES_ABSENT = "variance_notes_absent"
    SKIPPED_CASES_ABSENT = "skipped_cases_absent"
    STANDING_ABSENT = "standing_absent"
    CANARY_NOT_PERFECT = "canary_not_perfect"
    BLOCKING_UNRATCHETED = "blocking_unratcheted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A critical case of the run; ``pass_rate`` over its recorded trials, None where it has no usable one."""

    case_id: str
    status: Status
    pass_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a baseline of a noisy suite carries. None is absent; no case skipped is an empty tuple."""

    repeat_count: int | None = None
    variance_notes: str | None = None
    skipped_cases: tuple[str, ...] | None = None
    standing: Standing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a promotion stands on. The defaults are those of a run that nothing speaks against.

    ``safety`` and ``runtime_compatibility`` are held against the baseline so far, and None where there is none.
    ``holdouts`` counts the private holdouts that ran on the same candidate and regressed; ``reviewed`` says
    whether somebody has looked at the holdouts since, and accepted the run. ``required`` is the policy's list.
    """

    tier: Tier
    visibility: Visibility
    status: Status
    rationale: str
    promoter: str
    conditions: Conditions
    critical: tuple[Canary, ...] = ()
    has_baseline: bool = False
    safety: Quantity | None = None
    runtime_compatibility: Quantity | None = None
    holdouts: int = 0
    reviewed: bool = False
    rejected: bool = False
    missing_artifacts: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    missing_cases: tuple[str, ...] = ()
    skipped_cases: tuple[str, ...] = ()
    is_mock: bool = False
    live: bool = False
    scoring_changed: bool = False
    mode: str = "promotable"
    already_promoted: bool = False
    repeats_wanted: int | None = None
    ratcheted: bool = False
    required: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, and what to do about it."""

    reason: Reason
    message: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


def refusals(evidence: Evidence) -> list[Refusal]:
    """Return every reason that keeps the run from becoming the baseline; none means that it may."""
    return [Refusal(reason, said) for reason, rule in _RULES.items() if (said := rule(evidence))]


# --- the rules: what is wrong, or an empty string ----------------------------------------------------


def _critical_canary_failed(e: Evidence) -> str:
    asked = e.visibility is Visibility.PUBLIC_CANARY or "critical_canaries_pass" in e.required
    failed = [c.case_id for c in e.critical if c.status is not Status.PASS] if asked else []
    return f"{_some(failed)} did not pass; a critical case is never given up" if failed else ""


def _safety_regressed(e: Evidence) -> str:
    return _lower(e.safety, "safety", "no_safety_regression" in e.required and e.has_baseline)


def _runtime_compatibility_regressed(e: Evidence) -> str:
    must_hold = "no_runtime_compatibility_regression" in e.required and e.has_baseline
    return _lower(e.runtime_compatibility, "runtime compatibility", must_hold)


def _lower(quantity: Quantity | None, name: str, must_hold: bool) -> str:
    """Return what speaks against a protected dimension; the policy may ask that it be shown to hold."""
    if quantity is None:
        return ""
    if quantity.holding is Holding.REGRESSED:
        return f"{name} fell by {-(quantity.delta or 0.0):.4f} against the baseline"
    if must_hold and quantity.holding is Holding.UNDECIDED:
        return f"{name} is not shown to hold, and the policy asks for it; use more trials a case"
    return f"{name} was not scored, and the baseline has it" if _is_gone(quantity) else ""


def _is_gone(quantity: Quantity) -> bool:
    return quantity.holding is Holding.MISSING and quantity.baseline is not None


def _holdout_unreviewed(e: Evidence) -> str:
    if e.reviewed:
        return ""
    way_out = "look at them and say so: evalstats baseline review RUN --looked-at holdouts"
    if e.holdouts:
        return f"{e.holdouts} private holdout run(s) regressed and nobody has reviewed them; {way_out}"
    asked = "private_holdouts_reviewed" in e.required
    return f"the policy asks for a review of the private holdouts; {way_out}" if asked else ""


def _review_rejected(e: Evidence) -> str:
    return "the last review rejected the run" if e.rejected else ""


def _artifacts_missing(e: Evidence) -> str:
    missing = e.missing_artifacts
    return (
        f"{len(missing)} file(s) that the run stands on are gone or damaged: {_some(missing)}"
        if missing
        else ""
    )


def _rationale_empty(e: Evidence) -> str:
    return "" if e.rationale.strip() else "say why, with --rationale"


def _promoter_unnamed(e: Evidence) -> str:
    return "" if e.promoter.strip() else "say who promotes, with --by"


def _mock_run(e: Evidence) -> str:
    return "a mock run measures nothing" if e.is_mock else ""


def _run_not_scored(e: Evidence) -> str:
    unscored = e.status in (Status.ERROR, Status.SKIPPED)
    return f"the run ended as {e.status}: it says nothing about its subject" if unscored else ""


def _record_altered(e: Evidence) -> str:
    return f"the record is not what its journal gives: {_some(e.altered)}" if e.altered else ""


def _cases_missing(e: Evidence) -> str:
    missing = e.missing_cases
    return f"{len(missing)} case(s) of the suite did not run: {_some(missing)}" if missing else ""


def _suite_changed(e: Evidence) -> str:
    changed = "the suite's cases or scoring changed since the run: it would be stale at once; run it again"
    return changed if e.scoring_changed else ""


def _policy_without_baseline(e: Evidence) -> str:
    none = "the suite's baseline_policy.mode is none; set it to compare or promotable"
    return none if e.mode == "none" else ""


def _already_promoted(e: Evidence) -> str:
    return "this run is the baseline already" if e.already_promoted else ""


def _too_few_repeats(e: Evidence) -> str:
    have, wanted = e.conditions.repeat_count, e.repeats_wanted
    if wanted is None or have is None or have >= wanted:
        return ""
    return f"{have} usable trial(s) of some case, and the policy asks for {wanted}"


def _repeat_count_absent(e: Evidence) -> str:
    return "the record does not count its trials" if e.live and e.conditions.repeat_count is None else ""


def _one_trial(e: Evidence) -> str:
    count = e.conditions.repeat_count
    alone = e.live and count is not None and count < 2
    return f"{count} usable trial(s) of some case: a live suite needs at least 2" if alone else ""


def _variance_notes_absent(e: Evidence) -> str:
    absent = e.live and not (e.conditions.variance_notes or "").strip()
    return "say what is known of the variance, with --variance-notes" if absent else ""


def _skipped_cases_absent(e: Evidence) -> str:
    if not e.live or (
        e.conditions.skipped_cases is not None and {*e.conditions.skipped_cases} == {*e.skipped_cases}
    ):
        return ""
    named = " ".join(f"--skipped {case_id}" for case_id in e.skipped_cases) or "--skipped none"
    return f"name the cases that were skipped: {named}"


def _standing_absent(e: Evidence) -> str:
    absent = e.live and e.conditions.standing is None
    return "say whether it blocks, with --standing advisory or blocking" if absent else ""


def _canary_not_perfect(e: Evidence) -> str:
    flaky = [c.case_id for c in e.critical if c.pass_rate is None or c.pass_rate < 1 - DUST]
    blocks = e.conditions.standing is Standing.BLOCKING
    return (
        f"{_some(flaky)} did not pass every trial; only a perfect one may block" if blocks and flaky else ""
    )


def _blocking_unratcheted(e: Evidence) -> str:
    early = (
        e.conditions.standing is Standing.BLOCKING and e.tier is not Tier.DETERMINISTIC and not e.ratcheted
    )
    return (
        f"a {e.tier} suite stays advisory until its ratchet is READY; use --standing advisory"
        if early
        else ""
    )


def _some(names: tuple[str, ...] | list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_RULES: dict[Reason, Callable[[Evidence], str]] = {
    Reason.CRITICAL_CANARY_FAILED: _critical_canary_failed,
    Reason.SAFETY_REGRESSED: _safety_regressed,
    Reason.RUNTIME_COMPATIBILITY_REGRESSED: _runtime_compatibility_regressed,
    Reason.HOLDOUT_UNREVIEWED: _holdout_unreviewed,
    Reason.REVIEW_REJECTED: _review_rejected,
    Reason.ARTIFACTS_MISSING: _artifacts_missing,
    Reason.RATIONALE_EMPTY: _rationale_empty,
    Reason.PROMOTER_UNNAMED: _promoter_unnamed,
    Reason.MOCK_RUN: _mock_run,
    Reason.RUN_NOT_SCORED: _run_not_scored,
    Reason.RECORD_ALTERED: _record_altered,
    Reason.CASES_MISSING: _cases_missing,
    Reason.SUITE_CHANGED: _suite_changed,
    Reason.POLICY_WITHOUT_BASELINE: _policy_without_baseline,
    Reason.ALREADY_PROMOTED: _already_promoted,
    Reason.TOO_FEW_REPEATS: _too_few_repeats,
    Reason.REPEAT_COUNT_ABSENT: _repeat_count_absent,
    Reason.ONE_TRIAL: _one_trial,
    Reason.VARIANCE_NOTES_ABSENT: _variance_notes_absent,
    Reason.SKIPPED_CASES_ABSENT: _skipped_cases_absent,
    Reason.STANDING_ABSENT: _standing_absent,
    Reason.CANARY_NOT_PERFECT: _canary_not_perfect,
    Reason.BLOCKING_UNRATCHETED: _blocking_unratcheted,
}
