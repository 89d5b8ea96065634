"""How often does one of k attempts pass, or all of them?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evalstats.estimates.cases import case_table, groups, is_graded, tidy
from evalstats.estimates.records import noted
from evalstats.stats.attempts import pass_at_k, pass_hat_k


def attempts(
    case_runs: pd.DataFrame,
    *,
    k: Sequence[int] = (1, 3, 5),
    level: float = 0.80,
    by: Sequence[str] = ("arm",),
    clusters: str | None = None,
) -> pd.DataFrame:
    """How often does at least one of k attempts pass (pass@k), or all (pass^k), on cases like these (SUPER)?

    Returns
    -------
    pandas.DataFrame
        The columns of ``by``, ``k``, ``succeeds`` (any, all) and the fields of `Estimate`. A case with fewer
        than k usable trials is left out, and counted in a caveat. A graded trial passes when all of its
        required expectations do.
    """
    graded = "graded scores: a trial counts as passed or not" if is_graded(case_runs) else ""
    found = []
    for keys, group in groups(case_table(case_runs, by=by, clusters=clusters), by):
        passed, trials = group["n_passed"].to_numpy(), group["n_usable"].to_numpy()
        labels = None if clusters is None else group[clusters].to_numpy()
        for size in k:
            for succeeds, method in (("any", pass_at_k), ("all", pass_hat_k)):
                estimate = method(passed, trials, k=size, clusters=labels, level=level)
                found.append(({**keys, "k": size, "succeeds": succeeds}, noted(estimate, graded)))
    return tidy(found, [*by, "k", "succeeds"])
