"""What a case can still show: words with their bounds, against closed forms and published intervals."""

from math import sqrt

import pandas as pd
import pytest

from evalstats.errors import UsageError
from evalstats.governance.headroom import believable, screen

Z2 = 3.841458820694124  # square of the normal quantile at 0.975


def rows(*counts, **changes):
    """Return a case table from (case, arm, passed, usable[, sum of scores])."""
    table = []
    for case_id, arm, passed, usable, *score in counts:
        row = {
            "case_id": case_id,
            "archetype": "A1",
            "arm": arm,
            "n_trials": usable,
            "n_usable": usable,
            "n_passed": passed,
            "score_sum": float(score[0] if score else passed),
        }
        table.append({**row, **changes})
    return pd.DataFrame(table)


def judged(on, off, **options):
    (found,) = screen(rows(("c", "skill-on", *on), ("c", "skill-off", *off)), **options)
    return found


def test_three_of_three_looks_saturated_and_the_bound_says_how_little_that_is():
    found = judged((3, 3), (3, 3))
    assert (found.word, found.certain, found.more_trials) == ("saturated", False, 56)
    assert found.bound == pytest.approx(0.05 ** (1 / 3))  # 0.3684: a coin would do that
    assert found.why == "rates at least 0.3684"


def test_none_of_three_looks_like_the_floor_in_the_same_way():
    found = judged((0, 3), (0, 3))
    assert (found.word, found.certain, found.more_trials) == ("floor", False, 56)
    assert found.bound == pytest.approx(1 - 0.05 ** (1 / 3))


@pytest.mark.parametrize(("trials", "certain", "more"), [(58, False, 1), (59, True, 0), (60, True, 0)])
def test_fifty_nine_trials_that_agree_are_certain(trials, certain, more):
    top, bottom = judged((trials, trials), (trials, trials)), judged((0, trials), (0, trials))
    assert (top.word, top.certain, top.more_trials) == ("saturated", certain, more)
    assert (bottom.word, bottom.certain, bottom.more_trials) == ("floor", certain, more)


def test_the_shorter_arm_sets_the_bound():
    found = judged((59, 59), (3, 3))
    assert (found.certain, found.more_trials) == (False, 56)
    assert found.bound == pytest.approx(0.05 ** (1 / 3))


def test_one_failure_among_many_is_saturated_when_the_bound_allows_it():
    found = judged((99, 100), (99, 100))
    b = found.bound
    assert (found.word, found.certain) == ("saturated", True)
    assert 100 * b**99 * (1 - b) + b**100 == pytest.approx(0.05)  # the binomial tail that defines the bound
    assert judged((57, 58), (57, 58)).word == "open"


def test_separated_when_the_interval_of_the_difference_leaves_zero_out():
    found = judged((3, 3), (0, 3))
    assert (found.word, found.certain, found.more_trials) == ("separated", True, None)
    # each Wilson interval reaches z2 / (n + z2) from its end; square and add
    assert found.bound == pytest.approx(1 - sqrt(2) * Z2 / (3 + Z2))
    worse = judged((0, 3), (3, 3))
    assert (worse.word, worse.bound) == ("separated", pytest.approx(found.bound))
    assert judged((2, 3), (0, 3)).word == "open"


def test_a_failed_trial_that_earned_a_score_is_off_the_floor():
    assert judged((0, 3, 1.5), (0, 3)).word == "open"
    assert judged((0, 3, 1e-12), (0, 3)).word == "floor"


def test_a_case_without_trials_in_both_arms_is_unmeasured():
    table = rows(("a", "skill-on", 3, 3), ("b", "skill-on", 0, 0), ("b", "skill-off", 1, 1))
    found = screen(table, cases=["z", "a"])
    assert [(case.case_id, case.word, case.bound, case.why) for case in found] == [
        ("z", "unmeasured", None, "no usable trial in skill-on and skill-off"),
        ("a", "unmeasured", None, "no usable trial in skill-off"),
        ("b", "unmeasured", None, "no usable trial in skill-on"),
    ]
    assert [case.word for case in screen(None, cases=["a"])] == ["unmeasured"]
    assert screen(None) == []


def test_runs_of_a_case_add_up_and_other_arms_do_not_count():
    table = rows(
        *[("c", arm, 1, 1) for arm in ("skill-on", "skill-off")] * 3,
        ("c", "context-on", 0, 9),
    )
    (found,) = screen(table)
    assert [(arm.n_passed, arm.n_usable) for arm in found.arms] == [(3, 3), (3, 3)]
    (context,) = screen(table, axis="context")
    assert context.word == "unmeasured"


def test_another_room_and_level():
    # ln 0.1 / ln 0.9 = 21.9
    assert judged((22, 22), (22, 22), room=0.1, level=0.9).certain
    assert not judged((21, 21), (21, 21), room=0.1, level=0.9).certain


@pytest.mark.parametrize(
    "options", [{"room": 0}, {"room": 0.5}, {"level": 0.5}, {"level": 1}, {"room": float("nan")}]
)
def test_a_room_or_level_without_meaning_is_refused(options):
    with pytest.raises(UsageError):
        screen(None, **options)


def test_mock_runs_and_a_suite_that_changed_since_are_told(tmp_path, write_suite):
    from evalstats import suite as suites

    suite = suites.load(write_suite(tmp_path))
    identity = dict.fromkeys(
        ("model", "judge_model", "judge_rubric_sha256", "registry_version", "cli_version"), "x"
    )
    table = pd.concat(
        [
            rows(
                ("open", "skill-on", 1, 1),
                run_id="real",
                seed=1,
                is_mock=False,
                suite_scoring="old",
                **identity,
            ),
            rows(
                ("open", "skill-on", 0, 1),
                run_id="fake",
                seed=2,
                is_mock=True,
                suite_scoring="old",
                **identity,
            ),
        ]
    ).assign(created_at=pd.Timestamp("2026-11-01"))
    kept, notes = believable(table, suite)
    assert list(kept["run_id"]) == ["real"]
    assert notes[0] == "1 mock run(s) left out"
    assert notes[1].startswith("the suite has changed since these runs")
    assert believable(None, suite) == (None, [])
    assert believable(table[table["is_mock"]], suite) == (None, ["1 mock run(s) left out"])
