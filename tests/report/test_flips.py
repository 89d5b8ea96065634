import pandas as pd
import pytest

from evalstats import stats
from evalstats.report import theme
from evalstats.report.flips import flip_matrix

KINDS = {"both": (True, True), "gained": (False, True), "lost": (True, False), "neither": (False, False)}


def make(**counts):
    rows = [
        {"case_id": f"{kind}-{i}", "old_passes": old, "new_passes": new}
        for kind, (old, new) in KINDS.items()
        for i in range(counts.get(kind, 0))
    ]
    return flip_matrix(
        pd.DataFrame(rows, columns=["case_id", "old_passes", "new_passes"]), sides=("off", "on"), level=0.8
    )


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_four_cells_and_two_intervals(width):
    drawn = theme.count_marks(make(both=3, gained=2, lost=1, neither=4).draw(width).svg)
    assert [drawn[f"m_cell_{i}"] for i in range(4)] == [1, 1, 1, 1]
    assert drawn["m_intervals"] == drawn["m_points"] == 2


def test_the_reading_has_counts_and_wilson_intervals():
    low, high = 0.09, 0.40  # 2 of 10 at 80%: (p + z²/2n ± z√(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = 1.2816
    share = stats.wilson(2, 10, level=0.8)
    assert (round(share.conf_low, 2), round(share.conf_high, 2)) == (low, high)
    assert make(both=3, gained=2, lost=0, neither=5).reading == (
        "From off to on, 3 pass on both sides and 5 on neither; on gained 2 of 10: 0.20 [0.09, 0.40];"
        " on lost 0 of 10: 0.00 [0.00, 0.14] (80% intervals of the share)."
    )


def test_no_more_names_than_there_is_room_for():
    from xml.etree import ElementTree

    svg = make(gained=9).wide.svg
    texts = [t.text for t in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "gained-0, gained-1, gained-2, gained-3 and 5 more" in texts


def test_nothing_to_draw():
    assert make().reading == "There is nothing to draw."
    assert make().wide.svg.startswith("<svg")
