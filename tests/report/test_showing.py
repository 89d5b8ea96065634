import sys

import pandas as pd
import pytest

from evalstats.report import showing
from evalstats.stats import Estimate, Test

KNOWN = {
    "estimand": "pass rate", "population": "SUPER", "estimate": 0.5, "std_error": 0.25, "conf_low": 0.15,
    "conf_high": 0.85, "level": 0.95, "n_cases": 4, "n_trials": 12, "method": "Wilson",
}  # fmt: skip
NAN = float("nan")


@pytest.fixture
def html(monkeypatch):
    """Return a function that gives what a notebook would show."""
    monkeypatch.setenv("IPYTHONDIR", "/nonexistent")
    from IPython.core.formatters import DisplayFormatter

    class Shell:
        display_formatter = DisplayFormatter()

    showing.register(Shell)
    return Shell.display_formatter.formatters["text/html"]


def test_an_estimate_shows_its_interval(html):
    shown = html(Estimate(**KNOWN))
    assert "<strong>pass rate 0.50 [0.15, 0.85]</strong>" in shown
    assert "95% interval, Wilson, SUPER; 4 cases, 12 trials" in shown


def test_a_difference_has_a_sign_and_an_unknown_its_reason(html):
    assert "+0.50 [+0.15, +0.85]" in html(Estimate(**{**KNOWN, "estimand": "difference of pass rates"}))
    unknown = {"estimate": NAN, "std_error": NAN, "conf_low": NAN, "conf_high": NAN, "n_clusters": 1}
    shown = html(Estimate(**{**KNOWN, **unknown, "caveats": ("one cluster: <b>no</b> spread",)}))
    assert "n/a — one cluster: &lt;b&gt;no&lt;/b&gt; spread" in shown and "1 cluster," in shown


def test_a_test_shows_p_and_its_null(html):
    shown = html(
        Test(null="no <change>", alternative="greater", statistic=2.5, p_value=0.0004, method="exact")
    )
    assert "<strong>p &lt; 0.001</strong> for “no &lt;change&gt;”" in shown and "statistic 2.50" in shown


def test_a_frame_of_estimates_shows_numbers_with_intervals(html):
    rows = [{"arm": "<on>", **Estimate(**KNOWN).as_row()}]
    shown = html(pd.DataFrame(rows))
    assert "0.50 [0.15, 0.85]" in shown and "&lt;on&gt;" in shown and "Estimate [95% interval]" in shown
    assert "conf_low" not in shown and "href" not in shown


def test_a_frame_of_tests_shows_p(html):
    made = Test(null="none", alternative="less", statistic=12.345, p_value=0.0004, method="exact")
    shown = html(pd.DataFrame([{"arm": "on", **made.as_row()}]))
    assert "&lt; 0.001" in shown and "12.3" in shown and "caveats" not in shown.lower()


def test_other_frames_are_shown_by_pandas(html):
    frame = pd.DataFrame({"a": [1]})
    assert html(frame) == frame._repr_html_()
    nothing = pd.DataFrame(columns=list(Estimate(**KNOWN).as_row()))
    assert html(nothing) == nothing._repr_html_()


def test_outside_a_notebook_nothing_is_taught():
    assert sys.modules.get("IPython") is None or sys.modules["IPython"].get_ipython() is None
