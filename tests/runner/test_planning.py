"""Plans: modes, seeds, order, run ids."""

import re
from collections import Counter

import pytest

from evalstats import runner, trials
from evalstats.contract import Arm
from evalstats.errors import SuiteError, UsageError
from evalstats.runner import Options

CASES = "abcdefgh"


@pytest.fixture
def suite(make_suite, case):
    return make_suite(*(case(name, archetype="A1" if name < "e" else "A10", shell="true") for name in CASES))


def order(plan):
    return [(spec.case.id, spec.arm, spec.trial_index) for spec in plan.specs]


@pytest.mark.parametrize(
    "mode, arms",
    [
        ("skill-on", [Arm.SKILL_ON]),
        ("with-skill", [Arm.SKILL_ON]),
        ("skill-off", [Arm.SKILL_OFF]),
        ("baseline", [Arm.SKILL_OFF]),
        ("both", [Arm.SKILL_ON, Arm.SKILL_OFF]),
    ],
)
def test_modes_and_their_aliases(suite, mode, arms):
    plan = runner.plan(suite, Options(mode=mode))
    assert [run.arm for run in plan.runs] == arms
    assert len(plan.specs) == len(arms) * len(CASES)


def test_default_mode_is_skill_on(suite):
    assert runner.plan(suite).mode == "skill-on"


def test_default_run_id_says_when_and_what_and_is_new_each_time(suite):
    one, other = runner.plan(suite), runner.plan(suite)
    assert re.fullmatch(r"eval-\d{8}T\d{6}Z-tiny-[0-9a-f]{6}", one.group_id)
    assert one.group_id != other.group_id
    assert one.seed == trials.run_seed(one.group_id) != other.seed


def test_run_ids_of_one_arm_and_of_two(suite):
    assert [r.run_id for r in runner.plan(suite, Options(run_id="x")).runs] == ["x"]
    both = runner.plan(suite, Options(run_id="x", mode="both"))
    assert both.group_id == "x"
    assert [r.run_id for r in both.runs] == ["x-skill-on", "x-skill-off"]


def test_each_trial_has_the_documented_seed_and_key(suite):
    plan = runner.plan(suite, Options(mode="both", trials=2, seed=7, run_id="x"))
    for spec in plan.specs:
        assert spec.seed == trials.trial_seed(7, spec.case.id, spec.arm, spec.trial_index)
        assert spec.key == trials.trial_key(f"x-{spec.arm}", spec.case.id, spec.arm, spec.trial_index)
    assert len({spec.seed for spec in plan.specs}) == len({spec.key for spec in plan.specs}) == 32


def test_arms_are_adjacent_and_lead_in_turn(suite):
    plan = runner.plan(suite, Options(mode="both", trials=5, seed=1))
    pairs = list(zip(plan.specs[::2], plan.specs[1::2], strict=True))
    for one, other in pairs:
        assert (one.case.id, one.trial_index) == (other.case.id, other.trial_index)
        assert {one.arm, other.arm} == {Arm.SKILL_ON, Arm.SKILL_OFF}
    leads = Counter(one.arm for one, _ in pairs)
    assert 10 <= leads[Arm.SKILL_ON] <= 30  # of 40; a fair coin leaves this range once in 1,400 seeds


def test_order_is_a_matter_of_the_seed_alone(suite):
    def planned(seed, run_id):
        return order(runner.plan(suite, Options(mode="both", trials=3, seed=seed, run_id=run_id)))

    assert planned(1, "x") == planned(1, "y")
    assert planned(1, "x") != planned(2, "x")
    assert sorted(planned(1, "x")) == sorted(planned(2, "x"))
    one_arm = [order(runner.plan(suite, Options(trials=3, seed=seed))) for seed in (1, 2)]
    assert one_arm[0] != one_arm[1]


def test_leaving_out_cases_keeps_order_and_seeds_of_the_others(suite):
    whole = runner.plan(suite, Options(trials=3, seed=1))
    part = runner.plan(suite, Options(trials=3, seed=1, case_ids=("b", "g")))
    kept = [spec for spec in whole.specs if spec.case.id in "bg"]
    assert [(s.case.id, s.trial_index, s.seed) for s in kept] == [
        (s.case.id, s.trial_index, s.seed) for s in part.specs
    ]


def test_blocked_order_on_request(make_suite, case):
    suite = make_suite(case("a", shell="true"), case("b", shell="true"), trials={"order": "blocked"})
    plan = runner.plan(suite, Options(mode="both", trials=2))
    assert order(plan) == [(c, arm, i) for arm in (Arm.SKILL_ON, Arm.SKILL_OFF) for c in "ab" for i in (1, 2)]


def test_archetype_is_matched_exactly(suite):
    assert [c.id for c in runner.plan(suite, Options(archetype="A1")).cases] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "options, field",
    [
        (Options(mode="skill"), "--mode"),
        (Options(mode="ab"), "--mode"),
        (Options(mode="candidate"), "--mode"),
        (Options(context_mode="both"), "--context-mode"),
        (Options(context_mode="baseline"), "--context-mode"),
        (Options(mode="skill-on", context_mode="ab"), "--context-mode"),
        (Options(mode="both", candidate="HEAD"), "--candidate"),
        (Options(context_mode="ab", candidate="HEAD"), "--candidate"),
        (Options(candidate="HEAD"), "--candidate"),
        (Options(archetype="A2"), "--archetype"),
        (Options(case_ids=("z",)), "--case"),
        (Options(archetype="A1", case_ids=("h",)), "--case"),
        (Options(trials=0), "--trials"),
        (Options(trials=100_001), "--trials"),
        (Options(seed=-1), "--seed"),
        (Options(seed=2**53), "--seed"),
        (Options(run_id="../x"), "--run-id"),
        (Options(run_id=""), "--run-id"),
        (Options(run_id="x" * 189), "--run-id"),
    ],
)
def test_what_is_asked_for_and_not_there(suite, options, field):
    with pytest.raises(UsageError) as caught:
        runner.plan(suite, options)
    assert caught.value.field == field


def test_trials_default_to_the_suite(make_suite, case):
    assert runner.plan(make_suite(case("a", shell="true"), trials={"per_case": 4})).trials_per_case == 4
    assert runner.plan(make_suite(case("a", shell="true"), tier="live")).trials_per_case == 3


@pytest.mark.parametrize("mode", ["ab", "context-on", "context-off"])
def test_the_longest_run_id_leaves_room_for_its_arm(suite, mode):
    runs = runner.plan(suite, Options(run_id="x" * 188, context_mode=mode)).runs
    assert max(len(run.run_id) for run in runs) <= 200


def test_missing_fixture_stops_the_plan(make_suite, case):
    suite = make_suite(case("a", shell="true"), fixtures=[{"path": "gone.txt", "purpose": "test"}])
    with pytest.raises(SuiteError, match="missing"):
        runner.plan(suite)
