"""Trial noise inside cases: published numbers, NIST certified ratios, and edges."""

from math import isnan

import numpy as np
import pytest

from evalstats.stats.trial_noise import WithinCases, model_band, variance_ratio

DYESTUFF = [
    1545, 1440, 1440, 1520, 1580, 1540, 1555, 1490, 1560, 1495, 1595, 1550, 1605, 1510, 1560,
    1445, 1440, 1595, 1465, 1545, 1595, 1630, 1515, 1635, 1625, 1520, 1455, 1450, 1480, 1445,
]  # fmt: skip


def test_published(published, agrees, nist):
    if published["function"] == "model_band":
        n = int(published["n"])
        within = WithinCases(variances=np.array([1.0]), trials=np.array([1.0]), dfs=np.array([n - 1.0]))
        record = model_band(0.0, within, history=n)
        assert abs(record.conf_high - float(published["factor"])) <= 0.51 * 10.0 ** -len(
            published["factor"].partition(".")[2]
        )
        return
    name = published["data"]
    scores, treatments = (DYESTUFF, np.repeat(range(6), 5)) if name == "dyestuff" else nist(name)
    values, groups = np.array(scores, dtype=float), np.unique(treatments, return_inverse=True)[1]
    sizes = np.bincount(groups)
    means = np.bincount(groups, weights=values) / sizes
    within = float(((values - means[groups]) ** 2).sum()) / (values.size - sizes.size)
    # Groups as runs of a single case, its variance pooled over them: the one-way analysis of variance.
    noise = WithinCases(
        variances=np.array([within]), trials=sizes[:1].astype(float), dfs=np.array([values.size - sizes.size])
    )
    agrees(variance_ratio(means, noise), published)


def test_collected_from_trials():
    within = WithinCases.of([1, 0, 1, 1, 0, 0.5, 1], cases=list("aabbccc"))
    assert within.variances == pytest.approx([0.5, 0.0, 0.25])
    assert within.trials.tolist() == [2, 2, 3] and within.dfs.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("scores", "cases", "reason"),
    [
        ([], [], "no cases"),
        ([1.0], ["a"], "1 case without replicate trials"),
        ([1.0, 0.0, 1.0], ["a", "a", "b"], "1 case without replicate trials"),
        ([1.0] * 4, list("aabb"), "all trials of each case agree"),
        ([0.0] * 4, list("aabb"), "all trials of each case agree"),
        ([0.1] * 3 + [0.7] * 3, list("aaabbb"), "all trials of each case agree"),
    ],
)
def test_no_trial_noise_no_band(scores, cases, reason):
    within = WithinCases.of(scores, cases=cases)
    band, test = model_band(0.5, within), variance_ratio([0.5, 0.6, 0.7], within)
    assert isnan(band.conf_low) and isnan(band.std_error) and band.estimate == 0.5
    assert isnan(test.p_value) and isnan(test.statistic)
    assert reason in band.caveats[0] and reason in test.caveats[0]


@pytest.mark.parametrize("runs", [[], [0.5]])
def test_one_run_has_no_ratio(runs):
    test = variance_ratio(runs, WithinCases.of([1, 0, 1, 1], cases=list("aabb")))
    assert isnan(test.p_value) and "no variance between runs" in test.caveats[0]


def test_equal_runs_are_no_sign_of_a_day_effect():
    test = variance_ratio([0.5, 0.5, 0.5], WithinCases.of([1, 0, 1, 0], cases=list("aabb")))
    assert (test.statistic, test.p_value) == (0, 1)
    assert test.caveats == ("all runs agree: cached or deterministic?",)


def test_degrees_of_freedom_by_hand():
    # parts a, 0, a of a total 2a, one degree each: 4a^2 / (2a^2 / 3) - 2 (Dixon and Massey); of one case its own
    assert WithinCases.of([1, 0, 1, 1, 0, 1], cases=list("aabbcc")).run_variance()[1] == pytest.approx(4)
    assert WithinCases.of([1, 0, 1, 0], cases=list("aaaa")).run_variance()[1] == pytest.approx(3)


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_model_band_of_two_trials_a_case(level):
    """Thirty cases tried twice: plugging squared variances in as they are covers .82 and .98."""
    rng, hits, reps = np.random.default_rng(1), 0, 1_000
    for _ in range(reps):
        rates = rng.beta(0.6, 0.4, 30)
        past, coming = (rng.binomial(1, rates, (2, 30)) for _ in range(2))
        within = WithinCases.of(past.T.ravel(), cases=np.repeat(range(30), 2))
        band = model_band(past.mean(), within, level=level)
        hits += band.conf_low <= coming.mean() <= band.conf_high
    assert abs(hits / reps - level) < 3 * np.sqrt(level * (1 - level) / reps)


def test_sides_of_the_ratio():
    within = WithinCases.of([1, 0, 1, 1, 0, 1], cases=list("aabbcc"))
    greater, less, both = (
        variance_ratio([0.2, 0.7, 0.4], within, alternative=side).p_value
        for side in ("greater", "less", "two-sided")
    )
    assert greater + less == pytest.approx(1)
    assert both == pytest.approx(2 * min(greater, less))
    with pytest.raises(ValueError, match="alternative must be one of"):
        variance_ratio([0.2, 0.7], within, alternative="more")


def test_more_history_and_more_future_narrow_the_band():
    within = WithinCases.of([1, 0, 1, 1, 0, 1] * 3, cases=list("aabbcc") * 3)
    widths = [
        b.conf_high - b.conf_low
        for b in (model_band(0.5, within), model_band(0.5, within, history=4, future_runs=4))
    ]
    assert widths[1] == pytest.approx(widths[0] / 2)
    assert model_band(0.5, within, history=4).n_trials == 72


def test_input_is_checked():
    within = WithinCases.of([1, 0], cases=["a", "a"])
    with pytest.raises(ValueError, match="level must be inside"):
        model_band(0.5, within, level=2)
    with pytest.raises(ValueError, match="finite"):
        variance_ratio([0.5, float("nan")], within)
    with pytest.raises(ValueError, match="finite"):
        WithinCases.of([1, float("inf")], cases=["a", "a"])


def test_the_dust_of_rounding_is_no_trial_noise():
    within = WithinCases.of([0.1 + 0.2, 0.3, 0.6, 0.6], cases=list("aabb"))
    assert within.problem() == "all trials of each case agree: no trial noise to scale"
    assert isnan(model_band(0.5, within).conf_low)
