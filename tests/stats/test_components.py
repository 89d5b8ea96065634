"""Where the variance comes from: published variances, confounding, refusals, speed of thought, coverage."""

import csv
from math import isnan, nan, sqrt
from pathlib import Path

import numpy as np
import pytest

from evalstats.stats.components import case_correlation, variance_components
from evalstats.stats.means import icc

DRAWS = 400
SHARED = Path(__file__).parents[3] / "shared" / "data" / "terminal-bench"
DYESTUFF = """1545 1440 1440 1520 1580 1540 1555 1490 1560 1495 1595 1550 1605 1510 1560
1445 1440 1595 1465 1545 1595 1630 1515 1635 1625 1520 1455 1450 1480 1445"""
PASTES = """62.8 62.6 60.1 62.3 62.7 63.1 60.0 61.4 57.5 56.9 61.1 58.9 58.7 57.5 63.9 63.1 65.4 63.7 57.1 56.4
56.9 58.6 64.7 64.5 55.1 55.1 54.7 54.2 58.8 57.5 63.4 64.9 59.3 58.1 60.5 60.0 62.5 62.6 61.0 58.7 56.9 57.7
59.2 59.4 65.2 66.0 64.8 64.1 54.8 54.8 64.0 64.0 57.7 56.8 58.3 59.3 59.2 59.2 58.9 56.6"""
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
RESOLVED = {  # of 80 tasks, how many were resolved in 0, 1 .. 5 of 5 runs
    "openhands": ("20250711_openhands_claude-4-sonnet", [37, 7, 4, 3, 4, 25]),
    "mini_swe": ("20250825_swe-agent-mini_claude-4-sonnet", [62, 3, 4, 5, 5, 1]),
    "droid_gpt5": ("20250924_droid_gpt-5", [27, 5, 3, 7, 12, 26]),
}
PASSED = {  # of 4 epochs
    "inspect_a": [3, 4, 2, 2, 4, 3, 3, 1, 2, 1, 4, 0, 4, 4, 4, 4, 1, 3, 2, 1],
    "inspect_b": [2, 4, 2, 3, 4, 3, 3, 0, 2, 0, 4, 0, 4, 4, 2, 4, 3, 3, 1, 0],
} | {name: list(np.repeat(range(6), counts)) for name, (_, counts) in RESOLVED.items()}


def trials_of(name):
    """Return passed and all trials of each case."""
    return PASSED[name], [4 if name.startswith("inspect") else 5] * len(PASSED[name])


def rows_of(passed, trials):
    """Return the yes/no scores and their cases."""
    scores = [x for c, n in zip(passed, trials, strict=True) for x in [1.0] * c + [0.0] * (n - c)]
    return scores, np.repeat(range(len(trials)), trials)


def components_of(name):
    if name == "dyestuff":
        return variance_components([float(x) for x in DYESTUFF.split()], cases=np.repeat(range(6), 5))
    if name == "pastes":
        scores = [float(x) for x in PASTES.split()]
        return variance_components(scores, cases=np.repeat(range(10), 6), trials=np.repeat(range(30), 2))
    if name == "shrout_fleiss":
        cases, days = np.repeat(range(6), 4), np.tile(range(4), 6)
        return variance_components(np.ravel(SHROUT_FLEISS), cases=cases, days=days)
    scores, cases = rows_of(*trials_of(name))
    return variance_components(scores, cases=cases)


def simulated(rng, *, cases=50, days=8, trials=3, judgements=2, arms=1, kept=1.0, day_sd=0.3):
    """Return scores and labels of a world with variances 4, day_sd**2, 0.25, 1 and 0.25."""
    a, c, d, t, _ = np.indices((arms, cases, days, trials, judgements)).reshape(5, -1)
    scores = 3.0 * a + rng.normal(0, 2, cases)[c] + rng.normal(0, day_sd, days)[d]
    scores += rng.normal(0, 0.5, (arms, cases, days))[a, c, d]
    scores += rng.normal(0, 1, (arms, cases, days, trials))[a, c, d, t] + rng.normal(0, 0.5, c.size)
    keep = rng.random(c.size) < kept
    labels = {"arms": a[keep], "cases": c[keep], "days": d[keep], "trials": t[keep]}
    return scores[keep], labels


NARROW = "fewer than 40 cases: a nominal 95% interval covers about .90"
TRUTH = {"case": 4.0, "day": 0.09, "case_day": 0.25, "trial": 1.0, "judge": 0.25}


def test_published(published, agrees):
    if published["function"] == "case_correlation":
        agrees(case_correlation(*trials_of(published["data"])), published)
    else:
        agrees(getattr(components_of(published["data"]), published["level_name"]), published)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the public outcome table is not here")
@pytest.mark.parametrize("name", RESOLVED)
def test_counts_are_those_of_the_public_table(name):
    submission, counts = RESOLVED[name]
    resolved: dict[str, int] = {}
    (table,) = SHARED.glob("*.csv")
    with open(table, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["submission"] == submission:
                task = row["task_id"]
                resolved[task] = resolved.get(task, 0) + (row["is_resolved"] == "1")
    assert np.bincount(list(resolved.values()), minlength=6).tolist() == counts


def test_balanced_moments_are_the_analysis_of_variance():
    scores, labels = simulated(np.random.default_rng(1), cases=6, days=5, trials=2, judgements=1)
    y = np.array(scores).reshape(6, 5, 2)
    cell, by_case, by_day, grand = y.mean(2), y.mean((1, 2)), y.mean((0, 2)), y.mean()
    within = ((y - cell[..., None]) ** 2).sum() / (6 * 5)
    both = 2 * ((cell - by_case[:, None] - by_day + grand) ** 2).sum() / (5 * 4)
    found = variance_components(scores, cases=labels["cases"], days=labels["days"])
    assert found.trial.estimate == pytest.approx(within, abs=1e-12)
    assert found.case_day.estimate == pytest.approx((both - within) / 2, abs=1e-12)
    assert found.case.estimate == pytest.approx((10 * by_case.var(ddof=1) - both) / 10, abs=1e-12)
    assert found.day.estimate == pytest.approx((12 * by_day.var(ddof=1) - both) / 12, abs=1e-12)


def test_unbiased_in_unbalanced_data_of_two_arms():
    rng = np.random.default_rng(20260304)
    found = []
    for _ in range(200):
        scores, labels = simulated(rng, cases=20, days=6, arms=2, kept=0.7)
        found.append([record.estimate for record in variance_components(scores, **labels)])
    errors = np.std(found, axis=0, ddof=1) / sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - list(TRUTH.values())) < 3 * errors).all()


def test_an_arm_is_a_fixed_shift():
    scores, labels = simulated(np.random.default_rng(2), cases=8, days=5, arms=2)
    shifted = variance_components(scores + 100.0 * labels["arms"], **labels)
    for there, here in zip(variance_components(scores, **labels), shifted, strict=True):
        assert there.estimate == pytest.approx(here.estimate, abs=1e-9)


def test_labels_may_be_words_sparse_numbers_or_unordered():
    rng = np.random.default_rng(3)
    scores, labels = simulated(rng, cases=6, days=5)
    order = rng.permutation(scores.size)
    words = {name: np.array([f"{name}-{x}" for x in codes])[order] for name, codes in labels.items()}
    sparse = {name: 10**9 * codes[order] - 7 for name, codes in labels.items()}
    for found in (variance_components(scores[order], **words), variance_components(scores[order], **sparse)):
        for there, here in zip(variance_components(scores, **labels), found, strict=True):
            assert there.estimate == pytest.approx(here.estimate, abs=1e-9)
            assert there.std_error == pytest.approx(here.std_error, abs=1e-9)


def test_levels_without_replication_are_named():
    scores, labels = simulated(np.random.default_rng(4), cases=6, days=5, trials=1, judgements=1)
    found = variance_components(scores, cases=labels["cases"], days=labels["days"])
    assert isnan(found.trial.estimate) and isnan(found.judge.estimate)
    assert found.trial.caveats == ("confounded with case x day: no replication",)
    assert found.judge.caveats == ("confounded with case x day: no replication",)
    assert found.case_day.caveats == ("includes trial and judge", NARROW)
    assert found.truncated()["trial"] != found.truncated()["trial"]  # NaN, not 0


def test_judgements_of_one_trial_a_case():
    found = variance_components([1, 0, 1, 1, 0, 0], cases=list("aabbcc"), trials=list("112233"))
    assert found.trial.caveats == ("confounded with case: no replication",)
    assert found.case.caveats[0] == "includes trial"
    assert found.judge.estimate == pytest.approx(1 / 6, abs=1e-12)


def test_fewer_than_five_days_give_no_day():
    scores, labels = simulated(np.random.default_rng(5), cases=6, days=4)
    found = variance_components(scores, **labels)
    assert isnan(found.day.estimate)
    assert found.day.caveats == ("4 of the 5 days needed for a variance between days",)
    assert not isnan(found.case_day.estimate)


def test_one_day_is_no_day():
    scores, labels = simulated(np.random.default_rng(6), cases=6, days=1)
    found = variance_components(scores, **labels)
    assert found.day.caveats == found.case_day.caveats == ("one day in each arm: confounded with the mean",)
    assert found.case.caveats == ("includes case x day", NARROW)


def test_days_not_given_are_said_to_be_so():
    assert components_of("dyestuff").day.caveats == ("no days given",)
    assert components_of("dyestuff").trial.caveats == ("includes judge", NARROW)


@pytest.mark.parametrize(("cases", "level", "told"), [(39, 0.95, True), (39, 0.80, False), (40, 0.95, False)])
def test_an_interval_that_is_too_narrow_says_so(cases, level, told):
    scores, labels = simulated(np.random.default_rng(7), cases=cases, days=1)
    found = variance_components(scores, level=level, **labels)
    assert [NARROW in record.caveats for record in (found.case, found.trial, found.judge)] == [told] * 3


@pytest.mark.parametrize(("cases", "told"), [(19, True), (20, False)])
def test_a_correlation_of_few_counts_says_so(cases, told):
    record = case_correlation([0, 1, 2] * 6 + [3] * (cases - 18), [3] * cases)
    assert any("fewer than 20 cases" in caveat for caveat in record.caveats) == told


def test_without_an_interval_nothing_is_said_of_its_width():
    found = variance_components([1, 2, 5, 6], cases=list("aabb"))
    assert NARROW not in found.trial.caveats


@pytest.mark.parametrize(
    ("scores", "cases", "reason"),
    [
        ([], [], "no scores"),
        ([1.0], ["a"], "one case"),
        ([1, 0, 1], list("aaa"), "one case"),
        ([1, 0, 1], list("abc"), "one observation per case"),
        ([1, 1, 1, 1], list("aabb"), "all scores agree"),
        ([0, 0, 0, 0], list("aabb"), "all scores agree"),
        ([0.1 + 0.2, 0.3, 0.3, 0.3], list("aabb"), "all scores agree"),
    ],
)
def test_refusals_leave_everything_unknown(scores, cases, reason):
    for record in variance_components(scores, cases=cases):
        assert isnan(record.estimate) and isnan(record.std_error)
        assert reason in record.caveats[0]


def test_days_that_are_cases_cannot_be_told_apart():
    found = variance_components([1, 2, 5, 6, 3, 5], cases=list("aabbcc"), days=list("uuvvww"))
    assert found.case.caveats == ("the design cannot tell the levels apart: cases and days coincide",)


def test_two_cases_have_no_interval():
    found = variance_components([1, 2, 5, 6], cases=list("aabb"))
    assert found.trial.estimate == pytest.approx(0.5, abs=1e-12)
    assert isnan(found.trial.std_error) and "2 of the 3 units" in found.trial.caveats[-1]


def test_replication_in_one_case_only_has_no_interval():
    found = variance_components([1, 2, 5, 6.5, 4], cases=list("aabcd"))
    assert found.trial.estimate == pytest.approx(0.5, abs=1e-12)
    assert isnan(found.trial.std_error)
    assert found.trial.caveats[-1] == "undefined once some unit is left out: no standard error"


def test_raw_estimates_may_be_negative_and_are_truncated_on_request():
    found = variance_components([1, 0, 0, 1, 1, 0], cases=list("aabbcc"))
    assert found.case.estimate == pytest.approx(-0.25, abs=1e-12)
    assert found.truncated()["case"] == 0.0
    assert found.shares()["trial"] == 1.0
    assert isnan(found.shares()["judge"])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="scores must be finite"):
        variance_components([1, nan], cases=["a", "b"])
    with pytest.raises(ValueError, match="must have shape"):
        variance_components([1, 2], cases=["a"])
    with pytest.raises(ValueError, match="level must be inside"):
        variance_components([1, 2, 3, 4], cases=list("aabb"), level=95)


def test_correlation_from_counts_is_that_of_the_rows():
    passed, trials = [3, 2, 0, 3, 1, 5], [3, 4, 2, 3, 1, 6]
    scores, cases = rows_of(passed, trials)
    assert case_correlation(passed, trials).estimate == pytest.approx(
        icc(scores, clusters=cases).estimate, abs=1e-12
    )


def test_a_coin_flip_has_no_correlation():
    rng = np.random.default_rng(20260305)
    found = [case_correlation(rng.binomial(5, 0.5, 40), [5] * 40).estimate for _ in range(DRAWS)]
    assert abs(np.mean(found)) < 3 * np.std(found, ddof=1) / sqrt(DRAWS)
    assert min(found) < 0 < max(found)


@pytest.mark.parametrize(
    ("passed", "trials", "reason"),
    [
        ([], [], "no cases"),
        ([2], [3], "one case"),
        ([1, 0, 1], [1, 1, 1], "one trial of each case"),
        ([3, 3, 3], [3, 3, 3], "all trials agree"),
        ([0, 0, 0], [3, 3, 3], "all trials agree"),
    ],
)
def test_undefined_correlation_says_why(passed, trials, reason):
    record = case_correlation(passed, trials)
    assert isnan(record.estimate) and reason in record.caveats[0]


def test_cases_that_agree_with_themselves_correlate_fully():
    record = case_correlation([3, 0, 3, 0], [3, 3, 3, 3])
    assert record.estimate == 1.0
    assert isnan(record.std_error) and record.caveats


def test_impossible_counts_are_named():
    with pytest.raises(ValueError, match="counts must be whole"):
        case_correlation([5], [4])
    with pytest.raises(ValueError, match="at least 1 trial"):
        case_correlation([0, 1], [0, 1])


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_of_components(level):
    rng = np.random.default_rng(20260306)
    covered = dict.fromkeys(TRUTH, 0)
    for _ in range(DRAWS):
        scores, labels = simulated(rng, cases=40, days=10, trials=2)
        for name, record in zip(TRUTH, variance_components(scores, **labels, level=level), strict=True):
            covered[name] += record.conf_low <= TRUTH[name] <= record.conf_high
    for name, hits in covered.items():
        # the variance between 40 cases is skewed: nominal 95% is known to cover .90 to .92
        short = 0.04 if (name, level) == ("case", 0.95) else 0.0
        slack = 3 * sqrt(level * (1 - level) / DRAWS)
        assert level - short - slack < hits / DRAWS < level + slack, name


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_of_correlation(level):
    rng = np.random.default_rng(20260307)
    covered = 0
    for _ in range(DRAWS):
        record = case_correlation(rng.binomial(3, rng.beta(1, 1, 60)), [3] * 60, level=level)
        covered += record.conf_low <= 1 / 3 <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)
