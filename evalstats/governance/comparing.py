"""How does a run stand against its baseline? Critical cases one by one, dimensions, aggregate, and their noise.

Only what both sides have is compared. Where the cases or their scoring changed in between, what is left are
the common cases, and the comparison says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evalstats.contract import Status, Tier, Verdict
from evalstats.errors import UsageError
from evalstats.governance.baselines import Baseline
from evalstats.governance.quantities import (
    ARMS,
    Case,
    Pairing,
    Rules,
    adjusted,
    aggregate,
    is_settled,
    pass_rate,
    repeat_count,
    usable,
)
from evalstats.governance.verdicts import LEVEL, CriticalCase, Facts, Quantity, conclude

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The cases that both sides have and that are the same, as far as is known; and those left out, with why."""

    case_ids: tuple[str, ...]
    whole: bool
    left_out: dict[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A candidate held against its baseline: the facts, and what follows from them."""

    suite_id: str
    candidate: Baseline
    baseline: Baseline
    scope: Scope
    facts: Facts
    verdict: Verdict
    reasons: list[str]

    def quantity(self, name: str) -> Quantity | None:
        """Return the aggregate or the dimension of this name, or None where neither side has it."""
        return next((q for q in self.facts.quantities if q.name == name), None)

    def as_record(self) -> dict[str, Any]:
        """Return the comparison as a document (``baseline-comparison.v1``)."""
        facts = self.facts
        return {
            "schema_version": 1,
            "suite_id": self.suite_id,
            "candidate_run_id": self.candidate.run_id,
            "baseline_run_id": self.baseline.run_id,
            "candidate_sha256": self.candidate.sha256,
            "baseline_sha256": self.baseline.sha256,
            "whole": self.scope.whole,
            "n_cases": len(self.scope.case_ids),
            "left_out": [{"case_id": c, "reason": reason} for c, reason in self.scope.left_out.items()],
            "notes": list(self.scope.notes),
            "level": LEVEL,
            "critical": [{**asdict(case), "change": case.change} for case in facts.critical],
            "quantities": [
                {**asdict(q), "caveats": list(q.caveats), "holding": q.holding, "finding": q.finding}
                for q in facts.quantities
            ],
            "unscored": list(facts.unscored),
            "verdict": self.verdict,
            "finding": facts.aggregate.finding,
            "reasons": self.reasons,
        }


def compare(candidate: Baseline, baseline: Baseline, rules: Rules, *, rng: np.random.Generator) -> Comparison:
    """Compare two runs of one suite. Raises UsageError when they are of different suites."""
    if candidate.suite_id != baseline.suite_id:
        names = f"{candidate.suite_id} and {baseline.suite_id}"
        raise UsageError(f"the runs are of different suites, {names}; compare runs of one suite")
    scope = scope_of(candidate, baseline)
    new, old = (_cases(side, scope.case_ids) for side in (candidate, baseline))
    settled = is_settled(candidate.record, new) and is_settled(baseline.record, old)
    pairing = Pairing(new=new, old=old, rules=rules, settled=settled, rng=rng)
    dimensions = _dimensions(
        pairing, candidate.record["dimension_scores"], baseline.record["dimension_scores"]
    )
    facts = Facts(
        status=Status(candidate.record["status"]),
        aggregate=aggregate(dimensions, rules),
        dimensions=dimensions,
        critical=_critical(new, old),
        unscored=_unscored(candidate, baseline, scope),
        doubts=tuple(_doubts(candidate, baseline, scope)),
    )
    verdict, reasons = conclude(facts)
    return Comparison(
        suite_id=candidate.suite_id,
        candidate=candidate,
        baseline=baseline,
        scope=scope,
        facts=facts,
        verdict=verdict,
        reasons=reasons,
    )


def _dimensions(
    pairing: Pairing, new: Mapping[str, float | None], old: Mapping[str, float | None]
) -> tuple[Quantity, ...]:
    """Return the dimensions that at least one side has scored."""
    names = [name for name in dict.fromkeys([*old, *new]) if (old.get(name), new.get(name)) != (None, None)]
    return adjusted([pairing.dimension(n, baseline=old.get(n), candidate=new.get(n)) for n in names])


# --- which cases ---------------------------------------------------------------------------------


def scope_of(candidate: Baseline, baseline: Baseline) -> Scope:
    """Return what can be compared. Of a changed suite only cases that are known to be, or may be, the same."""
    new, old = dict.fromkeys(candidate.case_ids), dict.fromkeys(baseline.case_ids)
    shared = [case_id for case_id in old if case_id in new]
    left_out = {case_id: "not in the candidate" for case_id in old if case_id not in new}
    left_out |= {case_id: "not in the baseline" for case_id in new if case_id not in old}
    if _same_scoring(candidate, baseline):
        return Scope(case_ids=tuple(shared), whole=True, left_out=left_out, notes=())
    new_hashes, old_hashes = candidate.case_hashes, baseline.case_hashes
    if new_hashes is None or old_hashes is None:
        doubt = "whether they are still the same was not recorded"
    else:
        left_out |= {c: "changed since the baseline" for c in shared if new_hashes[c] != old_hashes[c]}
        shared = [case_id for case_id in shared if case_id not in left_out]
        doubt = "unchanged by their hashes"
    note = f"the suite's scoring changed in between: compared on the {len(shared)} common cases ({doubt})"
    return Scope(case_ids=tuple(shared), whole=False, left_out=left_out, notes=(note,))


def _same_scoring(candidate: Baseline, baseline: Baseline) -> bool:
    """Return whether both were scored alike; by the raw digest where an old record has no other."""
    if candidate.hashes is None or baseline.hashes is None:
        return candidate.raw == baseline.raw
    return candidate.hashes.get("scoring") == baseline.hashes.get("scoring")


def _cases(side: Baseline, case_ids: Sequence[str]) -> dict[str, Case]:
    by_id = {case["id"]: case for case in side.record["case_results"]}
    return {case_id: by_id[case_id] for case_id in case_ids}


def _unscored(candidate: Baseline, baseline: Baseline, scope: Scope) -> tuple[str, ...]:
    """Return the cases that the baseline scored and the candidate, of the same suite, did not."""
    if not scope.whole:
        return ()
    scored = {case["id"] for case in candidate.record["case_results"] if usable(case)}
    return tuple(c["id"] for c in baseline.record["case_results"] if usable(c) and c["id"] not in scored)


def _critical(new: Mapping[str, Case], old: Mapping[str, Case]) -> tuple[CriticalCase, ...]:
    return tuple(
        CriticalCase(
            case_id=case_id,
            baseline_status=Status(old[case_id]["status"]),
            candidate_status=Status(case["status"]),
            baseline_rate=pass_rate(old[case_id]),
            candidate_rate=pass_rate(case),
        )
        for case_id, case in new.items()
        if case.get("critical") or old[case_id].get("critical")
    )


def _doubts(candidate: Baseline, baseline: Baseline, scope: Scope) -> list[str]:
    """Return why these runs can carry no verdict, whatever their numbers."""
    sides = [(name, side.record) for name, side in zip(ARMS, (candidate, baseline), strict=True)]
    found = ["both sides are one and the same run"] if candidate.run_id == baseline.run_id else []
    found += [f"the {name} is a mock run" for name, record in sides if record.get("is_mock")]
    for name, record in sides:
        if record["status"] in (Status.SKIPPED, Status.ERROR):
            found.append(f"the {name} ended as {record['status']}: it says nothing about its subject")
        if record["suite"]["tier"] == Tier.LIVE and repeat_count(record) in (None, 0, 1):
            found.append(f"one trial a case stands behind the {name} of a live suite")
    return found if scope.case_ids else [*found, "the two runs have no case in common"]
