"""Operating characteristics against the figures that the design declares and against closed forms."""

from math import erf, sqrt

import pytest

from evalstats import gate
from evalstats.contract import GateRule
from evalstats.errors import UsageError

ON, OFF = "skill-on", "skill-off"
REPS = 4_000


def noise(sigma, **fields):
    return gate.Components(centre=0.6, run_sd=sigma, nights=28, **fields)


def normal(z):
    return (1 + erf(z / sqrt(2))) / 2


def near(share, promised):
    return abs(share - promised) <= 3.5 * sqrt(max(promised * (1 - promised), 1e-3) / REPS) + 0.001


@pytest.mark.parametrize(
    ("sigma", "shares"),
    [
        # true drop -> block; first row: block, pass and inconclusive of an unchanged suite: the table of the design
        (0.015, {0.0: (0.012, 0.988, 0.0), 0.05: 0.894, 0.10: 1.0}),
        (0.030, {0.0: (0.031, 0.931, 0.038), 0.05: 0.688, 0.10: 0.997}),
        (0.060, {0.0: (0.036, 0.616, 0.349), 0.05: 0.261, 0.10: 0.726, 0.20: 0.999}),
    ],
)
def test_the_table_of_the_design(make_policy, sigma, shares):
    found = gate.simulate(noise(sigma), make_policy(margin=0.05), seed=1, reps=REPS, drops=list(shares))
    for at, promised in zip(found.curve, shares.values(), strict=True):
        told = (at.block, at.passed, at.inconclusive) if isinstance(promised, tuple) else (at.block,)
        for share, expected in zip(
            told, promised if isinstance(promised, tuple) else [promised], strict=True
        ):
            assert near(share, expected)


def test_the_prescribed_rule_is_a_coin_flip_at_its_margin(make_policy):
    found = gate.simulate(
        noise(0.08), make_policy(), seed=2, rule=GateRule.LEGACY, reps=REPS, drops=[0.0, 0.05]
    )
    # the median of 28 normal nights has pi/2 / 28 of the variance of one
    expected = normal(-0.05 / (0.08 * sqrt(1 + 1.5708 / 28)))
    assert near(found.curve[0].block, expected) and near(found.curve[1].block, 0.5)
    assert found.curve[0].inconclusive == 0


def test_a_minimum_and_a_threshold_lie_where_they_are(make_policy):
    policy = make_policy(rule="minimum-delta", statistic="difference", minimum_delta=0.5)
    found = gate.simulate(noise(0.05), policy, seed=3, reps=REPS, drops=[0.0, 0.1])
    assert near(found.curve[0].block, normal(-2)) and near(found.curve[1].block, 0.5)
    policy = make_policy(rule="absolute", threshold=0.6, reruns=1)
    found = gate.simulate(noise(0.05), policy, seed=4, reps=REPS, drops=[0.0])
    assert near(found.curve[0].block, 0.05) and near(found.curve[0].passed, 0.10)  # just on the threshold


def test_canaries_and_k_of_n_are_exact(make_policy):
    counts = {"a": (27, 27), "b": (27, 27)}
    policy = make_policy(rule="critical", critical_cases=["a"])
    found = gate.simulate(noise(0.05, counts=counts, trials=3), policy, seed=5, drops=[0.0, 0.1])
    assert found.curve[0].block == pytest.approx(1 - 27.5 * 28.5 * 29.5 / (28 * 29 * 30))
    assert found.curve[1].block == pytest.approx(1 - (27.5 / 28 - 0.1) ** 3)
    policy = make_policy(rule="per-case", per_case={"k": 1, "n": 3})
    found = gate.simulate(noise(0.05, counts=counts, trials=3), policy, seed=5, drops=[0.1])
    assert found.curve[0].block == pytest.approx(1 - (1 - (1 - 27.5 / 28 + 0.1) ** 3) ** 2)


def test_nights_beyond_the_trials_widen_non_inferiority(make_policy):
    """What moves all cases of a night at once is not in the noise between cases; it must not raise false blocks."""
    policy = make_policy(rule="non-inferiority", margin=0.05)
    given = noise(0.05, trial_sd=0.01, night_sd=sqrt(0.05**2 - 0.01**2), cases=50)
    found = gate.simulate(given, policy, seed=6, reps=REPS, drops=[0.0])
    assert found.curve[0].block <= 0.05 + 3 * sqrt(0.05 * 0.95 / REPS)


def test_same_seed_same_curve(make_policy):
    one, same, other = (gate.simulate(noise(0.03), make_policy(), seed=s, reps=500) for s in (1, 1, 2))
    assert one == same and one.curve != other.curve
    assert one.as_record()["seed"] == 1 and "counts" not in one.as_record()["components"]


def test_the_noise_is_that_of_the_accepted_runs(make_report, make_policy, make_run):
    values = [0.80, 0.84, 0.78, 0.82, 0.76]
    runs = [make_run(n, {ON: v}, within_variance=0.0004) for n, v in enumerate(values, 1)]
    found = gate.components(make_report([*runs, make_run(6, {ON: 0.1})]), make_policy())
    assert (found.centre, found.nights) == (pytest.approx(0.8), 5)
    assert found.run_sd == pytest.approx(sqrt(0.001))  # squares .0016 + .0004 + .0004 + .0016 over 4
    assert found.trial_sd == pytest.approx(0.02) and found.night_sd == pytest.approx(sqrt(0.0006))


def test_a_noise_that_is_unknown_is_refused(make_report, make_policy, make_run):
    for runs, why in (([], "no run"), ([make_run(1, {ON: 0.8})], "holds 0 accepted"),
                      ([make_run(n, {ON: 0.8}) for n in range(1, 9)], "does not vary")):  # fmt: skip
        with pytest.raises(UsageError, match=why):
            gate.components(make_report(runs), make_policy())
    rounded = [make_run(n, {ON: 0.6 + n / 10, OFF: n / 10}) for n in range(1, 4)]  # 0.6 but for rounding
    with pytest.raises(UsageError, match="does not vary"):
        gate.components(
            make_report([*rounded, make_run(4, {ON: 0.6, OFF: 0.1})]), make_policy(statistic="difference")
        )


def test_more_suites_than_fit_are_refused(make_policy):
    with pytest.raises(UsageError, match="suites fit"):
        gate.simulate(noise(0.03), make_policy(), seed=1, reps=10**9)


@pytest.mark.parametrize(
    ("policy", "lacking"),
    [
        ({"rule": "per-case", "per_case": {"k": 2, "n": 3}}, "how often each case passed"),
        ({"rule": "critical", "critical_cases": ["a"]}, "how often each case passed"),
        ({"rule": "non-inferiority"}, "how many cases there are"),
        ({"rule": "absolute", "threshold": 0.6}, "where the suite lies"),
        ({"rule": "minimum-delta", "statistic": "difference", "minimum_delta": 0.1}, "where the suite lies"),
    ],
)
def test_a_declared_noise_says_nothing_of_cases_or_of_where_the_suite_lies(make_policy, policy, lacking):
    """Unknown is not 0: nothing would then be blocked, or everything."""
    bare = gate.Components(centre=None, run_sd=0.03, nights=28)
    with pytest.raises(UsageError, match=lacking):
        gate.simulate(bare, make_policy(**policy), seed=1, reps=200)
    assert gate.simulate(bare, make_policy(), seed=1, reps=200).as_record()["components"]["centre"] is None
