"""The lift notebook says what can be worked out by hand, and the same inputs give the same report."""

import pytest

from evalstats import report


def test_it_says_what_the_data_say(tmp_path, make_store, run_cells):
    names = run_cells("lift", suite="demo", store=str(make_store(tmp_path)))
    said = names.draft.document()
    assert said["finding"].startswith(
        "On the same 8 cases, skill-on scores 0.25 higher than skill-off (80% interval [+0.12, +0.31])."
        " As a lift this means little: 4 of 5 failing baseline cases"
    )
    assert said["headline"][0]["label"] == "Difference of mean scores"  # it leads where the lift is greyed
    over = {e["over"]: e["estimate"] for e in said["estimates"] if "over" in e}
    assert over["cases"] == pytest.approx(0.5) and over["medians of 3"] == pytest.approx(0.5)
    assert over["expectations"] is None  # unknown, not zero
    assert {e["what"]: e["estimate"] for e in said["estimates"] if "what" in e} == {
        "expected card cited": None,
        "expected recipe cited": None,
    }
    figures = {f["name"]: f["reading"] for s in said["sections"] for f in s["figures"]}
    assert "2 of 2 lie wholly above zero (A1, A2)" in figures["archetypes"]


@pytest.mark.slow
def test_the_same_inputs_give_the_same_report(tmp_path, make_store, build):
    first = build("lift", make_store(tmp_path / "one"), suite="demo")
    second = build("lift", make_store(tmp_path / "two"), suite="demo")
    assert second.unchanged and second.content_hash == first.content_hash
    assert report.verify(first.path) == []
    other = build("lift", make_store(tmp_path / "three", nights=3), suite="demo")
    assert other.content_hash != first.content_hash
