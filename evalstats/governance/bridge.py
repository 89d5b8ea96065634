"""What part of a shift is due to the suite? The same trials, read under two locks.

Runs that tried the cases of both locks are read twice, over the cases of the old lock and over those of the new.
Where the locks agree both readings are of the same trials, so whatever moved the subject cancels; what remains
is due to the change of cases alone.

The population is FIXED. A lock is a list, not a sample: the question is what these two lists differ by, and
chance is in the trials and in what moves from run to run. How another choice of cases would have moved the
headline is not asked, and not answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evalstats import contract, estimates
from evalstats.errors import UsageError
from evalstats.estimates.cases import tidy
from evalstats.governance.lock_changes import differences
from evalstats.governance.locks import FrozenCase, FrozenSuite, Lock
from evalstats.governance.readings import Evidence, as_json, estimate, few, headlines, parts

KEYS = ["quantity", "arm", "average", "part"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """What came of reading one suite under two locks.

    ``estimates``: ``quantity`` (score, difference, lift), ``arm`` (of a score), ``average`` (over cases, or over
    archetypes), ``part`` and the fields of `Estimate`. The parts ``old``, ``common`` and ``new`` are headlines
    over the cases of the old lock, of both, and of the new; ``retired`` is common minus old, ``admitted`` new
    minus common, and ``shift`` new minus old.
    """

    suite_id: str
    runs: tuple[str, ...]
    retired: tuple[str, ...]
    common: tuple[str, ...]
    admitted: tuple[str, ...]
    estimates: pd.DataFrame
    caveats: tuple[str, ...]


def shift(case_runs: pd.DataFrame, old: FrozenSuite, new: FrozenSuite, *, level: float = 0.80) -> Bridge:
    """How far does the headline of a suite move because its cases changed, and nothing else?

    Parameters
    ----------
    case_runs : pandas.DataFrame
        The case table of the suite, with ``case_hash`` beside each row. Of its runs those count that tried every
        case of both locks, are of the newest identity and repeat no seed.
    old, new : FrozenSuite
        The suite as both locks hold it.
    level : float
        Level of the intervals.

    Raises
    ------
    UsageError
        No run tried every case of both locks in the versions they hold, or a case has no usable trial in an arm.
    """
    rows, left_out = estimates.comparable(_covering(case_runs, _asked(old, new)))
    evidence = Evidence.of(rows)
    inside = [np.isin(evidence.case_ids, list(lock.cases)) for lock in (old, new)]
    found = [
        ({**headline.keys(), "part": part}, estimate(reading, headline, evidence, level))
        for headline in headlines(evidence.arms)
        for part, reading in parts(headline, evidence, *inside).items()
    ]
    return Bridge(
        suite_id=new.id,
        runs=tuple(sorted(set(rows["run_id"]))),
        retired=tuple(sorted(old.cases.keys() - new.cases.keys())),
        common=tuple(sorted(old.cases.keys() & new.cases.keys())),
        admitted=tuple(sorted(new.cases.keys() - old.cases.keys())),
        estimates=tidy(found, KEYS),
        caveats=(*_rules(old, new), *left_out),
    )


def moved(old: Lock, new: Lock) -> list[str]:
    """Return the suites that both locks hold, but not alike: only there can a headline shift."""
    shared = old.suites.keys() & new.suites.keys()
    if not shared:
        raise UsageError(f"locks {old.name} and {new.name} hold no suite in common")
    return sorted(s for s in shared if not _same(old.suites[s], new.suites[s]))


def _same(old: FrozenSuite, new: FrozenSuite) -> bool:
    asked = [{case.id: case.any_pool for case in lock.cases.values()} for lock in (old, new)]
    return asked[0] == asked[1] and not _rules(old, new)


# --- which runs ----------------------------------------------------------------------------------


def _asked(old: FrozenSuite, new: FrozenSuite) -> dict[str, FrozenCase]:
    """Return the cases of both locks. A run has one case of a name, so it cannot try two versions of it."""
    both = old.cases.keys() & new.cases.keys()
    changed = sorted(c for c in both if old.cases[c].any_pool != new.cases[c].any_pool)
    if changed:
        raise UsageError(
            f"{few(changed)} changed between the locks, and a run has one case of a name; give the new version"
            " an id of its own, keep the old one, and run both",
            field=new.id,
        )
    if not old.cases or not new.cases:
        raise UsageError(
            "one of the locks holds no case of it: there is no headline to compare", field=new.id
        )
    return {**old.cases, **new.cases}


def _covering(case_runs: pd.DataFrame, asked: dict[str, FrozenCase]) -> pd.DataFrame:
    """Return the rows of the runs that tried all of these cases, in these versions."""
    versions = {(case.id, digest) for case in asked.values() for digest in case.any_pool}
    known = [pair in versions for pair in zip(case_runs["case_id"], case_runs["case_hash"], strict=True)]
    rows = case_runs[known]
    counts = rows.groupby("run_id", sort=False)["case_id"].nunique()
    whole = counts.index[counts == len(asked)]
    if not len(whole):
        raise UsageError(_uncovered(rows, counts, asked), field=str(case_runs["suite_id"].iloc[0]))
    covering = rows[rows["run_id"].isin(whole)]
    return covering.sort_values(["created_at", "run_id", "case_id"], ignore_index=True)


def _uncovered(rows: pd.DataFrame, counts: pd.Series[int], asked: dict[str, FrozenCase]) -> str:
    message = f"no run tried all {len(asked)} cases of both locks as they hold them"
    if counts.empty:
        return f"{message}; run the suite with all of them in it"
    best = counts.idxmax()
    missing = sorted(asked.keys() - set(rows.loc[rows["run_id"] == best, "case_id"]))
    return f"{message}; the nearest, {best}, lacks {few(missing)}; run the suite with all of them in it"


def _rules(old: FrozenSuite, new: FrozenSuite) -> list[str]:
    """Return a caveat for what changed around the cases: the runs had one state of it, so it is in no shift."""
    shared = [f for f in differences(old, new) if f.case_id is None and f.layer.moves_numbers]
    return [
        f"{finding.layer} changed between the locks ({', '.join(finding.fields)}): its part is not in the shift"
        for finding in shared
    ]


# --- the document --------------------------------------------------------------------------------


def document(old: Lock, new: Lock, bridges: Sequence[Bridge], refused: Mapping[str, str]) -> dict[str, Any]:
    """Return the bridges of two locks as one document (schema ``lock-bridge.v1``), the same for the same input.

    ``refused`` maps the id of a suite to the reason why it could not be bridged. Suites that only one lock holds
    are named.
    """
    made = {
        "schema": "lock-bridge.v1",
        "old": {"name": old.name, "sha256": old.sha256},
        "new": {"name": new.name, "sha256": new.sha256},
        "suites": [_entry(bridge) for bridge in bridges],
        "refused": [{"suite_id": suite_id, "reason": reason} for suite_id, reason in sorted(refused.items())],
        "unchanged": sorted((old.suites.keys() & new.suites.keys()) - set(moved(old, new))),
        "only_old": sorted(old.suites.keys() - new.suites.keys()),
        "only_new": sorted(new.suites.keys() - old.suites.keys()),
    }
    contract.validate(made, "lock-bridge.v1")
    return made


def _entry(bridge: Bridge) -> dict[str, Any]:
    return {
        "suite_id": bridge.suite_id,
        "population": "FIXED",
        "runs": list(bridge.runs),
        "retired": list(bridge.retired),
        "common": list(bridge.common),
        "admitted": list(bridge.admitted),
        "estimates": [as_json(row) for row in bridge.estimates.to_dict("records")],
        "caveats": list(bridge.caveats),
    }
