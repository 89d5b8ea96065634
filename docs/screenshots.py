"""Make the pictures of docs/notebooks.md: one real screenshot per notebook, from the data of the demo.

    python -m docs.screenshots [NOTEBOOK...]        # or: make screenshots

Every notebook of ``notebooks/`` is built as a report over a fresh demo and its page is taken by a headless Chromium of
the system. The page of the judge is that of `make live`, where that ran. The nightly page needs nights: they are real
runs of the solver, on dates of our choosing. On one of them the registry version changes, and before the last two
somebody breaks the skill.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.nightly_design import BROKEN, SOLVER, lay_out, new_registry

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
LIVE = ROOT / "data" / "live" / "evalstats.duckdb"  # what `make live` leaves: a judge that was really asked
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTH, HEIGHT, MOST_BYTES, COLOURS = 960, 1560, 150_000, 256
FIRST, NIGHTS, REGISTRY_NIGHT, BREAK_NIGHT = date(2026, 11, 1), 26, 6, 25


def main(names: Sequence[str]) -> int:
    """Take the pictures of the notebooks named, or of all."""
    wanted = list(names) or sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    with tempfile.TemporaryDirectory(prefix="evalstats-screenshots-") as folder:
        pages = [(name, page_of(name, Path(folder))) for name in wanted]
        photograph(pages)
    return 0


def page_of(name: str, folder: Path) -> Path:
    """Build a notebook over the data that suit it, and return its page."""
    place, data, asked = demo_of(name, folder)
    built = evalstats(["report", name, *asked, "--data", data, "--json"], place)
    return place / json.loads(built)["path"] / "report.html"


def demo_of(name: str, folder: Path) -> tuple[Path, str, list[str]]:
    """Return where the data of a notebook are, in which folder there, and what it is asked about."""
    if name == "nightly":
        return nights(folder / "nights"), "data", []
    if name == "judge_noise" and LIVE.exists():
        return ROOT, "data/live", ["-p", "suite=live-judged"]
    return demo(folder / "demo"), "data", []


def demo(place: Path) -> Path:
    """Run the demo in a folder of its own, once."""
    if not place.exists():
        place.mkdir(parents=True)
        (place / "evals").symlink_to(ROOT / "evals")
        subprocess.run(["sh", str(ROOT / "evals" / "demo.sh")], cwd=place, env=_environment(), check=True)
    return place


def nights(place: Path) -> Path:
    """Run the solver on so many nights; what changes between them is said above."""
    if place.exists():
        return place
    solver = lay_out(place)
    shutil.copy(SOLVER / "policy.json", solver)
    for number in range(1, NIGHTS + 1):
        if number == REGISTRY_NIGHT:
            new_registry(solver)
        if number == BREAK_NIGHT:
            (solver / "skill.json").write_text(json.dumps(BROKEN), "utf-8")
        day = (FIRST + timedelta(days=number - 1)).isoformat()
        skipped = ["--skip", "reports", "--skip", "gate", "--trials", "3", "--progress", "none"]
        evalstats(["nightly", "solver", "--as-of", day, *skipped], place)
    return place


def evalstats(words: Sequence[str], place: Path) -> str:
    """Run a command in a folder and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "evalstats", *words],
        cwd=place, env=_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _environment() -> dict[str, str]:
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return {**os.environ, "PATH": os.pathsep.join(paths), "PYTHONPATH": str(ROOT)}


# --- the pictures ----------------------------------------------------------------------------------

_PIXELS = """async data => {
    const picture = await createImageBitmap(await (await fetch('data:image/png;base64,' + data)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height), context = canvas.getContext('2d');
    context.drawImage(picture, 0, 0);
    const bytes = context.getImageData(0, 0, picture.width, picture.height).data;
    let text = '';
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return btoa(text);
}"""


def photograph(pages: Sequence[tuple[str, Path]]) -> None:
    """Take the head of each page and keep it as a picture of at most 256 colours."""
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        window: Any = {"width": WIDTH, "height": HEIGHT}
        tab = browser.new_page(viewport=window, color_scheme="light")
        for name, page in pages:
            tab.goto(page.resolve().as_uri())
            taken = base64.b64encode(tab.screenshot()).decode()
            tab.goto("about:blank")
            raw = base64.b64decode(tab.evaluate(_PIXELS, taken))
            picture = png(np.frombuffer(raw, np.uint8).reshape(HEIGHT, WIDTH, 4)[:, :, :3])
            if len(picture) > MOST_BYTES:
                raise SystemExit(f"{name}.png has {len(picture)} bytes, more than {MOST_BYTES}")
            (IMAGES / f"{name}.png").write_bytes(picture)
            print(f"docs/images/{name}.png {len(picture)} bytes")
        browser.close()


def png(pixels: np.ndarray) -> bytes:
    """Return pixels, shape (height, width, 3), as a PNG with a palette."""
    height, width, _ = pixels.shape
    colours, which, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    colours = colours.astype(int)
    palette = palette_of(colours[np.argsort(-counts, kind="stable")])
    nearest = np.array([((palette - colour) ** 2).sum(axis=1).argmin() for colour in colours])
    rows = nearest[which.reshape(-1)].astype(np.uint8).reshape(height, width)
    lines = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()  # no filter: flat areas need none
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", palette.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def palette_of(colours: np.ndarray) -> np.ndarray:
    """Return the first colours, leaving out those too near to one before, so that a rare orange is no grey."""
    distance = 0
    while True:
        kept = colours[:0]
        for colour in colours:
            if not len(kept) or ((kept - colour) ** 2).sum(axis=1).min() > distance:
                kept = np.vstack([kept, colour])
            if len(kept) > COLOURS:
                break
        if len(kept) <= COLOURS:
            return kept
        distance = 2 * distance + 3


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
