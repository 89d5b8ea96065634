"""The ratchet notebook says what `evalstats ratchet` says: whether a suite may block, and what is missing."""

import copy
import json
from pathlib import Path

import pytest

from evalstats import contract, report
from evalstats.cli import run_command
from evalstats.errors import ReportError, UsageError
from evalstats.report import ratchet_wording, ratchets
from evalstats.stats import Rule, blocking_curve
from tests.notebooks.conftest import POLICY


@pytest.fixture
def told(project, capsys):
    """Return what the command says of the suite."""
    capsys.readouterr()
    run_command(["ratchet", "demo", "--json"])
    return json.loads(capsys.readouterr().out)


def test_it_holds_the_record_of_the_command(project, told, run_cells):
    names = run_cells("ratchet", suite="demo")
    assert json.loads(json.dumps(names.record)) == told
    said = names.draft.document()
    assert said["finding"].startswith("demo is not ready to block: ")
    assert all(reason in said["finding"] for reason in told["reasons"]) and told["reasons"]
    shown = next(t for s in said["sections"] for t in s["tables"] if t["name"] == "curve")
    assert [row[1] for row in shown["cells"]] == [f"{100 * at['block']:.0f}%" for at in told["curve"]]


def test_the_curve_is_that_of_the_rule(told):
    noise = told["noise"]
    rule = Rule(margin=told["margin"], alpha=told["alpha"], power=told["power"])
    drops = [at["drop"] for at in told["curve"]]
    expected = blocking_curve(drops, noise["spread"], noise["n_units"], rule, reruns=1)
    assert [at["block"] for at in told["curve"]] == pytest.approx(list(expected))
    assert told["curve"][0]["block"] < 0.5 < told["curve"][-1]["block"]


def test_its_report_stands_on_the_frozen_record(project, told, capsys):
    assert run_command(["report", "ratchet", "-p", "suite=demo", "--json"]) == 0
    built = json.loads(capsys.readouterr().out)
    manifest = contract.read_json(Path(built["path"]) / "manifest.json")[0]
    assert manifest["inputs"] == {"readiness": contract.canonical_digest(told)}
    assert manifest["parameters"]["store"] == manifest["parameters"]["suites"] == ""
    assert report.verify(built["path"]) == []
    assert run_command(["report", "ratchet", "-p", "suite=demo", "--json", "--cold"]) == 0
    assert json.loads(capsys.readouterr().out)["unchanged"]


def test_a_record_can_be_handed_over_and_must_fit(project, told, tmp_path):
    file = tmp_path / "told.json"
    file.write_text(json.dumps(told))
    given = {"suite": "demo", "readiness": str(file)}
    built = report.build("ratchet", reports=tmp_path / "reports", parameters=given)
    assert report.read_report(built.path)["subject"] == "demo"
    with pytest.raises(ReportError, match="is of demo, not of other"):
        report.build("ratchet", reports=tmp_path / "reports", parameters={**given, "suite": "other"})
    with pytest.raises(ReportError, match="stands on a readiness record"):
        report.build("ratchet", reports=tmp_path / "reports", parameters={"suite": "demo"})


def test_an_unknown_suite_is_one_line(project, run_cells):
    with pytest.raises(UsageError, match="no public suite nobody in evals"):
        run_cells("ratchet", suite="nobody")


def cards(record):
    draft = report.Draft("ratchet", "demo", "Ratchet", "May it?")
    ratchet_wording.say_readiness(draft, record)
    return draft.document()


def test_ready_is_said_with_what_would_be_seen(told):
    ready = copy.deepcopy(told) | {"state": "READY", "reasons": [], "more_runs": 0, "more_days": 0}
    said = cards(ready)
    assert said["finding"].startswith("demo is ready to block. A drop of ")
    assert said["headline"][0]["value"] == "ready"


def test_canaries_are_a_bound_and_never_a_curve(told):
    seen = {
        "cases": ["c0", "c1"], "n_runs": 20, "n_clean": 20, "n_days": 9, "failed": {}, "flake_high": 0.139,
        "flake_level": 0.95, "clean_runs_needed": 59,
    }  # fmt: skip
    record = copy.deepcopy(told) | {"way": "canaries", "canaries": seen, "curve": []}
    assert "at most 14% of runs fail one" in ratchet_wording.canary_text(record).lower()
    assert cards(record)["headline"][1]["value"] == "20"
    assert ratchets.blocking_curve(record) is None
    rows = ratchets.conditions_table(record).cells()
    assert ["59 clean runs", "20", "missing"] in rows


def test_nothing_to_stand_on_is_said(told):
    unknown = {**told["noise"], "n_units": 0, "spread": None, "spread_bound": None, "detectable": None}
    empty = copy.deepcopy(told) | {"runs": [], "curve": [], "noise": {**unknown, "largest_ready": None}}
    assert "n/a" in [card["value"] for card in cards(empty)["headline"]]
    assert ratchet_wording.runs_text(empty) == "No run counts yet: the gate would have nothing to stand on."


def test_a_suite_without_runs_has_a_page_without_empty_charts(project, run_cells, tmp_path):
    policy = {**POLICY, "history": {**POLICY["history"], "since": "2026-11-30T00:00:00Z"}}
    file = tmp_path / "late.json"
    file.write_text(json.dumps(policy))
    names = run_cells("ratchet", suite="demo", policy=str(file))
    said = names.draft.document()
    assert names.record["runs"] == [] and "0 of the 8 runs needed" in said["finding"]
    assert [figure for section in said["sections"] for figure in section["figures"]] == []
    assert [t["name"] for section in said["sections"] for t in section["tables"]] == ["conditions"]


def test_text_in_a_record_is_shown_as_text(told):
    hostile = copy.deepcopy(told) | {"reasons": ["<img src=x onerror=alert(1)>\x1b[31m"]}
    document = cards(hostile)
    assert "\\x1b" in document["finding"] and "\x1b" not in document["finding"]
