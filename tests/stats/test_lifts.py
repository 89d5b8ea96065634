"""Lift: figures of real reports, the rule of choice, when it is greyed or refused, and its cousins."""

from math import comb, isnan

import numpy as np
import pytest

from evalstats.stats.lifts import lift, lift_of_medians, lift_smoothed
from evalstats.stats.pairs import Pairs


def rng(seed=3):
    return np.random.default_rng(seed)


def table(candidate_failed, baseline_failed, n):
    """Return yes/no pairs with so many failures in each arm, those of the candidate among the others'."""
    arms = [[0.0] * failed + [1.0] * (n - failed) for failed in (candidate_failed, baseline_failed)]
    return Pairs(candidate=arms[0], baseline=arms[1], trials=1)


def disjoint(candidate_failed, baseline_failed, n):
    """Return yes/no pairs in which no case fails in both arms, as no person is in both arms of a trial."""
    rest = n - candidate_failed - baseline_failed
    return Pairs(
        candidate=[0.0] * candidate_failed + [1.0] * (baseline_failed + rest),
        baseline=[1.0] * candidate_failed + [0.0] * baseline_failed + [1.0] * rest,
        trials=1,
    )


def three_trials(text, n):
    """Return three trials of n cases in exact proportion: of one pass rate, or of Beta pass rates (a b)."""
    a, *b = map(float, text.split())
    if b:
        up = [1, a, a * (a + 1), a * (a + 1) * (a + 2)]
        down = [1, b[0], b[0] * (b[0] + 1), b[0] * (b[0] + 1) * (b[0] + 2)]
        shares = [comb(3, k) * up[k] * down[3 - k] / 6 for k in range(4)]  # (a + b) is 1, so 1 * 2 * 3
    else:
        shares = [comb(3, k) * a**k * (1 - a) ** (3 - k) for k in range(4)]
    counts = np.rint(np.array(shares) * n).astype(int)
    assert counts.sum() == n
    return np.repeat([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], counts, axis=0)


def test_published(published, agrees):
    n = int(published["of"])
    if published["function"] == "lift_of_medians":
        arms = (three_trials(published[f"{arm}_failed"], n) for arm in ("candidate", "baseline"))
        agrees(lift_of_medians(*arms, rng=rng(), reps=100), published)
        return
    failed = int(published["candidate_failed"]), int(published["baseline_failed"])
    if published["function"] == "lift":
        agrees(lift(table(*failed, n), rng=rng(), reps=100), published)
        return
    record = lift_smoothed(disjoint(*failed, n), rng=rng(), scaled=False, reps=100_000)
    for name in ("estimate", "conf_low", "conf_high"):
        expected = pytest.approx(float(published[name]), abs=float(published["within"]))
        assert getattr(record, name) == expected, name


@pytest.mark.parametrize(
    ("pairs", "method", "greyed"),
    [
        (table(5, 10, 200), "smoothed Bayesian bootstrap", False),
        (table(10, 20, 200), "saddlepoint percentile", False),
        (table(20, 10, 199), "smoothed Bayesian bootstrap", False),
        (table(10, 12, 1000), "saddlepoint percentile", True),
        (table(10, 10, 1000), "smoothed Bayesian bootstrap", True),
        (table(1, 4, 20), "smoothed Bayesian bootstrap", True),
        (table(1, 5, 20), "smoothed Bayesian bootstrap", False),
        (table(0, 3, 4), "smoothed Bayesian bootstrap", True),
    ],
)
def test_lift_says_what_it_chose_and_when_the_difference_is_the_headline(pairs, method, greyed):
    record = lift(pairs, rng=rng(), level=0.8)
    assert record.method == method
    assert any(caveat.startswith("greyed") for caveat in record.caveats) == greyed
    assert -10 < record.conf_low < record.conf_high <= 1


def test_few_clusters_are_resampled_whole_however_many_cases():
    pairs = Pairs(
        candidate=[0.0, 1] * 200, baseline=[0.0, 0] * 200, trials=1, clusters=[i // 4 for i in range(400)]
    )
    record = lift(pairs, rng=rng())
    assert (record.method, record.n_clusters) == ("smoothed Bayesian bootstrap", 100)


@pytest.mark.parametrize(
    ("pairs", "reason", "known"),
    [
        (Pairs(candidate=[], baseline=[], trials=1), "no pairs", False),
        (
            Pairs(candidate=[1.0, 0], baseline=[0.0, 0], trials=1, unmatched=2),
            "2 of 4 cases unmatched",
            False,
        ),
        (Pairs(candidate=[1.0, 0], baseline=[1.0, 1], trials=1), "no headroom", False),
        (Pairs(candidate=[1.0, 1], baseline=[1.0, 1], trials=1), "no headroom", False),
        (Pairs(candidate=[1.0, 0, 0], baseline=[0.0] * 3, trials=1, clusters=[7] * 3), "one cluster", True),
        (Pairs(candidate=[1.0], baseline=[0.0], trials=3), "1 of the 3 cases needed", True),
        (Pairs(candidate=[1.0, 0], baseline=[0.0, 0], trials=3), "2 of the 3 cases needed", True),
        (
            Pairs(candidate=[0.5, 0], baseline=[0.0, 0], trials=2, clusters=[1, 2]),
            "2 of the 3 cases needed",
            True,
        ),
    ],
)
def test_lift_refuses(pairs, reason, known):
    record = lift(pairs, rng=rng())
    assert isnan(record.conf_low) and isnan(record.std_error)
    assert isnan(record.estimate) != known
    assert reason in record.caveats[0]


def test_a_fifth_unmatched_is_told():
    record = lift(Pairs(candidate=[1.0, 0] * 4, baseline=[0.0, 0] * 4, trials=1, unmatched=2), rng=rng())
    assert record.estimate == 0.5
    assert record.caveats[-1] == "2 unmatched cases left out"


def test_lift_is_a_ratio_of_means_not_a_mean_of_ratios():
    pairs = Pairs(candidate=[0.5, 0.0], baseline=[0.0, 0.8], trials=10)
    assert lift(pairs, rng=rng()).estimate == pytest.approx(1 - 1.5 / 1.2)  # the mean of ratios is -1.75


def test_micro_lift_weighs_expectations():
    pairs = Pairs(candidate=[1, 0.5, 0.0], baseline=[0.5, 0.5, 0.0], trials=1, graded=True)
    micro = lift(pairs, weights=[4, 2, 1], rng=rng())
    assert micro.estimand == "weighted lift"
    assert micro.estimate == pytest.approx(1 - (1 + 1) / (2 + 1 + 1))


def test_equal_weights_change_nothing_but_the_name():
    pairs = Pairs(candidate=[1, 0.5, 0.0, 0.2], baseline=[0.5, 0.5, 0.0, 0], trials=1, graded=True)
    plain, weighted = lift(pairs, rng=rng()), lift(pairs, weights=[5, 5, 5, 5], rng=rng())
    assert (plain.conf_low, plain.conf_high) == pytest.approx((weighted.conf_low, weighted.conf_high))


@pytest.mark.parametrize("method", [lift, lift_smoothed], ids=["lift", "lift_smoothed"])
def test_same_rng_same_interval_other_rng_another(method):
    same = [method(table(3, 7, 12), rng=rng(seed)) for seed in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


def test_the_saddlepoint_needs_no_rng_state():
    first, other = (lift(table(40, 80, 300), rng=rng(seed)) for seed in (1, 2))
    assert first == other


def test_graded_scores_are_narrower_than_plain_dp25():
    r = rng()
    base = r.uniform(0.2, 0.7, 40)
    pairs = Pairs(candidate=base + r.uniform(0, 0.2, 40), baseline=base, trials=3, graded=True)
    scaled, plain = (lift_smoothed(pairs, rng=rng(), scaled=s, level=0.8) for s in (True, False))
    assert scaled.conf_high - scaled.conf_low < 0.85 * (plain.conf_high - plain.conf_low)


def test_always_defined_where_the_baseline_fails_once():
    record = lift_smoothed(table(0, 1, 3), rng=rng())
    assert record.estimate == 1 and record.conf_low < 0 and record.conf_high <= 1


@pytest.mark.parametrize("scores", [[1.5, 0, 0], [-0.1, 0, 0]])
def test_scores_outside_the_corners_are_refused(scores):
    with pytest.raises(ValueError, match=r"inside \[0, 1\]"):
        lift_smoothed(Pairs(candidate=scores, baseline=[0, 0, 0.5], trials=1), rng=rng())


def test_medians_are_named_as_another_estimand():
    trials = [[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 1]], [[0, 0, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]]
    record = lift_of_medians(*trials, rng=rng())
    assert (record.estimand, record.n_trials) == ("lift of medians", 24)
    assert record.estimate == pytest.approx(1 - 1 / 3)
    assert "another estimand" in record.caveats[-1]


def test_medians_need_three_trials():
    with pytest.raises(ValueError, match=r"shape \(n_cases, 3\), got \(1, 2\)"):
        lift_of_medians([[1, 0]], [[1, 0]], rng=rng())
