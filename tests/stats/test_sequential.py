"""Anytime-valid evidence: closed forms, edges, and that looking often costs nothing."""

from functools import cache
from math import exp, isnan, nan, sqrt

import numpy as np
import pytest
from scipy.integrate import quad

from evalstats.stats.proportions import wilson
from evalstats.stats.sequential import confidence_sequence, e_process, e_process_test, shiryaev_roberts


def test_published(published, agrees):
    if published["function"] == "confidence_sequence":
        agrees(confidence_sequence(int(published["successes"]), int(published["trials"])), published)
        return
    nights, total = int(published["nights"]), float(published["sum"])
    z = np.full(nights, total / nights)
    if published["function"] == "e_process_test":
        # evidence of a steady series grows, so the last night is the largest
        agrees(e_process_test(z), {"p_value": published["p_value"]})
    else:
        assert shiryaev_roberts(z).upper[-1] == pytest.approx(float(published["statistic"]), rel=1e-12)


def test_no_trials_is_unknown():
    record = confidence_sequence(0, 0)
    assert isnan(record.estimate) and record.caveats == ("no trials",)
    assert (record.conf_low, record.conf_high) == (0, 1)


def test_one_trial_says_little():
    record = confidence_sequence(1, 1)
    assert record.conf_low == pytest.approx(0.025, abs=1e-9) and record.conf_high == 1


def test_wider_than_one_look():
    assert confidence_sequence(80, 100).conf_low < wilson(80, 100).conf_low
    assert confidence_sequence(80, 100, level=0.8).conf_low > confidence_sequence(80, 100).conf_low


@pytest.mark.parametrize(("passed", "trials"), [(5, 4), (-1, 4), (nan, 4)])
def test_impossible_counts_are_named(passed, trials):
    with pytest.raises(ValueError, match="counts must be whole"):
        confidence_sequence(passed, trials)


@pytest.mark.parametrize(
    ("alternative", "low", "high"), [("two-sided", -12, 12), ("less", -12, 0), ("greater", 0, 12)]
)
def test_evidence_is_the_mixture_of_likelihood_ratios(alternative, low, high):
    z, scale = np.array([-0.5, -1.2, 0.3, -2.0]), 0.8
    mass = 1 if alternative == "two-sided" else 2

    def mixed(theta):
        density = mass * exp(-((theta / scale) ** 2) / 2) / (scale * sqrt(2 * np.pi))
        return density * exp(theta * z.sum() - z.size * theta**2 / 2)

    exact = quad(mixed, low, high)[0]
    assert e_process(z, scale=scale, alternative=alternative)[-1] == pytest.approx(exact, rel=1e-6)


def test_directions():
    z = np.full(20, -1.0)
    assert e_process(z, alternative="less")[-1] > 100
    assert e_process(z, alternative="greater")[-1] < 1
    assert e_process_test(z, alternative="less").p_value < e_process_test(z).p_value < 0.05


def test_evidence_once_found_is_not_lost():
    z = [-3.0] * 5 + [3.0] * 5
    assert e_process_test(z).p_value == e_process_test(z[:5]).p_value


def test_endless_evidence_does_not_overflow():
    assert np.isfinite(e_process([1000.0] * 5)).all()
    assert np.isfinite(shiryaev_roberts([-1000.0] * 5).upper).all()


def test_no_nights():
    record = e_process_test([])
    assert isnan(record.p_value) and record.caveats == ("no nights",)
    assert shiryaev_roberts([]).first_alarm is None


def test_shiryaev_roberts_is_the_sum_of_likelihood_ratios():
    z = np.array([0.4, -1.0, -0.2, -1.7])
    ratios = np.exp(-z - 0.5)
    exact = sum(ratios[start:].prod() for start in range(4))
    assert shiryaev_roberts(z).upper[-1] == pytest.approx(exact, rel=1e-12)


def test_nan_is_refused():
    for method in (e_process, shiryaev_roberts):
        with pytest.raises(ValueError, match="scores must be finite"):
            method([nan])


def test_calibration_looking_every_night_keeps_the_size():
    """400 unchanged series, looked at 300 times each: at most 5% ever exceed 20."""
    z = np.random.default_rng(1).standard_normal((400, 300))
    for alternative in ("two-sided", "less"):
        ever = np.mean([e_process(row, alternative=alternative).max() >= 20 for row in z])
        assert ever < 0.05 + 3 * sqrt(0.05 * 0.95 / 400)


def test_calibration_the_sequence_holds_the_truth_at_all_times():
    """Looked at after 5, 10, 20, 40, 80, 160 trials: 95% of series are never wrong; Wilson's are."""
    passed = np.random.default_rng(2).random((400, 160)) < 0.7
    looks = [5, 10, 20, 40, 80, 160]

    def ever_wrong(interval):
        @cache
        def wrong(successes, trials):
            record = interval(successes, trials)
            return not record.conf_low <= 0.7 <= record.conf_high

        return np.mean([any(wrong(int(row[:n].sum()), n) for n in looks) for row in passed])

    assert ever_wrong(confidence_sequence) < 0.05 + 3 * sqrt(0.05 * 0.95 / 400)
    assert ever_wrong(wilson) > 0.08


def test_calibration_mean_wait_for_a_false_alarm():
    """At least the limit on average; waits are cut at 400 nights, which only shortens them."""
    z = np.random.default_rng(3).standard_normal((400, 400))
    waits = np.array([shiryaev_roberts(row, limit=60.0).first_alarm or 400 for row in z])
    assert waits.mean() + 3 * waits.std() / 20 > 60
