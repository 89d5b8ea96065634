"""Pages that are executed: their console blocks, and what they say is printed."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


class Command(NamedTuple):
    """One line behind a prompt, and what the page says it prints; empty: the page does not say."""

    line: str
    said: str


def commands(page: Path) -> list[Command]:
    """Return each command of a page, in order."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    parts = (part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    return [Command(*part.partition("\n")[::2]) for part in parts]


def python_blocks(page: Path) -> list[str]:
    """Return the Python of a page, one text a block."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def clone(here: Path) -> Path:
    """Lay out what a newcomer has: the bundled suites, the pages, and the command on the path."""
    kept_out = shutil.ignore_patterns("baselines", "__pycache__")
    shutil.copytree(ROOT / "evals", here / "evals", ignore=kept_out)
    shutil.copytree(DOCS / "how-to", here / "docs/how-to", ignore=kept_out)
    (here / "evalstats.toml").write_text("")
    names = here / "bin"
    names.mkdir()
    (names / "evalstats").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evalstats "$@"\n')
    (names / "evalstats").chmod(0o755)
    (names / "python").symlink_to(sys.executable)
    return here


def run(line: str, here: Path) -> subprocess.CompletedProcess[str]:
    """Type one command in such a folder, on a terminal of 80 columns."""
    environment = {
        **os.environ,
        "PATH": f"{here / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
    }
    return subprocess.run(
        ["sh", "-c", line],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def outputs(page: Path, here: Path) -> Iterable[tuple[Command, subprocess.CompletedProcess[str]]]:
    """Yield each command of a page with what it did, run one after the other in a fresh clone."""
    clone(here)
    for command in commands(page):
        yield command, run(command.line, here)


def agrees(command: Command, printed: str) -> bool:
    """Return whether a command prints what the page says; three dots stand for anything."""
    return not command.said or doctest.OutputChecker().check_output(command.said, printed, doctest.ELLIPSIS)
