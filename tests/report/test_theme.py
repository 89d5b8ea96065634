import altair as alt
import pytest

from evalstats.errors import ReportError
from evalstats.report import theme


def contrast(a, b):
    def light(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("ink", "paper"),
        ("soft", "paper"),
        ("soft", "panel"),
        ("on", "paper"),
        ("off", "paper"),
        ("amber", "amberbg"),
    ],
)
def test_words_can_be_read(palette, text, ground):
    assert contrast(palette[text], palette[ground]) >= 4.5


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_marks_can_be_seen(palette):
    assert contrast(palette["mute"], palette["paper"]) >= 3


def test_each_colour_names_one_variable():
    assert list(theme.LIGHT) == list(theme.DARK)
    assert len(set(theme.LIGHT.values())) == len(theme.LIGHT)


def test_themed_replaces_only_whole_colours():
    assert theme.themed('<a fill="#1b1f24" stroke="#1b1f2400">#1b1f24</a>') == (
        '<a fill="var(--ink)" stroke="#1b1f2400">#1b1f24</a>'
    )


def test_a_row_that_is_not_drawn_is_an_error():
    data = alt.InlineData(values=[{"v": 1}, {"v": None}])
    chart = alt.layer(alt.Chart(data, mark="point", name="m_dots").encode(x=alt.X("v:Q")))
    spec = chart.to_dict() | {"config": {"mark": {"invalid": "filter"}}}
    assert theme.count_marks(theme.svg(spec, {"m_dots": 1})) == {"m_dots": 1}
    with pytest.raises(ReportError, match="'m_dots' drew 1 of 2 rows"):
        theme.svg(spec, {"m_dots": 2})


def test_no_drawing_fetches_anything():
    spec = {"data": {"url": "http://127.0.0.1:9/x.csv"}, "mark": "point", "encoding": {}}
    with pytest.raises(ValueError, match=r"(?i)not allowed|access|denied"):
        theme.svg(spec, {})
