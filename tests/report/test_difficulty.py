import pandas as pd
import pytest

from evalstats.report import theme
from evalstats.report.difficulty import difficulty_map

NUMBERS = ("difficulty", "discrimination")


def rows_of(figure, layer, width=theme.WIDE):
    spec = figure.draw(width).spec()
    named = next(each["data"]["name"] for each in spec["layer"] if each["name"] == layer)
    return spec["datasets"][named]


def case(name, difficulty, discrimination, proposal="keep", half=0.1):
    row = {"case_id": name, "proposal": proposal}
    for axis, value in zip(NUMBERS, (difficulty, discrimination), strict=True):
        row |= {axis: value, f"{axis}_low": value - half, f"{axis}_high": value + half}
    return row


CASES = [
    case("easy", 0.1, 0.05),
    case("gains", 0.6, 0.4),
    case("hurts", 0.5, -0.3),
    case("dead", 0.95, 0.0, "retire"),
    case("new", 0.4, 0.2, "admit"),
    case("alone", float("nan"), float("nan")),
]


def make(rows=CASES):
    columns = ["case_id", "proposal", *(f"{a}{e}" for a in NUMBERS for e in ("", "_low", "_high"))]
    return difficulty_map(pd.DataFrame(rows, columns=columns), arms=("on", "off"), level=0.8)


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_every_case_is_a_cross(width):
    drawn = theme.count_marks(make().draw(width).svg)
    assert drawn["m_cases"] == drawn["m_across"] == drawn["m_upwards"] == 5  # the sixth has no place


def test_the_reading_counts_those_beyond_their_intervals():
    assert make().reading == (
        "Of 5 cases, 2 pass more often in on than in off and 1 less often, beyond their 80% intervals;"
        " the hardest is dead, which fails 95% of its trials in off. 1 could not be placed."
    )


def test_what_changes_is_named_and_painted():
    names = rows_of(make(), "m_names")
    paints = {row["text"]: row["colour"] for row in names}
    assert (paints["dead"], paints["new"], paints["gains"]) == (theme.OFF, theme.ON, theme.INK)


def test_no_name_lies_on_another():
    names = rows_of(make([case(f"case-{i}", 0.5 + i / 1000, 0.3) for i in range(40)]), "m_names")
    boxes = [(row["x"], row["y"], row["x"] + 6.7 * len(row["text"])) for row in names]
    assert names and all(
        a[2] <= b[0] or b[2] <= a[0] or abs(a[1] - b[1]) >= 14 for i, a in enumerate(boxes) for b in boxes[:i]
    )


@pytest.mark.parametrize("rows", [[], CASES[-1:]])
def test_nothing_to_place(rows):
    figure = make(rows)
    assert figure.reading.startswith("There is nothing to draw.")
    assert figure.wide.svg.startswith("<svg")


def test_one_case_without_any_spread_has_room():
    assert theme.count_marks(make([case("one", 0.0, 0.0, half=0.0)]).wide.svg)["m_cases"] == 1
