"""The dashboard in a real browser: nothing is asked for, nothing is said, hostile text is text, and keys suffice."""

import json

import pytest

pytestmark = pytest.mark.browser
PAYLOAD = "<script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}"
IDENTITY = {name: PAYLOAD for name in ("model", "judge_model", "registry_version", "cli_version")}
PAGES = ["index.html", "suites/demo.html"]


def hostile_series(files):
    document = json.loads(files["report.json"])
    document["data"]["cases"] = {
        f"secret-name-{n}": {"archetype": PAYLOAD, "dimensions": [PAYLOAD]} for n in range(12)
    }
    for row in document["series"]:
        row["identity"] |= IDENTITY
        row["group_id"] += PAYLOAD
    return {"report.json": json.dumps(document).encode()}


@pytest.fixture
def hostile(publish, decide, build, tmp_path):
    """Return a dashboard with a payload in every field that somebody else fills."""
    for notebook in ("lift", "nightly", "variance_bands"):
        publish(notebook, "demo", text=PAYLOAD, change=hostile_series)
    publish("lift", "demo", text=PAYLOAD, nights=4)
    publish("baseline_audit", "evals", text=PAYLOAD)
    decide("demo", "regression", reason=PAYLOAD, statistic=PAYLOAD, report=f"lift/{PAYLOAD}/0001")
    decide("demo", "pass", report=PAYLOAD)
    version = publish("ratchet", "demo", text=PAYLOAD)
    (version / PAYLOAD.replace("/", "")).touch()  # a problem that names it
    return build().path


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]
)
def test_a_page_asks_for_nothing_fits_and_axe_finds_nothing(visit, hostile, axe, name, width, scheme):
    tab = visit((hostile / name).read_text("utf-8"), width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.evaluate("document.querySelectorAll('script').length") == 1  # ours
    assert tab.evaluate("document.querySelectorAll('img').length") == 0
    assert axe(tab) == []


def test_hostile_text_is_text(visit, hostile):
    tab = visit((hostile / "suites/demo.html").read_text("utf-8"))
    assert tab.locator(".finding").inner_text() == f"{PAYLOAD}It helps."
    assert tab.locator("main").inner_text().count(PAYLOAD) > 15
    first = visit((hostile / "index.html").read_text("utf-8"))
    assert PAYLOAD.replace("/", "") in first.locator("#problems").locator("..").inner_text()


def test_tables_sort_and_filter(visit, publish, decide, build):
    publish("lift", "demo")
    for day in range(1, 12):
        decide("demo", "regression" if day == 5 else "pass", day=day)
    tab = visit((build().path / "suites/demo.html").read_text("utf-8"))
    block = tab.locator(".table-block", has_text="Decisions, newest first")
    first = block.locator("tbody tr").first
    assert first.inner_text().startswith("2026-11-11")
    block.get_by_role("button", name="Decided").click()
    assert first.inner_text().startswith("2026-11-01")
    block.get_by_role("searchbox").fill("regression")
    assert block.locator("tbody tr:visible").count() == 1


@pytest.fixture
def open_site(browser):
    """Return a function that opens a page of a built folder, and the addresses that it asked for."""
    contexts = []

    def go(path):
        contexts.append(browser.new_context(viewport={"width": 1440, "height": 900}))
        tab, asked = contexts[-1].new_page(), []
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        return tab, asked

    yield go
    for context in contexts:
        context.close()


def test_the_folder_works_alone_and_by_keyboard(open_site, publish, decide, build):
    version = publish("lift", "demo")
    decide("demo", report=f"lift/demo/{version.name}")
    root = build().path
    tab, asked = open_site(root / "index.html")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the figures"
    tab.keyboard.press("Enter")
    for _ in range(20):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "demo":
            break
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/suites/demo.html")
    tab.get_by_role("link", name="lift 0001").click()
    tab.wait_for_url("**/report.html")
    assert tab.title() == "Lift · demo"
    pages = [
        root / "index.html",
        root / "suites/demo.html",
        root / f"reports/lift/demo/{version.name}/report.html",
    ]
    assert [url.partition("#")[0] for url in asked] == [page.as_uri() for page in pages]


def test_on_paper_there_is_the_page_and_no_tools(visit, hostile):
    tab = visit((hostile / "suites/demo.html").read_text("utf-8"), scheme="dark")
    tab.emulate_media(media="print")
    assert not tab.locator("nav").is_visible() and not tab.locator(".tools").first.is_visible()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
