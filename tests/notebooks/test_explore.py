"""The handles of `explore` are the rows of the store, and a trial can be read down to what it put out, as text."""

import pytest

from evalstats import estimates, report, store
from evalstats.artifacts import Artifacts
from evalstats.errors import UsageError


def test_the_handles_are_the_rows_of_the_store(tmp_path, make_store, run_cells):
    place = make_store(tmp_path)
    names = run_cells("explore", suite="demo", store=str(place))
    with store.open(place, read_only=True) as opened:
        assert len(names.data.trials) == len(opened.trials("demo")) == 96
        assert len(names.data.cases) == len(opened.case_runs("demo")) == 32
    rates = estimates.rate(names.data.cases).set_index("arm")["estimate"]
    assert rates["skill-on"] == pytest.approx(0.75) and rates["skill-off"] == pytest.approx(0.5)
    said = names.draft.document()
    assert said["finding"].startswith("There are 4 runs of demo, 96 trials of 8 cases to work with.")
    assert "skill-on minus skill-off: +0.25 [" in said["finding"]
    table = next(t for s in said["sections"] for t in s["tables"] if t["name"] == "handles")
    assert [row[:2] for row in table["cells"]][:3] == [
        ["data.cases", "32"],
        ["data.series", "4"],
        ["data.trials", "96"],
    ]


def test_failing_trials_are_all_that_did_not_pass(tmp_path, make_store):
    data = report.explorer.read(str(make_store(tmp_path)), "demo")
    failed = report.explorer.failing(data)
    assert len(failed) == 36 and not failed["passed"].any()
    assert len(report.explorer.failing(data, "skill-on")) == 12
    assert failed["started_at"].is_monotonic_decreasing
    with pytest.raises(UsageError, match="no trial has this arm; known: skill-off, skill-on"):
        report.explorer.failing(data, "nope")


def test_an_output_is_shown_as_text_whatever_it_holds(tmp_path, make_store):
    data = report.explorer.read(str(make_store(tmp_path)), "demo")
    failed = report.explorer.failing(data)
    assert str(report.explorer.output(data, failed)) == "this trial recorded no stdout"
    digest = Artifacts(data.store.parent / "artifacts").put(b"<script>alert(1)</script>\x1b[31m")
    failed = failed.assign(stdout_sha256=digest)
    shown = report.explorer.output(data, failed)
    assert "<script>" not in shown._repr_html_() and "&lt;script&gt;" in shown._repr_html_()
    assert "\x1b" not in str(shown)
    gone = report.explorer.output(data, failed.assign(stdout_sha256="0" * 64))
    assert gone.why.startswith("the outputs are not beside this store")
    assert report.explorer.output(data, failed.head(0)).why == "every trial passed"
    with pytest.raises(UsageError, match="is none of stdout, stderr, transcript"):
        report.explorer.output(data, failed, kind="nope")


def test_one_arm_is_not_compared_with_itself(tmp_path, make_store, run_cells):
    place = make_store(tmp_path, arms=("skill-off",))
    names = run_cells("explore", suite="demo", store=str(place))
    assert names.difference.empty and names.draft.document()["finding"].endswith("to work with.")


@pytest.mark.slow
def test_the_same_inputs_give_the_same_report_without_outputs(tmp_path, make_store, build):
    first = build("explore", make_store(tmp_path / "one"), suite="demo")
    asked = {
        "store": make_store(tmp_path / "two"),
        "reports": tmp_path / "reports",
        "parameters": {"suite": "demo"},
    }
    second = report.build("explore", **asked, execution=report.Execution(cold=True))
    assert second.unchanged and second.content_hash == first.content_hash
    assert report.verify(first.path) == []
