"""The two records: what they refuse, what they keep, and the checks beside them."""

import json
from dataclasses import FrozenInstanceError, fields, replace
from math import inf, isnan, nan

import numpy as np
import pytest

from evalstats.stats.results import (
    Estimate,
    Test,
    agree,
    around,
    bounded,
    check_choice,
    check_clusters,
    check_count,
    check_counts,
    check_level,
    check_pairs,
    check_positive,
    check_scores,
    check_yes_no,
    rescaled,
    undefined,
)

KNOWN = Estimate(
    estimand="pass rate",
    population="SUPER",
    estimate=0.5,
    std_error=0.25,
    conf_low=0.15,
    conf_high=0.85,
    level=0.95,
    n_cases=4,
    n_trials=4,
    method="Wilson",
)
SURE = Test(null="alike", alternative="two-sided", statistic=1, p_value=0.25, method="exact McNemar")


@pytest.mark.parametrize("record", [KNOWN, SURE])
def test_row_holds_the_fields_in_order(record):
    assert list(record.as_row()) == [field.name for field in fields(record)]
    json.dumps(record.as_row(), allow_nan=False)


@pytest.mark.parametrize("record", [KNOWN, SURE])
def test_records_are_closed(record):
    with pytest.raises(FrozenInstanceError):
        record.method = "other"
    assert not hasattr(record, "__dict__")


@pytest.mark.parametrize("name", ["estimate", "std_error", "conf_low", "conf_high"])
def test_nan_needs_a_caveat(name):
    with pytest.raises(ValueError, match=f"{name} is NaN without a caveat"):
        replace(KNOWN, **{name: nan})
    assert np.isnan(getattr(replace(KNOWN, **{name: nan}, caveats=("one case",)), name))


@pytest.mark.parametrize("name", ["statistic", "p_value"])
def test_nan_in_a_test_needs_a_caveat(name):
    with pytest.raises(ValueError, match=f"{name} is NaN without a caveat"):
        replace(SURE, **{name: nan})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"conf_low": 0.9}, "conf_low 0.9 is above conf_high 0.85"),
        ({"level": 1.0}, "level must be inside"),
        ({"level": 0.0}, "level must be inside"),
        ({"level": nan}, "level must be inside"),
        ({"level": 95}, "level must be inside .* got 95"),
        ({"population": "super"}, "population must be one of SUPER, FIXED, got 'super'"),
        ({"std_error": -0.1}, "std_error must not be negative, got -0.1"),
    ],
)
def test_estimate_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        replace(KNOWN, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_value": 1.1}, "p_value must be inside"),
        ({"p_value": -0.1}, "p_value must be inside"),
        ({"alternative": "larger"}, "alternative must be one of two-sided, greater, less, got 'larger'"),
    ],
)
def test_test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        replace(SURE, **change)


def test_numpy_numbers_become_plain_ones():
    record = replace(KNOWN, estimate=np.float64(0.5), n_cases=np.int64(4), n_clusters=np.int64(2))
    assert [type(record.as_row()[name]) for name in ("estimate", "n_cases", "n_clusters")] == [
        float,
        int,
        int,
    ]


def test_an_unbounded_side_is_not_unknown():
    assert replace(KNOWN, conf_high=inf).conf_high == inf


@pytest.mark.parametrize("record", [KNOWN, SURE, replace(KNOWN, n_clusters=2, caveats=("a", "b"))])
def test_line_is_one_line_without_a_verdict(record):
    line = str(record).lower()
    assert "\n" not in line
    assert not any(word in line for word in ("significant", "reject", "regress", "improve", "better"))


def test_undefined_keeps_what_is_known():
    record = undefined("2 cases", estimate=0.5, **{name: getattr(KNOWN, name) for name in KEPT})
    assert record.estimate == 0.5
    assert np.isnan([record.std_error, record.conf_low, record.conf_high]).all()
    assert record.caveats == ("2 cases",)


KEPT = ("estimand", "population", "level", "n_cases", "n_trials", "method")


def test_checks_pass_what_is_right():
    assert check_level(0.8) == 0.8
    assert check_choice("side", "lower", ("lower", "upper")) == "lower"
    assert check_scores([]).shape == (0,)
    assert check_scores([0, 1]).dtype == np.float64
    assert check_count(3, 4) == (3, 4)
    assert check_counts([1, 2], [4, 4])[0].tolist() == [1, 2]
    assert check_clusters(None, 3).tolist() == [0, 1, 2]
    assert check_clusters(["b", "a", "b"], 3).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_scores([[1.0]]), r"flat vector, got shape \(1, 1\)"),
        (lambda: check_scores([1.0, nan]), "finite, got .*nan"),
        (lambda: check_scores([inf]), "finite, got .*inf"),
        (lambda: check_pairs([1.0], [1.0, 0.0]), "same cases, got 1 and 2"),
        (lambda: check_counts(5, 4), "got 5.0 of 4.0"),
        (lambda: check_counts(-1, 4), "got -1.0 of 4.0"),
        (lambda: check_counts([1, 2.5], [4, 4]), "got 2.5 of 4.0"),
        (lambda: check_counts(nan, 4), "got nan of 4.0"),
        (lambda: check_counts([1], [1, 2]), "one shape"),
        (lambda: check_clusters(["a"], 2), r"shape \(2,\), one label per element, got \(1,\)"),
        (lambda: check_pairs([1.0], [], must="raters must match"), "raters must match, got 1 and 0"),
        (lambda: check_level(1.0, "alpha"), r"alpha must be inside \(0, 1\), got 1.0"),
        (lambda: check_positive("margin", 0), "margin must be above 0, got 0"),
        (lambda: check_positive("margin", inf), "margin must be above 0, got inf"),
        (lambda: check_yes_no("verdicts", np.array([0.0, 0.5])), "verdicts must be 0 or 1, got .*0.5"),
        (lambda: check_choice("side", "left", ("lower", "upper")), "lower, upper, got 'left'"),
    ],
)
def test_checks_name_the_offending_value(check, message):
    with pytest.raises(ValueError, match=message):
        check()


def test_bounded_keeps_nan_and_open_ends():
    record = replace(KNOWN, estimate=0.9, conf_low=-0.2, conf_high=1.3)
    kept = bounded(record, low=0, high=1)
    assert (kept.estimate, kept.conf_low, kept.conf_high) == (0.9, 0, 1)
    assert bounded(record) == record
    unknown = undefined("2 cases", **{name: getattr(KNOWN, name) for name in KEPT})
    assert isnan(bounded(unknown, low=0).conf_low)


def test_rescaled_moves_all_but_only_stretches_the_error():
    record = rescaled(replace(KNOWN, estimate=0.5, std_error=0.1, conf_low=0.3, conf_high=0.7), 2, shift=-1)
    assert (record.estimate, record.std_error) == (0, 0.2)
    assert (record.conf_low, record.conf_high) == (-0.4, 0.3999999999999999)


def test_around_is_symmetric():
    record = around(0.5, 0.1, 2.0, **{name: getattr(KNOWN, name) for name in KEPT})
    assert (record.conf_low, record.conf_high, record.std_error) == (0.3, 0.7, 0.1)


@pytest.mark.parametrize("same", [[], [3.0], [0.1 + 0.2, 0.3], [0.1 + 0.2 - 0.3, 0.0], [1e9, 1e9 + 1e-4]])
def test_values_that_agree_but_for_rounding(same):
    assert agree(same)


@pytest.mark.parametrize("different", [[0.0, 1e-9], [1e9, 1e9 + 1], [-1.0, 1.0]])
def test_values_that_differ(different):
    assert not agree(different)
