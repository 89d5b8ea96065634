"""From files to a verdict: a verified report or a DeltaScorecard, a policy, and the decisions made before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import GateRule, GateStatistic
from evalstats.errors import UsageError
from evalstats.gate import delta_rule
from evalstats.gate.checks import Check, cannot
from evalstats.gate.ledger import blocked
from evalstats.gate.policies import policy_and_digest, policy_of
from evalstats.gate.verdict import Asked, GateResult, decide
from evalstats.report.bundle import REPORT, resolve
from evalstats.report.integrity import read_verified


def judge(
    reports: Path, reference: str, policy: Path, asked: Asked | None = None, *, ledger: Path | None = None
) -> GateResult:
    """Read a report version and a policy, decide, and name the exact bytes the decision stands on.

    ``ledger`` is the folder of earlier decisions; runs that were blocked are no yardstick.
    """
    bundle, report, manifest_sha256 = read(reports, reference)
    rules, policy_sha256 = policy_and_digest(policy)
    asked = asked or Asked()
    if ledger is not None:
        asked = replace(asked, blocked=asked.blocked | blocked(ledger, rules["suite"]))
    return replace(
        decide(report, rules, asked),
        report=str(bundle.relative_to(reports)) if bundle.is_relative_to(reports) else str(bundle),
        manifest_sha256=manifest_sha256,
        policy_sha256=policy_sha256,
    )


def read(reports: Path, reference: str) -> tuple[Path, dict[str, Any], str]:
    """Return the folder, the report and the manifest digest of a version that is what was published."""
    place = Path(reference)
    bundle = resolve(reports, str(place.parent) if place.name == REPORT and place.is_file() else reference)
    report, manifest_sha256 = read_verified(bundle)
    return bundle, report, manifest_sha256


def judge_scorecard(path: Path, policy: Path | None, minimum: float | None) -> GateResult:
    """Decide on a DeltaScorecard's aggregate: by the policy's minimum, or by one that is given.

    Raises
    ------
    UsageError
        Neither names a minimum, or it is one that no aggregate can have.
    """
    raw = contract.read_bytes(path)
    document, text = contract.parse_bytes(raw, path)
    contract.validate(document, "delta-scorecard.v1", path=path, text=text)
    rules, policy_sha256 = policy_and_digest(policy) if policy else (None, None)
    known = policy_of(rules) if rules else None
    least = minimum if minimum is not None else known.minimum_delta if known else None
    if least is None:
        raise UsageError("a scorecard is judged by a minimum", path=path, field="--minimum-delta")
    if not -1 <= least <= 1:
        raise UsageError("lies between -1 and 1", field="--minimum-delta")
    asked = delta_rule.Asked(minimum=least)
    if known:
        asked = replace(asked, margin=known.margin, power=known.power)
    check = _of_one_suite(document, known.suite if known else document["suite_id"], asked)
    return GateResult(
        verdict=check.verdict,
        reasons=list(check.reasons),
        suite=document["suite_id"],
        rule=GateRule.MINIMUM_DELTA,
        statistic=GateStatistic.DIFFERENCE,
        margin=asked.margin,
        alpha=known.alpha if known else None,
        candidate=[document["skill_on_run_id"], document["skill_off_run_id"]],
        drop=check.drop,
        false_block=check.false_block,
        power=check.power,
        mde=check.mde,
        runs_needed=check.runs_needed,
        checks=(check,),
        report=path.name,
        manifest_sha256=contract.digest(raw),
        policy_sha256=policy_sha256,
    )


def _of_one_suite(document: Mapping[str, Any], suite: str, asked: delta_rule.Asked) -> Check:
    if document["suite_id"] == suite:
        return delta_rule.on_scorecard(dict(document), asked)
    return cannot(delta_rule.NAME, f"the scorecard is of suite {document['suite_id']}, the policy of {suite}")
