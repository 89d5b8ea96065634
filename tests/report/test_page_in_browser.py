"""The page in a real browser: no request, no message, no overflow, and hostile text that does nothing."""

import pytest

pytestmark = pytest.mark.browser

PAYLOAD = "<script>document.title='PWN'</script><img src=x onerror=\"document.title='PWN'\">{{7*7}}"


OUTSIDE = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
    const box = svg.getBoundingClientRect();
    const leaves = r => r.width && (r.left < box.left - 1 || r.right > box.right + 1);
    return [...svg.querySelectorAll('text')].filter(t => leaves(t.getBoundingClientRect())).map(t => t.textContent);
})"""


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
def test_words_of_a_long_change_stay_inside_their_figure(visit, draft, render, nights_figure, width):
    draft.section("nights", "Nights", figures=[nights_figure])
    assert visit(render(draft), width).evaluate(OUTSIDE) == []


@pytest.mark.parametrize("width", [390, 1440])
def test_hostile_text_is_shown_and_does_nothing(visit, hostile, render, width):
    tab = visit(render(hostile(PAYLOAD)), width)
    assert tab.title().startswith("<script>")
    assert tab.locator("h1").inner_text() == PAYLOAD
    assert tab.evaluate("document.querySelectorAll('script').length") == 1  # ours
    assert tab.evaluate("document.querySelectorAll('img').length") == 0
    assert tab.evaluate("document.documentElement.scrollWidth") == width


def test_the_keyboard_reaches_everything(visit, rendered):
    tab = visit(rendered)
    tab.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.tagName"))
        outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid" or tab.evaluate("document.activeElement.tagName") == "BODY"
    assert {"A", "SUMMARY", "DIV", "BUTTON", "INPUT"} <= reached


def test_the_page_prints(visit, rendered):
    tab = visit(rendered, scheme="dark")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not tab.locator("nav").is_visible()
    assert tab.pdf(format="A4").startswith(b"%PDF")


def test_the_page_says_the_same_without_its_script(browser, rendered, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(rendered, "utf-8")
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(file.as_uri())
    assert tab.locator("thead button, input").count() == 0
    assert tab.locator("tbody tr").count() > 100 and tab.locator("nav a").count() == 5
    context.close()


TABLE = "#table\\\\:cases"
COLUMN = "([selector, n]) => [...document.querySelectorAll(`${selector} tbody tr`)].map(r => r.cells[n].textContent)"


def column(tab, number):
    return tab.evaluate(COLUMN, [TABLE.replace("\\\\", "\\"), number])


@pytest.fixture
def table(visit, rendered):
    """The page, its long table unfolded."""
    tab = visit(rendered)
    tab.get_by_text("Every case: 100 rows").click()
    return tab


def test_a_table_is_sorted_by_number_and_back(table):
    published = column(table, 4)
    numbers = sorted(map(float, published))
    head = table.locator("th", has_text="Score").last
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending" and [*map(float, column(table, 4))] == numbers
    table.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert [*map(float, column(table, 4))] == numbers[::-1]
    table.keyboard.press("Space")
    assert head.get_attribute("aria-sort") is None and column(table, 4) == published


def test_text_is_sorted_as_people_count(table):
    table.locator("th", has_text="Case").last.get_by_role("button").click()
    ours = [name for name in column(table, 0) if name.startswith("cloud-run")]
    assert [int(name.rpartition("-")[2]) for name in ours] == sorted(int(n.rpartition("-")[2]) for n in ours)


SIGNS = ["+0.18 [+0.13, +0.24]", "n/a — one case", "−0.05 [−0.10, 0.00]", "< 0.001", "0.001", "1,204", "54%"]


def test_signs_thousands_and_gaps_are_ordered(visit, draft, render):
    import pandas as pd

    from evalstats.report import Column, Table

    frame = pd.DataFrame({"name": list("abcdefg"), "value": [0.0] * 7})
    shown = Table("signs", "Signs", frame, [Column("name", "Name"), Column("value", "Value", "number")])
    document = shown.as_document()
    for row, sign in zip(document["cells"], SIGNS, strict=True):
        row[1] = sign
    shown.as_document = lambda: document
    draft.section("signs", "Signs", tables=[shown])
    tab = visit(render(draft))
    button = tab.locator("#table\\:signs").get_by_role("button", name="Value")
    order = "[...document.querySelectorAll('#table\\\\:signs tbody tr')].map(r => r.cells[0].textContent).join('')"
    button.click()
    assert tab.evaluate(order) == "cdeagfb"  # the unknown last
    button.click()
    assert tab.evaluate(order) == "fgaedcb"  # and last again


def test_a_table_is_filtered_by_words(table):
    field = table.get_by_role("searchbox", name="Filter rows: Every case")
    field.fill("vpc SKILL-ON")
    visible = table.locator("tbody tr:visible", has_text="vpc-peering")
    assert visible.count() == 17
    assert table.get_by_text("17 of 100 rows").is_visible()
    field.fill("")
    assert table.locator("details.table tbody tr:visible").count() == 100


def test_small_tables_are_left_alone(visit, rendered):
    tab = visit(rendered)
    assert tab.locator("input").count() == 1 and tab.locator("thead button").count() > 7
    assert tab.locator("input").is_hidden()  # inside the folded table


def test_the_contents_stay_in_sight_and_say_where_one_is(visit, rendered):
    for width in (390, 1440):
        tab = visit(rendered, width)
        tab.evaluate("document.querySelector('#cases').scrollIntoView()")
        tab.wait_for_selector("nav a[aria-current][href='#cases']")
        box = tab.locator("nav").bounding_box()
        heading = tab.locator("#cases").bounding_box()
        assert 0 <= box["y"] < 100
        assert width == 1440 or heading["y"] >= box["y"] + box["height"]


def test_a_difference_is_a_page_like_any_other(visit):
    from evalstats.report import page
    from evalstats.report.differences import Change, Difference

    changes = tuple(Change("estimates", f"{PAYLOAD} {n}", PAYLOAD, "0.5") for n in range(9))
    for width in (390, 1440):
        tab = visit(page.render_diff(Difference(PAYLOAD, PAYLOAD, changes)), width)
        assert tab.locator("tbody tr").count() == 9 and "<script>" in tab.locator("header").inner_text()
        assert tab.evaluate("document.documentElement.scrollWidth") == width


# --- accessibility -------------------------------------------------------------------------------


@pytest.fixture(params=["report", "difference", "failure"])
def some_page(request, rendered):
    """Each kind of page there is."""
    from evalstats.report import page
    from evalstats.report.differences import Change, Difference

    if request.param == "report":
        return rendered
    if request.param == "failure":
        facts = {"notebook": "small", "subject": "demo", "status": "failed", "message": "no"}
        return page.render_failure(facts, "Traceback\n" * 99, [("Notebook", "small")])
    return page.render_diff(Difference("a", "b", tuple(Change("inputs", str(n), "1", "2") for n in range(9))))


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_axe_finds_nothing(visit, some_page, axe, width, scheme):
    tab = visit(some_page, width, scheme)
    assert axe(tab) == []
