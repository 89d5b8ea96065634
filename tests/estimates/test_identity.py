"""Runs of another identity, partial runs and replicas are left out, and said so."""

from __future__ import annotations

import pandas as pd

from evalstats import estimates


def test_comparable_cuts_other_identities_and_replicas(graded: pd.DataFrame) -> None:
    changed = graded.copy()
    changed.loc[changed["group_id"].isin(["r0", "r1"]), "model"] = "older"
    changed.loc[changed["group_id"] == "r3", "seed"] = 2
    kept, notes = estimates.comparable(changed)
    assert sorted(kept["group_id"].unique()) == ["r2", "r4", "r5"]
    assert len(notes) == 6
    assert sum("model changed" in note for note in notes) == 4
    assert sum("replica" in note for note in notes) == 2


def test_a_run_of_some_cases_is_no_run_of_the_suite(graded: pd.DataFrame) -> None:
    partial = graded[(graded["group_id"] != "r5") | (graded["archetype"] == "a")]
    kept, notes = estimates.comparable(partial)
    assert "r5" not in set(kept["group_id"])
    assert notes == [f"r5-{arm} left out: it ran 4 of 24 cases" for arm in ("skill-on", "skill-off")]


def test_unknown_identity_equals_unknown_identity(graded: pd.DataFrame) -> None:
    kept, notes = estimates.comparable(graded.assign(model=None))
    assert (len(kept), notes) == (len(graded), [])
