"""JupyterLab over our notebooks: this very Python as the kernel, the data in reach, and no word to the outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import evalstats
from evalstats import contract
from evalstats.errors import UsageError

NOTEBOOKS = "notebooks"
_QUIET = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
_OPTIONS = (
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)


def prepare(root: Path) -> list[Path]:
    """Make sure that ``root/notebooks`` has the packaged notebooks; return those that were copied there.

    What is there already is left alone.
    """
    folder, copied = root / NOTEBOOKS, []
    for path in sorted(contract.packaged(NOTEBOOKS).glob("*.ipynb")):
        target = folder / path.name
        if not target.exists():
            folder.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
            copied.append(target)
    return copied


@contextmanager
def command(root: Path, notebook: str, *options: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield the command that opens a notebook, and its environment; its settings last as long as the block.

    Raises UsageError for a notebook that is not there.
    """
    place = f"{NOTEBOOKS}/{notebook}.ipynb" if notebook else NOTEBOOKS
    if not (root / place).exists():
        known = ", ".join(sorted(path.stem for path in (root / NOTEBOOKS).glob("*.ipynb")))
        raise UsageError(f"no notebook {notebook!r}; known: {known}", path=root / NOTEBOOKS)
    with tempfile.TemporaryDirectory(prefix="evalstats-lab-") as settings:
        config = Path(settings) / "labconfig"
        config.mkdir()
        (config / "page_config.json").write_text(json.dumps(_QUIET), "utf-8")
        opened = [f"--ServerApp.root_dir={root.resolve()}", f"--LabApp.default_url=/lab/tree/{place}"]
        yield [sys.executable, "-m", "jupyterlab", *opened, *_OPTIONS, *options], _environment(settings)


def _environment(settings: str) -> dict[str, str]:
    """Return the environment of the server: our settings before the user's, and this evalstats for every kernel."""

    def first(name: str, place: str) -> dict[str, str]:
        return {name: os.pathsep.join(filter(None, [place, os.environ.get(name)]))}

    root = str(Path(evalstats.__path__[0]).parent)
    return {**os.environ, **first("JUPYTER_CONFIG_PATH", settings), **first("PYTHONPATH", root)}


def open_lab(root: Path, notebook: str, *options: str) -> int:
    """Run JupyterLab until it is stopped; return its exit code."""
    with command(root, notebook, *options) as (words, environment):
        try:
            return subprocess.run(words, env=environment, check=False).returncode
        except KeyboardInterrupt:  # the way to stop it; it has got the signal too
            return 0
