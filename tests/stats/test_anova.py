"""Mean squares, F and rater agreement: certified numbers, published tables, edges."""

from math import isnan, log10, sqrt

import numpy as np
import pytest

from evalstats.stats.anova import TwoWay, anova_one_way, rater_icc
from evalstats.stats.means import case_mean, icc

SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
DRAWS = 400


def digits(found: float, certified: float) -> float:
    """Return the log relative error: how many digits are right, at most 15."""
    return 15.0 if found == certified else min(15.0, -log10(abs(found - certified) / abs(certified)))


def test_published(published, agrees, nist):
    if published["function"] == "anova_one_way":
        scores, groups = nist(published["dataset"])
        found = anova_one_way(scores, groups=groups)
        assert digits(found.statistic, float(published["certified_f"])) >= float(published["digits"])
    elif published["function"] == "rater_icc":
        agrees(rater_icc(SHROUT_FLEISS, model=published["model"]), published)
    else:
        table = TwoWay.of(SHROUT_FLEISS)
        for name in ("units", "within", "raters", "error", "unit_variance", "rater_variance"):
            decimals = len(published[name].partition(".")[2])
            assert round(getattr(table, name), decimals) == float(published[name])


@pytest.mark.parametrize(
    ("first", "pair", "sd"),
    [
        (10000002.0, (10000001.0, 10000003.0), 1.0),
        (1.2, (1.1, 1.3), 0.1),
        (1000000.2, (1000000.1, 1000000.3), 0.1),
        (10000000.2, (10000000.1, 10000000.3), 0.1),
    ],
    ids=["NumAcc1", "NumAcc2", "NumAcc3", "NumAcc4"],
)
def test_nist_numacc(first, pair, sd):
    times = 1 if sd == 1.0 else 500
    values = np.r_[first, np.tile(pair, times)]
    record = case_mean(values)
    assert digits(record.estimate, first) == 15
    assert digits(record.std_error * sqrt(values.size), sd) >= 8.2


def test_two_groups_are_the_t_test():
    # R, t.test(extra ~ group, data = sleep, var.equal = TRUE): t = -1.8608, df = 18, p-value = 0.07919
    sleep = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    sleep += [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = anova_one_way(sleep, groups=[1] * 10 + [2] * 10)
    assert sqrt(found.statistic) == pytest.approx(1.8608, abs=5e-5)
    assert found.p_value == pytest.approx(0.07919, abs=5e-6)


@pytest.mark.parametrize("smallest", [1, 2, 3, 4])
def test_small_groups_have_an_f_but_no_p(smallest):
    """Graded scores of 4 in a group reject 5.3% where 5% are declared, of 2 in a group 6%."""
    scores, groups = [1, 2, 3, 2, 3, 4, 2, 4][: 4 + smallest], list("aaaabbbb")[: 4 + smallest]
    found = anova_one_way(scores, groups=groups)
    first, second = np.array(scores[:4]), np.array(scores[4:])
    within = ((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum()
    across = 4 * smallest / (4 + smallest) * (first.mean() - second.mean()) ** 2
    assert found.statistic == pytest.approx(across / (within / (2 + smallest)), rel=1e-12)
    assert isnan(found.p_value)
    assert found.caveats[0].startswith(f"{smallest} of the 5 elements needed in each group")


@pytest.mark.parametrize(
    ("scores", "groups", "reason"),
    [
        ([], [], "no scores"),
        ([1.0], ["a"], "one group"),
        ([1, 2, 3], list("aaa"), "one group"),
        ([1, 2, 3], list("abc"), "one element in each group"),
        ([1, 1, 2, 2], list("aabb"), "no variance within groups"),
        ([1, 1, 1, 1], list("aabb"), "no variance within groups"),
    ],
)
def test_undefined_f_says_why(scores, groups, reason):
    found = anova_one_way(scores, groups=groups)
    assert isnan(found.statistic) and isnan(found.p_value)
    assert reason in found.caveats[0]


def test_a_missing_score_is_named():
    with pytest.raises(ValueError, match="scores must be finite, got"):
        anova_one_way([1, float("nan")], groups=["a", "b"])


def test_icc11_is_the_one_way_icc():
    scores = np.ravel(SHROUT_FLEISS)
    one_way = icc(scores, clusters=np.repeat(range(6), 4))
    record = rater_icc(SHROUT_FLEISS, model="ICC(1,1)")
    assert record.estimate == pytest.approx(one_way.estimate, abs=1e-12)
    assert record.conf_low == pytest.approx(one_way.conf_low, abs=1e-12)
    assert record.conf_high == pytest.approx(one_way.conf_high, abs=1e-12)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        (np.zeros((0, 3)), "0 units, 3 raters"),
        ([[1, 2, 3]], "1 unit, 3 raters"),
        ([[1], [2], [3]], "3 units, 1 rater:"),
        ([[1, 1], [1, 1]], "no variation between units"),
        ([[1, 1], [2, 2], [3, 3]], "no more than a constant"),
    ],
)
def test_undefined_icc_says_why(ratings, reason):
    record = rater_icc(ratings)
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert reason in record.caveats[0]


def test_what_is_no_table_is_named():
    with pytest.raises(ValueError, match=r"shape \(units, raters\), got \(3,\)"):
        rater_icc([1, 2, 3])
    with pytest.raises(ValueError, match="model must be one of"):
        rater_icc(SHROUT_FLEISS, model="ICC(4,1)")


def test_calibration_of_f():
    rng = np.random.default_rng(20260301)
    groups = np.repeat(range(4), 6)
    rejected = np.mean(
        [anova_one_way(rng.normal(size=24), groups=groups).p_value < 0.2 for _ in range(DRAWS)]
    )
    assert abs(rejected - 0.2) < 3 * sqrt(0.2 * 0.8 / DRAWS)


@pytest.mark.parametrize("level", [0.80, 0.95])
@pytest.mark.parametrize(("model", "truth"), [("ICC(1,1)", 0.6), ("ICC(2,1)", 0.5), ("ICC(3,1)", 0.6)])
def test_calibration_of_rater_icc(model, truth, level):
    rng = np.random.default_rng(20260302)
    leniency = 1.0 if model == "ICC(2,1)" else 0.0
    covered = 0
    for _ in range(DRAWS):
        units, raters = rng.normal(0, sqrt(3), (30, 1)), rng.normal(0, sqrt(leniency), 6)
        record = rater_icc(units + raters + rng.normal(0, sqrt(2), (30, 6)), model=model, level=level)
        covered += record.conf_low <= truth <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)
