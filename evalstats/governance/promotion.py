"""From a run to the baseline of its suite: the evidence, the record of the promotion, and its chain.

Every promotion is one line of ``promotions.jsonl`` beside the baseline: who, when, why, on what evidence, and in
place of which. Lines are only added. A line names the digest of the file it promoted, so a baseline that was
changed by hand, or has no promotion at all, is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import Status, Tier
from evalstats.errors import EvalstatsError, JournalError, UsageError
from evalstats.governance import baselines, chain, reviews
from evalstats.governance.baselines import Baseline
from evalstats.governance.captures import Places
from evalstats.governance.comparing import Comparison, compare
from evalstats.governance.holdout_runs import regressed_holdouts
from evalstats.governance.quantities import Rules, pass_rate, repeat_count
from evalstats.governance.refusals import Canary, Conditions, Evidence, Refusal, Standing, refusals
from evalstats.governance.run_evidence import RunEvidence
from evalstats.governance.verdicts import Quantity
from evalstats.suite import Suite
from evalstats.trials import run_seed, timestamp

SCHEMA = "baseline-promotion.v1"
UNTOLD = "more is not told of a private suite"


class PromotionRefused(EvalstatsError):
    """The run may not become the baseline. Whoever promotes acts. Holds every reason at once.

    Of a private holdout the reasons are told by their names alone.
    """

    exit_code = 1

    def __init__(self, run_id: str, found: Sequence[Refusal], *, private: bool = False) -> None:
        super().__init__(f"{run_id} is not promoted, for {len(found)} reason(s)")
        self.refusals = tuple(replace(refusal, message=UNTOLD) if private else refusal for refusal in found)

    def lines(self) -> list[str]:
        """Return one line, and one for each reason."""
        return [str(self), *(f"  {refusal}" for refusal in self.refusals)]

    def as_record(self) -> dict[str, Any]:
        """Return the reasons as plain data."""
        return {"promoted": False, "refusals": [asdict(refusal) for refusal in self.refusals]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What whoever promotes says. For a live suite nothing may be left out; None is absent."""

    rationale: str
    promoter: str
    variance_notes: str | None = None
    skipped_cases: tuple[str, ...] | None = None
    standing: Standing | None = None


def chain_path(baseline: Path) -> Path:
    """Return where the promotions of a baseline are recorded."""
    return baseline.parent / "promotions.jsonl"


def promote(run_id: str, request: Request, places: Places) -> dict[str, Any]:
    """Make a finished run the baseline of its suite, and return the record of the promotion.

    Raises PromotionRefused with every reason at once; UsageError when there is no such run or suite; JournalError
    when the chain of earlier promotions is broken.
    """
    run = places.run(run_id)
    suite = places.suite(run)
    if suite is None:
        name = "its private suite" if run.is_private else f"suite {run.suite_id}"
        raise UsageError(f"{name} is not here; give its folder with --suites")
    if run.is_private and places.baselines is not None:
        raise UsageError("the baseline of a private holdout stays beside its suite", field="--baselines")
    path = baselines.locate(suite, places.baselines)
    with chain.alone(chain_path(path), private=run.is_private):
        grounds = _gathered(run, suite, path, request, places)
        if found := refusals(grounds.evidence(request)):
            raise PromotionRefused(run.run_id, found, private=run.is_private)
        return _written(grounds, request)


# --- the evidence ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What the promotion of one run stands on. ``replaced`` is the baseline so far, ``path`` where it lies."""

    run: Baseline
    suite: Suite
    path: Path
    kept: RunEvidence
    conditions: Conditions
    replaced: Baseline | None
    comparison: Comparison | None
    reviews: Sequence[Mapping[str, Any]]
    holdouts: Sequence[str]

    def evidence(self, request: Request) -> Evidence:
        """Return the facts that the rules of refusal are asked about."""
        record, policy = self.run.record, self.suite.document["baseline_policy"]
        ran = set(self.run.case_ids)
        looked = [r["reviewed_at"] for r in self.reviews if _accepts_holdouts(r)]
        return Evidence(
            tier=self.suite.tier,
            visibility=self.suite.visibility,
            status=Status(record["status"]),
            rationale=request.rationale,
            promoter=request.promoter,
            conditions=self.conditions,
            critical=_canaries(record),
            has_baseline=self.comparison is not None,
            safety=self._against("safety"),
            runtime_compatibility=self._against("runtime_compatibility"),
            holdouts=len(self.holdouts),
            reviewed=bool(looked) and max(looked) >= max(self.holdouts, default=""),
            rejected=bool(self.reviews) and self.reviews[-1]["outcome"] == reviews.Outcome.REJECTED,
            missing_artifacts=self.kept.missing(),
            altered=self.kept.altered(),
            missing_cases=tuple(c.id for c in self.suite.cases if c.id not in ran),
            skipped_cases=skipped_cases(record),
            is_mock=bool(record.get("is_mock")),
            live=is_live(record),
            scoring_changed=_scoring_changed(self.run, self.suite),
            mode=policy["mode"],
            already_promoted=self.replaced is not None and self.replaced.run_id == self.run.run_id,
            repeats_wanted=policy.get("repeat_count"),
            required=frozenset(policy.get("promotion_requires", ())),
        )

    def _against(self, dimension: str) -> Quantity | None:
        """Return a dimension held against the baseline so far; None where the suite no longer has it."""
        asked = any(d.name == dimension for d in self.suite.dimensions)
        return self.comparison.quantity(dimension) if asked and self.comparison else None


def _gathered(run: Baseline, suite: Suite, path: Path, request: Request, places: Places) -> Grounds:
    from evalstats.estimates import generator

    replaced = baselines.read(path) if path.exists() else None
    home, comparison = run.home(places.data), None
    if replaced is not None:
        comparison = compare(run, replaced, Rules.of(suite.document), rng=generator(run_seed(run.run_id)))
    return Grounds(
        run=run,
        suite=suite,
        path=path,
        kept=RunEvidence(run, home / "runs" / run.run_id, home / "artifacts"),
        conditions=_conditions(run.record, suite, request),
        replaced=replaced,
        comparison=comparison,
        reviews=reviews.valid(run, places.data),
        holdouts=regressed_holdouts(places.data, run),
    )


def _conditions(record: Mapping[str, Any], suite: Suite, request: Request) -> Conditions:
    """Return the conditions of the baseline: counted, or said by the promoter; a policy may say the standing."""
    gate = suite.document["baseline_policy"].get("blocking_gate")
    stated = None if gate is None else Standing.ADVISORY if gate == "none" else Standing.BLOCKING
    live = is_live(record)
    return Conditions(
        repeat_count=repeat_count(record),
        variance_notes=request.variance_notes,
        skipped_cases=request.skipped_cases if live else skipped_cases(record),
        standing=request.standing or stated or (None if live else Standing.ADVISORY),
    )


def is_live(record: Mapping[str, Any]) -> bool:
    """Return whether a run asked a real model: by the tier of its suite, or by its runtime."""
    return record["suite"]["tier"] == Tier.LIVE or bool(record.get("runtime", {}).get("live"))


def skipped_cases(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cases that were skipped."""
    return tuple(case["id"] for case in record["case_results"] if case["status"] == Status.SKIPPED)


def _canaries(record: Mapping[str, Any]) -> tuple[Canary, ...]:
    return tuple(
        Canary(case_id=case["id"], status=Status(case["status"]), pass_rate=pass_rate(case))
        for case in record["case_results"]
        if case.get("critical")
    )


def _scoring_changed(run: Baseline, suite: Suite) -> bool:
    now = suites.hashes(suite)
    return now["raw"] != run.raw if run.hashes is None else now["scoring"] != run.hashes.get("scoring")


def _accepts_holdouts(entry: Mapping[str, Any]) -> bool:
    return entry["outcome"] == reviews.Outcome.ACCEPTED and reviews.LookedAt.HOLDOUTS in entry["looked_at"]


# --- the record ------------------------------------------------------------------------------------


def _written(grounds: Grounds, request: Request) -> dict[str, Any]:
    """Write the baseline, then the line that names it: a line never names what was not there."""
    run, private, now = grounds.run, grounds.run.is_private, timestamp()
    earlier = chain.read(chain_path(grounds.path), SCHEMA)
    if earlier.problems:
        raise JournalError(f"the chain of promotions is broken: {earlier.problems[0]}", path=earlier.path)
    about = {
        "mode": "promote",
        "promoted_from_run_id": run.run_id,
        "promoted_at": now,
        "promoted_by": request.promoter.strip(),
        "rationale": request.rationale.strip(),
        "baseline_path": _shown_path(grounds),
        "conditions": asdict(grounds.conditions),
    }
    baselines.write(grounds.path, {**run.record, "baseline": about}, private=private)
    entry = _entry(grounds, about, contract.digest(grounds.path.read_bytes()))
    return chain.append(chain_path(grounds.path), entry, SCHEMA, private=private)


def _shown_path(grounds: Grounds) -> str:
    path, root = grounds.path.resolve(), grounds.suite.root
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def _entry(grounds: Grounds, about: Mapping[str, Any], baseline_sha256: str) -> dict[str, Any]:
    run, git = grounds.run, grounds.run.record.get("git") or {}
    document = None if grounds.comparison is None else grounds.comparison.as_record()
    return {
        "schema_version": 1,
        "suite_id": run.suite_id,
        "run_id": run.run_id,
        **{name: git.get(name) for name in ("candidate_ref", "candidate_sha", "dirty")},
        "baseline_path": about["baseline_path"],
        "promoter": about["promoted_by"],
        "promoted_at": about["promoted_at"],
        "rationale": about["rationale"],
        "tier": grounds.suite.tier,
        "visibility": grounds.suite.visibility,
        "conditions": about["conditions"],
        "replaced": _named(grounds.replaced),
        "comparison": document and _summary(document),
        "reviews": [_review(entry) for entry in grounds.reviews],
        "hashes": {
            **grounds.kept.hashes(),
            "baseline": baseline_sha256,
            "suite": run.hashes or {"raw": run.raw},
            "cases": contract.canonical_digest(run.case_hashes or list(run.case_ids)),
            "comparison": document and contract.canonical_digest(document),
        },
        "n_artifacts": len(grounds.kept.artifacts),
        "n_trials": len(grounds.kept.trials),
    }


def _named(baseline: Baseline | None) -> dict[str, str] | None:
    return None if baseline is None else {"run_id": baseline.run_id, "sha256": baseline.sha256}


def _summary(document: Mapping[str, Any]) -> dict[str, Any]:
    return {"verdict": document["verdict"], "aggregate_delta": document["quantities"][0]["delta"]}


def _review(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a review without its notes, which are for the reviewer's own team."""
    names = ("reviewer", "reviewed_at", "outcome", "looked_at")
    return {**{name: entry[name] for name in names}, "sha256": contract.canonical_digest(entry)}
