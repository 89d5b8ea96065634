"""Nights of a calendar, and digests that a person can read."""

from __future__ import annotations

import pandas as pd
import pytest

from evalstats.governance.incidents import IdentityChange, nights


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], []),
        (["2026-03-28T02:00", "2026-03-28T05:00", "2026-03-29T02:00"], [0, 0, 1]),
        # A night of the change to summer time begins 23 hours after the last, one to winter time 25.
        (["2026-03-28T01:00", "2026-03-29T00:00", "2026-10-25T00:00", "2026-10-26T01:00"], [0, 1, 2, 3]),
        (["2026-01-01T23:30", "2026-01-02T00:30", "2026-01-02T23:30"], [0, 0, 1]),
    ],
)
def test_a_night_begins_twelve_hours_after_the_last(times, expected):
    assert nights([pd.Timestamp(time, tz="UTC") for time in times]) == expected


def test_a_digest_is_shown_by_its_beginning():
    told = {"started_at": "2026-01-01T02:00:00Z", "group_id": "g", "before": "a" * 64}
    assert str(IdentityChange(what="suite_scoring", after="b" * 64, **told)) == "suite aaaaaaaa -> bbbbbbbb"
    assert str(IdentityChange(what="judge_rubric_sha256", after=None, **told)) == "rubric aaaaaaaa -> unknown"
