"""The last step of a night: the dashboard of all that was published, which costs no verdict when it cannot be made."""

import dataclasses

import pytest

from evalstats.cli import run_command
from evalstats.nightly import Step

ONLY_JUDGED = frozenset({Step.INGEST, Step.REPORTS})


@pytest.fixture
def door(make_suite, publish, policy, today):
    """Return a suite with a published history and a score of tonight."""
    group = f"night-{today}-door"
    publish({f"night-{n:02}": (f"2026-01-{n:02}", 0.8) for n in range(1, 10)} | {group: (today, 0.8)})
    return make_suite("door", policy=policy)


def test_a_night_ends_with_the_dashboard(door, make_night, places):
    outcome = make_night(door, skip=ONLY_JUDGED)
    assert outcome.site.path == places.data / "site" and outcome.site.problems == ()
    page = (places.site / "suites/door.html").read_text("utf-8")
    assert "1 decision: 1 " in page and "as before" in page
    assert Step.SITE not in outcome.night.parts["door"].seconds  # it is of all suites, not of one


def test_a_night_that_was_done_makes_the_dashboard_anew(door, make_night, places):
    make_night(door, skip=ONLY_JUDGED)
    (places.site / "index.html").unlink()
    again = make_night(door, skip=ONLY_JUDGED)
    assert not again.is_new and (places.site / "index.html").is_file()


def test_the_step_can_be_left_out(door, make_night, places):
    outcome = make_night(door, skip=ONLY_JUDGED | {Step.SITE})
    assert (outcome.site, outcome.no_site) == (None, "") and not places.site.exists()


def test_a_dashboard_that_cannot_be_made_costs_no_verdict(door, make_night, places):
    places.site.mkdir(parents=True)
    (places.site / "thesis.txt").write_text("years of work")
    outcome = make_night(door, skip=ONLY_JUDGED)
    assert outcome.site is None and "is there and is no dashboard" in outcome.no_site
    assert outcome.night.parts["door"].judged is not None and outcome.night.ended_at is not None


def test_where_a_history_is_kept_the_dashboard_lies_in_it(door, make_night, places, tmp_path):
    kept = dataclasses.replace(places, history=tmp_path / "kept")
    make_night(door, at=kept, skip=ONLY_JUDGED)
    assert (tmp_path / "kept/site/index.html").is_file() and not places.site.exists()


def test_the_command_says_where_it_is_and_what_could_not_be_read(
    make_suite, places, tmp_path, monkeypatch, capsys
):
    make_suite("one")
    monkeypatch.chdir(tmp_path)
    places.gates.mkdir(parents=True)
    (places.gates / "one.jsonl").write_text("{torn\n")
    words = ["nightly", "one", "--data", str(places.data), "--progress", "none"]
    assert run_command(words) == 0
    said = capsys.readouterr()
    assert f"dashboard: {places.site}/index.html" in said.out
    assert "site: gates/one.jsonl:1: is no decision of a gate on one; it is not shown" in said.err
    assert run_command([*words, "--skip", "site"]) == 0
    assert "dashboard" not in capsys.readouterr().out
