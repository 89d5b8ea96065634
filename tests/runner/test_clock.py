"""Dates set by hand: they say so, survive a resumed run, and never share a folder with real ones."""

import json

import pytest

from evalstats import runner, suite
from evalstats.errors import UsageError
from evalstats.runner import clock

DATE = "2026-03-01T02:00:00.000Z"


@pytest.fixture
def planned(write_suite, suite_document, tmp_path):
    """Return a function that returns a plan of a small real suite, with the given options."""
    document = suite_document()
    document["cases"] = document["cases"][:1]
    loaded = suite.load(write_suite(tmp_path / "repo", document))

    def plan(**options):
        return runner.plan(loaded, runner.Options(**options))

    return plan


def manifest(data, run_id):
    return json.loads((data / "runs" / run_id / "manifest.json").read_text())


def test_a_date_set_by_hand_is_told_beside_the_real_one(planned, tmp_path):
    data = tmp_path / "data"
    runner.run(planned(run_id="then", as_of="2026-03-01T03:00:00+01:00"), data=data)
    told = manifest(data, "then")
    assert (told["created_at"], told["simulated_clock"]) == (DATE, True)
    assert told["recorded_at"] > "2026-1"
    again = runner.resume_plan(data, "then")
    assert again.as_of == DATE


def test_a_run_of_the_real_clock_says_nothing_of_another(planned, tmp_path):
    runner.run(planned(run_id="now"), data=tmp_path / "data")
    assert not {"simulated_clock", "recorded_at"} & set(manifest(tmp_path / "data", "now"))
    assert runner.resume_plan(tmp_path / "data", "now").as_of is None


def test_the_two_kinds_are_never_in_one_folder(planned, tmp_path):
    real, simulated = tmp_path / "real", tmp_path / "simulated"
    runner.run(planned(run_id="one"), data=real)
    runner.run(planned(run_id="one", as_of=DATE), data=simulated)
    with pytest.raises(UsageError, match="holds runs of the real clock"):
        runner.run(planned(run_id="two", as_of=DATE), data=real)
    with pytest.raises(UsageError, match="dated by hand"):
        runner.run(planned(run_id="two"), data=simulated)
    assert [clock.is_simulated(data) for data in (real, simulated)] == [False, True]
    assert not (real / "runs/two").exists() and not (simulated / "runs/two").exists()


@pytest.mark.parametrize(
    "text", ["yesterday", "", "2026-03-01", "2026-03-01T02:00:00", "2026-02-30T02:00:00Z"]
)
def test_a_time_without_a_zone_or_sense_is_refused(planned, text):
    with pytest.raises(UsageError, match="write 2026-01-31T02:00:00Z"):
        planned(as_of=text)
