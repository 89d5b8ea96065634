"""Agreement of two raters: published kappas and their paradox, edges, coverage."""

import tracemalloc
from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.proportions import wilson
from evalstats.stats.two_raters import cohen_kappa, kappa_paradox

DRAWS = 400
TABLES = {  # rows: first rater, columns: second
    "sas": [[0, 4, 1], [0, 8, 0], [0, 1, 5]],
    "paradox_even": [[45, 6], [9, 40]],
    "paradox_rare": [[5, 5], [10, 80]],
    "paradox_bias": [[35, 5], [35, 25]],
    "paradox_no_bias": [[15, 25], [15, 45]],
}
ANXIETY = (
    [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
    [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2],
)


def raters(name):
    """Return the two raters' categories, one element per unit."""
    if name == "anxiety":
        return ANXIETY
    pairs = [
        (i, j) for i, row in enumerate(TABLES[name]) for j, count in enumerate(row) for _ in range(count)
    ]
    return [first for first, _ in pairs], [second for _, second in pairs]


def test_published(published, agrees):
    first, second = raters(published["data"])
    if published["function"] == "cohen_kappa":
        agrees(cohen_kappa(first, second), published)
    else:
        found = kappa_paradox(first, second)
        agrees(found.pabak, published)
        assert round(found.kappa.estimate, 2) == float(published["kappa"])
        assert found.prevalence_index == pytest.approx(float(published["prevalence_index"]), abs=1e-12)
        assert found.bias_index == pytest.approx(float(published["bias_index"]), abs=1e-12)


def test_pabak_carries_the_interval_of_agreement():
    found, agreed = kappa_paradox(*raters("paradox_rare")).pabak, wilson(85, 100)
    assert (found.conf_low, found.conf_high) == (2 * agreed.conf_low - 1, 2 * agreed.conf_high - 1)
    assert (found.n_cases, found.n_trials) == (100, 200)


def test_kappa_does_not_care_who_is_first_nor_for_the_codes():
    first, second = raters("sas")
    here = cohen_kappa(first, second)
    there = cohen_kappa(10 - np.array(second), 10 - np.array(first))
    assert here.estimate == pytest.approx(there.estimate, abs=1e-12)
    assert here.std_error == pytest.approx(there.std_error, abs=1e-12)


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [([], "no units"), ([1], "no variation"), ([1, 1, 1], "no variation"), ([0, 0, 0], "no variation")],
)
def test_undefined_kappa_says_why(verdicts, reason):
    record = cohen_kappa(verdicts, verdicts)
    assert isnan(record.estimate) and reason in record.caveats[0]
    assert isnan(kappa_paradox(verdicts, verdicts).kappa.estimate)


def test_no_units_have_no_index():
    found = kappa_paradox([], [])
    assert isnan(found.prevalence_index) and isnan(found.bias_index) and isnan(found.pabak.estimate)


@pytest.mark.parametrize(("second", "kappa"), [([0, 1, 0, 1], 1.0), ([1, 0, 1, 0], -1.0)])
def test_full_agreement_or_none_has_no_false_certainty(second, kappa):
    record = cohen_kappa([0, 1, 0, 1], second)
    assert record.estimate == kappa
    assert isnan(record.std_error) and "not estimable" in record.caveats[0]


def test_as_many_categories_as_units_cost_no_memory():
    first = np.arange(200_000.0)
    tracemalloc.start()
    record = cohen_kappa(first, np.r_[first[:100_000], -first[100_000:]])
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert peak < 200  # a table of all categories would take 320 GB
    assert record.estimate == pytest.approx(0.5, abs=1e-5)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="must rate the same units, got 2 and 1"):
        cohen_kappa([1, 0], [1])
    with pytest.raises(ValueError, match="scores must be finite"):
        cohen_kappa([1, float("nan")], [1, 0])
    with pytest.raises(ValueError, match=r"verdicts must be 0 or 1, got .*0\.5"):
        kappa_paradox([1, 0.5], [1, 0])


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_of_kappa(level):
    rng = np.random.default_rng(20260310)
    covered = 0
    for _ in range(DRAWS):
        truth = rng.random(100) < 0.5
        first, second = (truth ^ (rng.random(100) < 0.15) for _ in range(2))
        record = cohen_kappa(first, second, level=level)
        covered += record.conf_low <= (1 - 2 * 0.15) ** 2 <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)
