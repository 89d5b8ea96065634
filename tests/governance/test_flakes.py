"""Flakes by hand arithmetic and published exact intervals; the way back by the zero-failure bound."""

from datetime import date

import pandas as pd
import pytest

from evalstats import suite as suites
from evalstats.errors import UsageError
from evalstats.governance import flakes
from evalstats.governance.flakes import Criteria
from evalstats.governance.quarantine import Entry

START = pd.Timestamp("2026-03-01")


@pytest.fixture
def suite(tmp_path, write_suite, suite_document):
    return suites.load(write_suite(tmp_path, {**suite_document(), "tier": "deterministic"}))


def table(suite, *runs, case="open", **changes):
    """Return a case table from (passed, usable) of each run, a day apart from 2 March on."""
    scoring = suites.hashes(suite)["scoring"]
    rows = [
        {
            "suite_id": suite.id,
            "case_id": case,
            "archetype": "A1",
            "arm": "skill-on",
            "run_id": f"r{day}",
            "created_at": START + pd.Timedelta(days=day),
            "seed": day,
            "n_trials": usable,
            "n_usable": usable,
            "n_passed": passed,
            "score_sum": float(passed),
            "suite_scoring": scoring,
            "is_mock": False,
            **changes,
        }
        for day, (passed, usable) in enumerate(runs, 1)
    ]
    return pd.DataFrame(rows).astype({"is_mock": "boolean", "seed": "Int64", "created_at": "datetime64[us]"})


def entry(case="open", until="2026-04-01"):
    return Entry(
        action="add",
        suite_id="door",
        case_id=case,
        at="2026-03-01T00:00:00.000Z",
        by="ada",
        why="flaky",
        until=until,
        evidence={},
        suite_sha256="0" * 64,
        suite_scoring="0" * 64,
        cli_version="0",
    )


def judged(suite, *runs, **changes):
    return flakes.judged_runs(table(suite, *runs, **changes), suite, "skill-on")


# --- what counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{"arm": "skill-off"}, {"suite_scoring": "old"}, {"is_mock": True}, {"n_usable": 0}],
    ids=lambda changes: next(iter(changes)),
)
def test_other_arms_old_suites_mocks_and_lost_runs_do_not_count(suite, changes):
    assert judged(suite, (1, 1), **changes).empty


def test_clean_replicas_count_once_and_a_failing_twin_is_kept(suite):
    rows = judged(suite, (1, 1), (1, 1), (0, 1), seed=7)
    assert list(rows["run_id"]) == ["r1", "r3"]
    assert len(judged(suite, (1, 1), (1, 1), seed=None)) == 2  # unknown seeds are no twins


# --- the estimate ---------------------------------------------------------------------------------


def test_a_flake_is_the_share_against_the_majority_with_its_exact_interval(suite):
    found = flakes.flake(judged(suite, (4, 4), (2, 4)), level=0.95)
    assert (found.n_runs, found.n_trials, found.n_against, found.flake_rate) == (2, 8, 2, 0.25)
    # the Clopper-Pearson table for 2 of 8
    assert (round(found.conf_low, 4), round(found.conf_high, 4)) == (0.0319, 0.6509)
    assert found.verdict_flips == 1  # 4 of 4 passes, 2 of 4 is no majority
    assert found.run_ids == ("r1", "r2")


def test_a_case_that_mostly_fails_is_measured_from_the_other_side(suite):
    found = flakes.flake(judged(suite, (1, 4), (1, 4)), level=0.95)
    assert (found.n_against, found.flake_rate, found.verdict_flips) == (2, 0.25, 0)
    assert flakes.flake(judged(suite, (1, 4)), level=0.95).verdict_flips is None


@pytest.mark.parametrize(
    ("runs", "words"), [([(0, 4)], "all 4 trials agree"), ([(3, 3), (3, 3)], "all 6 trials agree")]
)
def test_a_case_that_always_does_the_same_is_not_hidden_in_quarantine(suite, runs, words):
    with pytest.raises(UsageError, match=words):
        flakes.evidence(judged(suite, *runs), "open", level=0.95)


def test_a_case_without_trials_has_no_evidence(suite):
    for rows in (flakes.judged_runs(None, suite, "skill-on"), judged(suite, (1, 2), case="refuse")):
        with pytest.raises(UsageError, match="no usable trial"):
            flakes.evidence(rows, "open", level=0.95)


# --- the way back ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "earned", "more"), [(0, False, 59), (1, False, 58), (58, False, 1), (59, True, 0), (70, True, 0)]
)
def test_fifty_nine_clean_runs_earn_the_way_back(suite, runs, earned, more):
    rows = judged(suite, *[(1, 1)] * runs) if runs else flakes.judged_runs(None, suite, "skill-on")
    found = flakes.way_back(rows, "2026-03-01T00:00:00Z", Criteria())
    assert (found.n_runs, found.n_failed, found.earned, found.more_runs) == (runs, 0, earned, more)
    expected = 1 - 0.05 ** (1 / runs) if runs else None
    assert found.failure_rate_high == (expected if expected is None else pytest.approx(expected))


def test_runs_are_the_unit_and_one_failed_trial_spoils_its_run(suite):
    found = flakes.way_back(judged(suite, (100, 100), (99, 100)), "2026-03-01T00:00:00Z", Criteria())
    assert (found.n_runs, found.n_failed, found.earned, found.more_runs) == (2, 1, False, None)


def test_a_failure_can_be_outweighed_by_the_bound_not_by_patience(suite):
    # the smallest n at which one failure still shows at most 5%, at 95%, is 93: a published table
    for runs, earned in ((92, False), (93, True)):
        rows = judged(suite, (0, 1), *[(1, 1)] * (runs - 1))
        assert flakes.way_back(rows, "2026-03-01T00:00:00Z", Criteria()).earned is earned


def test_only_runs_after_the_entry_count(suite):
    rows = judged(suite, (0, 1), (0, 1), (1, 1))  # 2, 3 and 4 March
    found = flakes.way_back(rows, "2026-03-03T00:00:00.000Z", Criteria())
    assert (found.run_ids, found.n_failed) == (("r3",), 0)


@pytest.mark.parametrize(
    ("max_flake", "level", "runs"), [(0.05, 0.95, 59), (0.1, 0.95, 29), (0.01, 0.95, 299)]
)
def test_the_criteria_say_how_many_clean_runs_they_want(max_flake, level, runs):
    assert Criteria(max_flake=max_flake, level=level).clean_runs_needed == runs


@pytest.mark.parametrize("changes", [{"max_flake": 0}, {"max_flake": 1}, {"level": 0.5}, {"level": 1}])
def test_criteria_that_prove_nothing_are_refused(changes):
    with pytest.raises(UsageError):
        Criteria(**changes)


# --- the review -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "flaky"),
    [
        ([(1, 1)] * 5, False),
        ([(0, 1)] * 5, False),
        ([(1, 1), (1, 1), (0, 1), (0, 1)], False),  # a change that stayed
        ([(1, 1), (0, 1), (1, 1)], True),  # there and back
        ([(2, 3)], True),  # one run contradicts itself
        ([(0, 3)], False),
    ],
)
def test_a_case_looks_flaky_when_it_contradicts_itself(suite, runs, flaky):
    assert flakes.looks_flaky(judged(suite, *runs)) is flaky
    found = flakes.review(suite, judged(suite, *runs), {}, Criteria(), today=date(2026, 3, 9))
    assert (list(found.flaky), found.needs_action) == (["open"] if flaky else [], flaky)


def test_a_review_names_who_may_come_back_and_who_is_overdue(suite):
    rows = pd.concat([judged(suite, *[(1, 1)] * 59), judged(suite, (1, 2), case="refuse")])
    inside = {"open": entry(), "refuse": entry("refuse"), "gone": entry("gone", until="2026-03-08")}
    found = flakes.review(suite, rows, inside, Criteria(), today=date(2026, 3, 9))
    assert [(s.entry.case_id, s.way_back.earned, s.overdue, s.in_suite) for s in found.stays] == [
        ("open", True, False, True),
        ("refuse", False, False, True),
        ("gone", False, True, False),
    ]
    assert found.flaky == {}  # what is in already is not proposed again
    assert found.needs_action
    shown = found.as_document()
    assert shown["criteria"] == {"max_flake": 0.05, "level": 0.95, "arm": "skill-on", "clean_runs_needed": 59}
    assert shown["quarantined"][0]["way_back"]["n_runs"] == 59


def test_in_a_tier_that_is_meant_to_vary_nobody_is_called_flaky(tmp_path, write_suite):
    headless = suites.load(write_suite(tmp_path))
    found = flakes.review(headless, judged(headless, (1, 3)), {}, Criteria(), today=date(2026, 3, 9))
    assert (found.flaky, found.note) == (
        {},
        "headless: trials of this tier are meant to vary, so none is called flaky for it",
    )
