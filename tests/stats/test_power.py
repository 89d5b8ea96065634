"""Power by simulation: reproducible, nothing from nothing, and as planned where planning is right."""

from math import sqrt

import numpy as np
import pytest

from evalstats.stats.planning import Spread, Study, cases_needed
from evalstats.stats.power import simulated_power
from evalstats.stats.worlds import World


def test_published(published):
    """Many expectations make scores normal: the world of the textbook."""
    size, n = float(published["effect_size"]), int(published["cases"])
    effect = size * sqrt(2 * 0.25 / 1000)
    world = World(cases=n, mean=0.5 - effect / 2, effect=effect, correlation=0.0, expectations=1000)
    found = simulated_power(world, rng=np.random.default_rng(1), reps=1_500).estimate
    power = float(published["power"])
    assert abs(found - power) < 3 * sqrt(power * (1 - power) / 1_500)


def test_same_rng_same_power():
    world = World(cases=10, trials=3, effect=0.3)
    first, second, other = (
        simulated_power(world, rng=np.random.default_rng(seed), reps=200) for seed in (1, 1, 2)
    )
    assert first == second and first != other


@pytest.mark.parametrize("world", [World(cases=1, effect=0.2), World(cases=5, mean=1e-9)])
def test_nothing_can_be_found_without_variance(world):
    assert simulated_power(world, rng=np.random.default_rng(1), reps=50).estimate == 0


def test_power_looks_in_the_direction_of_the_effect():
    up, down = (World(cases=25, trials=3, mean=0.5, effect=e, correlation=0.3) for e in (0.3, -0.3))
    found = [simulated_power(w, rng=np.random.default_rng(3), reps=300).estimate for w in (up, down)]
    assert found[0] == pytest.approx(found[1], abs=0.12) and min(found) > 0.7


def test_calibration_size_where_nothing_is_going_on():
    """One direction of a two-sided test at 5%: 2.5%, with 30 cases."""
    found = simulated_power(World(cases=30, trials=5), rng=np.random.default_rng(4), reps=400)
    assert abs(found.estimate - 0.025) < 3 * sqrt(0.025 * 0.975 / 400)


def test_calibration_power_is_as_planned_with_many_cases():
    """Plan from the true variances of a world without pairing, then draw it: 80%."""
    rates = (0.45, 0.55)
    case = sum(0.5 * p * (1 - p) for p in rates)
    trial = sum(0.5 * p * (1 - p) for p in rates) / 2
    n = cases_needed(0.1, Spread(case=case, trial=trial), Study(paired=True), trials=3)
    drawn = World(cases=n, trials=3, mean=0.45, effect=0.1, correlation=0.5, pairing=0.0)
    found = simulated_power(drawn, rng=np.random.default_rng(5), reps=400)
    assert abs(found.estimate - 0.8) < 3 * sqrt(0.8 * 0.2 / 400)
