"""Prediction-powered means: the reference package's numbers, clusters, refusals, edges, coverage."""

from math import isnan, sqrt

import numpy as np
import pytest

from evalstats.stats.means import case_mean
from evalstats.stats.prediction_powered import Judged, ppi_mean, tuned_weight

DRAWS = 400


def test_published(published):
    counts = [int(published[key]) for key in ("both_pass", "only_label", "only_verdict", "both_fail")]
    passes, n = int(published["judged_passes"]), int(published["judged"])
    judged = Judged(
        labels=np.repeat([1, 1, 0, 0], counts),
        verdicts=np.repeat([1, 0, 1, 0], counts),
        unlabelled=[1] * passes + [0] * (n - passes),
    )
    record = ppi_mean(judged)
    assert record.estimate == pytest.approx(float(published["estimate"]), abs=1e-12)
    # the package divides by n where we divide by n - 1
    theirs, labelled = float(published["population_error"]), sum(counts)
    assert theirs * sqrt(n / (n - 1)) < record.std_error < theirs * sqrt(labelled / (labelled - 1))


def test_a_judge_that_knows_nothing_gets_no_weight():
    labels, verdicts = [1, 0] * 15, [1, 1, 0, 0] * 7 + [1, 1]
    record = ppi_mean(Judged(labels=labels, verdicts=verdicts, unlabelled=[1, 0, 1] * 50))
    alone = case_mean(labels)
    assert "weight 0.000" in record.method
    assert record.estimate == alone.estimate
    assert record.std_error == pytest.approx(alone.std_error, abs=1e-12)
    assert record.conf_low == pytest.approx(alone.conf_low, abs=1e-12)


@pytest.mark.parametrize("verdicts", [[1] * 30, [0] * 30])
def test_a_judge_with_one_answer_gets_no_weight(verdicts):
    assert ppi_mean(Judged(labels=[1, 0] * 15, verdicts=verdicts, unlabelled=verdicts)).estimate == 0.5


def test_without_unlabelled_cases_labels_stand_alone():
    record = ppi_mean(Judged(labels=[1, 0] * 15, verdicts=[1, 0] * 15, unlabelled=[]))
    assert record.estimate == 0.5
    assert record.caveats == ("no unlabelled cases: labels alone",)


def test_a_good_judge_narrows_the_interval():
    labels, verdicts = [1, 0] * 30, [1, 0] * 27 + [0, 1] * 3
    record = ppi_mean(Judged(labels=labels, verdicts=verdicts, unlabelled=[1, 0] * 500))
    assert record.std_error < 0.75 * case_mean(labels).std_error


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([], "no labels"),
        ([1], "0 of the 10 labels needed in each class"),
        ([1] * 40, "0 of the 10 labels needed in each class"),
        ([0] * 40, "0 of the 10 labels needed in each class"),
        ([1] * 40 + [0] * 9, "9 of the 10 labels needed in each class"),
        ([2, 3, 4, 5], "4 of the 10 labels needed"),
    ],
)
def test_refuses_what_labels_cannot_bear(labels, reason):
    record = ppi_mean(Judged(labels=labels, verdicts=labels, unlabelled=[1, 0] * 20))
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert record.caveats == (reason,)


def test_one_cluster_has_no_interval():
    judged = Judged(labels=[1, 0] * 15, verdicts=[1, 0] * 15, unlabelled=[1, 0], clusters=["a"] * 30)
    record = ppi_mean(judged)
    assert record.estimate == 0.5 and isnan(record.std_error)
    assert record.caveats == ("one cluster: no variance between clusters",)


def test_all_agree_has_no_false_certainty():
    record = ppi_mean(Judged(labels=[0.5] * 30, verdicts=[0.5] * 30, unlabelled=[0.5] * 9))
    assert record.estimate == 0.5 and isnan(record.std_error)
    assert record.caveats == ("all cases agree: the variance is not estimable",)


def test_cluster_sums_are_those_of_clustered_means():
    labels, verdicts = [1, 1, 0, 0, 1, 0] * 5, [1, 1, 1, 0, 0, 0] * 5
    clusters = np.repeat(range(25), [2, 1, 1, 1, 1] * 5)
    judged = Judged(labels=labels, verdicts=verdicts, unlabelled=[], clusters=clusters)
    assert ppi_mean(judged).std_error == pytest.approx(
        case_mean(labels, clusters=clusters).std_error, abs=1e-12
    )
    assert ppi_mean(judged).n_clusters == 25


def test_shared_clusters_are_summed_over_both_parts():
    labels, verdicts = [1, 0] * 12, [1, 0] * 10 + [0, 1, 1, 1]
    own, others = np.repeat(range(12), 2), np.repeat(range(12), 4)
    unlabelled = [1, 1, 0, 0] * 12
    shared = Judged(
        labels=labels, verdicts=verdicts, unlabelled=unlabelled, clusters=own, unlabelled_clusters=others
    )
    apart = Judged(
        labels=labels, verdicts=verdicts, unlabelled=unlabelled, clusters=own, unlabelled_clusters=others + 99
    )
    weight = tuned_weight(*(np.array(x, dtype=float) for x in (labels, verdicts, unlabelled)))
    rectified = np.array(labels) - weight * np.array(verdicts)
    sums = np.bincount(own, weights=(rectified - rectified.mean()) / 24)
    sums += np.bincount(others, weights=weight * (np.array(unlabelled) - 0.5) / 48)
    assert ppi_mean(shared).std_error == pytest.approx(sqrt((sums**2).sum() * 12 / 11), abs=1e-12)
    assert ppi_mean(apart).estimate == ppi_mean(shared).estimate


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="labels and verdicts must match, got 2 and 1"):
        ppi_mean(Judged(labels=[1, 0], verdicts=[1], unlabelled=[1]))
    with pytest.raises(ValueError, match="scores must be finite"):
        ppi_mean(Judged(labels=[1, 0], verdicts=[1, float("nan")], unlabelled=[1]))
    with pytest.raises(ValueError, match="level must be inside"):
        ppi_mean(Judged(labels=[1, 0], verdicts=[1, 0], unlabelled=[1]), level=95)


@pytest.mark.parametrize("level", [0.80, 0.95])
@pytest.mark.parametrize("groups", [None, 40])
def test_calibration_of_ppi(groups, level):
    rng = np.random.default_rng(20260317)
    n, rest = 80, 400
    covered = 0
    for _ in range(DRAWS):
        difficulty = rng.random(n + rest) if groups is None else np.repeat(rng.random(240), 2)
        truth = (rng.random(n + rest) < difficulty).astype(float)
        verdicts = np.where(rng.random(n + rest) < 0.85, truth, 1 - truth)
        labels = None if groups is None else np.repeat(range(240), 2)
        record = ppi_mean(
            Judged(
                labels=truth[:n],
                verdicts=verdicts[:n],
                unlabelled=verdicts[n:],
                clusters=None if labels is None else labels[:n],
                unlabelled_clusters=None if labels is None else labels[n:],
            ),
            level=level,
        )
        covered += record.conf_low <= 0.5 <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)
