"""A night that is judged has its page for the morning; a page that cannot be made costs no verdict."""

import json

import pytest

from evalstats import contract, nightly
from evalstats.nightly.record import Part, read

FLIPS = "test $(( (EVALSTATS_SEED / 7) % 3 )) -gt 0 && echo ok || echo no"


@pytest.fixture
def judged(make_suite, policy):
    return make_suite("door", FLIPS, policy={**policy, "identity": ["suite_scoring"]}, cases=4)


@pytest.mark.slow
def test_a_judged_suite_has_its_page(judged, make_suite, make_night, places, today):
    night = make_night(judged, make_suite("plain"), trials=3).night
    part = night.parts["door"]
    notebook, subject, version = part.page.split("/")
    document, _ = contract.read_json(places.reports / notebook / subject / version / "report.json")
    assert (notebook, subject, part.page_error) == ("nightly", "door", None)
    assert document["question"].endswith("say about door?") and part.report.startswith("variance_bands/door/")
    assert night.parts["plain"].page is None and read(places.nights, today) == night
    assert not make_night(judged, trials=3).is_new


@pytest.mark.slow
def test_a_page_that_cannot_be_made_costs_no_verdict(judged, make_night, places, monkeypatch):
    monkeypatch.setattr("evalstats.nightly.steps.PAGE", "no-such-notebook")
    part = make_night(judged, trials=3).night.parts["door"]
    assert part.judged is not None and part.error is None and part.page is None
    assert part.page_error.startswith("no notebook 'no-such-notebook'")


def test_why_there_is_no_page_is_told():
    part = Part(suite="door", tier="headless", gated=True, blocks=True, page_error="failed: <b>no</b>")
    night = nightly.Night(
        date="2026-01-01", simulated=False, began_at="2026-01-01T02:00:00.000Z", parts={"door": part}
    )
    assert "  door: no page for the morning: failed: <b>no</b>" in nightly.sentences(night)
    assert "no page for the morning: failed:" in nightly.summary(night) and "<b>" not in nightly.summary(
        night
    )


def test_a_record_of_before_there_were_pages_is_read(make_suite, make_night, places, today):
    make_night(make_suite("one"))
    path = places.nights / f"{today}.json"
    document = json.loads(path.read_text())
    for told in document["suites"].values():
        del told["page"], told["page_error"]
    path.write_text(json.dumps(document))
    assert read(places.nights, today).parts["one"].page is None
