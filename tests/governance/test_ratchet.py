"""May the suite block? The published table, what is missing, and when the ratchet slips back."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import cycle, islice
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, norm

from evalstats import contract
from evalstats.governance.ratchet import Asked, Readiness, readiness
from evalstats.governance.ratchet_evidence import Canaries, Past, Run
from evalstats.stats.decisions import Rule

PP = 0.01
RULE = Rule(margin=5 * PP)
# STATS, section 7: the largest spread that is ready at a margin of 5pp, with one and with three reruns.
TABLE = [(10, 1.305, 2.08), (20, 1.54, 2.54), (30, 1.63, 2.74)]


def steady(n: int, spread: float, centre: float = 0.8) -> list[float]:
    """Return n values with exactly this standard deviation that neither drift nor jump nor stray."""
    pattern = np.array(list(islice(cycle([-1.0, 1.0, 0.5, -0.5, 1.0, -1.0, -0.5, 0.5]), n)))
    pattern -= pattern.mean()
    return list(centre + pattern / pattern.std(ddof=1) * spread)


def past(values: list[float], *, per_day: int = 1, **measured: float | None) -> Past:
    """Return runs of these values, so many a day."""
    runs = []
    for number, value in enumerate(values):
        day = (date(2026, 1, 1) + timedelta(days=number // per_day)).isoformat()
        at = f"{day}T{2 + number % per_day:02}:00:00Z"
        run = Run(
            group_id=f"r{number}", started_at=at, unit=f"r{number}", day=day, value=value, measured=measured
        )
        runs.append(run)
    return Past(runs=runs, watched=runs)


def asked(**changes: Any) -> Asked:
    return Asked(**{"suite": "desk", "rule": RULE, "statistic": "pass_rate", "minimum": 8, **changes})


def judged(runs: Past, canaries: Canaries | None = None, **changes: Any) -> Readiness:
    found = readiness(runs, asked(**changes), canaries, rng=np.random.default_rng(1))
    contract.validate(found.as_record(), "ratchet-readiness.v1")
    return found


def clean(n: int, *, days: int = 20, failed: int = 0) -> Canaries:
    told = {"door": (failed, 3 * n)} if failed else {}
    return Canaries(cases=("door",), n_runs=n, n_clean=n - failed, n_days=min(days, n), failed=told)


# --- the noise -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "reruns", "largest"), [(n, r, s) for n, *row in TABLE for r, s in zip((1, 3), row, strict=True)]
)
def test_the_largest_spread_that_is_ready(runs, reruns, largest):
    rounding = 0.005
    below = judged(past(steady(runs, (largest - rounding) * PP)), reruns=reruns)
    above = judged(past(steady(runs, (largest + rounding) * PP)), reruns=reruns)
    assert (below.state, below.reasons, below.more_runs) == ("READY", (), 0)
    assert above.state == "NOT_READY"
    assert above.reasons[0].endswith("the margin is 0.05")
    assert below.noise.largest_ready == pytest.approx(largest * PP, abs=rounding * PP)


def test_the_formula_by_hand():
    found = judged(past(steady(12, 0.012))).noise
    bound = 0.012 * sqrt(11 / chi2.ppf(0.10, 11))
    assert found.spread_bound == pytest.approx(bound, rel=1e-9)
    assert found.detectable == pytest.approx(
        (norm.ppf(0.95) + norm.ppf(0.80)) * bound * sqrt(1 + 1 / 12), rel=1e-9
    )
    assert found.block_above == pytest.approx(0.662 * 0.05, abs=0.0005 * 0.05)


def test_how_many_more_runs():
    spread = 1.6 * PP  # between the 20 and the 30 runs of the table

    def ready(n: int) -> bool:
        bound = spread * sqrt((n - 1) / chi2.ppf(0.10, n - 1))
        return bool((norm.ppf(0.95) + norm.ppf(0.80)) * bound * sqrt(1 + 1 / n) <= 0.05)

    needed = next(n for n in range(10, 100) if ready(n))
    assert 20 < needed < 30
    assert judged(past(steady(10, spread))).more_runs == needed - 10


def test_no_number_of_runs_is_enough_where_the_spread_itself_is_too_wide():
    assert judged(past(steady(12, 2.1 * PP))).more_runs is None  # 5pp / 2.486 = 2.01pp, known exactly


def test_the_curve_is_that_of_a_normal_run():
    found = judged(past(steady(20, 0.015)))
    error = 0.015 * sqrt(1 + 1 / 20)
    for at in found.curve:
        expected = norm.cdf((at["drop"] - RULE.fraction * 0.05) / error)
        assert at["block"] == pytest.approx(expected, abs=1e-9)
    assert found.curve[0]["drop"] == 0 and found.curve[0]["block"] < found.curve[0]["block_at_bound"]


def test_runs_and_days_that_are_missing():
    found = judged(past(steady(6, 0.01), per_day=3))
    assert found.reasons[:2] == ("6 of the 8 runs needed", "2 of the 5 days needed")
    assert (found.more_runs, found.more_days) == (2, 3)
    longer = judged(past(steady(10, 0.01)), minimum=14, unit="night")
    assert longer.reasons == ("10 of the 14 nights that the policy asks for",)
    assert longer.more_runs == 4


@pytest.mark.parametrize("values", [[], [0.8], [0.8] * 12])
def test_what_is_unknown_is_null_and_never_ready(values):
    found = judged(past(values))
    assert found.state == "NOT_READY" and found.curve == ()
    assert found.as_record()["noise"]["spread"] is None


def test_a_unit_is_the_mean_of_its_runs():
    values = steady(10, 0.012)
    runs = [
        Run(
            group_id=f"{r.group_id}{half}",
            started_at=r.started_at,
            unit=r.unit,
            day=r.day,
            value=r.value + by,
        )
        for r in past(values).runs
        for half, by in (("a", 0.05), ("b", -0.05))
    ]
    assert judged(Past(runs=runs, watched=runs)).noise.spread == pytest.approx(0.012)


# --- what else stands against it -------------------------------------------------------------------


def test_a_confirmed_alarm_stops_it():
    found = judged(past([*steady(16, 0.01), *steady(8, 0.01, centre=0.7)]))
    assert found.state == "NOT_READY"
    assert "monitoring has a confirmed alarm" in found.reasons
    assert found.stationarity.confirmed_alarm.startswith("2026-01-17")
    assert found.stationarity.changed_at.startswith("2026-01-17")


def test_a_drift_is_named():
    values = [value + 0.002 * at for at, value in enumerate(steady(12, 0.004))]
    assert any(reason.startswith("the runs drift: rising") for reason in judged(past(values)).reasons)


def test_a_blocked_run_is_watched_though_it_is_no_yardstick():
    runs = past([*steady(16, 0.01), 0.6, 0.6, 0.6]).runs
    found = judged(Past(runs=runs[:16], watched=runs))
    assert found.noise.n_units == 16 and found.stationarity.confirmed_alarm is not None


def test_costs_and_timeouts_of_the_policy():
    limits = {"cost": 2.0, "timeout_rate": 0.05, "median_duration_s": None}
    fine = judged(past(steady(10, 0.01), cost=1.0, timeout_rate=0.0), limits=limits)
    assert fine.state == "READY"
    over = judged(past(steady(10, 0.01), cost=3.0, timeout_rate=0.2), limits=limits)
    assert over.reasons == (
        "cost: 10 of 10 runs beyond 2, the worst 3",
        "timeout_rate: 10 of 10 runs beyond 0.05, the worst 0.2",
    )
    unknown = judged(past(steady(10, 0.01), cost=None, timeout_rate=0.0), limits=limits)
    assert unknown.reasons == ("cost: not recorded for 10 of 10 runs; unknown is not zero",)


def test_a_spent_error_budget():
    runs = past(steady(10, 0.01)).runs
    found = judged(Past(runs=runs, watched=runs, lost=0.08), error_budget=0.05)
    assert found.reasons == ("infrastructure took 8.0% of the trials, the error budget is 5.0%",)


def test_a_critical_case_must_pass_every_trial():
    found = judged(past(steady(10, 0.01)), clean(10, failed=1))
    assert found.reasons == ("critical cases must pass every trial, and failed: door 1 of 30",)


# --- slipping back ---------------------------------------------------------------------------------


def test_the_ratchet_has_play():
    """Beyond the margin by less than a tenth it keeps what it has, and does not give it anew."""
    slightly, clearly = (past(steady(10, share * 1.305 * PP)) for share in (1.05, 1.15))
    assert judged(slightly).state == "NOT_READY"
    assert judged(slightly, standing="blocking").state == "READY"
    assert judged(clearly, standing="blocking").state == "REVOKED"
    assert judged(slightly, was_revoked=True).state == "REVOKED"
    assert judged(past(steady(10, 1.2 * PP)), was_revoked=True).state == "READY"


def test_an_alarm_revokes_and_too_few_runs_do_not():
    alarmed = past([*steady(16, 0.01), *steady(8, 0.01, centre=0.7)])
    assert judged(alarmed, standing="blocking").state == "REVOKED"
    assert judged(past([0.80, 0.84]), standing="blocking").state == "NOT_READY"


# --- canaries --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("alpha", "needed"), [(0.10, 29), (0.05, 59), (0.02, 149), (0.01, 299)])
def test_the_zero_failure_bound(alpha, needed):
    canary = {"by_canaries": True, "rule": Rule(margin=0.05, alpha=alpha)}
    runs = past([1.0] * 12)
    short, enough = (judged(runs, clean(n), **canary) for n in (needed - 1, needed))
    assert (short.state, short.more_runs) == ("NOT_READY", 1)
    assert short.reasons == (f"{needed - 1} of the {needed} clean runs needed",)
    assert (enough.state, enough.reasons, enough.more_runs) == ("READY", (), 0)


def test_the_bound_is_a_bound():
    assert clean(59).flake_high() == pytest.approx(1 - 0.05 ** (1 / 59), rel=1e-9)
    assert clean(59).flake_high() < 0.05 < clean(58).flake_high()
    assert clean(0, days=0).flake_high() is None
    assert clean(100, failed=1).flake_high() > clean(100).flake_high()


def test_a_failed_canary_never_blocks_and_revokes():
    runs, canary = past([1.0] * 12), clean(80, failed=1)
    assert judged(runs, canary, by_canaries=True).more_runs is None
    assert judged(runs, canary, by_canaries=True).state == "NOT_READY"
    assert judged(runs, canary, by_canaries=True, standing="blocking").state == "REVOKED"


def test_clean_runs_of_one_day_are_not_enough():
    found = judged(past([1.0] * 12), clean(59, days=1), by_canaries=True)
    assert found.reasons == ("1 of the 5 days needed",)
    assert judged(past([1.0] * 12), None, by_canaries=True).state == "NOT_READY"
