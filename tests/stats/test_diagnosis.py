"""Diagnosing a method: against exact published coverage, and what happens to refusals and tests."""

from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.diagnosis import diagnose
from evalstats.stats.means import case_mean
from evalstats.stats.pairs import paired_t_test
from evalstats.stats.results import Estimate
from evalstats.stats.worlds import World


def rng(seed=3):
    return np.random.default_rng(seed)


def wald(sample, _):
    """Return the textbook interval that fails: its exact coverage is published."""
    n, p = sample.candidate.size, float(sample.candidate.mean())
    error = sqrt(p * (1 - p) / n)
    return Estimate(
        estimand="pass rate",
        population="SUPER",
        estimate=p,
        std_error=error,
        conf_low=p - 1.959964 * error,
        conf_high=p + 1.959964 * error,
        level=0.95,
        n_cases=n,
        n_trials=n,
        method="Wald",
    )


def test_published(published):
    world = World(cases=int(published["cases"]), mean=float(published["mean"]), correlation=0.0)
    found = diagnose(wald, world, rng=rng(), reps=2000)
    assert abs(found.coverage - float(published["coverage"])) < 3 * found.coverage_error + 0.0005
    assert abs(found.bias) < 3 * found.bias_error


def test_same_rng_same_diagnosis_other_rng_another():
    world = World(cases=10, trials=3)
    first, again, other = (diagnose(wald, world, rng=rng(seed), reps=20) for seed in (1, 1, 2))
    assert first == again != other


def test_refusals_are_counted_not_covered():
    found = diagnose(lambda s, _: case_mean(s.candidate), World(cases=4, mean=0.9), rng=rng(), reps=100)
    assert 30 < found.refusals < 100
    assert not isnan(found.coverage)


def test_all_refused_is_unknown():
    found = diagnose(lambda s, _: case_mean(s.candidate), World(cases=2), rng=rng(), reps=5)
    assert found.refusals == 5
    assert isnan(found.bias) and isnan(found.coverage) and isnan(found.rejection_error)
    assert found.caveats == ("no draw gave an interval",)


@pytest.mark.parametrize(("cases", "refusals", "n_caveats"), [(30, 0, 1), (2, 50, 2)])
def test_a_test_has_size_only(cases, refusals, n_caveats):
    found = diagnose(
        lambda s, _: paired_t_test(s.candidate, s.baseline),
        World(cases=cases, trials=3),
        rng=rng(),
        reps=50,
        level=0.8,
    )
    assert found.refusals == refusals and len(found.caveats) == n_caveats
    assert isnan(found.coverage) and isnan(found.width)
    assert isnan(found.rejection) if refusals else found.rejection < 0.5
    assert found.level == 0.8


def test_error_of_a_share_is_never_zero():
    found = diagnose(
        lambda s, _: case_mean(s.candidate, level=0.999999), World(cases=30, trials=3), rng=rng(), reps=20
    )
    assert found.coverage == 1.0 and found.coverage_error > 0.03


def test_row_is_flat():
    row = diagnose(wald, World(cases=10), rng=rng(), reps=10).as_row()
    assert list(row)[:2] == ["cases", "trials"] and row["cases"] == 10
    assert row["method"] == "Wald" and "world" not in row


def test_input_is_checked():
    with pytest.raises(ValueError, match="target must be one of"):
        diagnose(wald, World(cases=3), rng=rng(), target="median")
    with pytest.raises(ValueError, match="level must be inside"):
        diagnose(wald, World(cases=3), rng=rng(), level=80)
