"""Rules that follow one number a run, against hand arithmetic and printed tables."""

from math import sqrt
from statistics import mean, stdev

import pytest

from evalstats import gate
from evalstats.contract import GateRule
from evalstats.errors import UsageError

ON, OFF = "skill-on", "skill-off"
STEADY = [0.80, 0.82, 0.79, 0.81, 0.80, 0.78, 0.82, 0.80, 0.81, 0.79]
CASES = [f"case-{n}" for n in range(10)]


@pytest.fixture
def decide(make_report, make_policy):
    def decided(runs, asked=None, **policy):
        return gate.decide(make_report(runs), make_policy(**policy), asked)

    return decided


def test_few_trials_widen_the_threshold_by_half_a_step(decide, make_run):
    """Ten trials a run: one trial moves the mean by .1, so that half of it is added to the noise."""
    runs = [make_run(n, {ON: s}, n_trials=10, usable=10) for n, s in enumerate([*STEADY, 0.735], 1)]
    many = [make_run(n, {ON: s}, n_trials=10**6, usable=10**6) for n, s in enumerate([*STEADY, 0.735], 1)]
    few, fine = (decide(given, margin=0.06, reruns=1, alpha=0.05) for given in (runs, many))
    # t(.95, 9) = 1.833 of Student's table
    noise = 1.833 * stdev(STEADY) * sqrt(1.1)
    assert fine.verdict == "regression" and few.verdict != "regression"
    assert f"blocked above {max(0.662 * 0.06, noise):.3f}" in fine.reasons[0]
    assert few.mde - fine.mde == pytest.approx(0.05, abs=0.02)


# --- non-inferiority --------------------------------------------------------------------------------


def by_case(tell, shift, nights=9, trials=10):
    """Return nights of ten cases that pass 8 of 10, and a last one in which each case lost ``shift`` passes."""
    runs = [
        tell(n, {ON: {case: (8 + (n + i) % 2, trials) for i, case in enumerate(CASES)}})
        for n in range(1, nights)
    ]
    last = {case: (8 - lost + i % 2, trials) for i, (case, lost) in enumerate(zip(CASES, shift, strict=True))}
    return [*runs, tell(nights, {ON: last})]


def test_non_inferiority_is_the_t_test_on_paired_cases(decide, tell):
    lost = [0, 0, 1, 0, 0, 2, 0, 0, 0, 1]
    runs = by_case(tell, lost)
    result = decide(runs, rule="non-inferiority", margin=0.15)
    # by hand: each case has .85 on average of its history, and 8 - lost (+1 for odd cases) of 10 at last
    drops = [0.85 - (8 - lost[i] + i % 2) / 10 for i in range(10)]
    assert result.drop == pytest.approx(mean(drops))
    assert result.verdict == "pass" and "10 paired cases (noise between cases)" in result.reasons[0]
    assert "a drop of 0.15 is ruled out at 95%" in result.reasons[0]
    # the bound by hand, t(.95, 9) = 1.833: drop + 1.833 se < margin
    bound = mean(drops) + 1.833 * stdev(drops) / sqrt(10)
    assert bound < 0.15
    assert decide(runs, rule="non-inferiority", margin=bound - 0.005).verdict == "inconclusive"


def test_non_inferiority_blocks_a_shown_loss(decide, tell):
    result = decide(by_case(tell, [3, 2, 3, 4, 3, 3, 2, 3, 3, 4]), rule="non-inferiority", margin=0.15)
    assert (result.verdict, result.exit_code) == ("regression", 1)


def test_a_night_that_moves_all_cases_at_once_is_no_surprise_to_it(decide, tell):
    """Every case loses alike, so cases show no noise at all; the nights before did the same."""
    runs = [tell(n, {ON: {case: (6 + n % 4, 10) for case in CASES}}) for n in range(1, 12)]
    result = decide(
        [*runs, tell(12, {ON: {case: (6, 10) for case in CASES}})], rule="non-inferiority", margin=0.2
    )
    assert "noise between nights, wider than between cases" in result.reasons[0]
    assert result.verdict != "regression"


def test_non_inferiority_needs_every_case_on_both_sides(decide, make_run):
    runs = [make_run(n, {ON: s}) for n, s in enumerate(STEADY, 1)]  # an old report, without cases
    result = decide(runs, rule="non-inferiority")
    assert result.exit_code == 3
    assert result.reasons[0].startswith("0 of 10 cases have a score on both sides")


# --- a threshold ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "verdict"),
    [(0.80, "pass"), (0.72, "inconclusive"), (0.705, "inconclusive"), (0.64, "regression")],
)
def test_the_lower_bound_must_reach_the_threshold(decide, make_run, last, verdict):
    runs = [make_run(n, {ON: s}, usable=10**6, n_trials=10**6) for n, s in enumerate([*STEADY, last], 1)]
    result = decide(runs, rule="absolute", threshold=0.705)
    assert result.verdict == verdict
    low = last - 1.383 * stdev(STEADY)  # t(.90, 9) = 1.383 of Student's table; one run, noise of the history
    assert f"{last:.3f}, at least {low:.3f} at 90%" in result.reasons[0]
    assert result.drop == pytest.approx(0.705 - last)


def test_without_a_history_its_own_trials_say_how_noisy_it_is(decide, make_run):
    first = make_run(1, {ON: 0.9}, within_variance=0.0004)
    result = decide([first], rule="absolute", threshold=0.8)
    # df = 30 trials - 10 cases; t(.90, 20) = 1.3253
    assert f"at least {0.9 - 1.3253 * 0.02:.3f}" in result.reasons[0]
    assert result.verdict == "pass" and "that of nights is unknown" in result.reasons[0]
    alone = decide([make_run(1, {ON: 0.9})], rule="absolute", threshold=0.8)
    assert alone.exit_code == 3
    assert alone.reasons == ["neither a history nor repeated trials say how noisy it is"]


# --- the prescribed rule ------------------------------------------------------------------------------


def nights_of(tell, lifts, off=(1, 3), **unusual):
    """Return nights whose lift of medians is as given, in tenths: 10 cases, the off arm never passes."""
    return [
        tell(n, {ON: {c: (2 if i < tenths else 1, 3) for i, c in enumerate(CASES)}, OFF: dict.fromkeys(CASES, off)},
             **unusual)
        for n, tenths in enumerate(lifts, 1)
    ]  # fmt: skip


def test_the_prescribed_rule_is_the_median_of_medians(decide, tell):
    runs = nights_of(tell, [5, 6, 5, 7, 5, 6, 5, 4, 5, 4])
    result = decide(runs, rule="legacy")
    # the medians are 0 or 1 by majority of three: lifts .5 .6 .5 ..., their median .5, the last .4
    assert result.drop == pytest.approx(0.1)
    assert (result.verdict, result.rule, result.statistic, result.margin) == (
        "regression",
        "legacy",
        "lift",
        0.05,
    )
    assert decide([*runs[:-1], *nights_of(tell, [5] * 10)[9:]], rule="legacy").verdict == "pass"


def test_the_prescribed_rule_tells_how_often_it_is_wrong_here(decide, tell):
    before = [5, 6, 5, 7, 5, 6, 5, 4, 5]
    result = decide(nights_of(tell, [*before, 5]), rule="legacy")
    noise = stdev([t / 10 for t in before]) * sqrt(1 + 3.14159265 / 2 / 9)
    # t(8): the chance beyond 0.05 / noise; for .05 / .0946 = .528 a table gives about .305
    assert 0.05 / noise == pytest.approx(0.518, abs=0.02)
    assert result.false_block == pytest.approx(0.31, abs=0.01)
    assert result.power == 0.5 and result.mde == pytest.approx(
        0.05 + 0.889 * noise, abs=1e-3
    )  # t(.80, 8) = .889
    assert (
        f"this rule blocks {result.false_block:.0%} of the unchanged nights of this suite" in result.reasons
    )


def test_the_prescribed_rule_forgets_after_four_weeks(decide, tell):
    old = nights_of(tell, [9] * 10)
    new = nights_of(tell, [1] * 50)[40:]  # numbered 41 to 50: the first ten are more than four weeks before
    result = decide([*old, *new], rule="legacy", history={"minimum": 8, "window": 28})
    assert "(9 runs)" in result.reasons[0] and result.drop == pytest.approx(0)


def test_the_prescribed_rule_looks_at_one_run(decide, tell):
    with pytest.raises(UsageError, match="looks at one run"):
        decide(nights_of(tell, [5] * 10), gate.Asked(reruns=2), rule="legacy")


def test_any_policy_can_be_judged_by_the_prescribed_rule(decide, tell):
    runs = nights_of(tell, [5, 6, 5, 7, 5, 6, 5, 4, 5, 4])
    assert decide(runs, gate.Asked(rule=GateRule.LEGACY)).drop == pytest.approx(0.1)


def test_a_report_without_cases_has_no_lift_of_medians(decide, make_run):
    runs = [make_run(n, {ON: s, OFF: 0.5}) for n, s in enumerate(STEADY, 1)]
    result = decide(runs, rule="legacy")
    assert result.exit_code == 3 and result.reasons[0].startswith("no lift of medians")


# --- noise that was not measured -----------------------------------------------------------------------

# 0.6 each time, but for rounding: 0.7 - 0.1 is not 0.8 - 0.2
ROUNDED = [(0.7, 0.1), (0.8, 0.2), (0.9, 0.3)] * 4


@pytest.mark.parametrize(
    "policy", [{}, {"rule": "absolute", "threshold": 0.5}], ids=["three-verdict", "absolute"]
)
def test_a_history_that_differs_by_rounding_alone_is_refused(decide, make_run, policy):
    assert len({on - off for on, off in ROUNDED}) == 2
    runs = [make_run(n, {ON: on, OFF: off}) for n, (on, off) in enumerate([*ROUNDED, (0.75, 0.2)], 1)]
    result = decide(runs, statistic="difference", **policy)
    assert (result.exit_code, result.mde) == (3, None)
    assert result.reasons == ["the history does not vary at all: a repeated answer is not a measured noise"]


def test_a_minimum_has_no_errors_where_the_history_differs_by_rounding_alone(decide, make_run):
    runs = [make_run(n, {ON: on, OFF: off}) for n, (on, off) in enumerate([*ROUNDED, (0.75, 0.2)], 1)]
    result = decide(runs, statistic="difference", rule="minimum-delta", minimum_delta=0.5)
    assert result.exit_code == 0 and (result.false_block, result.mde) == (None, None)


def test_the_prescribed_rule_does_not_call_an_unmeasured_noise_zero(decide, tell):
    result = decide(nights_of(tell, [5] * 10), rule="legacy")
    assert (result.verdict, result.false_block, result.power, result.mde) == ("pass", None, None, None)
    assert "how often it is wrong is unknown" in result.reasons[1]
