"""The executed notebook as it is published: without times, paths, process numbers, random ids and credentials."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import evalstats
from evalstats.redact import Redactor
from evalstats.report import draft, kernel

_MEMORY = re.compile(r"\b0x[0-9a-f]{6,}\b")
_CELL_FILE = re.compile(r"\S*/ipykernel_\d+/\d+\.py")


def normalised(work: Path, source: bytes) -> bytes:
    """Return the executed notebook without times, paths, process numbers and random ids."""
    try:
        notebook = json.loads((work / kernel.EXECUTED).read_bytes())
    except (OSError, ValueError):  # never started, or cut off while it was written
        notebook = json.loads(source)
    cells = [c for c in notebook["cells"] if "papermill-error-cell-tag" not in c["metadata"].get("tags", [])]
    for number, cell in enumerate(cells, 1):
        tags = cell["metadata"].get("tags")
        cell |= {"id": f"cell-{number:02d}", "metadata": {"tags": tags} if tags else {}}
        if "outputs" in cell:
            cell["outputs"] = _scrubbed_tree(_joined(cell["outputs"]), work)
    kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    info = {"kernelspec": kernelspec, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": info, "nbformat": 4, "nbformat_minor": 5}
    return draft.as_json(whole).encode()


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return outputs with neighbouring pieces of one stream joined: where they break is a matter of timing."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output["output_type"] == "stream" and output["name"] == last.get("name"):
            last["text"] = _text(last["text"]) + _text(output["text"])
        else:
            joined.append(output)
    return joined


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _scrubbed_tree(value: Any, work: Path) -> Any:
    if isinstance(value, dict):
        return {key: _scrubbed_tree(entry, work) for key, entry in value.items()}
    if isinstance(value, list):
        return [_scrubbed_tree(entry, work) for entry in value]
    return scrubbed(value, work) if isinstance(value, str) else value


def scrubbed(text: str, work: Path) -> str:
    """Return ``text`` without the paths, addresses and credentials of this machine."""
    text = _CELL_FILE.sub("<cell>", text)
    root = Path(evalstats.__path__[0]).parent
    words = {
        str(work): "<work>",
        str(root): "<evalstats>",
        sys.prefix: "<python>",
        sys.base_prefix: "<python>",
    }
    for place in sorted(words, key=len, reverse=True):  # a virtual environment may lie inside the checkout
        text = text.replace(place, words[place])
    text = _MEMORY.sub("0x…", text)
    return Redactor({})(text.encode("utf-8", "replace")).decode("utf-8", "replace")
