"""Notebooks are thin: prose around calls, no logic, no outputs, one cell of literals."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FORBIDDEN = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.For,
    ast.While,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.BinOp,
    ast.If,
    ast.Try,
    ast.With,
)


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def code_lines(cell: dict[str, Any]) -> list[str]:
    return [line for line in "".join(cell["source"]).splitlines() if line.strip()]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestHygiene:
    def test_is_short(self, path: Path) -> None:
        cells = code_cells(path)
        assert sum(len(code_lines(cell)) for cell in cells) <= 40
        assert max(len(code_lines(cell)) for cell in cells) <= 10

    def test_holds_no_logic(self, path: Path) -> None:
        for cell in code_cells(path):
            found = [
                node for node in ast.walk(ast.parse("".join(cell["source"]))) if isinstance(node, FORBIDDEN)
            ]
            assert not found, f"cell {cell['id']}: the library lacks a verb for {ast.dump(found[0])[:80]}"

    def test_imports_only_rooms(self, path: Path) -> None:
        for cell in code_cells(path):
            for node in ast.walk(ast.parse("".join(cell["source"]))):
                assert not isinstance(node, ast.Import)
                if isinstance(node, ast.ImportFrom):
                    assert (node.module or "").split(".")[0] == "evalstats"

    def test_has_one_cell_of_literal_parameters(self, path: Path) -> None:
        tagged = [cell for cell in code_cells(path) if "parameters" in cell["metadata"].get("tags", [])]
        assert len(tagged) == 1
        for statement in ast.parse("".join(tagged[0]["source"])).body:
            assert isinstance(statement, ast.Assign)
            assert type(ast.literal_eval(statement.value)) in (str, int, float, bool)

    def test_is_clean_and_stable(self, path: Path) -> None:
        cells = read(path)["cells"]
        ids = [cell["id"] for cell in cells]
        assert len(ids) == len(set(ids))
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code_cells(path))
        assert "papermill" not in read(path)["metadata"]

    def test_explains_itself_before_every_step(self, path: Path) -> None:
        kinds = [cell["cell_type"] for cell in read(path)["cells"]]
        assert kinds[0] == "markdown"
        assert kinds.count("markdown") >= 4
