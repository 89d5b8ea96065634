"""The dashboard stands on published reports and decisions, shows what is damaged as damaged, and works alone."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from evalstats.cli import run_command
from evalstats.errors import UsageError

PAYLOAD = "<script>alert(1)</script>"


def text_of(path: Path) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", path.read_text("utf-8"))))


def test_every_suite_has_a_line_and_a_page(publish, decide, build):
    version = publish("lift", "demo")
    publish("variance_bands", "demo")
    decide("demo", "regression", report=f"lift/demo/{version.name}", reason="it fell", day=2)
    decide("other", "pass")
    built = build()
    assert (built.pages, built.problems) == (3, ())
    first = text_of(built.path / "index.html")
    assert "2 suites with something to tell. Blocked at its last gate: demo." in first
    assert "0.34 [0.21, 0.45]" in first and "regression, 2026-11-02" in first
    page = text_of(built.path / "suites/demo.html")
    assert "1 decision: 1 regression." in page and "it fell" in page
    for shown in ("+0.02", "0.100", "1%", "36%", "0.166", "r9", "What fails", "A1"):
        assert shown in page
    assert "No report on other has been published" in text_of(built.path / "suites/other.html")


def test_links_lead_to_copies_inside_the_folder(publish, decide, build):
    old, new = publish("lift", "demo"), publish("lift", "demo", nights=4)
    decide("demo", report=f"lift/demo/{old.name}")
    decide("demo", report="lift/demo/0009-000000000000", day=3)  # gone: no dead link
    built = build()
    pages = [built.path / "index.html", *built.path.glob("suites/*.html")]
    hrefs = {(page, href) for page in pages for href in re.findall(r'href="([^"#][^"]*)"', page.read_text())}
    targets = {(page.parent / href).resolve() for page, href in hrefs}
    assert all(target.is_file() and target.is_relative_to(built.path.resolve()) for target in targets)
    assert {f"reports/lift/demo/{v.name}/report.html" for v in (old, new)} <= {
        str(target.relative_to(built.path.resolve())) for target in targets
    }


def test_what_fails_is_shown_without_names(publish, build):
    publish("variance_bands", "demo")
    page = (build().path / "suites/demo.html").read_text()
    assert "What fails" in page and "secret-name" not in page


def test_nothing_published_is_said_with_the_way_on(build):
    built = build()
    assert built.pages == 1
    assert "Nothing has been published yet. `evalstats run SUITE" in text_of(built.path / "index.html")


def test_mock_and_advisory_are_marked(publish, build, tmp_path, monkeypatch):
    publish("lift", "solver", mock=True)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals").symlink_to(Path(__file__).parents[2] / "evals")
    page = text_of(build().path / "suites/solver.html")
    assert "Mock runs." in page and "Marked: mock, advisory, headless, not live." in page
    assert (
        "As a headline it does not count: mock runs are among its runs; the suite is not live; no lock"
        in page
    )


def test_a_damaged_report_is_named_and_not_shown(publish, decide, build, capsys, tmp_path):
    version = publish("lift", "demo")
    publish("variance_bands", "demo")
    report = version / "report.json"
    report.write_bytes(report.read_bytes().replace(b"It helps.", b"It hurts."))
    decide("demo")
    with (tmp_path / "gates/demo.jsonl").open("a") as ledger:
        ledger.write("{not a decision\n")
    built = build()
    assert len(built.problems) == 2
    assert built.problems[0].startswith(f"lift/demo/{version.name}: the report is not what was published")
    assert built.problems[1].startswith("gates/demo.jsonl:2: is no decision of a gate")
    pages = "".join(p.read_text() for p in built.path.rglob("*.html"))
    assert "hurts" not in pages and "could not be read or failed" in text_of(built.path / "index.html")
    words = ["site", "build", "--data", str(tmp_path), "--json"]
    assert run_command(words) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["problems"] == list(built.problems) and said.err.count("\n") == 2


def test_a_failed_newest_version_is_told(publish, build):
    publish("lift", "demo")
    publish("lift", "demo", status="failed", nights=5)
    assert build().problems[0].startswith("lift/demo: the newest version failed")


def test_the_same_twice_whatever_the_place(publish, decide, build, monkeypatch):
    publish("lift", "demo")
    decide("demo")
    first = build("one/site")
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    old = os.umask(0o077)
    try:
        second = build("two/elsewhere")
    finally:
        os.umask(old)
    files = [
        {p.relative_to(b.path): p.read_bytes() for p in b.path.rglob("*") if p.is_file()}
        for b in (first, second)
    ]
    assert files[0] == files[1] and len(files[0]) > 4
    again = build("one/site")  # a dashboard is replaced
    assert sorted(p.name for p in again.path.parent.iterdir()) == ["site"]


def test_a_folder_of_something_else_is_left_alone(build, tmp_path):
    mine = tmp_path / "site"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="is there and is no dashboard"):
        build()
    assert (mine / "thesis.txt").read_text() == "years of work"


def test_two_hundred_nights_of_twelve_archetypes_fit_into_two_megabytes(publish, decide, build):
    version = publish("lift", "demo", nights=200)
    publish("variance_bands", "demo", nights=200)
    for day in range(200):
        decide("demo", report=f"lift/demo/{version.name}", day=1 + day % 28)
    built = build()
    assert 50_000 < built.bytes < 2_000_000
    assert "200 decisions: 200 pass." in text_of(built.path / "suites/demo.html")


def test_no_address_of_the_network_and_no_private_suite_is_named(publish, build, tmp_path):
    publish("lift", "demo")
    private = tmp_path / "evals/hidden"
    private.mkdir(parents=True)
    (private / "suite.json").write_text('{"id": "secret-holdout", "visibility": "private_holdout"')
    pages = "".join(p.read_text() for p in build().path.rglob("*.html"))
    assert not re.search(r"https?://(?!www\.w3\.org)", pages) and "secret-holdout" not in pages
    assert "1 suite file(s) cannot be read" in html.unescape(pages)


def test_it_is_served_over_loopback_until_it_is_told_to_stop(publish, decide, build, tmp_path):
    publish("lift", "demo")
    decide("demo")
    build()
    command = [sys.executable, "-m", "evalstats", "site", "serve", "--data", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        try:
            assert b"Where do the suites stand?" in urllib.request.urlopen(address, timeout=20).read()
            for wrong in ("suites/", "../gates/demo.jsonl", "%2e%2e/gates/demo.jsonl", "reports/"):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(address + wrong, timeout=20)
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0


def test_what_cannot_be_served_is_one_line(tmp_path, capsys):
    assert run_command(["site", "serve", "--data", str(tmp_path)]) == 2
    assert "no dashboard is here; `evalstats site build` makes it" in capsys.readouterr().err


# --- in a browser ----------------------------------------------------------------------------------


@pytest.fixture
def hostile(publish, decide, build):
    publish("lift", "demo", text=PAYLOAD)
    publish("nightly", "demo", text=PAYLOAD)
    decide("demo", "regression", reason=PAYLOAD)
    return build().path


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "suites/demo.html"])
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_a_page_asks_for_nothing_fits_and_axe_finds_nothing(visit, hostile, axe, name, width, scheme):
    tab = visit((hostile / name).read_text("utf-8"), width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.evaluate("document.querySelectorAll('script').length") == 1  # ours
    tab.evaluate(axe)
    found = tab.evaluate("axe.run()")
    assert [(v["id"], [n["target"] for n in v["nodes"]]) for v in found["violations"]] == []


@pytest.mark.browser
def test_hostile_text_is_text(visit, hostile):
    tab = visit((hostile / "suites/demo.html").read_text("utf-8"))
    assert tab.locator(".finding").inner_text() == f"{PAYLOAD}It helps."
    assert tab.locator("main").inner_text().count(PAYLOAD) > 10
