"""The bridge: tidy trials x statistics -> tidy results.

How high is it?
    - mean score by arm, archetype, run or model -> `rate`; out of what -> `denominators`
    - with k attempts -> `attempts`

Is one arm better?
    - by how much, on the same cases -> `difference`
    - the whole comparison -> `compare`; share of the headroom -> `lift`, `legacy_lift`, `by_archetype`

What will the next run say?
    - the runs so far -> `series`; the band -> `bands`, `which_band`; more than trial noise? -> `excess_variance`
    - has it changed since? -> `monitor`, `change_points`, `trend`; as drawn -> `charted`; by how much tonight ->
      `against_history`

What varies?
    - cases, days, trials -> `components`, `shares`; which cases -> `flakiness`
    - the judge -> `noise_floor`; is it right? -> `judge_accuracy`, `confusion`; does it favour its own? -> `own_family`

May these trials be trusted?
    - which runs belong together -> `comparable`; copies and constants among the trials -> `repeats`, `flagged`

How many cases and trials does it take? -> `plan`; what makes scores vary -> `spread`

The case table of the store (``case_runs``: one row per run and case) is what nearly all start from. Results
are frames: the grouping keys, then the fields of `Estimate` (or `Test`), in that order. A case is the sampling
unit; its score is the mean over its usable trials; arms are compared case by case. What cannot be computed is
NaN with a caveat.
"""

import lazy_loader

# A name is loaded when it is first asked for; `__init__.pyi` says from where. Nobody pays for what they do not use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
