"""May these trials be trusted to be trials? Copies among them, and arms that never vary."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from evalstats.estimates.cases import require
from evalstats.stats.results import counted

NEEDED = ["case_id", "usable", "score", "seed", "stdout_sha256", "transcript_sha256"]
MANY_COPIES = 0.10  # of the repeats; fewer equal outputs, where no transcript tells, may be chance
DETERMINISTIC = "deterministic in these data: no case varied over its trials, which says nothing about others"


def repeats(trials: pd.DataFrame, *, by: Sequence[str] = ("arm",)) -> pd.DataFrame:
    """Are the trials of a case independent, or copies of one another? One row per group of ``by``.

    Parameters
    ----------
    trials : pandas.DataFrame
        The trials of the store; only usable ones count.
    by : sequence of str
        Groups that are looked at by themselves.

    Returns
    -------
    pandas.DataFrame
        The columns of ``by``; ``n_cases``, ``n_trials``; ``n_identical`` (trials whose transcript, or output
        where there is none, another trial of the case already has); ``n_replicas`` (trials that repeat the
        seed of another trial of the case); ``deterministic`` (every case was tried at least twice, and none
        varied in score); ``caveats``, what the reader must know. A deterministic arm may well repeat itself;
        one that varies elsewhere must not. A few equal outputs are counted, but no caveat: short answers meet.
    """
    require(trials, [*by, *NEEDED], "trials")
    usable = trials[trials["usable"].fillna(False).astype(bool)]
    usable = usable.assign(digest=usable["transcript_sha256"].fillna(usable["stdout_sha256"]))
    cases = [*by, "case_id"]
    copies = _copies(usable, [*cases, "digest"])
    marked = usable[cases].assign(
        n_identical=copies,
        n_replicas=_copies(usable, [*cases, "seed"]),
        certain=copies & usable["transcript_sha256"].notna(),
    )
    per_case = usable.groupby(cases, dropna=False)["score"].agg(["size", "nunique"])
    per_case["varies"] = (per_case["size"] < 2) | (per_case["nunique"] > 1)
    keys = list(by) or (lambda _: 0)
    counts = marked.groupby(keys, dropna=False)[["n_identical", "n_replicas", "certain"]].sum()
    per_group = per_case.reset_index().groupby(keys, dropna=False)
    table = per_group.agg(n_cases=("size", "size"), n_trials=("size", "sum")).join(counts)
    table["deterministic"] = ~per_group["varies"].any()
    table["caveats"] = [_caveats(row) for row in table.to_dict("records")]
    return table.drop(columns="certain").reset_index(drop=not by)


def _copies(trials: pd.DataFrame, names: list[str]) -> pd.Series[bool]:
    """Say which trials agree with an earlier one in all of these columns; what is unknown agrees with nothing."""
    return trials[names[-1]].notna() & trials.duplicated(names)


def _caveats(row: dict[Hashable, Any]) -> tuple[str, ...]:
    found = []
    n_trials, copies = row["n_trials"], row["n_identical"]
    if row["deterministic"]:
        found.append(DETERMINISTIC)
    elif row["certain"] or copies > MANY_COPIES * (n_trials - row["n_cases"]):
        found.append(f"cached or identical repeats: not independent (copies: {copies} of {n_trials})")
    if row["n_replicas"]:
        replicas = f"a seed is repeated by {row['n_replicas']} of {counted(n_trials, 'trial')}"
        found.append(f"replicas: {replicas}, so they are not independent")
    return tuple(found)


def flagged(estimates: pd.DataFrame, flags: pd.DataFrame) -> pd.DataFrame:
    """Return the estimates (or tests) with the caveats of `repeats` added, matched by the columns they share.

    A flag of any arm reaches a row that names no arm, such as a difference.
    """
    keys = [name for name in flags.columns if name in estimates.columns and name not in _COUNTS]
    told: dict[tuple[object, ...], tuple[str, ...]] = {}
    for row in flags.to_dict("records"):
        key = tuple(row[name] for name in keys)
        whose = "" if keys or "arm" not in row else f"{row['arm']}: "
        told[key] = (*told.get(key, ()), *(f"{whose}{caveat}" for caveat in row["caveats"]))
    places = zip(*(estimates[name] for name in keys), strict=True) if keys else [()] * len(estimates)
    caveats = [(*old, *told.get(place, ())) for old, place in zip(estimates["caveats"], places, strict=True)]
    return estimates.assign(caveats=pd.Series(caveats, index=estimates.index, dtype=object))


_COUNTS = {"n_cases", "n_trials", "n_identical", "n_replicas", "deterministic", "caveats"}
