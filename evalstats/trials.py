"""One trial: one attempt at one case in one run, with a key that makes recording it twice harmless."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from evalstats.contract import Arm, ExpectationType, Isolation, Outcome, Status

SEED_BITS = 48  # below 2^53, so that JSON, RFC 8785 and every language keep it exactly


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
    given = {f.name: record[f.name] for f in fields(Trial) if f.name in record}
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


def trial_key(run_id: str, case_id: str, arm: str, trial_index: int) -> str:
    """Return the SHA-256 that identifies a trial; the parts are length-prefixed, so none can imitate two."""
    return _digest("trial", run_id, case_id, arm, str(trial_index)).hexdigest()


def trial_seed(run_seed: int, case_id: str, arm: str, trial_index: int) -> int:
    """Return the seed of one trial, H(run seed, case, arm, trial)."""
    return _seed(_digest("seed", str(run_seed), case_id, arm, str(trial_index)))


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
