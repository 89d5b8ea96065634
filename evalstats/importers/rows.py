"""What an importer yields: rows of a foreign log, and the run each belongs to.

An importer tells what the log says, in the log's own units. What that means here (which scores count, which
keys are stable, what is a duplicate) is decided once, in `reading`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from evalstats.contract import Arm, Axis, Outcome
from evalstats.errors import UsageError
from evalstats.trials import ExpectationResult, Trial

if TYPE_CHECKING:
    from evalstats.importers.logs import Log

AXES = {
    Arm.SKILL_ON: Axis.SKILL,
    Arm.SKILL_OFF: Axis.SKILL,
    Arm.CONTEXT_ON: Axis.CONTEXT,
    Arm.CONTEXT_OFF: Axis.CONTEXT,
    Arm.BASELINE: Axis.CANDIDATE,
    Arm.CANDIDATE: Axis.CANDIDATE,
}
# How others call the arms, without case, blanks, dashes and underscores.
_ARM_NAMES = {
    "skillon": Arm.SKILL_ON, "withskill": Arm.SKILL_ON, "withskills": Arm.SKILL_ON, "skill": Arm.SKILL_ON,
    "skilloff": Arm.SKILL_OFF, "withoutskill": Arm.SKILL_OFF, "withoutskills": Arm.SKILL_OFF,
    "noskill": Arm.SKILL_OFF, "noskills": Arm.SKILL_OFF,
    "contexton": Arm.CONTEXT_ON, "contextoff": Arm.CONTEXT_OFF,
    "baseline": Arm.BASELINE, "oldskill": Arm.BASELINE, "old": Arm.BASELINE, "control": Arm.BASELINE,
    "candidate": Arm.CANDIDATE, "newskill": Arm.CANDIDATE, "new": Arm.CANDIDATE, "treatment": Arm.CANDIDATE,
}  # fmt: skip


def arm_of(name: str) -> Arm | None:
    """Return the arm that a foreign word means; None for a word that is not the name of an arm."""
    return _ARM_NAMES.get(re.sub(r"[\s_-]", "", name).lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How logs are to be read. ``metric`` names the score that counts; without it, the log's first.

    ``cluster_key`` is a dotted path into what a row tells ``about`` its case, such as ``metadata.topic``; the
    value found becomes the archetype. ``columns`` maps our fields to the columns of a table. ``score_range``
    is where scores lie in the log; they are brought to 0 to 1. ``on_conflict`` is ``error``, ``first`` or
    ``last``: which counts when one trial is told twice, differently.
    """

    suite: str | None = None
    arm: Arm | None = None
    cluster_key: str | None = None
    metric: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    score_range: tuple[float, float] = (0.0, 1.0)
    rescore: bool = False
    allow_truncated: bool = False
    on_conflict: str = "error"

    def __post_init__(self) -> None:
        low, high = self.score_range
        if not (low < high and high - low < float("inf")):
            raise UsageError("must be LOW:HIGH with LOW below HIGH", field="--score-range")


@dataclass(slots=True, eq=False)  # neither frozen nor kw_only, which would double what it costs to make one
class Row:
    """One attempt at one case, as the log tells it. What the log does not know is None.

    The reader takes a row over and holds it to the rules in place; an importer yields it and lets go.

    ``locator`` says where in the file it stands (``line 12``, ``samples/3_epoch_1.json``, ``/results/7``).
    ``scores`` are all scores by name, ``score`` the one that counts. ``content`` is what the case asks, as any
    JSON: its digest tells whether two runs asked the same. ``about`` is where ``--cluster-key`` looks.
    ``started_at`` is the time as written, with whatever zone it has. ``ours`` is the trial itself where the log is
    our own; it is kept as it is, and the other fields only help to tell it from others.
    """

    case_id: str
    trial_index: int
    locator: str
    outcome: Outcome = Outcome.OK
    score: float | None = None
    passed: bool | None = None
    reason: str | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    archetype: str | None = None
    content: Any = None
    about: Mapping[str, Any] = field(default_factory=dict)
    expectations: tuple[ExpectationResult, ...] = ()
    attempt: int = 1
    started_at: str | None = None
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
    cached: bool | None = None
    ours: Trial | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A figure that the tool itself reports, and the same figure recomputed from the rows by its own rule."""

    name: str
    declared: float
    recomputed: float | None
    tolerance: float = 1e-9

    @property
    def agrees(self) -> bool:
        """Return whether the two are the same, within what the tool's rounding allows."""
        return self.recomputed is not None and abs(self.declared - self.recomputed) <= self.tolerance


@dataclass(slots=True, kw_only=True, eq=False)
class LoggedRun:
    """One run of one suite in one arm, as found in a log; rows point to it.

    ``key`` is what names the run wherever its files lie (the tool's own run id, not a path; `Log.identity` where
    there is none): two files with one key are one run. ``label`` tells it from its siblings where neither model
    nor arm does. ``group`` is shared by runs that are paired, such as the two arms of one execution.
    ``manifest`` is set only where the log is our own, whose runs stay what they are, id and all.
    ``declared`` is asked for when all rows of the file have been read. ``warnings`` may grow while they are.
    """

    suite: str
    key: tuple[str, ...]
    arm: Arm = Arm.CANDIDATE
    label: str | None = None
    group: tuple[str, ...] | None = None
    model: str | None = None
    judge_model: str | None = None
    tool: str | None = None
    tool_version: str | None = None
    created_at: str | None = None
    is_mock: bool = False
    scoring: Any = None
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    declared: Callable[[], Sequence[Declared]] = tuple
    manifest: Mapping[str, Any] | None = None

    def warn(self, sentence: str) -> None:
        """Add a warning, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)


Item = tuple[LoggedRun, Row | None]  # a run without a row announces itself, so that it is known though empty


class Importer(Protocol):
    """A format: a module (or object) with a name and two functions."""

    NAME: str

    def sniff(self, log: Log) -> str | None:
        """Return by what the format is recognised, for a person; None when the file is of another format."""

    def read(self, log: Log, options: Options) -> Iterator[Item]:
        """Yield each row of the file with its run, in the order of the file."""
