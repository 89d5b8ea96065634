"""The how-to page on judges does what it says: its files are written, its commands run against a judge here."""

import contextlib
import doctest
import importlib.util
import io
import json
import re
import subprocess
from pathlib import Path

import pytest

from evalstats.cli import run_command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/judge.md").read_text("utf-8")
spec = importlib.util.spec_from_file_location("judging_docs", ROOT / "tests/judging/conftest.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def commands():
    parts = [part for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, said) for command, _, said in (part.partition("\n") for part in parts)]


def judge(request):
    """A judge that minds no words: it says whether the output says please, or the opposite where that is asked."""
    question = re.search(r"^Question: (.*)$", fixtures.prompt(request), re.MULTILINE)[1]
    yes = ("please" in fixtures.graded(request)) is not ("impolite" in question)
    return fixtures.says(json.dumps({"verdict": "yes" if yes else "no"}))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return what each command of the page prints, run one after the other on the files of the page."""
    here = tmp_path_factory.mktemp("page")
    (here / "evals/manners").mkdir(parents=True)
    (here / ".git").mkdir()
    suite, rewordings = blocks("json")
    (here / "evals/manners/suite.json").write_text(suite)
    (here / "evals/manners/rubric.md").write_text(blocks("text")[0])
    (here / "rewordings.json").write_text(rewordings)
    with pytest.MonkeyPatch.context() as patch, fixtures.loopback.Loopback(judge) as server:
        patch.setenv("COLUMNS", "80")
        patch.setenv("EVALSTATS_JUDGE_URL", server.url)
        return {command: printed(command, here) for command, _ in commands()}


def printed(command, here):
    if not command.startswith("evalstats "):
        done = subprocess.run(["sh", "-c", command], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout
    with contextlib.chdir(here), contextlib.redirect_stdout(io.StringIO()) as said:
        run_command(command.split()[1:])
    return said.getvalue()


@pytest.mark.parametrize(("command", "said"), commands(), ids=[command for command, _ in commands()])
def test_the_page_says_what_is_printed(command, said, outputs):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert not said or doctest.OutputChecker().check_output(said, outputs[command], flags), outputs[command]
    assert all(len(line) <= 80 for line in outputs[command].splitlines())
