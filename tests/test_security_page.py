"""SECURITY.md names tests that are there: a promise without its test is none."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `(.+?)::(.+?)` \|$", PAGE, re.MULTILINE)


def test_every_row_of_the_table_has_a_test():
    table = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(table) == len(ROWS) >= 30


@pytest.mark.parametrize(("attack", "promise", "file", "name"), ROWS, ids=[row[0] for row in ROWS])
def test_the_test_is_there(attack, promise, file, name):
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_links_lead_somewhere():
    for path in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / path).is_file(), path
