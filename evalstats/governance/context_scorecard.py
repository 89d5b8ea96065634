"""What does a context change? The ContextDeltaScorecard of one suite run with and without it.

It differs from the scorecard of a skill in what it does with legs that say nothing: a degraded case has no
delta, only a reason of a closed list, and two aggregates are subtracted only where they are of the same cases.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from evalstats import contract
from evalstats.contract import Axis, DegradedReason, Status, Verdict
from evalstats.errors import UsageError
from evalstats.governance.scorecard import (
    Document,
    advisory_reasons,
    check_one_suite,
    common_axis,
    paired_cases,
)

OFF, ON = "context_off", "context_on"
SAME_CONTEXT = "both arms were given the same context, so they differ in nothing but their names"
_ABSENT: Document = {"status": Status.INCONCLUSIVE, "score": None, "pass_rate": None, "trials": 0}
# Why a leg without a usable trial has no score, where its trials give no reason of the list.
_OTHERWISE = {
    Status.ERROR: DegradedReason.RUNTIME_UNAVAILABLE,
    Status.SKIPPED: DegradedReason.RUNTIME_UNAVAILABLE,
}


def context_scorecard(
    on: Document, off: Document, *, generated_at: str, difference: Document | None
) -> Document:
    """Compare the run records of context-on and context-off (schema ``context-delta-scorecard.v1``).

    Parameters
    ----------
    on, off : dict
        Run records (``eval-run.v1``) of the two arms of one suite.
    generated_at : str
        UTC time of writing.
    difference : dict or None
        The paired difference over the cases that both legs decided, as a row of an Estimate.

    Raises UsageError when the records are of different suites, or of another axis.
    """
    check_one_suite(on, off)
    axis = common_axis((on, off))
    if axis is not Axis.CONTEXT:
        raise UsageError(f"these are runs of the {axis} axis; a context is compared with --context-mode ab")
    rows = [_case(*pair) for pair in paired_cases(on, off)]
    lost = [row for row in rows if not row["comparable"]]
    verdict, reasons = _verdict(on, off, n_lost=len(lost), n_cases=len(rows))
    scores = on["aggregate_score"], off["aggregate_score"]
    document = {
        "schema_version": 1,
        "axis": axis,
        "suite_id": on["suite"]["id"],
        "suite_path": on["suite"]["path"],
        "generated_at": generated_at,
        OFF: _leg(off),
        ON: _leg(on),
        "aggregate_delta": None if lost or None in scores else scores[0] - scores[1],
        "per_case": rows,
        "n_trials": on["trials"]["recorded"] + off["trials"]["recorded"],
        "difference": difference,
        "verdict": verdict,
        "reasons": reasons,
    }
    contract.validate(document, "context-delta-scorecard.v1")
    return document


def _leg(record: Document) -> Document:
    context = record["environment"]["context"]
    degraded: Counter[str] = Counter()
    for case in record["case_results"]:
        degraded.update(case.get("degraded", {}))
    return {
        "variant": record["arm"],
        "context_root_label": context["root_label"],
        "context_sha256": context["sha256"],
        "run_id": record["run_id"],
        "aggregate_score": record["aggregate_score"],
        "status": record["status"],
        "n_trials": record["trials"]["recorded"],
        "n_usable": record["trials"]["usable"],
        "degraded": dict(sorted(degraded.items())),
    }


def _case(case_id: str, on: Document | None, off: Document | None) -> Document:
    a, b = on or _ABSENT, off or _ABSENT
    comparable = None not in (a["score"], b["score"])
    passes = [leg["status"] == Status.PASS for leg in (a, b)]
    reasons = [reason for leg in (b, a) if (reason := _why_degraded(leg))]
    row = {
        "case_id": case_id,
        OFF: _side(b),
        ON: _side(a),
        "comparable": comparable,
        "score_delta": _delta(a["score"], b["score"]),
        "status_delta": passes[0] - passes[1] if comparable else None,
        "token_delta": _delta(a.get("tokens"), b.get("tokens")),
        "tool_call_delta": _delta(a.get("tool_calls"), b.get("tool_calls")),
        "decision_evidence": {OFF: b.get("usable", 0), ON: a.get("usable", 0)},
        "degraded_reason": reasons[0] if reasons else None,
    }
    if on is None or off is None:
        row["note"] = f"ran only in the {'context-off' if on is None else 'context-on'} leg"
    return row


def _side(case: Document) -> Document:
    names = ("status", "score", "pass_rate", "trials", "tokens", "tool_calls")
    return {name: case.get(name) for name in names}


def _why_degraded(case: Document) -> str | None:
    """Return the most frequent reason why a leg has no score; None where it has one."""
    if case["score"] is not None:
        return None
    met = Counter[str](case.get("degraded", {})).most_common(1)
    otherwise = _OTHERWISE.get(case["status"], DegradedReason.INSUFFICIENT_DECISION_EVIDENCE)
    return met[0][0] if met else otherwise


def _delta(on: Any, off: Any) -> Any:
    return None if on is None or off is None else on - off


def _verdict(on: Document, off: Document, *, n_lost: int, n_cases: int) -> tuple[Verdict | None, list[str]]:
    reasons = advisory_reasons(on, off)
    contexts = [record["environment"]["context"]["sha256"] for record in (on, off)]
    if contexts[0] == contexts[1]:
        reasons.append(SAME_CONTEXT)
    if n_lost:
        reasons.append(
            f"{n_lost} of {n_cases} cases say nothing in one leg or both; the aggregates are not comparable"
        )
    if n_lost == n_cases:
        return Verdict.INCONCLUSIVE, reasons
    return (Verdict.ADVISORY if reasons else None), reasons
