import json

import pytest

from evalstats import report
from evalstats.errors import ReportError
from evalstats.report import bundle, page
from evalstats.report.differences import diff


@pytest.fixture
def version(tmp_path):
    """Return a function that publishes a draft under given circumstances."""

    def make(draft, **circumstances):
        document = json.dumps(draft.document() if hasattr(draft, "document") else draft).encode()
        manifest = {
            "schema": "report-manifest.v1", "status": "ok", "subject": "terraform-50",
            "notebook": {"name": "variance_bands", "sha256": "b" * 64}, "parameters": {"level": 0.8, "lock": ""},
            "inputs": {"runs": "c" * 64}, "suite_scoring": ["d" * 64], "code_sha256": "e" * 64,
            "python": "3.11.7", "packages": {"numpy": "2.4.6", "scipy": "1.17.1"}, **circumstances,
        }  # fmt: skip
        files = {"report.json": document, "report.html": b""}
        place = tmp_path / "reports" / "variance_bands" / "terraform-50"
        return bundle.publish(place, bundle.seal(manifest, files), files, {})[0]

    return make


@pytest.fixture
def document(draft):
    return json.loads(json.dumps(draft.document()))


def changes(before, after):
    return {(c.group, c.what): (c.before, c.after) for c in diff(before, after).changes}


def test_a_version_differs_in_nothing_from_itself(version, draft):
    one = version(draft)
    found = diff(one, one)
    assert found.changes == () and found.groups() == {}
    assert found.before == f"variance_bands/terraform-50/{one.name}"
    assert "Nothing." in page.render_diff(found)


def test_what_went_in(version, draft, document):
    document["data"] |= {"n_trials": 4300, "lock": {"name": "q", "sha256": "f" * 64, "candidates": []}}
    document["data"]["excluded"] = {"infrastructure": 13}
    two = version(
        document, parameters={"level": 0.9, "lock": "q"}, inputs={"runs": "9" * 64, "trials": "8" * 64}
    )
    assert changes(version(draft), two) == {
        ("parameters", "level"): ("0.8", "0.9"),
        ("parameters", "lock"): ("''", "q"),
        ("inputs", "trials"): ("4200", "4300"),
        ("inputs", "excluded, infrastructure"): ("12", "13"),
        ("inputs", "lock"): ("none", "f" * 12),
        ("inputs", "digest of runs"): ("c" * 12, "9" * 12),
        ("inputs", "digest of trials"): ("(absent)", "8" * 12),
    }


def test_what_came_out(version, draft, document):
    first, night = document["estimates"][0], document["series"][0]
    first |= {"estimate": 0.7, "conf_low": None, "conf_high": None, "caveats": ["one run"]}
    document["estimates"][1]["estimate"] += 1e-9  # seen, and shown with as many digits as it takes
    gone = document["estimates"].pop()
    document["headline"][1]["value"] = "+0.12"
    document["series"] = [*document["series"][1:], {**night, "run_id": f"{night['run_id']}-again"}]
    document["series"][0]["score"] = 0.25
    found = changes(version(draft), version(document))
    assert found["estimates", "skill-on, observed, mean score, FIXED, prediction"] == (
        "0.650 [0.595, 0.705], 80%, 14 cases, 150 trials", "0.700 n/a — one run, 80%, 14 cases, 150 trials",
    )  # fmt: skip
    was, now = found["estimates", "skill-off, observed, mean score, FIXED, prediction"]
    assert was != now and was[:10] == now[:10] == "0.54000000"
    assert (
        found["estimates", f"{gone['archetype']}, difference of mean scores, SUPER, t on case means"][1]
        == "(absent)"
    )
    assert found["verdict", "What the skill adds"][1] == "+0.12, 80% interval [+0.08, +0.15], 50 cases"
    assert found["verdict", f"run {night['run_id']}"][1] == "(absent)"
    assert found["verdict", f"run {document['series'][0]['run_id']}"][1] == "score 0.2500, 149 of 150 usable"
    assert len(found) == 7


def test_what_it_ran_on(version, draft):
    packages = {"numpy": "2.5.0", "scipy": "1.17.1", "arch": "8"}
    assert changes(version(draft), version(draft, packages=packages, code_sha256="1" * 64)) == {
        ("versions", "evalstats"): ("e" * 12, "1" * 12),
        ("versions", "numpy"): ("2.4.6", "2.5.0"),
        ("versions", "arch"): ("(absent)", "8"),
    }


def test_an_estimate_that_stands_twice_is_told_twice(version, draft, document):
    document["estimates"].append({**document["estimates"][0], "estimate": 0.1, "conf_low": 0.0})
    (only,) = diff(version(draft), version(document)).changes
    assert only.what.endswith("no. 2") and only.before == "(absent)" and only.after.startswith("0.100 [0, ")


def test_a_failed_version_has_no_numbers_to_compare(version, draft, publish, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReportError, match=r"no report.json here"):
        diff(version(draft), tmp_path / "empty")


def test_the_page_holds_every_change(version, draft):
    found = report.diff(
        version(draft), version(draft, python="3.12.1", parameters={"level": 0.9, "lock": ""})
    )
    text = page.render_diff(found)
    assert "2 changes: parameters 1, code and packages 1." in text and "3.12.1" in text
    assert page.render_diff(found) == text
