import json
import subprocess
import sys

import altair as alt
import pytest

from evalstats.report import charts, theme
from evalstats.report.canvas import Canvas, word


def test_importing_charts_makes_altair_show_them_offline():
    assert charts.Figure
    assert alt.renderers.active == "evalstats"
    chart = alt.Chart(alt.InlineData(values=[{"a": 1}])).mark_point().encode(x="a:Q")
    shown = chart._repr_mimebundle_()
    assert set(shown) == {"application/vnd.vegalite.v5+json", "image/svg+xml", "text/plain"}
    assert shown["image/svg+xml"].startswith("<svg")


def test_a_figure_shows_itself(series, bands):
    shown = charts.run_chart(series, bands)._repr_mimebundle_()
    assert set(shown) == {"application/vnd.vegalite.v5+json", "image/svg+xml", "text/plain"}
    json.dumps(shown, allow_nan=False)


def test_layers_are_named_once_and_counted():
    canvas = Canvas(100, 50)
    canvas.words("some words", [word("a", (1, 1)), word("b", (2, 2))])
    canvas.words("nothing", [])
    with pytest.raises(ValueError, match="stands twice"):
        canvas.words("some-words", [word("c", (3, 3))])
    assert canvas.marks == {"m_some_words": 2}
    assert theme.count_marks(canvas.drawing().svg) == {"m_some_words": 2}


HOSTILE = [
    "<script>alert(1)</script>",
    "a'b\"c",
    "a.b[0]",
    "datum.x",
    "__proto__",
    "{{7*7}}",
    "]]>",
    "&amp;",
    "\\",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_words_stay_words(text):
    canvas = Canvas(100, 50)
    canvas.words("w", [word(text, (1, 1))])
    svg = canvas.drawing().svg
    from xml.etree import ElementTree

    assert [t.text for t in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")] == [text]
    assert "<script" not in svg


def test_the_room_is_cheap_to_enter():
    heavy = ("pandas", "numpy", "altair", "jinja2", "papermill")
    code = f"import sys, evalstats.report; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_every_public_name_is_there():
    from evalstats import report

    for name in report.__all__:
        assert getattr(report, name) is getattr(report, name)
    assert callable(report.build) and callable(report.verify)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        report.nothing  # noqa: B018
