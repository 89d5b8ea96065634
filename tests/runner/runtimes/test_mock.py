"""Scripted answers: drawn as written, from the seed of the trial; drift, refusals, delays."""

import statistics
from collections import Counter

import pytest

from evalstats.contract import Outcome
from evalstats.errors import SuiteError

YES = {"text": "yes"}


@pytest.fixture
def play(make_suite, prompt_case, go):
    """Return a function that runs one script and gives back trials and records."""

    def run(script, *, suite=None, given=None, **options):
        made = make_suite(prompt_case("a", mock=script, **(given or {})), tier="headless", **(suite or {}))
        return go(made, runtime="mock", **options)

    return run


def test_answers_come_as_often_as_the_script_says(play):
    script = {
        "answers": [{"text": "yes", "probability": 0.7}, {"text": "no", "probability": 0.2}, {"text": "eh"}]
    }
    ran = play(script, trials=600, seed=5)
    said = Counter(ran.blobs.get(t.artifacts["stdout"]).decode() for t in ran.trials)
    for text, share in (("yes", 0.7), ("no", 0.2), ("eh", 0.1)):
        assert abs(said[text] / 600 - share) < 4 * (share * (1 - share) / 600) ** 0.5
    (record,) = ran.result.records
    assert record["is_mock"] is True
    assert (record["runtime"]["name"], record["runtime"]["live"]) == ("mock", False)


def test_the_seed_says_it_all(play):
    script = {"answers": [{"text": "yes", "probability": 0.5}, {"text": "no"}]}
    runs = [
        [t.passed for t in play(script, trials=40, seed=s, run_id=f"r{i}").trials]
        for i, s in enumerate((1, 1, 2))
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_an_arm_has_answers_of_its_own(play):
    script = {"answers": [YES], "cost": 0.5, "arms": {"skill-off": {"answers": [{"text": "no"}]}}}
    ran = play(script, mode="both", trials=3)
    assert {(t.arm, t.passed, t.cost) for t in ran.trials} == {
        ("skill-on", True, 0.5),
        ("skill-off", False, 0.5),
    }
    assert [r["cost"] for r in ran.result.records] == [1.5, 1.5]


def test_refusals_are_tried_again_and_then_lost(play):
    script = {"answers": [YES], "errors": [{"status": 429, "probability": 1, "retry_after_s": 0.01}]}
    (trial,) = play(script, suite={"environment": {"max_attempts": 2}}).trials
    assert (trial.outcome, trial.attempt, trial.score) == (Outcome.INFRASTRUCTURE, 2, None)
    script["errors"] = [{"status": 401, "probability": 1}]
    (trial,) = play(script, run_id="other").trials
    assert (trial.error_class, trial.attempt) == ("authentication", 1)


def test_each_attempt_is_drawn_anew(play):
    script = {"answers": [YES], "errors": [{"status": 503, "probability": 0.5, "retry_after_s": 0}]}
    ran = play(script, trials=40, seed=1, suite={"environment": {"max_attempts": 10}})
    assert {t.outcome for t in ran.trials} == {Outcome.OK}
    assert 1.5 < statistics.mean(t.attempt for t in ran.trials) < 2.6  # the mean of a geometric one is 2


def test_delays_and_time_limits(play):
    (quick,) = play({"answers": [YES], "latency_s": [0.02, 0.03]}).trials
    assert quick.passed is True
    assert 0.02 <= quick.duration_s <= 0.03
    (slow,) = play({"answers": [YES], "latency_s": 60}, given={"timeout_seconds": 0.05}, run_id="slow").trials
    assert (slow.outcome, slow.score, slow.duration_s) == (Outcome.TIMEOUT, 0.0, 0.05)


def test_what_a_script_can_tell(play):
    script = {
        "answers": [YES],
        "tokens": {"sent": 5, "received": 2, "cached": 1},
        "cost": 0.25,
        "tool_calls": 3,
        "stop_reason": "stop",
    }
    (trial,) = play(script).trials
    assert (trial.tokens_in, trial.tokens_out, trial.tokens_cache) == (5, 2, 1)
    assert (trial.cost, trial.cost_source, trial.tool_calls, trial.stop_reason) == (0.25, "mock", 3, "stop")


@pytest.mark.parametrize(
    "script",
    [
        [],
        {},
        {"answers": []},
        {"answers": [{"text": 1}]},
        {"answers": [YES], "latency": 1},
        {"answers": [{"text": "a", "probability": 0.6}, {"text": "b", "probability": 0.6}]},
        {"answers": [YES], "errors": [{"status": 200, "probability": 1}]},
        {"answers": [YES], "arms": {"skill-on": {"errors": [{"status": 500, "probability": 0.7}] * 2}}},
        {"answers": [YES], "arms": {"else": {}}},
    ],
)
def test_a_script_with_faults_is_no_plan(play, script):
    with pytest.raises(SuiteError, match="/cases/0/inputs/mock"):
        play(script)


# --- drift: why arms are interleaved ---------------------------------------------------------------

DRIFTING = {"answers": [{"text": "yes", "probability": 0.9}, {"text": "no"}], "drift": -0.8}


def effects(go, make_suite, prompt_case, order, seeds):
    """The estimated effect of a skill that does nothing, on a runtime that gets worse as the run goes on."""
    cases = [prompt_case(f"c{i}", mock=DRIFTING) for i in range(10)]
    suite = make_suite(*cases, folder=order, tier="headless", trials={"per_case": 4, "order": order})
    found = []
    for seed in seeds:
        ran = go(suite, runtime="mock", mode="both", seed=seed, run_id=f"{order}-{seed}")
        on, off = ([t.score for t in ran.trials if t.arm == arm] for arm in ("skill-on", "skill-off"))
        found.append(statistics.mean(on) - statistics.mean(off))
    return found


def test_interleaved_arms_bear_a_drift_and_blocked_ones_do_not(go, make_suite, prompt_case):
    seeds = range(20)
    fair, biased = (effects(go, make_suite, prompt_case, o, seeds) for o in ("interleaved", "blocked"))
    # p falls from 0.9 to 0.1: the first half of the run has it at 0.7 on average, the second at 0.3
    error = statistics.stdev(fair) / len(fair) ** 0.5
    assert abs(statistics.mean(fair)) < 3 * error
    assert abs(statistics.mean(biased) - 0.4) < 3 * statistics.stdev(biased) / len(biased) ** 0.5
    assert statistics.mean(biased) > 10 * error
