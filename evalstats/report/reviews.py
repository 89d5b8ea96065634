"""Which cases should the next lock hold? What the suite review reads and works out, case by case.

Everything here proposes. Only what is sure retires a case; one that looks saturated after a few trials is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.report import inputs, material, suite_files, tables
from evalstats.report.material import Material

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.governance.candidates import Candidate
    from evalstats.governance.headroom import Headroom
    from evalstats.governance.lint import SuiteLint
    from evalstats.governance.lint.findings import Finding
    from evalstats.suite import Suite

KEEP, RETIRE, ADMIT, WAIT = "keep", "retire", "admit", "wait"
PROPOSALS = (KEEP, RETIRE, ADMIT, WAIT)
COLUMNS = (
    "case_id archetype pool n_trials difficulty difficulty_low difficulty_high discrimination discrimination_low"
    " discrimination_high flips disagreement word leverage lint proposal reasons"
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A suite under review: its runs, its file, what lint says of it, and the cases outside the lock.

    ``lint`` is None where no file of the suite was found. ``headline`` names what leverage is measured on: lift,
    or the difference or mean where there is no lift.
    """

    found: Material
    suite: Suite | None
    lint: SuiteLint | None
    candidates: tuple[Candidate, ...]
    headline: str
    level: float
    notes: tuple[str, ...] = ()

    @property
    def lock(self) -> str:
        """Return the name of the lock; empty for the whole suite."""
        return str(self.found.lock["lock"]["name"]) if self.found.lock else ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what lint found."""
        return () if self.lint is None else self.lint.findings


def read(store: str, suite: str, *, suites: str, lock: str, level: float) -> Review:
    """Read what a store and the suite's file say; without a file, lint and candidates are missing and that is said.

    Raises UsageError when there is no run, or when a locked case is no longer what was locked.
    """
    from evalstats.governance.lint import lint as read_lint

    found = material.read(store, suite, lock)
    file = suite_files.find(suites, suite)
    notes = list(found.notes)
    if file is None:
        notes.append(
            f"No file of {suite} was found: nothing is said of its lint, and no case can be admitted."
        )
    said = None
    if file is not None:
        with warehouse.open(inputs.find_store(store), read_only=True) as opened:
            said = read_lint(file.path, store=opened, root=file.root)
    return Review(
        found=found,
        suite=file,
        lint=said,
        candidates=tuple(_candidates(found, file, lock, level)),
        headline=_headline(found),
        level=level,
        notes=tuple(notes),
    )


def _candidates(found: Material, file: Suite | None, lock: str, level: float) -> list[Candidate]:
    """Return the cases outside the lock with the proposal for each; none without a lock."""
    from evalstats.governance import locks
    from evalstats.governance.candidates import proposals

    if not lock or file is None:
        return []
    held = locks.read(inputs.find_lock(lock))
    return proposals(held, [file], {file.id: found.every_run}, level=level)


def _headline(found: Material) -> str:
    if not found.is_paired:
        return "mean score"
    means = _scores(found).mean()
    return "lift" if all(means[arm] < 1 for arm in found.pair) else "difference"


def _scores(found: Material) -> pd.DataFrame:
    """Return the mean score of each case by arm; cases without a usable trial in some arm are left out."""
    from evalstats import estimates

    table = estimates.case_table(found.runs)
    return table.pivot(index="case_id", columns="arm", values="score").dropna()


# --- every case ----------------------------------------------------------------------------------


def cases(review: Review) -> pd.DataFrame:
    """Return one row per case: how hard, how telling, how flaky, how heavy, and what is proposed.

    ``difficulty`` is the share of failing trials without the treatment (Wilson), ``discrimination`` the difference
    of the pass rates of the arms (Newcombe), both of this very case (FIXED). ``leverage`` is how far the headline
    moves when the case is left out. What is not known is missing.
    """
    found = review.found
    screened = _screened(found)
    flips, disagreement, leverage = _flips(found), _disagreement(found), _leverage(review)
    counts = found.runs.groupby("case_id")["n_usable"].sum()
    archetypes = found.runs.groupby("case_id")["archetype"].first()
    rows = []
    for case_id in sorted(counts.index):
        told = _lint_of(review, case_id)
        room = screened.get(case_id)
        proposal, reasons = _proposal(room, told)
        rows.append(
            {
                "case_id": case_id,
                "archetype": archetypes[case_id],
                "pool": "locked" if review.lock else "suite",
                "n_trials": int(counts[case_id]),
                **_placed(found, case_id, review.level),
                "flips": flips.get(case_id, nan),
                "disagreement": disagreement.get(case_id, nan),
                "word": room.word if room else None,
                "leverage": leverage.get(case_id, nan),
                "lint": ", ".join(dict.fromkeys(str(finding.code) for finding in told)),
                "proposal": proposal,
                "reasons": "; ".join(reasons),
            }
        )
    return material.frame_of([*rows, *_waiting(review)], COLUMNS)


def _screened(found: Material) -> dict[str, Headroom]:
    """Return what each case can still show; nothing where there is one arm only."""
    from evalstats.governance.headroom import ARMS, screen

    if not found.is_paired:
        return {}
    axis = next(axis for axis, pair in ARMS.items() if tuple(pair) == found.pair)
    return {room.case_id: room for room in screen(found.runs, axis=axis)}


def _placed(found: Material, case_id: str, level: float) -> dict[str, float]:
    """Return difficulty and discrimination of a case with their intervals; missing where an arm is."""
    of_case = found.runs[found.runs["case_id"] == case_id]
    counts = [
        tuple(int(of_case.loc[of_case["arm"] == arm, name].sum()) for name in ("n_passed", "n_usable"))
        for arm in found.pair
    ]
    return _numbers(counts, found.is_paired, level)


def _numbers(counts: Sequence[tuple[int, ...]], is_paired: bool, level: float) -> dict[str, float]:
    """Return both numbers from the passes and trials of the arms, treatment first."""
    from evalstats import stats

    (new, n_new), (old, n_old) = counts
    numbers = {}
    if n_old:
        failing = stats.wilson(n_old - old, n_old, level=level, population="FIXED")
        numbers["difficulty"] = failing
    if n_old and n_new and is_paired:
        numbers["discrimination"] = stats.newcombe(
            (new, n_new), (old, n_old), level=level, population="FIXED"
        )
    row = {}
    for name in ("difficulty", "discrimination"):
        known = numbers.get(name)
        row[name] = known.estimate if known else nan
        row[f"{name}_low"] = known.conf_low if known else nan
        row[f"{name}_high"] = known.conf_high if known else nan
    return row


def _flips(found: Material) -> dict[str, float]:
    """Return the share of steps between runs in which a case changed its majority, of the arm where it is larger."""
    from evalstats import estimates

    flips = estimates.flakiness(found.runs).groupby("case_id")["verdict_flips"].max()
    return {str(case_id): float(share) for case_id, share in flips.items()}


def _disagreement(found: Material) -> dict[str, float]:
    """Return the share of repeated judgements of one thing that do not all agree; nothing where none was repeated."""
    judged = found.judgements.dropna(subset=["score"])
    if judged.empty:
        return {}
    keys = ["run_id", "case_id", "arm", "trial_index", "expectation", "judge"]
    repeated = judged.groupby(keys)["score"].agg(["size", "nunique"])
    repeated = repeated[repeated["size"] > 1]
    split = (repeated["nunique"] > 1).groupby("case_id").mean()
    return {str(case_id): float(share) for case_id, share in split.items()}


def _leverage(review: Review) -> dict[str, float]:
    """Return how far the headline moves up when a case is left out of it."""
    scores = _scores(review.found)
    if len(scores) < 2:
        return {}
    new, old = (scores[arm].to_numpy(float) for arm in review.found.pair)
    whole = _value(review.headline, new.sum(), old.sum(), len(scores))
    return {
        str(case_id): _value(review.headline, new.sum() - n, old.sum() - o, len(scores) - 1) - whole
        for case_id, n, o in zip(scores.index, new, old, strict=True)
    }


def _value(headline: str, new: float, old: float, n: int) -> float:
    if headline == "lift":
        return 1 - (n - new) / (n - old) if n > old else nan
    return (new - old) / n if headline == "difference" else new / n


# --- proposals -----------------------------------------------------------------------------------


def _lint_of(review: Review, case_id: str) -> list[Finding]:
    return [finding for finding in review.findings if finding.case == case_id]


def _proposal(room: Headroom | None, told: Sequence[Finding]) -> tuple[str, list[str]]:
    """Return keep or retire with what speaks for it: only what is sure retires a case."""
    from evalstats.governance.headroom import FLOOR, SATURATED
    from evalstats.governance.lint.findings import Code

    if room is not None and room.certain and room.word in (SATURATED, FLOOR):
        return RETIRE, [f"{room.word}, {room.why}: it cannot show a change"]
    if twins := [finding for finding in told if finding.code is Code.DUPLICATE_CASE]:
        return RETIRE, [f"{twins[0].what}: twice the same case is no new evidence"]
    return KEEP, list(_doubts(room, told)) or ["it can show a change"]


def _doubts(room: Headroom | None, told: Sequence[Finding]) -> list[str]:
    """Return what a reviewer should look at before keeping a case."""
    from evalstats.governance.lint import Severity

    said = []
    if room is not None and room.more_trials:
        said.append(
            f"looks {room.word}; {tables.some(room.more_trials, 'more trial')} like these in each arm would settle it"
        )
    elif room is not None and not room.word.startswith("open"):
        said.append(f"{room.word} {room.why}")
    said += [f"lint: {f.code}, {f.what}" for f in told if f.severity is not Severity.NOTE]
    return said


def _waiting(review: Review) -> list[dict[str, Any]]:
    """Return the cases outside the lock, each with its proposal."""
    found, archetypes = review.found, {}
    if review.suite is not None:
        archetypes = {case.id: case.archetype for case in review.suite.cases}
    return [
        {
            "case_id": each.case_id,
            "archetype": archetypes.get(each.case_id),
            "pool": "candidate",
            "n_trials": sum(arm.n_trials for arm in each.evidence),
            **_numbers([_count(each, arm) for arm in found.pair], found.is_paired, review.level),
            "flips": max((a.flips.estimate for a in each.evidence if a.n_runs > 1), default=nan),
            "lint": ", ".join(dict.fromkeys(str(f.code) for f in _lint_of(review, each.case_id))),
            "proposal": each.proposal,
            "reasons": "; ".join(each.reasons),
        }
        for each in review.candidates
    ]


def _count(candidate: Candidate, arm: str) -> tuple[int, int]:
    evidence = next((each for each in candidate.evidence if each.arm == arm), None)
    if evidence is None or not evidence.n_trials:
        return 0, 0
    return round(evidence.pass_rate.estimate * evidence.n_trials), evidence.n_trials


def counts(shown: pd.DataFrame) -> Mapping[str, int]:
    """Return how many cases each proposal has, in their order."""
    return {word: int((shown["proposal"] == word).sum()) for word in PROPOSALS}
