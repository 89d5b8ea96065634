"""The page of a suite: marks before numbers, failures without names, and what it all stands on."""

import json

import pytest


def test_every_part_of_a_suite_stands_on_its_page(publish, decide, build, read):
    for notebook in ("lift", "nightly", "variance_bands"):
        publish(notebook, "demo")
    decide("demo")
    built = build()
    assert (built.pages, built.problems) == (2, ())
    page = read(built.path / "suites/demo.html")
    for shown in (
        "It helps.", "Over 3 runs of both arms with one identity, 60 trials in all, up to 2026-01-03.",
        "Difference of mean scores with 80% intervals", "skill-on: 3 nights, centre 0.60, limits [0.40, 0.80]",
        "What fails", "1 decision: 1 pass.", "Registry version r9", "CLI version 0.1.0", "Judge rubric n/a",
        "Trials 60 of its last run, 5.00 a case", "Mock no", "Nights by the clock", "Runner seed 2",
        "nightly 0001 of 1 It helps.", "Few cases",
    ):  # fmt: skip
        assert shown in page, shown
    assert "From lift of demo, version 0001 ." in page.replace("</a>", "")


def test_the_first_page_has_a_line_for_every_suite(publish, decide, build, read):
    publish("lift", "demo")
    decide("demo", "regression", day=2)
    decide("other", "cannot_gate")
    first = read(build().path / "index.html")
    assert "Blocked at its last gate: demo. Not answered: 1 cannot gate." in first
    assert "demo tier unknown 2026-01-03 +0.10 [+0.02, +0.18] 0.34 [0.24, 0.44] regression" in first
    assert "other tier unknown n/a n/a n/a cannot gate" in first


def test_what_fails_is_shown_without_names(publish, build, read):
    publish("variance_bands", "demo")
    built = build()
    page = (built.path / "suites/demo.html").read_text()
    assert "secret-name" not in page
    words = read(built.path / "suites/demo.html")
    assert "5 of 12 cases failed at least once with the treatment in its last 3 runs." in words
    assert "none none 0 of 15 none none 3 of 15" in words


def test_a_case_that_is_a_holdout_is_no_exemplar(publish, write_public, build, read):
    folder = write_public("demo")
    path = folder / "suite.json"
    document = json.loads(path.read_text())
    document["cases"] = [{**document["cases"][0], "id": f"secret-name-{n}"} for n in range(12)]
    document["cases"][0]["evidence_kind"] = "holdout"
    path.write_text(json.dumps(document))
    publish("variance_bands", "demo")
    words = read(build().path / "suites/demo.html")
    assert "4 of 11 cases failed at least once" in words and "0 of 15" not in words and "3 of 15" in words


def test_mock_hand_dated_and_advisory_are_marked(publish, write_public, build, read):
    write_public("demo", tier="live")
    publish("lift", "demo", mock=True, rows={"group_id": "simulated-2026-01-01-demo"})
    built = build()
    page = read(built.path / "suites/demo.html")
    assert "Mock runs. These numbers show that the machine works" in page
    assert (
        "nights dated by hand: a rehearsal, not history; advisory: what its gate says blocks nothing." in page
    )
    assert "Nights dated by hand" in page and "advisory tier live, never ratcheted" in page
    assert "demo live, mock, dated by hand, advisory 2026" in read(built.path / "index.html")


def test_a_suite_below_live_may_block_and_says_so(publish, write_public, build, read):
    write_public("demo")
    publish("lift", "demo")
    page = read(build().path / "suites/demo.html")
    assert "Its gate may block; never ratcheted" in page and "Lock none" in page


@pytest.mark.parametrize("flat", [False, True])
def test_a_baseline_is_found_where_it_lies(publish, write_public, tmp_path, read, flat):
    from evalstats import site

    folder = write_public("demo")
    publish("lift", "demo")
    place = tmp_path / "flat" if flat else folder / "baselines"
    place.mkdir()
    (place / "demo.baseline.json").write_text("{}")
    places = site.Places(
        reports=tmp_path / "reports", gates=tmp_path / "gates", suites=tmp_path / "evals",
        baselines=tmp_path / "flat" if flat else None,
    )  # fmt: skip
    built = site.build(places, tmp_path / "site")
    assert "Baseline damaged; its policy is" in read(built.path / "suites/demo.html")


def test_no_private_suite_is_named_and_no_address_of_the_network(publish, build, every_page, tmp_path):
    import re

    publish("lift", "demo")
    private = tmp_path / "evals/hidden"
    private.mkdir(parents=True)
    (private / "suite.json").write_text('{"id": "secret-holdout", "visibility": "private_holdout"')
    built = build()
    pages = every_page(built)
    assert not re.search(r"https?://(?!www\.w3\.org)", pages) and "secret-holdout" not in pages
    assert built.problems[-1].startswith("1 suite file(s) cannot be read")
