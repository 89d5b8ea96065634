"""Money: reserved in pairs before, settled after; an early end leaves no arm ahead."""

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest

from evalstats.contract import Outcome, Status
from evalstats.errors import UsageError
from evalstats.runner.budget import Budget


def specs(blocks, arms=("on", "off")):
    return [SimpleNamespace(key=f"{b}-{arm}", block=("case", b)) for b in range(blocks) for arm in arms]


def play(limit, costs, *, highest=None, jobs=4, blocks=10, spent=0.0):
    """Let trials that cost ``costs`` (by turns) run under a budget; return those that ran, and the budget."""
    todo, ran, prices = specs(blocks), [], list(costs)

    async def work():
        budget = Budget(limit, spent=spent, specs=todo, highest_cost=lambda spec: highest)
        waiting = iter(todo)
        most = 0.0

        async def worker():
            nonlocal most
            for spec in waiting:
                if await budget.admit(spec):
                    await asyncio.sleep(0)
                    cost = prices[len(ran) % len(prices)]
                    ran.append(spec.key)
                    await budget.settle(spec, cost, is_free=False)
                    most = max(most, budget.spent)

        await asyncio.gather(*(worker() for _ in range(jobs)))
        return budget

    return ran, asyncio.run(asyncio.wait_for(work(), 10))


@pytest.mark.parametrize("jobs", [1, 2, 3, 7])
@pytest.mark.parametrize("highest", [1.0, None])
def test_an_early_end_is_balanced_and_within_the_limit(jobs, highest):
    ran, budget = play(7.5, [1.0], highest=highest, jobs=jobs)
    arms = Counter(key.rpartition("-")[2] for key in ran)
    assert arms == {"on": 3, "off": 3}  # three pairs at 2 USD; a fourth would need 8
    assert budget.spent == 6.0
    assert budget.reason == "of the budget of 7.5 USD 1.5 are left; a block may cost 2"


def test_what_is_not_spent_goes_to_others():
    ran, budget = play(4.0, [0.5], highest=1.0)
    # at most 2 USD a pair, in truth 1: the last pair starts with 2 USD left
    assert (len(ran), budget.spent) == (6, 3.0)


def test_enough_is_enough():
    ran, budget = play(20.0, [1.0], highest=1.0)
    assert (len(ran), budget.spent, budget.reason) == (20, 20.0, None)


def test_the_dearest_trial_so_far_stands_for_the_next():
    ran, budget = play(10.0, [1.0, 3.0], jobs=1)
    # 4 spent on the first pair; then 6 are expected of the next, and 6 are left
    assert (len(ran), budget.spent) == (4, 8.0)


def test_unknown_costs_keep_no_budget():
    ran, budget = play(5.0, [None])
    assert len(ran) == 2
    assert budget.reason == "the budget of 5 USD cannot be kept: trials tell no cost; give --prices"


def test_what_was_spent_before_counts():
    assert len(play(7.5, [1.0], highest=1.0, spent=4.0)[0]) == 2
    assert play(7.5, [1.0], highest=1.0, spent=8.0)[0] == []


def test_a_trial_that_costs_nothing_needs_no_budget():
    async def free():
        budget = Budget(1.0, spent=2.0, specs=[], highest_cost=lambda spec: None)
        return await budget.admit(specs(1)[0])

    assert asyncio.run(free()) is True


# --- in a run --------------------------------------------------------------------------------------


def prompt(case, case_id="a", **script):
    script = {"answers": [{"text": "yes"}], **script}
    wanted = {"type": "stdout_contains", "value": "yes"}
    return {**case(case_id, wanted, kind="runtime_prompt", mock=script), "prompt": "?"}


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_run_stops_before_it_spends_more(make_suite, case, go, jobs):
    suite = make_suite(prompt(case, cost=0.1), case("free", shell="true"), tier="headless")
    ran = go(suite, runtime="mock", mode="both", trials=10, budget=0.9, jobs=jobs)
    paid = Counter((t.arm, t.outcome) for t in ran.trials if t.case_id == "a")
    assert paid == {
        ("skill-on", Outcome.OK): 4,
        ("skill-off", Outcome.OK): 4,
        ("skill-on", Outcome.SKIPPED): 6,
        ("skill-off", Outcome.SKIPPED): 6,
    }
    assert all(t.outcome is Outcome.OK for t in ran.trials if t.case_id == "free")
    pairs = [{t.trial_index for t in ran.trials if t.arm == a and t.cost} for a in ("skill-on", "skill-off")]
    assert pairs[0] == pairs[1]
    skipped = next(t for t in ran.trials if t.outcome is Outcome.SKIPPED)
    assert (skipped.status, skipped.score) == (Status.SKIPPED, None)
    for record in ran.result.records:
        assert record["verdict"] == "advisory"
        assert record["cost"] is None  # the free case tells no cost, and unknown is not 0
        assert record["case_results"][0]["usable"] == 4
        assert "12 of 20" not in str(record["notes"])
        assert "6 of 20 trials skipped, and in no average: of the budget of 0.9 USD" in record["notes"][0]


def test_a_resumed_run_keeps_its_terms(make_suite, case, go, tmp_path):
    from evalstats import runner

    suite = make_suite(prompt(case, cost=0.1), tier="headless")
    stop = [0]

    def burst(event):
        stop[0] += isinstance(event, runner.events.TrialFinished)
        if stop[0] == 3:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        go(
            suite,
            runtime="mock",
            model="x",
            mode="both",
            trials=10,
            budget=0.65,
            run_id="r",
            jobs=1,
            on_event=burst,
        )
    plan = runner.resume_plan(tmp_path / "data", "r")
    assert (plan.terms.runtime, plan.terms.model, plan.terms.budget) == ("mock", "x", 0.65)
    result = runner.run(plan, data=tmp_path / "data", jobs=2)
    assert sum(t.cost or 0 for t in result.trials) <= 0.65
    done = Counter(t.arm for t in result.trials if t.outcome is Outcome.OK)
    assert done["skill-on"] == done["skill-off"] == 3


def test_a_budget_asks_for_interleaved_arms(make_suite, case, go):
    suite = make_suite(prompt(case), tier="headless", trials={"order": "blocked"})
    with pytest.raises(UsageError, match="--budget: two arms"):
        go(suite, runtime="mock", mode="both", budget=1.0)
    assert go(suite, runtime="mock", budget=1.0).trials[0].outcome is Outcome.OK
