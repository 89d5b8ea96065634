"""Unchanged nights: a rule that blocks more of them than it declares is not blessed."""

import numpy as np
import pytest

from evalstats import gate
from evalstats.contract import GateRule

ON, OFF = "skill-on", "skill-off"


@pytest.fixture
def nights(tell):
    """Return a function: how many nights of ten cases, twenty trials each, drawn from one unchanged subject."""

    def drawn(n, seed=1, off=0.4, trials=20):
        rng = np.random.default_rng(seed)
        rates = rng.beta(4, 2, 10)
        return [
            tell(night, {
                ON: {f"c{i}": (int(rng.binomial(trials, rates[i])), trials) for i in range(10)},
                OFF: {f"c{i}": (int(rng.binomial(trials, off)), trials) for i in range(10)},
            })
            for night in range(1, n + 1)
        ]  # fmt: skip

    return drawn


FACTS = {f"c{i}": {"archetype": None, "dimensions": []} for i in range(10)}


def by_way(found):
    return {(str(flips.rule), flips.way): flips for flips in found.flips}


def test_a_rule_that_keeps_its_word_is_not_refuted(nights, make_report, make_policy):
    report = make_report(nights(60), facts=FACTS)
    found = gate.calibrate(report, make_policy(history={"minimum": 8, "window": 28}), seed=1)
    flips = by_way(found)
    replay = flips["three-verdict", "replay"]
    assert replay.nights == 52 and replay.blessed is True and replay.conf_low <= 0.05
    assert flips["three-verdict", "split"].nights == 52 and flips["three-verdict", "split"].blessed is True
    assert found.exit_code == 0 and set(flips) >= {("legacy", "replay")}


def test_the_interval_is_the_exact_one(nights, make_report, make_policy):
    """None of 52 blocked: the upper end is 1 - .025 ** (1 / 52) = .0685, above .05, so more nights are asked for."""
    found = gate.calibrate(make_report(nights(60), facts=FACTS), make_policy(margin=0.3), seed=1)
    flips = by_way(found)["three-verdict", "replay"]
    assert (flips.flip_rate, flips.conf_low) == (0.0, 0.0)
    assert flips.conf_high == pytest.approx(1 - 0.025 ** (1 / 52), abs=1e-9)
    assert flips.reason.endswith("5.0% declared, not refuted; 59 clean nights would show it")


def test_the_prescribed_rule_is_refused_on_a_noisy_suite(tell, make_report, make_policy):
    rng = np.random.default_rng(7)

    def arm(rate):
        return {f"c{i}": (int(rng.binomial(3, rate)), 3) for i in range(10)}

    runs = [tell(night, {ON: arm(0.8), OFF: arm(0.5)}) for night in range(1, 60)]
    policy = make_policy(rule="legacy", statistic="lift")
    found = gate.calibrate(make_report(runs, facts=FACTS), policy, seed=1)
    legacy = by_way(found)["legacy", "replay"]
    assert legacy.conf_low > 0.05 and legacy.blessed is False and found.exit_code == 1
    assert "more than the 5.0% declared" in legacy.reason


def test_too_few_nights_tell_nothing(nights, make_report, make_policy):
    found = gate.calibrate(make_report(nights(5), facts=FACTS), make_policy(), seed=1)
    assert found.exit_code == 3
    assert by_way(found)["three-verdict", "replay"].reason.startswith("cannot tell: no night has enough")
    assert gate.calibrate(make_report([]), make_policy(), seed=1).exit_code == 3


def test_halves_need_two_plain_trials_of_each_case(nights, make_report, make_policy):
    found = gate.calibrate(make_report(nights(20, trials=1), facts=FACTS), make_policy(), seed=1)
    assert by_way(found)["three-verdict", "split"].blessed is None


def test_same_seed_same_halves(nights, make_report, make_policy):
    report = make_report(nights(30), facts=FACTS)
    one, same, other = (
        gate.calibrate(report, make_policy(margin=0.02), seed=s, rules=[GateRule.THREE_VERDICT])
        for s in (1, 1, 2)
    )
    assert one == same
    assert one.as_record()["seed"] == 1 and other.seed == 2
