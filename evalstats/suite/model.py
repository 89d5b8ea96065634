"""What a suite is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import CaseKind, ExpectationType, Tier, Visibility
from evalstats.errors import Problem, SuiteError

DEFAULT_TIMEOUT_SECONDS = 60.0
LIVE_TRIALS_PER_CASE = 3


@dataclass(frozen=True, slots=True)
class Expectation:
    """One assertion of a case."""

    type: ExpectationType
    target: str | None = None
    value: Any = None
    threshold: float | None = None
    required: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """One thing asked: the sampling unit of every statistic."""

    id: str
    title: str
    kind: CaseKind
    objective: str
    expectations: tuple[Expectation, ...]
    archetype: str | None = None
    prompt: str | None = None
    pool: str = "locked"
    runtime: str | None = None
    timeout_seconds: float | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    dimensions: tuple[str, ...] = ()
    critical: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dimension:
    """One aspect of quality, its weight in the aggregate and the score below which a run fails."""

    name: str
    weight: float
    threshold: float
    critical: bool = False


@dataclass(frozen=True, slots=True)
class Suite:
    """A loaded suite. ``document`` is the parsed JSON, ``raw`` its bytes."""

    id: str
    name: str
    path: Path
    root: Path
    visibility: Visibility
    tier: Tier
    cases: tuple[Case, ...]
    dimensions: tuple[Dimension, ...]
    aggregate_threshold: float
    document: dict[str, Any]
    raw: bytes

    @property
    def is_private(self) -> bool:
        """Return whether the content of the suite, and so of its runs, is for evaluators alone."""
        return self.visibility is Visibility.PRIVATE_HOLDOUT

    @property
    def folder(self) -> Path:
        """Return the folder of the suite file: the default working directory of a command."""
        return self.path.parent

    @property
    def environment(self) -> dict[str, Any]:
        """Return the environment section."""
        section: dict[str, Any] = self.document.get("environment", {})
        return section

    @property
    def trials_per_case(self) -> int:
        """Return how many trials a case gets unless the caller says otherwise."""
        default = LIVE_TRIALS_PER_CASE if self.tier is Tier.LIVE else 1
        return int(self.document.get("trials", {}).get("per_case", default))

    def timeout(self, case: Case) -> float:
        """Return the seconds one trial of ``case`` may take."""
        return float(case.timeout_seconds or self.environment.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS))


def faulty(suite: Suite, found: Sequence[Problem]) -> SuiteError:
    """Return the error to raise for problems of a suite, with their lines; of a private one it tells no content."""
    placed = contract.with_lines(list(found), suite.raw.decode("utf-8-sig"))
    return SuiteError(suite.path, contract.discreet(placed) if suite.is_private else placed)
