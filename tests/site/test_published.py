"""A report that is not what was published costs itself alone: it is named, and nothing shows it or links to it."""

import json

import pytest

from evalstats import site


def swap(version, name, before, after):
    path = version / name
    path.write_bytes(path.read_bytes().replace(before, after))


def test_a_damaged_report_is_named_and_not_shown(publish, decide, build, read, every_page):
    version = publish("lift", "demo")
    publish("variance_bands", "demo")
    swap(version, "report.json", b"It helps.", b"It hurts.")
    built = build()
    assert len(built.problems) == 1
    assert built.problems[0].startswith(f"lift/demo/{version.name}: the report is not what was published")
    assert "hurts" not in every_page(built)
    assert "1 thing could not be read or failed" in read(built.path / "index.html")
    assert "Not all of it is here. lift/demo/" in read(built.path / "suites/demo.html")
    assert not (built.path / "reports/lift").exists()


def test_a_judged_version_that_was_altered_later_is_not_linked_to(publish, decide, build, read, every_page):
    old = publish("lift", "demo")
    publish("lift", "demo", nights=4)
    decide("demo", report=f"lift/demo/{old.name}")
    swap(old, "report.html", b"It helps", b"It hurts")
    built = build()
    assert [text.partition(":")[0] for text in built.problems] == [f"lift/demo/{old.name}"]
    assert "lift 0001, damaged" in read(built.path / "suites/demo.html")
    assert "hurts" not in every_page(built)


def test_a_failed_newest_version_is_told_on_the_page_of_its_suite(publish, build, read):
    publish("lift", "demo")
    publish("lift", "demo", status="failed", nights=5)
    built = build()
    assert built.problems[0].startswith("lift/demo: the newest version failed (0002-failed-")
    page = read(built.path / "suites/demo.html")
    assert "the newest version failed" in page and "the one before is shown" in page and "It helps." in page


def drawn_badly(svg):
    return lambda files: {name: svg for name in files if name.endswith(".svg")}


@pytest.mark.parametrize(
    "svg", [b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", b"<svg", b"\xff\xfe"]
)
def test_a_drawing_that_is_none_costs_its_report_alone(publish, build, every_page, svg):
    publish("lift", "demo", change=drawn_badly(svg))
    publish("variance_bands", "demo")
    built = build()
    assert len(built.problems) == 1 and built.problems[0].startswith("lift/demo/0001-")
    assert "<script/>" not in every_page(built)


def test_a_card_without_a_detail_and_runs_without_cases_are_shown(publish, build, read):
    def bare(files):
        document = json.loads(files["report.json"])
        for card in document["headline"]:
            del card["detail"]
        for row in document["series"]:
            del row["cases"]
        return {"report.json": json.dumps(document).encode()}

    publish("lift", "demo", change=bare)
    built = build()
    assert built.problems == () and "What fails" not in read(built.path / "suites/demo.html")


def test_a_report_that_lies_under_another_name_is_a_problem(publish, build, tmp_path):
    publish("lift", "demo")
    (tmp_path / "reports/lift/demo").rename(tmp_path / "reports/lift/other")
    assert "another report lies there" in build().problems[0]


def test_a_report_on_a_private_suite_is_neither_read_nor_named(publish, write_public, build, every_page):
    publish("lift", "hush")
    publish("lift", "quiet", visibility="public_canary")
    write_public("hush", visibility="private_holdout")
    built = build()
    assert built.problems == ("a report is on a private suite; it is neither read nor named",)
    assert "hush" not in every_page(built) and "quiet" in every_page(built)


def test_what_lies_about_is_no_report(publish, build, tmp_path):
    publish("lift", "demo")
    (tmp_path / "reports/lift/demo/0009-aaaaaaaaaaaa").write_text("a file")
    (tmp_path / "reports/notes.txt").write_text("mine")
    assert isinstance(build(), site.Built)


def test_links_lead_to_copies_inside_the_folder(publish, decide, build, read):
    import re

    old, new = publish("lift", "demo"), publish("lift", "demo", nights=4)
    publish("comparison", "demo-vs-other")
    decide("demo", report=f"lift/demo/{old.name}")
    decide("demo", report="lift/demo/0009-000000000000", day=3)  # gone: no dead link
    built = build()
    pages = [built.path / "index.html", *built.path.glob("suites/*.html")]
    hrefs = {(page, href) for page in pages for href in re.findall(r'href="([^"#][^"]*)"', page.read_text())}
    targets = {(page.parent / href).resolve() for page, href in hrefs}
    assert all(target.is_file() and target.is_relative_to(built.path.resolve()) for target in targets)
    reports = {str(t.relative_to(built.path.resolve())) for t in targets if t.name == "report.html"}
    assert {f"reports/lift/demo/{v.name}/report.html" for v in (old, new)} < reports
    assert any(name.startswith("reports/comparison/demo-vs-other/") for name in reports)
    assert "lift 0009, gone" in read(built.path / "suites/demo.html")
