"""The planning notebook plans from a pilot that varies, and refuses one that does not."""

import pytest

from evalstats import report


def varied(arm, night, case, index):
    return float((case * 5 + night * 3 + index * 7) % 11 < (3 if case < 4 else 8) + (arm == "skill-on"))


def test_a_pilot_that_varies(tmp_path, make_store, run_cells):
    names = run_cells("planning", suite="demo", store=str(make_store(tmp_path, varied, nights=3)))
    said = names.draft.document()
    assert said["finding"].startswith("To see a difference of 0.10 with 80% power, the cheapest design is")
    assert [h["label"] for h in said["headline"]] == [
        "Cases × trials",
        "Cost",
        "The pilot sees",
        "Trials that buy most",
    ]
    assert [e["cases"] for e in said["estimates"]] == [10, 15, 20, 25]  # studies tried out below 30 cases
    assert {f["name"] for s in said["sections"] for f in s["figures"]} == {"power", "costs"}


def test_a_saturated_pilot_is_refused(tmp_path, make_store, run_cells):
    names = run_cells("planning", suite="demo", store=str(make_store(tmp_path, lambda *_: 1.0)))
    said = names.draft.document()
    assert (
        said["finding"] == "Nothing can be planned from this pilot: all scores agree: no variance to divide."
    )
    assert said["headline"] == [
        {"label": "Cases needed", "value": "n/a", "detail": "all scores agree: no variance to divide"}
    ]
    assert said["estimates"] == []


@pytest.mark.slow
def test_the_same_inputs_give_the_same_report(tmp_path, make_store, build):
    first = build("planning", make_store(tmp_path / "one", varied, nights=3), suite="demo")
    second = build("planning", make_store(tmp_path / "two", varied, nights=3), suite="demo")
    assert second.unchanged and report.verify(first.path) == []
    refused = build("planning", make_store(tmp_path / "three", lambda *_: 1.0), suite="demo")
    assert refused.status == "ok"  # a refusal is an answer
