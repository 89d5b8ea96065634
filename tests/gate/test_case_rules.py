"""k of n, and canaries: what single cases say, and how often unchanged ones would be blocked."""

import pytest

from evalstats import gate

ON, OFF = "skill-on", "skill-off"


@pytest.fixture
def decide(make_report, make_policy, tell):
    """Return a function: cases of the past nights and of the last (case -> (passed, usable)) -> result."""

    def decided(past, last, nights=9, **policy):
        runs = [tell(n, {ON: past}) for n in range(1, nights + 1)] + [tell(nights + 1, {ON: last})]
        facts = {case: {"archetype": None, "dimensions": []} for case in {**past, **last}}
        return gate.decide(make_report(runs, facts=facts), make_policy(**policy))

    return decided


ALL = {"a": (3, 3), "b": (3, 3)}


@pytest.mark.parametrize(
    ("last", "verdict", "reason"),
    [
        ({"a": (2, 3), "b": (3, 3)}, "pass", "all of 2 case(s) passed as many trials as they must"),
        ({"a": (1, 3), "b": (3, 3)}, "regression", "a passed 1 of 3 trials, 2 needed"),
        (
            {"a": (1, 3), "b": (0, 3)},
            "regression",
            "a passed 1 of 3 trials, 2 needed; b passed 0 of 3 trials, 2 needed",
        ),
        ({"a": (4, 6), "b": (6, 6)}, "pass", "all of 2 case(s) passed as many trials as they must"),
        ({"a": (3, 6), "b": (6, 6)}, "regression", "a passed 3 of 6 trials, 4 needed"),
    ],
)
def test_two_of_three(decide, last, verdict, reason):
    result = decide(ALL, last, rule="per-case", per_case={"k": 2, "n": 3})
    assert (result.verdict, result.reasons[0]) == (verdict, reason)


def test_too_few_trials_say_nothing_and_how_many_runs_are_missing(decide):
    result = decide(ALL, {"a": (1, 1), "b": (3, 3)}, rule="per-case", per_case={"k": 2, "n": 3})
    assert (result.exit_code, result.runs_needed) == (3, 2)
    assert result.reasons == ["3 usable trials of each case are needed, and these have fewer: a"]


def test_only_the_named_cases_are_held_to_it(decide):
    asked = {"k": 3, "n": 3, "cases": ["b"]}
    assert decide(ALL, {"a": (0, 3), "b": (3, 3)}, rule="per-case", per_case=asked).exit_code == 0


def test_it_tells_how_often_unchanged_cases_are_blocked(decide):
    """Nine nights of three passes: the next trial fails with chance 1/56 (Jeffreys), and the trials go together."""
    result = decide(ALL, ALL, rule="per-case", per_case={"k": 3, "n": 3})
    # three of three after 27 of 27: (27.5 28.5 29.5) / (28 29 30), for each of two cases
    one = 27.5 * 28.5 * 29.5 / (28 * 29 * 30)
    assert result.false_block == pytest.approx(1 - one**2, abs=1e-9)
    # after a drop of the margin each trial passes with 27.5/28 - .1
    assert result.power == pytest.approx(1 - (27.5 / 28 - 0.1) ** 6, abs=1e-9)
    assert 1 - (27.5 / 28 - result.mde) ** 6 == pytest.approx(0.8, abs=1e-6)


# --- canaries ---------------------------------------------------------------------------------------


def test_one_failure_of_a_canary_blocks_whatever_the_rule(decide):
    last = {"a": (2, 3), "b": (3, 3)}
    assert decide(ALL, last, rule="critical", critical_cases=["a"]).exit_code == 1
    assert decide(ALL, last, rule="critical", critical_cases=["b"]).exit_code == 0
    result = decide(ALL, last, critical_cases=["a"], history={"minimum": 20, "window": 28})
    assert result.verdict == "regression"  # though the history is too short for the rule itself
    assert result.reasons[0] == "a passed 2 of 3 trials, 3 needed"
    assert [check.verdict for check in result.checks] == ["cannot_gate", "regression"]


def test_a_canary_needs_no_history(decide):
    assert decide(ALL, ALL, nights=0, rule="critical", critical_cases=["a"]).exit_code == 0


def test_a_canary_that_did_not_run_is_never_a_pass(decide):
    result = decide(ALL, ALL, rule="critical", critical_cases=["a", "zebra"])
    assert (result.exit_code, result.reasons) == (3, ["no usable trial of the critical zebra"])
