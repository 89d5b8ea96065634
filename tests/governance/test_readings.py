"""The error of a reading holds its level, and comes from where it says."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from evalstats.governance import readings
from evalstats.governance.readings import Evidence, Headline

ARMS = ("skill-off", "skill-on")


def drawn(rates: np.ndarray, runs: int, trials: int, rng: np.random.Generator) -> Evidence:
    """Return yes/no trials of cases with these pass rates, shape (2, n_cases)."""
    means = rng.binomial(trials, np.broadcast_to(rates, (runs, *rates.shape))) / trials
    n, scores = runs * trials, means.mean(axis=0)
    names = np.arange(rates.shape[1])
    return Evidence(
        arms=ARMS,
        case_ids=names.astype(str),
        archetypes=np.array([f"A{name % 3}" for name in names]),
        scores=scores,
        trials=np.full(rates.shape, float(n)),
        variances=n / (n - 1) * scores * (1 - scores) if n > 1 else np.full(rates.shape, np.nan),
        runs=means,
    )


@pytest.mark.parametrize(("runs", "trials"), [(1, 3), (6, 3)])
@pytest.mark.parametrize("quantity", ["difference", "lift"])
def test_eight_intervals_of_ten_hold_the_shift(quantity: str, runs: int, trials: int) -> None:
    rng = np.random.default_rng(20261201)
    case = np.arange(24)
    old, new = case < 19, (case < 14) | (case >= 19)
    headline, hits = Headline(quantity=quantity, arms=("skill-on", "skill-off"), average="cases"), []
    for _ in range(400):
        off = rng.beta(1, 1.2, case.size)
        rates = np.array([off, np.clip(off + rng.normal(0.15, 0.15, case.size), 0.02, 0.98)])
        evidence = drawn(rates, runs, trials, rng)
        truth = readings.parts(headline, replace(evidence, scores=rates), old, new)["shift"].value
        shift = readings.parts(headline, evidence, old, new)["shift"]
        found = readings.estimate(shift, headline, evidence, 0.8)
        hits.append(found.conf_low <= truth <= found.conf_high)
    assert abs(np.mean(hits) - 0.8) < 3 * np.sqrt(0.8 * 0.2 / 400)


@pytest.mark.parametrize("average", ["cases", "archetypes"])
@pytest.mark.parametrize(
    ("quantity", "arms"),
    [
        ("score", ("skill-off",)),
        ("difference", ("skill-on", "skill-off")),
        ("lift", ("skill-on", "skill-off")),
    ],
)
def test_the_weights_are_what_a_case_mean_moves(quantity: str, arms: tuple[str, ...], average: str) -> None:
    rng = np.random.default_rng(4)
    evidence = replace(drawn(np.full((2, 7), 0.5), 1, 3, rng), scores=rng.uniform(0.1, 0.9, (2, 7)))
    headline, which = Headline(quantity=quantity, arms=arms, average=average), np.arange(7) < 5
    weights, step = headline.of(evidence, which).weights, 1e-6
    for place in np.ndindex(2, 7):
        sides = []
        for sign in (1, -1):
            scores = evidence.scores.copy()
            scores[place] += sign * step
            sides.append(headline.of(replace(evidence, scores=scores), which).value)
        assert weights[place] == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=1e-8)


def test_one_trial_of_one_run_tells_no_error() -> None:
    evidence = drawn(np.full((2, 4), 0.5), 1, 1, np.random.default_rng(2))
    headline = Headline(quantity="score", arms=("skill-on",), average="cases")
    found = readings.estimate(headline.of(evidence, np.ones(4, bool)), headline, evidence, 0.8)
    assert isnan(found.std_error)
    assert found.caveats[0].startswith("4 cases without replicate trials")


def test_runs_that_all_read_alike_tell_no_error() -> None:
    evidence = drawn(np.ones((2, 4)), 6, 2, np.random.default_rng(2))
    headline = Headline(quantity="difference", arms=("skill-on", "skill-off"), average="archetypes")
    found = readings.estimate(headline.of(evidence, np.ones(4, bool)), headline, evidence, 0.8)
    assert (found.estimate, found.caveats) == (0, ("all runs agree: no spread to scale",))


def test_only_a_whole_pair_has_a_difference() -> None:
    assert {h.quantity for h in readings.headlines(("skill-on",))} == {"score"}
    assert {h.quantity for h in readings.headlines(("context-off", "context-on"))} == {
        "score",
        "difference",
        "lift",
    }
    assert {h.arms for h in readings.headlines(("skill-on", "context-off"))} == {
        ("skill-on",),
        ("context-off",),
    }
