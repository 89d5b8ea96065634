"""Robust views: published values, neighbours that must agree, edges, coverage over reruns."""

from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, trim_mean

from evalstats.stats.robust import CaseTrials, iqm, performance_profile, probability_of_improvement


def rng(seed=1):
    return np.random.default_rng(seed)


def table(cell):
    """Return the trials of a table of runs x cases."""
    runs = np.array([[float(x) for x in row.split()] for row in cell.split("/")])
    return CaseTrials(runs.ravel(), np.tile(np.arange(runs.shape[1]), runs.shape[0]))


def profile(trials, *, rng):
    return performance_profile(trials, [0.5], rng=rng)[0]


def against_itself(trials, *, rng):
    return probability_of_improvement(trials, trials, rng=rng)


EVERY = {"iqm": iqm, "performance_profile": profile, "probability_of_improvement": against_itself}
every_view = pytest.mark.parametrize("view", EVERY.values(), ids=EVERY)


def test_published(published, agrees):
    trials = table(published["scores"])
    if published["function"] == "iqm":
        found = iqm(trials, rng=rng())
    elif published["function"] == "performance_profile":
        found = performance_profile(trials, [float(published["threshold"])], rng=rng())[0]
    else:
        found = probability_of_improvement(trials, table(published["baseline"]), rng=rng())
    agrees(found, published)


def test_iqm_is_a_trimmed_mean():
    scores = rng(2).random(43)
    found = iqm(CaseTrials(scores, np.arange(43) % 7), rng=rng())
    assert found.estimate == pytest.approx(trim_mean(scores, 0.25), abs=1e-12)
    assert (found.population, found.n_cases, found.n_trials) == ("FIXED", 7, 43)


def test_improvement_on_one_case_is_mann_whitney():
    x, y = rng(3).integers(0, 5, 9), rng(4).integers(0, 5, 7)
    found = probability_of_improvement(CaseTrials(x, [0] * 9), CaseTrials(y, [0] * 7), rng=rng())
    assert found.estimate == pytest.approx(mannwhitneyu(x, y).statistic / 63, abs=1e-12)


def test_order_of_trials_does_not_matter():
    scores, cases = rng(5).random(20), np.arange(20) % 4
    shuffled = rng(6).permutation(20)
    one = iqm(CaseTrials(scores, cases), rng=rng())
    other = iqm(CaseTrials(scores[shuffled], cases[shuffled]), rng=rng())
    assert one.estimate == pytest.approx(other.estimate, abs=1e-12)


@every_view
def test_same_rng_same_interval(view):
    trials = CaseTrials(rng(7).random(30), np.arange(30) % 5)
    one, same, other = (view(trials, rng=rng(seed)) for seed in (1, 1, 2))
    assert one == same and one != other


@every_view
def test_one_trial_a_case_cannot_be_resampled(view):
    record = view(CaseTrials([0.2, 0.9, 0.4], [0, 1, 2]), rng=rng())
    assert isnan(record.conf_low) and record.caveats == ("one trial a case: nothing to resample",)


@every_view
def test_no_trials_is_unknown(view):
    record = view(CaseTrials([], []), rng=rng())
    assert isnan(record.estimate) and record.caveats == ("no trials",)


@every_view
@pytest.mark.parametrize("score", [0.0, 1.0])
def test_all_alike_has_no_variance(view, score):
    record = view(CaseTrials([score] * 6, [0, 0, 1, 1, 2, 2]), rng=rng())
    assert isnan(record.std_error) and "all resamples agree" in record.caveats[0]


@every_view
def test_one_case_is_enough(view):
    record = view(CaseTrials([0.1, 0.9, 0.4, 0.8], [0] * 4), rng=rng())
    assert record.conf_low < record.conf_high and record.n_cases == 1


def test_arms_alike_are_a_toss_up():
    trials = CaseTrials(rng(8).random(24), np.arange(24) % 6)
    assert against_itself(trials, rng=rng()).estimate == 0.5


def test_ties_count_half():
    new, old = CaseTrials([1, 1], [0, 0]), CaseTrials([1, 0], [0, 0])
    assert probability_of_improvement(new, old, rng=rng()).estimate == 0.75


def test_a_case_in_one_arm_only_is_refused():
    with pytest.raises(ValueError, match="2 cases in one arm only"):
        probability_of_improvement(CaseTrials([1, 1], [0, 1]), CaseTrials([1, 1], [0, 2]), rng=rng())


def test_profile_falls_with_the_threshold():
    trials = CaseTrials(rng(9).random(40), np.arange(40) % 8)
    shares = [found.estimate for found in performance_profile(trials, np.linspace(0, 1, 11), rng=rng())]
    assert shares == sorted(shares, reverse=True) and shares[0] == 1 and shares[-1] == 0


@every_view
def test_nan_is_refused(view):
    with pytest.raises(ValueError, match="scores must be finite"):
        view(CaseTrials([nan, 1], [0, 0]), rng=rng())


@pytest.mark.parametrize("level", [0.80, 0.95])
@every_view
@pytest.mark.parametrize("per_case", [3, 10])
def test_calibration_covers_over_reruns_of_these_cases(view, per_case, level):
    """12 fixed cases around .5, 3 or 10 graded trials each: the nominal level of .5."""
    generator, reps = rng(10), 400
    centres, cases = np.linspace(0.3, 0.7, 12), np.repeat(np.arange(12), per_case)
    hits = 0
    for _ in range(reps):
        trials = CaseTrials(generator.normal(centres[cases], 0.2), cases)
        if view is against_itself:
            other = CaseTrials(generator.normal(centres[cases], 0.2), cases)
            record = probability_of_improvement(trials, other, rng=generator, reps=200, level=level)
        else:
            record = (
                iqm(trials, rng=generator, reps=200, level=level)
                if view is iqm
                else performance_profile(trials, [0.5], rng=generator, reps=200, level=level)[0]
            )
        hits += record.conf_low <= 0.5 <= record.conf_high
    assert abs(hits / reps - level) < 3 * sqrt(level * (1 - level) / reps), hits / reps
