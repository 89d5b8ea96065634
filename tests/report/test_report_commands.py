"""The report commands as a person types them."""

import json
import os
import re
import subprocess
import sys

import pytest

from evalstats.cli.reports import _wrapped


@pytest.fixture(scope="module")
def evalstats(tmp_path_factory, save_notebook_in):
    """Return a function that runs a command in a folder with two small notebooks."""
    here = tmp_path_factory.mktemp("commands")
    for folder, name, cells in (
        ("a", "small", {}),
        ("b", "bad", {"work": "raise ValueError('no')", "save": None}),
    ):
        (here / folder).mkdir()
        save_notebook_in(here / folder, name, **cells)

    def run(*words, **environment):
        return subprocess.run(
            [sys.executable, "-m", "evalstats", "report", *map(str, words)],
            cwd=here, env={**os.environ, "COLUMNS": "80", **environment},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    return run


def test_versions_are_built_shown_compared_and_exported(evalstats, tmp_path):
    built = json.loads(evalstats("a/small.ipynb", "--json").stdout)
    assert built["status"] == "ok" and not built["unchanged"]
    again = evalstats("a/small.ipynb", "-p", "seed=8", "--cold")
    assert again.returncode == 0 and again.stdout.endswith("report.html (new version)\n")

    shown = evalstats("show", "small/demo").stdout
    assert "The seed is 8." in shown and max(map(len, shown.splitlines())) <= 80
    text = evalstats("show", "small/demo", "--markdown").stdout
    assert text.startswith("## ") and "**The seed is 8.**" in text
    assert evalstats("export", "small/demo").stdout == text
    page = tmp_path / "page.html"
    evalstats("export", "small/demo/0001", "--format", "html", "--out", page)
    assert "The seed is 7." in page.read_text("utf-8")

    page = tmp_path / "diff.html"
    told = evalstats("diff", "small/demo/0001", "small/demo", "--html", page)
    assert "  seed: 7 → 8" in told.stdout and "  finding: The seed is 7. → The seed is 8." in told.stdout
    assert "What changed?" in page.read_text("utf-8") and told.returncode == 0
    record = json.loads(evalstats("diff", "small/demo/0001", "small/demo", "--json").stdout)
    assert {"group": "parameters", "what": "seed", "before": "7", "after": "8"} in record["changes"]
    assert evalstats("diff", "small/demo", "small/demo").stdout.endswith("nothing changed\n")


def test_several_at_once_tell_each_and_fail_together(evalstats, tmp_path):
    done = evalstats("a/small.ipynb", "b/bad.ipynb", "nope", "-p", "level=0.9", "--reports", tmp_path)
    assert done.returncode == 2 and "no notebook 'nope'" in done.stderr and not list(tmp_path.iterdir())
    done = evalstats("a/small.ipynb", "b/bad.ipynb", "--reports", tmp_path, "--json", "--cold")
    good, bad = json.loads(done.stdout)
    assert done.returncode == 2 and good["status"] == "ok" and "ValueError: no" in bad["error"]
    assert re.fullmatch(
        r"evalstats: b/bad.ipynb: failed: cell 3: ValueError: no; see .*/report.html\n", done.stderr
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-p", "seed=nan"], "seed: must be int, as declared; got str"),
        (["-p", "level=nan"], "level: must be a finite number"),
        (["-p", "level=inf"], "level: must be a finite number"),
        (["-p", "loud=maybe"], "loud: must be bool, as declared; got str"),
        (["-p", "nope=1"], "unknown parameter 'nope'; this notebook knows: level, loud, seed, subject"),
        (["-p", "seed"], "-p: 'seed' is not NAME=VALUE"),
    ],
)
def test_a_wrong_parameter_runs_nothing(evalstats, tmp_path, words, said):
    done = evalstats("a/small.ipynb", *words, "--reports", tmp_path / "reports")
    assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "reports").exists()


def test_long_lines_are_wrapped(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert _wrapped("one two three four five", indent="  ") == ["  one two three four", "    five"]
    assert _wrapped("") == [""]
