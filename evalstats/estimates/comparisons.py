"""Is one arm better, as good, or is it too early to tell? Difference, tests, power and attrition together.

No verdict is given: that is a matter of policy. But "no difference" is never left standing alone: beside it
stands the smallest difference that this comparison would have seen.
"""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
import pandas as pd

from evalstats.estimates.cases import SKILL_ARMS, Grouping, Keys, case_table, groups, tidy
from evalstats.estimates.differences import side_of
from evalstats.estimates.sides import compare_sides
from evalstats.stats.results import Estimate, Test

NOT_MATCHED = ["case_id", "archetype", "arm", "reason"]


class Comparison(NamedTuple):
    """What came of comparing two arms? Three frames; the grouping keys come first in each.

    ``estimates``: ``quantity`` (difference, detectable) and the fields of `Estimate`. ``tests``: ``test``
    (difference, equivalence, non-inferiority) and the fields of `Test`. ``attrition``: the cases that only one
    arm has, which enter nothing: ``case_id, archetype, arm`` (the one that has it) and ``reason``.
    """

    estimates: pd.DataFrame
    tests: pd.DataFrame
    attrition: pd.DataFrame


def compare(
    case_runs: pd.DataFrame,
    *,
    rng: np.random.Generator,
    arms: tuple[str, str] = SKILL_ARMS,
    level: float = 0.80,
    margin: float | None = None,
    **grouping: Unpack[Grouping],
) -> Comparison:
    """How do two arms compare, case by case, and what would have been missed?

    Parameters
    ----------
    case_runs : pandas.DataFrame
        The case table. To compare models or runs, put their names into its column ``arm``.
    rng : numpy.random.Generator
        Used where the interval is resampled.
    arms : tuple of two str
        The candidate and what it is compared with.
    level : float
        Confidence level of the interval. The tests and the detectable difference do not depend on it.
    margin : float, optional
        Smallest difference that matters, in the unit of the score, chosen before looking: adds the tests of
        equivalence and non-inferiority, both "underpowered" where the detectable difference exceeds it.
    **grouping
        ``by``: columns, each combination of which is compared by itself; ``clusters``: a column whose groups
        are taken as independent.

    Returns
    -------
    Comparison
        Of the mean difference (SUPER). Where no case ran in both arms, the arms are compared as separate
        samples, and a caveat says so. The detectable difference is seen with power .8 at a two-sided .05.
    """
    by, clusters = list(grouping.get("by", ())), grouping.get("clusters")
    estimates: list[tuple[Keys, Estimate]] = []
    tests: list[tuple[Keys, Test]] = []
    attrition: list[Keys] = []
    for keys, group in groups(case_table(case_runs, by=("arm", *by), clusters=clusters), by):
        new, old = (side_of(group, arm, clusters) for arm in arms)
        found = compare_sides(new, old, rng=rng, level=level, margin=margin)
        estimates += [({**keys, "quantity": name}, estimate) for name, estimate in found.estimates.items()]
        tests += [({**keys, "test": name}, test) for name, test in found.tests.items()]
        attrition += [{**lone._asdict(), **keys} for lone in found.alone]
    return Comparison(
        tidy(estimates, [*by, "quantity"]),
        tidy(tests, [*by, "test"], Test),
        pd.DataFrame(attrition, columns=list(dict.fromkeys([*by, *NOT_MATCHED]))),
    )
