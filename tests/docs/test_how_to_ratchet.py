"""The how-to page on the ratchet does what it says: its commands are run, and its output is what they print."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/ratchet.md"
FOUR = ["monitor", "ratchet", "ratchet promote", "ratchet log"]


def commands() -> list[tuple[str, str]]:
    """Return each command of the page with what the page says it prints."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    found = []
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.fixture(scope="module")
def outputs(tmp_path_factory) -> dict[str, subprocess.CompletedProcess[str]]:
    """Return what each command of the page prints, run one after the other in a copy of what it needs."""
    here = tmp_path_factory.mktemp("repository")
    shutil.copytree(ROOT / "evals", here / "evals", ignore=shutil.ignore_patterns("baselines", "__pycache__"))
    shutil.copytree(ROOT / "docs/how-to", here / "docs/how-to")
    (here / "evalstats.toml").write_text("")
    names = here / "bin"
    names.mkdir()
    (names / "evalstats").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evalstats "$@"\n')
    (names / "evalstats").chmod(0o755)
    (names / "python").symlink_to(sys.executable)
    environment = {
        **os.environ,
        "PATH": f"{names}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
    }
    return {
        command: subprocess.run(
            ["sh", "-c", command],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        for command, _ in commands()
    }


@pytest.mark.parametrize(("command", "said"), commands(), ids=[c for c, _ in commands()])
def test_the_page_says_what_is_printed(command, said, outputs):
    done = outputs[command]
    assert (done.returncode, done.stderr) == (0, "")
    if said:
        agrees = doctest.OutputChecker().check_output(said, done.stdout, doctest.ELLIPSIS)
        assert agrees, done.stdout


def test_four_commands_lead_to_the_signature():
    numbered = PAGE.read_text().partition("## 1. ")[2].partition("## Taking")[0]
    asked = re.findall(r"^\$ evalstats (.*)$", numbered, re.MULTILINE)
    assert [re.match(r"(ratchet (?:promote|log)|ratchet|monitor)\b", line).group() for line in asked] == FOUR
