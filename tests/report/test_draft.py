import csv
import json

import numpy as np
import pandas as pd
import pytest

from evalstats import contract
from evalstats.errors import DocumentError, ReportError
from evalstats.report import Draft, Table, charts
from evalstats.report.draft import FOLDER_VARIABLE, as_json, plain
from evalstats.stats.results import Estimate, Test

PAYLOAD = "<script>document.title='PWN'</script>\x1b"


def small(**data):
    draft = Draft("small", "demo", "Small", "Does it work?", {"level": 0.8})
    draft.finding("It does.")
    facts = {"suite_id": "demo", "n_runs": 1, "n_cases": 1, "n_trials": 1, "usable": 1, "excluded": {}}
    draft.data(**{**facts, "case_ids": ["c"], "input_sha256": "b" * 64, "contains_mock": False, **data})
    return draft


def test_a_draft_is_a_valid_report(draft):
    document = json.loads(as_json(draft.document()))
    assert contract.problems(document, "report.v1") == []
    assert [section["id"] for section in document["sections"]] == ["runs", "archetypes", "cases"]
    assert document["series"][0]["identity"]["judge_rubric_sha256"] is None
    assert document["series"][0]["started_at"] == "2026-11-03T02:15:00.000Z"
    assert document["caveats"] == ["one case: no spread"]


def test_save_writes_only_into_a_bundle(draft, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert draft.save() is draft
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "bundle"))
    draft.save()
    names = sorted(p.relative_to(tmp_path / "bundle").as_posix() for p in tmp_path.rglob("*") if p.is_file())
    pictures = [
        f"figures/{n}{end}"
        for n in ("archetypes", "cases", "runs")
        for end in ("-narrow.svg", ".svg", ".vl.json")
    ]
    assert names == sorted([*pictures, "report.json", "tables/bands.csv", "tables/cases.csv"])


def test_the_same_draft_gives_the_same_bytes(draft, tmp_path):
    for name in ("a", "b"):
        draft.write(tmp_path / name)
    for one in (p for p in (tmp_path / "a").rglob("*") if p.is_file()):
        assert one.read_bytes() == (tmp_path / "b" / one.relative_to(tmp_path / "a")).read_bytes()


def test_the_specification_can_be_drawn_again(draft, tmp_path):
    import vl_convert

    draft.write(tmp_path)
    spec = json.loads((tmp_path / "figures/archetypes.vl.json").read_text())
    assert (
        vl_convert.vegalite_to_svg(spec, vl_version="6.4")
        == (tmp_path / "figures/archetypes.svg").read_text()
    )


def test_the_charts_are_what_altair_allows(draft):
    """A build does not hold them against the schema of Vega-Lite; this does."""
    for figure in draft._figures.values():
        for drawing in (figure.wide, figure.narrow):
            drawing.chart.to_dict(validate=True)


def test_a_table_keeps_its_digits_in_the_csv(draft, bands, tmp_path):
    draft.write(tmp_path)
    with (tmp_path / "tables/bands.csv").open(newline="") as file:
        assert [float(row["conf_low"]) for row in csv.DictReader(file)] == bands["conf_low"].tolist()


def test_a_draft_without_a_conclusion_is_refused():
    with pytest.raises(ReportError, match=r"draws no conclusion; call draft.finding"):
        Draft("small", "demo", "Small", "?").document()


def test_a_draft_without_data_is_refused():
    draft = Draft("small", "demo", "Small", "?")
    draft.finding("x")
    with pytest.raises(ReportError, match=r"call draft.data"):
        draft.document()


def test_a_wrong_document_names_the_field():
    with pytest.raises(DocumentError, match="/data/input_sha256"):
        small(input_sha256="short").document()


def test_a_private_suite_is_refused(tmp_path):
    with pytest.raises(ReportError, match="private suites have no public report yet"):
        small(visibility="private_holdout").write(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "../x", "a b", ".hidden", "é"])
def test_names_are_file_names(name):
    with pytest.raises(ReportError, match="use lower-case letters"):
        small().section(name, "x")
    with pytest.raises(ReportError, match="use lower-case letters"):
        small().section("s", "x", tables=[Table(name, "x", pd.DataFrame({"a": [1]}))])


def test_names_stand_once(bands):
    draft = small()
    figure = charts.forest(bands, label="arm")
    draft.section("one", "One", figures=[figure], tables=[Table("t", "T", bands)])
    with pytest.raises(ReportError, match="section 'one' stands twice"):
        draft.section("one", "Again")
    with pytest.raises(ReportError, match="figure 'forest' stands twice"):
        draft.section("two", "Two", figures=[figure])
    with pytest.raises(ReportError, match="table 't' stands twice"):
        draft.section("three", "Three", tables=[Table("t", "T", bands)])


def test_records_and_frames_say_the_same():
    record = Estimate(
        estimand="rate", population="SUPER", estimate=np.nan, std_error=np.nan, conf_low=np.nan, conf_high=np.nan,
        level=0.8, n_cases=1, n_trials=1, method="none", caveats=("one case",),
    )  # fmt: skip
    one, two, three = small(), small(), small()
    one.estimates([record])
    two.estimates(pd.DataFrame([record.as_row()]))
    three.estimates(record)
    assert one.document()["estimates"] == two.document()["estimates"] == three.document()["estimates"]
    assert one.document()["estimates"][0]["estimate"] is None
    assert one.document()["caveats"] == ["one case"]


def test_counts_stay_whole_beside_a_gap(bands):
    bands["n_clusters"] = [3.0, np.nan]
    draft = small()
    draft.estimates(bands)
    assert [e["n_clusters"] for e in draft.document()["estimates"]] == [3, None]
    assert [e["arm"] for e in draft.document()["estimates"]] == ["skill-on", "skill-off"]


def test_a_test_is_kept_with_its_null():
    draft = small()
    draft.tests(
        [
            Test(
                null="alike",
                alternative="two-sided",
                statistic=1.0,
                p_value=0.25,
                method="exact",
                caveats=("c",),
            )
        ]
    )
    assert draft.document()["tests"][0]["null"] == "alike"
    assert draft.document()["caveats"] == ["c"]


def test_a_frame_that_lacks_fields_is_refused(bands):
    with pytest.raises(ReportError, match="estimates lack std_error, level"):
        small().estimates(bands.drop(columns=["std_error", "level"]))


def test_a_caveat_stands_once():
    draft = small()
    for text in ("a", "b", "a"):
        draft.caveat(text)
    assert draft.document()["caveats"] == ["a", "b"]


def test_plain_values():
    given = {
        "a": np.int64(3),
        "b": np.float64("nan"),
        "c": pd.Timestamp(2026, 1, 2),
        "d": (1, None),
        "e": pd.NA,
        "f": np.bool_(True),
    }
    assert plain(given, "x") == {
        "a": 3,
        "b": None,
        "c": "2026-01-02T00:00:00.000Z",
        "d": [1, None],
        "e": None,
        "f": True,
    }
    with pytest.raises(ReportError, match="x/y: an infinite number"):
        plain({"y": float("inf")}, "x")


def test_a_draft_shows_finding_and_headline_as_text():
    draft = small()
    draft.finding(PAYLOAD)
    draft.headline(PAYLOAD, PAYLOAD, PAYLOAD)
    html = draft._repr_html_()
    assert "<script" not in html and html.count("&lt;script&gt;") == 4 and "\\x1b" in html
    assert repr(draft) == "<Draft small/demo>"


def test_identity_is_what_the_schema_says_it_is():
    series = contract.schema("report.v1")["properties"]["series"]["items"]["properties"]
    assert tuple(series["identity"]["properties"]) == contract.IDENTITY
