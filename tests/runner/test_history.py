"""What earlier runs say of the time and the cost of a plan."""

import pytest

from evalstats import runner
from evalstats.runner import history

SCRIPT = {"answers": [{"text": "yes"}], "cost": 0.25, "latency_s": 0.02}


@pytest.fixture
def suite(make_suite, case):
    asked = case("a", {"type": "stdout_contains", "value": "yes"}, kind="runtime_prompt", mock=SCRIPT)
    return make_suite({**asked, "prompt": "?"}, tier="headless")


def forecast(suite, data, **options):
    return history.forecast(runner.plan(suite, runner.Options(**options)), data)


def test_from_earlier_runs_of_the_same(suite, go, tmp_path):
    data = tmp_path / "data"
    new = forecast(suite, data, runtime="mock", trials=3)
    assert (new.trials, new.runs, new.seconds, new.cost) == (3, 0, None, None)
    assert new.reason == "no earlier run of this suite by this runtime and model"
    go(suite, runtime="mock", trials=2)
    known = forecast(suite, data, runtime="mock", trials=4)
    assert (known.runs, known.cost, known.reason) == (1, 1.0, None)
    assert known.seconds == pytest.approx(0.08)  # 4 trials of 0.02 s
    assert forecast(suite, data, runtime="mock", model="other").runs == 0
    both = forecast(suite, data, runtime="mock", mode="both")
    assert (both.trials, both.runs, both.seconds) == (2, 1, None)
    assert both.reason == "not all of these cases have run before"


def test_a_record_that_cannot_be_read_is_passed_over(suite, go, tmp_path):
    ran = go(suite, runtime="mock")
    for path in (tmp_path / "data/runs").glob("*/record.json"):
        path.write_text("{", "utf-8")
    assert forecast(suite, ran.data, runtime="mock").runs == 0


def test_commands_tell_no_cost(make_suite, case, go):
    suite = make_suite(case("a", shell="true"))
    found = forecast(suite, go(suite).data)
    assert (found.runs, found.cost, found.reason) == (1, None, "the earlier runs tell no cost")
    assert found.seconds > 0
