"""The table of conditions stands by the record: each reason has a row that is not met, and no row contradicts it."""

import copy

import pytest

from evalstats.report import ratchet_wording, ratchets

RECORD = {
    "schema": "ratchet-readiness.v1", "suite": "demo", "state": "READY", "standing": "advisory", "way": "noise",
    "reasons": [], "notes": [], "more_runs": 0, "more_days": 0, "statistic": "difference", "margin": 0.15,
    "alpha": 0.05, "power": 0.8,
    "noise": {
        "n_units": 12, "reruns": 1, "spread": 0.03, "spread_bound": 0.04, "level": 0.9, "largest_ready": 0.041,
        "detectable": 0.11, "block_above": 0.0993,
    },
    "curve": [
        {"drop": 0.0, "block": 0.01, "block_at_bound": 0.02}, {"drop": 0.15, "block": 0.95, "block_at_bound": 0.9},
    ],
    "stationarity": {
        "confirmed_alarm": None, "changed_at": None, "trend_tau": 0.1, "trend_p": 0.6, "autocorrelation": 0.0,
    },
    "canaries": None, "limits": {"cost": 2.0, "median_duration_s": None, "timeout_rate": 0.1}, "identity": {},
    "runs": [
        {"group_id": f"g{day}", "started_at": f"2026-11-{day:02d}T02:00:00.000Z", "value": 0.5} for day in range(1, 13)
    ],
    "left_out": [],
}  # fmt: skip

DAY = "2026-11-05T02:00:00.000Z"


def changed(**parts):
    """The record with other parts; those of a mapping are changed one by one."""
    record = copy.deepcopy(RECORD)
    for name, value in parts.items():
        record[name] = {**record[name], **value} if isinstance(record[name], dict) else value
    return record


def rows(record):
    return {asked: (there, state) for asked, there, state in ratchets.conditions_table(record).cells()}


def test_all_is_met_when_it_is_ready():
    assert {state for _, state in rows(RECORD).values()} == {"met", "not asked"}
    assert rows(RECORD)["median duration in seconds: no limit in the policy"] == ("n/a", "not asked")


@pytest.mark.parametrize(
    ("reason", "asked", "parts"),
    [
        ("5 of the 8 runs needed", "8 independent runs", {"noise": {"n_units": 5}}),
        ("3 of the 5 days needed", "runs on 5 days", {"more_days": 2}),
        ("a drop below 0.2 would not be seen, the margin is 0.15", "a drop of 0.15 is seen 80% of the time", {}),
        ("monitoring has a confirmed alarm", "no confirmed alarm", {"stationarity": {"confirmed_alarm": DAY}}),
        ("the level changed on 2026-11-05; …", "no change of level", {"stationarity": {"changed_at": DAY}}),
        ("the runs drift: falling, p = 0.010", "no trend", {"stationarity": {"trend_tau": -0.7, "trend_p": 0.01}}),
        ("cost: 1 of 12 runs beyond 2, the worst 3", "cost of 2 or less", {}),
        ("all runs agree: a repeated answer is not a measured noise", "nothing else against it", {}),
        ("critical cases are in quarantine: c1", "nothing else against it", {}),
        ("infrastructure took 9.0% of the trials, the error budget is 2.0%", "nothing else against it", {}),
    ],
)  # fmt: skip
def test_whatever_stands_against_it_has_a_row_that_is_missing(reason, asked, parts):
    record = changed(state="NOT_READY", reasons=[reason], **parts)
    missing = [name for name, (_, state) in rows(record).items() if state == "missing"]
    assert missing[0] == asked and len(ratchets.others(record)) == (asked == "nothing else against it")


def test_nights_are_counted_by_the_record_not_by_the_clock():
    """Twelve runs of four nights, half of them after midnight: the record lacks a day, the dates do not."""
    assert rows(changed(state="NOT_READY", reasons=["4 of the 5 days needed"], more_days=1))[
        "runs on 5 days"
    ] == (
        "4",
        "missing",
    )


def test_a_suite_that_blocks_stays_ready_a_little_beyond_the_margin():
    near = changed(standing="blocking", noise={"detectable": 0.16, "spread": 0.044})
    told = rows(near)["a drop of 0.15 is seen 80% of the time"]
    assert told == ("one of 0.160 is seen; a suite that blocks already may lie so close", "met")
    assert "missing" not in {state for _, state in rows(near).values()}


def test_a_limit_without_runs_and_a_trend_of_too_few_are_not_known():
    nothing = changed(
        state="NOT_READY", reasons=["0 of the 8 runs needed"], runs=[], curve=[], noise={"n_units": 0},
        stationarity={"trend_tau": None, "trend_p": None},
    )  # fmt: skip
    assert rows(nothing)["cost of 2 or less"] == ("no run counts yet", "not known")
    assert rows(nothing)["no trend"] == ("n/a", "not known")
    assert ratchets.runs_chart(nothing) is None and ratchets.blocking_curve(nothing) is None


def test_a_failing_canary_stands_against_a_gate_on_noise_too():
    seen = {
        "cases": ["c1"],
        "n_runs": 9,
        "n_clean": 8,
        "n_days": 9,
        "failed": {"c1": {"failed": 1, "trials": 27}},
    }
    record = changed(
        state="NOT_READY", reasons=["critical cases must pass every trial, and failed: c1 1 of 27"]
    )
    assert rows(record | {"canaries": seen})["no canary ever fails"] == ("c1", "missing")


def test_runs_of_one_day_are_said_to_be():
    same = changed(runs=RECORD["runs"][:1] * 3)
    assert ratchet_wording.runs_text(same).startswith("3 runs count, all of 2026-11-01; ")
    assert ratchet_wording.runs_text(RECORD).startswith("12 runs count, from 2026-11-01 to 2026-11-12; ")
