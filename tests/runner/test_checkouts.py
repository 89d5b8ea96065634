"""A git ref as a folder of files: what is committed, and nothing else is touched."""

import os
import subprocess

import pytest

from evalstats.errors import UsageError
from evalstats.runner import checkouts
from evalstats.runner.checkouts import Candidate


@pytest.fixture
def repo(tmp_path):
    """Return a repository of two commits, tagged one and two, with an edit that is not committed."""
    root = tmp_path / "repo"
    (root / "below").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for name in ("one", "two"):
        (root / "below/word.txt").write_text(f"{name}\n")
        (root / "run.sh").write_text("#!/bin/sh\n")
        (root / "run.sh").chmod(0o755)
        (root / ".gitattributes").write_text("below export-ignore\n")
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", name)
        git(root, "tag", name)
    (root / "below/word.txt").write_text("edited\n")
    (root / "ignored.txt").write_text("not committed\n")
    return root


def git(root, *words):
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    done = subprocess.run(["git", "-C", root, *identity, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_ref_is_a_commit_by_whatever_name(repo):
    sha = git(repo, "rev-parse", "one")
    for ref in ("one", sha, sha[:10], "main~1", "HEAD^"):
        assert checkouts.resolve(repo / "below", ref) == Candidate(ref, sha)


@pytest.mark.parametrize("ref", ["nope", "", "-x", "--help", "HEAD:below", "a b", "..", "HEAD\n"])
def test_a_bad_ref_is_one_line(repo, ref):
    with pytest.raises(UsageError, match="git knows no commit called") as caught:
        checkouts.resolve(repo, ref)
    assert (caught.value.field, len(caught.value.lines())) == ("--candidate", 1)


def test_a_place_without_git(tmp_path):
    with pytest.raises(UsageError, match="git finds no repository here"):
        checkouts.resolve(tmp_path, "HEAD")


def test_without_git_at_all(repo, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="git cannot be run"):
        checkouts.resolve(repo, "HEAD")


def test_what_is_checked_out_is_what_is_committed(repo, tmp_path):
    before = git(repo, "status", "--porcelain"), (repo / ".git/index").read_bytes()
    there = checkouts.check_out(repo, checkouts.resolve(repo, "one"), tmp_path / "out")
    assert (there / "below/word.txt").read_text() == "one\n"  # though git archive would leave it out
    assert os.access(there / "run.sh", os.X_OK)
    assert not (there / "ignored.txt").exists()
    assert (git(repo, "status", "--porcelain"), (repo / ".git/index").read_bytes()) == before
    assert git(repo, "worktree", "list").count("\n") == 0


def test_a_root_below_the_top_lies_below_there_too(repo, tmp_path):
    there = checkouts.check_out(repo / "below", checkouts.resolve(repo, "two"), tmp_path / "out")
    assert there.name == "below" and (there / "word.txt").read_text() == "two\n"


def test_the_variables_of_a_git_hook_do_not_mislead(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/index"))
    there = checkouts.check_out(repo, checkouts.resolve(repo, "one"), tmp_path / "out")
    assert (there / "below/word.txt").read_text() == "one\n"
    assert not (tmp_path / "other").exists()


def test_a_commit_that_is_gone(repo, tmp_path):
    with pytest.raises(UsageError, match=r"git cannot check out 000000000000 \(old\)"):
        checkouts.check_out(repo, Candidate("old", "0" * 40), tmp_path / "out")
