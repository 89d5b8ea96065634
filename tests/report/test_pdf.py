import importlib.util

import pytest

from evalstats.errors import UsageError
from evalstats.report import theme
from evalstats.report.pdf import as_pdf

HERE = importlib.util.find_spec("weasyprint") is not None


@pytest.mark.skipif(HERE, reason="weasyprint is installed")
def test_without_the_optional_package_the_way_out_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"optional package weasyprint; install evalstats-notebooks\[pdf\]"):
        as_pdf(tmp_path)


@pytest.mark.skipif(not HERE, reason="weasyprint is not installed")
@pytest.mark.filterwarnings("default")
def test_the_page_is_printed_the_same_twice(rendered, tmp_path):
    (tmp_path / "report.html").write_text(rendered, "utf-8")
    printed = as_pdf(tmp_path)
    assert printed.startswith(b"%PDF") and printed == as_pdf(tmp_path)


def test_drawings_on_paper_have_their_colours(rendered):
    painted = theme.painted(rendered)
    assert 'var(--on)"' in rendered and 'var(--on)"' not in painted and 'fill="#1f6feb"' in painted
    assert "color:var(--ink)" in painted  # the style sheet is left alone
