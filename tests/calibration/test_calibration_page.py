"""The calibration page: complete, honest about its bounds, and repeatable within Monte-Carlo error.

The fast tests read the page and redraw a few of its cells; the slow one redraws all of it with another seed.
"""

import json
import re
import subprocess
import sys
from math import sqrt
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "calibration.md"
DECLARED = json.loads((Path(__file__).parent / "worlds.json").read_text(encoding="utf-8"))
CASES = [4, 10, 20, 50, 200]
LEAST = {0.80: (0.70, 0.75, 0.75, 0.77, 0.77), 0.95: (0.90, 0.915, 0.915, 0.93, 0.93)}
REDRAWN = [
    ("three trials, middle, large gain", 10),
    ("one trial, ceiling, gain", 20),
    ("graded, three trials, ceiling, gain", 20),
    ("three trials, high, clusters of two", 50),
]


def section(title):
    """Return the cells of the table under one heading, a list of rows."""
    text = PAGE.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def number(cell):
    text = cell.strip("*").split(" ")[0]
    return None if text == "–" else float(text)


def draws():
    return int(re.search(r"is drawn (\d+) times", PAGE.read_text(encoding="utf-8")).group(1))


def printed():
    """Return coverage by (measure, world, cases, level), as printed; None where everything was refused."""
    return {
        (measure, row[0], int(row[1]), level): number(row[column])
        for measure in ("mean", "difference", "lift")
        for row in section(measure.capitalize())
        for level, column in ((0.80, 2), (0.95, 3))
    }


def simulate(*options):
    command = [sys.executable, "-m", "benchmarks.calibration", "--json", *options]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def far(row, was):
    """Return by how many Monte-Carlo errors a redrawn coverage and the printed one differ."""
    kept = (1 - row["refused"]) * draws()
    error = sqrt(row["coverage_error"] ** 2 + max(was * (1 - was), 0.5 / kept) / kept)
    return (abs(row["coverage"] - was) - 0.0005) / error


def test_worlds_span_what_was_asked():
    worlds = DECLARED["worlds"]
    assert len(worlds) >= 24 and len({world["name"] for world in worlds}) == len(worlds)
    assert DECLARED["cases"] == CASES
    assert {1, 2, 3, 5, 10} <= {world["trials"] for world in worlds}
    assert sum("expectations" in world for world in worlds) >= 6
    assert any(world["mean"] >= 0.9 for world in worlds) and any(0.4 <= w["mean"] <= 0.6 for w in worlds)
    assert {"cluster_size", "day_sd", "spread"} <= set().union(*worlds)


def test_page_is_complete():
    names = [world["name"] for world in DECLARED["worlds"]]
    expected = {
        (measure, name, n, level)
        for measure in ("mean", "difference", "lift")
        for name in names
        for n in CASES
        for level in LEAST
    }
    assert set(printed()) == expected
    assert len(section("Size of the tests")) >= 20


def test_page_names_every_row_outside_its_bounds():
    listed = {(row[0], row[1], int(row[2]), float(row[3])) for row in section("What holds and what does not")}
    outside = set()
    for (measure, world, n, level), share in printed().items():
        if share is None:
            continue
        too_wide = level == 0.80 and n >= 20 and share > 0.9005
        if share < LEAST[level][CASES.index(n)] - 0.0005 or too_wide:
            outside.add((measure, world, n, level))
    assert outside <= listed


def test_no_size_is_too_large():
    for row in section("Size of the tests"):
        share, error = number(row[2]), number(row[3])
        assert share <= 0.05 + 3 * error + 1e-4 or row[5] == "**too large**", row


@pytest.mark.parametrize(("world", "cases"), REDRAWN, ids=[f"{w}, {n}" for w, n in REDRAWN])
def test_page_is_what_a_short_simulation_finds(world, cases):
    page = printed()
    rows = simulate("--reps", "400", "--seed", "7", "--world", world, "--cases", str(cases), "--jobs", "1")[
        "rows"
    ]
    assert len(rows) == 6
    for row in rows:
        was = page[row["measure"], row["world"], row["cases"], row["level"]]
        assert far(row, was) < 4, (row, was)


@pytest.mark.slow
def test_page_is_what_a_full_simulation_finds():
    page, found = printed(), simulate("--seed", "2")
    for row in found["rows"]:
        was = page[row["measure"], row["world"], row["cases"], row["level"]]
        assert (row["coverage"] is None) == (was is None), row
        if was is not None:
            assert far(row, was) < 4.5, (row, was)
            least = LEAST[row["level"]][CASES.index(row["cases"])]
            assert row["coverage"] >= least - 3 * row["coverage_error"], row
            if row["level"] == 0.80 and row["cases"] >= 20:
                assert row["coverage"] <= 0.90 + 3 * row["coverage_error"], row
