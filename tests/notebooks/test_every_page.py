"""The page of every notebook in a real browser: no request, no overflow, and nothing for axe to say."""

import json

import pytest

from evalstats.report import page
from tests.notebooks.conftest import ROOT, climbing, noisy
from tests.report.test_page_in_browser import OUTSIDE

pytestmark = pytest.mark.browser
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module", params=[noisy, climbing], ids=["noisy", "degenerate"])
def place(request, tmp_path_factory, lay_out):
    """A folder with nights of a suite that differ, or that are all alike."""
    return lay_out(tmp_path_factory.mktemp("every"), request.param)


@pytest.fixture(scope="module")
def page_of(place, run_cells, tmp_path_factory):
    """Return a function that gives the page of a notebook over that folder, drawn once."""
    drawn = {}

    def make(name):
        if name not in drawn:
            folder = tmp_path_factory.mktemp(name)
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(place)
                asked = {} if name == "baseline_audit" else {"suite": "demo"}
                run_cells(name, **asked).draft.write(folder)
            document = json.loads((folder / "report.json").read_text("utf-8"))
            drawings = {path.stem: path.read_text("utf-8") for path in (folder / "figures").glob("*.svg")}
            drawn[name] = page.render(document, drawings, [("Notebook", name)])
        return drawn[name]

    return make


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_page_fits_asks_for_nothing_and_axe_finds_nothing(visit, axe, page_of, name, width, scheme):
    tab = visit(page_of(name), width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.evaluate(OUTSIDE) == []
    assert axe(tab) == []
