"""The page in a real browser: no request, no message, no overflow, and hostile text that does nothing."""

from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium on this machine"),
]

PAYLOAD = "<script>document.title='PWN'</script><img src=x onerror=\"document.title='PWN'\">{{7*7}}"


OUTSIDE = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
    const box = svg.getBoundingClientRect();
    const leaves = r => r.width && (r.left < box.left - 1 || r.right > box.right + 1);
    return [...svg.querySelectorAll('text')].filter(t => leaves(t.getBoundingClientRect())).map(t => t.textContent);
})"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Return a function that opens a page, after which nothing was asked for and nothing was said."""
    contexts = []

    def go(text, width=1440, scheme="light"):
        file = tmp_path / "report.html"
        file.write_text(text, "utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        tab, noise = context.new_page(), []
        tab.on("request", lambda request: noise.append(request.url))
        tab.on("console", lambda message: noise.append(message.text))
        tab.on("pageerror", lambda error: noise.append(str(error)))
        tab.on("dialog", lambda dialog: noise.append(dialog.message))
        tab.goto(file.as_uri())
        assert noise == [file.as_uri()]
        return tab

    yield go
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_nothing_is_wider_than_the_window(visit, rendered, width):
    tab = visit(rendered, width)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    wide, narrow = (tab.locator(f"figure .{name} svg").first.is_visible() for name in ("wide", "narrow"))
    assert (wide, narrow) == ((False, True) if width == 390 else (True, False))


def test_words_in_a_figure_are_readable_on_a_phone(visit, rendered):
    heights = visit(rendered, 390).evaluate(
        "[...document.querySelectorAll('.narrow svg text')].map(t => t.getBoundingClientRect().height)"
    )
    assert min(heights) >= 10


def test_dark_is_dark_in_page_and_figure(visit, rendered):
    ask = """() => { const paint = (e, k) => getComputedStyle(e)[k];
        return [paint(document.body, 'backgroundColor'), paint(document.querySelector('svg text'), 'fill')] }"""
    assert visit(rendered, scheme="light").evaluate(ask) == ["rgb(255, 255, 255)", "rgb(31, 111, 235)"]
    assert visit(rendered, scheme="dark").evaluate(ask) == ["rgb(13, 17, 23)", "rgb(88, 166, 255)"]


def test_words_stay_inside_their_figure(visit, rendered):
    for width in (390, 1440):
        assert visit(rendered, width).evaluate(OUTSIDE) == []


@pytest.mark.parametrize("width", [390, 1440])
def test_hostile_text_is_shown_and_does_nothing(visit, hostile, render, width):
    tab = visit(render(hostile(PAYLOAD)), width)
    assert tab.title().startswith("<script>")
    assert tab.locator("h1").inner_text() == PAYLOAD
    assert tab.evaluate("document.querySelectorAll('script, img').length") == 0
    assert tab.evaluate("document.documentElement.scrollWidth") == width


def test_the_keyboard_reaches_everything(visit, rendered):
    tab = visit(rendered)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(30):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.tagName"))
        outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid" or tab.evaluate("document.activeElement.tagName") == "BODY"
    assert {"A", "SUMMARY", "DIV"} <= reached


def test_the_page_prints(visit, rendered):
    tab = visit(rendered, scheme="dark")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not tab.locator("nav").is_visible()
    assert tab.pdf(format="A4").startswith(b"%PDF")
