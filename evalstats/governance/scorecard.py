"""What does the skill change? The DeltaScorecard of one suite run in both arms."""

from __future__ import annotations

from typing import Any

from evalstats import contract
from evalstats.contract import Status, Verdict
from evalstats.errors import UsageError

SUPPRESSION = "Constraint: Do NOT load additional skills or plugins. Work only with base agent capabilities."


def delta_scorecard(
    on: dict[str, Any], off: dict[str, Any], *, generated_at: str, difference: dict[str, Any] | None
) -> dict[str, Any]:
    """Compare the run records of the two arms, case by case (schema ``delta-scorecard.v1``).

    Parameters
    ----------
    on, off : dict
        Run records (``eval-run.v1``) of the skill-on and the skill-off run of one suite.
    generated_at : str
        UTC time of writing.
    difference : dict or None
        The paired difference with its interval, as a row of an Estimate; None when it was not estimated.

    Raises UsageError when the records are of different suites.
    """
    if on["suite"]["id"] != off["suite"]["id"]:
        names = f"{on['suite']['id']} and {off['suite']['id']}"
        raise UsageError(f"the two runs are of different suites, {names}; run both arms of one suite")
    cases_on = {case["id"]: case for case in on["case_results"]}
    cases_off = {case["id"]: case for case in off["case_results"]}
    ids = [*cases_on, *(case_id for case_id in cases_off if case_id not in cases_on)]
    verdict, reasons = _verdict(on, off)
    scores = on["aggregate_score"], off["aggregate_score"]
    document = {
        "schema_version": 1,
        "suite_id": on["suite"]["id"],
        "suite_path": on["suite"]["path"],
        "generated_at": generated_at,
        "skill_on_run_id": on["run_id"],
        "skill_off_run_id": off["run_id"],
        "skill_on_aggregate": scores[0],
        "skill_off_aggregate": scores[1],
        "aggregate_delta": None if None in scores else scores[0] - scores[1],
        "per_case": [_case(case_id, cases_on.get(case_id), cases_off.get(case_id)) for case_id in ids],
        "n_trials": on["trials"]["recorded"] + off["trials"]["recorded"],
        "difference": difference,
        "verdict": verdict,
        "reasons": reasons,
        "suppression_sha256": contract.digest(SUPPRESSION.encode()),
    }
    contract.validate(document, "delta-scorecard.v1")
    return document


def _case(case_id: str, on: dict[str, Any] | None, off: dict[str, Any] | None) -> dict[str, Any]:
    absent: dict[str, Any] = {"status": Status.INCONCLUSIVE, "score": None, "pass_rate": None, "trials": 0}
    a, b = on or absent, off or absent
    passes = a["status"] == Status.PASS, b["status"] == Status.PASS
    row = {
        "case_id": case_id,
        "skill_on_status": a["status"],
        "skill_off_status": b["status"],
        "skill_on_score": a["score"],
        "skill_off_score": b["score"],
        "delta": passes[0] - passes[1],
        "n_trials": a["trials"] + b["trials"],
        "pass_rate_on": a["pass_rate"],
        "pass_rate_off": b["pass_rate"],
        "comparable": None not in (a["score"], b["score"]),
    }
    if on is None or off is None:
        row["note"] = f"ran only in the {'skill-off' if on is None else 'skill-on'} leg"
    return row


def _verdict(on: dict[str, Any], off: dict[str, Any]) -> tuple[Verdict | None, list[str]]:
    """Return ``advisory`` where a scorecard may not be believed alone, with the reasons."""
    reasons = []
    most = max((case["trials"] for record in (on, off) for case in record["case_results"]), default=0)
    if on["suite"]["tier"] == contract.Tier.LIVE and most <= 1:
        reasons.append("a live suite with a single trial per case is never authoritative")
    if on.get("is_mock") or off.get("is_mock"):
        reasons.append("mock run")
    return (Verdict.ADVISORY if reasons else None), reasons
