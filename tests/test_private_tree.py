"""The private tree of a data folder: found again, and its owner's alone."""

import os
import stat

import pytest

from evalstats.errors import JournalError
from evalstats.journal import is_private_tree, make_private, owners_only, parse_trial, private_tree


def test_a_tree_knows_itself(tmp_path):
    data = tmp_path / "data"
    tree = make_private(private_tree(data))
    assert tree == data / "private"
    assert private_tree(data) == tree == private_tree(tree)
    assert [is_private_tree(p) for p in (tree, tree / "runs/r1", tree / "x.duckdb", data, tmp_path)] == [
        True, True, True, False, False,
    ]  # fmt: skip
    (tmp_path / "link").symlink_to(tree)
    assert is_private_tree(tmp_path / "link/runs")


def test_a_folder_that_is_only_called_private_is_none(tmp_path):
    (tmp_path / "private").mkdir()
    assert not is_private_tree(tmp_path / "private/data")
    assert private_tree(tmp_path / "private") == tmp_path / "private/private"


def test_looking_for_a_tree_makes_none(tmp_path):
    private_tree(tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_it_is_its_owners_alone_whatever_the_umask(tmp_path, umask):
    tree = tmp_path / "private"
    tree.mkdir(mode=0o755)  # and if somebody has opened it, it is closed again
    before = os.umask(umask)
    try:
        make_private(tree)
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE(tree.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in tree.iterdir()} == {0o600}


def test_a_tree_that_cannot_be_kept_is_refused(tmp_path):
    (tmp_path / "private").write_text("a file")
    with pytest.raises(JournalError, match="cannot be kept from others"):
        make_private(tmp_path / "private")


def test_the_umask_comes_back(tmp_path):
    before = os.umask(0o022)
    try:
        with owners_only() as was:
            (tmp_path / "a").touch()
            assert was == 0o022
        with owners_only(False) as was:
            (tmp_path / "b").touch()
            assert was == -1
        with pytest.raises(ZeroDivisionError), owners_only():
            _ = 1 / 0
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"] == [0o600, 0o644]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"kind": "trial", "secret": 1}', "is a required property"),
        (b'{"secret": 1, "secret": 2}', "more is not told of a private suite"),
        (b'{"secret": "\xff"}', "is not UTF-8"),
    ],
)
def test_a_bad_line_of_a_private_journal_is_not_quoted(tmp_path, line, told):
    tree = make_private(tmp_path / "private")
    with pytest.raises(JournalError, match=told) as caught:
        parse_trial(line, tree / "runs/r1/journal/j.jsonl", 3)
    assert "secret" not in str(caught.value) and "j.jsonl:3" in str(caught.value)
