"""Noise of judges and their accuracy from frames: by hand, by published formulas, and what is refused."""

from __future__ import annotations

from math import isnan, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from evalstats import estimates
from evalstats.errors import UsageError
from evalstats.stats import wilson

ARMS = ("skill-on", "skill-off")


def judgements_of(
    rng: np.random.Generator, *, flips: float, cases: int = 20, trials: int = 2, repeats: int = 2
) -> pd.DataFrame:
    """Return yes/no judgements of two arms, two expectations each, by a judge that flips some at random."""
    axes = (2, cases, trials, 2, repeats)
    arm, case, trial, expectation, repeat = np.indices(axes).reshape(5, -1)
    truth = rng.random((2, cases, trials, 2)) < np.array([0.8, 0.5])[:, None, None, None]
    said = truth[arm, case, trial, expectation] ^ (rng.random(arm.size) < flips)
    return pd.DataFrame(
        {
            "run_id": "r",
            "case_id": [f"c{i}" for i in case],
            "arm": [ARMS[i] for i in arm],
            "trial_index": trial + 1,
            "expectation": expectation,
            "judge": "j",
            "repeat": repeat + 1,
            "score": said.astype(float),
            "truth": truth[arm, case, trial, expectation],
        }
    )


def labels_of(judgements: pd.DataFrame, cases: int) -> pd.DataFrame:
    """Return a human's verdict, the truth, on every trial of the first cases."""
    kept = judgements[judgements["case_id"].isin([f"c{i}" for i in range(cases)])]
    keys = ["case_id", "arm", "trial_index", "expectation"]
    return kept.drop_duplicates(keys).rename(columns={"truth": "label"})[[*keys, "label"]]


def test_noise_is_the_pooled_deviation_within_transcripts(rng) -> None:
    judgements = judgements_of(rng, flips=0.1, repeats=3)
    keys = ["run_id", "case_id", "arm", "trial_index"]
    trials = judgements.groupby([*keys, "repeat"])["score"].mean()
    pooled = trials.groupby(keys).var(ddof=1).mean()
    found = estimates.noise_floor(judgements, deployed=2).set_index("measure")
    assert found.loc["noise", "estimate"] == pytest.approx(sqrt(pooled), abs=1e-12)
    # 40 trials in each arm, judged twice
    floor = scipy_stats.norm.ppf(0.975) * sqrt(2) * sqrt(pooled) / sqrt(80)
    assert found.loc["difference floor", "estimate"] == pytest.approx(floor, abs=1e-12)
    fails = 1 - trials.groupby("arm").mean()
    ratio = fails["skill-on"] / fails["skill-off"]
    expected = floor * sqrt(1 + ratio**2) / fails["skill-off"]
    assert found.loc["lift floor", "estimate"] == pytest.approx(expected, rel=1e-9)
    assert found["population"].to_dict()["noise"] == "FIXED"


def test_flips_are_counted_on_single_expectations(rng) -> None:
    judgements = judgements_of(rng, flips=0.15)
    pairs = judgements.pivot(
        index=["case_id", "arm", "trial_index", "expectation"], columns="repeat", values="score"
    )
    differing = int((pairs[1] != pairs[2]).sum())
    found = estimates.noise_floor(judgements, level=0.9).set_index("measure").loc["flips"]
    low, high = scipy_stats.binomtest(differing, 160).proportion_ci(0.9, method="wilson")
    assert (found["n_cases"], found["n_trials"]) == (160, 320)
    assert (found["conf_low"], found["conf_high"]) == pytest.approx((low, high), abs=1e-12)


def test_units_of_one_case_are_said_to_be_taken_as_independent(rng) -> None:
    found = estimates.noise_floor(judgements_of(rng, flips=0.15)).set_index("measure")
    for measure in ("flips", "kappa", "alpha"):
        assert "taken as independent" in found.loc[measure, "caveats"][-1]
    single = judgements_of(rng, flips=0.15)
    single = single[(single["trial_index"] == 1) & (single["expectation"] == 0) & (single["arm"] == ARMS[0])]
    found = estimates.noise_floor(single).set_index("measure")
    assert found.loc["flips", "caveats"] == ()


def test_repeats_may_have_any_names(rng) -> None:
    judgements = judgements_of(rng, flips=0.15)
    unit = judgements.groupby(["case_id", "arm", "trial_index"]).ngroup()
    renamed = judgements.assign(repeat=judgements["repeat"] + 10 * unit)  # 1 and 2, 11 and 12 ..
    here, there = (estimates.noise_floor(x).set_index("measure") for x in (judgements, renamed))
    for measure in ("flips", "kappa", "alpha", "noise"):
        assert here.loc[measure, "estimate"] == there.loc[measure, "estimate"] > 0
        assert here.loc[measure, "n_trials"] == there.loc[measure, "n_trials"]


def test_krippendorffs_published_table(rng) -> None:
    # units x repeats [[1,1,1],[0,0,0],[1,1,1],[0,0,1]]: nominal alpha .685714, Fleiss' kappa .657143
    rows = [
        ("r", f"c{unit}", "x", 1, 0, "j", repeat, score)
        for unit, scores in enumerate([[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 1]])
        for repeat, score in enumerate(scores)
    ]
    columns = ["run_id", "case_id", "arm", "trial_index", "expectation", "judge", "repeat", "score"]
    found = estimates.noise_floor(pd.DataFrame(rows, columns=columns)).set_index("measure")["estimate"]
    assert found["alpha"] == pytest.approx(0.685714, abs=5e-7)
    assert found["kappa"] == pytest.approx(0.657143, abs=5e-7)
    assert "lift floor" not in found.index


def test_graded_verdicts_have_an_alpha_but_no_flips(rng) -> None:
    judgements = judgements_of(rng, flips=0.1).assign(score=lambda frame: rng.random(len(frame)).round(3))
    found = estimates.noise_floor(judgements).set_index("measure")
    assert found.loc[["flips", "kappa"], "estimate"].isna().all()
    assert found.loc["flips", "caveats"] == (
        "graded verdicts or labels: passes and failures cannot be counted",
    )
    assert abs(found.loc["alpha", "estimate"]) < 0.3  # random scores agree by chance only
    assert found.loc["noise", "estimate"] > 0.15


def test_one_repeat_is_not_measured_and_identical_repeats_are_doubted(rng) -> None:
    once = judgements_of(rng, flips=0.1, repeats=1)
    found = estimates.noise_floor(once).set_index("measure")
    assert found["estimate"].isna().all()
    assert all("not measured" in caveats[0] for caveats in found["caveats"])
    cached = estimates.noise_floor(judgements_of(rng, flips=0.0)).set_index("measure")
    assert cached.loc["noise", "caveats"] == (
        "all repeats identical on 80 transcripts: cached or deterministic?",
    )


def test_a_judgement_without_a_verdict_is_left_out_and_counted(rng) -> None:
    judgements = judgements_of(rng, flips=0.1)
    judgements.loc[[0, 5], "score"] = None
    found = estimates.noise_floor(judgements)
    assert all("2 judgements without a verdict left out" in caveats for caveats in found["caveats"])


def test_a_repeat_without_all_verdicts_is_no_noise(rng) -> None:
    judgements = judgements_of(rng, flips=0.0)
    judgements.loc[(judgements["repeat"] == 2) & (judgements["expectation"] == 1), "score"] = None
    noise = estimates.noise_floor(judgements).set_index("measure").loc["noise"]
    assert noise["caveats"][0] == "not measured: no transcript was judged twice"


def test_each_judge_is_looked_at_by_itself(rng) -> None:
    two = pd.concat(
        [judgements_of(rng, flips=flips).assign(judge=name) for name, flips in (("a", 0.02), ("b", 0.3))]
    )
    noise = estimates.noise_floor(two).set_index(["judge", "measure"])["estimate"]
    assert noise["a", "noise"] < noise["b", "noise"]


def test_confusion_is_that_of_the_labels(rng) -> None:
    judgements = judgements_of(rng, flips=0.1, repeats=1)
    labels = labels_of(judgements, 12)
    found = estimates.judge_accuracy(judgements, labels).set_index("measure")
    labelled = judgements.merge(labels)
    good = labelled[labelled["label"]]
    expected = wilson(int(good["score"].sum()), len(good))
    positive = found.loc["true positive rate"]
    assert [positive[n] for n in ("estimate", "conf_low", "conf_high")] == [
        expected.estimate,
        expected.conf_low,
        expected.conf_high,
    ]
    assert "several labels of a case are taken as independent" in positive["caveats"]
    table = pd.crosstab(labelled["score"], labelled["label"].astype(float)).to_numpy()
    n = table.sum()
    chance = (table.sum(0) * table.sum(1)).sum() / n**2
    assert found.loc["kappa", "estimate"] == pytest.approx(
        (np.trace(table) / n - chance) / (1 - chance), abs=1e-12
    )


def test_a_tie_of_repeats_fails(rng) -> None:
    judgements = judgements_of(rng, flips=0.0)
    judgements.loc[judgements["repeat"] == 1, "score"] = 0.0
    found = estimates.judge_accuracy(judgements, labels_of(judgements, 12)).set_index("measure")["estimate"]
    assert found["true positive rate"] == 0
    assert found["true negative rate"] == 1


def test_true_rates_come_back_from_a_judge_that_errs(rng) -> None:
    judgements = judgements_of(rng, flips=0.2, cases=400, repeats=1)
    truth = judgements.groupby("arm")["truth"].mean()
    seen = judgements.groupby("arm")["score"].mean()
    found = estimates.judge_accuracy(judgements, labels_of(judgements, 100)).set_index(["arm", "measure"])
    for arm in ARMS:
        assert abs(seen[arm] - truth[arm]) > 0.08 or arm == "skill-off"  # flips pull the rate towards a half
        for measure in ("prediction-powered", "corrected"):
            row = found.loc[(arm, measure)]
            assert row["estimate"] == pytest.approx(truth[arm], abs=3 * row["std_error"])
    assert found.loc[("skill-on", "prediction-powered"), "n_cases"] == 100
    assert found.loc[("skill-on", "corrected"), "n_cases"] == 300


def test_bias_is_the_difference_of_margins(rng) -> None:
    judgements = judgements_of(rng, flips=0.0, repeats=1)
    generous = (judgements["arm"] == "skill-on") & (judgements["expectation"] == 0)
    judgements.loc[generous, "score"] = 1.0
    labels = labels_of(judgements, 20)
    bias = estimates.judge_accuracy(judgements, labels).set_index("measure").loc["bias", "estimate"]
    margin = judgements["score"] - judgements["truth"]
    on, off = (margin[judgements["arm"] == arm].mean() for arm in ARMS)
    assert bias == pytest.approx(on - off, abs=1e-12)
    assert bias > 0


def test_too_few_labels_are_refused(rng) -> None:
    judgements = judgements_of(rng, flips=0.1, repeats=1)
    found = estimates.judge_accuracy(judgements, labels_of(judgements, 1)).set_index("measure")
    for measure in ("prediction-powered", "corrected"):
        assert found.loc[measure, "estimate"].isna().all()
        assert all("labels needed" in caveats[0] for caveats in found.loc[measure, "caveats"])


def test_graded_verdicts_have_no_confusion(rng) -> None:
    judgements = judgements_of(rng, flips=0.1, repeats=1, cases=100)
    judgements["score"] *= 0.9
    found = estimates.judge_accuracy(judgements, labels_of(judgements, 80)).set_index("measure")
    assert isnan(found.loc["true positive rate", "estimate"])
    assert found.loc["corrected", "estimate"].isna().all()
    assert found.loc["prediction-powered", "estimate"].notna().all()


def test_labels_of_nothing_are_counted(rng) -> None:
    judgements = judgements_of(rng, flips=0.1, repeats=1)
    labels = labels_of(judgements, 12)
    stray = labels.iloc[:1].assign(case_id="gone")
    found = estimates.judge_accuracy(judgements, pd.concat([labels, stray])).set_index("measure")
    assert "1 label without a verdict" in found.loc["bias", "caveats"]


def test_ambiguous_frames_are_refused(rng) -> None:
    judgements = judgements_of(rng, flips=0.1, repeats=1)
    labels = labels_of(judgements, 12)
    two_runs = pd.concat([judgements, judgements.assign(run_id="r2")])
    with pytest.raises(UsageError, match="run_id: judgements are of several runs"):
        estimates.judge_accuracy(two_runs, labels)
    with pytest.raises(UsageError, match="label: two labels for one verdict"):
        estimates.judge_accuracy(judgements, pd.concat([labels, labels]))
    with pytest.raises(UsageError, match="repeat: two judgements have one key"):
        estimates.noise_floor(pd.concat([judgements, judgements]))
    with pytest.raises(UsageError, match="judgements lack judge"):
        estimates.noise_floor(judgements.drop(columns="judge"))
    named = estimates.judge_accuracy(two_runs, labels.assign(run_id="r2"))
    assert named["measure"].iloc[0] == "true positive rate"
