"""What canaries have shown, counted run by run."""

from __future__ import annotations

import pandas as pd

from evalstats.governance.ratchet_evidence import canary_runs

ROWS = [
    # run, case, usable, passed
    ("r1", "a", 3, 3), ("r1", "b", 3, 3), ("r1", "other", 3, 0),
    ("r2", "a", 3, 2), ("r2", "b", 3, 3),
    ("r3", "a", 0, 0), ("r3", "b", 3, 3),
    ("r4", "a", 3, 3),
    ("r5", "a", 3, 3), ("r5", "b", 1, 1),
]  # fmt: skip
TABLE = pd.DataFrame(ROWS, columns=["run_id", "case_id", "n_usable", "n_passed"])


def test_a_run_is_clean_when_every_canary_passed_every_trial():
    days = {
        "r1": "2026-01-01",
        "r2": "2026-01-01",
        "r3": "2026-01-02",
        "r4": "2026-01-03",
        "r5": "2026-01-04",
    }
    found = canary_runs(TABLE, days, ["a", "b"])
    assert (found.n_runs, found.n_clean, found.n_days) == (5, 2, 4)  # r3 and r4 lack a canary
    assert found.failed == {"a": (1, 12)}


def test_only_the_runs_asked_for_count():
    found = canary_runs(TABLE, {"r1": "2026-01-01"}, ["a", "b"])
    assert (found.n_runs, found.n_clean, found.failed) == (1, 1, {})
    assert canary_runs(TABLE, {}, ["a"]).flake_high() is None
