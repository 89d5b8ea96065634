"""The page on the notebooks: each has its section of three sentences and a real picture of modest size."""

from __future__ import annotations

import importlib
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
TEXT = (ROOT / "docs" / "notebooks.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield importlib.import_module("docs.screenshots")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_its_section(name: str) -> None:
    picture, prose = re.fullmatch(
        r"\n!\[(.+)\]\(images/\w+\.png\)\n\n(.+)\n+", SECTIONS[name], re.DOTALL
    ).groups()  # type: ignore[union-attr]
    assert picture and f"(images/{name}.png)" in SECTIONS[name]
    sentences = re.findall(r"[.](?=\s|$)", prose.strip())
    assert len(sentences) == 3, prose
    assert f"[{name}](#{name})" in TEXT, "and stands in the table above"


@pytest.mark.parametrize("name", NAMES)
def test_its_picture_is_there_and_of_modest_size(script: ModuleType, name: str) -> None:
    data = (ROOT / "docs" / "images" / f"{name}.png").read_bytes()
    width, height, _, colour = struct.unpack(">IIBB", data[16:26])
    assert (width, colour) == (960, 3) and height >= 900, "make it anew: make screenshots"
    assert len(data) <= script.MOST_BYTES


def test_the_readme_shows_the_nightly_page() -> None:
    shown = re.findall(r"!\[.*?\]\((.*?)\)", (ROOT / "README.md").read_text("utf-8"))
    assert "docs/images/nightly.png" in shown and all((ROOT / path).is_file() for path in shown)


def test_a_picture_keeps_its_colours_and_more_than_a_palette_holds_are_neared(script: ModuleType) -> None:
    few = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 0, 0]]], np.uint8)
    assert pixels(script.png(few)).tolist() == few.tolist()
    grey = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
    orange = np.array([[188, 76, 0]], np.uint8)
    many = np.concatenate([grey, grey, orange])[None]  # every grey is more frequent
    kept = pixels(script.png(many))
    assert kept[0, -1].tolist() == [188, 76, 0]
    assert np.abs(kept.astype(int) - many).max() <= 2


def pixels(data: bytes) -> np.ndarray:
    """Read a PNG as `png` writes it."""
    chunks, at = {}, 8
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size]) == (zlib.crc32(kind + body),)
        chunks[kind], at = body, at + 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    palette = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
    return palette[lines[:, 1:]]
