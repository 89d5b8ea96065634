"""Two arms on the same cases: published numbers, the rule of choice, and edges."""

from math import isnan

import numpy as np
import pytest

from evalstats.stats.pairs import Pairs, paired_difference, paired_t, paired_t_test
from evalstats.stats.results import Test

BY_NAME = {"paired_t": paired_t, "paired_t_test": paired_t_test}
MODEL_A = [3, 4, 2, 2, 4, 3, 3, 1, 2, 1, 4, 0, 4, 4, 4, 4, 1, 3, 2, 1]
MODEL_B = [2, 4, 2, 3, 4, 3, 3, 0, 2, 0, 4, 0, 4, 4, 2, 4, 3, 3, 1, 0]
DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
DATA = {
    "sleep": (
        [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
        [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    ),
    "darwin": (DARWIN, [0.0] * 15),
    "inspect": ([k / 4 for k in MODEL_A], [k / 4 for k in MODEL_B]),
    "approval": ([1] * 794 + [0] * 86 + [1] * 150 + [0] * 570, [1] * 794 + [1] * 86 + [0] * 150 + [0] * 570),
}


def rng():
    return np.random.default_rng(3)


def test_published(published, agrees):
    arms = DATA[published["data"]]
    if published["function"] == "paired_difference":
        pairs = Pairs(candidate=arms[0], baseline=arms[1], trials=1, graded=published["data"] != "approval")
        agrees(paired_difference(pairs, rng=rng()), published)
    elif published["function"] == "paired_t_test":
        agrees(paired_t_test(*arms, alternative=published["alternative"]), published)
    else:
        agrees(paired_t(*arms, level=float(published["level"])), published)


def halves(n, different, trials=2):
    """Return n baseline cases at 1/2, of which the first few score 1 in the candidate."""
    return Pairs(candidate=[1.0] * different + [0.5] * (n - different), baseline=[0.5] * n, trials=trials)


@pytest.mark.parametrize(
    ("pairs", "method"),
    [
        (halves(20, 5), "paired t on cases"),
        (halves(19, 5), "DP.25"),
        (halves(20, 4), "DP.25"),
        (Pairs(candidate=[1, 1, 0], baseline=[0, 1, 0], trials=1), "Newcombe, paired"),
        (Pairs(candidate=[1, 1, 0], baseline=[0, 1, 0], trials=3), "Newcombe, paired"),
        (Pairs(candidate=[1, 1, 0], baseline=[0, 1, 0], trials=3, graded=True), "DP.25"),
        (Pairs(candidate=[1, 1, 0], baseline=[0, 1, 0], trials=1, clusters=[0, 1, 1]), "DP.25"),
        (Pairs(candidate=[1, 0] * 10, baseline=[0, 0] * 10, trials=1), "paired t on cases"),
        (
            Pairs(candidate=[0.1, 0.2, 0.3, 0.4, 0], baseline=[0] * 5, trials=1, graded=True),
            "paired t on cases",
        ),
        (Pairs(candidate=[0.1, 0.2, 0.3, 0.3, 0], baseline=[0] * 5, trials=1, graded=True), "DP.25"),
        (
            Pairs(candidate=[1, 0] * 10, baseline=[0] * 20, trials=1, clusters=[0, 1, 2, 3] * 5),
            "paired t on clusters, CR3",
        ),
    ],
)
def test_difference_says_what_it_chose(pairs, method):
    record = paired_difference(pairs, rng=rng())
    assert record.method == method
    assert record.estimand == "difference of mean scores"
    assert record.n_trials == 2 * pairs.trials * len(pairs.candidate)
    assert not isnan(record.conf_low)


def test_few_graded_differences_are_flagged():
    pairs = Pairs(candidate=[0.1, 0.2, 0.3], baseline=[0, 0, 0], trials=1, graded=True)
    assert "wider than needed" in paired_difference(pairs, rng=rng()).caveats[0]


@pytest.mark.parametrize(
    ("n", "unmatched", "reason"),
    [(0, 0, "no pairs"), (0, 3, "no pairs"), (7, 2, "2 of 9 cases unmatched"), (1, 1, "1 of 2")],
)
def test_difference_refuses(n, unmatched, reason):
    record = paired_difference(
        Pairs(candidate=[1] * n, baseline=[0] * n, trials=1, unmatched=unmatched), rng=rng()
    )
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert reason in record.caveats[0]


@pytest.mark.parametrize(
    "pairs",
    [
        Pairs(candidate=[1.0], baseline=[0.0], trials=1),
        Pairs(candidate=[1.0, 0.5], baseline=[0.0, 0.5], trials=2),
        Pairs(candidate=[0.4, 0.5], baseline=[0.1, 0.3], trials=3, graded=True),
        Pairs(candidate=[1.0, 0.0], baseline=[0.0, 0.0], trials=1, clusters=["a", "b"]),
    ],
)
def test_one_or_two_cases_have_a_difference_but_no_interval(pairs):
    record = paired_difference(pairs, rng=rng(), level=0.8)
    assert record.estimate == np.mean(np.subtract(pairs.candidate, pairs.baseline))
    assert isnan(record.std_error) and isnan(record.conf_low) and isnan(record.conf_high)
    n = len(pairs.candidate)
    assert record.caveats == (f"{n} of the 3 cases needed for a standard error",)
    assert (record.method, record.n_cases, record.level) == ("none", n, 0.8)


def test_a_fifth_unmatched_is_told():
    record = paired_difference(Pairs(candidate=[1] * 8, baseline=[0] * 8, trials=1, unmatched=2), rng=rng())
    assert record.estimate == 1
    assert record.caveats[-1] == "2 unmatched cases left out"


def test_same_rng_same_interval_other_rng_another():
    same = [paired_difference(halves(6, 2), rng=np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


@pytest.mark.parametrize(
    ("candidate", "baseline", "reason"),
    [
        ([], [], "no cases"),
        ([1.0], [0.0], "1 of the 3"),
        ([1.0] * 2, [0.0] * 2, "2 of the 3"),
        ([1.0] * 5, [1.0] * 5, "all cases agree"),
        ([0.9] * 5, [0.3] * 5, "all cases agree"),
    ],
)
def test_t_refuses(candidate, baseline, reason):
    interval, test = paired_t(candidate, baseline), paired_t_test(candidate, baseline)
    assert isnan(interval.conf_low) and isnan(test.p_value) and isnan(test.statistic)
    assert reason in interval.caveats[0] and reason in test.caveats[0]


def test_one_cluster_is_refused():
    assert isnan(paired_t([1, 0, 1], [0, 0, 0], clusters=[1, 1, 1]).conf_low)
    assert isnan(paired_t_test([1, 0, 1], [0, 0, 0], clusters=[1, 1, 1]).p_value)


def test_interval_and_test_agree_on_zero():
    arms = DATA["darwin"]
    p_value = paired_t_test(*arms).p_value
    assert paired_t(*arms, level=1 - p_value).conf_low == pytest.approx(0, abs=1e-9)


def test_sides_of_the_test():
    sides = {
        side: paired_t_test(*DATA["sleep"], alternative=side).p_value
        for side in ("greater", "less", "two-sided")
    }
    assert sides["greater"] + sides["less"] == pytest.approx(1)
    assert sides["two-sided"] == pytest.approx(2 * sides["greater"])
    with pytest.raises(ValueError, match="alternative must be one of"):
        paired_t_test(*DATA["sleep"], alternative="more")


def test_t_agrees_with_scipy_without_clusters():
    stats = pytest.importorskip("scipy.stats")
    found = stats.ttest_rel(*DATA["sleep"])
    test = paired_t_test(*DATA["sleep"])
    assert isinstance(test, Test)
    assert (test.statistic, test.p_value) == pytest.approx((found.statistic, found.pvalue), rel=1e-12)


@pytest.mark.parametrize("function", BY_NAME.values(), ids=BY_NAME)
def test_arms_must_match(function):
    with pytest.raises(ValueError, match="same cases, got 2 and 1"):
        function([1, 0], [1])
    with pytest.raises(ValueError, match=r"finite, got .*nan"):
        function([1, float("nan")], [1, 0])
