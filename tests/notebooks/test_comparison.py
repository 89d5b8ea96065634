"""The comparison notebook: two arms, two runs, several; verdict inputs are recorded, and no verdict is given."""

import pytest

from evalstats import report
from evalstats.errors import ReportError, UsageError


def test_two_arms(tmp_path, make_store, run_cells):
    names = run_cells("comparison", suite="demo", store=str(make_store(tmp_path)), clusters="")
    said = names.draft.document()
    assert said["finding"].startswith(
        "On 8 shared cases, skill-on scores 0.25 higher than skill-off (80% interval"
    )
    assert said["parameters"] == {"margin": 0.05} and said["subject"] == "demo"
    tests = {test["test"]: test for test in said["tests"]}
    assert set(tests) == {"difference", "equivalence", "non-inferiority"}
    quantities = {e["quantity"]: e["estimate"] for e in said["estimates"] if "quantity" in e}
    assert quantities["difference"] == pytest.approx(0.25) and quantities["detectable"] > 0
    dimension = next(e for e in said["estimates"] if e.get("dimension") == "correctness")
    assert dimension["estimate"] == pytest.approx(0.25)
    text = str(said).lower()
    assert "significant" not in text and "regressed" not in text


def test_three_runs_that_cannot_be_told_apart(tmp_path, make_store, run_cells):
    place = str(make_store(tmp_path, nights=3))
    runs = [f"eval-0{night}-skill-on" for night in (1, 2, 3)]
    names = run_cells("comparison", suite="demo", store=place, a=runs[0], b=",".join(runs[1:]))
    said = names.draft.document()
    assert f"Not told apart: {runs[0]}, {runs[1]} and {runs[2]}." in said["finding"]
    assert len([t for t in said["tests"] if t["test"] == "difference"]) == 3
    assert any("both sides are the same in every case" in caveat for caveat in said["caveats"])


def test_a_side_that_is_not_there(tmp_path, make_store, run_cells):
    with pytest.raises(UsageError, match="no arm or run 'baseline'"):
        run_cells("comparison", suite="demo", store=str(make_store(tmp_path)), a="baseline", b="skill-on")


@pytest.mark.slow
def test_the_same_inputs_give_the_same_report(tmp_path, make_store, build):
    first = build("comparison", make_store(tmp_path / "one"), suite="demo")
    second = build("comparison", make_store(tmp_path / "two"), suite="demo")
    assert second.unchanged and report.verify(first.path) == []
    with pytest.raises(ReportError, match="margin"):
        build("comparison", tmp_path / "one/data/evalstats.duckdb", suite="demo", margin=float("nan"))
