"""The arithmetic of scores: expectations -> case -> dimensions -> aggregate -> status.

Everything is kept in full precision; four decimals are a matter of display.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from evalstats.contract import DegradedReason, ExpectationType, Outcome, Status
from evalstats.suite import Case, Suite
from evalstats.trials import ExpectationResult, Trial

# The share of a run's trials that may be lost to infrastructure; a run that lost more says nothing.
MAX_LOST = 0.10


def case_score(results: Sequence[ExpectationResult]) -> float:
    """Return required expectations passed / required; 1.0 if none is required. Optional ones never count."""
    required = [result for result in results if result.required]
    return sum(result.passed is True for result in required) / len(required) if required else 1.0


def case_status(results: Sequence[ExpectationResult]) -> Status:
    """Return pass if every required expectation passed, inconclusive if one is undecided and none failed."""
    decided = [result.passed for result in results if result.required]
    if any(passed is False for passed in decided):
        return Status.FAIL
    return Status.INCONCLUSIVE if any(passed is None for passed in decided) else Status.PASS


def settled(trial: Trial, votes: Mapping[int, Sequence[bool | None]], dimensions: Sequence[str]) -> Trial:
    """Return a trial as it stands once a judge has voted on its expectations; None among the votes is none.

    An expectation passes when more than half of the votes say so; a tie fails. The score of a trial that was judged
    several times is the mean of its scores, as that of a case is the mean of its trials: an expectation counts with
    its share of votes. Without any vote on a required expectation the trial stays unscored.
    """
    results = tuple(_voted(result, votes.get(result.index, ())) for result in trial.expectations)
    if results == trial.expectations:
        return trial
    if not _waits_for_verdict(trial):
        return replace(trial, expectations=results)
    undecided = [result.detail for result in results if result.required and result.passed is None]
    if undecided:
        unscored = trial.outcome is Outcome.UNSCORED
        reason = "; ".join(dict.fromkeys(undecided)) if unscored else trial.reason
        return replace(trial, expectations=results, reason=reason)
    status, score = case_status(results), _shared_score(results, votes)
    return replace(
        trial,
        expectations=results,
        status=status,
        outcome=Outcome.OK,
        reason=None,
        score=score,
        passed=status is Status.PASS,
        dimension_scores=dict.fromkeys(dimensions, score),
    )


def _waits_for_verdict(trial: Trial) -> bool:
    """Return whether an undecided expectation is all that keeps a trial from a score."""
    lacking = DegradedReason.INSUFFICIENT_DECISION_EVIDENCE
    return trial.outcome is Outcome.UNSCORED or (
        trial.outcome is Outcome.DEGRADED and trial.reason == lacking
    )


def _voted(result: ExpectationResult, votes: Sequence[bool | None]) -> ExpectationResult:
    if result.type is not ExpectationType.JUDGE or result.passed is not None or not votes:
        return result
    given = [vote for vote in votes if vote is not None]
    lost = f", {len(votes) - len(given)} without a verdict" if len(given) < len(votes) else ""
    if not given:
        return replace(result, detail=f"the judge gave no verdict in {len(votes)} judgement(s)")
    said = f"{sum(given)} of {len(given)} verdict(s) of the judge say yes{lost}"
    return replace(result, passed=2 * sum(given) > len(given), detail=said)


def _shared_score(results: Sequence[ExpectationResult], votes: Mapping[int, Sequence[bool | None]]) -> float:
    shares = [_share(result, votes.get(result.index, ())) for result in results if result.required]
    return float(statistics.mean(shares)) if shares else 1.0


def _share(result: ExpectationResult, votes: Sequence[bool | None]) -> Fraction:
    given = [vote for vote in votes if vote is not None]
    if result.type is not ExpectationType.JUDGE or not given:
        return Fraction(result.passed is True)
    return Fraction(sum(given), len(given))


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case over the trials of one run. Scores are None where no trial is usable."""

    case_id: str
    archetype: str | None
    critical: bool
    status: Status
    score: float | None
    median_score: float | None
    pass_rate: float | None
    dimension_scores: dict[str, float | None]
    n_trials: int
    n_usable: int
    n_passed: int
    duration_s: float | None
    diagnostics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run, scored."""

    status: Status
    aggregate_score: float | None
    dimension_scores: dict[str, float | None]
    cases: tuple[CaseResult, ...]
    n_trials: int
    unusable: dict[str, int]

    @property
    def n_lost(self) -> int:
        """Return how many trials were lost to infrastructure: they ran into no fault of the subject."""
        return self.unusable.get(Outcome.INFRASTRUCTURE, 0)


def score_run(suite: Suite, trials: Iterable[Trial], *, cases: Sequence[Case] | None = None) -> RunResult:
    """Score the trials of one run against its suite; ``cases`` are those that were planned (default: all).

    The status is ``error`` when a case has no usable trial for infrastructure, or when more than ``MAX_LOST``
    of all trials were lost to it.
    """
    by_case: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_case[trial.case_id].append(trial)
    results = tuple(_score_case(case, by_case[case.id]) for case in (suite.cases if cases is None else cases))
    dimensions = _dimension_scores(suite, results)
    aggregate = _aggregate(suite, dimensions)
    recorded = [trial for many in by_case.values() for trial in many]
    unusable = Counter(str(trial.outcome) for trial in recorded if not trial.outcome.usable)
    too_many_lost = unusable[Outcome.INFRASTRUCTURE] > MAX_LOST * len(recorded)
    return RunResult(
        status=Status.ERROR if too_many_lost else _run_status(suite, results, dimensions, aggregate),
        aggregate_score=aggregate,
        dimension_scores=dimensions,
        cases=results,
        n_trials=len(recorded),
        unusable=dict(sorted(unusable.items())),
    )


def _score_case(case: Case, trials: list[Trial]) -> CaseResult:
    usable = sorted((t for t in trials if t.outcome.usable), key=lambda t: t.trial_index)
    scores = [t.score for t in usable if t.score is not None]
    passed = sum(t.passed is True for t in usable)
    mean = _mean(scores)
    durations = [t.duration_s for t in trials if t.duration_s is not None]
    return CaseResult(
        case_id=case.id,
        archetype=case.archetype,
        critical=case.critical,
        status=_case_run_status(trials, usable, passed),
        score=mean,
        median_score=statistics.median(scores) if scores else None,
        pass_rate=passed / len(usable) if usable else None,
        dimension_scores=dict.fromkeys(case.dimensions, mean),
        n_trials=len(trials),
        n_usable=len(usable),
        n_passed=passed,
        duration_s=_mean(durations),
        diagnostics=_diagnostics(trials),
    )


def _mean(values: Sequence[float]) -> float | None:
    # Exact, rounded once: scores of 0.9 have the mean 0.9 and meet a threshold of 0.9.
    return statistics.mean(map(float, values)) if values else None


def _case_run_status(trials: list[Trial], usable: list[Trial], passed: int) -> Status:
    """Return the status of a case: with N usable trials it passes when more than half of them pass."""
    if not trials or all(t.outcome is Outcome.SKIPPED for t in trials):
        return Status.SKIPPED
    if not usable:
        return Status.INCONCLUSIVE if all(t.status is Status.INCONCLUSIVE for t in trials) else Status.ERROR
    return Status.PASS if 2 * passed > len(usable) else Status.FAIL


def _diagnostics(trials: list[Trial]) -> tuple[str, ...]:
    """Return what went wrong, each sentence once, in the order it was met."""
    seen: dict[str, None] = {}
    for trial in sorted(trials, key=lambda t: t.trial_index):
        if trial.reason:
            seen.setdefault(trial.reason)
        for result in trial.expectations:
            if result.detail and result.passed is not True:
                seen.setdefault(result.detail)
    return tuple(seen)


def _dimension_scores(suite: Suite, results: Sequence[CaseResult]) -> dict[str, float | None]:
    """Return dimension -> mean over the cases that carry it; a dimension nobody scored is None, not 0."""
    scores: dict[str, float | None] = {}
    for dimension in suite.dimensions:
        carried = [r.score for r in results if dimension.name in r.dimension_scores and r.score is not None]
        scores[dimension.name] = _mean(carried)
    return scores


def _aggregate(suite: Suite, dimensions: Mapping[str, float | None]) -> float | None:
    scored = [
        (Fraction(d.weight), Fraction(score))
        for d in suite.dimensions
        if (score := dimensions[d.name]) is not None
    ]
    total = sum(weight for weight, _ in scored)
    return float(sum(weight * score for weight, score in scored) / total) if scored else None


def _run_status(
    suite: Suite, cases: Sequence[CaseResult], dimensions: Mapping[str, float | None], aggregate: float | None
) -> Status:
    if any(case.status is Status.ERROR for case in cases):
        return Status.ERROR
    if all(case.status is Status.SKIPPED for case in cases):
        return Status.SKIPPED
    below = [
        d.name for d in suite.dimensions if (score := dimensions[d.name]) is not None and score < d.threshold
    ]
    # Without an aggregate no threshold can be met, so every failed case counts.
    failed = [c for c in cases if c.status is Status.FAIL and (c.critical or aggregate is None)]
    if failed or below or (aggregate is not None and aggregate < suite.aggregate_threshold):
        return Status.FAIL
    if any(case.status is Status.INCONCLUSIVE for case in cases):
        return Status.INCONCLUSIVE
    return Status.PASS
