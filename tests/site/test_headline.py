"""A lift is a headline on live runs, several trials a case and a lock that holds; else it is said why it is none."""

import json

import pytest

from evalstats import suite
from evalstats.governance import locks


@pytest.fixture
def live(write_public, publish, tmp_path):
    """Return a function that publishes a lift of a live suite whose cases a lock holds."""
    folder = write_public("demo", tier="live")
    place = tmp_path / "evals/locks/2026Q4.json"
    place.parent.mkdir()
    place.write_text(json.dumps(locks.create("2026Q4", [suite.load(folder)])))
    held = {"name": "2026Q4", "sha256": locks.read(place).sha256, "candidates": []}

    def make(**how):
        return publish("lift", "demo", **{"lock": held, **how})

    make.folder = folder
    return make


def test_a_live_lift_under_a_lock_is_the_headline(live, build, read):
    live()
    built = build()
    first = read(built.path / "index.html")
    assert built.problems == ()
    assert "Headline lift: demo 0.34 [0.24, 0.44]." in first and "80% interval [0.24, 0.44], demo" in first
    assert "It counts as a headline." in read(built.path / "suites/demo.html")


def test_the_headline_rolls_over_its_publications(live, build):
    for nights, lift in ((2, 0.30), (3, 0.32), (4, 0.38)):
        live(nights=nights, lift=lift)
    live(nights=5, lift=0.99, mock=True)
    live(nights=6, lift=0.40)
    page = (build().path / "index.html").read_text("utf-8")
    assert "The lift at each publication" in page
    for label in ("2026-01-02 · 0001", "2026-01-03 · 0002", "2026-01-04 · 0003", "2026-01-06 · 0005"):
        assert label in page
    assert "· 0004" not in page and "0.99" not in page  # a mock run is in no headline


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"mock": True}, "mock runs are among its runs"),
        ({"lock": {"name": "2026Q4", "sha256": "d" * 64, "candidates": []}}, "lock 2026Q4 is not there"),
        ({"rows": {"group_id": "simulated-2026-01-01-demo"}}, "its nights were dated by hand"),
        ({"rows": {"n_trials": 12}}, "a run with one trial a case is advisory"),
        ({"lift": 1.0}, "nothing fails with the treatment"),
    ],
)
def test_what_is_no_headline_says_why(live, build, read, how, why):
    live(**how)
    built = build()
    first = read(built.path / "index.html")
    assert f"There is no headline lift (demo: {why}" in first and "Headline lift none" in first
    assert f"It is no headline: {why}" in read(built.path / "suites/demo.html")


def test_a_lock_that_no_longer_holds_holds_no_headline(live, build, read):
    live()
    path = live.folder / "suite.json"
    document = json.loads(path.read_text())
    document["cases"][0]["expectations"] = [{"type": "stdout_contains", "value": "else"}]
    path.write_text(json.dumps(document))
    first = read(build().path / "index.html")
    assert "lock 2026Q4 no longer holds: demo/" in first


def test_a_suite_that_nobody_knows_and_one_without_a_lift_say_so(publish, decide, build, read):
    publish("lift", "demo")
    decide("other")
    first = read(build().path / "index.html")
    assert "whether its suite is live is not known; no lock holds its cases" in first
    assert "no report of its lift; `evalstats report lift -p suite=other` makes one" in first


def test_nothing_is_a_headline_of_a_report_that_is_damaged(live, build, read):
    version = live()
    (version / "report.json").write_bytes(b"{}")
    built = build()
    first = read(built.path / "index.html")
    assert "There is no headline lift" in first and "no report of its lift can be shown" in first
    assert len(built.problems) == 1


def test_citations_stand_with_their_intervals_or_are_said_to_be_unknown(publish, build, read):
    publish("lift", "demo")

    def unasked(files):
        document = json.loads(files["report.json"])
        for row in document["estimates"]:
            if "cited" in row["estimand"]:
                row |= {"n_cases": 0, "estimate": None, "conf_low": None, "conf_high": None}
                row["caveats"] = ["no case asks for one"]
        return {"report.json": json.dumps(document).encode()}

    publish("lift", "bare", change=unasked)
    pages = build().path / "suites"
    assert "expected card cited skill-on 0.70 [0.55, 0.82]" in read(pages / "demo.html")
    assert "No case expects a card or a recipe, so whether one was cited is not known." in read(
        pages / "bare.html"
    )
