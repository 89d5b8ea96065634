"""One value a run, in the order of time; the history ends where the subject stops being the same."""

from math import isclose

import pytest

from evalstats.gate import policy_of
from evalstats.gate.series import history
from evalstats.gate.series import points as points_and_notes

ON, OFF = "skill-on", "skill-off"


def points(rows, policy):
    found, notes = points_and_notes(rows, policy_of(policy))
    assert notes == []
    return found


@pytest.fixture
def past(make_run, make_policy):
    """Return a function: (earlier runs, candidate run) -> (kept group ids, notes)."""

    def kept(earlier, candidate, **policy):
        policy = make_policy(**policy)
        series = points([row for run in [*earlier, candidate] for row in run], policy)
        runs, notes = history(series[:-1], series[-1:], policy_of(policy), 10)
        return [run.group_id for run in runs], notes

    return kept


@pytest.mark.parametrize(
    ("statistic", "values"),
    [
        ("pass_rate", [0.8, 0.6]),
        ("difference", [0.4, 0.3]),
        # the pooled off arm passes 0.35, so 0.65 is there to be gained
        ("lift", [1 - 0.2 / 0.65, 1 - 0.4 / 0.65]),
    ],
)
def test_each_statistic_by_hand(make_run, make_policy, statistic, values):
    rows = make_run(1, {ON: 0.8, OFF: 0.4}) + make_run(2, {ON: 0.6, OFF: 0.3})
    found = points(rows, make_policy(statistic=statistic))
    assert all(isclose(p.value, v, abs_tol=1e-12) for p, v in zip(found, values, strict=True))


def test_pass_rate_follows_the_arm_of_the_policy(make_run, make_policy):
    rows = make_run(1, {ON: 0.8, OFF: 0.4}) + make_run(2, {ON: 0.6})
    assert [p.value for p in points(rows, make_policy())] == [0.8, 0.6]
    assert [p.group_id for p in points(rows, make_policy(arm=OFF))] == ["run-01"]
    assert points(rows, make_policy(arm="candidate")) == []


def test_a_run_that_lacks_an_arm_or_a_score_has_no_value(make_run, make_policy):
    rows = make_run(1, {ON: 0.8}) + make_run(2, {ON: None, OFF: 0.4}) + make_run(3, {ON: 0.8, OFF: 0.4})
    for statistic in ("difference", "lift"):
        values = [p.value for p in points(rows, make_policy(statistic=statistic))]
        assert values[:2] == [None, None] and values[2] is not None


def test_lift_without_headroom_has_no_value(make_run, make_policy):
    rows = make_run(1, {ON: 1.0, OFF: 1.0}) + make_run(2, {ON: 0.9, OFF: 1.0})
    assert [p.value for p in points(rows, make_policy(statistic="lift"))] == [None, None]


def test_only_real_runs_of_the_newest_identity_are_pooled(make_run, make_policy):
    rows = [
        *make_run(1, {ON: 0.5, OFF: 0.0}, identity={"model": "m-0"}),
        *make_run(2, {ON: 0.5, OFF: 0.0}, is_mock=True),
        *make_run(3, {ON: 0.8, OFF: 0.6}),
    ]
    assert points(rows, make_policy(statistic="lift"))[-1].value == pytest.approx(0.5)


def test_time_orders_the_runs_not_the_rows(make_run, make_policy):
    runs = [make_run(n, {ON: n / 10, OFF: 0.0}) for n in (3, 1, 2)]
    mixed = [run[1] for run in runs] + [run[0] for run in runs]
    assert [p.group_id for p in points(mixed, make_policy())] == ["run-01", "run-02", "run-03"]


def test_fractions_of_a_second_come_after_the_whole(make_run, make_policy):
    rows = make_run(1, {ON: 0.1}, started_at="2026-01-01T00:00:00.5Z")
    rows += make_run(2, {ON: 0.2}, started_at="2026-01-01T00:00:00Z")
    assert [p.value for p in points(rows, make_policy())] == [0.2, 0.1]


def test_a_pair_is_as_weak_as_its_weaker_arm(make_run, make_policy):
    on, off = make_run(1, {ON: 0.8}), make_run(1, {OFF: 0.4}, n_cases=9, infrastructure=15, is_mock=True)
    (pair,) = points(on + off, make_policy(statistic="difference"))
    assert (pair.n_cases, pair.infrastructure_rate, pair.is_mock) == (9, 0.25, True)
    (alone,) = points(on + off, make_policy())
    assert (alone.n_cases, alone.infrastructure_rate, alone.is_mock) == (10, 0.0, False)


def test_a_run_without_trials_is_all_infrastructure(make_run, make_policy):
    (run,) = points(make_run(1, {ON: None}, n_trials=0, usable=0), make_policy())
    assert run.infrastructure_rate == 1.0


# --- the history ----------------------------------------------------------------------------------


def test_the_history_is_the_window_before_the_candidate(past, make_run):
    runs = [make_run(n, {ON: 0.8}) for n in range(1, 7)]
    window = {"minimum": 2, "window": 3}
    assert past(runs[:-1], runs[-1], history=window) == (["run-03", "run-04", "run-05"], [])


@pytest.mark.parametrize("key", ["suite_scoring", "model", "judge_model", "cli_version"])
def test_a_change_of_identity_cuts_the_history_and_is_said(past, make_run, key):
    runs = [make_run(n, {ON: 0.8}) for n in range(1, 5)]
    runs[1] = make_run(2, {ON: 0.8}, identity={key: "other"})
    kept, notes = past(runs[:-1], runs[-1])
    assert kept == ["run-03"]  # run-01 is of the same identity again, but lies before the cut
    assert notes == [f"the history begins after run-02: {key} changed"]


def test_the_policy_says_what_identity_is(past, make_run):
    runs = [make_run(n, {ON: 0.8}, identity={"model": f"m-{n}"}) for n in range(1, 4)]
    assert past(runs[:-1], runs[-1], identity=["suite_scoring"])[0] == ["run-01", "run-02"]
    assert past(runs[:-1], runs[-1], identity=["suite_scoring", "model"])[0] == []


@pytest.mark.parametrize(
    ("unusual", "score", "sentence"),
    [
        ({"is_mock": True}, 0.8, "answered by a mock"),
        ({"infrastructure": 4}, 0.8, "more than 10% of the trials failed for infrastructure"),
        ({"n_cases": 9}, 0.8, "the cases with a score are not 10"),
        ({"seed": 4}, 0.8, "the seed is that of a later run"),
        ({"seed": 3}, 0.8, "the seed is that of a later run"),
        ({}, None, "an arm is missing, has no usable trial or, for lift, leaves no headroom"),
    ],
)
def test_a_run_that_is_no_yardstick_is_left_out_and_said(past, make_run, unusual, score, sentence):
    runs = [make_run(n, {ON: 0.8}) for n in range(1, 5)]
    runs[1] = make_run(2, {ON: score}, **unusual)
    kept, notes = past(runs[:-1], runs[-1])
    assert kept == ["run-01", "run-03"]
    assert notes == [f"run-02 is left out of the history: {sentence}"]


def test_runs_with_one_reason_share_a_sentence(past, make_run):
    runs = [make_run(n, {ON: 0.8}, is_mock=n < 4, n_cases=9 if n == 4 else 10) for n in range(1, 7)]
    kept, notes = past(runs[:-1], runs[-1])
    assert kept == ["run-05"]
    assert notes == [
        "run-04 is left out of the history: the cases with a score are not 10",
        "3 runs (run-01 to run-03) are left out of the history: answered by a mock",
    ]


def test_a_broken_candidate_does_not_spoil_the_history(past, make_run):
    runs = [make_run(n, {ON: 0.8}) for n in (1, 2)]
    broken = make_run(3, {ON: None}, n_cases=0, usable=0, infrastructure=30)
    assert past(runs, broken) == (["run-01", "run-02"], [])


def test_infrastructure_up_to_the_limit_is_borne(past, make_run):
    runs = [make_run(n, {ON: 0.8}, infrastructure=3) for n in (1, 2)]
    assert past(runs[:-1], runs[-1])[0] == ["run-01"]
    assert past(runs[:-1], runs[-1], max_infrastructure_rate=0.0)[0] == []


def test_unknown_seeds_are_not_taken_for_the_same(past, make_run):
    runs = [make_run(n, {ON: 0.8}, seed=None) for n in (1, 2, 3)]
    assert past(runs[:-1], runs[-1]) == (["run-01", "run-02"], [])


def test_nothing_older_than_a_full_window_is_spoken_of(past, make_run):
    runs = [make_run(n, {ON: 0.8}) for n in range(1, 5)]
    runs[0] = make_run(1, {ON: 0.8}, identity={"model": "m-0"})
    assert past(runs[:-1], runs[-1], history={"minimum": 2, "window": 2}) == (["run-02", "run-03"], [])
