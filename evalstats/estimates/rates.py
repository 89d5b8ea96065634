"""How high is the score, and out of what? Means over cases, and the denominators behind them.

A trial that the infrastructure lost has no score. Leaving it out flatters a subject that breaks things;
counting it as failed blames it for the weather. So both are shown, and the bounds between which the truth lies.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evalstats import stats
from evalstats.estimates.cases import case_table, groups, is_graded, tidy
from evalstats.estimates.records import noted
from evalstats.stats.results import Estimate, counted, undefined

A_BOUND = "a bound, whatever the trials without a score would have scored: no sampling error"


def rate(
    case_runs: pd.DataFrame, *, level: float = 0.80, by: Sequence[str] = ("arm",), clusters: str | None = None
) -> pd.DataFrame:
    """How high is the mean score, and would it hold on cases like these (SUPER)?

    Graded scores go to `stats.mean_score`, yes/no trials to `stats.pass_rate`: each chooses what holds its
    level at this size, and ``method`` names it. ``clusters`` names a column whose groups, not the cases, are
    taken as independent. To see runs or models apart, name ``run_id`` or ``model`` in ``by``, beside ``arm``.
    """
    graded = is_graded(case_runs)
    found = []
    for keys, group in groups(case_table(case_runs, by=by, clusters=clusters), by):
        usable = group[group["n_usable"] > 0]
        lost = len(group) - len(usable)
        note = f"{counted(lost, 'case')} without a usable trial left out" if lost else ""
        found.append((keys, noted(mean_score(usable, graded=graded, clusters=clusters, level=level), note)))
    return tidy(found, by)


def mean_score(table: pd.DataFrame, *, graded: bool, clusters: str | None, level: float) -> Estimate:
    """Return the mean over the cases of a case table; each must have a usable trial."""
    labels = None if clusters is None else table[clusters].to_numpy()
    trials = table["n_usable"].to_numpy()
    if graded:
        return stats.mean_score(table["score"].to_numpy(), clusters=labels, trials=trials, level=level)
    return stats.pass_rate(table["n_passed"].to_numpy(), trials, clusters=labels, level=level)


def denominators(
    case_runs: pd.DataFrame, *, level: float = 0.80, by: Sequence[str] = ("arm",), clusters: str | None = None
) -> pd.DataFrame:
    """How high is the score, out of what? Completed trials only, errors as failures, and the bounds.

    Returns
    -------
    pandas.DataFrame
        The columns of ``by``, ``denominator`` and the fields of `Estimate`. ``completed-only`` leaves trials
        without a score out; ``errors-as-fail`` counts them as 0; ``lower bound`` and ``upper bound`` are the
        mean if all of them had failed, or passed, and have no interval. A subject's own timeout is a score
        of 0 throughout.
    """
    graded = is_graded(case_runs)
    found = []
    for keys, group in groups(case_runs, by):
        for denominator, rows in _denominators(group).items():
            table = case_table(rows, by=(), clusters=clusters)
            usable = table[table["n_usable"] > 0]
            estimate = mean_score(usable, graded=graded, clusters=clusters, level=level)
            estimate = _bound(estimate) if "bound" in denominator else estimate
            found.append(({**keys, "denominator": denominator}, noted(estimate, _lost(group))))
    return tidy(found, [*by, "denominator"])


def _denominators(case_runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    lost = case_runs["n_trials"] - case_runs["n_usable"]
    failing = case_runs.assign(n_usable=case_runs["n_trials"])
    passing = failing.assign(n_passed=failing["n_passed"] + lost, score_sum=failing["score_sum"] + lost)
    return {
        "completed-only": case_runs,
        "errors-as-fail": failing,
        "lower bound": failing,
        "upper bound": passing,
    }


def _lost(case_runs: pd.DataFrame) -> str:
    trials, usable = int(case_runs["n_trials"].sum()), int(case_runs["n_usable"].sum())
    return f"{trials - usable} of {counted(trials, 'trial')} without a score" if trials > usable else ""


def _bound(estimate: Estimate) -> Estimate:
    known = {name: getattr(estimate, name) for name in ("estimand", "population", "level", "n_cases")}
    counts = {"n_clusters": estimate.n_clusters, "n_trials": estimate.n_trials, "method": "bound"}
    return undefined(A_BOUND, estimate=estimate.estimate, **known, **counts)
