"""Copies, replicas and constants among trials are flagged; nothing is called stable."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evalstats import estimates

Trial = tuple[str, str, float, str | None, int | None]


def trials_of(*rows: Trial, usable: bool = True) -> pd.DataFrame:
    """Return trials from (arm, case, score, digest of the output, seed)."""
    frame = pd.DataFrame(rows, columns=["arm", "case_id", "score", "stdout_sha256", "seed"])
    return frame.assign(usable=usable, transcript_sha256=None, seed=frame["seed"].astype("Int64"))


def test_copies_in_a_varying_arm_are_not_independent() -> None:
    found = estimates.repeats(
        trials_of(
            ("x", "a", 1.0, "d1", 1),
            ("x", "a", 1.0, "d1", 2),
            ("x", "a", 0.0, "d2", 3),
            ("x", "b", 1.0, "d1", 4),
            ("x", "b", 1.0, None, 5),
            ("x", "b", 1.0, None, 6),
        )
    ).iloc[0]
    assert (found["n_cases"], found["n_trials"], found["n_identical"], found["n_replicas"]) == (2, 6, 1, 0)
    assert found["caveats"] == ("cached or identical repeats: not independent (copies: 1 of 6)",)


def test_an_arm_that_never_varies_is_deterministic_in_these_data() -> None:
    found = estimates.repeats(trials_of(("x", "a", 0.5, "d", 1), ("x", "a", 0.5, "d", 2))).iloc[0]
    assert found["deterministic"]
    assert found["caveats"][0].startswith("deterministic in these data")
    assert not any("stable" in caveat for caveat in found["caveats"])


def test_one_trial_of_a_case_shows_nothing() -> None:
    found = estimates.repeats(
        trials_of(("x", "a", 1.0, "d", 1), ("x", "a", 1.0, "e", 2), ("x", "b", 1.0, "f", 3))
    ).iloc[0]
    assert not found["deterministic"]
    assert found["caveats"] == ()


def test_a_repeated_seed_is_a_replica_also_across_runs() -> None:
    found = estimates.repeats(
        trials_of(
            ("x", "a", 1.0, "d", 7), ("x", "a", 0.0, "e", 7), ("x", "b", 1.0, "f", 7), ("y", "a", 1.0, "g", 7)
        )
    ).set_index("arm")
    assert found["n_replicas"].to_dict() == {"x": 1, "y": 0}
    assert found.loc["x", "caveats"] == (
        "replicas: a seed is repeated by 1 of 3 trials, so they are not independent",
    )


def test_unknown_seeds_and_unusable_trials_flag_nothing() -> None:
    rows = [("x", "a", 1.0, None, None), ("x", "a", 0.0, None, None)]
    assert estimates.repeats(trials_of(*rows))["caveats"].tolist() == [()]
    assert estimates.repeats(trials_of(("x", "a", np.nan, "d", 1), usable=False)).empty


def test_transcripts_go_before_outputs() -> None:
    trials = trials_of(("x", "a", 1.0, "d", 1), ("x", "a", 0.0, "d", 2)).assign(
        transcript_sha256=["t1", "t2"]
    )
    assert estimates.repeats(trials)["n_identical"].tolist() == [0]


def test_a_few_equal_outputs_may_be_chance_but_equal_transcripts_are_not() -> None:
    rows = [("x", "a", float(i % 2), f"d{max(i, 1)}", i) for i in range(12)]  # d1 twice, in 11 repeats
    trials = trials_of(*rows)
    assert estimates.repeats(trials)[["n_identical", "caveats"]].to_numpy().tolist() == [[1, ()]]
    certain = estimates.repeats(trials.assign(transcript_sha256=trials["stdout_sha256"]))
    assert certain["caveats"].iloc[0][0].startswith("cached or identical repeats")


def test_flags_reach_the_estimates_of_their_arm_and_differences(graded, rng) -> None:
    flags = estimates.repeats(
        trials_of(
            ("skill-on", "a", 1.0, "d", 1),
            ("skill-on", "a", 1.0, "d", 2),
            ("skill-off", "a", 1.0, "e", 3),
            ("skill-off", "a", 0.0, "f", 4),
        )
    )
    rates = estimates.flagged(estimates.rate(graded), flags).set_index("arm")["caveats"]
    assert rates["skill-off"] == ()
    assert rates["skill-on"][0].startswith("deterministic in these data")
    difference = estimates.flagged(estimates.difference(graded, rng=rng), flags)["caveats"].iloc[0]
    assert difference[0].startswith("skill-on: deterministic in these data")


def test_all_trials_together() -> None:
    found = estimates.repeats(trials_of(("x", "a", 1.0, "d", 1), ("y", "a", 0.0, "d", 2)), by=[])
    assert found[["n_cases", "n_trials", "n_identical"]].to_numpy().tolist() == [[1, 2, 1]]
    assert list(found.columns) == [
        "n_cases",
        "n_trials",
        "n_identical",
        "n_replicas",
        "deterministic",
        "caveats",
    ]
