"""Lift by named methods: published intervals, what they share, and edges."""

from math import inf, isnan

import numpy as np
import pytest

from evalstats.stats.lift_intervals import (
    Failures,
    fieller_bounds,
    lift_delta_log,
    lift_fieller,
    lift_saddlepoint,
)
from evalstats.stats.pairs import Pairs
from evalstats.stats.results import t_quantile

METHODS = {
    "lift_delta_log": lift_delta_log,
    "lift_fieller": lift_fieller,
    "lift_saddlepoint": lift_saddlepoint,
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
BONETT = (
    [76.41, 66.91, 81.06, 74.78, 83.76, 89.31, 78.78, 87.06, 82.61, 76.74, 88.33, 86.18],
    [59.85, 60.64, 84.86, 68.16, 71.53, 86.18, 67.30, 65.46, 83.50, 66.76, 88.37, 65.02],
)
SMALL = [3.3, 3.6, 3.0, 3.1, 3.9, 4.2, 3.5, 3.3], [3.0, 3.1, 2.7, 2.6, 3.2, 3.8, 3.2, 3.0]


def four_cells(both, candidate, baseline, neither):
    """Return failures of a paired table: cases that fail in both arms, in one of them, in neither."""
    return (
        [1] * both + [1] * candidate + [0] * baseline + [0] * neither,
        [1] * both + [0] * candidate + [1] * baseline + [0] * neither,
    )


def thousand():
    i = np.arange(1000)
    new, old = (i * 37 % 101) / 100, (i * 53 + 11) % 101 / 100
    return 1 - new, 1 - np.where(new > 0.5, np.maximum(old, new * 0.6), old)


def four_hundred():
    i = np.arange(400)
    new = (i * i * 7 + 3 * i) % 11 / 10
    return 1 - new, 1 - np.minimum(new, i * 13 % 11 / 10)


DATA = {
    "bonett": BONETT,
    "bonett small": SMALL,
    "katz": four_cells(4, 6, 16, 24),
    "bentur": four_cells(1, 1, 7, 12),
    "thousand": thousand(),
    "four hundred": four_hundred(),
}


def failing(candidate, baseline, **more):
    """Return pairs whose failures these are."""
    return Pairs(candidate=1 - np.asarray(candidate), baseline=1 - np.asarray(baseline), trials=1, **more)


def test_published(published, agrees):
    level, name = float(published["level"]), published["function"]
    if published["data"] == "dcstats":
        found = fieller_bounds((14, 7), (9, 4, 0), t_quantile(level, int(published["df"])))
        expected = float(published["conf_low"]), float(published["conf_high"])
        assert found == pytest.approx(expected, rel=1e-4)
    elif name == "lift_saddlepoint":
        record = lift_saddlepoint(failing(*DATA[published["data"]]), level=level)
        expected = [float(published[key]) for key in ("estimate", "conf_low", "conf_high")]
        # A million resamples know these bounds to about 5e-5; test_saddlepoint.py has the argument.
        assert (record.estimate, record.conf_low, record.conf_high) == pytest.approx(expected, abs=3e-4)
    else:
        more = {"df": inf} if published.get("df") == "inf" else {}
        agrees(METHODS[name](failing(*DATA[published["data"]]), level=level, **more), published)


@every_method
def test_record_is_a_lift(method):
    pairs = Pairs(candidate=[1, 0.5, 0.5, 1, 0], baseline=[0.5, 0, 0.5, 0.5, 0], trials=4)
    record = method(pairs, level=0.8)
    assert (record.estimand, record.population) == ("lift", "SUPER")
    assert (record.n_cases, record.n_clusters, record.n_trials) == (5, None, 40)
    assert record.estimate == pytest.approx(1 - 2 / 3.5)
    assert record.conf_low < record.estimate < record.conf_high
    assert record.std_error > 0


@every_method
def test_weights_are_cases_counted_so_often(method):
    once = Pairs(candidate=[1, 0.5, 0.2, 1, 0.1], baseline=[0.5, 0, 0.5, 0.4, 0], trials=1)
    heavy = method(once, weights=[2, 1, 1, 2, 1])
    assert heavy.estimate == pytest.approx(1 - (0.5 + 0.8 + 0.9) / (1 + 1 + 0.5 + 1.2 + 1))
    assert method(once, weights=[3, 3, 3, 3, 3]) == method(once)


@every_method
def test_clusters_of_copies_are_single_cases(method):
    rng = np.random.default_rng(2)
    new, old = rng.random(30), 0.7 * rng.random(30)
    single = method(Pairs(candidate=new, baseline=old, trials=1))
    copied = method(
        Pairs(
            candidate=np.repeat(new, 2),
            baseline=np.repeat(old, 2),
            trials=1,
            clusters=np.repeat(np.arange(30), 2),
        )
    )
    assert (copied.conf_low, copied.conf_high) == pytest.approx((single.conf_low, single.conf_high))
    assert copied.n_clusters == 30


@every_method
@pytest.mark.parametrize(
    ("candidate", "baseline", "reason"),
    [
        ([], [], "no pairs"),
        ([1.0] * 4, [1.0] * 4, "no headroom"),
        ([0.5] * 4, [1.0] * 4, "no headroom"),
        ([1.0, 0.0], [0.0, 0.0], "2 of the 3"),
    ],
)
def test_undefined_says_why(method, candidate, baseline, reason):
    record = method(Pairs(candidate=candidate, baseline=baseline, trials=1))
    assert isnan(record.conf_low) and isnan(record.conf_high)
    assert reason in record.caveats[0]


def test_a_candidate_without_failures_has_a_lift_but_no_logarithm():
    pairs = Pairs(candidate=[1.0] * 4, baseline=[0.0, 1, 0, 1], trials=1)
    assert lift_delta_log(pairs).estimate == 1
    assert "an arm never fails" in " ".join(lift_delta_log(pairs).caveats)


def test_fieller_is_unbounded_when_the_baseline_may_never_fail():
    record = lift_fieller(Pairs(candidate=[1, 1, 0, 1, 1], baseline=[1, 1, 0.5, 1, 1], trials=2))
    assert isnan(record.conf_low) and "unbounded" in record.caveats[-1]


def test_a_flat_baseline_is_no_trouble_for_fieller():
    """A constant denominator makes it Student's t over the constant."""
    new = np.array([1.0, 0.5, 0.25, 0.75])
    record = lift_fieller(Pairs(candidate=new, baseline=[0.5] * 4, trials=4))
    half = t_quantile(0.95, 3) * new.std(ddof=1) / 2 / 0.5
    assert record.conf_low == pytest.approx(1 - (1 - new.mean()) / 0.5 - half)


@pytest.mark.parametrize("weights", [[1, 1], [1, 1, 0], [1, 1, -2]])
def test_weights_are_checked(weights):
    with pytest.raises(ValueError, match="weights must be 3 positive numbers"):
        Failures.of(Pairs(candidate=[1, 0, 1], baseline=[0, 0, 1], trials=1), weights)


@every_method
def test_arms_must_match(method):
    with pytest.raises(ValueError, match="same cases, got 2 and 1"):
        method(Pairs(candidate=[1, 0], baseline=[1], trials=1))
