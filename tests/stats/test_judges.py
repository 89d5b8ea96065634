"""The noise of a judge and its share: certified and published numbers, stopping rule, edges, coverage."""

from math import isnan, nan, sqrt

import numpy as np
import pytest

from evalstats.stats.judges import judge_noise, judge_share, repeats_needed
from evalstats.stats.results import Estimate

DRAWS = 400
PASTES = """62.8 62.6 60.1 62.3 62.7 63.1 60.0 61.4 57.5 56.9 61.1 58.9 58.7 57.5 63.9 63.1 65.4 63.7 57.1 56.4
56.9 58.6 64.7 64.5 55.1 55.1 54.7 54.2 58.8 57.5 63.4 64.9 59.3 58.1 60.5 60.0 62.5 62.6 61.0 58.7 56.9 57.7
59.2 59.4 65.2 66.0 64.8 64.1 54.8 54.8 64.0 64.0 57.7 56.8 58.3 59.3 59.2 59.2 58.9 56.6"""
ASSAYS = [float(x) for x in PASTES.split()]
CASKS = {"cases": np.repeat(range(10), 6), "transcripts": np.repeat(range(30), 2)}


def share(estimate, conf_high):
    return Estimate(
        estimand="share",
        population="FIXED",
        estimate=estimate,
        std_error=0.1,
        conf_low=0.0,
        conf_high=conf_high,
        level=0.95,
        n_cases=9,
        n_trials=9,
        method="given",
    )


def test_published(published, agrees, nist):
    name, data = published["function"], published.get("data", "")
    if name == "repeats_needed":
        given = share(float(published["share"]), 1.0)
        assert repeats_needed(given, target=float(published["target"])).likely == int(published["likely"])
    elif name == "judge_share":
        repeats = int(data.rpartition(" at ")[2]) if " at " in data else 1
        agrees(judge_share(ASSAYS, **CASKS, repeats=repeats), published)
    else:
        scores, transcripts = (ASSAYS, CASKS["transcripts"]) if data == "pastes" else nist(data)
        agrees(judge_noise(scores, transcripts=transcripts), published)


def test_transcripts_judged_once_take_no_part():
    record = judge_noise([1, 0, 1, 1, 0, 0, 1, 1, 1], transcripts=list("aabbccdde"))
    assert (record.n_cases, record.n_trials) == (4, 8)
    assert record.estimate == pytest.approx(sqrt(0.5 / 4), abs=1e-12)
    assert record.population == "FIXED"


def test_unequal_repeats_are_pooled_by_degrees_of_freedom():
    record = judge_noise([1, 0, 0, 1, 1, 0, 0], transcripts=list("aaabbcc"))
    assert record.estimate == pytest.approx(sqrt((2 / 3 + 0 + 0) / (2 + 1 + 1)), abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "transcripts", "reason"),
    [
        ([], [], "not measured"),
        ([1], ["a"], "not measured"),
        ([1, 0, 1], list("abc"), "not measured"),
        ([1, 1, 0, 0], list("aabb"), "all repeats identical on 2 transcripts: too few to tell"),
        ([0.3, 0.1 + 0.2, 0, 0], list("aabb"), "all repeats identical on 2 transcripts: too few to tell"),
        ([0.7] * 60, np.repeat(range(30), 2), "identical on 30 transcripts: cached or deterministic?"),
    ],
)
def test_no_noise_seen_is_unknown(scores, transcripts, reason):
    record = judge_noise(scores, transcripts=transcripts)
    assert isnan(record.estimate) and isnan(record.conf_high)
    assert reason in record.caveats[0]


def test_one_transcript_has_no_interval():
    record = judge_noise([1, 0, 1], transcripts=list("aaa"))
    assert record.estimate == pytest.approx(sqrt(1 / 3), abs=1e-12)
    assert isnan(record.std_error) and "1 of the 3 units" in record.caveats[0]


def test_noise_is_never_below_zero():
    record = judge_noise([1, 0] + [1, 1] * 5, transcripts=np.repeat(range(6), 2))
    assert record.conf_low == 0.0


def test_a_missing_score_is_named():
    with pytest.raises(ValueError, match="scores must be finite"):
        judge_noise([1, nan], transcripts=["a", "a"])


@pytest.mark.parametrize(
    ("scores", "cases", "transcripts", "reason"),
    [
        ([], [], [], "no scores"),
        ([1, 0], list("aa"), [1, 2], "one case"),
        ([1, 0, 1, 1], list("aabb"), [1, 2, 1, 2], "not measured"),
        ([1, 0, 1, 1], list("aabb"), [1, 1, 2, 2], "one transcript of each case"),
        ([1, 1, 1, 1], list("aabb"), [1, 1, 2, 2], "all scores agree"),
    ],
)
def test_undefined_share_says_why(scores, cases, transcripts, reason):
    record = judge_share(scores, cases=cases, transcripts=transcripts)
    assert isnan(record.estimate) and reason in record.caveats[0]
    plan = repeats_needed(record)
    assert plan.likely is None and plan.safe is None and reason in plan.reason


@pytest.mark.parametrize(
    ("estimate", "conf_high", "target", "likely", "safe"),
    [
        (0.5, 0.6, 0.1, 9, 14),  # odds 1 and 1.5, times 9
        (0.5, 0.5, 0.5, 1, 1),
        (0.05, 0.08, 0.1, 1, 1),
        (0.2, 0.25, 0.2, 1, 2),  # odds 1/4 and 1/3, times 4
        (0.0, 0.0, 0.1, 1, 1),
        (0.9, 1.0, 0.1, 81, None),
    ],
)
def test_repeats_bring_the_share_down_to_the_target(estimate, conf_high, target, likely, safe):
    plan = repeats_needed(share(estimate, conf_high), target=target)
    assert (plan.likely, plan.safe) == (likely, safe)
    assert bool(plan.reason) == (safe is None)


def test_the_repeats_it_asks_for_do_it():
    needed = repeats_needed(judge_share(ASSAYS, **CASKS), target=0.02).likely
    assert judge_share(ASSAYS, **CASKS, repeats=needed).estimate <= 0.02
    assert judge_share(ASSAYS, **CASKS, repeats=needed - 1).estimate > 0.02


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_of_judge_noise(level):
    rng = np.random.default_rng(20260311)
    transcripts = np.repeat(range(60), 3)
    covered = 0
    for _ in range(DRAWS):
        scores = rng.random(60)[transcripts] + rng.uniform(-0.3, 0.3, 180)
        record = judge_noise(scores, transcripts=transcripts, level=level)
        covered += record.conf_low <= 0.3 / sqrt(3) <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)


@pytest.mark.parametrize("level", [0.80, 0.95])
def test_calibration_of_judge_share(level):
    rng = np.random.default_rng(20260312)
    cases, transcripts = np.repeat(range(50), 6), np.repeat(range(150), 2)
    covered = 0
    for _ in range(DRAWS):
        scores = rng.normal(size=50)[cases] + rng.normal(size=150)[transcripts] + rng.normal(0, 0.5, 300)
        record = judge_share(scores, cases=cases, transcripts=transcripts, level=level)
        covered += record.conf_low <= 0.25 / 1.25 <= record.conf_high
    assert abs(covered / DRAWS - level) < 3 * sqrt(level * (1 - level) / DRAWS)
