"""One trial: one attempt at one case in one run, with a key that makes recording it twice harmless.

And what was said of it: the judgement of a model and the label of a person, each on one expectation of one trial,
each with a key of the same kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from evalstats.contract import Arm, ExpectationType, Isolation, Outcome, Status

SEED_BITS = 48  # below 2^53, so that JSON, RFC 8785 and every language keep it exactly
ORIGINAL = "original"  # the wording of a question as its suite has it


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationResult:
    """What came of one expectation. ``passed`` is None when it could not be decided."""

    index: int
    type: ExpectationType
    required: bool
    passed: bool | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One attempt at one case in one arm of one run. What is not known is None, never 0."""

    run_id: str
    suite_id: str
    case_id: str
    arm: Arm
    trial_index: int
    status: Status
    outcome: Outcome
    started_at: str | None
    archetype: str | None = None
    attempt: int = 1
    seed: int | None = None
    reason: str | None = None
    score: float | None = None
    passed: bool | None = None
    dimension_scores: dict[str, float | None] = field(default_factory=dict)
    expectations: tuple[ExpectationResult, ...] = ()
    duration_s: float | None = None
    exit_code: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cache: int | None = None
    cost: float | None = None
    cost_source: str | None = None
    tool_calls: int | None = None
    stop_reason: str | None = None
    cited_cards: tuple[str, ...] | None = None
    cited_recipes: tuple[str, ...] | None = None
    error_class: str | None = None
    isolation: Isolation | None = None
    leftover_processes: int | None = None
    # Of trials that were read from another tool's log:
    utc_offset: str | None = None  # as written, for example "-04:00"; "naive" when the log names none
    cached: bool | None = None  # answered from a cache, so no independent look at the subject
    source_path: str | None = None
    source_sha256: str | None = None
    source_locator: str | None = None
    artifacts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.outcome.usable == (self.score is None):
            raise ValueError(f"a trial carries a score exactly when usable: {self.outcome}, {self.score!r}")
        if self.score is not None and not 0 <= self.score <= 1:
            raise ValueError(f"a score lies between 0 and 1, got {self.score!r}")
        if not self.outcome.usable and not self.reason:
            raise ValueError(f"an unusable trial ({self.outcome}) needs a reason")

    @property
    def key(self) -> str:
        """Return the stable identity of the trial."""
        return trial_key(self.run_id, self.case_id, self.arm, self.trial_index)

    def as_record(self) -> dict[str, Any]:
        """Return the trial as a line of a journal (schema ``trial.v1``)."""
        results = [_as_dict(result) for result in self.expectations]
        return {"kind": "trial", "key": self.key, **_as_dict(self), "expectations": results}


def _as_dict(record: Any) -> dict[str, Any]:
    # Not dataclasses.asdict: its deep copy costs more than all the rest of recording a trial.
    return {name: getattr(record, name) for name in record.__slots__}


def trial_from_record(record: Mapping[str, Any]) -> Trial:
    """Return the trial in a journal line that has passed its schema."""
    given = {name: record[name] for name in Trial.__slots__ if name in record}
    given["expectations"] = tuple(_expectation_result(e) for e in record["expectations"])
    for name, kind in (("arm", Arm), ("status", Status), ("outcome", Outcome), ("isolation", Isolation)):
        if given.get(name) is not None:
            given[name] = kind(given[name])
    for name in ("cited_cards", "cited_recipes"):
        if given.get(name) is not None:
            given[name] = tuple(given[name])
    return Trial(**given)


def _expectation_result(entry: Mapping[str, Any]) -> ExpectationResult:
    return ExpectationResult(**{**entry, "type": ExpectationType(entry["type"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one judge said of one expectation of one trial, once. ``passed`` is None where it gave no verdict.

    ``judge`` is its model and ``judge_sha256`` the digest of all that makes it a judge: model, rubric, prompt,
    sampling. ``repeat`` counts from 1; ``attempt`` is how often that repeat was asked. ``wording`` names how the
    question was put, and ``passed`` is always about the question as the suite has it. ``mark`` is the score from 0
    to 1, where one was asked for. ``graded_sha256`` is the text that was judged, ``fence`` what it stood between.
    """

    run_id: str
    case_id: str
    arm: Arm
    trial_index: int
    expectation: int
    judge: str
    judge_sha256: str
    rubric_sha256: str
    repeat: int
    passed: bool | None
    started_at: str
    family: str | None = None
    wording: str = ORIGINAL
    attempt: int = 1
    mark: float | None = None
    error_class: str | None = None
    reason: str | None = None
    seed: int | None = None
    fence: str | None = None
    graded_sha256: str | None = None
    answer_sha256: str | None = None
    model: str | None = None  # as the endpoint calls it, and which version it says it is
    version: str | None = None
    duration_s: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    cost_source: str | None = None

    def __post_init__(self) -> None:
        if (self.passed is None) == (self.error_class is None):
            raise ValueError("a judgement has either a verdict or the class of its error")
        if self.mark is not None and not 0 <= self.mark <= 1:
            raise ValueError("a mark lies between 0 and 1")

    @property
    def trial_key(self) -> str:
        """Return the identity of the trial."""
        return trial_key(self.run_id, self.case_id, self.arm, self.trial_index)

    @property
    def asked(self) -> tuple[str, int, str, str, int]:
        """Return what was asked, whatever came of it: trial, expectation, judge, wording, repeat."""
        return self.trial_key, self.expectation, self.judge_sha256, self.wording, self.repeat

    @property
    def key(self) -> str:
        """Return the stable identity of the judgement."""
        return _digest("judgement", *map(str, self.asked), str(self.attempt)).hexdigest()

    def as_record(self) -> dict[str, Any]:
        """Return the judgement as a line of a journal (schema ``judgement.v1``)."""
        return {"kind": "judgement", "key": self.key, **_as_dict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's verdict on one expectation of one trial. Who labels again is heard again: the last time counts."""

    run_id: str
    case_id: str
    arm: Arm
    trial_index: int
    expectation: int
    passed: bool
    labeller: str
    labelled_at: str

    @property
    def trial_key(self) -> str:
        """Return the identity of the trial."""
        return trial_key(self.run_id, self.case_id, self.arm, self.trial_index)

    @property
    def key(self) -> str:
        """Return the stable identity of the label."""
        who = (self.labeller, self.labelled_at, str(self.passed))
        return _digest("label", self.trial_key, str(self.expectation), *who).hexdigest()

    def as_record(self) -> dict[str, Any]:
        """Return the label as a line of a journal (schema ``label.v1``)."""
        return {"kind": "label", "key": self.key, **_as_dict(self)}


def judgement_from_record(record: Mapping[str, Any]) -> Judgement:
    """Return the judgement in a journal line that has passed its schema."""
    given = {f.name: record[f.name] for f in fields(Judgement) if f.name in record}
    return Judgement(**{**given, "arm": Arm(given["arm"])})


def label_from_record(record: Mapping[str, Any]) -> Label:
    """Return the label in a journal line that has passed its schema."""
    given = {f.name: record[f.name] for f in fields(Label)}
    return Label(**{**given, "arm": Arm(given["arm"])})


def trial_key(run_id: str, case_id: str, arm: str, trial_index: int) -> str:
    """Return the SHA-256 that identifies a trial; the parts are length-prefixed, so none can imitate two."""
    return _digest("trial", run_id, case_id, arm, str(trial_index)).hexdigest()


def trial_seed(run_seed: int, case_id: str, arm: str, trial_index: int) -> int:
    """Return the seed of one trial, H(run seed, case, arm, trial)."""
    return _seed(_digest("seed", str(run_seed), case_id, arm, str(trial_index)))


def judgement_seed(trial: Trial, expectation: int, judge_sha256: str, wording: str, repeat: int) -> int:
    """Return the seed of one judgement, H(trial seed, expectation, judge, wording, repeat)."""
    of_trial = trial.key if trial.seed is None else str(trial.seed)
    return _seed(_digest("judge", of_trial, str(expectation), judge_sha256, wording, str(repeat)))


def run_seed(run_id: str) -> int:
    """Return the default seed of a run, H(run id): two runs are never clones by accident."""
    return _seed(_digest("run", run_id))


def _digest(*parts: str) -> hashlib._Hash:
    # Half of a surrogate pair, which no UTF-8 can hold, counts as the "?" that a journal writes for it.
    encoded = [part.encode("utf-8", "replace") for part in parts]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(raw), raw) for raw in encoded))


def _seed(hashed: hashlib._Hash) -> int:
    return int.from_bytes(hashed.digest()[: SEED_BITS // 8], "big")


def timestamp(when: datetime | None = None) -> str:
    """Return a UTC time as text with milliseconds and ``Z``; now, unless given."""
    moment = datetime.now(UTC) if when is None else when.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
