"""Dimensions and aggregate of two records, with their noise: hand arithmetic and closed forms."""

import pytest

from evalstats.contract import Verdict
from evalstats.governance.quantities import Rules
from evalstats.governance.verdicts import Finding, Holding


def test_the_interval_is_that_of_student_on_the_case_differences(against, case_of):
    """By hand: differences .05 to .30 in steps of .05: mean .175, s = .0935414, t(5) at 90% = 2.0150484."""
    old = [case_of(f"c{i}", 6, 10) | {"score": 0.5} for i in range(6)]
    new = [case_of(f"c{i}", 6, 10) | {"score": 0.5 + 0.05 * (i + 1)} for i in range(6)]
    found = against(new, old).quantity("correctness")
    half = 2.015048372669157 * 0.09354143466934853 / 6**0.5
    assert found.delta == pytest.approx(0.175, abs=1e-12)
    assert (found.conf_low, found.conf_high) == pytest.approx((0.175 - half, 0.175 + half), abs=1e-9)
    assert (found.finding, found.n_cases, found.n_trials) == (Finding.IMPROVED, 6, 120)
    assert found.trial_share is None  # graded trials whose variance was not kept


def test_the_share_of_trial_noise_by_hand(against, case_of):
    """20 cases of 4 yes/no trials, 2 of 4 against 3 or 1 of 4: trial variances 1/3 and 1/4."""
    old = [case_of(f"c{i:02}", 2, 4) for i in range(20)]
    new = [case_of(f"c{i:02}", 3 if i % 2 else 1, 4) for i in range(20)]
    found = against(new, old).quantity("correctness")
    noise = (20 * (1 / 3) / 4 + 20 * (1 / 4) / 4) / 20**2
    square = (20 / 19) * 0.25**2 / 20
    assert found.std_error**2 == pytest.approx(square, rel=1e-12)
    assert found.trial_share == pytest.approx(noise / square, rel=1e-12)
    assert (
        against(new, old, Rules(weights={"correctness": 1})).quantity("correctness").finding
        is Finding.HIGH_VARIANCE
    )


def test_a_kept_variance_counts_for_graded_trials(against, case_of):
    old = [case_of(f"c{i:02}", 0, 4) | {"score": 0.5, "score_variance": 0.01} for i in range(6)]
    new = [case_of(f"c{i:02}", 0, 4) | {"score": 0.5 + i / 10, "score_variance": 0.03} for i in range(6)]
    found = against(new, old).quantity("correctness")
    assert found.trial_share == pytest.approx(
        (6 * 0.01 / 4 + 6 * 0.03 / 4) / 36 / found.std_error**2, rel=1e-12
    )


def test_no_change_needs_the_two_one_sided_tests(against, case_of):
    """Differences of +-.01 over 30 cases: equivalent within .1, and unknown without a margin."""
    old = [case_of(f"c{i:02}", 5, 10) | {"score": 0.5} for i in range(30)]
    new = [case_of(f"c{i:02}", 5, 10) | {"score": 0.5 + 0.01 * (-1) ** i * (1 + i / 30)} for i in range(30)]
    found = against(new, old)
    assert found.quantity("correctness").finding is Finding.NO_CHANGE
    assert found.quantity("correctness").equivalence_p < 1e-6
    assert (found.verdict, found.facts.aggregate.finding) == (Verdict.PASS, Finding.NO_CHANGE)
    blind = against(new, old, Rules(weights={"correctness": 1}))
    assert blind.quantity("correctness").finding is Finding.UNDERPOWERED
    assert blind.verdict is Verdict.INCONCLUSIVE


def test_the_aggregate_is_weighted_and_its_interval_is_never_narrower(against, case_of):
    both = ("correctness", "safety")
    old = [
        case_of(f"c{i}", 5, 10, dimensions=both if i < 6 else ("correctness",)) | {"score": 0.5}
        for i in range(12)
    ]
    new = [dict(case, score=0.5 + 0.01 * (i + 1)) for i, case in enumerate(old)]
    found = against(new, old)
    correctness, safety, aggregate = (found.quantity(n) for n in ("correctness", "safety", "aggregate"))
    assert correctness.delta == pytest.approx(0.065) and safety.delta == pytest.approx(0.035)
    assert aggregate.delta == pytest.approx((0.065 + 3 * 0.035) / 4)
    assert aggregate.conf_low == pytest.approx((correctness.conf_low + 3 * safety.conf_low) / 4)
    assert aggregate.std_error == pytest.approx((correctness.std_error + 3 * safety.std_error) / 4)


def test_a_missing_dimension_is_missing_and_not_zero(against, case_of):
    both = ("correctness", "safety")
    old = [case_of(f"c{i}", dimensions=both) for i in range(4)]
    new = [case_of(f"c{i}") for i in range(4)]
    facts = {"tier": "deterministic"}
    found = against(new, old, new_facts=facts, old_facts=facts)
    safety = found.quantity("safety")
    assert (safety.baseline, safety.candidate, safety.delta, safety.holding) == (
        1.0,
        None,
        None,
        Holding.MISSING,
    )
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.facts.aggregate.delta == 0.0  # over what both have
    nobody = against(
        new,
        [case_of(f"c{i}") for i in range(4)],
        old_facts={"dimension_scores": {"correctness": 1, "x": None}},
    )
    assert nobody.quantity("x") is None  # scored by neither: nothing to compare


def test_weights_that_are_not_known_are_not_guessed(against, case_of):
    found = against([case_of("a")], [case_of("a")], Rules())
    assert found.facts.aggregate.delta is None
    assert "give --suites" in found.facts.aggregate.caveats[0]
    assert found.verdict is Verdict.INCONCLUSIVE


def test_a_deterministic_suite_is_compared_exactly(against, case_of):
    facts = {"tier": "deterministic"}
    old, new = [case_of("a"), case_of("b")], [case_of("a"), case_of("b", 0)]
    found = against(new, old, new_facts=facts, old_facts=facts)
    quantity = found.quantity("correctness")
    assert (quantity.delta, quantity.conf_low, quantity.conf_high, quantity.method) == (
        -0.5,
        -0.5,
        -0.5,
        "exact",
    )
    assert found.verdict is Verdict.REGRESSION
    same = against(old, old, new_facts=facts, old_facts=facts)
    assert (same.verdict, same.facts.aggregate.finding) == (Verdict.PASS, Finding.DEGENERATE)


def test_a_deterministic_suite_that_flakes_has_noise(against, case_of):
    facts = {"tier": "deterministic"}
    old, new = [case_of("a", 3, 3), case_of("b", 3, 3)], [case_of("a", 2, 3), case_of("b", 3, 3)]
    assert against(new, old, new_facts=facts, old_facts=facts).quantity("correctness").method != "exact"


def test_several_dimensions_are_tested_together(against, case_of):
    """McNemar on 6 of 6 lost cases gives 2/64; Holm over two dimensions doubles the smaller p-value."""
    old = [case_of(f"c{i}", dimensions=("a", "b")) for i in range(6)]
    new = [case_of(f"c{i}", 0, dimensions=("a", "b")) for i in range(6)]
    weights = {"a": 1.0, "b": 1.0}
    found = against(new, old, Rules(weights=weights))
    assert found.quantity("a").difference_p == pytest.approx(4 / 64)
    protected = against(new, old, Rules(weights=weights, protected=frozenset({"a"})))
    assert protected.quantity("a").difference_p == pytest.approx(2 / 64)
    assert protected.quantity("b").difference_p == pytest.approx(2 / 64)


def test_rules_of_a_suite():
    dimensions = [{"name": "x", "weight": 2, "critical": True}, {"name": "y", "weight": 1}]
    document = {"baseline_policy": {"mode": "compare"}, "scoring": {"dimensions": dimensions}}
    rules = Rules.of(document)
    assert (rules.aggregate_tolerance, rules.dimension_tolerance) == (0.0, 0.0)
    assert rules.protected == {"safety", "runtime_compatibility", "x"}
    document["baseline_policy"]["max_aggregate_regression"] = 0.2
    assert Rules.of(document).dimension_tolerance == 0.2  # unless it says more
    document["baseline_policy"]["max_dimension_regression"] = 0.05
    assert (Rules.of(document).aggregate_tolerance, Rules.of(document).dimension_tolerance) == (0.2, 0.05)
