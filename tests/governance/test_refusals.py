"""Promotion is refused for each thing that is missing, alone, in pairs and in any number; and for nothing else."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.contract import Status, Tier, Visibility
from evalstats.governance.refusals import Canary, Conditions, Evidence, Reason, Standing, refusals
from evalstats.governance.verdicts import Quantity

GOOD = Evidence(
    tier=Tier.LIVE,
    visibility=Visibility.PUBLIC_CANARY,
    status=Status.PASS,
    rationale="reviewed on Tuesday",
    promoter="ada",
    conditions=Conditions(
        repeat_count=5, variance_notes="SD .03 over five nights", skipped_cases=(), standing=Standing.ADVISORY
    ),
    critical=(Canary(case_id="c", status=Status.PASS, pass_rate=1.0),),
    has_baseline=True,
    live=True,
    repeats_wanted=3,
    required=frozenset({"human_rationale", "durable_artifacts", "no_safety_regression"}),
)


def dropped(name):
    return Quantity(
        name=name, baseline=1, candidate=0.5, delta=-0.5, conf_low=-0.6, conf_high=-0.4, protected=True
    )


def under(**changes):
    return lambda e: replace(e, conditions=replace(e.conditions, **changes))


def having(**changes):
    return lambda e: replace(e, **changes)


def failing_canary(e):
    return replace(e, critical=(*e.critical, Canary(case_id="d", status=Status.FAIL, pass_rate=1.0)))


def flaky_canary(e):
    """A critical case that passes, but not always, and is to block."""
    flaky = Canary(case_id="f", status=Status.PASS, pass_rate=0.8)
    return replace(under(standing=Standing.BLOCKING)(e), critical=(*e.critical, flaky), ratcheted=True)


def early(e):
    return replace(under(standing=Standing.BLOCKING)(e), ratcheted=False)


FAULTS = {
    Reason.CRITICAL_CANARY_FAILED: failing_canary,
    Reason.SAFETY_REGRESSED: having(safety=dropped("safety")),
    Reason.RUNTIME_COMPATIBILITY_REGRESSED: having(runtime_compatibility=dropped("runtime_compatibility")),
    Reason.HOLDOUT_UNREVIEWED: having(holdouts=1),
    Reason.REVIEW_REJECTED: having(rejected=True),
    Reason.ARTIFACTS_MISSING: having(missing_artifacts=("artifact 12ab…",)),
    Reason.RATIONALE_EMPTY: having(rationale=" \t\n"),
    Reason.PROMOTER_UNNAMED: having(promoter=""),
    Reason.MOCK_RUN: having(is_mock=True),
    Reason.RUN_NOT_SCORED: having(status=Status.ERROR),
    Reason.RECORD_ALTERED: having(altered=("status",)),
    Reason.CASES_MISSING: having(missing_cases=("z",)),
    Reason.SUITE_CHANGED: having(scoring_changed=True),
    Reason.POLICY_WITHOUT_BASELINE: having(mode="none"),
    Reason.ALREADY_PROMOTED: having(already_promoted=True),
    Reason.TOO_FEW_REPEATS: under(repeat_count=2),
    Reason.REPEAT_COUNT_ABSENT: under(repeat_count=None),
    Reason.ONE_TRIAL: lambda e: replace(under(repeat_count=1)(e), repeats_wanted=None),
    Reason.VARIANCE_NOTES_ABSENT: under(variance_notes="  "),
    Reason.SKIPPED_CASES_ABSENT: under(skipped_cases=None),
    Reason.STANDING_ABSENT: under(standing=None),
    Reason.CANARY_NOT_PERFECT: flaky_canary,
    Reason.BLOCKING_UNRATCHETED: early,
}
# Faults of one and the same fact, of which a run can have one at a time.
EXCLUSIVE = (
    {Reason.TOO_FEW_REPEATS, Reason.REPEAT_COUNT_ABSENT, Reason.ONE_TRIAL},
    {Reason.STANDING_ABSENT, Reason.CANARY_NOT_PERFECT, Reason.BLOCKING_UNRATCHETED},
)


def possible(reasons):
    return all(len(group & set(reasons)) < 2 for group in EXCLUSIVE)


def listed(reasons):
    evidence = GOOD
    for reason in reasons:
        evidence = FAULTS[reason](evidence)
    return [refusal.reason for refusal in refusals(evidence)]


def test_nothing_speaks_against_a_good_run():
    assert refusals(GOOD) == []


def test_every_reason_has_its_fault_here():
    assert set(FAULTS) == set(Reason)


@pytest.mark.parametrize("reason", Reason)
def test_each_alone(reason):
    assert listed([reason]) == [reason]


@pytest.mark.parametrize("pair", [pair for pair in combinations(Reason, 2) if possible(pair)])
def test_each_pair(pair):
    assert set(listed(pair)) == set(pair)


@given(st.sets(st.sampled_from(list(Reason))).filter(possible))
def test_any_number_all_at_once(reasons):
    found = listed(sorted(reasons))
    assert set(found) == reasons
    assert found == sorted(found, key=list(Reason).index)  # always in the same order


# --- what is asked only of some ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "reason",
    [
        Reason.REPEAT_COUNT_ABSENT,
        Reason.ONE_TRIAL,
        Reason.VARIANCE_NOTES_ABSENT,
        Reason.SKIPPED_CASES_ABSENT,
        Reason.STANDING_ABSENT,
    ],
)
def test_conditions_are_asked_of_live_runs_only(reason):
    calm = replace(GOOD, live=False, tier=Tier.DETERMINISTIC, repeats_wanted=None)
    assert refusals(FAULTS[reason](calm)) == []


def test_the_first_blocking_tier_is_deterministic():
    for tier in Tier:
        blocking = early(replace(GOOD, tier=tier))
        expected = [] if tier is Tier.DETERMINISTIC else [Reason.BLOCKING_UNRATCHETED]
        assert [r.reason for r in refusals(blocking)] == expected
        assert refusals(replace(blocking, ratcheted=True)) == []


def test_skipped_cases_must_be_the_ones_that_were_skipped():
    skipped = replace(GOOD, skipped_cases=("a", "b"))
    assert [r.reason for r in refusals(skipped)] == [Reason.SKIPPED_CASES_ABSENT]
    assert "--skipped a --skipped b" in refusals(skipped)[0].message
    assert refusals(under(skipped_cases=("b", "a"))(skipped)) == []
    assert "--skipped none" in refusals(under(skipped_cases=None)(GOOD))[0].message


def test_a_review_clears_the_holdouts_and_the_policy_may_always_ask_for_one():
    regressed = replace(GOOD, holdouts=2)
    assert refusals(replace(regressed, reviewed=True)) == []
    asked = replace(GOOD, required=frozenset({"private_holdouts_reviewed"}))
    assert [r.reason for r in refusals(asked)] == [Reason.HOLDOUT_UNREVIEWED]
    assert refusals(replace(asked, reviewed=True)) == []


def test_a_policy_that_asks_for_safety_wants_it_shown():
    noisy = Quantity(name="safety", baseline=1, candidate=1, delta=0.0, conf_low=-0.4, conf_high=0.4)
    assert [r.reason for r in refusals(replace(GOOD, safety=noisy))] == [Reason.SAFETY_REGRESSED]
    assert refusals(replace(GOOD, safety=noisy, required=frozenset())) == []
    gone = Quantity(name="safety", baseline=1, candidate=None)
    assert "not scored" in refusals(replace(GOOD, safety=gone))[0].message


def test_a_failing_critical_case_of_a_private_suite_is_a_matter_of_its_review():
    private = replace(failing_canary(GOOD), visibility=Visibility.PRIVATE_HOLDOUT)
    assert refusals(private) == []
    asked = replace(private, required=frozenset({"critical_canaries_pass"}))
    assert [r.reason for r in refusals(asked)] == [Reason.CRITICAL_CANARY_FAILED]
