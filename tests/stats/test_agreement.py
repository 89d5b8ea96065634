"""Agreement of many raters: published coefficients, leave-one-out by brute force, edges, coverage."""

import tracemalloc
from math import isnan, nan, sqrt

import numpy as np
import pytest

from evalstats.stats.agreement import fleiss_kappa, flip_rate, krippendorff_alpha

DRAWS = 400
EXAMPLE_C = [  # observers A to D, 12 units
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]
README = [
    [nan] * 5 + [3, 4, 1, 2, 1, 1, 3, 3, nan, 3],
    [1, nan, 2, 1, 3, 3, 4, 3] + [nan] * 7,
    [nan, nan, 2, 1, 3, 4, 4, nan, 2, 1, 1, 3, 3, nan, 4],
]
DIAGNOSES = """444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 144444
224445 333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 111155 224444 133333
555555"""
FOURTEEN = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def from_counts(table):
    """Return ratings, one row per unit, from how often each category was given."""
    return [np.repeat(range(len(row)), row) for row in table]


def flips(k, n):
    """Return n pairs of verdicts, k of which differ."""
    return [[0, 1]] * k + [[1, 1]] * (n - k)


DATA = {
    "krippendorff_c": np.transpose(EXAMPLE_C),
    "readme": np.transpose(README),
    "four_units": [[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 1]],
    "diagnoses": [[int(x) for x in patient] for patient in DIAGNOSES.split()],
    "fourteen_raters": from_counts(FOURTEEN),
    "two_of_seven_one": from_counts([[7, 1], [3, 5]]),
    "three_categories": from_counts([[6, 1, 0], [0, 7, 0]]),
    "1 of 29": flips(1, 29),
    "15 of 148": flips(15, 148),
    "0 of 20": flips(0, 20),
}
every_coefficient = pytest.mark.parametrize("coefficient", [krippendorff_alpha, fleiss_kappa])


def test_published(published, agrees):
    ratings = DATA[published["data"]]
    if published["function"] == "krippendorff_alpha":
        agrees(krippendorff_alpha(ratings, metric=published["metric"]), published)
    else:
        agrees(
            {"fleiss_kappa": fleiss_kappa, "flip_rate": flip_rate}[published["function"]](ratings), published
        )


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_standard_error_is_that_of_leaving_each_unit_out(metric):
    ratings = DATA["krippendorff_c"]
    pairable = np.delete(ratings, 11, 0)  # the twelfth unit has one value
    left_out = np.array(
        [krippendorff_alpha(np.delete(pairable, i, 0), metric=metric).estimate for i in range(11)]
    )
    by_hand = sqrt(10 / 11 * ((left_out - left_out.mean()) ** 2).sum())
    record = krippendorff_alpha(ratings, metric=metric)
    assert record.std_error == pytest.approx(by_hand, abs=1e-12)
    assert (record.n_cases, record.n_trials) == (11, 40)


def test_fleiss_standard_error_is_that_of_leaving_each_unit_out():
    ratings = DATA["fourteen_raters"]
    left_out = np.array([fleiss_kappa(np.delete(ratings, i, 0)).estimate for i in range(10)])
    by_hand = sqrt(9 / 10 * ((left_out - left_out.mean()) ** 2).sum())
    assert fleiss_kappa(ratings).std_error == pytest.approx(by_hand, abs=1e-12)


def test_two_categories_have_one_alpha():
    ratings = [[1, 1, nan], [0, 1, 1], [0, 0, 0], [1, 0, nan], [1, 1, 1]]
    nominal = krippendorff_alpha(ratings)
    for metric in ("ordinal", "interval"):
        assert krippendorff_alpha(ratings, metric=metric).estimate == pytest.approx(
            nominal.estimate, abs=1e-12
        )


def test_interval_alpha_does_not_care_for_the_origin():
    ratings = np.array(DATA["krippendorff_c"])
    here, there = (krippendorff_alpha(x, metric="interval").estimate for x in (ratings, ratings * 3 + 1e6))
    assert here == pytest.approx(there, abs=1e-9)


@every_coefficient
@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        (np.zeros((0, 3)), "no unit was judged twice"),
        ([[1.0]], "no unit was judged twice"),
        ([[1], [0], [1]], "no unit was judged twice"),
        ([[nan, nan], [nan, nan]], "no unit was judged twice"),
        ([[1, 1], [1, 1], [1, 1]], "no variation"),
        ([[0, 0], [0, 0], [0, 0]], "no variation"),
    ],
)
def test_undefined_agreement_says_why(coefficient, ratings, reason):
    record = coefficient(ratings)
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert reason in record.caveats[0]


@every_coefficient
def test_full_agreement_has_no_false_certainty(coefficient):
    record = coefficient([[1, 1], [0, 0], [1, 1], [0, 0]])
    assert record.estimate == 1.0
    assert isnan(record.std_error) and "no unit moves it" in record.caveats[0]


@every_coefficient
def test_one_unit_apart_has_no_interval(coefficient):
    record = coefficient([[1, 1], [1, 1], [1, 1], [0, 0]])
    assert record.estimate == 1.0 and isnan(record.conf_high)
    assert "undefined once some unit is left out" in record.caveats[0]


def test_fleiss_refuses_gaps():
    record = fleiss_kappa([[1, 1, nan], [0, 1, 1], [0, 0, 0]])
    assert isnan(record.estimate) and "use Krippendorff's alpha" in record.caveats[0]


@pytest.mark.parametrize("coefficient", [krippendorff_alpha, fleiss_kappa, flip_rate])
def test_what_is_no_table_is_named(coefficient):
    with pytest.raises(ValueError, match=r"shape \(units, raters\), got \(3,\)"):
        coefficient([1, 2, 3])
    with pytest.raises(ValueError, match="ratings must be finite"):
        coefficient([[1, np.inf], [0, 1]])
    with pytest.raises(ValueError, match="level must be inside"):
        coefficient([[1, 1], [0, 1]], level=95)


def test_an_unknown_metric_is_named():
    with pytest.raises(ValueError, match="metric must be one of"):
        krippendorff_alpha([[1, 1], [0, 1]], metric="ratio")


def test_flip_rate_weighs_units_alike():
    record = flip_rate([[1, 1, 1, 0], [1, 0, nan, nan], [0, 0, 0, nan], [1, nan, nan, nan]])
    assert record.estimate == pytest.approx((3 / 6 + 1 + 0) / 3, abs=1e-12)
    assert (record.n_cases, record.n_trials, record.method) == (3, 9, "t on units")
    assert record.conf_low == 0.0 and record.conf_high <= 1


def test_no_flip_seen_is_not_no_flip():
    record = flip_rate([[1, 1, 1]] * 30)
    assert record.estimate == 0.0 and record.conf_high > 0.1
    assert isnan(record.std_error)


def peak_megabytes(function, *arguments, **options):
    """Return the result and the memory that NumPy took for it."""
    tracemalloc.start()
    try:
        return function(*arguments, **options), tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("coefficient", [krippendorff_alpha, fleiss_kappa, flip_rate])
def test_a_million_distinct_values_cost_no_memory(coefficient):
    """A table of units x values would take 2 TB: what does not occur is not counted."""
    ratings = np.arange(1_000_000.0).reshape(500_000, 2)
    record, peak = peak_megabytes(coefficient, ratings)
    assert peak < 500
    assert record.estimate == pytest.approx(1.0 if coefficient is flip_rate else 0.0, abs=1e-5)


def test_too_many_ranks_are_refused():
    record, peak = peak_megabytes(krippendorff_alpha, np.arange(20_000.0).reshape(-1, 2), metric="ordinal")
    assert peak < 50 and isnan(record.estimate)
    assert record.caveats == ("20000 distinct values: too fine for ranks, use the interval metric",)


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_alpha_is_its_definition_with_gaps(metric):
    """Krippendorff (2011), section 3: one less observed over expected disagreement, by every pair of values."""
    ratings = np.array(DATA["krippendorff_c"])
    units = [row[~np.isnan(row)] for row in ratings]
    units = [unit for unit in units if unit.size > 1]
    values = np.concatenate(units)
    n = values.size

    def apart(a, b):
        if metric == "nominal":
            return float(a != b)
        if metric == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(low <= v <= high for v in values) - (sum(values == a) + sum(values == b)) / 2
        return float(between) ** 2 if a != b else 0.0

    observed = sum(apart(a, b) / (unit.size - 1) for unit in units for a in unit for b in unit) / n
    expected = sum(apart(a, b) for a in values for b in values) / (n * (n - 1))
    assert krippendorff_alpha(ratings, metric=metric).estimate == pytest.approx(
        1 - observed / expected, abs=1e-12
    )


def test_flips_not_measured():
    record = flip_rate([[1], [0], [1]])
    assert isnan(record.estimate) and "not measured" in record.caveats[0]


def noisy(rng, units, raters, error):
    """Return verdicts on coin-flip truths, each wrong with probability `error`."""
    truth = rng.random((units, 1)) < 0.5
    return (truth ^ (rng.random((units, raters)) < error)).astype(float)


@pytest.mark.parametrize("level", [0.80, 0.95])
@every_coefficient
def test_calibration_of_agreement(coefficient, level):
    rng = np.random.default_rng(20260308)
    covered = 0
    for _ in range(DRAWS):
        record = coefficient(noisy(rng, 60, 3, 0.15), level=level)
        covered += record.conf_low <= (1 - 2 * 0.15) ** 2 <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_of_flip_rate(level):
    rng = np.random.default_rng(20260309)
    covered = 0
    for _ in range(DRAWS):
        record = flip_rate(noisy(rng, 80, 3, 0.15), level=level)
        covered += record.conf_low <= 2 * 0.15 * 0.85 <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)
