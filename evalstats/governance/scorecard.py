"""What does the skill, or the candidate, change? The DeltaScorecard of one suite run in two arms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from evalstats import contract
from evalstats.contract import SUPPRESSION, Axis, Status, Verdict
from evalstats.errors import UsageError

Document = dict[str, Any]


class _Names(NamedTuple):
    """How a leg is called in the keys of a scorecard, long and short."""

    leg: str
    short: str


_NAMES = {
    Axis.SKILL: (_Names("skill_on", "on"), _Names("skill_off", "off")),
    Axis.CANDIDATE: (_Names("candidate", "candidate"), _Names("baseline", "baseline")),
}


def axis_of(document: Document) -> Axis:
    """Return what differs between the arms of a scorecard, or of the pair that a run record belongs to."""
    return Axis(document.get("axis") or Axis.SKILL)


def common_axis(documents: Iterable[Document]) -> Axis:
    """Return the one axis of these scorecards or records.

    Raises UsageError where there are several: a skill, a context and a candidate are different questions, and
    no sum or mean of their answers is an answer to any of them.
    """
    axes = list(dict.fromkeys(axis_of(document) for document in documents))
    if len(axes) != 1:
        named = " and ".join(axes) or "none"
        raise UsageError(
            f"these are of different axes ({named}), which are never combined; give those of one"
        )
    return axes[0]


def delta_scorecard(
    on: Document, off: Document, *, generated_at: str, difference: Document | None
) -> Document:
    """Compare the run records of the two arms, case by case (schema ``delta-scorecard.v1``).

    Parameters
    ----------
    on, off : dict
        Run records (``eval-run.v1``) of one suite: skill-on and skill-off, or candidate and baseline.
    generated_at : str
        UTC time of writing.
    difference : dict or None
        The paired difference with its interval, as a row of an Estimate; None when it was not estimated.

    Raises UsageError when the records are of different suites or axes, or of the context axis.
    """
    check_one_suite(on, off)
    axis = common_axis((on, off))
    if axis not in _NAMES:
        raise UsageError(f"runs of the {axis} axis have a scorecard of their own")
    new, old = _NAMES[axis]
    scores = on["aggregate_score"], off["aggregate_score"]
    reasons = advisory_reasons(on, off)
    document = {
        "schema_version": 1,
        "axis": axis,
        "suite_id": on["suite"]["id"],
        "suite_path": on["suite"]["path"],
        "generated_at": generated_at,
        f"{new.leg}_run_id": on["run_id"],
        f"{old.leg}_run_id": off["run_id"],
        f"{new.leg}_aggregate": scores[0],
        f"{old.leg}_aggregate": scores[1],
        "aggregate_delta": None if None in scores else scores[0] - scores[1],
        "per_case": [_case(axis, *pair) for pair in paired_cases(on, off)],
        "n_trials": on["trials"]["recorded"] + off["trials"]["recorded"],
        "difference": difference,
        "verdict": Verdict.ADVISORY if reasons else None,
        "reasons": reasons,
    }
    if axis is Axis.SKILL:
        document["suppression_sha256"] = contract.digest(SUPPRESSION.encode())
    else:
        document |= {name: on["git"].get(name) for name in ("candidate_ref", "candidate_sha")}
    contract.validate(document, "delta-scorecard.v1")
    return document


def check_one_suite(on: Document, off: Document) -> None:
    """Raise UsageError when two run records are of different suites."""
    if on["suite"]["id"] != off["suite"]["id"]:
        names = f"{on['suite']['id']} and {off['suite']['id']}"
        raise UsageError(f"the two runs are of different suites, {names}; run both arms of one suite")


def paired_cases(on: Document, off: Document) -> list[tuple[str, Document | None, Document | None]]:
    """Return (case id, result in the first record, in the second); None where a record lacks the case."""
    cases_on = {case["id"]: case for case in on["case_results"]}
    cases_off = {case["id"]: case for case in off["case_results"]}
    ids = [*cases_on, *(case_id for case_id in cases_off if case_id not in cases_on)]
    return [(case_id, cases_on.get(case_id), cases_off.get(case_id)) for case_id in ids]


def _case(axis: Axis, case_id: str, on: Document | None, off: Document | None) -> Document:
    absent: Document = {"status": Status.INCONCLUSIVE, "score": None, "pass_rate": None, "trials": 0}
    (new, old), a, b = _NAMES[axis], on or absent, off or absent
    row = {
        "case_id": case_id,
        f"{new.leg}_status": a["status"],
        f"{old.leg}_status": b["status"],
        f"{new.leg}_score": a["score"],
        f"{old.leg}_score": b["score"],
        "delta": (a["status"] == Status.PASS) - (b["status"] == Status.PASS),
        "n_trials": a["trials"] + b["trials"],
        f"pass_rate_{new.short}": a["pass_rate"],
        f"pass_rate_{old.short}": b["pass_rate"],
        "comparable": None not in (a["score"], b["score"]),
    }
    if on is None or off is None:
        present = old if on is None else new
        row["note"] = f"ran only in the {present.leg.replace('_', '-')} leg"
    return row


def advisory_reasons(on: Document, off: Document) -> list[str]:
    """Return why a scorecard of these two records may not be believed alone."""
    reasons = []
    most = max((case["trials"] for record in (on, off) for case in record["case_results"]), default=0)
    if on["suite"]["tier"] == contract.Tier.LIVE and most <= 1:
        reasons.append("a live suite with a single trial per case is never authoritative")
    if on.get("is_mock") or off.get("is_mock"):
        reasons.append("mock run")
    return reasons
