from .against_people import confusion, own_family
from .cases import (
    SKILL_ARMS,
    case_runs_of,
    case_table,
    generator,
    is_graded,
    only,
)
from .comparisons import Comparison, compare
from .designs import plan, spread
from .differences import difference
from .flaky_cases import flakiness
from .identity import comparable
from .independence import flagged, repeats
from .judging import judge_accuracy, noise_floor
from .lifts import by_archetype, legacy_lift, lift
from .monitoring import against_history, change_points, charted, monitor, trend
from .next_run import MIN_RUNS_FOR_BAND, bands, excess_variance, series, which_band
from .rates import denominators, rate
from .several_attempts import attempts
from .sources import components, shares

__all__ = [
    "MIN_RUNS_FOR_BAND",
    "SKILL_ARMS",
    "Comparison",
    "against_history",
    "attempts",
    "bands",
    "by_archetype",
    "case_runs_of",
    "case_table",
    "change_points",
    "charted",
    "comparable",
    "compare",
    "components",
    "confusion",
    "denominators",
    "difference",
    "excess_variance",
    "flagged",
    "flakiness",
    "generator",
    "is_graded",
    "judge_accuracy",
    "legacy_lift",
    "lift",
    "monitor",
    "noise_floor",
    "only",
    "own_family",
    "plan",
    "rate",
    "repeats",
    "series",
    "shares",
    "spread",
    "trend",
    "which_band",
]
