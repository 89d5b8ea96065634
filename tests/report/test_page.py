import base64
import hashlib
import html.parser
import re

import pandas as pd
import pytest

from evalstats.errors import ReportError
from evalstats.report import Table, page


class Reader(html.parser.HTMLParser):
    """The tags, attributes and visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.ids, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_asks_nothing_of_anyone(rendered):
    read = Reader(rendered)
    assert not {"link", "iframe", "img", "object", "form", "base"} & set(read.tags)
    assert not [name for name in read.attributes if name.startswith("on") or name in ("src", "xlink:href")]
    assert not re.findall(r"url\(|@import|https?:", rendered)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', rendered)[1]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", rendered, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy


def test_the_order_of_the_page(rendered):
    text = " ".join(" ".join(Reader(rendered).text).split())
    order = [
        "evalstats · variance_bands · terraform-50",
        "How far does terraform-50 move when nothing changes?",
        "28 runs of 50 cases, 4,200 trials, 4,188 usable (infrastructure 12). Tier live.",
        "An unchanged night of skill-on",
        "0.60 to 0.70",
        "Is the latest run unusual?",
        "Which cases are settled?",
        "What was estimated, and for whom it holds",
        "1 caveat",
        "Provenance",
        "evalstats report verify .",
    ]
    place = 0
    for part in order:
        place = text.index(part, place)


def test_the_page_is_navigable(rendered):
    read = Reader(rendered)
    assert {"header", "nav", "main", "footer", "h1", "h2", "caption", "figcaption"} <= set(read.tags)
    assert read.tags.count("h1") == 1
    assert len(read.ids) == len(set(read.ids))
    targets = re.findall(r'href="#([^"]+)"', rendered)
    assert set(targets) <= set(read.ids) and "report-origin" in targets
    labels = [part for label in re.findall(r'aria-labelledby="([^"]+)"', rendered) for part in label.split()]
    assert set(labels) <= set(read.ids)
    assert '<html lang="en">' in rendered


def test_figures_have_a_title_and_a_reading(rendered):
    assert rendered.count('role="img"') == 6  # three figures, each for a page and for a phone
    assert rendered.count("<title id=") == rendered.count("<desc id=") == 6
    assert "var(--ink)" in rendered and 'fill="#1b1f24"' not in rendered


def test_a_long_table_is_folded(rendered):
    assert "<summary>Every case: 100 rows</summary>" in rendered
    assert "<summary>Bands" not in rendered


def test_a_page_shows_the_first_rows_of_a_very_long_table_and_says_where_the_others_are(draft, render):
    long = Table("long", "Very long", pd.DataFrame({"a": range(2_001)}))
    draft.section("long", "Long", tables=[long])
    page = render(draft)
    assert ">1,999<" in page and ">2,000<" not in page
    assert "The first 2,000 of 2,001 rows; all of them are in the CSV." in page
    draft.section("short", "Short", tables=[Table("short", "Long", pd.DataFrame({"a": range(2_000)}))])
    assert render(draft, "again").count("The first 2,000 of") == 1


def test_mock_runs_are_announced(draft, rendered, render):
    assert "Mock runs." not in rendered
    draft.document()["data"]["contains_mock"] = True
    assert "Mock runs." in render(draft)


def test_the_same_report_gives_the_same_page(draft, rendered, render):
    assert render(draft) == rendered


PAYLOADS = [
    "<script>document.title='PWN'</script>",
    "<img src=x onerror=alert(1)>",
    "</style></svg></title><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "{{7*7}}{% raw %}",
    "[x](javascript:alert(1))",
    "]]><!--",
]


def test_hostile_text_stays_text(hostile, render):
    payload = " ".join(PAYLOADS)
    clean, dirty = (
        Reader(render(hostile(text), name)) for name, text in (("a", "h" * len(payload)), ("b", payload))
    )
    assert dirty.tags == clean.tags
    assert dirty.attributes == clean.attributes
    assert " ".join(dirty.text).replace("\xa0", " ").count(payload) >= 15


def shape(inner):
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">{inner}</svg>'


@pytest.mark.parametrize(
    "inner",
    [
        "<script>1</script>",
        "<foreignObject/>",
        "<image/>",
        "<style>*{}</style>",
        "<a><path d=''/></a>",
        "<animate/>",
        "<use/>",
    ],
)
def test_only_shapes_enter_a_page(inner):
    with pytest.raises(ReportError, match="which is no shape"):
        page.drawing(shape(inner), "f", "t", "r")


def test_only_harmless_attributes_enter_a_page():
    inner = (
        '<path d="M0,0h1" onclick="x" style="x" href="y" fill="url(http://e/)" stroke="#1b1f24" class="k"/>'
    )
    assert '<path d="M0,0h1" stroke="var(--ink)" />' in page.drawing(shape(inner), "f", "t", "r")


def test_a_failure_is_a_page_too():
    facts = {"notebook": "small", "subject": "demo", "status": "failed", "message": "<b>no</b>"}
    text = page.render_failure(facts, "Traceback <x>\n", [])
    assert "This report was not made" in text and "&lt;b&gt;no" in text and "Traceback &lt;x&gt;" in text
    assert "<script" not in text
