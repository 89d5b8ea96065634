"""Is the judge right: published prevalence intervals, refusals, edges, coverage."""

from dataclasses import replace
from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.accuracy import Confusion, rogan_gladen
from evalstats.stats.proportions import wilson
from evalstats.stats.repeated_trials import pass_rate

DRAWS = 400


def confusion(good, bad, level=0.95):
    """Return the confusion of (judge agrees, labels) among passes and among failures."""
    verdicts = [1] * good[0] + [0] * (good[1] - good[0]) + [0] * bad[0] + [1] * (bad[1] - bad[0])
    return Confusion.of(verdicts, labels=[1] * good[1] + [0] * bad[1], level=level)


def test_published(published, agrees):
    numbers = {key: int(x) for key, x in published.items() if x.isdigit() and "conf" not in key}
    found = confusion(
        (numbers["true_passes"], numbers["passes_labelled"]),
        (numbers["true_failures"], numbers["failures_labelled"]),
    )
    if published["function"] == "rogan_gladen":
        judged = wilson(numbers["passed"], numbers["trials"], level=float(published["level"]))
        agrees(rogan_gladen(judged, found), published)
    else:
        agrees(getattr(found, published["function"]), published)


def test_rates_count_their_own_labels():
    found = confusion((18, 20), (8, 10))
    assert (found.tpr.estimate, found.tpr.n_cases, found.tpr.estimand) == (0.9, 20, "true positive rate")
    assert (found.tnr.estimate, found.tnr.n_cases, found.tnr.estimand) == (0.8, 10, "true negative rate")
    assert found.problem() == ""


@pytest.mark.parametrize(
    ("good", "bad", "reason"),
    [
        ((0, 0), (0, 0), "0 of the 10 labels"),
        ((9, 9), (30, 30), "9 of the 10 labels"),
        ((30, 30), (0, 0), "0 of the 10 labels"),
        ((12, 20), (11, 20), r"TPR + TNR is 1.15, below 1.2"),
        ((0, 20), (0, 20), "TPR + TNR is 0.00"),
    ],
)
def test_refuses_what_labels_cannot_bear(good, bad, reason):
    record = rogan_gladen(wilson(70, 100), confusion(good, bad))
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert reason in record.caveats[0]


def test_no_cases_are_unknown():
    record = rogan_gladen(wilson(0, 0), confusion((18, 20), (16, 20)))
    assert isnan(record.estimate) and record.caveats == ("no cases",)


def test_a_raw_rate_outside_is_kept_inside_and_said():
    record = rogan_gladen(wilson(15, 100), confusion((18, 20), (16, 20)))
    assert record.estimate == 0.0 and record.conf_low == 0.0 and record.conf_high > 0.05
    assert record.caveats == ("the raw estimate lies outside [0, 1]",)


def test_a_rate_that_no_truth_explains_is_unknown():
    # a judge who passes a fifth of the failures cannot pass nothing
    record = rogan_gladen(wilson(0, 100), confusion((90, 100), (80, 100)))
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert "no pass rate fits both" in record.caveats[0]


@pytest.mark.parametrize("passed", [0, 40])
def test_all_alike_still_has_width(passed):
    record = rogan_gladen(wilson(passed, 40), confusion((20, 20), (20, 20)))
    assert record.conf_high - record.conf_low > 0.05
    assert "all trials agree" in record.caveats[0]


def test_a_perfect_judge_changes_little():
    judged = wilson(140, 200)
    record = rogan_gladen(judged, confusion((500, 500), (500, 500)))
    assert record.estimate == pytest.approx(0.7, abs=1e-12)
    assert record.conf_low == pytest.approx(judged.conf_low, abs=0.01)
    assert record.conf_high == pytest.approx(judged.conf_high, abs=0.01)


def test_clustered_trials_widen_it():
    labels = confusion((90, 100), (80, 100))
    passed, trials = [5, 0] * 20, [5] * 40
    clustered = rogan_gladen(pass_rate(passed, trials), labels)
    pooled = rogan_gladen(wilson(100, 200), labels)
    assert clustered.conf_high - clustered.conf_low > 1.5 * (pooled.conf_high - pooled.conf_low)
    assert (clustered.n_cases, clustered.n_trials, clustered.population) == (40, 200, "SUPER")


def test_caveats_of_the_judged_rate_are_kept():
    judged = replace(wilson(70, 100), caveats=("before",))
    assert rogan_gladen(judged, confusion((18, 20), (16, 20))).caveats == ("before",)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="verdicts and labels must match, got 2 and 1"):
        Confusion.of([1, 0], labels=[1])
    with pytest.raises(ValueError, match="must be 0 or 1"):
        Confusion.of([1, 0.5], labels=[1, 0])
    with pytest.raises(ValueError, match="scores must be finite"):
        Confusion.of([1, 0], labels=[1, float("nan")])


@pytest.mark.parametrize("level", [0.80, 0.95])
@pytest.mark.parametrize(("truth", "tpr", "tnr", "n_labels"), [(0.7, 0.9, 0.8, 100), (0.5, 0.85, 0.85, 60)])
def test_calibration_of_rogan_gladen(truth, tpr, tnr, n_labels, level):
    rng = np.random.default_rng(20260316)
    covered = refused = 0
    for _ in range(DRAWS):
        good = int(rng.binomial(n_labels, truth))
        found = confusion(
            (rng.binomial(good, tpr), good), (rng.binomial(n_labels - good, tnr), n_labels - good)
        )
        seen = rng.binomial(150, truth * tpr + (1 - truth) * (1 - tnr))
        record = rogan_gladen(wilson(int(seen), 150, level=level), found)
        refused += isnan(record.estimate)
        covered += record.conf_low <= truth <= record.conf_high
    kept = DRAWS - refused
    assert refused < 0.05 * DRAWS
    assert abs(covered / kept - level) < 3 * sqrt(level * (1 - level) / kept)
