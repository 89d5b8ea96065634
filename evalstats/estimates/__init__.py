"""The bridge: tidy trials x statistics -> tidy results.

How high is it?
    - mean score by arm, archetype, run or model -> `rate`; out of what -> `denominators`
    - with k attempts -> `attempts`

Is one arm better?
    - by how much, on the same cases -> `difference`
    - the whole comparison -> `compare`; share of the headroom -> `lift`, `legacy_lift`, `by_archetype`

What will the next run say?
    - the runs so far -> `series`; the band -> `bands`, `which_band`; more than trial noise? -> `excess_variance`
    - has it changed since? -> `monitor`, `change_points`, `trend`

What varies?
    - cases, days, trials -> `components`, `shares`; which cases -> `flakiness`
    - the judge -> `noise_floor`; is it right? -> `judge_accuracy`

May these trials be trusted?
    - which runs belong together -> `comparable`; copies and constants among the trials -> `repeats`, `flagged`

How many cases and trials does it take? -> `plan`; what makes scores vary -> `spread`

The case table of the store (``case_runs``: one row per run and case) is what nearly all start from. Results
are frames: the grouping keys, then the fields of `Estimate` (or `Test`), in that order. A case is the sampling
unit; its score is the mean over its usable trials; arms are compared case by case. What cannot be computed is
NaN with a caveat.
"""

from evalstats.estimates.cases import (
    SKILL_ARMS,
    case_runs_of,
    case_table,
    generator,
    is_graded,
    only,
)
from evalstats.estimates.comparisons import Comparison, compare
from evalstats.estimates.designs import plan, spread
from evalstats.estimates.differences import difference
from evalstats.estimates.flaky_cases import flakiness
from evalstats.estimates.identity import comparable
from evalstats.estimates.independence import flagged, repeats
from evalstats.estimates.judging import judge_accuracy, noise_floor
from evalstats.estimates.lifts import by_archetype, legacy_lift, lift
from evalstats.estimates.monitoring import change_points, monitor, trend
from evalstats.estimates.next_run import MIN_RUNS_FOR_BAND, bands, excess_variance, series, which_band
from evalstats.estimates.rates import denominators, rate
from evalstats.estimates.several_attempts import attempts
from evalstats.estimates.sources import components, shares

__all__ = [
    "MIN_RUNS_FOR_BAND",
    "SKILL_ARMS",
    "Comparison",
    "attempts",
    "bands",
    "by_archetype",
    "case_runs_of",
    "case_table",
    "change_points",
    "comparable",
    "compare",
    "components",
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
    "plan",
    "rate",
    "repeats",
    "series",
    "shares",
    "spread",
    "trend",
    "which_band",
]
