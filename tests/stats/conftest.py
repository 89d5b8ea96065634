"""Published numbers: a test that asks for `published` runs once per row of its module's reference file.

`test_proportions.py` reads `tests/reference/proportions.csv`. Each row names the function, its inputs, the
numbers as the source prints them, and the source; a number counts as met when it agrees to the last printed
digit.
"""

import csv
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[1] / "reference"


def rows_of(module: str) -> list[dict[str, str]]:
    """Return the rows of one reference file, without empty cells."""
    with open(REFERENCE / f"{module}.csv", newline="", encoding="utf-8") as file:
        return [{key: cell for key, cell in row.items() if cell} for row in csv.DictReader(file)]


def pytest_generate_tests(metafunc):
    """Give each `published` test the rows of its own module."""
    if "published" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2].removeprefix("test_")
        rows = rows_of(module)
        metafunc.parametrize(
            "published", rows, ids=[f"{i}-{row['function']}" for i, row in enumerate(rows, 2)]
        )


def half_last_digit(printed: str) -> float:
    """Return half a unit of the last printed digit: '0.2553' -> 0.00005, '6.5e-02' -> 0.0005."""
    mantissa, _, exponent = printed.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)


@pytest.fixture(scope="session")
def nist():
    """Return a reader of NIST's analysis of variance sets: responses and treatments, which start at line 61."""

    def read(dataset: str) -> tuple[list[float], list[str]]:
        lines = (REFERENCE / "nist" / f"{dataset}.dat").read_text(encoding="utf-8").splitlines()[60:]
        rows = [line.split() for line in lines if line.strip()]
        return [float(response) for _, response in rows], [treatment for treatment, _ in rows]

    return read


@pytest.fixture
def agrees():
    """Return a check that a record meets every number a row prints for one of the record's fields."""

    def check(record, row: dict[str, str]) -> None:
        printed = {
            name: row[name] for name, x in record.as_row().items() if name in row and isinstance(x, float)
        }
        assert printed, f"no number to compare in {row}"
        for name, text in printed.items():
            # 2% slack for sources that round a half the other way
            assert abs(getattr(record, name) - float(text)) <= 1.02 * half_last_digit(text), (
                name,
                record,
                text,
            )

    return check
