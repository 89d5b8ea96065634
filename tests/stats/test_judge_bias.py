"""Does the judge favour anyone: published paired differences, null results that say what they saw, edges."""

from math import isnan, nan, sqrt

import numpy as np
import pytest

from evalstats.stats.judge_bias import bias_by_arm, self_preference

DRAWS = 400
DATA = {
    "sleep": (
        [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
        [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    ),
    "shoes": (
        [13.2, 8.2, 10.9, 14.3, 10.7, 6.6, 9.5, 10.8, 8.8, 13.3],
        [14.0, 8.8, 11.2, 14.2, 11.8, 6.4, 9.8, 11.3, 9.3, 13.6],
    ),
    "darwin": ([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48], [0] * 15),
}


def preference(verdicts, labels, side, cases, **settings):
    return self_preference(verdicts, labels, own=side, cases=cases, **settings)


def bias(verdicts, labels, side, cases, **settings):
    return bias_by_arm(verdicts, labels, candidate=side, cases=cases, **settings)


BY_NAME = {"self_preference": preference, "bias_by_arm": bias}
both = pytest.mark.parametrize("contrast", [preference, bias])


def test_published(published, agrees):
    here, there = DATA[published["data"]]
    n = len(here)
    verdicts = np.r_[here, there] + 5.0  # labels of 5 everywhere: the margin is the published number
    agrees(
        BY_NAME[published["function"]](
            verdicts, [5.0] * (2 * n), [True] * n + [False] * n, np.tile(range(n), 2)
        ),
        published,
    )


@both
def test_better_answers_are_no_preference(contrast):
    # own answers are better by a label, and the judge says just that
    labels = [1, 0, 1, 1, 1, 0, 0, 0]
    record = contrast(labels, labels, [True, False] * 4, list("aabbccdd"))
    assert record.estimate == 0.0
    assert isnan(record.std_error) and "all cases agree" in record.caveats[0]


@both
def test_only_cases_with_labels_on_both_sides_count(contrast):
    verdicts = [1, 1, 1, 0, 0, 0, 1, 1, 1, 1]
    labels = [0, 1, 1, 0, 0, 1, 0, 1, 0, nan]
    record = contrast(verdicts, labels, [True, False] * 5, list("aabbccddee"))
    assert (record.n_cases, record.n_trials) == (4, 8)
    assert record.estimate == pytest.approx((1 + 0 + 1 + 1) / 4, abs=1e-12)


@both
def test_a_null_result_says_what_it_would_have_seen(contrast):
    record = contrast([1, 0, 0, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0], [True, False] * 4, list("aabbccdd"))
    assert record.conf_low <= 0 <= record.conf_high
    seen = (1.959964 + 0.841621) * record.std_error
    assert record.caveats == (
        f"0 is inside the interval: {seen:.2g} or more would have been seen with power 0.8",
    )


@both
@pytest.mark.parametrize(
    ("verdicts", "labels", "side", "cases", "reason"),
    [
        ([], [], [], [], "no labels"),
        ([1, 1], [nan, nan], [True, False], ["a", "a"], "no labels"),
        ([1, 1], [1, nan], [True, False], ["a", "a"], "no case has labels on both sides"),
        ([1, 1, 0], [1, 0, 0], [True] * 3, list("abc"), "no case has labels on both sides"),
        ([1, 0], [1, 1], [True, False], ["a", "a"], "1 of the 3 cases"),
    ],
)
def test_undefined_contrast_says_why(contrast, verdicts, labels, side, cases, reason):
    record = contrast(verdicts, labels, side, cases)
    assert isnan(record.std_error) and isnan(record.conf_low)
    assert reason in record.caveats[0]


@both
def test_bad_input_is_named(contrast):
    with pytest.raises(ValueError, match="must match, got 2, 1 and 2"):
        contrast([1, 0], [1], [True, False], ["a", "a"])
    with pytest.raises(ValueError, match="scores must be finite"):
        contrast([1, nan], [1, 0], [True, False], ["a", "a"])
    with pytest.raises(ValueError, match="level must be inside"):
        contrast([1, 0], [1, 0], [True, False], ["a", "a"], level=95)


@pytest.mark.parametrize("level", [0.80, 0.95])
@both
def test_calibration_of_contrast(contrast, level):
    rng = np.random.default_rng(20260318)
    cases, side = np.repeat(range(50), 4), np.tile([True, True, False, False], 50)
    covered = 0
    for _ in range(DRAWS):
        labels = (rng.random(200) < rng.random(50)[cases]).astype(float)
        generous = side & (rng.random(200) < 0.2)  # a fifth of own failures is passed
        verdicts = np.where(generous, 1.0, labels)
        record = contrast(verdicts, labels, side, cases, level=level)
        covered += record.conf_low <= 0.1 <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)
