"""Forty nights and their replays: the design by hand arithmetic, a few replays afresh, and the published page."""

import importlib
import re
from datetime import date
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "nightly-replay.md"


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield importlib.import_module("benchmarks.nightly_replay")


@pytest.fixture
def design(script):
    """Return 24 cases of yes-or-no trials: seven in ten pass, of the broken ones four in ten."""
    whole, broken = (np.repeat([1.0, 0.0], [k, 200 - k]) for k in (140, 80))
    return script.Design(whole=[whole] * 24, broken=[broken] * 24)


def test_the_design_is_what_the_binomial_says(design):
    assert (design.centre, design.drop) == (pytest.approx(0.7), pytest.approx(0.3))
    assert design.run_sd == pytest.approx(sqrt(0.7 * 0.3 * 200 / 199 / 120))
    look = design.at(8)
    assert look.std_error == pytest.approx(design.run_sd * sqrt(9 / 8))
    # z(.95) / (z(.95) + z(.80)) = 1.6449 / 2.4865 of the margin, unless the noise asks for more (t(7; 1 - .05/3)).
    assert look.block_above == pytest.approx(
        max(0.15 * 1.644854 / 2.486475, 2.640 * look.std_error + 1 / 240), rel=1e-3
    )


def test_replays_block_the_break_and_hardly_an_unchanged_night(script, design):
    found = [script.replay(design, seed) for seed in (1, 2, 3)]
    # Nights 9 to 19, and after the new registry 28 and 29: eight nights of history come first, each time.
    assert [each.judged for each in found] == [13, 13, 13]
    assert sum(each.blocked for each in found) <= 1
    assert [(each.delay, each.dated) for each in found] == [(0, 0)] * 3
    assert script.replay(design, 1) == found[0] and found[0] != found[1]


def test_what_is_not_as_promised_is_told(script, design):
    found = [script.replay(design, seed) for seed in (1, 2)]
    calm = {"verdict": "pass", "reasons": []}
    nights = [{"night": 20, "judged": calm}, {"night": 30, "judged": calm}]
    assert script.faults(nights, ["2026-01-25"], found) == [
        "the new registry did not restart the history",
        "the break was not blocked",
        "no change point dates the break within one night",
    ]


# --- the page ----------------------------------------------------------------------------------------


def value(name):
    """Return what the page says of something, as the text of the second cell."""
    return re.search(rf"^\| {re.escape(name)} \| (.*?) \|", PAGE.read_text("utf-8"), re.MULTILINE)[1]


def test_the_arithmetic_of_the_page_holds():
    within, cases, trials, sd = re.fullmatch(
        r"sqrt\((\S+) / \((\d+) x (\d+)\)\) = (\S+)", value("scatter of a night")
    ).groups()
    assert sqrt(float(within) / (int(cases) * int(trials))) == pytest.approx(float(sd), abs=1e-4)
    mde, margin = map(float, re.findall(r"\d\.\d+", value("smallest drop seen with power .80 (MDE)")))
    assert mde < margin < 0.30


def test_the_page_shows_the_cut_the_block_and_the_date_of_the_break():
    text = PAGE.read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if re.match(r"\| \d+ \| 2026-", line)]
    nights = {int(row[0]): row for row in rows}
    assert sorted(nights) == list(range(1, 41))
    assert nights[20][3:6] == ["cannot gate", "–", "0"] and nights[19][5] != "0"
    assert nights[30][3] == "regression" and nights[30][6] == "1"
    dated = re.findall(r"\d{4}-\d\d-\d\d", text.partition("Change points, dated from the last night: ")[2])
    assert any(abs((date.fromisoformat(day) - date(2026, 1, 30)).days) <= 1 for day in dated)


def test_the_page_shows_two_hundred_replays_within_their_promise():
    assert "200 replays, seeds 1 to 200 in order." in PAGE.read_text("utf-8")
    blocked, judged, rate = re.match(r"(\d+) of (\d+) \((\S+)%\)", value("unchanged nights blocked")).groups()
    assert int(judged) == 200 * 13 and int(blocked) / int(judged) <= 0.05
    assert float(rate) == pytest.approx(100 * int(blocked) / int(judged), abs=0.01)
