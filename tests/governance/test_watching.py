"""Nights in order: alarms, incidents that are no drops, and who changed what on the same axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalstats import contract
from evalstats.contract import IDENTITY
from evalstats.errors import UsageError
from evalstats.governance.main_line import Watch, main_line
from evalstats.governance.watching import Watched, watch

START = pd.Timestamp("2026-01-01T02:00:00")
TRIALS, CASES = 100, 5


def row(night: int, case: int, score: float, **unusual: Any) -> dict[str, Any]:
    lost = unusual.pop("lost", 0)
    usable = TRIALS - lost
    passed = round(score * usable)
    found = {
        "suite_id": "desk",
        "case_id": f"c{case}",
        "archetype": "A1",
        "arm": "skill-on",
        "run_id": f"r{night:02}",
        "group_id": f"g{night:02}",
        "created_at": START + pd.Timedelta(days=night),
        "seed": night,
        "n_trials": TRIALS,
        "n_usable": usable,
        "n_passed": passed,
        "score_sum": float(passed),
        "score_sumsq": float(passed),
        "n_infrastructure": lost,
        "n_unusable": lost,
        "is_mock": False,
        **dict.fromkeys(IDENTITY),
        "suite_scoring": "a" * 64,
        "model": "m-1",
    }
    return {**found, **unusual}


def night(number: int, score: float, **unusual: Any) -> list[dict[str, Any]]:
    cases = unusual.pop("cases", CASES)
    return [row(number, case, score, **unusual) for case in range(cases)]


def nights(scores: list[float], first: int = 0, **unusual: Any) -> list[dict[str, Any]]:
    return [r for at, score in enumerate(scores, first) for r in night(at, score, **unusual)]


def steady(n: int, centre: float, seed: int = 3) -> list[float]:
    return list(centre + np.random.default_rng(seed).normal(0, 0.02, n))


def watched(rows: list[dict[str, Any]], refs: dict[str, str | None] | None = None, **asked: Any) -> Watched:
    found = watch(main_line(pd.DataFrame(rows), refs or {}, Watch(**asked)), rng=np.random.default_rng(1))
    contract.validate(found.as_record(), "monitor.v1")
    return found


def events(found: Watched) -> list[tuple[str, str]]:
    return [(night.started_at[:10], event) for night in found.nights for event in night.events]


def test_an_unchanged_series_is_in_control():
    found = watched(nights(steady(30, 0.7)))
    assert (found.word, found.exit_code) == ("in_control", 0)
    assert len(found.nights) == 30 and events(found) == []


def test_a_lasting_drop_is_a_confirmed_alarm_and_dated():
    found = watched(nights([*steady(20, 0.7), *steady(8, 0.5)]))
    assert (found.word, found.exit_code) == ("alarm", 1)
    told = events(found)
    assert ("2026-01-21", "confirmed alarm: skill-on below (shewhart)") in told
    assert ("2026-01-22", "confirmed alarm: skill-on below (ewma, cusum)") in told
    assert any(
        day == "2026-01-21" and event.startswith("level of skill-on 0.698 -> 0.49") for day, event in told
    )


def test_one_odd_night_is_not_confirmed():
    found = watched(nights([*steady(20, 0.7), 0.45, *steady(3, 0.7)]))
    shewhart = next(chart for chart in found.charts if chart["chart"] == "shewhart")
    assert shewhart["first_alarm"].startswith("2026-01-21") and shewhart["confirmed_alarm"] is None


def test_a_night_with_lost_trials_is_an_incident_and_not_a_drop():
    rows = nights(steady(20, 0.7)) + night(20, 0.0, lost=60) + nights(steady(5, 0.7), 21)
    found = watched(rows)
    assert found.word == "in_control" and found.nights[20].scores == {}
    assert found.nights[20].events == ("incident: 300 of 500 trials failed for infrastructure",)
    assert [incident.group_id for incident in found.incidents] == ["g20"]


def test_a_few_lost_trials_are_no_incident():
    assert watched(nights(steady(20, 0.7), lost=9)).incidents == ()
    found = watched([*nights(steady(20, 0.7)), *night(20, 0.7, lost=11)])
    assert len(found.incidents) == 1, "11% is more than the 10% that are borne"


def test_a_case_without_any_score_makes_an_incident():
    rows = [*nights(steady(12, 0.7)), *night(12, 0.7)]
    rows[-1].update(n_usable=0, n_passed=0, score_sum=0.0, score_sumsq=0.0, n_unusable=TRIALS)
    [incident] = watched(rows).incidents
    assert incident.why == "only 4 of 5 cases have a score (skill-on)"


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ("suite_scoring", "suite aaaaaaaa -> bbbbbbbb"),
        ("model", "model m-1 -> m-2"),
        ("judge_model", "judge unknown -> j-2"),
        ("registry_version", "registry unknown -> 2"),
        ("cli_version", "CLI unknown -> 2"),
    ],
)
def test_who_changed_what_begins_the_charts_anew(what, word):
    after = {"suite_scoring": "b" * 64, "model": "m-2", "judge_model": "j-2"}.get(what, "2")
    found = watched(nights(steady(15, 0.7)) + nights(steady(12, 0.5), 15, **{what: after}))
    assert found.nights[15].events[0] == word
    assert [change.what for change in found.identity_changes] == [what]
    assert {night.era for night in found.nights} == {0, 1}
    assert found.charts[0]["n_history"] + found.charts[0]["n_new"] == 12
    assert found.word == "in_control", "another subject is not a drop of this one"
    assert found.changes[0]["changed_at"].startswith("2026-01-16"), "and the step is dated on that night"


def test_arms_are_held_against_their_own_last():
    both = [
        {**r, "arm": arm, "run_id": f"{r['run_id']}-{arm}", "model": model}
        for r in nights(steady(12, 0.7))
        for arm, model in (("skill-on", "m-1"), ("skill-off", "m-9"))
    ]
    found = watched(both)
    assert found.identity_changes == ()
    assert sorted({chart["watched"] for chart in found.charts}) == ["difference", "skill-off", "skill-on"]


def test_few_nights_are_provisional_and_claim_nothing():
    found = watched(nights(steady(5, 0.7)))
    assert (found.word, found.exit_code) == ("unknown", 3)
    assert all(chart["provisional"] for chart in found.charts)


def test_without_spread_nothing_is_claimed():
    found = watched(nights([1.0] * 12 + [0.5] * 2))
    assert (found.word, found.exit_code) == ("unknown", 3)
    assert found.charts[0]["degenerate"] and found.charts[0]["limit"] is None
    assert any("no in-control claim" in caveat for caveat in found.charts[0]["caveats"])


def test_only_real_runs_of_the_main_line_are_nights():
    rows = nights(steady(12, 0.7))
    rows += night(12, 0.1, is_mock=True) + night(13, 0.1) + night(14, 0.1, cases=2) + night(15, 0.1, seed=3)
    found = watched(rows, {"r13": "feature", "r01": "main"})
    assert len(found.nights) == 12
    assert found.left_out == (
        "1 run(s) left out: answered by a mock",
        "1 run(s) left out: not made on the main line",
        "1 run(s) left out: of some of the cases only",
        "1 run(s) left out: a replica: it repeats the seed of an earlier run",
    )


def test_runs_of_one_night_are_one_value():
    rows = nights(steady(12, 0.7))
    again = [{**r, "run_id": "again", "group_id": "again", "seed": 99} for r in night(11, 0.5)]
    for r in again:
        r["created_at"] += pd.Timedelta(hours=3)
    found = watched(rows + again)
    assert len(found.nights) == 12
    first = watched(rows).nights[11].scores["skill-on"]
    assert found.nights[11].scores["skill-on"] == pytest.approx((first + 0.5) / 2)
    assert len(watched(rows + again, by_night=False).nights) == 13


def test_since_until_and_order():
    rows = nights([*steady(20, 0.7), *steady(12, 0.5)])
    shuffled = [rows[at] for at in np.random.default_rng(0).permutation(len(rows))]
    assert watched(shuffled).as_record() == watched(rows).as_record()
    accepted = watched(rows, since="2026-01-21")
    assert accepted.word == "in_control" and len(accepted.nights) == 12
    assert len(watched(rows, until="2026-01-20").nights) == 20


def test_nothing_to_watch_says_why():
    with pytest.raises(UsageError, match=r"no run of the main line to watch; 12 run\(s\) left out: answered"):
        watched(nights(steady(12, 0.7), is_mock=True))
    with pytest.raises(UsageError, match="is no date or time"):
        watched(nights(steady(3, 0.7)), since="soon")
