"""What goes wrong at night: each ends in the right exit code, and in a sentence that says what to do."""

import pytest

from evalstats import contract, gate
from evalstats.errors import UsageError

ON, OFF = "skill-on", "skill-off"
STEADY = [0.80, 0.82, 0.79, 0.81, 0.80, 0.78, 0.82, 0.80, 0.81, 0.79]
NOW = "2026-03-01T00:00:00Z"


@pytest.fixture
def nights(make_run):
    """Return the steady nights as runs, numbered from 1."""
    return [make_run(n, {ON: s}) for n, s in enumerate(STEADY, 1)]


@pytest.fixture
def said(make_report, make_policy):
    """Return a function: runs, what is asked and the policy -> exit code and reasons, of a valid record."""

    def decided(runs, asked=None, **policy):
        document, rules = make_report(runs), make_policy(**policy)
        contract.validate(document, "report.v1")
        contract.validate(rules, "policy.v1")
        result = gate.decide(document, rules, asked)
        contract.validate(result.as_record(), "gate-result.v1")
        return result.exit_code, result.reasons

    return decided


def test_a_missing_baseline(said, nights):
    code, reasons = said(nights[:1])
    assert code == 3
    assert reasons == [
        "there is no baseline: no run before the candidate",
        "the history holds 0 night(s) of the same identity, the policy asks for 8",
    ]


def test_an_empty_comparison(said, make_run):
    assert said([]) == (3, ["nothing to compare: no run has the pass_rate of the policy"])
    only_off = [make_run(n, {OFF: 0.5}) for n in range(1, 12)]
    assert said(only_off) == (3, ["nothing to compare: no run has the pass_rate of the policy"])


def test_a_changed_lock(said, nights, make_run):
    """A locked case that changed changes the scoring digest of the suite: the history ends there."""
    code, reasons = said([*nights, make_run(11, {ON: 0.8}, identity={"suite_scoring": "b" * 64})])
    assert code == 3
    assert reasons[1] == "the history begins after run-10: suite_scoring changed"
    assert reasons[0].startswith("the history holds 0 night(s)")


def test_a_mock_run(said, nights, make_run):
    code, reasons = said([*nights, make_run(11, {ON: 1.0}, is_mock=True)])
    assert (code, reasons) == (3, ["run-11: it is a mock run"])


def test_59_of_80_trials_lost_to_infrastructure(said, nights, make_run):
    lost = make_run(11, {ON: 0.8}, n_trials=80, usable=21, infrastructure=59)
    code, reasons = said([*nights, lost])
    assert code == 3
    assert reasons == ["run-11: 59 of its 80 trials failed for infrastructure (74%, limit 10%)"]


def test_a_history_of_three_nights(said, nights, make_report, make_policy):
    code, reasons = said(nights[:4])
    assert (code, reasons) == (
        3,
        ["the history holds 3 night(s) of the same identity, the policy asks for 8"],
    )
    assert gate.decide(make_report(nights[:4]), make_policy()).runs_needed == 5


def test_a_night_that_stands_twice_in_the_report(said, nights):
    once, (code, reasons) = said(nights), said([*nights[:5], *nights[4:]])
    assert code == once[0] == 0
    assert reasons == [*once[1], "run-05 stands twice in the report and counts once"]


def test_a_night_that_was_run_twice_counts_once(said, make_run, nights):
    again = make_run(5, {ON: 0.8}, seed=99, group_id="again")
    assert said([*nights[:8], again])[0] == 3  # seven nights before the eighth, though eight runs
    assert said([*nights[:9], again])[0] == 0


def test_a_night_that_was_copied_is_a_replica(said, make_run, nights):
    copy = make_run(10, {ON: 0.79}, group_id="copy", started_at="2026-01-11T02:00:00Z")
    code, reasons = said([*nights, copy])
    assert code == 0
    assert reasons[1] == "run-10 is left out of the history: the seed is that of a later run"


def test_nights_out_of_order(said, nights):
    assert said([nights[i] for i in (9, 3, 0, 7, 1, 5, 2, 8, 6, 4)]) == said(nights)


def test_a_clock_that_was_ahead_stops_the_gate(said, nights, make_run):
    ahead = make_run(11, {ON: 0.8}, started_at="2999-01-01T02:00:00Z")
    code, reasons = said([*nights, ahead])
    assert code == 3
    assert reasons == [
        "dated in the future: run-11 (2999-01-01T02:00:00Z); "
        "set the clock right, or name the run that is meant with --candidate"
    ]


def test_a_clock_that_jumps_back_leaves_the_newest_run_among_the_old(said, nights, make_run):
    """Named, it is judged against what is dated before it, and what is dated after it is told."""
    back = make_run(12, {ON: 0.7}, group_id="newest", started_at="2026-01-09T05:00:00Z")
    code, reasons = said([*nights, back], gate.Asked(candidate="newest"))
    assert code == 1 and "below the centre of 9 nights" in reasons[0]
    assert reasons[1] == "not looked at, as dated after the candidate: run-10"
    ahead = make_run(11, {ON: 0.1}, started_at="2999-01-01T02:00:00Z")
    assert said([*nights, ahead], gate.Asked(candidate="run-10"))[0] == 0


def test_the_gate_can_be_asked_as_on_an_earlier_day(said, nights, make_run):
    later = make_run(11, {ON: 0.1})
    assert said([*nights, later])[0] == 1
    code, reasons = said([*nights, later], gate.Asked(as_of="2026-01-10T23:59:59Z"))
    assert code == 0 and reasons[-1] == "not looked at, as dated after the candidate: run-11"
    code, reasons = said(nights, gate.Asked(as_of="2025-01-01T00:00:00Z"))
    assert code == 3 and reasons[0] == "nothing to compare: no run is dated before the time of asking"


def test_a_run_that_is_not_in_the_report_is_named(said, nights):
    with pytest.raises(UsageError, match="no such run in the report; the newest: run-10, run-09"):
        said(nights, gate.Asked(candidate="nobody"))


@pytest.mark.parametrize(
    ("hours", "whole"),
    [
        # half past one in Berlin: 00:30 UTC in winter, 23:30 the day before in summer
        (["03-27T00:30", "03-28T00:30", "03-29T00:30", "03-29T23:30", "03-30T23:30"], 5),  # spring: one date twice
        (["10-22T23:30", "10-23T23:30", "10-24T23:30", "10-26T00:30", "10-27T00:30"], 5),  # autumn: one date never
        (["03-27T23:50", "03-28T00:10", "03-28T23:50", "03-29T00:10", "03-29T23:50"], 3),  # two runs about midnight
    ],
)  # fmt: skip
def test_a_daylight_saving_night_is_a_night(make_run, make_policy, hours, whole):
    rows = [
        row
        for n, hour in enumerate(hours, 1)
        for row in make_run(n, {ON: 0.8}, started_at=f"2026-{hour}:00Z")
    ]
    from evalstats.gate.series import points

    found, _ = points(rows, gate.policy_of(make_policy()))
    assert len({point.night for point in found}) == whole


# --- who makes the history ------------------------------------------------------------------------


def test_only_the_main_line_is_a_yardstick(said, nights, make_run):
    branch = [make_run(n, {ON: 0.2}, git_ref="fix/door") for n in (11, 12)]
    main = [[{**row, "git_ref": "main"} for row in run] for run in nights]
    code, reasons = said([*main, *branch, make_run(13, {ON: 0.8}, git_ref="fix/door")])
    assert code == 0 and "the centre of 10 nights" in reasons[0]
    told = "2 runs (run-11 to run-12) are left out of the history: not made on the main line"
    assert reasons[1] == told
    refs = {"minimum": 8, "window": 28, "refs": ["fix/*"]}
    assert said([*main, *branch, make_run(13, {ON: 0.8})], history=refs)[0] == 3


def test_another_branch_does_not_cut_the_history(said, nights, make_run):
    other = make_run(11, {ON: 0.2}, git_ref="try-a-model", identity={"model": "m-9"})
    assert said([*nights, other, make_run(12, {ON: 0.8})])[0] == 0


def test_runs_the_policy_excludes_and_those_before_its_day(said, nights, make_run):
    last = make_run(11, {ON: 0.8})
    two = {"minimum": 8, "window": 28, "exclude": ["run-03", "run-04-skill-on"]}
    code, reasons = said([*nights, last], history=two)
    assert (
        code == 0
        and "2 runs (run-03 to run-04) are left out of the history: excluded by the policy" in reasons
    )
    since = {"minimum": 8, "window": 28, "since": "2026-01-04T00:00:00Z"}
    code, reasons = said([*nights, last], history=since)
    assert code == 3 and "the history holds 7 night(s)" in reasons[0]


@pytest.mark.parametrize(
    ("blocked", "left_out"),
    [
        (["run-10"], ["run-10"]),  # nothing passed since
        (["run-05"], []),  # a lone alarm, and the next night passed: it is one of the unchanged nights
        (["run-05", "run-06"], ["run-05", "run-06"]),  # two in a row: something was broken
        (["run-05", "run-09", "run-10"], ["run-09", "run-10"]),
    ],
)
def test_what_the_gate_blocked_is_no_yardstick_unless_it_was_a_lone_alarm(
    make_report, make_policy, make_run, nights, blocked, left_out
):
    report = make_report([*nights, make_run(11, {ON: 0.8})])
    result = gate.decide(report, make_policy(), gate.Asked(blocked=frozenset(blocked)))
    assert [f"run-{n:02}" for n in range(1, 11) if f"run-{n:02}" not in result.history] == left_out


def test_the_window_counts_nights(make_report, make_policy, make_run, nights):
    twice = [make_run(n + 20, {ON: 0.8}, started_at=f"2026-01-{n:02}T03:00:00Z") for n in range(1, 11)]
    policy = make_policy(history={"minimum": 2, "window": 3})
    result = gate.decide(make_report([*nights, *twice, make_run(15, {ON: 0.8})]), policy)
    assert sorted(result.history) == ["run-08", "run-09", "run-10", "run-28", "run-29", "run-30"]


@pytest.mark.parametrize(
    "between",
    [{"git_ref": "pr-5"}, {"is_mock": True}, {"infrastructure": 20}, {"n_cases": 4}],
    ids=["branch", "mock", "infrastructure", "smoke"],
)
def test_only_a_full_run_of_the_main_line_settles_a_block(
    make_report, make_policy, make_run, nights, between
):
    """A run of a pull request the day after a regression does not make the regression a yardstick."""
    runs = [
        *nights,
        make_run(11, {ON: 0.6}),
        make_run(12, {ON: 0.8}, **between),
        make_run(13, {ON: 0.6}),
        make_run(14, {ON: 0.8}, **between),
        make_run(15, {ON: 0.6}),
    ]
    asked = gate.Asked(blocked=frozenset({"run-11", "run-13"}))
    result = gate.decide(make_report(runs), make_policy(), asked)
    assert result.history == [f"run-{n:02}" for n in range(1, 11)] and result.exit_code == 1


def test_a_run_of_a_branch_in_the_afternoon_does_not_part_the_night_after(
    make_report, make_policy, make_run, nights
):
    """Reruns at two and at three are one look, though a pull request ran at half past two in the afternoon."""
    looks = [make_run(n, {ON: 0.74}, started_at=f"2026-01-11T0{n - 10}:00:00Z") for n in (12, 13)]
    one = gate.decide(make_report([*nights, *looks]), make_policy(), gate.Asked(reruns=2))
    for aside in ({"git_ref": "pr-9"}, {"is_mock": True}):
        other = make_run(11, {ON: 0.9}, started_at="2026-01-10T14:30:00Z", **aside)
        two = gate.decide(make_report([*nights, other, *looks]), make_policy(), gate.Asked(reruns=2))
        assert (two.false_block, two.mde) == (one.false_block, one.mde)


def test_looks_of_two_branches_are_not_looks_at_one_thing(said, nights, make_run):
    mixed = [*nights, make_run(11, {ON: 0.8}, git_ref="pr-1"), make_run(12, {ON: 0.8}, git_ref="main")]
    code, reasons = said(mixed, gate.Asked(reruns=2))
    assert code == 3 and "the candidate's runs are of several branches" in reasons[0]
    same = [*nights, *(make_run(n, {ON: 0.8}, git_ref="pr-1") for n in (11, 12))]
    assert said(same, gate.Asked(reruns=2))[0] == 0


@pytest.mark.parametrize("asked", [{"candidate": "run-11"}, {"as_of": "2026-01-11T23:00:00Z"}])
def test_a_decision_can_be_repeated_when_the_model_has_changed_since(
    make_report, make_policy, make_run, asked
):
    """The lift of a run is over the off arm up to it, not over that of a later model."""
    runs = [make_run(n, {ON: s, OFF: 0.5}) for n, s in enumerate([*STEADY, 0.74], 1)]
    policy = make_policy(statistic="lift", margin=0.12)
    then = gate.decide(make_report(runs), policy)
    since = make_run(12, {ON: 0.9, OFF: 0.1}, identity={"model": "m-2"})
    again = gate.decide(make_report([*runs, since]), policy, gate.Asked(**asked))
    assert then.exit_code == 1
    assert (again.verdict, again.drop, again.mde) == (then.verdict, then.drop, then.mde)


@pytest.mark.parametrize("text", ["", "yesterday"])
def test_a_time_that_is_none_is_refused(said, nights, text):
    with pytest.raises(UsageError, match="is no time"):
        said(nights, gate.Asked(as_of=text))
