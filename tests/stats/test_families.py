"""Adjusted p-values and shrinkage: published numbers, edges, and what each promises."""

from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from evalstats.stats.families import (
    benjamini_hochberg,
    between_groups_variance,
    group_means,
    holm,
    shrunken_groups,
)
from evalstats.stats.results import Estimate

ADJUSTED = {"holm": holm, "benjamini_hochberg": benjamini_hochberg}
either = pytest.mark.parametrize("adjusted", ADJUSTED.values(), ids=ADJUSTED)
BH_1995 = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
BH_1995 += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]


def group(estimate, std_error, **known):
    fields = {"estimand": "difference", "population": "SUPER", "level": 0.95, "n_cases": 4, "n_trials": 12}
    caveats = ("one case",) if isnan(std_error) else ()
    return Estimate(
        **(fields | known),
        estimate=estimate,
        std_error=std_error,
        conf_low=estimate - std_error,
        conf_high=estimate + std_error,
        method="pooled t",
        caveats=caveats,
    )


def numbers(cell):
    return [float(number) for number in cell.split()]


def back_to_averages(x, n=90):
    """Return batting averages from the arcsine scale of Efron and Hastie."""
    return [((n + 0.75) * np.sin(value / (2 * sqrt(n + 0.5))) ** 2 - 0.375) / n for value in x]


def shrunk(published):
    inputs = numbers(published["inputs"])
    errors = np.sqrt(numbers(published["variances"]))
    found = [g.estimate for g in shrunken_groups([group(*pair) for pair in zip(inputs, errors, strict=True)])]
    if inputs[0] > 1:
        return back_to_averages(found)
    if " " not in published["expected"]:
        return [(found[0] - found[-1]) / (inputs[0] - inputs[-1])]
    return found


def pooled(published):
    rows = [numbers(row) for row in published["inputs"].split("/")]
    labels = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    found = list(group_means(np.concatenate(rows), groups=labels).values())
    return [*(g.estimate for g in found), found[0].std_error, found[0].conf_high - found[0].estimate]


def test_published(published, agrees):
    if published["function"] in ADJUSTED:
        found = ADJUSTED[published["function"]](numbers(published["inputs"]))
    elif published["function"] == "between_groups_variance":
        found = [between_groups_variance(numbers(published["inputs"]), numbers(published["variances"]))]
    else:
        found = {"shrunken_groups": shrunk, "group_means": pooled}[published["function"]](published)
    for value, text in zip(found, published["expected"].replace("/", "").split(), strict=True):
        agrees(group(float(value), 1.0), {"estimate": text})


def test_benjamini_hochberg_1995_rejects_four_and_holm_three():
    assert (benjamini_hochberg(BH_1995) <= 0.05).sum() == 4
    assert (holm(BH_1995) <= 0.05).sum() == 3


@either
def test_none_and_one(adjusted):
    assert adjusted([]).shape == (0,)
    assert adjusted([0.3]) == [0.3]


@either
def test_unknown_stays_unknown_and_does_not_count(adjusted):
    found = adjusted([nan, 0.02, 0.03])
    assert isnan(found[0])
    assert list(found[1:]) == list(adjusted([0.02, 0.03]))


@either
def test_ties_stay_ties(adjusted):
    assert len(set(adjusted([0.01, 0.01, 0.01]))) == 1


@either
@pytest.mark.parametrize("wrong", [[1.2], [-0.1], [[0.5]]])
def test_impossible_p_values_are_named(adjusted, wrong):
    with pytest.raises(ValueError, match="p_values must be a flat vector inside"):
        adjusted(wrong)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_between_raw_and_bonferroni(p):
    bonferroni = np.minimum(np.array(p) * len(p), 1)
    assert (p <= benjamini_hochberg(p)).all()
    assert (benjamini_hochberg(p) <= holm(p) + 1e-12).all()
    assert (holm(p) <= bonferroni).all()


def test_group_means_pool_one_variance():
    found = group_means([1, 2, 3, 10, 14], groups=["b", "b", "b", "a", "a"])
    pooled = (2 + 8) / 3
    assert list(found) == ["a", "b"]
    assert found["a"].std_error == pytest.approx(sqrt(pooled / 2), abs=1e-12)
    assert found["b"].std_error == pytest.approx(sqrt(pooled / 3), abs=1e-12)
    assert found["b"].conf_high == pytest.approx(2 + 3.18244630528371 * sqrt(pooled / 3), abs=1e-9)


@pytest.mark.parametrize("scores", [[1, 1, 1, 1], [0, 0, 1, 1], [0.1 + 0.2, 0.3, 0.5, 0.5]])
def test_groups_without_variance_have_no_error(scores):
    found = group_means(scores, groups=[0, 0, 1, 1])
    assert all(isnan(g.std_error) and "no variance within groups" in g.caveats[0] for g in found.values())


def test_one_case_a_group_has_no_error():
    assert all(isnan(g.conf_low) for g in group_means([1, 2], groups=["a", "b"]).values())


def test_no_groups():
    assert group_means([], groups=[]) == {} and shrunken_groups([]) == []


def test_eight_schools_still_keep_a_part_of_their_own():
    """With no visible spread Morris shrinks by (k - 3) / (k - 1), not completely: 5/7 of the way to 7.7."""
    effects, errors = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
    found = shrunken_groups([group(*pair) for pair in zip(effects, errors, strict=True)])
    assert found[0].estimate == pytest.approx(28 - 5 / 7 * (28 - 7.7), abs=0.02)
    assert found[0].method == "empirical Bayes, Morris"


def test_equal_groups_shrink_by_the_closed_form():
    y, v = np.array([0.0, 1.0, 2.0, 5.0, 7.0]), 1.5
    left = 1 - 2 * v / ((y - 3) ** 2).sum()
    found = shrunken_groups([group(x, sqrt(v)) for x in y])
    assert [g.estimate for g in found] == pytest.approx(list(3 + left * (y - 3)), abs=1e-9)


def test_few_groups_are_left_alone_aloud():
    groups = [group(0.1, 0.1), group(0.2, 0.1), group(0.9, 0.1)]
    found = shrunken_groups(groups)
    assert [g.estimate for g in found] == [0.1, 0.2, 0.9]
    assert found[0].caveats == ("not shrunk: 3 of the 4 groups needed",)


def test_a_group_without_error_is_left_alone_aloud():
    groups = [group(0.1 * i, 0.1) for i in range(5)] + [group(0.9, nan)]
    found = shrunken_groups(groups)
    assert found[5].estimate == 0.9 and found[5].caveats == ("one case", "not shrunk: no standard error")
    assert [g.estimate for g in found[:5]] == [g.estimate for g in shrunken_groups(groups[:5])]


def test_identical_groups_stay_where_they_are():
    found = shrunken_groups([group(0.5, 0.1)] * 6)
    assert all(g.estimate == 0.5 and 0 < g.std_error < 0.1 for g in found)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="scores must be finite"):
        group_means([1, nan], groups=[0, 0])


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_shrunken_intervals_cover_over_groups(level):
    """Twelve groups whose true means spread like their errors: the nominal level, less error than raw."""
    rng, reps, k = np.random.default_rng(5), 400, 12
    truth = rng.normal(0, 0.1, (reps, k))
    errors = np.tile(np.linspace(0.08, 0.16, k), (reps, 1))
    seen = truth + errors * rng.standard_normal((reps, k))
    covered, gain = [], []
    for t, y, e in zip(truth, seen, errors, strict=True):
        found = shrunken_groups([group(*pair, level=level) for pair in zip(y, e, strict=True)])
        covered.append(np.mean([g.conf_low <= x <= g.conf_high for g, x in zip(found, t, strict=True)]))
        gain.append(
            ((y - t) ** 2).mean() - np.mean([(g.estimate - x) ** 2 for g, x in zip(found, t, strict=True)])
        )
    assert abs(np.mean(covered) - level) < 3 * np.std(covered) / sqrt(reps)
    assert np.mean(gain) > 3 * np.std(gain) / sqrt(reps)


def test_calibration_holm_keeps_the_family():
    """Twelve true nulls, correlated: any flag at 5% in no more than 5% of families."""
    rng, reps = np.random.default_rng(6), 400
    z = rng.standard_normal((reps, 12)) * 0.8 + rng.standard_normal((reps, 1)) * 0.6
    flagged = np.mean([(holm(2 * ndtr(-abs(row))) <= 0.05).any() for row in z])
    assert flagged < 0.05 + 3 * sqrt(0.05 * 0.95 / reps)


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_group_means_cover(level):
    """Six groups of 3 to 6 normal cases of one variance, all intervals counted."""
    rng, reps = np.random.default_rng(7), 400
    labels = np.repeat(range(6), [3, 4, 5, 6, 3, 4])
    truth = np.linspace(0.2, 0.7, 6)
    covered = []
    for _ in range(reps):
        found = group_means(truth[labels] + rng.normal(0, 0.2, labels.size), groups=labels, level=level)
        pairs = zip(found.values(), truth, strict=True)
        covered.append(np.mean([g.conf_low <= t <= g.conf_high for g, t in pairs]))
    assert abs(np.mean(covered) - level) < 3 * np.std(covered) / sqrt(reps)


def test_calibration_benjamini_hochberg_keeps_the_share():
    """Twelve hypotheses, four of them false: of the flags at 5% no more than 5% x 8/12 are wrong on average."""
    rng, reps = np.random.default_rng(8), 400
    z = rng.standard_normal((reps, 12)) + np.repeat([3.0, 0.0], [4, 8])
    flags = np.array([benjamini_hochberg(2 * ndtr(-abs(row))) <= 0.05 for row in z])
    wrong = flags[:, 4:].sum(axis=1) / np.maximum(flags.sum(axis=1), 1)
    assert abs(wrong.mean() - 0.05 * 8 / 12) < 3 * wrong.std() / sqrt(reps)
