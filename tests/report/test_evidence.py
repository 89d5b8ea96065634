"""What a gate asks of a report, gathered from a store that was filled for real."""

import pytest

from evalstats import store
from evalstats.report import evidence


def passes(arm, night, case, index):
    if arm == "skill-off" and case == 0:
        return "infrastructure", None
    return "ok", float(index <= (2 if arm == "skill-on" else 1))


@pytest.fixture
def found(fill_store):
    with store.open(fill_store(passes, nights=2, cases=3), read_only=True) as opened:
        yield evidence.gather(opened, "demo")


def test_each_case_of_each_run_is_told(found):
    assert set(found.runs) == {f"eval-0{n}-skill-{arm}" for n in (1, 2) for arm in ("on", "off")}
    on = found.runs["eval-01-skill-on"]["cases"]
    # three trials, two pass: the mean is 2/3 and the median 1
    assert on["c0"] == {"usable": 3, "passed": 2, "score": pytest.approx(2 / 3), "median_score": 1.0}
    off = found.runs["eval-01-skill-off"]
    assert set(off["cases"]) == {"c1", "c2"}  # a case without a usable trial is absent, not 0
    assert off["cases"]["c1"]["median_score"] == 0.0
    assert off["outcomes"] == {"infrastructure": 3, "ok": 6}


def test_what_is_not_recorded_is_unknown(found):
    run = found.runs["eval-01-skill-on"]
    assert run["git_ref"] is None and run["cost"] is None
    assert set(found.cases) == {"c0", "c1", "c2"}


def test_only_the_newest_runs_tell_of_each_case(fill_store, monkeypatch):
    monkeypatch.setattr(evidence, "DETAILED", 1)
    with store.open(fill_store(passes, nights=3, cases=2), read_only=True) as opened:
        found = evidence.gather(opened, "demo")
    telling = {run_id for run_id, run in found.runs.items() if "cases" in run}
    assert telling == {"eval-03-skill-on", "eval-03-skill-off"}


def test_it_is_put_beside_the_series_and_what_a_notebook_said_is_kept(found):
    document = {
        "series": [{"run_id": "eval-01-skill-on", "score": 0.5}, {"run_id": "other", "score": 1}],
        "data": {},
    }
    told = evidence.add(document, found)
    assert told["series"][0]["score"] == 0.5 and told["series"][0]["outcomes"] == {"ok": 9}
    assert told["series"][1] == {"run_id": "other", "score": 1}
    assert set(told["data"]["cases"]) == {"c0", "c1", "c2"}
