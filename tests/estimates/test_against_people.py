"""Counts of judge and people, and self-preference, from frames: by hand and by the published example of the paradox."""

from __future__ import annotations

import pandas as pd
import pytest

from evalstats import estimates
from evalstats.stats import self_preference

KEYS = ["run_id", "case_id", "arm", "trial_index", "expectation"]


def frames(pairs, *, run="r", arm="skill-on", first=0):
    """Return judgements and labels of one case a pair: (verdict, label), label None where there is none."""
    rows = [
        dict(zip([*KEYS, "verdict", "label"], (run, f"c{first + i}", arm, 1, 0, v, x), strict=True))
        for i, (v, x) in enumerate(pairs)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    said = frame.rename(columns={"verdict": "score"}).assign(judge="j", repeat=1)
    return said.drop(columns="label"), frame[frame["label"].notna()][[*KEYS, "label"]]


def both(*parts):
    return tuple(pd.concat(each, ignore_index=True) for each in zip(*parts, strict=True))


def test_the_paradox_of_byrt_is_counted():
    """Feinstein and Cicchetti's table: agreement .85, kappa .32, prevalence index .75 (Byrt et al. 1993)."""
    said, labels = frames([(1, 1)] * 80 + [(1, 0)] * 10 + [(0, 1)] * 5 + [(0, 0)] * 5)
    (row,) = estimates.confusion(said, labels).query("arm.isna()").to_dict("records")
    assert [row[name] for name in ("both_yes", "only_judge", "only_people", "both_no")] == [80, 10, 5, 5]
    assert (row["prevalence_index"], row["bias_index"]) == pytest.approx((0.75, 0.05))
    kappa = estimates.judge_accuracy(said, labels).set_index("measure").loc["kappa", "estimate"]
    assert round(kappa, 2) == 0.32


def test_each_arm_is_counted_apart_and_texts_without_a_label_are_not():
    said, labels = both(
        frames([(1, 1), (0, 1), (1, None)]), frames([(0, 0), (1, 0)], arm="skill-off", first=3)
    )
    found = estimates.confusion(said, labels).set_index("arm")[
        ["both_yes", "only_people", "only_judge", "both_no"]
    ]
    assert found.loc["skill-on"].tolist() == [1, 1, 0, 0] and found.loc["skill-off"].tolist() == [0, 0, 1, 1]
    assert found.iloc[0].tolist() == [1, 1, 1, 1]


def test_nothing_is_counted_without_labels_or_of_scores():
    said, labels = frames([(1, 1), (0, 0)])
    assert estimates.confusion(said, labels.iloc[:0]).empty
    assert estimates.confusion(said.assign(score=[0.4, 0.6]), labels).empty
    assert list(estimates.confusion(said, labels.iloc[:0]).columns)[:3] == ["judge", "arm", "both_yes"]


def test_self_preference_is_that_of_the_runs_that_are_named():
    own = [(1, 0), (1, 1), (1, 0), (0, 0)]
    other = [(0, 0), (1, 1), (1, 0), (0, 0)]
    said, labels = both(frames(own, run="own"), frames(other, run="other"), frames(own, run="unknown"))
    (row,) = estimates.own_family(said, labels, own={"own": True, "other": False}, level=0.8).to_dict(
        "records"
    )
    expected = self_preference(
        [v for v, _ in own + other], [x for _, x in own + other], own=[True] * 4 + [False] * 4,
        cases=list("abcd") * 2, level=0.8,
    )  # fmt: skip
    assert row["estimate"] == expected.estimate == 0.25 and row["conf_low"] == pytest.approx(
        expected.conf_low
    )
    assert row["n_trials"] == 8


def test_a_corrected_rate_is_of_texts_without_labels_only():
    said, labels = frames([(1, 1)] * 12 + [(0, 0)] * 12)
    found = estimates.judge_accuracy(said, labels).set_index("measure").loc["corrected"]
    assert pd.isna(found["estimate"]) and "every text of this arm has a label" in found["caveats"][0]
