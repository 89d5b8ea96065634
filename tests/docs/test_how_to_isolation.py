"""The how-to page on isolation does what it says: its commands are run, as far as this machine has the means."""

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from evalstats.cli import run_command
from evalstats.contract import Isolation
from evalstats.runner.isolation import ladder, probes
from evalstats.runner.isolation.bwrap import View

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/isolation.md").read_text("utf-8")


def pairs():
    """Return each run of the page, the look at its record, and what both print."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return [
        [part.partition("\n")[::2] for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
        for block in blocks
    ]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A copy of the bundled suites to stand in."""
    shutil.copytree(ROOT / "evals/weights-demo", tmp_path / "evals/weights-demo")
    (tmp_path / "evalstats.toml").write_text("")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair[0][0])
def test_the_page_says_what_is_printed(pair, machine):
    (run, table), (look, found) = pair
    skip_without_the_means(f"{run} {look}", machine)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = run_command(run.split()[1:])
    assert code == 0
    assert doctest.OutputChecker().check_output(table, said.getvalue(), doctest.ELLIPSIS), said.getvalue()
    looked = subprocess.run(["sh", "-c", look], capture_output=True, text=True, check=True)
    assert looked.stdout == found


def skip_without_the_means(commands, machine):
    view = View.of(path=os.environ["PATH"])
    if "bwrap" in commands and (why := probes.of_bwrap(shutil.which("bwrap"), view, str(machine))):
        pytest.skip(f"no bwrap: {why}")
    if "network_access" in commands:
        with ladder.Ladder(ladder.Terms(), offline=True, path=os.environ["PATH"]) as tried:
            if tried.no_network:
                pytest.skip(f"no network namespace: {tried.no_network}")


def test_a_refusal_is_one_line_and_ends_with_3(machine, monkeypatch, capsys):
    monkeypatch.setattr(ladder, "_program", lambda: None)
    assert run_command(["run", "weights-demo", "--require-isolation", "bwrap"]) == 3
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", re.search(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1])


def test_the_page_has_every_level():
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert rows == list(Isolation)


@pytest.mark.parametrize("size", ["2X", "", "G", "1.5G", "-1"])
def test_what_is_no_size_is_refused(size, machine, capsys):
    assert run_command(["run", "weights-demo", f"--memory-limit={size}"]) == 2
    assert f"--memory-limit: {size!r} is no size; write it as 512M or 2G" in capsys.readouterr().err


def test_a_limit_out_of_bounds_and_a_level_that_is_none_are_refused(machine, capsys):
    for option, value in (
        ("--memory-limit", "4K"),
        ("--process-limit", "0"),
        ("--require-isolation", "jail"),
    ):
        assert run_command(["run", "weights-demo", option, value]) == 2
        assert f"{option}: " in capsys.readouterr().err
